#!/usr/bin/env bash
# What compression costs, beside other tools at the same sizes.
# usage: accuracy.sh [text [CALIBRATION TEXT]]    SmolLM2 by perplexity and KL divergence, beside llama.cpp's types (default: two texts of vim's help)
#        accuracy.sh embeddings                   MiniLM's embeddings, beside methods in torch
#        accuracy.sh apple CALIBRATION TEXT [MODEL BITS]...    Apple's table of Qwen3 (from the Hub), or other models
#        accuracy.sh                              text, then embeddings
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/setup.sh
swift build -c release --product accelc
accelc=$PWD/.build/release/accelc
python=.build/peers-venv/bin/python
[ -x "$python" ] || python=python3

if [ $# = 0 ]; then
    failed=0
    for table in text embeddings; do "$0" $table || failed=1; done
    exit $failed
fi
table=$1
shift
case $table in
text)
    calibration=${1:-$(mktemp)} text=${2:-$(mktemp)}
    if [ $# = 0 ]; then
        trap 'rm -f "$calibration" "$text"' EXIT
        if ! cat /usr/share/vim/vim*/doc/{version6,todo}.txt >"$calibration" || ! cat /usr/share/vim/vim*/doc/{options,eval}.txt >"$text"; then
            echo "accuracy: vim's help is not there; give two texts" >&2
            exit 3
        fi
    fi
    "$python" scripts/accuracy/text.py "$accelc" "$(scripts/get_models.sh)/smollm2.gguf" "$calibration" "$text"
    ;;
embeddings) "$python" scripts/peers/accuracy.py "$accelc" "$(dirname "$(scripts/get_minilm.sh)")" ;;
apple) "$python" scripts/accuracy/apple.py "$accelc" "$@" ;;
*)
    echo "accuracy: expected text, embeddings or apple, found '$table'" >&2
    exit 2
    ;;
esac
