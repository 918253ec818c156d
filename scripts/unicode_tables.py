"""Writes Sources/CAccelUnicode: the Unicode tables of AccelText.

`tokenizers` takes its character properties from six libraries, each with a Unicode version of its own. The script asks the
installed `tokenizers` about every scalar, through the public component that uses the property, and writes what it answers. What no
component shows alone (combining classes, grapheme breaks, script names, case folding) comes from unicodedata2 and regex, and is
checked against `tokenizers` where it has an effect.

Needs: tokenizers, regex, unicodedata2. Run: python scripts/unicode_tables.py
"""

import base64
import json
import os
import struct
import sys

import regex
import tokenizers
import unicodedata
import unicodedata2
from tokenizers import Regex, Tokenizer, normalizers, pre_tokenizers
from tokenizers.models import WordLevel

SCALARS = [c for c in range(0x110000) if not 0xD800 <= c < 0xE000]
ALL = "".join(map(chr, SCALARS))
CATEGORIES = (
    "Lu Ll Lt Lm Lo Mn Mc Me Nd Nl No Pc Pd Ps Pe Pi Pf Po Sm Sc Sk So Zs Zl Zp Cc Cf Co Cn Cs".split())


def runs(values):
    """Ranges [start, end) of consecutive scalars in an ordered list."""
    out = []
    for c in values:
        if out and out[-1][1] == c:
            out[-1][1] = c + 1
        else:
            out.append([c, c + 1])
    return out


def pieces(pre_tokenizer, text=ALL):
    """The scalars that remain when a pre-tokenizer removes its delimiters from the text of all scalars."""
    kept = []
    for _, (start, end) in pre_tokenizer.pre_tokenize_str(text):
        kept.extend(SCALARS[start:end])
    return kept


def removed_by(pre_tokenizer):
    kept = set(pieces(pre_tokenizer))
    return [c for c in SCALARS if c not in kept]


def matching(pattern):
    return removed_by(pre_tokenizers.Split(Regex(pattern), "removed"))


def version_note(name, values, test):
    """Prints which unicodedata agrees with the measured set."""
    values = set(values)
    for module in (unicodedata, unicodedata2):
        differences = [c for c in SCALARS if (c in values) != test(module, chr(c))]
        print(f"{name}: {len(values)} scalars, {len(differences)} other than in Unicode {module.unidata_version}"
              + (f" (first U+{differences[0]:04X})" if differences else ""))


def categories():
    category = {}
    for name in CATEGORIES:
        if name == "Cs":
            continue
        for c in matching(r"\p{%s}" % name):
            assert c not in category, (c, name)
            category[c] = CATEGORIES.index(name)
    out = []
    previous = None
    for c in range(0x110000):
        value = CATEGORIES.index("Cs") if 0xD800 <= c < 0xE000 else category[c]
        if value != previous:
            out.append((c, value))
            previous = value
    version_note("\\p{L} of Split", [c for c in category if CATEGORIES[category[c]][0] == "L"],
                 lambda m, s: m.category(s)[0] == "L")
    return out


def digits():
    """Digits: pieces alternate between other scalars and numeric ones, from U+0000 on."""
    out = []
    for index, (_, (start, end)) in enumerate(pre_tokenizers.Digits(False).pre_tokenize_str(ALL)):
        if index % 2 == 1:
            out.extend(SCALARS[start:end])
    return out


def word_scalars():
    whitespace = pre_tokenizers.Whitespace()
    out = []
    for c in SCALARS:
        parts = whitespace.pre_tokenize_str("a" + chr(c))
        if len(parts) == 1 and parts[0][1][1] == 2:
            out.append(c)
    return out


def decompositions(normalizer):
    out = {}
    for c in SCALARS:
        if 0xAC00 <= c < 0xD7A4:
            continue
        text = normalizer.normalize_str(chr(c))
        if text != chr(c):
            out[c] = text
    return out


