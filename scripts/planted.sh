#!/usr/bin/env bash
# Plants mistakes in a copy of the sources, one after the other, and prints which test catches each. See planted.py.
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/setup.sh
exec python3 scripts/planted.py "$@"
