#!/usr/bin/env bash
# Speed and memory of the whole tool on the real MiniLM: conversion, cache hit, runs at 1x128 and 8x128; against coremltools where it is.
# usage: bench.sh [ROUNDS]                 the best of ROUNDS (default 3) counts
#        bench.sh schemes [SCHEME...]      a product with a weight in every scheme, with 1, 8, 64 and 512 rows of input, beside float32 weights
#                                          and the machine's limits; fails where one misses its bar
#        bench.sh run [ROUNDS [MODEL...]]  runs of models beside onnxruntime, torch, CTranslate2 (scripts/peers.sh installs them), LiteRT
#                                          (scripts/bench/litert.sh) and llama.cpp (scripts/bench/llama.sh builds it), a line for each with
#                                          its bar and the distance of each output from accelc's; models are made in .build/bench
#                                          once; phi-3-mini (10 GB) only where it is named; fails where one misses its bar
#        bench.sh compress [FOLDER [GB]]   compression's inner loops, hashing and palettes beside their peers; and whole conversions of a
#                                          random bfloat16 checkpoint of GB (4) gigabytes, which is made in FOLDER (skipped without)
#        bench.sh calibration [TEXT [SCHEME...]]   gptq of SmolLM2 with 16, 32 and 64 samples of a text (that of vim's help, where it is):
#                                          seconds, peak memory and the errors of the outputs
#        bench.sh speech                  ten minutes of speech in ten languages (espeak-ng) by Whisper base: real-time factors beside
#                                          faster-whisper and whisper.cpp, equal texts, and the word errors of each scheme
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/setup.sh
swift build -c release --product accelc
accelc=$PWD/.build/release/accelc
python=.build/peers-venv/bin/python

has() { [ -x "$python" ] && "$python" -c "import $1" 2>/dev/null; }
skip() { echo "$1: skipped, since $2"; }
missing="it is not in .build/peers-venv (scripts/peers.sh installs it)"

compress() { # [folder [gigabytes]]
    local speed=.build/release/speed theirs ours
    ACCELC_SPEED=1 swift build -c release --product speed
    "$speed" 15
    if command -v openssl >/dev/null; then
        theirs=$(openssl speed -seconds 2 -bytes 1048576 sha256 2>/dev/null | awk '/^sha256/ { printf "%.3f", $2 / 1e6 }')
        ours=$("$speed" hash)
        awk -v a="$ours" -v b="$theirs" 'BEGIN { printf "SHA-256, one stream: %s GB/s   openssl %s GB/s   ratio %.2f   >= 0.95   %s\n", a, b, a / b, (a >= 0.95 * b ? "met" : "MISSED") }'
    else
        skip openssl "there is no such program"
    fi
    if has kmeans1d; then "$python" scripts/bench/kmeans_speed.py "$speed" || true; else skip kmeans1d "$missing"; fi
    if has coremltools; then
        "$python" scripts/peers/coreml_speed.py "$accelc" "$(dirname "$(scripts/get_minilm.sh)")" || true
    else
        skip coremltools "$missing"
    fi
    if [ $# = 0 ]; then
        skip "whole conversions" "no folder was given for the checkpoint and its packages"
    elif has numpy; then
        "$python" scripts/bench/convert_speed.py "$accelc" "$@" || true
    else
        skip "whole conversions" "numpy is needed, and $missing"
    fi
}

if [ "${1:-}" = compress ]; then
    compress "${@:2}"
    exit
fi

if [ "${1:-}" = run ]; then
    if ! has torch; then skip "runs beside peers" "torch makes their models, and $missing" && exit; fi
    ACCELC_SPEED=1 swift build -c release --product speed
    exec "$python" scripts/bench/run.py "$accelc" .build/release/speed .build/bench "$(scripts/get_minilm.sh)" "${@:2}"
fi

if [ "${1:-}" = schemes ]; then
    ACCELC_SPEED=1 swift build -c release --product speed
    exec .build/release/speed "$@"
fi

if [ "${1:-}" = calibration ]; then
    if ! models=$(scripts/get_models.sh); then skip calibration "the real models cannot be had" && exit; fi
    scratch=$(mktemp -d)
    trap 'rm -rf "$scratch"' EXIT
    text=${2:-$scratch/corpus.txt}
    if [ -z "${2:-}" ] && ! cat /usr/share/vim/vim*/doc/{version6,todo}.txt >"$text" 2>/dev/null; then
        skip calibration "vim's help is not there; give a text" && exit
    fi
    python3 scripts/bench/calibration.py "$accelc" "$models/smollm2.gguf" "$text" "${@:3}"
    exit
fi

if [ "${1:-}" = speech ]; then
    if ! command -v espeak-ng >/dev/null; then skip speech "espeak-ng speaks the texts, and there is no such program" && exit; fi
    if ! has faster_whisper; then skip speech "faster-whisper is not in .build/peers-venv (scripts/peers.sh installs it)" && exit; fi
    if ! models=$(scripts/get_models.sh); then skip speech "the real models cannot be had" && exit; fi
    exec "$python" scripts/bench/speech.py "$accelc" "$models/whisper" "$(scripts/bench/whisper.sh || true)"
fi

rounds=${1:-3}
model=$(scripts/get_minilm.sh)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# Opening: the graph is read, checked and planned. Its cost is that of its nodes, whatever the weights are.
ACCELC_SPEED=1 swift build -c release --product speed
"$accelc" convert "$model" --quiet --no-cache --shape batch=1,sequence=128 -o "$scratch/minilm.accelpkg"
.build/release/speed open "$scratch/minilm.accelpkg" Tests/Fixtures/qwen3_small

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

# Steps of one token, with 300 places of the cache filled.
numpy=.build/peers-venv/bin/python
[ -x "$numpy" ] || numpy=python3
if "$numpy" -c "import numpy" 2>/dev/null; then
    "$numpy" scripts/real_sizes.py "$scratch" --only-make llama-360m >"$scratch/log"
    for scheme in float16 int8 int4:block=32 palette:bits=4,group=16; do
        "$accelc" convert "$scratch/llama-360m" --shape batch=1,tokens=1,cache=1024 --compress "$scheme" --no-cache --quiet -o "$scratch/run.accelpkg"
        times=$("$accelc" run "$scratch/run.accelpkg" --inputs "$scratch/llama-360m.step.safetensors" --repeat 30 --time)
        best=$(sed -n 's/.*best \([0-9.]*\) ms.*/\1/p' <<<"$times")
        printf '%-44s %8s ms   %s tokens/s\n' "step $scheme, llama of 362 M weights" "$best" "$(awk "BEGIN {printf \"%.1f\", 1000 / $best}")"
        rm -rf "$scratch/run.accelpkg"
    done
else
    echo "steps of one token: numpy is not here"
fi

if has coremltools; then
    "$python" scripts/peers/coreml_speed.py "$accelc" "$(dirname "$model")" "$rounds"
else
    skip coremltools "$missing"
fi
