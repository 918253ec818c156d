"""Core AI models of accelc in Apple's Core AI: every family's case and every scheme.

usage: coreai.py ACCELC [MINILM] [CASE...]      (wants coreai-core, numpy, safetensors; exits 3 with the command that installs them when one is missing)
A case is a folder with a checkpoint and golden.safetensors: those of Tests/Fixtures, and of ../shared/cases where these exist.
Each is exported with --format coreai in float32 and in float16, and its functions run in the order in which `accelc verify-record` lists
them, with their states; the outputs are those of the golden. Then one case with every compression scheme: the outputs are those of accelc's
own runtime for the compressed weights. Prints one table, and exits 1 on a difference. The runtime on Linux uses the CPU: it says
nothing of the Neural Engine. It ends its process on an invalid file, so each run has a process of its own.
"""

import asyncio
import json
import math
import pathlib
import subprocess
import sys
import tempfile
import time

# This file has the name of the package that it imports.
HERE = pathlib.Path(__file__).resolve().parent
sys.path[:] = [entry for entry in sys.path if pathlib.Path(entry or ".").resolve() != HERE]
try:
    import numpy
    from coreai.authoring import AIModelAsset
    from coreai.runtime import NDArray
    from safetensors.numpy import load_file, save_file
except ImportError as error:
    print(f"coreai: skipped, since {error.name} is missing: pip install coreai-core==1.0.0b3 safetensors", file=sys.stderr)
    sys.exit(3)

ROOT = HERE.parent.parent
# Decibels of the outputs against the golden. float32 has the noise of another order of sums, float16 that of its 11 bits.
LIMITS = {"float32": 110, "float16": 40}
# Against accelc's runtime: codes, tables, masks and scales are the same numbers.
SCHEME_LIMITS = {"float32": 95, "float16": 40}
SCHEMES = (
    "float32", "float16", "bfloat16", "int8", "int8:axis=tensor", "int8:axis=channel", "int8:axis=channel,mode=asymmetric",
    "int4:block=32", "int4:block=32,mode=asymmetric", "affine:bits=2,block=32", "affine:bits=3,block=32", "affine:bits=4,block=32",
    "affine:bits=5,block=32", "affine:bits=6,block=32", "affine:bits=8,block=32", "affine:bits=4,block=32,scales=float32", "nf4:block=32",
    "float8", "float8:type=e5m2", "float8:scale=tensor", "float8:scale=block",
    "palette:bits=1", "palette:bits=2", "palette:bits=3", "palette:bits=4", "palette:bits=6", "palette:bits=8", "palette:bits=4,group=16",
    "palette:bits=4,group=16,entries=int8", "palette:bits=4,group=16,scale=channel", "vector:bits=4,size=2",
    "sparse:target=0.5+float16", "sparse:target=0.5+float32", "sparse:target=0.5+int8:axis=tensor", "sparse:target=0.5+palette:bits=4",
)
SCHEME_CASE = "llama_bfloat16"
# Weights of three axes, whose blocks run over several.
CONVOLUTIONS = ("wav2vec2_odd", "snac_plain")
CONVOLUTION_SCHEMES = ("int8", "int4:block=32", "affine:bits=3,block=16", "palette:bits=4,group=4", "sparse:target=0.5+float16")


def run(*words):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True)
    if done.returncode != 0:
        tail = (done.stderr or done.stdout).strip().splitlines()
        raise RuntimeError(f"{pathlib.Path(str(words[0])).name} exits {done.returncode}: {' '.join(tail[-2:])[:300]}")
    return done.stdout


def identifier(name):
    """As Core ML spells names, by which runs are recorded."""
    text = "".join(letter if letter.isascii() and (letter.isalnum() or letter == "_") else "_" for letter in name.replace("]", ""))
    return text if not text[:1].isdigit() else f"_{text}"


async def replay(model, bundle, outputs):
    """In the child process: runs the recorded inputs, and saves outputs as RUN.NAME."""
    runs = json.loads((pathlib.Path(bundle) / "runs.json").read_text())["runs"]
    given = load_file(pathlib.Path(bundle) / "inputs.safetensors")
    made, states, spent = {}, {}, 0.0
    async with AIModelAsset.load(pathlib.Path(model)).executable() as loaded:
        names = {identifier(name): name for name in loaded.function_names}
        functions = {key: loaded.load_function(name) for key, name in names.items()}
        for number, item in enumerate(runs):
            function = functions[item["function"]]
            ports = {identifier(name): name for name in function.desc.input_names}
            inputs = {}
            for name in item["inputs"]:
                value = given[f"{number}.{name}"]
                inputs[ports[name]] = NDArray(value.astype(numpy.int32) if value.dtype == numpy.int64 else value)
            # A sequence keeps its states, which functions share by name.
            kept = states.setdefault(item["sequence"], {})
            own = {}
            for name in function.desc.state_names:
                if name not in kept:
                    descriptor = function.desc.state_descriptor(name)
                    kept[name] = NDArray(numpy.zeros(descriptor.shape, numpy.dtype(str(descriptor.dtype))))
                own[name] = kept[name]
            begin = time.perf_counter()
            found = await (function(inputs, state=own) if own else function(inputs))
            spent += time.perf_counter() - begin
            for name, value in found.items():
                made[f"{number}.{identifier(name)}"] = numpy.ascontiguousarray(value.numpy())
    save_file(made, outputs)
    print(json.dumps({"seconds": spent}))


