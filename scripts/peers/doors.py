"""Every door: each family x format x scheme that should work, run by the format's own runtime, in one table.

usage: doors.py ACCELC [FOLDER] [PATTERN...]      (wants what scripts/runtimes and the formats' own converters want)
Rows come from `accelc formats --json`: for each format that has a runtime, each of its families with each scheme that it writes. A
row is an export, and `accelc verify --runtime`: the parity of the runtime's outputs with the stored weights (S3) and with the model or the
framework's golden (S4), and the seconds of the export. Beside them, the seconds of the format's own converter for the same scheme, in
the same run: llama.cpp's quantizer, mlx-lm, CTranslate2's and Core AI's converters; these run in this process, accelc with its start. PATTERNs choose rows,
e.g. 'gguf/llama/*'. A row that fails, a family without a model, and a runtime or converter that is missing are listed, and no row is left
out: exit status 1 where one failed, else 3 where one could not run.
"""

import fnmatch
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
# The folder of this script has names of packages; the one of shared code has none.
sys.path[:] = [str(HERE / "shared")] + [entry for entry in sys.path if pathlib.Path(entry or ".").resolve() != HERE]
try:
    import converters
    import runtime_hosts
    import small_models
except ImportError as error:
    print(f"doors: skipped, since {error.name} is missing: pip install -r scripts/peers/requirements.txt", file=sys.stderr)
    sys.exit(3)

FIXTURES = HERE.parent.parent / "Tests/Fixtures"
RUNTIMES = {"gguf": "llama", "mlx": "mlx", "ctranslate2": "ctranslate2", "coreai": "coreai"}
# Formats that no runtime here runs: the reason.
ELSEWHERE = {"coreml": "runs on Apple's systems only (verify-record, verify-replay)", "accelpkg": "is accelc's own",
             "whisper.cpp": "scripts/peers/whispercpp.py runs it in libwhisper"}
# Families that transformers does not make small, or not alone: a fixture.
FIXTURE = {
    "clip": "clip_end", "clip_text_model": "cliptext_projected", "kokoro": "kokoro_small", "modernbert": "modernbert_model",
    "moonshine": "moonshine_small", "mpnet": "mpnet_model", "parakeet_ctc": "parakeet_ctc", "parakeet_tdt": "parakeet_tdt", "snac": "snac_plain",
    "siglip": "siglip_both", "vit": "vit_tall", "wav2vec2": "wav2vec2_odd", "whisper": "whisper_small",
}
# A format that cannot have the family's fixture has one of its own: mlx-whisper wants inner layers of 4 times the width.
OF_FORMAT = {("mlx", "whisper"): "mlx/whisper"}
# Families of the registry whose parts others cover, or that have no model here: the reason.
COVERED = {
    "kokoro_adain_blocks": "a part of kokoro, for tests", "siglip_vision_model": "the vision part of siglip",
    "silero_vad": "its weights are not in the fixtures",
}


class Table:
    def __init__(self):
        self.failed, self.missing, self.count = [], [], 0
        print(f"  {'':4} {'format/family/scheme':52} {'S3 dB':>7} {'S4 dB':>7} {'export s':>9} {'theirs s':>9}")

    def row(self, name, state, graph="", outputs="", own="", theirs="", note=""):
        self.count += 1
        (self.failed if state == "FAIL" else self.missing if state == "skip" else []).append(name)
        print(f"  {state:4} {name:52} {graph:>7} {outputs:>7} {own:>9} {theirs:>9}  {note}".rstrip(), flush=True)


def run(*words):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True)
    return done.returncode, done.stdout, (done.stderr.strip().splitlines() or [""])[-1]


def decibels(rows, stage):
    found = [row["metrics"]["sqnr"] for row in rows if row["stage"] == stage]
    numbers = [value for value in found if isinstance(value, (int, float))]
    return f"{min(numbers):.1f}" if numbers else "exact" if found else ""


def models(kind, families, scratch):
    """A folder for each family; the families without one with the reason."""
    found, without = {}, {}
    for family in families:
        folder = scratch / "models" / family
        if family in small_models.MODELS:
            small_models.made(family, folder)
        elif family in FIXTURE:
            shutil.copytree(FIXTURES / OF_FORMAT.get((kind, family), FIXTURE[family]), folder)
            config = json.loads((folder / "config.json").read_text())
            if config.get("model_type") == "whisper":
                small_models.words(folder, config, prompt=(1, 2))
        else:
            without[family] = COVERED.get(family, "doors.py has no model of it")
        if family not in without:
            found[family] = folder
    return found, without


