"""Makes tokenizers of older files (vocab.txt, vocab.json with merges.txt, models of sentencepiece), and what peers give for lines of text.

    python scripts/tokenizer_older.py FOLDER    adds folders older_*, models sp_*, and their goldens for lines.bin of the folder

Needs the PyPI packages transformers<5, tokenizers and sentencepiece, and bert.json, gpt2.json, roberta.json, qwen2.json of the folder. Goldens
of folders are those of the fast tokenizers that AutoTokenizer makes of the files; the script prints how many lines the slow ones, in Python,
split in another way, and how many of them have no reason that `slow_differs` names. Goldens of models are those of sentencepiece.
"""

import json
import os
import shutil
import sys
import tempfile
import unicodedata

from transformers import AutoTokenizer

from tokenizer_goldens import golden, golden_sentencepiece
from tokenizer_gguf import read_lines, train_sentence_piece


def documents(folder):
    for name in ("bert", "gpt2", "roberta", "qwen2"):
        with open(os.path.join(folder, name + ".json")) as file:
            yield name, json.load(file)


def slow_differs(kind, row):
    """The line has what the slow tokenizers treat in another way than the fast ones."""
    if kind.startswith("bert"):
        # Python lowers a sigma at a word's end to another letter, and İ with its dot; it knows another version of Unicode.
        return any(c in row for c in "ΣİẞϴΩ") or any(unicodedata.category(c) in ("Cn", "Co", "Cs") for c in row)
    # The slow one adds a space before a text that begins with one, and before a special token.
    return kind == "gpt2_prefix" and (row[:1].isspace() or row.startswith("<|endoftext|>"))


def write_bert(path, document, **config):
    vocabulary = document["model"]["vocab"]
    with open(os.path.join(path, "vocab.txt"), "w", newline="\n") as file:
        for word in sorted(vocabulary, key=vocabulary.get):
            file.write(word + "\n")
    write_config(path, tokenizer_class="BertTokenizer", **config)


def write_pairs(path, document, **config):
    """vocab.json and merges.txt."""
    vocabulary = dict(document["model"]["vocab"])
    # Later files have their special tokens beside the vocabulary.
    for token in document["added_tokens"]:
        if config.get("tokenizer_class") == "RobertaTokenizer":
            vocabulary.setdefault(token["content"], token["id"])
    with open(os.path.join(path, "vocab.json"), "w") as file:
        json.dump(vocabulary, file, ensure_ascii=False)
    with open(os.path.join(path, "merges.txt"), "w", newline="\n") as file:
        file.write("#version: 0.2\n")
        for merge in document["model"]["merges"]:
            file.write((merge if isinstance(merge, str) else " ".join(merge)) + "\n")
    write_config(path, **config)


def write_config(path, **config):
    with open(os.path.join(path, "tokenizer_config.json"), "w") as file:
        json.dump(config, file, indent=1)


def main():
    folder = sys.argv[1]
    rows = read_lines(folder)
    made = dict(documents(folder))
    cases = [
        ("bert", write_bert, made["bert"], {}),
        ("bert_cased", write_bert, made["bert"], {"do_lower_case": False}),
        ("bert_accents", write_bert, made["bert"], {"strip_accents": False, "tokenize_chinese_chars": False}),
        ("gpt2", write_pairs, made["gpt2"], {"tokenizer_class": "GPT2Tokenizer"}),
        ("gpt2_prefix", write_pairs, made["gpt2"], {"tokenizer_class": "GPT2Tokenizer", "add_prefix_space": True}),
        ("roberta", write_pairs, made["roberta"], {"tokenizer_class": "RobertaTokenizer"}),
        ("qwen2", write_pairs, made["qwen2"], {"tokenizer_class": "Qwen2Tokenizer"}),
    ]
    for kind, write, document, config in cases:
        name = "older_" + kind
        path = os.path.join(folder, name)
        os.makedirs(path, exist_ok=True)
        write(path, document, **config)
        with tempfile.TemporaryDirectory() as temporary:
            # AutoTokenizer wants a model beside the files, in some versions.
            shutil.copytree(path, temporary, dirs_exist_ok=True)
            fast = AutoTokenizer.from_pretrained(temporary)
            slow = AutoTokenizer.from_pretrained(temporary, use_fast=False)
        assert fast.is_fast and not slow.is_fast
        backend = fast.backend_tokenizer
        backend.no_padding()
        backend.no_truncation()
        others = [row for row in rows if slow.encode(row) != backend.encode(row).ids]
        unexplained = [row for row in others if not slow_differs(kind, row)]
        print(f"{name}: the slow tokenizer differs in {len(others)} of {len(rows)} lines, {len(unexplained)} of them without a known reason")
        for row in unexplained[:3]:
            print("   ", repr(row), slow.encode(row), backend.encode(row).ids)
        with open(os.path.join(folder, name + ".golden"), "wb") as file:
            file.write(golden(backend, rows))
    for name, options in {
        "sp_unigram": dict(model_type="unigram", maps=True, user_defined_symbols=["<sep>", "understand"]),
        "sp_bpe": dict(model_type="bpe", maps=True, byte_fallback=True, user_defined_symbols=["<sep>", "und"]),
    }.items():
        path = os.path.join(folder, name + ".model")
        with open(path, "wb") as file:
            file.write(train_sentence_piece(**options))
        with open(os.path.join(folder, name + ".golden"), "wb") as file:
            file.write(golden_sentencepiece(path, rows))


if __name__ == "__main__":
    main()
