#!/usr/bin/env python3
"""Lists words that the vocabulary of accelc has another word for, in the sources: file, line, word, the word to use.

usage: words.py [FOLDER...]     (default: Sources)
Exit status 1 if there are more than ALLOWED has for a word: the numbers there may only fall.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent

# What is written, by a pattern of whole words: what to write.
WORDS = {
    r"extents?": "dimension, size or shape",
    r"objections?": "unsupported reason",
    r"left plain": "fallback, unsupported",
    r"put aside": "quarantine",
    r"takes? (?:a|the) name of": "publish",
    r"cannot be said": "is not supported",
    r"has none such": "has no such",
    r"that which": "a noun",
    r"as it is told": "as reported",
    r"refuse[ds]?|refusals?": "reject",
    r"surroundings": "attention inputs",
    r"keeper": "cross-attention function",
    r"bent": "softcapped",
    r"places": "positions, where they are those of a sequence",
    r"settle[ds]?": "resolve, or apply to",
    r"goes with|go with": "applies to",
    r"told": "reported",
}
# Doc comments are noun phrases, or verbs in the third person.
BEGINNINGS = r"^\s*/// (What|Those of|Of|That) "

# Places that are left. Lower a number when words go.
ALLOWED = {
    # A member of the document of `accelc formats --json`, which programs read.
    r"refuse[ds]?|refusals?": 1,
    # The code of a diagnostic, which programs read.
    r"settle[ds]?": 1,
}


def lines(folders):
    for folder in folders:
        for path in sorted((ROOT / folder).rglob("*.swift")):
            for number, line in enumerate(path.read_text().splitlines(), 1):
                yield path.relative_to(ROOT), number, line


def main():
    if any(word.startswith("-") for word in sys.argv[1:]):
        sys.exit(__doc__)
    patterns = {word: re.compile(rf"\b(?:{word})\b") for word in WORDS}
    beginnings = re.compile(BEGINNINGS)
    counts, found = {}, []
    for path, number, line in lines(sys.argv[1:] or ["Sources"]):
        for word, pattern in patterns.items():
            for match in pattern.finditer(line):
                counts[word] = counts.get(word, 0) + 1
                found.append((word, f"{path}:{number}: {match.group(0)} ({WORDS[word]})"))
        if beginnings.match(line):
            counts["beginning"] = counts.get("beginning", 0) + 1
            found.append(("beginning", f"{path}:{number}: a doc comment that begins with \"{line.split()[1]}\""))
    over = {word for word, count in counts.items() if count > ALLOWED.get(word, 0)}
    for word, text in found:
        if word in over:
            print(text)
    for word in sorted(over):
        print(f"{word}: {counts[word]}, and {ALLOWED.get(word, 0)} are allowed", file=sys.stderr)
    sys.exit(1 if over else 0)


if __name__ == "__main__":
    main()
