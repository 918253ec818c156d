#!/usr/bin/env bash
# Builds a release into .build/dist:
#   accelc           one file that needs no shared library (Linux; elsewhere: none but the system's), at most 34 MB
#   accelc-dynamic   the same with the system's C library loaded at run time, for plug-ins
#   share/accelc     the programs of other projects' runtimes, for verify --runtime, and the schemas of reports, budgets and recipes
#   accelc-V-...     the trees of the packages: with manual pages and completions (scripts/release/tree.sh)
#   packages         archives, wheels, debs, an artifact bundle, install.sh, SHA256SUMS (scripts/release/packages.sh)
# scripts/release/try.sh installs and uses them.
# usage: release.sh [--arm64]
#   --arm64  on x86-64 Linux: also for arm64 Linux, by the Swift SDK ACCELC_ARM64_SDK (default: aarch64-swift-linux-musl, which is in
#            the static SDK of swift.org; scripts/release/arm64_sdk.sh makes another one for Debian's toolchain), in the folder ACCELC_SDKS
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/setup.sh
dist=$PWD/.build/dist
# The goal is 20 MB, which is missed: tokenizers, templates, the Hub and sound came in. This only stops growth. (Optimisation for size in
# place of time makes modules a tenth smaller, and equal functions folded by the linker the tool by 1.3 %.)
limit=34000000

fail() { echo "release: $*" >&2; exit 1; }

make() { # name, build folder, flags of the build
    local name=$1 scratch=.build/release-$2
    shift 2
    swift build -c release --product accelc --scratch-path "$scratch" "$@" -Xlinker -s
    cp "$scratch/release/accelc" "$dist/$name"
}

check_size() { # name
    local bytes
    bytes=$(wc -c <"$dist/$1")
    echo "$1: $bytes bytes"
    [ "$1" = accelc-dynamic ] || [ "$bytes" -le "$limit" ] || fail "$1 has $bytes bytes, more than $limit"
}

try() { # command of the tool: converts and verifies where nothing else of this checkout is
    local scratch
    scratch=$(mktemp -d)
    env -i PATH=/usr/bin:/bin HOME="$scratch" "$@" convert Tests/Fixtures/digits -o "$scratch/digits.accelpkg" -q
    env -i PATH=/usr/bin:/bin HOME="$scratch" "$@" verify "$scratch/digits.accelpkg" --against Tests/Fixtures/digits -q
    rm -rf "$scratch"
}

arm64=()
case $* in
    "") ;;
    --arm64)
        sdk=${ACCELC_ARM64_SDK:-aarch64-swift-linux-musl}
        arm64=(--swift-sdk "$sdk" --static-swift-stdlib)
        if [ -n "${ACCELC_SDKS:-}" ]; then arm64+=(--swift-sdks-path "$ACCELC_SDKS"); fi
        swift build "${arm64[@]}" --scratch-path .build/release-arm64 --show-bin-path >/dev/null ||
            fail "--arm64 needs the Swift SDK $sdk for this toolchain: install the static SDK of swift.org (swift sdk install)"
        # The libraries of the static SDK are static as they are.
        [[ $sdk == *musl* ]] || arm64+=(-Xswiftc -static-executable)
        ;;
    *) fail "usage: release.sh [--arm64]" ;;
esac
rm -rf "$dist"
mkdir -p "$dist"

if [ "$(uname)" = Linux ]; then
    machine=$(uname -m)-linux
    make accelc-dynamic tools --static-swift-stdlib
    # The same objects, linked without shared libraries.
    ACCELC_STATIC=1 make accelc tools --static-swift-stdlib
    if ldd "$dist/accelc" >/dev/null 2>&1; then fail "accelc needs shared libraries: $(ldd "$dist/accelc")"; fi
    # Swift's own libraries are inside; what is left is the C library and zlib.
    others=$(ldd "$dist/accelc-dynamic" | awk '{ print $1 }' | grep -vE '^(linux-vdso|/lib.*/ld-linux|lib(c|m|z|gcc_s|stdc\+\+|dl|pthread)\.)' || true)
    [ -z "$others" ] || fail "accelc-dynamic needs $others"
else
    machine=$(uname -m)-macos
    make accelc-dynamic tools
    cp "$dist/accelc-dynamic" "$dist/accelc"
fi

mkdir -p "$dist/share/accelc/runtimes"
cp scripts/runtimes/*.py scripts/runtimes/README.md "$dist/share/accelc/runtimes"
cp -R schemas "$dist/share/accelc/schemas"

for name in accelc accelc-dynamic; do
    check_size "$name"
    try "$dist/$name"
    # It finds the programs of runtimes: what it then misses is Python.
    scratch=$(mktemp -d)
    "$dist/$name" export Tests/Fixtures/llama_bfloat16 --format gguf --no-cache -o "$scratch/gguf" -q
    found=$("$dist/$name" verify "$scratch/gguf" --against Tests/Fixtures/llama_bfloat16 --runtime llama --python none 2>&1 || true)
    [[ "$found" == *"no Python interpreter"* ]] || fail "$name does not find the programs of runtimes: $found"
    rm -rf "$scratch"
done

version=$("$dist/accelc" --version)
version=${version#accelc }
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || echo 0)}
export SOURCE_DATE_EPOCH
scripts/release/tree.sh "$dist/accelc" "$dist/accelc" "$dist/accelc-$version-$machine"
if [ ${#arm64[@]} != 0 ]; then
    make accelc-arm64 arm64 "${arm64[@]}"
    check_size accelc-arm64
    if command -v qemu-aarch64-static >/dev/null; then
        try "$(command -v qemu-aarch64-static)" "$dist/accelc-arm64"
    else
        echo "release: accelc-arm64 was not run: there is no qemu-aarch64-static" >&2
    fi
    scripts/release/tree.sh "$dist/accelc-arm64" "$dist/accelc" "$dist/accelc-$version-aarch64-linux"
fi
scripts/release/packages.sh "$dist" "$version"
echo "release: $dist"
