#!/usr/bin/env bash
# Speed and memory of the whole tool on the real MiniLM: conversion, cache hit, runs at 1x128 and 8x128; against coremltools where it is.
# usage: bench.sh [ROUNDS]      the best of ROUNDS (default 3) counts
set -euo pipefail
cd "$(dirname "$0")/.."
rounds=${1:-3}
source scripts/setup.sh
swift build -c release --product accelc
accelc=$PWD/.build/release/accelc
model=$(scripts/get_minilm.sh)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

now() { # milliseconds
    if [ -n "${EPOCHREALTIME:-}" ]; then echo $((${EPOCHREALTIME//[.,]/} / 1000)); else echo $(($(date +%s) * 1000)); fi
}

measure() { # label, command: wall time and peak private memory (Linux: anonymous pages, sampled)
    local label=$1 best="" peak=0 round start end pid key value
    shift
    for ((round = 0; round < rounds; round++)); do
        rm -rf "$scratch/out.accelpkg"
        start=$(now)
        "$@" >"$scratch/log" 2>&1 &
        pid=$!
        while [ -r "/proc/$pid/status" ]; do
            while read -r key value _; do
                if [ "$key" = RssAnon: ] && [ "$value" -gt "$peak" ]; then peak=$value; fi
            done 2>/dev/null <"/proc/$pid/status" || true
            sleep 0.002
        done
        wait "$pid" || { cat "$scratch/log" >&2 && return 1; }
        end=$(now)
        if [ -z "$best" ] || [ $((end - start)) -lt "$best" ]; then best=$((end - start)); fi
    done
    printf '%-44s %8d ms   %6d MB private\n' "$label" "$best" $((peak / 1024))
}

convert=("$accelc" convert "$model" --quiet -o "$scratch/out.accelpkg")
for batch in 1 8; do convert+=(--shape "batch=$batch,sequence=128"); done
for scheme in float32 float16 int8 int4:block=32 palette:bits=4 palette:bits=4,group=16 palette:bits=8,group=16; do
    measure "convert $scheme" "${convert[@]}" --compress "$scheme" --no-cache
done
convert+=(--compress "palette:bits=4,group=16" --cache "$scratch/cache")
"${convert[@]}"
measure "convert palette:bits=4,group=16, a cache hit" "${convert[@]}"

for scheme in float32 float16 int8 palette:bits=4,group=16; do
    for batch in 1 8; do
        "$accelc" convert "$model" --shape "batch=$batch,sequence=128" --compress "$scheme" --no-cache --quiet -o "$scratch/run.accelpkg"
        times=$("$accelc" run "$scratch/run.accelpkg" --inputs "Tests/Fixtures/minilm_${batch}x128/golden.safetensors" --repeat 20 --time)
        printf '%-44s %s\n' "run $scheme ${batch}x128" "$(sed -n 's/^ *\(load .*\)/\1/p' <<<"$times")"
        rm -rf "$scratch/run.accelpkg"
    done
done

python=.build/peers-venv/bin/python
if [ -x "$python" ] && "$python" -c "import coremltools" 2>/dev/null; then
    "$python" scripts/peers/coreml_speed.py "$accelc" "$(dirname "$model")" "$rounds"
else
    echo "coremltools: not here (scripts/peers.sh installs it into .build/peers-venv)"
fi