def decibels(found, expected):
    found, expected = found.astype(numpy.float64), expected.astype(numpy.float64)
    finite = numpy.isfinite(expected)
    noise = ((found - expected)[finite] ** 2).sum()
    return 10 * math.log10((expected[finite] ** 2).sum() / noise) if noise > 0 else math.inf


def by_framework(case, expected, runs):
    """Replaces what accelc expects by what the framework gave in float64, and returns how many outputs that are."""
    golden, count, blocks = load_file(case / "golden.safetensors"), 0, 0
    for number, item in enumerate(runs):
        for name in item["outputs"]:
            own = [name]
            if "logits" in item["logits"] and name == "logits":
                own += ["logits_full", "prefill_logits", *(f"step{step}_logits" for step in range(9))][blocks : blocks + 1]
                blocks += 1
            keys = [f"{kind}.{one}" for one in own for kind in ("ref64", "out")]
            known = {identifier(key): value for key, value in golden.items()}
            tensor = next((known[identifier(key)] for key in keys if identifier(key) in known), None)
            if tensor is not None and tensor.shape == expected[f"{number}.{name}"].shape:
                expected[f"{number}.{name}"] = tensor
                count += 1
    return count


def compared(found, expected, runs):
    """The worst output's decibels; -inf where one is missing."""
    worst = math.inf
    for number, item in enumerate(runs):
        for name in item["outputs"]:
            key = f"{number}.{name}"
            if key not in found or found[key].shape != expected[key].shape:
                return -math.inf
            if numpy.abs(expected[key]).max() > 0:
                worst = min(worst, decibels(found[key], expected[key]))
    return worst


def measured(accelc, source, scratch, bundle, *words):
    """Exports, runs in a child process, and returns decibels and seconds."""
    model, outputs = scratch / "x.aimodel", scratch / "x.safetensors"
    begin = time.perf_counter()
    run(accelc, "export", source, "--format", "coreai", "-o", model, "--no-cache", "--quiet", *words)
    wrote = time.perf_counter() - begin
    said = run(sys.executable, __file__, "--replay", model, bundle, outputs)
    seconds = json.loads(said.strip().splitlines()[-1])["seconds"]
    runs = json.loads((bundle / "runs.json").read_text())["runs"]
    return load_file(outputs), runs, wrote, seconds, sum(file.stat().st_size for file in model.iterdir())


def recorded(accelc, case, scratch, shape):
    """What accelc records for a case: inputs and outputs of the golden, or drawn inputs where a golden has none for a function."""
    package, bundle = scratch / "x.mlpackage", scratch / "runs"
    run(accelc, "export", case, "--format", "coreml", "--precision", "float32", "--compress", "float32", *shape, "--no-cache", "--quiet", "-o", package)
    golden = case / "golden.safetensors"
    try:
        run(accelc, "verify-record", package, "--golden", golden, "--quiet", "-o", bundle)
        return bundle, "golden"
    except RuntimeError:
        run(accelc, "verify-record", package, "--seed", "7", "--quiet", "-o", bundle)
        return bundle, "accelc"


def row(name, what, good, figure, wrote, seconds, size, note=""):
    print(f"  {'ok  ' if good else 'FAIL'} {name:34} {what:42} {figure:7.1f} dB  {wrote:6.2f} s  {seconds:7.3f} s  {size:9} bytes  {note}", flush=True)
    return not good


def shapes_of(case):
    """The shapes of a case: those of its golden, and of a decoder whose frequencies depend on the cache, in numbers."""
    if case.name != "llama_dynamic":
        return ("--shape-from", case / "golden.safetensors")
    batch, tokens = load_file(case / "golden.safetensors")["in.input_ids"].shape
    return ("--shape", f"batch={batch},tokens={tokens},cache={tokens}")


