"""Makes tokenizers of every kind with the PyPI package `tokenizers`, lines of text, and what they give for each line.

    python scripts/tokenizer_goldens.py all FOLDER [--real NAME=PATH ...]   tokenizers, 10,000 lines and goldens for Tests/TextTool
    python scripts/tokenizer_goldens.py gguf FOLDER FILE.gguf               a real GGUF file of SmolLM2, and its goldens
    python scripts/tokenizer_goldens.py fixture                             the sample that the tests read
    python scripts/tokenizer_goldens.py large FOLDER                        vocabularies of 150,000 words for the benchmark

Goldens are one file a tokenizer. Each line of text has: ids, offsets in bytes (start end ...), decoded text, decoded text without
special tokens. All numbers are little-endian uint32; texts are UTF-8 after their length.
"""

import base64
import json
import os
import random
import shutil
import struct
import sys

here = os.path.dirname(os.path.abspath(__file__))
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

from tokenizer_lines import corpus, lines

GPT2 = pre_tokenizers.ByteLevel
LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")
QWEN2 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")
GPT4 = (r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s")
GPT4O = (r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?"
         r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+")
DEEPSEEK = [r"\p{N}{1,3}", "[一-龥\u3040-ゟ゠-ヿ]+",
            r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"]
BLOOM = r" ?[^(\s|[.,!?…。，、।۔،])]+"
KIMI = (r"[\p{Han}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|"
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}|"
        r" ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")
AYA = r"\d{1,3}(?=(?:\d{3})*\b)"


def split(expression, behavior="isolated", invert=False):
    return pre_tokenizers.Split(Regex(expression), behavior, invert)


def level(*before, prefix=False, regex=False):
    return pre_tokenizers.Sequence([*before, GPT2(add_prefix_space=prefix, use_regex=regex)])


class Maker:
    def __init__(self, small):
        self.size = 420 if small else 3000
        self.isSmall = small
        self.corpus = corpus(300 if small else 6000)
        self.made = {}

    def add(self, name, tokenizer, change=None):
        """`change` edits the document, for what the Python classes do not set."""
        document = json.loads(tokenizer.to_str())
        if change:
            change(document)
        self.made[name] = json.dumps(document, ensure_ascii=False)

    def bpe(self, normalizer=None, pre=None, decoder=None, post=None, special=("<|endoftext|>",), alphabet=True, model=None, limit=300, **options):
        tokenizer = Tokenizer(model or models.BPE(**options))
        if normalizer:
            tokenizer.normalizer = normalizer
        if pre:
            tokenizer.pre_tokenizer = pre
        trainer_options = {k: v for k, v in options.items() if k in ("continuing_subword_prefix", "end_of_word_suffix")}
        tokenizer.train_from_iterator(self.corpus, trainers.BpeTrainer(
            vocab_size=self.size, special_tokens=list(special), show_progress=False,
            initial_alphabet=GPT2.alphabet() if alphabet else [], limit_alphabet=1000 if alphabet else limit, **trainer_options))
        if decoder:
            tokenizer.decoder = decoder
        if post:
            tokenizer.post_processor = post
        return tokenizer

    def word_piece(self, normalizer, pre, decoder=None, special=("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"), **options):
        tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]", **options))
        tokenizer.normalizer = normalizer
        tokenizer.pre_tokenizer = pre
        tokenizer.train_from_iterator(self.corpus, trainers.WordPieceTrainer(
            vocab_size=self.size, special_tokens=list(special), show_progress=False, limit_alphabet=400))
        tokenizer.decoder = decoder or decoders.WordPiece(prefix="##", cleanup=True)
        return tokenizer

    def unigram(self, normalizer, pre, decoder=None, special=("<s>", "<pad>", "</s>", "<unk>"), **options):
        tokenizer = Tokenizer(models.Unigram())
        tokenizer.normalizer = normalizer
        tokenizer.pre_tokenizer = pre
        # All characters of the text are words of a unigram model.
        text = self.corpus[1:300:2] if self.isSmall else self.corpus
        tokenizer.train_from_iterator(text, trainers.UnigramTrainer(
            vocab_size=self.size, special_tokens=list(special), unk_token="<unk>", show_progress=False, **options))
        if decoder:
            tokenizer.decoder = decoder
        return tokenizer

    def all(self, charsmap=None):
        byte = decoders.ByteLevel()
        # Byte-level BPE with each kind of splitting.
        self.add("gpt2", self.bpe(pre=GPT2(add_prefix_space=False), decoder=byte, post=processors.ByteLevel(trim_offsets=True)))
        self.add("gpt2_prefix", self.bpe(pre=GPT2(add_prefix_space=True), decoder=byte, post=processors.ByteLevel(trim_offsets=True)))
        self.add("gpt2_untrimmed", self.bpe(pre=GPT2(add_prefix_space=True), decoder=byte, post=processors.ByteLevel(trim_offsets=False)))
        self.add("gpt2_whole", self.bpe(pre=GPT2(add_prefix_space=False, use_regex=False), decoder=byte))
        roberta = self.bpe(pre=GPT2(add_prefix_space=True), decoder=byte, special=("<s>", "<pad>", "</s>", "<unk>"))
        roberta.add_special_tokens([AddedToken("<mask>", lstrip=True, rstrip=False, normalized=False)])
        roberta.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0), trim_offsets=True, add_prefix_space=True)
        self.add("roberta", roberta)
        self.add("smollm", self.bpe(pre=pre_tokenizers.Sequence([pre_tokenizers.Digits(True), GPT2(add_prefix_space=False)]), decoder=byte))
        llama3 = self.bpe(pre=level(split(LLAMA3)), decoder=byte, special=("<|begin_of_text|>", "<|end_of_text|>"))
        llama3.post_processor = processors.Sequence([processors.ByteLevel(trim_offsets=False), processors.TemplateProcessing(
            single="<|begin_of_text|> $A", pair="<|begin_of_text|> $A <|begin_of_text|>:1 $B:1", special_tokens=[("<|begin_of_text|>", 0)])])
        self.add("llama3", llama3, lambda d: d["model"].update(ignore_merges=True))
        self.add("qwen2", self.bpe(normalizer=normalizers.NFC(), pre=level(split(QWEN2)), decoder=byte, special=("<|endoftext|>", "<|im_start|>", "<|im_end|>")))
        self.add("gpt4", self.bpe(pre=level(split(GPT4)), decoder=byte))
        self.add("gpt4o", self.bpe(pre=level(split(GPT4O)), decoder=byte))
        self.add("gpt4_removed", self.bpe(pre=level(split(GPT4, "removed", True)), decoder=byte))
        self.add("deepseek", self.bpe(pre=level(*[split(e) for e in DEEPSEEK]), decoder=byte))
        self.add("bloom", self.bpe(pre=level(split(BLOOM)), decoder=byte))
        self.add("kimi", self.bpe(pre=level(split(KIMI)), decoder=byte))
        self.add("aya", self.bpe(pre=level(split(AYA), split(GPT4O)), decoder=byte))
        self.add("bytes_then_split", self.bpe(pre=pre_tokenizers.Sequence([GPT2(add_prefix_space=False), split("Ġ", "merged_with_next")]), decoder=byte))
        self.add("bytes_normalizer", self.bpe(normalizer=normalizers.Sequence([normalizers.NFD(), normalizers.ByteLevel()]), decoder=byte))
        # Splitting by strings, and each behaviour.
        for behavior in ("removed", "isolated", "merged_with_previous", "merged_with_next", "contiguous"):
            self.add("behavior_" + behavior, self.bpe(pre=pre_tokenizers.Sequence([
                pre_tokenizers.Split(" ", behavior), pre_tokenizers.Punctuation(behavior), pre_tokenizers.Split(Regex("[0-9]+"), behavior, invert=True)]),
                alphabet=False, unk_token="<unk>", special=("<unk>",)))
        self.add("split_empty", self.bpe(pre=pre_tokenizers.Sequence([pre_tokenizers.Split(Regex("x*"), "isolated"), pre_tokenizers.Split(Regex(r"(?<=[a-f])(?=[g-z])|(?<!\w)\d|\b"), "isolated")]),
                                          alphabet=False, unk_token="<unk>", special=("<unk>",)))
        self.add("delimiter", self.bpe(pre=pre_tokenizers.CharDelimiterSplit("e"), alphabet=False, unk_token="<unk>", special=("<unk>",)))
        self.add("fixed", self.bpe(pre=pre_tokenizers.FixedLength(4), alphabet=False, unk_token="<unk>", special=("<unk>",)))
        self.add("digits", self.bpe(pre=pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Digits(False)]), alphabet=False, unk_token="<unk>", special=("<unk>",)))
        self.add("scripts", self.bpe(pre=pre_tokenizers.Sequence([pre_tokenizers.UnicodeScripts(), pre_tokenizers.Whitespace()]), alphabet=False, unk_token="<unk>", special=("<unk>",)))
        # BPE with characters: unknown tokens, bytes, prefixes and suffixes.
        legacy = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
        llama_decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)])
        byte_tokens = ["<unk>", "<s>", "</s>"] + [f"<0x{b:02X}>" for b in range(256)]
        for name, fuse in (("llama", True), ("llama_unfused", False)):
            llama = self.bpe(normalizer=legacy, pre=pre_tokenizers.Metaspace(prepend_scheme="never"), decoder=llama_decoder, alphabet=False, special=byte_tokens,
                             unk_token="<unk>", byte_fallback=True, fuse_unk=fuse)

            def change(d, fuse=fuse):
                d["pre_tokenizer"] = None
                d["added_tokens"] = d["added_tokens"][:3]
                d["model"]["merges"] = [" ".join(m) for m in d["model"]["merges"]]
                if not fuse:
                    for b in range(0x80, 0x100, 3):
                        d["model"]["vocab"][f"<0x{b:02X}>?"] = d["model"]["vocab"].pop(f"<0x{b:02X}>")
            llama.post_processor = processors.TemplateProcessing(single="<s> $A", pair="<s> $A <s>:1 $B:1", special_tokens=[("<s>", 1)])
            self.add(name, llama, change)
        for scheme in ("always", "first", "never"):
            self.add("metaspace_" + scheme, self.bpe(pre=pre_tokenizers.Metaspace(prepend_scheme=scheme), decoder=decoders.Metaspace(prepend_scheme=scheme),
                                                     alphabet=False, unk_token="<unk>", special=("<unk>", "<s>"), fuse_unk=scheme == "first"))
        self.add("metaspace_split_first", self.bpe(pre=pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace(prepend_scheme="first")]),
                                                   normalizer=normalizers.Strip(left=True, right=True), decoder=decoders.Metaspace(), alphabet=False, unk_token="<unk>", special=("<unk>", "<s>")))
        self.add("metaspace_whole", self.bpe(pre=pre_tokenizers.Metaspace(prepend_scheme="first", split=False), decoder=decoders.Metaspace(), alphabet=False, unk_token="<unk>", special=("<unk>",)))
        clip = self.bpe(normalizer=normalizers.Sequence([normalizers.NFC(), normalizers.Replace(Regex(r"\s+"), " "), normalizers.Lowercase()]),
                        pre=pre_tokenizers.Sequence([split(r"<\|startoftext\|>|<\|endoftext\|>|'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+", "removed", True), GPT2(add_prefix_space=False)]),
                        decoder=byte, end_of_word_suffix="</w>", unk_token="<|endoftext|>")
        clip.post_processor = processors.RobertaProcessing(("<|endoftext|>", 0), ("<|endoftext|>", 0), trim_offsets=False, add_prefix_space=False)
        self.add("clip", clip)
        self.add("openai_gpt", self.bpe(normalizer=normalizers.BertNormalizer(), pre=pre_tokenizers.BertPreTokenizer(), decoder=decoders.BPEDecoder("</w>"), alphabet=False,
                                        end_of_word_suffix="</w>", unk_token="<unk>", special=("<unk>",)))
        self.add("bpe_prefix", self.bpe(pre=pre_tokenizers.Whitespace(), decoder=decoders.WordPiece("##", False), alphabet=False, continuing_subword_prefix="##", unk_token="<unk>", special=("<unk>",)))
        self.add("bpe_suffix_bytes", self.bpe(pre=pre_tokenizers.Whitespace(), alphabet=False, end_of_word_suffix="</w>", unk_token="<unk>", byte_fallback=True, special=tuple(byte_tokens), limit=60))
        self.add("bpe_drops_unknown", self.bpe(pre=pre_tokenizers.Whitespace(), alphabet=False, special=(), limit=60))
        # WordPiece.
        bert = self.word_piece(normalizers.BertNormalizer(), pre_tokenizers.BertPreTokenizer())
        bert.post_processor = processors.TemplateProcessing(single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 2), ("[SEP]", 3)])
        self.add("bert", bert)
        cased = self.word_piece(normalizers.BertNormalizer(lowercase=False), pre_tokenizers.BertPreTokenizer())
        cased.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
        self.add("bert_cased", cased)
        self.add("bert_accents", self.word_piece(normalizers.BertNormalizer(clean_text=False, handle_chinese_chars=False, strip_accents=True, lowercase=False), pre_tokenizers.BertPreTokenizer(),
                                                 decoder=decoders.WordPiece("##", False)))
        self.add("bert_short", self.word_piece(normalizers.BertNormalizer(), pre_tokenizers.WhitespaceSplit(), max_input_chars_per_word=12))
        trimmed = self.word_piece(normalizers.Sequence([normalizers.NFKC()]), pre_tokenizers.Split(Regex(r"[a-z]+\s*"), "isolated"))
        trimmed.post_processor = processors.ByteLevel(trim_offsets=True, add_prefix_space=False)
        self.add("trimmed", trimmed)
        # Unigram.
        meta = pre_tokenizers.Metaspace()
        xlnet = self.unigram(normalizers.Sequence([normalizers.Nmt(), normalizers.NFKC(), normalizers.Replace(Regex(" {2,}"), " ")]), meta, decoders.Metaspace())
        xlnet.post_processor = processors.TemplateProcessing(single="<s> $A </s>", pair="<s> $A </s> </s> $B </s>", special_tokens=[("<s>", 0), ("</s>", 2)])
        self.add("unigram", xlnet)
        if charsmap:
            precompiled = normalizers.Sequence([normalizers.Precompiled(charsmap), normalizers.Replace(Regex(" {2,}"), " ")])
            self.add("xlmr", self.unigram(precompiled, pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), meta]), decoders.Metaspace()))
            self.add("precompiled", self.unigram(normalizers.Precompiled(charsmap), pre_tokenizers.Metaspace(prepend_scheme="first"), decoders.Metaspace()))

        def bytes_in_unigram(d):
            d["model"]["byte_fallback"] = True
            d["model"]["vocab"] += [[f"<0x{b:02X}>", -20.0] for b in range(256)]
        self.add("unigram_bytes", self.unigram(normalizers.NFKD(), meta, decoders.Sequence([decoders.ByteFallback(), decoders.Metaspace()])), bytes_in_unigram)
        self.add("unigram_whole", self.unigram(None, None, decoders.Fuse()))
        # WordLevel, and each of the other normalizers.
        def level_of(normalizer, pre):
            tokenizer = Tokenizer(models.WordLevel(unk_token="<unk>"))
            tokenizer.normalizer = normalizer
            tokenizer.pre_tokenizer = pre
            tokenizer.train_from_iterator(self.corpus, trainers.WordLevelTrainer(vocab_size=self.size, special_tokens=["<unk>"], show_progress=False))
            return tokenizer
        self.add("word_level", level_of(normalizers.Lowercase(), pre_tokenizers.Whitespace()))
        for name, normalizer in (("nfc", normalizers.NFC()), ("nfd", normalizers.NFD()), ("nfkc", normalizers.NFKC()), ("nfkd", normalizers.NFKD()),
                                 ("lowercase", normalizers.Lowercase()), ("strip", normalizers.Strip(True, False)), ("strip_right", normalizers.Strip(False, True)),
                                 ("strip_accents", normalizers.Sequence([normalizers.NFD(), normalizers.StripAccents()])), ("marks", normalizers.StripAccents()),
                                 ("nmt", normalizers.Nmt()), ("prepend", normalizers.Prepend("xy")),
                                 ("replace", normalizers.Sequence([normalizers.Replace(Regex(r"([aeiou])+|\d"), "_ö"), normalizers.Replace("th", ""), normalizers.Replace("  ", " ")]))):
            self.add("normalizer_" + name, self.bpe(normalizer=normalizer, alphabet=False, unk_token="<unk>", special=("<unk>",)))
        # Added tokens with each flag.
        added = self.bpe(normalizer=normalizers.Sequence([normalizers.NFKC(), normalizers.Lowercase()]), pre=GPT2(add_prefix_space=False), decoder=byte, post=processors.ByteLevel())
        added.add_tokens([AddedToken("yesterday", normalized=True), AddedToken("Yesterday's", normalized=True, single_word=True), AddedToken("the", single_word=True, normalized=False),
                          AddedToken("ǅungla", normalized=True), AddedToken("ing", normalized=False, rstrip=True), AddedToken("und", normalized=True, lstrip=True),
                          AddedToken("understand", normalized=False), AddedToken("erst", normalized=False), AddedToken("①", normalized=True)])
        added.add_special_tokens([AddedToken("<mask>", lstrip=True, rstrip=True), "[user]", "<s>", "</s>", AddedToken("<unk>", single_word=True)])
        self.add("added", added)
        ctc = level_of(None, pre_tokenizers.Split(Regex("."), "isolated"))
        ctc.decoder = decoders.CTC(pad_token="<unk>", word_delimiter_token="|", cleanup=True)
        self.add("ctc", ctc)
        strips = self.bpe(pre=GPT2(add_prefix_space=False), decoder=decoders.Sequence([byte, decoders.Strip("e", 2, 1), decoders.Replace("th", "TH"), decoders.Replace(Regex("[0-9]"), "#")]))
        self.add("decoders", strips)
        return self.made


