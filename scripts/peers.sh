#!/usr/bin/env bash
# Checks accelc against other people's tools, in a virtual environment of its own (.build/peers-venv).
# usage: peers.sh [PEER...]      default: every scripts/peers/*.py      exit 3 when a peer could not run
# Each peer is called with accelc's path and a folder that holds MiniLM: model/, golden_1x128/, golden_8x128/.
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/setup.sh
python=$(command -v python3 || true)
venv=.build/peers-venv
if [ -z "$python" ]; then
    echo "peers: skipped, since python3 is missing" >&2
    exit 3
fi
if ! cmp -s scripts/peers/requirements.txt $venv/complete; then
    if ! { "$python" -m venv $venv && $venv/bin/python -m pip install --quiet -r scripts/peers/requirements.txt; } >&2; then
        echo "peers: skipped, since pip could not install scripts/peers/requirements.txt (no network?)" >&2
        exit 3
    fi
    cp scripts/peers/requirements.txt $venv/complete
fi
model=$(scripts/get_minilm.sh)
minilm=$(dirname "$model")
if [ ! -f "$minilm/golden_8x128/case.json" ]; then $venv/bin/python scripts/minilm.py "$model" "$minilm"; fi
swift build -c release --product accelc

if [ $# = 0 ]; then
    for peer in scripts/peers/*.py; do set -- "$@" "$(basename "$peer" .py)"; done
fi
failed=()
for peer; do
    echo "== $peer"
    # 3: it says itself what it wants and has not, such as Core AI's packages.
    $venv/bin/python "scripts/peers/$peer.py" .build/release/accelc "$minilm" || [ $? = 3 ] || failed+=("$peer")
done
if [ ${#failed[@]} -gt 0 ]; then
    echo "peers: failed: ${failed[*]}" >&2
    exit 1
fi