def families(accelc, cases):
    failures = 0
    for case in cases:
        shape = shapes_of(case)
        for precision, limit in LIMITS.items():
            with tempfile.TemporaryDirectory() as folder:
                scratch = pathlib.Path(folder)
                try:
                    bundle, kind = recorded(accelc, case, scratch, shape)
                    found, runs, wrote, seconds, size = measured(
                        accelc, case, scratch, bundle, "--compress", "float32", "--precision", precision, *shape)
                    expected = load_file(bundle / "expected.safetensors")
                    count = by_framework(case, expected, runs) if kind == "golden" else 0
                    figure = compared(found, expected, runs)
                    total = sum(len(item["outputs"]) for item in runs)
                    failures += row(case.name, precision, figure >= limit, figure, wrote, seconds, size, f"{len(runs)} runs, {count} of {total} outputs by the framework")
                except Exception as error:
                    failures += row(case.name, precision, False, math.nan, 0, 0, 0, str(error))
    return failures


def scheme_rows(accelc, case, names, tensors, shape):
    """Runs a function on named tensors with each scheme, in both precisions, and compares with accelc's own runtime."""
    failures = 0
    for scheme in names:
        for precision, limit in SCHEME_LIMITS.items():
            with tempfile.TemporaryDirectory() as folder:
                scratch = pathlib.Path(folder)
                bundle = scratch / "runs"
                bundle.mkdir()
                save_file({f"0.{identifier(name)}": value for name, value in tensors.items()}, bundle / "inputs.safetensors")
                save_file(tensors, scratch / "in.safetensors")
                what = f"{scheme} in {precision}"
                try:
                    run(accelc, "convert", case, "--compress", scheme, *shape, "--no-cache", "--quiet", "-o", scratch / "x.accelpkg")
                    run(accelc, "run", scratch / "x.accelpkg", "--inputs", scratch / "in.safetensors", "--outputs", scratch / "own.safetensors", "--quiet")
                    expected = {f"0.{identifier(name)}": value for name, value in load_file(scratch / "own.safetensors").items()}
                    outputs = [name.removeprefix("0.") for name in expected]
                    (bundle / "runs.json").write_text(json.dumps({"runs": [
                        {"function": "main", "sequence": 0, "inputs": [identifier(name) for name in tensors], "outputs": outputs}]}))
                    found, runs, wrote, seconds, size = measured(
                        accelc, scratch / "x.accelpkg", scratch, bundle, "--precision", precision, "--allow-fallback")
                    figure = compared(found, expected, runs)
                    failures += row(case.name, what, figure >= limit, figure, wrote, seconds, size)
                except Exception as error:
                    failures += row(case.name, what, False, math.nan, 0, 0, 0, str(error))
    return failures


def schemes(accelc, wanted):
    def chosen(names):
        return [name for name in names if not wanted or name in wanted or "schemes" in wanted]

    case = ROOT / "Tests/Fixtures" / SCHEME_CASE
    tokens = load_file(case / "golden.safetensors")["in.input_ids"][:1]
    count = tokens.shape[1]
    inputs = {"input_ids": tokens, "position": numpy.array([0], dtype=numpy.int64)}
    failures = scheme_rows(accelc, case, chosen(SCHEMES), inputs, ("--shape", f"batch=1,tokens={count},cache={count}"))
    for name in CONVOLUTIONS:
        case = ROOT / "Tests/Fixtures" / name
        golden = case / "golden.safetensors"
        inputs = {key.removeprefix("in."): value for key, value in load_file(golden).items() if key.startswith("in.")}
        failures += scheme_rows(accelc, case, chosen(CONVOLUTION_SCHEMES), inputs, ("--shape-from", golden))
    return failures


def main(accelc, wanted):
    # peers.sh gives every peer the folder of MiniLM; its goldens stand in the fixtures, its weights there.
    if wanted and pathlib.Path(wanted[0]).is_dir():
        wanted = wanted[1:]
    folders = [path.parent for base in (ROOT / "Tests/Fixtures", ROOT.parent / "shared/cases")
               for path in sorted(base.glob("*/golden.safetensors")) if (path.parent / "config.json").exists() and (path.parent / "model.safetensors").exists()]
    print("  " + f"     {'case':34} {'what':42} {'parity':>10}  {'export':>8}  {'runs':>9}")
    failures = families(accelc, [case for case in folders if not wanted or case.name in wanted])
    failures += schemes(accelc, wanted)
    if failures:
        sys.exit(f"coreai: {failures} failed")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--replay"]:
        asyncio.run(replay(*sys.argv[2:]))
    elif len(sys.argv) < 2:
        sys.exit(__doc__)
    else:
        main(sys.argv[1], sys.argv[2:])