def combining_classes():
    nfd = normalizers.NFD()
    out = {}
    for c in SCALARS:
        value = unicodedata2.combining(chr(c))
        if value == 0:
            continue
        # Reordering shows whether the peer knows the class.
        if value < 240:
            known = nfd.normalize_str("\u0345" + chr(c)) == chr(c) + "\u0345"
        else:
            known = nfd.normalize_str(chr(c) + "\u0301") == "\u0301" + chr(c)
        if known:
            out[c] = value
    return out


def compositions():
    nfc = normalizers.NFC()
    out = []
    for c in SCALARS:
        parts = unicodedata2.decomposition(chr(c)).split()
        if len(parts) == 2 and not parts[0].startswith("<"):
            a, b = (int(p, 16) for p in parts)
            if nfc.normalize_str(chr(a) + chr(b)) == chr(c):
                out.append((a, b, c))
    return out


def scripts_of_pre_tokenizer():
    """Classes of scalars that UnicodeScripts never splits from each other; 0 for those that it joins to any other."""
    split = pre_tokenizers.UnicodeScripts()

    def joined(a, b):
        return len(split.pre_tokenize_str(chr(a) + chr(b))) == 1

    representatives = [None]
    by_name = {}
    values = {}
    last = 0
    names = script_names()
    for c in SCALARS:
        if joined(c, 0x61) and joined(c, 0x44F):
            values[c] = 0
            continue
        candidates = [last] if last else []
        candidates += [by_name[names[c]]] if names.get(c) in by_name else []
        candidates += range(1, len(representatives))
        for k in candidates:
            if joined(c, representatives[k]):
                break
        else:
            k = len(representatives)
            representatives.append(c)
            by_name.setdefault(names.get(c), k)
        values[c] = last = k
    print(f"UnicodeScripts: {len(representatives) - 1} classes")
    return value_runs(values, default=0)


_script_names = None


def script_list():
    lines = set()
    # Names of scripts from the names of characters, then asked from regex.
    for name in """Adlam Ahom Anatolian_Hieroglyphs Arabic Armenian Avestan Balinese Bamum Bassa_Vah Batak Bengali Bhaiksuki Bopomofo
    Brahmi Braille Buginese Buhid Canadian_Aboriginal Carian Caucasian_Albanian Chakma Cham Cherokee Chorasmian Common Coptic Cuneiform
    Cypriot Cypro_Minoan Cyrillic Deseret Devanagari Dives_Akuru Dogra Duployan Egyptian_Hieroglyphs Elbasan Elymaic Ethiopic Georgian
    Glagolitic Gothic Grantha Greek Gujarati Gunjala_Gondi Gurmukhi Han Hangul Hanifi_Rohingya Hanunoo Hatran Hebrew Hiragana
    Imperial_Aramaic Inherited Inscriptional_Pahlavi Inscriptional_Parthian Javanese Kaithi Kannada Katakana Kayah_Li Kharoshthi
    Khitan_Small_Script Khmer Khojki Khudawadi Lao Latin Lepcha Limbu Linear_A Linear_B Lisu Lycian Lydian Mahajani Makasar Malayalam
    Mandaic Manichaean Marchen Masaram_Gondi Medefaidrin Meetei_Mayek Mende_Kikakui Meroitic_Cursive Meroitic_Hieroglyphs Miao Modi
    Mongolian Mro Multani Myanmar Nabataean Nandinagari New_Tai_Lue Newa Nko Nushu Nyiakeng_Puachue_Hmong Ogham Ol_Chiki Old_Hungarian
    Old_Italic Old_North_Arabian Old_Permic Old_Persian Old_Sogdian Old_South_Arabian Old_Turkic Old_Uyghur Oriya Osage Osmanya
    Pahawh_Hmong Palmyrene Pau_Cin_Hau Phags_Pa Phoenician Psalter_Pahlavi Rejang Runic Samaritan Saurashtra Sharada Shavian Siddham
    SignWriting Sinhala Sogdian Sora_Sompeng Soyombo Sundanese Syloti_Nagri Syriac Tagalog Tagbanwa Tai_Le Tai_Tham Tai_Viet Takri
    Tamil Tangsa Tangut Telugu Thaana Thai Tibetan Tifinagh Tirhuta Toto Ugaritic Vai Vithkuqi Wancho Warang_Citi Yezidi Yi
    Zanabazar_Square""".split():
        lines.add(name)
    return sorted(lines)


