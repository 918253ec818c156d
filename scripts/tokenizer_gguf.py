"""Makes small tokenizers of GGUF files of each kind, and what llama.cpp gives for lines of text.

    python scripts/tokenizer_gguf.py FOLDER     adds NAME.metadata and NAME.golden for lines.bin, bert.json and metaspace_never.json of the folder

Needs the PyPI packages tokenizers, sentencepiece, gguf, and xllamacpp, whose library is called by its C interface. Goldens have the form of
tokenizer_goldens.py, without offsets, which llama.cpp has not.
"""

import ctypes
import glob
import json
import os
import struct
import sys
import tempfile
import unicodedata

import gguf
import sentencepiece
import sentencepiece.sentencepiece_model_pb2 as pb
import xllamacpp
from tokenizers import Tokenizer, decoders

from tokenizer_goldens import golden, numbers, text_field
from tokenizer_lines import corpus

NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = range(1, 7)


class Parameters(ctypes.Structure):
    """llama_model_params. Its size and its field `vocab_only` are those of the version that requirements name."""
    _fields_ = [("before", ctypes.c_uint8 * 72), ("vocab_only", ctypes.c_bool), ("after", ctypes.c_bool * 7)]


class Llama:
    """A vocabulary that llama.cpp has read."""

    library = None

    def __init__(self, path):
        if Llama.library is None:
            # The package exports the C interface from its module.
            library = ctypes.CDLL(glob.glob(os.path.join(os.path.dirname(xllamacpp.__file__), "*.so"))[0])
            library.llama_model_default_params.restype = Parameters
            library.llama_model_load_from_file.argtypes = [ctypes.c_char_p, Parameters]
            library.llama_model_load_from_file.restype = ctypes.c_void_p
            library.llama_model_get_vocab.argtypes = [ctypes.c_void_p]
            library.llama_model_get_vocab.restype = ctypes.c_void_p
            library.llama_tokenize.argtypes = [
                ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int32, ctypes.POINTER(ctypes.c_int32), ctypes.c_int32, ctypes.c_bool, ctypes.c_bool]
            library.llama_detokenize.argtypes = [
                ctypes.c_void_p, ctypes.POINTER(ctypes.c_int32), ctypes.c_int32, ctypes.c_char_p, ctypes.c_int32, ctypes.c_bool, ctypes.c_bool]
            Llama.silence = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p)(lambda *_: None)
            library.llama_log_set(Llama.silence, None)
            library.llama_backend_init()
            Llama.library = library
        parameters = self.library.llama_model_default_params()
        parameters.vocab_only = True
        model = self.library.llama_model_load_from_file(path.encode(), parameters)
        assert model, "llama.cpp does not read " + path
        self.vocabulary = self.library.llama_model_get_vocab(model)

    def encode(self, text):
        data = text.encode("utf-8")
        room = (ctypes.c_int32 * (len(data) * 4 + 16))()
        count = self.library.llama_tokenize(self.vocabulary, data, len(data), room, len(room), True, True)
        assert count >= 0
        return list(room[:count])

    def decode(self, ids, special):
        room = ctypes.create_string_buffer(len(ids) * 200 + 16)
        ids = (ctypes.c_int32 * len(ids))(*ids)
        count = self.library.llama_detokenize(self.vocabulary, ids, len(ids), room, len(room), not special, special)
        assert count >= 0
        return room.raw[:count].decode("utf-8", "replace")


