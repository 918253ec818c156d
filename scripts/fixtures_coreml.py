"""Makes Tests/Fixtures/coreml: tiny packages that coremltools writes, and what they mean.

`X.mlpackage` and beside it `X.safetensors`: `in.NAME`, `out.NAME` (torch's or numpy's results; in.NAME.0, out.NAME.0, ... for
runs one after the other), `weight.NAME` (what coremltools decompresses a weight to, as float32).
Wants coremltools, torch, numpy, safetensors. Identifiers in Manifest.json are made equal from run to run.
"""

import inspect
import json
import logging
import os
import pathlib
import shutil
import sys
import tempfile
import uuid
import warnings

warnings.filterwarnings("ignore")
logging.disable(logging.ERROR)
os.environ.setdefault("TQDM_DISABLE", "1")

import coremltools as ct
import coremltools.optimize.coreml as cto
import numpy
import torch
import torch.nn.functional as F
from coremltools.converters.mil import Builder as mb
from coremltools.converters.mil.mil import Function, Program, types
from safetensors.numpy import load_file, save_file

import fixtures_coreml_ops

import fixtures_coreml_ops

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "Tests" / "Fixtures" / "coreml"
random = numpy.random.default_rng(18)


def save(name, model, tensors):
    path = FOLDER / f"{name}.mlpackage"
    shutil.rmtree(path, ignore_errors=True)
    if isinstance(model, pathlib.Path):
        shutil.copytree(model, path)
    else:
        model.save(str(path))
    manifest = json.loads((path / "Manifest.json").read_text())
    named = {old: str(uuid.uuid5(uuid.NAMESPACE_URL, name + item["name"])).upper() for old, item in manifest["itemInfoEntries"].items()}
    manifest["itemInfoEntries"] = {named[old]: item for old, item in manifest["itemInfoEntries"].items()}
    manifest["rootModelIdentifier"] = named[manifest["rootModelIdentifier"]]
    (path / "Manifest.json").write_text(json.dumps(manifest, indent=4, sort_keys=True))
    if tensors:
        save_file({n: numpy.ascontiguousarray(t) for n, t in sorted(tensors.items())}, FOLDER / f"{name}.safetensors")
    size = sum(f.stat().st_size for f in path.rglob("*") if f.is_file())
    print(f"{name}: {size} bytes, {len(tensors)} tensors", file=sys.stderr)


def convert(program, target, precision=ct.precision.FLOAT32, **options):
    return ct.convert(
        program, convert_to="mlprogram", minimum_deployment_target=target, compute_precision=precision,
        skip_model_load=True, **options)


def operators(target):
    """Every operation alone, in the first target that has it: an output for each, in float32."""
    samples = [s for s in fixtures_coreml_ops.samples(random) if (s.since > 16) == (target.name != "iOS16")]
    inputs = {n: t for s in samples for n, t in s.inputs.items()}
    program = Program()
    placeholders = {
        n: mb.placeholder(t.shape, dtype=types.int32 if t.dtype == numpy.int32 else types.fp32) for n, t in inputs.items()}
    with Function(placeholders, opset_version=target) as function:
        outputs = []
        for s in samples:
            result = s.build(*[function.inputs[n] for n in s.inputs])
            if types.is_bool(result.dtype):
                result = mb.cast(x=result, dtype="int32")
            outputs.append(mb.identity(x=result, name=f"out_{s.name}"))
        function.set_outputs(outputs)
    program.add_function("main", function)
    expected = {}
    for s in samples:
        value = s.expected(*[torch.from_numpy(t).double() if t.dtype == numpy.float32 else torch.from_numpy(t) for t in s.inputs.values()])
        value = value.float() if value.is_floating_point() else value.int()
        expected[f"out.{s.name}"] = value.contiguous().numpy()
    save(f"operators_{target.name}", convert(program, target), {f"in.{n}": t for n, t in inputs.items()} | expected)