def charsmap_of_sentencepiece(folder, rows):
    """The character map of sentencepiece's rule nmt_nfkc, from a model trained on the lines; and the models."""
    import sentencepiece
    path = os.path.join(folder, "sp")
    os.makedirs(path, exist_ok=True)
    text = os.path.join(path, "corpus.txt")
    with open(text, "w") as file:
        file.write("\n".join(rows))
    made = {}
    for name, options in {
        "sp_unigram": dict(model_type="unigram", byte_fallback=False, user_defined_symbols=["<sep>", "understand"]),
        "sp_bpe": dict(model_type="bpe", byte_fallback=True, user_defined_symbols=["<sep>", "und"]),
        "sp_bpe_plain": dict(model_type="bpe", normalization_rule_name="identity", remove_extra_whitespaces=False, add_dummy_prefix=False, byte_fallback=True),
        "sp_unigram_bytes": dict(model_type="unigram", byte_fallback=True, split_digits=True, normalization_rule_name="nmt_nfkc_cf"),
        "sp_char": dict(model_type="char"),
    }.items():
        sentencepiece.SentencePieceTrainer.train(
            input=text, model_prefix=os.path.join(path, name), vocab_size=1500, character_coverage=0.99, hard_vocab_limit=False,
            minloglevel=2, **options)
        made[name] = os.path.join(path, name + ".model")
    import sentencepiece.sentencepiece_model_pb2 as pb
    proto = pb.ModelProto()
    proto.ParseFromString(open(made["sp_unigram"], "rb").read())
    return proto.normalizer_spec.precompiled_charsmap, made