def write(folder, name, values, rows, decode=None, original=None, deviates=None):
    """Writes the metadata as JSON, and the goldens of a GGUF file with them.

    `decode` takes the place of llama.cpp's texts. `original` is the tokenizer that the file was made from, if llama.cpp differs from it in
    some lines: then its tokens are the goldens, and llama.cpp must have the same, but for lines of which `deviates` is true.
    """
    with open(os.path.join(folder, name + ".metadata"), "w") as file:
        json.dump(values, file, ensure_ascii=False)
    with tempfile.TemporaryDirectory() as temporary:
        path = os.path.join(temporary, "tokenizer.gguf")
        # Of the models that need few keys.
        writer = gguf.GGUFWriter(path, "llama")
        writer.add_context_length(512)
        writer.add_embedding_length(8)
        writer.add_feed_forward_length(8)
        writer.add_block_count(1)
        writer.add_head_count(1)
        writer.add_layer_norm_rms_eps(1e-5)
        for key, value in values.items():
            key = "tokenizer.ggml." + key
            if key.endswith("precompiled_charsmap"):
                writer.add_key_value(key, bytes(value), gguf.GGUFValueType.ARRAY, sub_type=gguf.GGUFValueType.UINT8)
            elif isinstance(value, bool):
                writer.add_bool(key, value)
            elif isinstance(value, int):
                writer.add_uint32(key, value)
            elif isinstance(value, str):
                writer.add_string(key, value)
            else:
                writer.add_array(key, value)
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.close()
        llama = Llama(path)
        decode = decode or Llama.decode
        if original:
            others = [row for row in rows if llama.encode(row) != original.encode(row).ids]
            unexplained = [row for row in others if not deviates(row)]
            print(f"{name}: llama.cpp differs from the original in {len(others)} of {len(rows)} lines")
            assert not unexplained, unexplained[:3]
            with open(os.path.join(folder, name + ".golden"), "wb") as file:
                file.write(golden(original, rows))
            return
        with open(os.path.join(folder, name + ".golden"), "wb") as file:
            file.write(struct.pack("<I", len(rows)))
            for row in rows:
                ids = llama.encode(row)
                file.write(numbers(ids) + numbers([]) + text_field(decode(llama, ids, True)) + text_field(decode(llama, ids, False)))


def bert(document):
    """A vocabulary of BERT, in which words have a mark at their start, and other pieces none."""
    vocabulary = document["model"]["vocab"]
    words = sorted(vocabulary, key=vocabulary.get)
    special = [word.startswith("[") and word.endswith("]") and len(word) > 2 for word in words]
    tokens = [word if is_special else word[2:] if word.startswith("##") and len(word) > 2 else "\u2581" + word
              for word, is_special in zip(words, special)]
    return {
        "model": "bert", "tokens": tokens, "token_type": [UNKNOWN if word == "[UNK]" else CONTROL if is_special else NORMAL for word, is_special in zip(words, special)],
        "token_type_count": 2, "bos_token_id": vocabulary["[CLS]"], "eos_token_id": vocabulary["[SEP]"], "unknown_token_id": vocabulary["[UNK]"],
        "seperator_token_id": vocabulary["[SEP]"], "padding_token_id": vocabulary["[PAD]"], "cls_token_id": vocabulary["[CLS]"], "mask_token_id": vocabulary["[MASK]"]}


def has_more_than_llama_knows_of_bert(row):
    """The line has what llama.cpp treats in another way than BERT: marks that take space, which BERT does not remove; Hangul, which BERT
    decomposes; control characters that are white space, which BERT removes; or a word of more than 100 characters, which BERT does not
    know; or a mark without NFD data."""
    text = unicodedata.normalize("NFD", row)
    return (any(unicodedata.category(c) in ("Mc", "Me") or "\uac00" <= c <= "\ud7a3" or c in "\x0b\x0c\x1c\x1d\x1e\x1f\x85" for c in row + text)
            or any(len(word) > 100 for word in row.split()) or "\U0001e944" in row)


def train_sentence_piece(**options):
    """Returns a model of sentencepiece, as bytes. `maps` gives it a small character map: the published ones have some hundred kilobytes."""
    with tempfile.TemporaryDirectory() as temporary:
        text, rules = os.path.join(temporary, "corpus.txt"), os.path.join(temporary, "rules.tsv")
        with open(text, "w") as file:
            file.write("\n".join(corpus(300)))
        with open(rules, "w") as file:
            for source, target in [("\u00a0", " "), ("\u3000", " "), ("\t", " "), ("\n", " "), ("\u200b", ""), ("ﬁ", "fi"), ("①", "1"), ("e\u0301", "é"), ("…", "...")]:
                file.write(" ".join(f"{ord(c):X}" for c in source) + "\t" + " ".join(f"{ord(c):X}" for c in target) + "\n")
        if options.pop("maps", False):
            options["normalization_rule_tsv"] = rules
        sentencepiece.SentencePieceTrainer.train(
            input=text, model_prefix=os.path.join(temporary, "m"), vocab_size=1300, character_coverage=0.98, hard_vocab_limit=False, minloglevel=2, **options)
        with open(os.path.join(temporary, "m.model"), "rb") as file:
            return file.read()


