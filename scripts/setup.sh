#!/usr/bin/env bash
# Makes sure that accelc can be built here: a Swift toolchain, and zlib to link with, which is installed where that needs no asking.
# The other scripts source this file, since the last resort below is a variable that the linker reads.
set -euo pipefail

note() { echo "setup: $*" >&2; }

links() { # does a program that calls zlib link? (The sources declare what they call: zlib's header is not needed.)
    local compiler scratch status=0
    compiler=$(command -v clang || command -v cc) || return 1
    scratch=$(mktemp -d)
    echo 'const char *zlibVersion(void); int main(void) { return zlibVersion() == 0; }' >"$scratch/probe.c"
    "$compiler" "$scratch/probe.c" -o "$scratch/probe" -lz >/dev/null 2>&1 || status=1
    rm -rf "$scratch"
    return $status
}

install_zlib() {
    if [ "$(uname)" = Darwin ]; then
        command -v brew >/dev/null && note "installing zlib with Homebrew" && brew install zlib >&2
        return
    fi
    command -v apt-get >/dev/null || return
    local sudo=""
    if [ "$(id -u)" != 0 ]; then sudo -n true 2>/dev/null && sudo="sudo -n" || return; fi
    note "installing zlib1g-dev"
    local attempt
    for attempt in 1 2; do
        if $sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -q zlib1g-dev >/dev/null 2>&1; then return; fi
        if [ $attempt = 1 ]; then $sudo apt-get update -q >/dev/null 2>&1 || return; fi
    done
}

setup() {
    local root runtime
    root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
    if ! command -v swift >/dev/null; then
        note "no Swift toolchain found: install Swift 6.2 or newer from swift.org and put its 'swift' on PATH"
        return 3
    fi
    if links; then return; fi
    install_zlib || true
    if links; then return; fi
    runtime=$(ldconfig -p 2>/dev/null | awk '$1 == "libz.so.1" { print $NF; exit }')
    if [ -n "$runtime" ]; then
        mkdir -p "$root/.build/zlib"
        ln -sf "$runtime" "$root/.build/zlib/libz.so"
        export LIBRARY_PATH="$root/.build/zlib${LIBRARY_PATH:+:$LIBRARY_PATH}"
        if links; then
            note "zlib1g-dev is missing; linking with $runtime by LIBRARY_PATH=$LIBRARY_PATH"
            return
        fi
    fi
    note "zlib is missing: install its development package (Debian, Ubuntu: zlib1g-dev; Fedora: zlib-devel; Alpine: zlib-dev) and run this again"
    return 3
}

setup
