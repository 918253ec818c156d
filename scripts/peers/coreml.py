"""Core ML packages of MiniLM in every form, read by coremltools: it loads them and infers every type, its decompressed weights
are bit for bit those of `accelc decompress`, and its own packages of the same scheme are no smaller.

usage: coreml.py ACCELC MINILM     (wants coremltools; exit 3 and a sentence where it is missing)
Core ML itself runs on Apple's systems only; what functions compute is checked by `accelc verify` on the written package.
"""

import inspect
import json
import logging
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
import warnings

warnings.filterwarnings("ignore")
logging.disable(logging.ERROR)
os.environ.setdefault("TQDM_DISABLE", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

try:
    import coremltools as ct
    import coremltools.optimize.coreml as cto
except ImportError as error:
    print(f"coreml: skipped, since coremltools cannot be imported ({error})", file=sys.stderr)
    sys.exit(3)
import numpy
from coremltools.converters.mil.frontend.milproto.load import load as milproto_load
from safetensors.numpy import load_file

TARGETS = ("iOS16", "iOS17", "iOS18", "iOS26")
SCHEMES = (
    "float16", "int8:axis=channel", "int8:axis=channel,mode=asymmetric", "int4:block=32", "affine:bits=4,block=32", "affine:bits=6,block=32",
    "nf4:block=32", "palette:bits=4", "palette:bits=4,entries=int8", "palette:bits=4,group=16", "palette:bits=3,group=16,entries=int8",
    "palette:bits=4,group=16,scale=channel", "vector:bits=8,size=2", "vector:bits=8,size=4,group=64", "sparse:target=0.5+float16",
    "sparse:target=0.5+palette:bits=4", "sparse:target=0.5+int8:axis=tensor",
)
# What iOS 16 and 17 can hold.
BEFORE_18 = {"float16", "int8:axis=channel", "int8:axis=channel,mode=asymmetric", "palette:bits=4", "palette:bits=4,entries=int8", "sparse:target=0.5+float16"}
SHAPE = "batch=1,sequence=128"
failures = []


def check(good, sentence):
    print(f"  {'ok  ' if good else 'FAIL'} {sentence}")
    if not good:
        failures.append(sentence)


def materialized(op, seen):
    """What coremltools makes of a constexpr operator, operators that feed it included."""
    if op in seen:
        return seen[op]
    values = {}
    for name, value in op.inputs.items():
        if value is None:
            continue
        fed = value.op is not None and value.op.op_type.startswith("constexpr")
        values[name] = materialized(value.op, seen)[value.op.outputs.index(value)] if fed else value.val
    if op.op_type == "constexpr_cast":
        result = values["source_val"].astype(numpy.float32)
    else:
        function = type(op).decompress
        result = function(**{n: values.get(n) for n in inspect.signature(function).parameters})
    seen[op] = list(result) if isinstance(result, tuple) else [result]
    return seen[op]


def weights_of(path):
    """By name, every weight as float32; running the loader infers the types of all operators."""
    model = ct.models.MLModel(str(path), skip_model_load=True)
    program = milproto_load(model.get_spec(), model.get_spec().specificationVersion, model.weights_dir)
    weights, seen, operators = {}, {}, 0
    for function in program.functions.values():
        for op in function.operations:
            operators += 1
            if op.op_type.startswith("constexpr"):
                weights[op.outputs[-1].name] = materialized(op, seen)[-1].astype(numpy.float32)
            elif op.op_type == "const" and op.outputs[0].val is not None and getattr(op.outputs[0].val, "ndim", 0) > 0 and op.outputs[0].val.dtype.kind == "f":
                weights[op.outputs[0].name] = op.outputs[0].val.astype(numpy.float32)
    return weights, operators


def size(path):
    return sum(f.stat().st_size for f in pathlib.Path(path).rglob("*") if f.is_file())


def matrices(accelc, path):
    """Bits that the matrices of a package take, and their elements."""
    document = json.loads(subprocess.run([accelc, "inspect", "--json", path], check=True, capture_output=True).stdout)
    bits = elements = 0
    for weight in document["weights"]:
        shape = [int(n) for n in weight["type"].partition("[")[2].rstrip("]").split(",") if n]
        if len(shape) == 2:
            count = shape[0] * shape[1]
            elements += count
            bits += weight["bits_per_weight"] * count
    return bits, elements


def their_sizes(accelc, folder, scratch):
    """Bytes of coremltools' packages of the same model, bits per weight of the matrices, and its seconds, by scheme (target iOS18).

    coremltools compresses the package that accelc writes in float16: every weight of two axes, whatever its size, and no vector.
    """
    path = f"{scratch}/plain.mlpackage"
    subprocess.run([accelc, "export", folder, "--format", "coreml", "--shape", SHAPE, "--no-cache", "--quiet", "-o", path], check=True)
    plain = ct.models.MLModel(path, skip_model_load=True)
    program = milproto_load(plain.get_spec(), plain.get_spec().specificationVersion, plain.weights_dir)
    vectors = {op.outputs[0].name: None for function in program.functions.values() for op in function.operations
               if op.op_type == "const" and getattr(op.outputs[0].val, "ndim", 0) == 1 and op.outputs[0].val.dtype.kind == "f"}

    def settings(choice, **options):
        return cto.OptimizationConfig(choice(weight_threshold=0, **options), op_name_configs=vectors)

    def palette(**options):
        return lambda model: cto.palettize_weights(model, settings(cto.OpPalettizerConfig, **options))

    def linear(**options):
        return lambda model: cto.linear_quantize_weights(model, settings(cto.OpLinearQuantizerConfig, mode="linear_symmetric", **options))

    groups = {"granularity": "per_grouped_channel", "group_size": 16}
    steps = {
        "float16": lambda model: model,
        "int8:axis=channel": linear(),
        "int4:block=32": linear(dtype="int4", granularity="per_block", block_size=32),
        "palette:bits=4": palette(nbits=4),
        "palette:bits=4,group=16": palette(nbits=4, **groups),
        "palette:bits=4,group=16,scale=channel": palette(nbits=4, enable_per_channel_scale=True, **groups),
        "sparse:target=0.5+float16": lambda model: cto.prune_weights(model, settings(cto.OpMagnitudePrunerConfig, target_sparsity=0.5)),
    }
    figures = {}
    for scheme, step in steps.items():
        start = time.perf_counter()
        path = f"{scratch}/theirs.mlpackage"
        step(plain).save(path)
        figures[scheme] = (size(path), *matrices(accelc, path), time.perf_counter() - start)
    return figures


def main(accelc, minilm):
    folder = pathlib.Path(minilm) / "model"
    with tempfile.TemporaryDirectory() as scratch:
        theirs = their_sizes(accelc, folder, scratch)
        sizes = []
        for scheme in SCHEMES:
            for target in TARGETS:
                name = f"{target} {scheme}"
                path = f"{scratch}/ours.mlpackage"
                # coremltools writes into packages that it loads, and accelc replaces none that others have changed.
                shutil.rmtree(path, ignore_errors=True)
                command = [accelc, "export", folder, "--format", "coreml", "--shape", SHAPE, "--target", target,
                           "--compress", scheme, "--no-cache", "--quiet", "-o", path]
                start = time.perf_counter()
                run = subprocess.run(command, capture_output=True, text=True)
                seconds = time.perf_counter() - start
                if scheme not in BEFORE_18 and target in ("iOS16", "iOS17"):
                    check(run.returncode == 2 and "iOS18" in run.stderr, f"{name}: rejected, with the alternative: {run.stderr.strip()[:150]}")
                    continue
                if run.returncode:
                    check(False, f"{name}: export exits with {run.returncode}: {run.stderr.strip()[:200]}")
                    continue
                weights, operators = weights_of(path)
                subprocess.run([accelc, "decompress", path, "-o", f"{scratch}/w.safetensors", "--quiet"], check=True)
                found = load_file(f"{scratch}/w.safetensors")
                different = [n for n, w in found.items() if n not in weights or w.shape != weights[n].shape or w.tobytes() != weights[n].tobytes()]
                check(not different and found, f"{name}: {operators} operators typed, {len(found)} weights bit-equal, "
                      f"{size(path) / 1e6:.2f} MB, {seconds:.2f} s {different[:3] or ''}")
                if target == "iOS18" and scheme in theirs:
                    bits, elements = matrices(accelc, path)
                    their_size, other, count, their_seconds = theirs[scheme]
                    sizes.append((scheme, size(path), bits / elements, their_size, other / count))
                    check(elements == count and bits <= other and size(path) <= their_size,
                          f"{name}: {size(path):,} bytes, {bits / elements:.3f} bits per weight; coremltools {their_size:,}, "
                          f"{other / count:.3f} ({their_seconds:.1f} s)")
    print("\n| MiniLM for iOS 18 | accelc | | coremltools | |\n|---|---|---|---|---|")
    for scheme, own, bits, other, their_bits in sizes:
        print(f"| `{scheme}` | {own / 1e6:.2f} MB | {bits:.2f} bits | {other / 1e6:.2f} MB | {their_bits:.2f} bits |")
    sys.exit(f"coreml: {len(failures)} checks failed" if failures else 0)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
