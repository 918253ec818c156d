"""The plug-in over libllama (scripts/plugins/llama) on every decoder fixture.

usage: plugins.py ACCELC [FOLDER]      (wants llama.cpp, which scripts/bench/llama.sh builds, a C compiler, and swift)
exits 3 with the reason when one is missing. Each fixture becomes a package and, where GGUF can hold it, an export beside it. The backend
conformance suite runs on those (PeerPluginTests). A fixture without an export has to be rejected with the command that would make it; one
with a sliding window, which libllama does not have, as soon as its cache is longer than that. Exits 1 on a difference.
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "shared"))
ROOT = HERE.parent.parent
from checks import accelc, check, finish  # noqa: E402

if len(sys.argv) not in (2, 3):
    sys.exit(__doc__)
if not shutil.which("swift"):
    print("plugins: skipped, since swift is missing", file=sys.stderr)
    sys.exit(3)
built = subprocess.run(["bash", ROOT / "scripts/plugins/llama/build.sh"], stdout=subprocess.PIPE, text=True)
if built.returncode != 0:
    print("plugins: skipped, since scripts/plugins/llama/build.sh could not build the plug-in", file=sys.stderr)
    sys.exit(3)
PLUGIN = built.stdout.strip()

# Four times the largest difference from float64 logits that was measured, in units of the largest logit: 5.9e-7, and 1.5e-4 for gemma,
# whose gelu ggml reads from a table of float16. The sums of llama_deep's many layers differ by 3.4e-6.
LIMIT = 2.4e-6
LIMITS = {"gemma_early": 6e-4, "llama_deep": 1.4e-5}
# libllama computes these without their sliding windows, of so many positions.
WINDOWS = {"mistral_window": 3, "qwen2_window": 4}


def decoders():
    for path in sorted((ROOT / "Tests/Fixtures").glob("*/config.json")):
        names = json.loads(path.read_text()).get("architectures") or []
        if any(name.endswith(("ForCausalLM", "LMHeadModel")) for name in names):
            yield path.parent


def made(name, source, folder, blocks, cache=16):
    """A package with functions for blocks of these lengths, and its export; False where GGUF cannot hold it."""
    shapes = [word for length in sorted(set(blocks), reverse=True) for word in ("--shape", f"batch=1,tokens={length},cache={cache}")]
    package = folder / f"{name}.accelpkg"
    code, error = accelc("convert", source, "--compress", "float32", *shapes, "-o", package, "--no-cache")
    check(f"{name}: converts {error}", code == 0)
    code, _ = accelc("export", package, "--format", "gguf", "-o", folder / f"{name}-gguf", "--no-cache")
    return code == 0


with tempfile.TemporaryDirectory() as scratch:
    folder, cases = pathlib.Path(scratch), []
    for source in decoders():
        name = source.name
        window = WINDOWS.get(name)
        blocks = [2] + [1] * (window - 2) if window else [4, 1, 1, 1, 1]
        exported = made(name, source, folder, blocks, window or 16)
        cases.append(dict(name=name, package=f"{name}.accelpkg", blocks=blocks, tolerance=LIMITS.get(name, LIMIT),
                          expects="conforms" if exported else "unsuitable", reason="accelc export"))
        if window:
            wide = f"{name}-beyond"
            check(f"{wide}: exports", made(wide, source, folder, [1], window + 1))
            cases.append(dict(name=wide, package=f"{wide}.accelpkg", expects="unsuitable", reason=f"a window of {window}"))
    (folder / "cases.json").write_text(json.dumps(cases))
    kinds = {(case["expects"], case["reason"].split(" ")[0]) for case in cases}
    check(f"there are decoders of each kind: {len(cases)}",
          {("conforms", "accelc"), ("unsuitable", "accelc"), ("unsuitable", "a")} == kinds)
    done = subprocess.run(
        ["swift", "test", "--filter", "PeerPluginTests"], cwd=ROOT, capture_output=True, text=True,
        env=os.environ | {"ACCELC_PLUGIN": PLUGIN, "ACCELC_PLUGIN_CASES": scratch})
    lines = [line for line in done.stdout.splitlines() if line.split(" ")[0] in ("conforms", "unsuitable")]
    for line in lines:
        print(f"       {line}")
    check("every case was run", len(lines) == len(cases))
    check("the conformance suite passes", done.returncode == 0)
    if done.returncode != 0:
        print(done.stdout[-6000:], done.stderr[-2000:])
finish("plugins")
