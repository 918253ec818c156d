"""Tokenizers in GGUF files against llama.cpp's.

usage: gguf_tokenizers.py ACCELC [FOLDER]      (wants tokenizers, torch, transformers, and llama.cpp, which scripts/bench/llama.sh builds;
exits 3 with the command that installs them when one is missing)
Small tokenizers of each kind are trained; the tokens of a text by llama.cpp are those of tokenizers. Exits 1 on a difference.
"""

import pathlib
import sys
import tempfile

# The folder of this script has names of packages; the one of shared code has none.
HERE = pathlib.Path(__file__).resolve().parent
sys.path[:] = [str(HERE / "shared"), str(HERE.parent)] + [
    entry for entry in sys.path if pathlib.Path(entry or ".").resolve() != HERE]
if len(sys.argv) not in (2, 3):
    sys.exit(__doc__)
try:
    import transformers
    from checks import check, finish
    from gguf_models import export, made
    from llama_library import Loaded
    from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers
except ImportError as error:
    print(f"gguf_tokenizers: skipped, since {error.name} is missing: pip install tokenizers torch transformers (llama.cpp: scripts/bench/llama.sh)", file=sys.stderr)
    sys.exit(3)

TEXT = "Hello world, it's 2024: lower newest!  Two spaces, and\nlines. ünïcödé 東京"


def words(scratch):
    """Trains small tokenizers, and compares the tokens of a text."""
    corpus = [TEXT, "the quick brown fox jumps over the lazy dog", "low lower lowest new newer newest wide wider widest"] * 20
    pattern = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|%s| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")

    def split(numbers):
        return pre_tokenizers.Sequence([
            pre_tokenizers.Split(Regex(pattern % numbers), "isolated"), pre_tokenizers.ByteLevel(False, use_regex=False)])
    cases = {
        "gpt-2": pre_tokenizers.ByteLevel(add_prefix_space=False), "qwen2": split(r"\p{N}"), "llama-bpe": split(r"\p{N}{1,3}"),
    }
    for label, pre in cases.items():
        tokenizer = Tokenizer(models.BPE())
        tokenizer.pre_tokenizer, tokenizer.decoder = pre, decoders.ByteLevel()
        tokenizer.train_from_iterator(corpus, trainers.BpeTrainer(
            vocab_size=400, special_tokens=["<s>", "</s>"], initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
        compare_words(label, tokenizer, scratch, "Llama")
    pieces = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    pieces.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    pieces.train_from_iterator([text.replace(" ", "▁") for text in corpus], trainers.BpeTrainer(
        vocab_size=420, special_tokens=["<unk>", "<s>", "</s>"] + [f"<0x{byte:02X}>" for byte in range(256)]))
    compare_words("pieces", pieces, scratch, "Llama")
    bert = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    bert.normalizer, bert.pre_tokenizer = normalizers.BertNormalizer(lowercase=True), pre_tokenizers.BertPreTokenizer()
    bert.train_from_iterator(corpus, trainers.WordPieceTrainer(
        vocab_size=300, special_tokens=["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]))
    compare_words("word pieces", bert, scratch, "Bert")
    cased = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    cased.normalizer, cased.pre_tokenizer = normalizers.BertNormalizer(lowercase=False), pre_tokenizers.BertPreTokenizer()
    cased.train_from_iterator(corpus, trainers.WordPieceTrainer(
        vocab_size=300, special_tokens=["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]))
    compare_words("word pieces with capitals", cased, scratch, "Bert")


def compare_words(label, tokenizer, scratch, kind):
    source, folder = scratch / f"words-{label}", scratch / f"words-{label}-gguf"
    count = tokenizer.get_vocab_size()
    if kind == "Bert":
        transformers.BertModel(transformers.BertConfig(
            hidden_size=32, num_hidden_layers=1, num_attention_heads=2, intermediate_size=32, vocab_size=count)).save_pretrained(source)
    else:
        made(kind, dict(vocab_size=count, num_hidden_layers=1), source)
    tokenizer.save(str(source / "tokenizer.json"))
    code, error = export(source, folder, "--compress", "float16")
    if code != 0 or "no tokenizer" in error:
        return check(f"tokens, {label}: {error}", False)
    try:
        found = Loaded(folder / "model.gguf").tokenize(TEXT)
    except RuntimeError as problem:
        return check(f"tokens, {label}: {problem}", False)
    expected = tokenizer.encode(TEXT, add_special_tokens=False).ids
    check(f"tokens, {label}: {len(expected)} tokens of llama.cpp and of tokenizers" + ("" if found == expected else f" {found} {expected}"),
          found == expected)


with tempfile.TemporaryDirectory() as folder:
    words(pathlib.Path(folder))
finish("gguf_tokenizers")