def decompressed(op, seen=None):
    """What coremltools makes of a constexpr operator, operators that feed it included."""
    seen = {} if seen is None else seen
    if op in seen:
        return seen[op]
    if op.op_type == "const":
        return [op.outputs[0].val]
    values = {}
    for name, value in op.inputs.items():
        if value is None:
            continue
        elif value.op is not None and value.op.op_type.startswith("constexpr"):
            values[name] = decompressed(value.op, seen)[value.op.outputs.index(value)]
        else:
            values[name] = value.val
    if op.op_type == "constexpr_cast":
        result = values["source_val"].astype(numpy.float32)
    else:
        result = type(op).decompress(**{n: values.get(n) for n in inspect.signature(type(op).decompress).parameters})
    seen[op] = list(result) if isinstance(result, tuple) else [result]
    return seen[op]


def weights_of(model):
    """By name, each weight that a linear or gather reads, as float32."""
    from coremltools.converters.mil.frontend.milproto.load import load
    program = load(model.get_spec(), model.get_spec().specificationVersion, model.weights_dir)
    weights = {}
    for function in program.functions.values():
        for op in function.operations:
            for reader in [v for n, v in op.inputs.items() if n in ("weight", "x") and v is not None and not isinstance(v, tuple)]:
                if op.op_type in ("linear", "gather", "conv") and reader.op is not None and (reader.op.op_type.startswith("constexpr") or reader.op.op_type == "const"):
                    weights[f"weight.{reader.name}"] = decompressed(reader.op)[reader.op.outputs.index(reader)].astype(numpy.float32)
    return weights


def linears(shapes, target, sigma=0.1, axis_scales=True, values=None):
    """A linear for each shape, in float16; weights called w_NAME."""
    program = Program()
    widths = sorted({shape[1] for shape in shapes.values()})
    with Function({f"x{w}": mb.placeholder((1, w), dtype=types.fp16) for w in widths}, opset_version=target) as function:
        outputs = []
        for name, shape in shapes.items():
            weight = (random.standard_normal(shape) * sigma * (random.random((shape[0], 1)) + 0.3)).astype(numpy.float16)
            constant = mb.const(val=weight, name=f"w_{name}")
            outputs.append(mb.linear(x=function.inputs[f"x{shape[1]}"], weight=constant, name=f"y_{name}"))
        function.set_outputs(outputs)
    program.add_function("main", function)
    return convert(program, target, ct.precision.FLOAT16)


def compressed(model, step, configs, joint=False):
    """Applies `step` to the weights that `configs` names."""
    config = cto.OptimizationConfig(op_name_configs={f"w_{n}": c for n, c in configs.items()})
    return step(model, config, joint_compression=True) if joint else step(model, config)


def weights_16():
    shapes = {n: (24, 35) for n in ["pal1", "pal2", "pal4", "pal6", "pal8", "affine", "affine_asym", "affine_tensor", "sparse", "plain"]}
    model = linears(shapes, ct.target.iOS16)
    palette = lambda bits, mode="kmeans": cto.OpPalettizerConfig(mode=mode, nbits=bits, weight_threshold=0)
    model = compressed(model, cto.palettize_weights, {f"pal{b}": palette(b, "uniform" if b == 8 else "kmeans") for b in (1, 2, 4, 6, 8)})
    linear = lambda mode, **options: cto.OpLinearQuantizerConfig(mode=mode, weight_threshold=0, **options)
    model = compressed(model, cto.linear_quantize_weights, {
        "affine": linear("linear_symmetric"), "affine_asym": linear("linear", dtype="uint8"),
        "affine_tensor": linear("linear_symmetric", granularity="per_tensor")})
    model = compressed(model, cto.prune_weights, {"sparse": cto.OpMagnitudePrunerConfig(target_sparsity=0.6, weight_threshold=0)})
    save("weights_iOS16", model, weights_of(model))


