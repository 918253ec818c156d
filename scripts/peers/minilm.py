"""accelc on the real MiniLM against torch, transformers and sentence-transformers: every figure that is promised for it.

usage: minilm.py ACCELC MINILM     (MINILM: model/, golden_1x128/, golden_8x128/ as scripts/minilm.py makes them)
"""

import json
import math
import pathlib
import shutil
import subprocess
import sys
import tempfile

import torch
from safetensors.torch import load_file, save_file
from transformers import BertModel

OUTPUTS = ("last_hidden_state", "pooler_output", "sentence_embedding")
failures = []


def check(what, figure, limit, better="below", unit=""):
    good = figure <= limit if better == "below" else figure >= limit
    print(f"  {'ok  ' if good else 'FAIL'} {what}: {figure:.6g}{unit} ({'at most' if better == 'below' else 'at least'} {limit:.6g}{unit})")
    if not good:
        failures.append(what)


def sqnr(value, reference):
    """Signal to noise in dB."""
    reference = reference.double()
    noise = (value.double() - reference).square().sum()
    return math.inf if noise == 0 else 10 * math.log10(reference.square().sum() / noise)


def worst(value, reference):
    return (value.double() - reference.double()).abs().max().item()


class Tool:
    def __init__(self, accelc, model, scratch):
        self.accelc, self.model, self.scratch = accelc, model, pathlib.Path(scratch)

    def __call__(self, *arguments):
        subprocess.run([self.accelc, *map(str, arguments)], check=True, stdout=subprocess.DEVNULL)

    def convert(self, scheme, *shapes):
        package = self.scratch / f"{scheme.replace(':', '-')}.accelpkg"
        options = [word for batch, length in shapes for word in ("--shape", f"batch={batch},sequence={length}")]
        self("convert", self.model, *options, "--compress", scheme, "--no-cache", "--quiet", "-o", package)
        return package

    def run(self, package, inputs):
        save_file(inputs, self.scratch / "in.safetensors")
        self("run", package, "--inputs", self.scratch / "in.safetensors", "--outputs", self.scratch / "out.safetensors")
        return load_file(self.scratch / "out.safetensors")

    def decompress(self, package):
        folder = package.with_suffix(".decompressed")
        folder.mkdir()
        self("decompress", package, "-o", folder / "model.safetensors")
        shutil.copy(self.model / "config.json", folder)
        return folder


def golden(folder):
    tensors = load_file(folder / "golden.safetensors")
    inputs = {name.removeprefix("in."): t for name, t in tensors.items() if name.startswith("in.")}
    return inputs, tensors, json.loads((folder / "case.json").read_text())["fp32_noise"]


def transformers_embedding(folder, inputs):
    model = BertModel.from_pretrained(folder, dtype=torch.float32).eval()
    with torch.no_grad():
        hidden = model(**inputs).last_hidden_state
    mask = inputs["attention_mask"].unsqueeze(-1).float()
    return torch.nn.functional.normalize((hidden * mask).sum(1) / mask.sum(1).clamp(min=1e-9), dim=1)


def weight_bytes(package):
    return sum(path.stat().st_size for path in package.glob("*.bin"))


def main(accelc, minilm):
    minilm = pathlib.Path(minilm)
    source = {n: t for n, t in load_file(minilm / "model" / "model.safetensors").items() if t.is_floating_point()}
    shapes = [(1, 128), (8, 128)]
    goldens = {shape: golden(minilm / "golden_{}x{}".format(*shape)) for shape in shapes}
    with tempfile.TemporaryDirectory() as scratch:
        tool = Tool(accelc, minilm / "model", scratch)

        exact, half = tool.convert("float32", *shapes), tool.convert("float16", *shapes)
        for shape, (inputs, tensors, noise) in goldens.items():
            print("float32 at {}x{}".format(*shape))
            outputs = tool.run(exact, inputs)
            for name in OUTPUTS:
                allowed = 4 * noise[name]["max_abs_fp32_vs_64"]
                check(f"{name} to float64", worst(outputs[name], tensors[f"ref64.{name}"]), allowed)
                check(f"{name} to torch's float32", worst(outputs[name], tensors[f"out.{name}"]), allowed)
            check("embedding to sentence-transformers", worst(outputs["sentence_embedding"], tensors["package.sentence_embedding"]), 1e-6)
            print("float16 at {}x{}".format(*shape))
            embedding = tool.run(half, inputs)["sentence_embedding"]
            check("SQNR of the embedding", sqnr(embedding, tensors["ref64.sentence_embedding"]), 60, "above", " dB")

        inputs, tensors, noise = goldens[8, 128]
        matrices = [n for n, t in source.items() if t.ndim == 2]
        count = sum(t.numel() for t in source.values())
        whole = torch.cat([source[n].flatten() for n in matrices])
        for scheme, least in (("int8:axis=channel", 41), ("palette:bits=4,group=16", 18), ("palette:bits=8,group=16", 41)):
            print(scheme)
            package = tool.convert(scheme, *shapes)
            folder = tool.decompress(package)
            weights = load_file(folder / "model.safetensors")
            lost = [n for n in source if n not in weights or weights[n].shape != source[n].shape]
            check("tensors that decompress lost or reshaped", len(lost), 0)
            check("SQNR of the matrices", sqnr(torch.cat([weights[n].flatten() for n in matrices]), whole), least, "above", " dB")
            embedding = tool.run(package, inputs)["sentence_embedding"]
            bits = 8 * weight_bytes(package) / count
            print(f"       {bits:.3f} bits a weight in blobs and program; embedding {sqnr(embedding, tensors['ref64.sentence_embedding']):.1f} dB")
            if scheme == "palette:bits=4,group=16":
                check("bits a weight of the whole package", bits, 4.15)
            # Both sides carry float32 noise here: torch's own, and ours, which may be four times that.
            check("transformers' embedding from the decompressed checkpoint, to the package's",
                  worst(embedding, transformers_embedding(folder, inputs)), 5 * noise["sentence_embedding"]["max_abs_fp32_vs_64"])
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