def sentence_piece(model, **options):
    """The metadata of a model of sentencepiece, whose numbers of kinds are those of GGUF, and its processor."""
    model_proto = train_sentence_piece(**options)
    proto = pb.ModelProto()
    proto.ParseFromString(model_proto)
    values = {
        "model": model, "tokens": [piece.piece for piece in proto.pieces], "scores": [piece.score for piece in proto.pieces],
        "token_type": [piece.type for piece in proto.pieces], "add_space_prefix": proto.normalizer_spec.add_dummy_prefix,
        "remove_extra_whitespaces": proto.normalizer_spec.remove_extra_whitespaces}
    if model == "t5":
        values["precompiled_charsmap"] = list(proto.normalizer_spec.precompiled_charsmap)
    for key, id in [("bos", proto.trainer_spec.bos_id), ("eos", proto.trainer_spec.eos_id), ("unknown", proto.trainer_spec.unk_id)]:
        if id >= 0:
            values[key + "_token_id"] = id
    return values, sentencepiece.SentencePieceProcessor(model_proto=model_proto)


def gemma4(document):
    """Merges of characters with marks for spaces, bytes for unknown characters, and newlines that no merge makes."""
    model = document["model"]
    tokens = sorted(model["vocab"], key=model["vocab"].get)
    tokens += [f"<0x{byte:02X}>" for byte in range(256)] + ["</s>"] + [token for token in ("\n", "\n\n", "\n\n\n", "<b>") if token not in model["vocab"]]
    kinds = {"<unk>": UNKNOWN, "<s>": CONTROL, "</s>": CONTROL, "<b>": USER_DEFINED}
    return {
        "model": "gemma4", "tokens": tokens, "merges": [merge if isinstance(merge, str) else " ".join(merge) for merge in model["merges"]],
        "token_type": [kinds.get(token, BYTE if len(token) == 6 and token.startswith("<0x") else NORMAL) for token in tokens],
        "scores": [0.0] * len(tokens), "bos_token_id": tokens.index("<s>"), "eos_token_id": tokens.index("</s>"),
        "unknown_token_id": tokens.index("<unk>"), "add_bos_token": True}


def read_lines(folder):
    """The texts of lines.bin."""
    with open(os.path.join(folder, "lines.bin"), "rb") as file:
        data = file.read()
    rows, offset = [], 4
    for _ in range(struct.unpack_from("<I", data)[0]):
        size = struct.unpack_from("<I", data, offset)[0]
        rows.append(data[offset + 4:offset + 4 + size].decode("utf-8"))
        offset += 4 + size
    return rows


def main():
    folder = sys.argv[1]
    rows = read_lines(folder)
    documents = {name: open(os.path.join(folder, name + ".json")).read() for name in ("bert", "metaspace_never")}
    original = Tokenizer.from_str(documents["bert"])
    original.no_padding()
    original.no_truncation()
    write(folder, "gguf_bert", bert(json.loads(documents["bert"])), rows, original=original, deviates=has_more_than_llama_knows_of_bert)
    write(folder, "gguf_t5", sentence_piece("t5", model_type="unigram", maps=True, bos_id=-1, eos_id=1, unk_id=2, pad_id=0, user_defined_symbols=["<sep>", "understand"])[0], rows)
    values, processor = sentence_piece("llama", model_type="bpe", byte_fallback=True, normalization_rule_name="identity", remove_extra_whitespaces=False)
    # After the first token, which is special, llama.cpp leaves the space that is added before a text.
    write(folder, "gguf_llama", values, rows, lambda llama, ids, special: llama.decode(ids, True) if special else processor.decode(ids))
    values = gemma4(json.loads(documents["metaspace_never"]))
    # For BPE, llama.cpp removes spaces before punctuation from a text, which the original does not.
    pieces = decoders.Sequence([decoders.Replace("\u2581", " "), decoders.ByteFallback(), decoders.Fuse()])
    kinds = values["token_type"]
    write(folder, "gguf_gemma4", values, rows,
          lambda _, ids, special: pieces.decode([values["tokens"][id] for id in ids if special or kinds[id] not in (CONTROL, UNKNOWN)]))


if __name__ == "__main__":
    main()