def text_field(text):
    data = text.encode("utf-8")
    return struct.pack("<I", len(data)) + data


def numbers(values):
    return struct.pack(f"<{len(values) + 1}I", len(values), *values)


def byte_offsets(row, offsets):
    sums = [0]
    for c in row:
        sums.append(sums[-1] + len(c.encode("utf-8")))
    out = []
    for start, end in offsets:
        out += [sums[min(start, len(row))], sums[min(end, len(row))]]
    return out


def golden(tokenizer, rows):
    out = [struct.pack("<I", len(rows))]
    for row in rows:
        encoding = tokenizer.encode(row)
        out.append(numbers(encoding.ids))
        out.append(numbers(byte_offsets(row, encoding.offsets)))
        out.append(text_field(tokenizer.decode(encoding.ids, skip_special_tokens=False) if encoding.ids else ""))
        out.append(text_field(tokenizer.decode(encoding.ids, skip_special_tokens=True) if encoding.ids else ""))
    return b"".join(out)


def golden_sentencepiece(path, rows):
    import sentencepiece
    processor = sentencepiece.SentencePieceProcessor(model_file=path)
    out = [struct.pack("<I", len(rows))]
    for row in rows:
        ids = processor.encode(row)
        out += [numbers(ids), numbers([]), text_field(processor.decode(ids)), text_field(processor.decode(ids))]
    return b"".join(out)