def script_names():
    global _script_names
    if _script_names is None:
        _script_names = {}
        for name in script_list():
            for m in regex.finditer(r"\p{Script=%s}" % name, ALL):
                _script_names[ord(m.group())] = name
    return _script_names


def scripts_of_patterns():
    """The scripts that Split's patterns know, as `tokenizers` itself matches them."""
    values = {}
    known = []
    for name in script_list():
        try:
            found = matching(r"\p{%s}" % name)
        except Exception:
            print(f"\\p{{{name}}} is not known to Split")
            continue
        known.append(name)
        for c in found:
            assert c not in values, (name, hex(c))
            values[c] = len(known)
    return known, value_runs(values, default=0)


def grapheme_values():
    """Grapheme_Cluster_Break, Extended_Pictographic and Indic_Conjunct_Break, joined into one number."""
    names = ["Other", "CR", "LF", "Control", "Extend", "ZWJ", "RI", "Prepend", "SpacingMark", "L", "V", "T", "LV", "LVT",
             "ExtPict", "Consonant", "Linker", "ExtendInCB"]
    values = {}
    for name, pattern in [
            ("CR", r"\p{GCB=CR}"), ("LF", r"\p{GCB=LF}"), ("Control", r"\p{GCB=Control}"), ("Extend", r"\p{GCB=Extend}"),
            ("ZWJ", r"\p{GCB=ZWJ}"), ("RI", r"\p{GCB=RI}"), ("Prepend", r"\p{GCB=Prepend}"),
            ("SpacingMark", r"\p{GCB=SpacingMark}"), ("L", r"\p{GCB=L}"), ("V", r"\p{GCB=V}"), ("T", r"\p{GCB=T}"),
            ("LV", r"\p{GCB=LV}"), ("LVT", r"\p{GCB=LVT}")]:
        for m in regex.finditer(pattern, ALL):
            values[ord(m.group())] = names.index(name)
    for m in regex.finditer(r"\p{ExtPict}", ALL):
        values.setdefault(ord(m.group()), names.index("ExtPict"))
    for m in regex.finditer(r"\p{InCB=Consonant}", ALL):
        values[ord(m.group())] = names.index("Consonant")
    for m in regex.finditer(r"\p{InCB=Linker}", ALL):
        if values.get(ord(m.group())) == names.index("Extend"):
            values[ord(m.group())] = names.index("Linker")
    for m in regex.finditer(r"\p{InCB=Extend}", ALL):
        if values.get(ord(m.group())) == names.index("Extend"):
            values[ord(m.group())] = names.index("ExtendInCB")
    # A charsmap that maps "a" to "x": the whole grapheme of at most five bytes is replaced, as far as it goes.
    units = [0] * 512
    units[0x61] = 0x61 | 1 << 8 | (0x61 ^ 256) << 10
    units[256] = 1 << 31
    charsmap = struct.pack("<I", 512 * 4) + struct.pack("<512I", *units) + b"x\0"
    precompiled = normalizers.Precompiled(charsmap)
    extends = {names.index(n) for n in ("Extend", "ZWJ", "SpacingMark", "Linker", "ExtendInCB")}
    different = 0
    for c in SCALARS:
        measured = precompiled.normalize_str("a" + chr(c)) == "x"
        if measured != (values.get(c, 0) in extends):
            different += 1
            # The peer's version is older or newer: follow it.
            values[c] = names.index("ExtendInCB") if measured else 0
    print(f"graphemes: {different} scalars follow the peer instead of regex {regex.__version__}")
    return names, value_runs(values, default=0)


def value_runs(values, default):
    out = []
    previous = None
    for c in range(0x110000):
        value = values.get(c, default)
        if value != previous:
            out.append((c, value))
            previous = value
    return out