def weights_18():
    shapes = {n: (24, 40) for n in [
        "pal3_group", "vector", "vector_in", "lut8", "block4", "block4_asym", "block8", "sparse", "sparse_pal", "sparse_int8", "scaled", "plain"]}
    model = linears(shapes, ct.target.iOS18)
    palette = lambda bits, **options: cto.OpPalettizerConfig(mode="kmeans", nbits=bits, weight_threshold=0, **options)
    grouped = dict(granularity="per_grouped_channel", group_size=8)
    linear = lambda **options: cto.OpLinearQuantizerConfig(weight_threshold=0, **options)
    blocks = dict(granularity="per_block", block_size=8)
    prune = cto.OpMagnitudePrunerConfig(target_sparsity=0.6, weight_threshold=0)
    model = compressed(model, cto.prune_weights, {n: prune for n in ["sparse", "sparse_pal", "sparse_int8"]})
    model = compressed(model, cto.palettize_weights, {"sparse_pal_sparsified": palette(2)}, joint=True)
    model = compressed(model, cto.linear_quantize_weights, {"sparse_int8_sparsified": linear(mode="linear_symmetric", dtype="int8")}, joint=True)
    model = compressed(model, cto.palettize_weights, {
        "pal3_group": palette(3, **grouped), "vector": palette(4, cluster_dim=2), "vector_in": palette(2, cluster_dim=4, channel_axis=1, granularity="per_grouped_channel", group_size=20),
        "lut8": palette(4, **grouped), "scaled": palette(4, enable_per_channel_scale=True)})
    model = compressed(model, cto.linear_quantize_weights, {"lut8_palettized": linear(mode="linear_symmetric", dtype="int8", granularity="per_tensor")}, joint=True)
    model = compressed(model, cto.linear_quantize_weights, {
        "block4": linear(mode="linear_symmetric", dtype="int4", **blocks), "block4_asym": linear(mode="linear", dtype="uint4", **blocks),
        "block8": linear(mode="linear", dtype="int8", **blocks)})
    save("weights_iOS18", model, weights_of(model))


class Cache(torch.nn.Module):
    """A state that each run adds to, read by a norm: what a key/value cache does, small."""

    def __init__(self):
        super().__init__()
        self.register_buffer("cache", torch.zeros(2, 6, dtype=torch.float16))

    def forward(self, x):
        self.cache[:, 2:4] = x
        self.cache += 1
        return torch.softmax(self.cache.float(), -1).half()


def states():
    x = torch.from_numpy(random.standard_normal((2, 2)).astype(numpy.float16))
    model = Cache().eval()
    traced = torch.jit.trace(model, x)
    program = ct.convert(
        traced, inputs=[ct.TensorType("x", x.shape, dtype=numpy.float16)], outputs=[ct.TensorType("y", dtype=numpy.float16)],
        states=[ct.StateType(ct.TensorType(shape=(2, 6), dtype=numpy.float16), name="cache")],
        minimum_deployment_target=ct.target.iOS18, skip_model_load=True)
    model.cache.zero_()
    tensors = {}
    for run in range(3):
        x = torch.from_numpy(random.standard_normal((2, 2)).astype(numpy.float16))
        tensors |= {f"in.x.{run}": x.numpy(), f"out.y.{run}": model(x).numpy().copy()}
    tensors["state.cache"] = model.cache.numpy().copy()
    save("states", program, tensors)


class Encoder(torch.nn.Module):
    """A layer of a transformer, as a framework writes it."""

    def __init__(self, width=16, heads=2):
        super().__init__()
        self.heads = heads
        self.table = torch.nn.Embedding(29, width)
        self.q, self.k, self.v, self.o = (torch.nn.Linear(width, width) for _ in range(4))
        self.norm = torch.nn.LayerNorm(width)
        self.up, self.down = torch.nn.Linear(width, 2 * width), torch.nn.Linear(2 * width, width)

    def forward(self, ids, mask):
        x = self.table(ids)
        bias = (1.0 - mask.float())[:, None, :] * -1e4
        apart = lambda linear: torch.chunk(linear(x), self.heads, -1)
        heads = []
        for q, k, v in zip(apart(self.q), apart(self.k), apart(self.v)):
            heads.append(torch.softmax(q @ k.transpose(1, 2) / q.shape[-1] ** 0.5 + bias, -1) @ v)
        y = torch.cat(heads, -1)
        x = self.norm(x + self.o(y))
        return x + self.down(F.gelu(self.up(x)))


