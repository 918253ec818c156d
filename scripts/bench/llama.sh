#!/usr/bin/env bash
# Builds llama.cpp for this very processor, from the source package of llama-cpp-python on PyPI, with its perplexity tool, and the program
# that times it.
# usage: llama.sh      prints the program's path (.build/llama/steps)      exit 3, with the reason: something that it needs is missing
set -euo pipefail
cd "$(dirname "$0")/../.."
source scripts/bench/native.sh
# GCC 12 takes _tile_loadconfig for a reader of eight bytes and drops the stores of the rest: the first product by AMX ends the program.
whole_stores=(-DCMAKE_CXX_FLAGS="-fno-dse -fno-tree-dse")
build_native llama llama-cpp-python 0.3.36 vendor/llama.cpp steps "llama llama-perplexity" "llama ggml ggml-base" -DGGML_OPENMP=ON "${whole_stores[@]}" \
    -DLLAMA_BUILD_COMMON=ON -DLLAMA_BUILD_TOOLS=ON -DLLAMA_OPENSSL=OFF -DLLAMA_BUILD_EXAMPLES=OFF -DLLAMA_BUILD_TESTS=OFF -DLLAMA_BUILD_SERVER=OFF
