"""Right packages of real models verify, on any drawn inputs, and wrong ones do not.

usage: real_models.py ACCELC MINILM [SEEDS]     (MINILM: a folder with model/; SEEDS: how many, 5 by default)
SmolLM2-135M-Instruct, Whisper base and all-MiniLM-L6-v2, as scripts/get_models.sh fetches them, in the schemes below: verify passes with each
seed. The controls: the self test notices all planted faults, on each model; and a package does not verify against another model of the same
shapes: the weights against one with matrices multiplied by 1.001, the outputs against one with matrices of the opposite sign. Exits 3 where
the models cannot be had.
"""

import json
import pathlib
import struct
import subprocess
import sys
import tempfile

if len(sys.argv) not in (3, 4):
    sys.exit(__doc__)
ACCELC, MINILM = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
SEEDS = range(1, 1 + int(sys.argv[3] if len(sys.argv) > 3 else 5))
SCHEMES = ("float32", "float16", "int8", "int4", "palette:bits=4", "keep")
# The self test runs each planted fault, so it takes the smallest shapes.
SHAPES = {
    "smollm2.gguf": ["--shape", "batch=1,cache=64,tokens=16", "--shape", "batch=1,cache=64,tokens=1"],
    "whisper": ["--shape", "frames=3000", "--shape", "batch=1,frames=3000,cache=64,tokens=4",
                "--shape", "batch=1,frames=3000,cache=64,tokens=1"],
    "minilm": ["--shape", "batch=1,sequence=32"],
}
failures = []


def run(*arguments):
    return subprocess.run([str(ACCELC), *map(str, arguments)], capture_output=True, text=True)


def expect(what, result, statuses):
    good = result.returncode in statuses
    print(f"  {'ok  ' if good else 'FAIL'} {what}: exit {result.returncode}", flush=True)
    if not good:
        failures.append(what)
        print("\n".join((result.stdout + result.stderr).splitlines()[-12:]))


def changed(path, target, factor):
    """A copy of a safetensors file with every fourth matrix multiplied by a factor."""
    data = bytearray(path.read_bytes())
    size = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:8 + size])
    names = [name for name, entry in header.items() if name != "__metadata__" and len(entry["shape"]) == 2][1::4]
    for name in names:
        first, last = (8 + size + offset for offset in header[name]["data_offsets"])
        form = {"F32": "f", "F16": "e"}[header[name]["dtype"]]
        count = (last - first) // struct.calcsize(form)
        values = struct.unpack(f"<{count}{form}", data[first:last])
        data[first:last] = struct.pack(f"<{count}{form}", *(value * factor for value in values))
    target.write_bytes(data)


def main():
    fetched = subprocess.run([pathlib.Path(__file__).resolve().parent.parent / "get_models.sh"], capture_output=True, text=True)
    if fetched.returncode == 3:
        print(fetched.stderr.strip(), file=sys.stderr)
        sys.exit(3)
    folder = pathlib.Path(fetched.stdout.strip())
    models = {"minilm": MINILM / "model", "smollm2.gguf": folder / "smollm2.gguf", "whisper": folder / "whisper"}
    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch)
        for name, model in models.items():
            print(name, flush=True)
            for scheme in SCHEMES:
                if scheme == "keep" and name != "smollm2.gguf":
                    continue  # No weight of these is encoded.
                package = scratch / "model.accelpkg"
                made = run("convert", model, "--compress", scheme, "-o", package, "--no-cache")
                expect(f"{name} {scheme} converts", made, [0])
                for seed in SEEDS if made.returncode == 0 else ():
                    expect(f"{name} {scheme} seed {seed}", run("verify", package, "--against", model, "--seed", seed), [0])
            package = scratch / "small.accelpkg"
            made = run("convert", model, "--compress", "int8", *SHAPES[name], "-o", package, "--no-cache")
            expect(f"{name} converts to small shapes", made, [0])
            expect(f"{name} self test", run("verify", package, "--against", model, "--self-test"), [0])
            if not (model / "model.safetensors").is_file():
                continue
            for stage, factor in (("weights", 1.001), ("outputs", -1)):
                other = scratch / f"{name}-{stage}"
                other.mkdir()
                for file in model.iterdir():
                    if file.name != "model.safetensors":
                        (other / file.name).symlink_to(file)
                changed(model / "model.safetensors", other / "model.safetensors", factor)
                expect(f"{name} is not another model ({stage})", run("verify", package, "--against", other, "--only", stage), [1])
    if failures:
        sys.exit(f"real_models: failed: {', '.join(failures)}")


main()