def gguf(folder, path, rows):
    """A GGUF file's metadata as JSON, its tokenizer as tokenizer.json (SmolLM's pre-tokenizer), and the goldens of that."""
    from gguf import GGUFReader
    fields = GGUFReader(path).fields
    values = {key.removeprefix("tokenizer.ggml."): field.contents() for key, field in fields.items() if key.startswith("tokenizer.ggml.")}
    with open(os.path.join(folder, "gguf_smollm2.metadata"), "w") as file:
        json.dump(values, file, ensure_ascii=False)
    tokenizer = Tokenizer(models.BPE(vocab={t: i for i, t in enumerate(values["tokens"])}, merges=[tuple(m.split(" ")) for m in values["merges"]]))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Digits(True), GPT2(add_prefix_space=False)])
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens([t for t, k in zip(values["tokens"], values["token_type"]) if k == 3])
    tokenizer.save(os.path.join(folder, "smollm2.json"))
    for name in ("gguf_smollm2", "smollm2"):
        with open(os.path.join(folder, name + ".golden"), "wb") as file:
            file.write(golden(tokenizer, rows))


def write_lines(path, rows):
    with open(path, "wb") as file:
        file.write(struct.pack("<I", len(rows)))
        for row in rows:
            file.write(text_field(row))


def write(folder, made, rows, files=(), quiet=False):
    os.makedirs(folder, exist_ok=True)
    write_lines(os.path.join(folder, "lines.bin"), rows)
    for name, document in made.items():
        with open(os.path.join(folder, name + ".json"), "w") as file:
            file.write(document)
        tokenizer = Tokenizer.from_str(document)
        tokenizer.no_padding()
        tokenizer.no_truncation()
        with open(os.path.join(folder, name + ".golden"), "wb") as file:
            file.write(golden(tokenizer, rows))
        if not quiet:
            print(name, tokenizer.get_vocab_size(), flush=True)
    for name, path in files:
        with open(os.path.join(folder, name + ".golden"), "wb") as file:
            file.write(golden_sentencepiece(path, rows))
        shutil.copy(path, os.path.join(folder, name + ".model"))
        print(name, flush=True)


