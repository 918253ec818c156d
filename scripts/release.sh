#!/usr/bin/env bash
# Builds what a release holds, into .build/dist:
#   accelc           one file that needs no shared library (Linux; elsewhere: none but the system's), at most 20 MB
#   accelc-dynamic   the same with the system's C library loaded at run time, for plug-ins
#   share/accelc     the programs of other projects' runtimes, for verify --runtime, and the schemas of reports, budgets and recipes
# usage: release.sh
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/setup.sh
dist=$PWD/.build/dist
limit=20000000
rm -rf "$dist"
mkdir -p "$dist"

fail() { echo "release: $*" >&2; exit 1; }

make() { # name, flags of the build; each has a build folder of its own, so that none undoes another's work
    local name=$1 scratch=.build/release-$1
    shift
    swift build -c release --product accelc --scratch-path "$scratch" "$@" -Xlinker -s
    cp "$scratch/release/accelc" "$dist/$name"
}

if [ "$(uname)" = Linux ]; then
    make accelc --static-swift-stdlib -Xswiftc -static-executable
    if ldd "$dist/accelc" >/dev/null 2>&1; then fail "accelc needs shared libraries: $(ldd "$dist/accelc")"; fi
    make accelc-dynamic --static-swift-stdlib
    # Swift's own libraries are inside; what is left is the C library and zlib.
    others=$(ldd "$dist/accelc-dynamic" | awk '{ print $1 }' | grep -vE '^(linux-vdso|/lib.*/ld-linux|lib(c|m|z|gcc_s|stdc\+\+|dl|pthread)\.)' || true)
    [ -z "$others" ] || fail "accelc-dynamic needs $others"
else
    make accelc-dynamic
    cp "$dist/accelc-dynamic" "$dist/accelc"
fi

mkdir -p "$dist/share/accelc/runtimes"
cp scripts/runtimes/*.py scripts/runtimes/README.md "$dist/share/accelc/runtimes"
cp -R schemas "$dist/share/accelc/schemas"

for name in accelc accelc-dynamic; do
    bytes=$(wc -c <"$dist/$name")
    echo "$name: $bytes bytes"
    [ "$name" = accelc-dynamic ] || [ "$bytes" -le "$limit" ] || fail "$name has $bytes bytes, more than $limit"
    # It works where nothing else of this checkout is.
    scratch=$(mktemp -d)
    env -i PATH=/usr/bin:/bin HOME="$scratch" "$dist/$name" convert Tests/Fixtures/digits -o "$scratch/digits.accelpkg" -q
    env -i PATH=/usr/bin:/bin HOME="$scratch" "$dist/$name" verify "$scratch/digits.accelpkg" --against Tests/Fixtures/digits -q
    # It finds the programs of runtimes: what it then misses is Python.
    "$dist/$name" export Tests/Fixtures/llama_bfloat16 --format gguf --no-cache -o "$scratch/gguf" -q
    found=$("$dist/$name" verify "$scratch/gguf" --against Tests/Fixtures/llama_bfloat16 --runtime llama --python none 2>&1 || true)
    [[ "$found" == *"no Python interpreter"* ]] || fail "$name does not find the programs of runtimes: $found"
    rm -rf "$scratch"
done
echo "release: $dist"
