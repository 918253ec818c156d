"""Apple's table of language models compressed for devices, with accelc's packages of the same sizes beside it.

usage: apple.py ACCELC CALIBRATION TEXT [MODEL BITS]...      (default: Qwen3-0.6B at 5.71 bits and Qwen3-4B at 4.50 bits, from the Hub)
TEXT is that of WikiText-2's test set for Apple's figures. Apple's perplexities have their own protocol: those of the original models, beside
ours, show how far the two are apart.
"""

import argparse
import pathlib
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.append(str(HERE.parent / "bench"))

from quality import Judge  # noqa: E402  (the path above)

# Model, bits, and Apple's perplexities: the original in float16, and compressed.
TABLE = [("hf:Qwen/Qwen3-0.6B", 5.71, 26.16, 30.90), ("hf:Qwen/Qwen3-4B", 4.50, 16.41, 18.33)]


def main():
    parser = argparse.ArgumentParser()
    for name in ("accelc", "calibration", "text"):
        parser.add_argument(name, type=pathlib.Path)
    parser.add_argument("models", nargs="*")
    parser.add_argument("--samples", type=int, default=64)
    parser.add_argument("--length", type=int, default=256)
    parser.add_argument("--chunks", type=int, default=32)
    found = parser.parse_args()
    models = [(model, float(bits), None, None) for model, bits in zip(found.models[::2], found.models[1::2])] or TABLE
    for model, bits, original, compressed in models:
        with tempfile.TemporaryDirectory() as folder:
            found.model = model
            judge = Judge(found, pathlib.Path(folder))
            row = judge.row(pathlib.Path(model).name, model, "--target-bits", bits, "--no-plan", *judge.samples)
        theirs = f"{compressed / original:.4f} times {original}" if original else "no figure"
        print(f"   at {bits} bits: accelc {row.perplexity / row.original:.4f} times {row.original:.2f}, Apple {theirs}")


main()
