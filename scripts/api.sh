#!/usr/bin/env bash
# Compares the public declarations of the products' modules, from their symbol graphs, with the lists in scripts/api: a change of the public
# API is a change of a file, to be read like any other.
# usage: api.sh             (exit status 1 and the differences, where there are some)
#        api.sh --update    (writes the lists anew)
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/setup.sh
source scripts/test_build.sh
if [ $# -gt 1 ] || { [ $# = 1 ] && [ "$1" != --update ]; }; then
    echo "usage: api.sh [--update]" >&2
    exit 2
fi
swift build "${test_flags[@]}"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
scripts/symbols.sh "$scratch/graphs" -skip-synthesized-members
mkdir "$scratch/api"
# Every module but the executable is part of a product, or seen through one; helper programs are the tool's own, and the C libraries have headers.
for folder in Sources/Accel*; do
    module=$(basename "$folder")
    case $module in AccelHostTools | AccelPlatform | AccelC | AccelCConvert) continue ;; esac
    python3 scripts/api.py "$module" "$scratch/graphs" >"$scratch/api/$module.txt"
done
if [ $# = 1 ]; then
    rm -rf scripts/api
    mv "$scratch/api" scripts/api
    exit
fi
if ! diff -u -r scripts/api "$scratch/api"; then
    echo "api: the public API has changed (- before, + now); where that is meant, run scripts/api.sh --update" >&2
    exit 1
fi
echo "api: $(cat scripts/api/*.txt | wc -l) public declarations, none changed"
