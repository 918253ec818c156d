#!/usr/bin/env bash
# Installs LiteRT and its converter from PyPI, in an environment of their own (litert-requirements.txt says why).
# usage: litert.sh     prints the environment's python (.build/litert-venv/bin/python)      exit 3, with the reason: it cannot be installed
set -euo pipefail
cd "$(dirname "$0")/../.."
venv=$PWD/.build/litert-venv
wanted=scripts/bench/litert-requirements.txt

if ! cmp -s $wanted "$venv/complete"; then
    python=$(command -v python3 || true)
    if [ -z "$python" ]; then echo "python3 is missing" >&2 && exit 3; fi
    if ! { "$python" -m venv "$venv" && "$venv/bin/python" -m pip install --quiet -r $wanted; } >&2; then
        echo "pip could not install $wanted (no network, or no wheel for this machine?)" >&2
        exit 3
    fi
    cp $wanted "$venv/complete"
fi
echo "$venv/bin/python"
