#!/usr/bin/env bash
# Lists the public declarations of the libraries that have no doc comment, from their symbol graphs, and fails if there is one.
# Witnesses of requirements and members made by the compiler need none.
# usage: undocumented.sh
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/setup.sh
source scripts/test_build.sh
swift build "${test_flags[@]}"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
scripts/symbols.sh "$scratch"
python3 scripts/undocumented.py "$scratch"
