#!/usr/bin/env bash
# Checks accelc against other people's tools, in a virtual environment of its own (.build/peers-venv).
# usage: peers.sh [PEER...]      default: every scripts/peers/*.py      exit 3 when a peer could not run
# Each peer is called with accelc's path and a folder that holds MiniLM: model/, golden_1x128/, golden_8x128/.
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/setup.sh
python=$(command -v python3 || true)
venv=.build/peers-venv
# Only its module of the vocoder is read, so it comes without what its text side needs.
kokoro=kokoro==0.9.4
if [ -z "$python" ]; then
    echo "peers: skipped, since python3 is missing" >&2
    exit 3
fi
wanted=$(cat scripts/peers/requirements.txt && echo "$kokoro")
install() { "$venv/bin/python" -m pip install --quiet "$@"; }
if [ "$wanted" != "$(cat $venv/complete 2>/dev/null)" ]; then
    if ! { "$python" -m venv $venv && install -r scripts/peers/requirements.txt && install --no-deps "$kokoro"; } >&2; then
        echo "peers: skipped, since pip could not install scripts/peers/requirements.txt (no network?)" >&2
        exit 3
    fi
    echo "$wanted" >$venv/complete
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
