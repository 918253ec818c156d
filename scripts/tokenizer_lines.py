"""Lines of text in many scripts, code, emoji, marks, control characters and broken UTF-8, made from a seed."""

import random

ALPHABETS = {
    "latin": "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ",
    "accents": "éèêëàâäôöùûüçñãõåøæœßŁłŠšŽžĐđÞþİıŞşĞğẼṩṩǅǆŉǰΐ",
    "greek": "αβγδεζηθικλμνξοπρσςτυφχψωΑΒΓΔΕάέήίόύώΐΰᾳῳ",
    "cyrillic": "абвгдежзийклмнопрстуфхцчшщъыьэюяАБВГДЕЁёЙйЇїіЄєЎў",
    "hebrew": "אבגדהוזחטיכלמנסעפצקרשתםןץףךשּׁ",
    "arabic": "ابتثجحخدذرزسشصضطظعغفقكلمنهويءآأإؤئةىًٌٍَُِّْٰﷺﻼ",
    "devanagari": "अआइईउऊएऐओऔकखगघचछजझटठडढणतथदधनपफबभमयरलवशषसहािीुूेैोौ्ंः़क़ख़",
    "bengali": "অআইঈউকখগঘঙচছজঝটঠডঢণতথদধনপফবভমযরলশষসহািীুূেৈোৌ্ংঃ",
    "tamil": "அஆஇஈஉஊஎஏஐஒஓகஙசஞடணதநபமயரலவழளறனாிீுூெேைொோௌ்",
    "telugu": "అఆఇఈఉకఖగఘచఛజఝటఠడఢణతథదధనపఫబభమయరలవశషసహాిీుూెేై్",
    "thai": "กขคงจฉชซญดตถทธนบปผฝพฟภมยรลวศษสหอฮะาิีึืุูเแโใไ่้๊๋็์ำ",
    "lao": "ກຂຄງຈຊຍດຕຖທນບປຜຝພຟມຢຣລວສຫອຮະາິີຶືຸູເແໂໃໄຳ",
    "georgian": "აბგდევზთიკლმნოპჟრსტუფქღყშჩცძწჭხჯჰᲐᲑᲒ",
    "armenian": "աբգդեզէըթժիլխծկհձղճմյնշոչպջռսվտրցւփքօֆև",
    "ethiopic": "ሀለሐመሠረሰሸቀበተቸኀነኘአከኸወዐዘዠየደጀገጠጨጰጸፀፈፐ",
    "khmer": "កខគឃងចឆជឈញដឋឌឍណតថទធនបផពភមយរលវសហឡអាិីឹឺុូួើឿៀេែៃោៅ្ំះ",
    "myanmar": "ကခဂဃငစဆဇဈညဋဌဍဎဏတထဒဓနပဖဗဘမယရလဝသဟဠအာိီုူေဲံ့း္်ျြွှ",
    "tibetan": "ཀཁགངཅཆཇཉཏཐདནཔཕབམཙཚཛཝཞཟའཡརལཤསཧཨིེོུྲྱ་།",
    "han": "的一是不了人我在有他这为之大来以个中上们到说国和地也子时道出而要于就下得可你年生自会那后能对着事其里所去行过家十用发天如然作方成者多日都三小军二无同么经法当起与好看学进种将还分此心前面又定见只主没公从豈廓朗𠀀𪜶",
    "kana": "あいうえおかきくけこさしすせそたちつてとなにぬねのはひふへほまみむめもやゆよらりるれろわをんガギグゲゴパピプペポァィゥェォッャュョーｱｲｳﾞﾟ",
    "hangul": "가나다라마바사아자차카타파하한국어말글힣각닭뷁",
    "jamo": "ᄀᄁᄂᄃ따ᅢᅣᅤᆨᆩᆪᆫㄱㄴㄷㅏㅑㅓ",
    "mongolian": "ᠠᠡᠢᠣᠤᠥᠦᠧᠨᠩᠪᠫᠬᠭ",
    "cherokee": "ᎠᎡᎢᎣᎤᎥᎦᎧᎨᎩᎪꭰꭱꭲ",
    "gothic": "𐌰𐌱𐌲𐌳𐌴𐌵𐌶𐌷𐌸𐌹",
    "mathematical": "𝐀𝐁𝐂𝑎𝑏𝑐𝒜𝓐𝔄𝕬𝟎𝟏𝟐𝟘𝟙ℵℂℝ∀∃∈∑∏√∞≤≥≠±×÷",
    "compatible": "ﬁﬂﬀﬃ①②③ⅠⅡⅢ㈱㍿㌔ＡＢＣａｂｃ１２３！？½¼¾²³¹ªº…‥№℡™℠㎏㎡Ⅳⅳ",
}
DIGITS = ["0123456789", "٠١٢٣٤٥٦٧٨٩", "०१२३४५६७८९", "০১২৩৪", "๐๑๒๓", "०१", "①②", "½Ⅷ", "𝟘𝟙"]
EMOJI = ["😀", "👍🏽", "👨‍👩‍👧‍👦", "🏳️‍🌈", "🇩🇪🇫🇷", "❤️", "☃️", "🧑🏿‍🚀", "1️⃣", "©", "™", "👩🏽‍❤️‍💋‍👨🏿", "🏴󠁧󠁢󠁥󠁮󠁧󠁿", "🫠", "🪿"]
SPACES = [" ", "  ", "   ", "\t", "\n", "\r\n", "\u00a0", "\u3000", "\u2003", "\u2028", "\u200b", "\u200d", "\ufeff", " \n ", "\n\n", "        ",
          "\u0085", "\u1680", "\u202f", "\x0b", "\x0c"]