def main():
    mode = sys.argv[1]
    if mode == "all":
        folder = sys.argv[2]
        os.makedirs(folder, exist_ok=True)
        rows = lines(10_000)
        charsmap, models_made = charsmap_of_sentencepiece(folder, corpus(4000))
        made = Maker(small=False).all(charsmap)
        for argument in sys.argv[4:] if "--real" in sys.argv else []:
            name, path = argument.split("=")
            made[name] = open(path).read()
        write(folder, made, rows, [(n, p) for n, p in models_made.items()])
    elif mode == "gguf":
        gguf(sys.argv[2], sys.argv[3], lines(10_000))
    elif mode == "large":
        large(sys.argv[2])
    else:
        fixture()


def large(folder):
    os.makedirs(folder, exist_ok=True)
    rng = random.Random(3)
    size = 150_000
    alphabet = sorted(GPT2.alphabet())
    letters = "etaoinshrdlucmfwypvbgkjqxz"
    vocab = {c: i for i, c in enumerate(alphabet)}
    merges = []
    tokens = list(alphabet)
    starts = ["Ġ" + c for c in letters] + list(letters)
    while len(vocab) < size:
        a = rng.choice(tokens[-60000:]) if rng.random() < 0.5 else rng.choice(tokens[:4000])
        b = rng.choice(tokens[:4000])
        if len(a) + len(b) > 14 or "Ġ" in b:
            continue
        c = a + b
        if c in vocab:
            continue
        vocab[c] = len(vocab)
        tokens.append(c)
        merges.append([a, b])
    tokenizer = Tokenizer(models.BPE(vocab=vocab, merges=[tuple(m) for m in merges]))
    tokenizer.pre_tokenizer = level(split(LLAMA3))
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.save(os.path.join(folder, "bpe150k.json"))
    pieces = [("<unk>", 0.0)] + [(t.replace("Ġ", "▁"), -rng.random() * 14 - 1) for t in list(vocab)[:size - 1]]
    tokenizer = Tokenizer(models.Unigram(pieces, 0, False))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.save(os.path.join(folder, "unigram150k.json"))


def fixture():
    folder = os.path.join(here, "..", "Tests", "Fixtures", "tokenizers")
    import tempfile
    with tempfile.TemporaryDirectory() as temporary:
        charsmap, _ = charsmap_of_sentencepiece(temporary, corpus(1000))
    made = Maker(small=True).all(None)
    rows = [row for row in lines(4000, seed=7) if len(row) < 90][:11]
    write(folder, made, rows, quiet=True)


if __name__ == "__main__":
    main()