def case_classes():
    """Sets of scalars that (?i) takes for each other."""
    def fold(c):
        for text in (chr(c).casefold(), chr(c).lower()):
            if len(text) == 1:
                return text
        return chr(c)

    classes = {}
    for c in SCALARS:
        folded = fold(c)
        if folded != chr(c):
            classes.setdefault(ord(folded), [ord(folded)]).append(c)
    # Only classes that the peer confirms for each member.
    out = []
    for folded, members in sorted(classes.items()):
        pattern = pre_tokenizers.Split(Regex("(?i:%s)" % regex.escape(chr(folded))), "removed")
        confirmed = [c for c in members if not pattern.pre_tokenize_str(chr(c))]
        if confirmed != members:
            print("case folding differs:", hex(folded), [hex(c) for c in members], [hex(c) for c in confirmed])
        if len(confirmed) > 1:
            out.append(confirmed)
    return out


class Source:
    def __init__(self):
        self.text = [
            "// Made by scripts/unicode_tables.py from the behaviour of tokenizers " + tokenizers.__version__ + ".",
            '#include "CAccelUnicode.h"', ""]
        self.declarations = []

    def array(self, name, values, comment):
        self.declarations.append(f"/// {comment}\naccelc_unicode_list accelc_unicode_{name}(void);")
        self.text.append(f"static const uint32_t {name}_values[] = {{")
        line = "   "
        for value in values:
            item = f" {value}," if value < 10 else f" 0x{value:X},"
            if len(line) + len(item) > 118:
                self.text.append(line)
                line = "   "
            line += item
        self.text += [
            line, "};", "",
            f"accelc_unicode_list accelc_unicode_{name}(void) {{",
            f"    return (accelc_unicode_list){{{name}_values, {len(values)}}};", "}", ""]

    def set(self, name, values, comment):
        flat = [bound for run in runs(values) for bound in run]
        self.array(name, flat, comment + " Ranges: first scalar, scalar after the last.")

    def map(self, name, value_runs_, comment):
        self.array(name, [start << 8 | value for start, value in value_runs_],
                   comment + " Runs: first scalar << 8 | value, up to the next run.")

    def strings(self, name, table, comment):
        keys, heads, data = [], [], []
        for key in sorted(table):
            keys.append(key)
            heads.append(len(data) << 8 | len(table[key]))
            data += [ord(s) for s in table[key]]
        self.array(name + "_keys", keys, comment + " The scalars that change, ascending.")
        self.array(name + "_heads", heads, "Of each: index of its first scalar in the data << 8 | number of scalars.")
        self.array(name + "_data", data, "The scalars that they become.")


