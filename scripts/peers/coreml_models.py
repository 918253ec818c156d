"""Models of every kind, exported for each target in each form and both layouts: coremltools loads each package and infers every type, and
`accelc verify` runs it by accelc's own interpreter and finds the model, within what the scheme and float16 may lose.

usage: coreml_models.py ACCELC [MINILM]     (wants coremltools; exit 3 and a sentence where it is missing)
"""

import pathlib
import re
import subprocess
import sys
import tempfile

import coreml

FIXTURES = pathlib.Path(__file__).resolve().parents[2] / "Tests" / "Fixtures"
ENUMERATED = ["--shapes-as", "enumerated"]
FORMS = ("float16", "int8", "int4:block=32", "palette:bits=4")
# name, model, part, shapes (several: functions of one package, or shapes of one function where options say so; None: those of the model's golden, prefill and steps, which then is run)
MODELS = [
    ("MiniLM", "MINILM", None, ["batch=1,sequence=128"]),
    ("ViT", "vit_leftover", None, ["batch=1"]),
    ("Whisper encoder", "whisper_small", "encoder", ["batch=1,frames=26"]),
    ("Whisper, stateful", "whisper_small", None, None),
    ("Phi-3-like", "phi3_partial", None, None),
    ("Kokoro generator", "kokoro_small", "generator", ["batch=1,frames=8"]),
    ("SNAC", "snac_windows", "decoder", ["batch=1,frames=4"]),
    ("BERT, two functions", "bert_base", None, ["batch=1,sequence=8", "batch=1,sequence=16"]),
    ("BERT, enumerated shapes", "bert_base", None, ["batch=1,sequence=8", "batch=1,sequence=16"], *ENUMERATED),
    ("MiniLM, enumerated shapes", "MINILM", None, ["batch=1,sequence=64", "batch=1,sequence=128"], *ENUMERATED),
]


def run(*command):
    return subprocess.run([str(c) for c in command], capture_output=True, text=True)



def least(report):
    """The least SQNR in dB of the graph's outputs against the stored weights, and of all outputs against the model."""
    graph, outputs = [], []
    for line in report.splitlines():
        found = re.search(r"(stored weights|original weights|golden)\s+(-?[0-9.]+|exact)", line)
        if found:
            (graph if found[1] == "stored weights" else outputs).append(float("inf") if found[2] == "exact" else float(found[2]))
    return min(graph, default=None), min(outputs, default=None)


def main(accelc, minilm=None):
    rows = []
    with tempfile.TemporaryDirectory() as scratch:
        for name, folder, part, shapes, *options in MODELS:
            if folder == "MINILM" and not minilm:
                continue
            model = pathlib.Path(minilm) / "model" if folder == "MINILM" else FIXTURES / folder
            for target in coreml.TARGETS:
                for form in FORMS:
                    for layout in ("plain", "ane"):
                        path = f"{scratch}/x.mlpackage"
                        command = [accelc, "export", model, "--format", "coreml", "--target", target, "--compress", form, "--layout", layout,
                                   "--no-cache", "--quiet", "-o", path]
                        command += options + (["--part", part] if part else [])
                        for shape in shapes or []:
                            command += ["--shape", shape]
                        golden = ["--golden", model / "golden.safetensors"] if shapes is None else []
                        command += ["--shape-from", golden[1]] if golden else []
                        # Kernels whose rows are not whole blocks have no blocks in Core ML: they stay as they are, and are listed.
                        command += ["--allow-fallback"] if form.startswith("int4") and target in ("iOS18", "iOS26") else []
                        done = run(*command)
                        label = f"{name} {target} {form} {layout}"
                        if done.returncode == 2 and target in ("iOS16", "iOS17") and "iOS18" in done.stderr.replace("iOS 18", "iOS18"):
                            rows.append((name, target, form, layout, "needs iOS 18"))
                            continue
                        if done.returncode:
                            coreml.check(False, f"{label}: export exits with {done.returncode}: {done.stderr.strip()[-250:]}")
                            continue
                        try:
                            _, operators = coreml.weights_of(path)
                        except Exception as error:
                            coreml.check(False, f"{label}: coremltools rejects it: {error!r:.250}")
                            continue
                        found = run(accelc, "verify", path, "--against", model, *golden)
                        graph, outputs = least(found.stdout)
                        size = coreml.size(path)
                        coreml.check(found.returncode == 0 and graph is not None, f"{label}: {operators} operators typed by coremltools, "
                                     f"{size / 1e6:.2f} MB, {graph} dB against the stored weights, {outputs} dB against the model {found.stderr[:120]}")
    rejected = len(rows)
    print(f"  {rejected} combinations are rejected with the target that can: iOS 16 and 17 hold no states, functions, blocks or groups")
    sys.exit(f"coreml_models: {len(coreml.failures)} checks failed" if coreml.failures else 0)


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    main(*sys.argv[1:])
