#!/usr/bin/env bash
# Builds whisper.cpp from the source package of pywhispercpp on PyPI, and the program that runs its models.
# usage: whisper.sh      prints the program's path (.build/whisper/logits)      exit 3, with the reason: something that it needs is missing
set -euo pipefail
cd "$(dirname "$0")/../.."
version=1.5.1
folder=$PWD/.build/whisper
program=$folder/logits
build=$folder/$version

missing() {
    echo "$1" >&2
    exit 3
}

if [ ! -x "$program" ] || [ scripts/bench/whisper.c -nt "$program" ]; then
    python=.build/peers-venv/bin/python
    [ -x "$python" ] || missing "there is no .build/peers-venv (scripts/peers.sh makes it)"
    cmake=$(command -v cmake || echo "$PWD/.build/peers-venv/bin/cmake")
    [ -x "$cmake" ] || missing "cmake is not installed"
    compiler=$(command -v cc || true)
    if [ -z "$compiler" ] || ! command -v c++ >/dev/null; then missing "there is no C++ compiler"; fi
    mkdir -p "$folder"
    source=$folder/pywhispercpp-$version/whisper.cpp
    if [ ! -f "$source/CMakeLists.txt" ]; then
        "$python" -m pip download --quiet --no-deps --no-binary pywhispercpp --dest "$folder" "pywhispercpp==$version" >&2 ||
            missing "pip could not fetch pywhispercpp's source package"
        tar xzf "$folder/pywhispercpp-$version.tar.gz" -C "$folder"
    fi
    {
        "$cmake" -S "$source" -B "$build" -DCMAKE_BUILD_TYPE=Release -DGGML_NATIVE=ON -DGGML_OPENMP=OFF -DBUILD_SHARED_LIBS=ON \
            -DWHISPER_BUILD_TESTS=OFF -DWHISPER_BUILD_EXAMPLES=OFF -DWHISPER_BUILD_SERVER=OFF
        "$cmake" --build "$build" --target whisper --parallel 2
        libraries=$(dirname "$(find "$build" -name 'libwhisper.so*' | head -1)")
        ggml=$(dirname "$(find "$build" -name 'libggml.so*' | head -1)")
        "$compiler" -O2 -I"$source/include" -I"$source/ggml/include" scripts/bench/whisper.c -o "$program" \
            -L"$libraries" -L"$ggml" -Wl,-rpath,"$libraries:$ggml" -lwhisper -lggml -lggml-base
    } >"$folder/log" 2>&1 || missing "whisper.cpp did not build ($folder/log says why)"
fi
echo "$program"
