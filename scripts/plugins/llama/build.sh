#!/usr/bin/env bash
# Builds the plug-in over libllama, with llama.cpp from the source package of llama-cpp-python on PyPI (or in $ACCELC_LLAMA).
# usage: build.sh      prints the plug-in's path      exit 3, with the reason: something that it needs is missing
set -euo pipefail
cd "$(dirname "$0")/../../.."
source scripts/bench/native.sh
if [ -n "${ACCELC_LLAMA:-}" ]; then folder=$ACCELC_LLAMA; else
    folder=$PWD/.build/llama
    bash scripts/bench/llama.sh >/dev/null
fi
library=$(find "$folder" -path '*/bin/libllama.so' | head -1)
header=$(find "$folder" -path '*/llama.cpp/include/llama.h' | head -1)
if [ -z "$library" ] || [ -z "$header" ]; then missing "there is no libllama in $folder (scripts/bench/llama.sh builds it)"; fi
binaries=$(dirname "$library")
sources=$(dirname "$(dirname "$header")")
version=$(basename "$(dirname "$binaries")")
mkdir -p .build/plugins
# One name a source and library, so that a change of either is built anew.
plugin=$PWD/.build/plugins/libaccel_llama-$version.so
if [ ! -f "$plugin" ] || [ scripts/plugins/llama/llama_plugin.c -nt "$plugin" ] || [ Sources/CAccelPlugin/include/accel_plugin.h -nt "$plugin" ]; then
    cc -std=c11 -O2 -Wall -Wextra -fPIC -shared -fvisibility=hidden -DLLAMA_PLUGIN_VERSION="\"$version\"" \
        -ISources/CAccelPlugin/include -I"$sources/include" -I"$sources/ggml/include" scripts/plugins/llama/llama_plugin.c \
        -o "$plugin" -L"$binaries" -Wl,-rpath,"$binaries" -lllama -lggml-base >&2
fi
echo "$plugin"