def main():
    out = Source()
    out.map("categories", categories(), "General category, in the order of `GeneralCategory`.")
    out.set("pattern_word", matching(r"\w"), "`\\w` in the patterns of Split and Replace.")
    white = removed_by(pre_tokenizers.WhitespaceSplit())
    assert white == matching(r"\s")
    out.set("white_space", white, "White space, in patterns and in every component.")
    word = word_scalars()
    version_note("\\w of Whitespace", word, lambda m, s: m.category(s) in ("Lu", "Ll", "Lt", "Lm", "Lo", "Mn", "Mc", "Me", "Nd", "Pc", "Nl"))
    out.set("word", word, "`\\w` of the pre-tokenizer Whitespace and of added tokens.")
    numeric = digits()
    version_note("Digits", numeric, lambda m, s: m.category(s)[0] == "N")
    out.set("numeric", numeric, "What the pre-tokenizer Digits splits at.")
    punctuation = removed_by(pre_tokenizers.Punctuation("removed"))
    version_note("Punctuation", punctuation,
                 lambda m, s: m.category(s)[0] == "P" or s in "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")
    out.set("punctuation", punctuation, "What Punctuation and BertPreTokenizer split at.")
    clean = normalizers.BertNormalizer(clean_text=True, handle_chinese_chars=False, strip_accents=False, lowercase=False)
    control = [c for c in SCALARS if clean.normalize_str(chr(c)) == ""]
    version_note("control of BertNormalizer", control, lambda m, s: m.category(s) in ("Cc", "Cf", "Co") and s not in "\t\n\r" or s == "\ufffd")
    out.set("bert_control", control, "What BertNormalizer removes as control characters.")
    nfd, nfkd = normalizers.NFD(), normalizers.NFKD()
    accents = normalizers.BertNormalizer(clean_text=False, handle_chinese_chars=False, strip_accents=True, lowercase=False)
    bert_marks = [c for c in SCALARS if accents.normalize_str(chr(c)) == ""]
    version_note("accents of BertNormalizer", bert_marks, lambda m, s: m.category(s) == "Mn")
    out.set("bert_marks", bert_marks, "What BertNormalizer removes as accents.")
    strip = normalizers.StripAccents()
    marks = [c for c in SCALARS if strip.normalize_str(chr(c)) == ""]
    version_note("StripAccents", marks, lambda m, s: m.category(s)[0] == "M")
    out.set("marks", marks, "What StripAccents removes.")
    lower = normalizers.Lowercase()
    table = {c: lower.normalize_str(chr(c)) for c in SCALARS}
    table = {c: text for c, text in table.items() if text != chr(c)}
    print(f"Lowercase: {len(table)} scalars; Python's lower() differs for {sum(chr(c).lower() != t for c, t in table.items())}")
    out.strings("lowercase", table, "Lower case.")
    canonical = decompositions(nfd)
    compatible = decompositions(nfkd)
    differing = sum(unicodedata.normalize("NFKD", chr(c)) != compatible.get(c, chr(c)) for c in SCALARS if not 0xAC00 <= c < 0xD7A4)
    print(f"NFKD: {len(compatible)} scalars; {differing} other than in Unicode {unicodedata.unidata_version}")
    out.strings("canonical", canonical, "Canonical decompositions without Hangul syllables.")
    out.strings("compatible", {c: t for c, t in compatible.items() if canonical.get(c) != t},
                "Compatible decompositions that differ from canonical ones.")
    out.map("combining", value_runs(combining_classes(), 0), "Canonical combining class.")
    triples = compositions()
    out.array("compositions", [x for t in triples for x in t], "Canonical compositions: first, second, composed; without Hangul.")
    out.map("script_classes", scripts_of_pre_tokenizer(), "Class of the pre-tokenizer UnicodeScripts; 0 joins any other.")
    names, script_runs = scripts_of_patterns()
    out.map("scripts", script_runs, "Script in patterns: an index into the names, from 1; 0 for none.")
    grapheme_names, grapheme_runs = grapheme_values()
    out.map("graphemes", grapheme_runs, "Class for grapheme breaks: " + ", ".join(grapheme_names) + ".")
    classes = case_classes()
    out.array("case_classes", [x for c in classes for x in [len(c)] + c],
              "Sets of scalars that are equal in (?i): count, then the scalars.")

    folder = os.path.join(os.path.dirname(__file__), "..", "Sources", "CAccelUnicode")
    os.makedirs(os.path.join(folder, "include"), exist_ok=True)
    with open(os.path.join(folder, "tables.c"), "w") as file:
        file.write("\n".join(out.text))
        file.write("\nconst char *accelc_unicode_script_names(void) {\n    return \"" + '\\n"\n           "'.join(names) + '";\n}\n')
    with open(os.path.join(folder, "include", "CAccelUnicode.h"), "w") as file:
        file.write("// Made by scripts/unicode_tables.py. Tables for Unicode text, as lists of ranges and runs.\n#pragma once\n#include <stdint.h>\n\n"
                   "/// A table.\ntypedef struct {\n    const uint32_t *values;\n    int32_t count;\n} accelc_unicode_list;\n\n")
        file.write("\n".join(out.declarations))
        file.write("\n/// Names of the scripts in patterns, one a line, in the order of their numbers.\nconst char *accelc_unicode_script_names(void);\n")


main()