def door(accelc, table, kind, family, source, words, scratch, hosts):
    """One row: an export by these words, and its verification."""
    name = f"{kind}/{family}/{words[-1]}"
    out = scratch / "out"
    shutil.rmtree(out, ignore_errors=True)
    target = out if kind != "coreai" else out.with_suffix(".aimodel")
    shutil.rmtree(target, ignore_errors=True)
    golden = source / "golden.safetensors"
    compared = ("--golden", golden) if golden.exists() else ()
    shape = small_models.shape(family, golden) if kind == "coreai" else ()
    export = (accelc, "export", source, "--format", kind, *words, *shape, "--no-cache", "--quiet", "-o", target)
    start = time.perf_counter()
    code, _, error = run(*export)
    # Families have weights that a scheme of the format does not hold, such as convolutions, and layers of few weights: they stay as they are.
    partly = code != 0 and "--allow-fallback" in error
    if partly:
        start = time.perf_counter()
        code, _, error = run(*export, "--allow-fallback")
    own = f"{time.perf_counter() - start:.3f}"
    if code != 0:
        return table.row(name, "FAIL", own=own, note=error)
    hosts.start(RUNTIMES[kind])
    code, text, error = run(
        accelc, "verify", target, "--against", source, "--runtime", RUNTIMES[kind], "--runtimes", hosts.folder, "--python", sys.executable,
        *compared, "--json")
    if code == 3:
        return table.row(name, "skip", own=own, note=error or json.loads(text)["headline"])
    if not text:
        return table.row(name, "FAIL", own=own, note=error)
    report = json.loads(text)
    note = "--allow-fallback" if partly else ""
    note += "" if code == 0 else " " + "; ".join(f"{row['name']}: {row['reason']}" for row in report["failures"][:2])
    try:
        theirs = converters.seconds(kind, family, source, words, scratch)
        theirs = "" if theirs is None else f"{theirs:.3f}"
    except Exception as problem:
        theirs, note = "fails", f"{note} their converter: {type(problem).__name__}: {str(problem)[:120]}"
    table.row(name, "ok" if code == 0 else "FAIL", decibels(report["outputs"], "S3"), decibels(report["outputs"], "S4"), own, theirs, note)


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    accelc, *rest = sys.argv[1:]
    if rest and pathlib.Path(rest[0]).is_dir():
        rest = rest[1:]
    wanted = rest or ["*"]
    formats = json.loads(subprocess.run([accelc, "formats", "--json"], check=True, capture_output=True, text=True).stdout)
    registry = [row["model_types"][0] for row in json.loads(
        subprocess.run([accelc, "families", "--json"], check=True, capture_output=True, text=True).stdout)]
    table, expected = Table(), 0
    with tempfile.TemporaryDirectory() as scratch, runtime_hosts.Hosts() as hosts:
        scratch = pathlib.Path(scratch)
        for row in formats:
            kind, writes = row["format"], row["writes"]
            if writes is None:
                continue
            if kind not in RUNTIMES:
                if any(fnmatch.fnmatch(kind, one.split("/")[0]) for one in wanted):
                    print(f"  -    {kind}: {ELSEWHERE.get(kind, 'FAIL: neither a runtime nor a reason')}")
                    table.failed += [] if kind in ELSEWHERE else [kind]
                continue
            families = writes["families"] or registry
            schemes = [("--compress", scheme) for scheme in writes["compress"]]
            if writes["option"]:
                schemes = [(f"--{writes['option']['name']}", value) for value in writes["option"]["values"]]
            rows = [(family, words) for family in families for words in schemes
                    if any(fnmatch.fnmatch(f"{kind}/{family}/{words[-1]}", one) for one in wanted)]
            expected += len(rows)
            sources, without = models(kind, sorted({family for family, _ in rows}), scratch / kind)
            for family, words in rows:
                name = f"{kind}/{family}/{words[-1]}"
                if family in without:
                    table.row(name, "-" if family in COVERED else "FAIL", note=without[family])
                    continue
                try:
                    door(accelc, table, kind, family, sources[family], words, scratch, hosts)
                except Exception as problem:
                    table.row(name, "FAIL", note=f"{type(problem).__name__}: {str(problem)[:200]}")
    # The law: a row for each family and scheme of the registry that was asked for.
    if table.count != expected:
        sys.exit(f"doors: {table.count} rows, but the registry has {expected}")
    if table.failed:
        sys.exit(f"doors: {len(table.failed)} of {expected} rows failed: {', '.join(table.failed[:20])}")
    print(f"doors: {expected} rows, {len(table.missing)} of which could not run")
    sys.exit(3 if table.missing else 0)


if __name__ == "__main__":
    main()
