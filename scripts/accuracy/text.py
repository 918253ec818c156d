"""What compression costs a language model on a text: accelc's schemes, and llama.cpp's types of about the same sizes.

usage: text.py ACCELC MODEL.gguf CALIBRATION TEXT [--samples N] [--length N] [--chunks N] [--only REGEX]
Wants gguf and llama.cpp (scripts/bench/llama.sh builds it) for the rows of llama.cpp, and leaves these out without them. Its quantizer gets the
importance matrix that accelc measures on the same calibration text. Each row is judged by `accelc verify --text`: bits per weight over all
weights, perplexity, its increase as a logarithm, mean KL divergence, and the seconds of the conversion. Exits 1 when a row misses its bar, or is
behind llama.cpp's best type of no more bits.
"""

import argparse
import math
import pathlib
import re
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path += [str(HERE.parent), str(HERE.parent / "bench"), str(HERE.parent / "peers/shared")]

from quality import Judge  # noqa: E402  (the path above)

# Options of the conversion, and the most that the logarithm of the perplexity may increase by.
ROWS = [
    ("int4:block=32", None), ("int4:block=32,method=gptq", 0.045),
    ("affine:bits=4,block=64", None), ("affine:bits=4,block=64,method=gptq", None),
    ("iq4_nl:method=gptq", None), ("q4_k_s:fit=mse", None), ("q4_k_s:fit=mse,method=weighted", None), ("q4_k_s:fit=mse,method=gptq", None),
    ("palette:bits=4,group=16", None), ("palette:bits=4,group=16,method=gptq", 0.10),
    ("palette:bits=4,group=64,scale=channel,entries=float16,method=gptq", 0.10),
    ("palette:bits=3,group=16", None), ("palette:bits=3,group=16,method=gptq", 0.35),
    ("palette:bits=3,group=64,scale=channel,entries=float16,method=gptq", 0.35), ("q3_k_s:fit=mse,method=gptq", None),
    ("affine:bits=2,block=64,method=gptq", 0.9),
]
TYPES = ["q4_k_s", "iq4_xs_mix", "iq3_s_mix", "iq3_xxs_mix", "iq2_m"]


def matrices(path):
    """The mean squares of the columns of each weight, from an importance matrix in GGUF."""
    import gguf
    tensors = {tensor.name: tensor.data for tensor in gguf.GGUFReader(path).tensors}
    ends = (".in_sum2", ".counts")
    return {name.removesuffix(ends[0]): (data / tensors[name.removesuffix(ends[0]) + ends[1]]).reshape(-1).astype("float32")
            for name, data in tensors.items() if name.endswith(ends[0])}


def theirs(judge, scratch, pattern):
    """Rows of llama.cpp: bits and KL divergence of each type."""
    try:
        import llama_mixes
        from gguf_floats import in_floats
        from llama_library import llama
    except ImportError as error:
        print(f"llama.cpp: skipped, since {error.name} is missing (scripts/peers.sh, scripts/bench/llama.sh)")
        return []
    wanted = [name for name in TYPES if re.search(pattern, name)]
    if not wanted:
        return []
    floats, matrix = scratch / "floats.gguf", scratch / "imatrix.gguf"
    in_floats(judge.model, floats)
    judge.run("importance", judge.model, *judge.samples, "-o", matrix)
    rows = []
    for name in wanted:
        file = scratch / f"{name}.gguf"
        llama_mixes.quantized(llama, floats, file, name, matrices(matrix))
        rows.append(judge.row(f"llama.cpp {name}", file, "--compress", "keep"))
        file.unlink()
    return rows


def main():
    parser = argparse.ArgumentParser()
    for name in ("accelc", "model", "calibration", "text"):
        parser.add_argument(name, type=pathlib.Path)
    parser.add_argument("--samples", type=int, default=64)
    parser.add_argument("--length", type=int, default=256)
    parser.add_argument("--chunks", type=int, default=32)
    parser.add_argument("--only", default="")
    found = parser.parse_args()
    missed = []
    with tempfile.TemporaryDirectory() as folder:
        scratch = pathlib.Path(folder)
        judge = Judge(found, scratch)
        others = theirs(judge, scratch, found.only)
        for scheme, bar in ROWS:
            if not re.search(found.only, scheme):
                continue
            samples = judge.samples if "method=" in scheme else []
            row = judge.row(scheme, found.model, "--compress", scheme, *samples, bar=bar)
            best = min((other.divergence for other in others if other.bits <= row.bits), default=math.inf)
            if bar is not None and (row.increase > bar or row.divergence > best):
                missed.append(scheme)
    if missed:
        sys.exit(f"missed: {', '.join(missed)}")


main()
