#!/usr/bin/env bash
# Builds llama.cpp for this very processor, from the source package of llama-cpp-python on PyPI, and the program that times it.
# usage: llama.sh      prints the program's path (.build/llama/steps)      exit 3, with the reason: something that it needs is missing
set -euo pipefail
cd "$(dirname "$0")/../.."
version=0.3.36
folder=$PWD/.build/llama
program=$folder/steps
build=$folder/$version

missing() {
    echo "$1" >&2
    exit 3
}

if [ ! -x "$program" ] || [ scripts/bench/llama.c -nt "$program" ]; then
    python=.build/peers-venv/bin/python
    [ -x "$python" ] || missing "there is no .build/peers-venv (scripts/peers.sh makes it)"
    cmake=$(command -v cmake || echo "$PWD/.build/peers-venv/bin/cmake")
    [ -x "$cmake" ] || missing "cmake is not installed"
    compiler=$(command -v cc || true)
    if [ -z "$compiler" ] || ! command -v c++ >/dev/null; then missing "there is no C++ compiler"; fi
    mkdir -p "$folder"
    source=$folder/llama_cpp_python-$version/vendor/llama.cpp
    if [ ! -f "$source/CMakeLists.txt" ]; then
        "$python" -m pip download --quiet --no-deps --no-binary llama-cpp-python --dest "$folder" "llama-cpp-python==$version" >&2 ||
            missing "pip could not fetch llama-cpp-python's source package"
        tar xzf "$folder/llama_cpp_python-$version.tar.gz" -C "$folder"
    fi
    {
        "$cmake" -S "$source" -B "$build" -DCMAKE_BUILD_TYPE=Release -DGGML_NATIVE=ON -DGGML_OPENMP=ON -DBUILD_SHARED_LIBS=ON \
            -DLLAMA_BUILD_COMMON=OFF -DLLAMA_BUILD_TOOLS=OFF -DLLAMA_BUILD_EXAMPLES=OFF -DLLAMA_BUILD_TESTS=OFF -DLLAMA_BUILD_SERVER=OFF
        "$cmake" --build "$build" --target llama --parallel 2
        "$compiler" -O2 -I"$source/include" -I"$source/ggml/include" scripts/bench/llama.c -o "$program" \
            -L"$build/bin" -Wl,-rpath,"$build/bin" -lllama -lggml -lggml-base
    } >"$folder/log" 2>&1 || missing "llama.cpp did not build ($folder/log says why)"
fi
echo "$program"
