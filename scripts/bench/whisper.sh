#!/usr/bin/env bash
# Builds whisper.cpp from the source package of pywhispercpp on PyPI, and the program that runs its models.
# usage: whisper.sh      prints the program's path (.build/whisper/logits)      exit 3, with the reason: something that it needs is missing
set -euo pipefail
cd "$(dirname "$0")/../.."
source scripts/bench/native.sh
build_native whisper pywhispercpp 1.5.1 whisper.cpp logits whisper "whisper ggml ggml-base" -DGGML_OPENMP=OFF \
    -DWHISPER_BUILD_TESTS=OFF -DWHISPER_BUILD_EXAMPLES=OFF -DWHISPER_BUILD_SERVER=OFF
