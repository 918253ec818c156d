"""How many configurations of the Hub accelc accepts, with all of their tensors.

usage: real_configurations.py ACCELC [MINILM]
Wants torch, transformers and a collection of real configurations beside the checkout, with the script that rebuilds their checkpoints
(names and shapes of the tensors, a hole for data); exits with 3 without it. `accelc inspect` has to accept each checkpoint of a supported
type, but for those below, which it has to reject for the reason beside their names.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

CORPUS = pathlib.Path(__file__).resolve().parents[3] / "shared" / "cases" / "real-configs"
# The configurations of supported types that are copies of the Hub's.
LEAST = 118
# name: words of the reason
REJECTED = {
    "hexgrad/Kokoro-82M": "a Python pickle",
}


def main(tool):
    if not (CORPUS / "run.py").is_file():
        print("skipped, since the collection of real configurations is missing", file=sys.stderr)
        return 3
    with tempfile.TemporaryDirectory() as folder:
        environment = dict(os.environ, TMPDIR=folder, ACCELC_CACHE=f"{folder}/cache")
        results = pathlib.Path(folder) / "results.json"
        subprocess.run(
            [sys.executable, CORPUS / "run.py", "--accelc", tool, "--work", f"{folder}/work", "--json", results], env=environment, check=True,
            stdout=subprocess.DEVNULL)
        return judge(json.loads(results.read_text()))


def judge(results):
    """Compares the results with what is written above; returns the exit status."""
    sys.path.insert(0, str(CORPUS))
    supported = __import__("run").SUPPORTED
    real = {name: r for name, r in results.items() if r["group"] != "remembered" and (r["type"] in supported or name in REJECTED)}
    accepted = sum(r["accepted"] for r in real.values())
    print(f"accepted {accepted} of {len(real)}")
    wrong = [] if accepted >= LEAST else [f"{accepted} are accepted, and {LEAST} were"]
    for name, result in real.items():
        reason = result["missing"] or result["err"].strip()
        if name in REJECTED and REJECTED[name] not in reason:
            wrong.append(f"{name}: expected a rejection with {REJECTED[name]!r}, found {reason or 'none'}")
        elif name not in REJECTED and not result["accepted"]:
            wrong.append(f"{name}: {reason}")
    for line in wrong:
        print(line, file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1]).resolve()))
