"""Goldens of the real all-MiniLM-L6-v2 on real sentences, at 1x128 and 8x128.

usage: minilm.py MODEL OUT        (scripts/get_minilm.sh prints MODEL; OUT gets golden_1x128/ and golden_8x128/)
       minilm.py MODEL --carry    (makes Tests/Fixtures/minilm_*: the same without the largest output, and no weights)
Wants torch, transformers and sentence-transformers. Each golden also holds `package.sentence_embedding`: what
sentence-transformers itself gives for the sentences, which are in case.json.
"""

import pathlib
import sys

import torch
from sentence_transformers import SentenceTransformer
from transformers import AutoTokenizer, BertModel

import cases

SENTENCES = [
    "The harbour pilots of the northern ports keep a paper log beside the radar, in case the power fails.",
    "How do I reset the password of a shared mailbox?",
    "Photosynthesis turns light, water and carbon dioxide into sugar and oxygen.",
    "ok",
    "In 1969 about 650 million people watched two men walk on the Moon; the recording that most of them saw was made by "
    "pointing a television camera at a monitor in Houston, since the lander's own slow-scan signal could not be broadcast.",
    "A recipe for four: 300 g of red lentils, one onion, two carrots, a litre of stock, cumin, lemon & salt.",
    "The defendant's appeal was dismissed on procedural grounds (see paragraphs 41-57).",
    " ".join(
        "When the river froze, the mill stopped, and the whole village walked across the ice to the market on the other "
        "side, carrying what they had to sell on sledges pulled by dogs and by children.".split() * 4),
]
LENGTH = 128
FIXTURES = pathlib.Path(__file__).resolve().parent.parent / "Tests" / "Fixtures"


def inputs(tokenizer, sentences):
    batch = tokenizer(sentences, padding="max_length", truncation=True, max_length=LENGTH, return_tensors="pt")
    return {name: batch[name] for name in ("input_ids", "attention_mask", "token_type_ids")}


def main(model_folder, out):
    model = BertModel.from_pretrained(model_folder, dtype=torch.float32)
    tokenizer = AutoTokenizer.from_pretrained(model_folder)
    package = SentenceTransformer(str(model_folder), device="cpu")
    package.max_seq_length = LENGTH

    def make(folder, sentences, keep=None):
        embeddings = package.encode(sentences, convert_to_tensor=True).float()
        case = cases.write(
            folder, model, inputs(tokenizer, sentences), pooling={"mode": "mean", "normalise": True}, keep=keep,
            extra={"package.sentence_embedding": embeddings}, sentences=sentences)
        ours = cases.tensors(folder)["out.sentence_embedding"]
        print(f"{folder.name}: sentence-transformers differs by {(ours - embeddings).abs().max().item():.2g}")
        for name, figures in case["fp32_noise"].items():
            peak, rms = figures["max_abs_fp32_vs_64"], figures["ref_rms"]
            print(f"  {name:20} max |float32 - float64| {peak:.3g}   RMS {rms:.4g}   relative {peak / rms:.3g}")

    for sentences in (SENTENCES[:1], SENTENCES):
        size = f"{len(sentences)}x{LENGTH}"
        if out == "--carry":
            make(FIXTURES / f"minilm_{size}", sentences, keep=("pooler_output", "sentence_embedding"))
        else:
            make(pathlib.Path(out) / f"golden_{size}", sentences)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(pathlib.Path(sys.argv[1]), sys.argv[2])
