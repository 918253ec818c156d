"""MiniLM with the codes, tables, scales and masks of accelc's Core ML packages, run by Apple's Core AI on this machine: it decompresses them
by its own operations, and its hidden states agree with those of accelc's executor.

usage: coreml_coreai.py ACCELC MINILM     (wants coreai-core, coreai-torch, torch, coremltools; exit 3 and a sentence where one is missing)
Of the forms of Core ML, coreai-torch has no words for codes of 3 bits, and Core AI has none for a palette under a mask.
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
# Other files of this folder have names of packages that it imports.
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
    from coremltools.converters.mil.mil import types
except ImportError as error:
    print(f"coreml_coreai: skipped, since it cannot be imported: {error}", file=sys.stderr)
    sys.exit(3)
from safetensors.numpy import load_file, save_file

SCHEMES = (
    "float32", "float16", "int8:axis=channel", "int8:axis=channel,mode=asymmetric", "int4:block=32", "affine:bits=4,block=32", "nf4:block=32",
    "palette:bits=4", "palette:bits=4,group=16", "palette:bits=4,group=16,entries=int8", "palette:bits=4,group=16,scale=channel",
    "vector:bits=8,size=2", "sparse:target=0.5+float16", "sparse:target=0.5+int8:axis=tensor",
)
LENGTH = 128


def parts_of(path):
    """By name of the weight: the operation of Core ML that decompresses it and its operands, of which any may be such a pair itself."""
    model = ct.models.MLModel(str(path), skip_model_load=True)
    program = milproto_load(model.get_spec(), model.get_spec().specificationVersion, model.weights_dir)
    parts, feeding = {}, set()
    for op in next(iter(program.functions.values())).operations:
        if op.op_type.startswith("constexpr"):
            operands = {n: (v.name if v.op is not None and v.op.op_type.startswith("constexpr") else v.val) for n, v in op.inputs.items() if v is not None}
            feeding.update(v for v in operands.values() if isinstance(v, str))
            for output in op.outputs:
                parts[output.name] = (op.op_type, {n: parts[v] if isinstance(v, str) else v for n, v in operands.items()})
        elif op.op_type == "const" and getattr(op.outputs[0].val, "ndim", 0) > 0 and op.outputs[0].val.dtype.kind == "f":
            parts[op.outputs[0].name] = ("const", {"val": op.outputs[0].val})
    return {name: part for name, part in parts.items() if name not in feeding}


def word(value):
    """The element type of Core ML's, e.g. int4."""
    return types.builtin_to_string(types.numpy_type_to_builtin_type(value.dtype))


def tensor(value):
    """As torch has it: codes of less than a byte in bytes."""
    plain = {"i": numpy.int8, "u": numpy.uint8}.get(value.dtype.kind, value.dtype)
    return torch.from_numpy(numpy.array(value).astype(plain))


class Stored(torch.nn.Module):
    """A weight that Core AI decompresses, by its words for Core ML's operation."""

    def __init__(self, operation, operands):
        super().__init__()
        self.operation, self.integers, self.data_type = operation, None, None
        operands = dict(operands)
        self.axis = int(operands.pop("vector_axis", 0))
        if operation == "constexpr_lut_to_dense" and isinstance(operands["lut"], tuple):
            # Core AI has no operation between a table and its lookup: the codes of the entries are looked up, then scaled.
            table = operands["lut"][1]
            self.operation = "scaled lookup"
            operands |= {"lut": table["data"], "scale": table["scale"].reshape(table["scale"].shape[: operands["indices"].ndim])}
        if operation == "constexpr_sparse_to_dense" and isinstance(operands["nonzero_data"], tuple):
            # Nor one that scales what a mask has kept: it scales what the mask has spread.
            kept = operands["nonzero_data"][1]
            self.operation = "scaled sparse"
            operands = {"nonzero_data": kept["nonzero_data"], "mask": kept["data_mask"], "scale": kept["scale"]}
        if operation == "constexpr_blockwise_shift_scale" and "offset" in operands:
            offset, scale = operands.pop("offset"), operands["scale"]
            if offset.dtype.kind == "f":
                # scale * (data - offset), where Core AI has scale * (data - least) + minimum.
                least = {"int4": -8, "int8": -128}.get(word(operands["data"]), 0)
                operands["minimum"] = scale * (least - offset)
            else:
                operands["zero"] = offset
        for name, value in operands.items():
            if isinstance(value, tuple):
                setattr(self, name, Stored(*value))
                continue
            if name == "data":
                self.data_type = getattr(torch, word(value))
            self.register_buffer(name, tensor(value).bool() if name == "mask" else tensor(value))

    def forward(self):
        ops = torch.ops.coreai
        if self.operation == "const":
            return self.val
        if self.operation == "constexpr_lut_to_dense":
            return ops.lut_to_dense(self.indices, self.lut, self.axis)
        if self.operation == "scaled lookup":
            return ops.constexpr_blockwise_shift_scale(ops.lut_to_dense(self.indices, self.lut, self.axis), self.scale)
        if self.operation == "constexpr_blockwise_shift_scale":
            data = self.data() if isinstance(self.data, Stored) else self.data
            return ops.constexpr_blockwise_shift_scale(
                data, self.scale, getattr(self, "zero", None), getattr(self, "minimum", None), self.data_type)
        if self.operation == "constexpr_sparse_to_dense":
            return ops.sparse_to_dense(self.nonzero_data, self.mask)
        if self.operation == "scaled sparse":
            return ops.constexpr_blockwise_shift_scale(ops.sparse_to_dense(self.nonzero_data, self.mask), self.scale)
        raise ValueError(f"Core AI has no words for {self.operation}")


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
    operations = [name for name in ("lut_to_dense", "blockwise_shift_scale", "sparse_with_bitmask_to_dense") if f"coreai.{name}" in str(program)]
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
            good = noise >= 80 and bool(operations) == (not scheme.startswith("float"))
            failures += not good
            print(f"  {'ok  ' if good else 'FAIL'} {scheme}: Core AI by {', '.join(operations) or 'plain weights'} agrees with accelc's executor to {noise:.1f} dB")
    sys.exit(f"coreml_coreai: {failures} schemes disagree" if failures else 0)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