MARKS = ["\u0301", "\u0308", "\u0323", "\u0345", "\u0327", "\u0316", "\u20dd", "\u093c", "\u094d", "\u05b0", "\u064b", "\u0e38", "\u302a", "\u3099", "\u1dc0", "\u0f71", "\u0f74"]
PUNCTUATION = list("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~") + ["…", "—", "“", "”", "«", "»", "¿", "¡", "、", "。", "！", "・", "،", "؟", "।", "‚", "§", "¶", "†", "‰", "″", "€", "₹"]
CONTROL = ["\x00", "\x01", "\x07", "\x1b", "\x7f", "\x80", "\x9f", "\u200e", "\u202e", "\u2066", "\ufff9", "\ufffd", "\ufffe", "\U000e0001", "\ue000", "\U0010ffff", "\u0378", "\u00ad"]
CODE = ["def f(x):\n    return x + 1", "for (int i = 0; i < 10; ++i) { a[i] = 0x1F; }", "SELECT * FROM t WHERE a='b';", "import os, sys", "#include <stdio.h>",
        "let x: [String: Int] = [:]", "x**2 // 3 != y", "https://example.com/a?b=c&d=%20#e", "user.name+tag@mail.example.org", "C:\\Users\\x\\file.txt",
        "<div class=\"a\">&nbsp;</div>", "$ rm -rf ./build && make -j8", "{\"a\": [1, 2.5e-3, null]}", "\tif x:\n\t\tpass", "a_b-c.d", "camelCaseWord SCREAMING_CASE",
        "\\frac{a}{b}", "```python\nprint('hi')\n```"]
ENGLISH = """the of and to in is you that it he was for on are as with his they I at be this have from or one had by word but not what all were we
when your can said there use an each which she do how their if will up other about out many then them these so some her would make like him into
time has look two more write go see number no way could people my than first water been call who oil its now find long down day did get come made
may part don't can't won't it's I'm you're they've she'll he'd we're isn't DON'T IT'S i'M tokenization internationalization Berlin London 2024 3.14
unbelievable running quickly understanding""".split()
SPECIAL = ["[CLS]", "[SEP]", "[MASK]", "[UNK]", "[PAD]", "<s>", "</s>", "<unk>", "<pad>", "<|endoftext|>", "<|im_start|>", "<|im_end|>", "<|en|>", "<mask>",
           "[user]", "Yesterday", "yesterday", "ǅungla"]


def word(rng, alphabet, longest=10):
    return "".join(rng.choice(alphabet) for _ in range(rng.randint(1, longest)))


def part(rng, script=None):
    kind = rng.random()
    if script is not None and kind < 0.75:
        return word(rng, ALPHABETS[script])
    kind = rng.random()
    if kind < 0.35:
        return rng.choice(ENGLISH)
    if kind < 0.55:
        return word(rng, ALPHABETS[rng.choice(list(ALPHABETS))])
    if kind < 0.63:
        return "".join(rng.choice(rng.choice(DIGITS)) for _ in range(rng.randint(1, 7)))
    if kind < 0.70:
        return rng.choice(EMOJI) * rng.randint(1, 2)
    if kind < 0.78:
        return rng.choice(PUNCTUATION) * rng.randint(1, 4)
    if kind < 0.84:
        return rng.choice(ENGLISH) + rng.choice(MARKS) * rng.randint(1, 2) + rng.choice(MARKS)
    if kind < 0.88:
        return rng.choice(CONTROL)
    if kind < 0.92:
        return rng.choice(SPECIAL)
    if kind < 0.96:
        return chr(rng.choice([rng.randint(0x20, 0x2FF), rng.randint(0x300, 0xD7FF), rng.randint(0xE000, 0xFFFF), rng.randint(0x10000, 0x1FFFF), rng.randint(0x20000, 0x10FFFF)]))
    return rng.choice(CODE)


def line(rng, script):
    kind = rng.random()
    if kind < 0.01:
        return ""
    if kind < 0.02:
        return rng.choice(SPACES) * rng.randint(1, 30)
    if kind < 0.03:
        return word(rng, ALPHABETS[rng.choice(list(ALPHABETS))], 400)
    if kind < 0.035:
        return rng.choice("a1 \n.é漢") * rng.randint(50, 700)
    if kind < 0.06:
        # Bytes that are no UTF-8, decoded as Python does.
        data = bytearray("".join(part(rng, script) for _ in range(4)).encode())
        for _ in range(rng.randint(1, 5)):
            position = rng.randint(0, len(data))
            if rng.random() < 0.5 and data:
                del data[position:position + 1]
            else:
                data.insert(position, rng.randint(0x80, 0xFF))
        return bytes(data).decode("utf-8", errors="replace")
    if kind < 0.10:
        return rng.choice(CODE) + rng.choice(SPACES) + rng.choice(CODE)
    out = []
    for _ in range(rng.randint(1, 14)):
        out.append(part(rng, script))
        spacing = rng.random()
        out.append(" " if spacing < 0.7 else "" if spacing < 0.85 else rng.choice(SPACES))
    return "".join(out)


def lines(count, seed=1):
    rng = random.Random(seed)
    scripts = list(ALPHABETS)
    return [line(rng, scripts[index % len(scripts)] if index % 3 else None) for index in range(count)]


def corpus(count=6000, seed=2):
    """Text to train small tokenizers on."""
    rng = random.Random(seed)
    scripts = list(ALPHABETS)
    out = []
    for index in range(count):
        if index % 2:
            out.append(" ".join(rng.choice(ENGLISH) for _ in range(12)))
        else:
            out.append(" ".join(word(rng, ALPHABETS[scripts[index % len(scripts)]], 5) for _ in range(10)))
    return out + CODE * 3
