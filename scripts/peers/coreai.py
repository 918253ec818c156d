"""MiniLM with the codes and tables of accelc's Core ML packages, run by Apple's Core AI on this machine: it looks palettes up by its own
operation, and its hidden states agree with those of accelc's executor.

usage: coreai.py ACCELC MINILM     (wants coreai-core, coreai-torch, torch, coremltools; exit 3 and a sentence where one is missing)
The Core AI path on Linux runs on the CPU: it says nothing of the Neural Engine. Its releases are betas.
"""

import asyncio
import json
import math
import os
import pathlib
import subprocess
import sys
import tempfile
import warnings

warnings.filterwarnings("ignore")
# This file has the name of the package that it imports.
sys.path[:] = [entry for entry in sys.path if pathlib.Path(entry or ".").resolve() != pathlib.Path(__file__).parent.resolve()]
os.environ.setdefault("TQDM_DISABLE", "1")
try:
    import coremltools as ct
    import coreai_torch
    import numpy
    import torch
    from coreai.runtime import NDArray
    from coreai_torch._compression import custom_layers  # registers the operations  # noqa: F401
    from coremltools.converters.mil.frontend.milproto.load import load as milproto_load
except ImportError as error:
    print(f"coreai: skipped, since it cannot be imported: {error}", file=sys.stderr)
    sys.exit(3)
from safetensors.numpy import load_file, save_file

SCHEMES = ("float32", "palette:bits=4", "palette:bits=4,group=16")
LENGTH = 128


def parts_of(path):
    """By name of the weight: the operation that decompresses it and its operands, or the weight itself."""
    model = ct.models.MLModel(str(path), skip_model_load=True)
    program = milproto_load(model.get_spec(), model.get_spec().specificationVersion, model.weights_dir)
    parts = {}
    for op in next(iter(program.functions.values())).operations:
        if op.op_type.startswith("constexpr"):
            parts[op.outputs[0].name] = (op.op_type, {n: v.val for n, v in op.inputs.items() if v is not None})
        elif op.op_type == "const" and getattr(op.outputs[0].val, "ndim", 0) > 0 and op.outputs[0].val.dtype.kind == "f":
            parts[op.outputs[0].name] = ("const", {"val": op.outputs[0].val})
    return parts


class Stored(torch.nn.Module):
    """A weight that Core AI decompresses."""

    def __init__(self, operation, operands):
        super().__init__()
        self.operation = operation
        for name, value in operands.items():
            value = numpy.ascontiguousarray(value)
            self.register_buffer(name, torch.from_numpy(value.astype(numpy.uint8) if name == "indices" else value))

    def forward(self):
        return self.val if self.operation == "const" else torch.ops.coreai.lut_to_dense(self.indices, self.lut, 0)


class MiniLM(torch.nn.Module):
    """BERT as the model's configuration has it."""

    def __init__(self, config, parts):
        super().__init__()
        self.config = config
        self.stored = torch.nn.ModuleDict({name: Stored(*part) for name, part in parts.items()})

    def weight(self, name):
        return self.stored[name.replace(".", "_")]()

    def linear(self, x, name):
        return torch.nn.functional.linear(x, self.weight(f"{name}.weight"), self.weight(f"{name}.bias"))

    def norm(self, x, name):
        gamma, beta = self.weight(f"{name}.weight"), self.weight(f"{name}.bias")
        return torch.nn.functional.layer_norm(x, x.shape[-1:], gamma, beta, self.config["layer_norm_eps"])

    def forward(self, ids):
        heads = self.config["num_attention_heads"]
        words = torch.nn.functional.embedding(ids.to(torch.int64), self.weight("embeddings.word_embeddings.weight"))
        x = words + self.weight("embeddings.position_embeddings.weight")[: ids.shape[1]] + self.weight("embeddings.token_type_embeddings.weight")[:1]
        x = self.norm(x, "embeddings.LayerNorm")
        for index in range(self.config["num_hidden_layers"]):
            layer = f"encoder.layer.{index}"
            q, k, v = (self.linear(x, f"{layer}.attention.self.{role}").unflatten(-1, (heads, -1)).transpose(1, 2) for role in ("query", "key", "value"))
            scores = torch.softmax(q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1]), -1)
            x = self.norm(self.linear((scores @ v).transpose(1, 2).flatten(2), f"{layer}.attention.output.dense") + x, f"{layer}.attention.output.LayerNorm")
            wide = torch.nn.functional.gelu(self.linear(x, f"{layer}.intermediate.dense"))
            x = self.norm(self.linear(wide, f"{layer}.output.dense") + x, f"{layer}.output.LayerNorm")
        return x


async def run_by_core_ai(model, ids, folder):
    exported = torch.export.export(model, args=(ids,)).run_decompositions(coreai_torch.get_decomp_table())
    program = coreai_torch.TorchConverter().add_exported_program(exported, input_names=["ids"], output_names=["hidden"]).to_coreai()
    operations = [name for name in ("lut_to_dense",) if name in str(program)]
    asset = program.save_asset(pathlib.Path(folder) / "x.aimodel")
    async with asset.executable() as loaded:
        found = await loaded.load_function("main")({"ids": NDArray(ids.numpy())})
        return numpy.array(found["hidden"].numpy()), operations


def main(accelc, minilm):
    folder = pathlib.Path(minilm) / "model"
    config = json.loads((folder / "config.json").read_text())
    ids = numpy.random.default_rng(5).integers(1000, 20000, (1, LENGTH)).astype(numpy.int32)
    failures = 0
    for scheme in SCHEMES:
        with tempfile.TemporaryDirectory() as scratch:
            common = [str(folder), "--shape", f"batch=1,sequence={LENGTH}", "--compress", scheme, "--no-cache", "--quiet"]
            subprocess.run([accelc, "convert", *common, "-o", f"{scratch}/x.accelpkg"], check=True)
            subprocess.run([accelc, "export", *common, "--format", "coreml", "--target", "iOS18", "--precision", "float32", "-o", f"{scratch}/x.mlpackage"], check=True)
            save_file({"input_ids": ids.astype(numpy.int64), "attention_mask": numpy.ones_like(ids, numpy.int64),
                       "token_type_ids": numpy.zeros_like(ids, numpy.int64)}, f"{scratch}/in.safetensors")
            subprocess.run([accelc, "run", f"{scratch}/x.accelpkg", "--inputs", f"{scratch}/in.safetensors", "--outputs", f"{scratch}/out.safetensors", "--quiet"], check=True)
            ours = load_file(f"{scratch}/out.safetensors")["last_hidden_state"]
            with torch.no_grad():
                model = MiniLM(config, parts_of(f"{scratch}/x.mlpackage")).eval()
                found, operations = asyncio.run(run_by_core_ai(model, torch.from_numpy(ids), scratch))
            noise = 10 * math.log10(float((ours.astype(numpy.float64) ** 2).sum() / max(((ours - found).astype(numpy.float64) ** 2).sum(), 1e-300)))
            good = noise >= 80
            failures += not good
            print(f"  {'ok  ' if good else 'FAIL'} {scheme}: Core AI by {', '.join(operations) or 'plain weights'} agrees with accelc's executor to {noise:.1f} dB")
    sys.exit(f"coreai: {failures} schemes disagree" if failures else 0)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