def encoder():
    torch.manual_seed(5)
    model = Encoder().eval()
    ids = torch.randint(0, 29, (2, 7), dtype=torch.int32)
    mask = (torch.arange(7)[None] < torch.tensor([[7], [4]])).int()
    shapes = ct.EnumeratedShapes([(2, 7), (1, 4)], default=(2, 7))
    program = ct.convert(
        torch.jit.trace(model, (ids, mask)), inputs=[ct.TensorType("ids", shapes, dtype=numpy.int32), ct.TensorType("mask", shapes, dtype=numpy.int32)],
        outputs=[ct.TensorType("y")], minimum_deployment_target=ct.target.iOS18, skip_model_load=True)
    tensors = {"in.ids": ids.numpy(), "in.mask": mask.numpy(), "out.y": model(ids, mask).detach().numpy()}
    save("encoder", program, tensors)


def functions():
    """Two functions that share a weight."""
    weight = (random.standard_normal((8, 20)) * 0.3).astype(numpy.float16)
    program = {}
    for name, rows in [("one", 1), ("four", 4)]:
        p = Program()
        with Function({"x": mb.placeholder((rows, 20), dtype=types.fp16)}, opset_version=ct.target.iOS18) as function:
            function.set_outputs([mb.relu(x=mb.linear(x=function.inputs["x"], weight=mb.const(val=weight, name="w")), name="y")])
        p.add_function("main", function)
        program[name] = convert(p, ct.target.iOS18, ct.precision.FLOAT16)
    with tempfile.TemporaryDirectory() as folder:
        description = ct.utils.MultiFunctionDescriptor()
        for name, model in program.items():
            model.save(f"{folder}/{name}.mlpackage")
            description.add_function(f"{folder}/{name}.mlpackage", src_function_name="main", target_function_name=name)
        description.default_function_name = "four"
        ct.utils.save_multifunction(description, f"{folder}/both.mlpackage")
        x = random.standard_normal((4, 20)).astype(numpy.float16)
        y = numpy.maximum(x.astype(numpy.float32) @ weight.astype(numpy.float32).T, 0)
        save("functions", pathlib.Path(folder) / "both.mlpackage", {"in.x": x, "out.y": y, "weight.w": weight.astype(numpy.float32)})


def checkpoint(name, **options):
    """The matrices of Tests/Fixtures/bert_sentence_mean, palettized; coremltools divides them by their scales before it
    skips those whose rows groups of 16 do not divide, so that with scales they are corrupt (its issue 2777)."""
    matrices = {n: w.astype(numpy.float16) for n, w in load_file(FOLDER.parent / "bert_sentence_mean" / "model.safetensors").items() if w.ndim == 2}
    widths = sorted({w.shape[1] for w in matrices.values()})
    program = Program()
    with Function({f"x{w}": mb.placeholder((1, w), dtype=types.fp16) for w in widths}, opset_version=ct.target.iOS18) as function:
        function.set_outputs([
            mb.linear(x=function.inputs[f"x{w.shape[1]}"], weight=mb.const(val=w, name=n.replace(".", "_")), name=f"y{i}")
            for i, (n, w) in enumerate(matrices.items())])
    program.add_function("main", function)
    config = cto.OptimizationConfig(cto.OpPalettizerConfig(nbits=4, granularity="per_grouped_channel", weight_threshold=0, **options))
    save(name, cto.palettize_weights(convert(program, ct.target.iOS18, ct.precision.FLOAT16), config), {})


MAKE = {
    "checkpoint_right": lambda: checkpoint("checkpoint_right", group_size=8),
    "checkpoint_corrupt": lambda: checkpoint("checkpoint_corrupt", group_size=16, enable_per_channel_scale=True),
    "operators_iOS16": lambda: operators(ct.target.iOS16), "operators_iOS18": lambda: operators(ct.target.iOS18),
    "weights_iOS16": weights_16, "weights_iOS18": weights_18, "states": states, "encoder": encoder, "functions": functions}

if __name__ == "__main__":
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, make in MAKE.items():
        random = numpy.random.default_rng([18, len(name), sum(name.encode())])
        if len(sys.argv) == 1 or name in sys.argv[1:]:
            make()
