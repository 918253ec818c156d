#!/bin/sh
# Installs accelc for one user, without root: PREFIX/bin/accelc and PREFIX/share. It changes no profile.
# usage: install.sh [--version V] [--prefix DIR]   (default: the newest version, into ~/.local)
# ACCELC_RELEASES is the address, or the local folder, of releases: V/SHA256SUMS and V/ARCHIVE, with latest in place of V. It may also be the
# folder of one release, with its files.
# PREFIX/share/accelc/installed lists what this script has installed; it replaces nothing else.
set -eu

fail() { echo "install: $*" >&2; exit 1; }

fetch() { # name below ACCELC_RELEASES, file
    case $ACCELC_RELEASES in
        *://*) if command -v curl >/dev/null; then curl -fsSL "$ACCELC_RELEASES/$1" -o "$2"; else wget -qO "$2" "$ACCELC_RELEASES/$1"; fi ;;
        *) cp "$ACCELC_RELEASES/$1" "$2" ;;
    esac || fail "cannot get $ACCELC_RELEASES/$1"
}

main() {
    version=latest prefix=""
    while [ $# -gt 0 ]; do
        case $1 in
            --version) version=${2:?"--version needs a value"} ;;
            --prefix) prefix=${2:?"--prefix needs a value"} ;;
            *) fail "unknown argument $1; usage: install.sh [--version V] [--prefix DIR]" ;;
        esac
        shift 2
    done
    prefix=${prefix:-${HOME:?}/.local}
    case $(uname -s)-$(uname -m) in
        Linux-x86_64) machine=x86_64-linux ;;
        Linux-aarch64) machine=aarch64-linux ;;
        Darwin-*) machine=$(uname -m)-macos ;;
        *) fail "there is no release for $(uname -s) on $(uname -m)" ;;
    esac
    [ -n "${ACCELC_RELEASES:-}" ] || fail "set ACCELC_RELEASES to the address or the folder of the releases"
    new=$(mktemp -d) && trap 'rm -rf "$new"' EXIT
    if [ "$version" = latest ] && [ -f "$ACCELC_RELEASES/SHA256SUMS" ]; then version=.; fi
    fetch "$version/SHA256SUMS" "$new/SHA256SUMS"
    archive=$(sed -n "s/^[0-9a-f]*  \(accelc-[0-9A-Za-z.]*-$machine\.tar\.gz\)\$/\1/p" "$new/SHA256SUMS")
    [ -n "$archive" ] || fail "there is no archive for $machine in $version"
    fetch "$version/$archive" "$new/$archive"
    sum=$(command -v sha256sum || echo "shasum -a 256")
    (cd "$new" && grep -F "  $archive" SHA256SUMS | $sum -c - >/dev/null 2>&1) || fail "$archive does not have its SHA-256 sum"
    tree=$new/${archive%.tar.gz} manifest=$prefix/share/accelc/installed
    (cd "$new" && tar -xzf "$archive" && cd "$tree" && find bin share -type f | sort >"$new/names")

    cat "$manifest" >"$new/old" 2>/dev/null || : # none at first
    while IFS= read -r name; do
        if [ -e "$prefix/$name" ] && ! grep -qxF "$name" "$new/old"; then fail "$prefix/$name is there already, and not from this script"; fi
    done <"$new/names"
    mkdir -p "$prefix/share/accelc"
    sort -u "$new/old" "$new/names" >"$manifest" # before the files, so that an interrupted installation can be repeated
    while IFS= read -r name; do
        mkdir -p "$(dirname "$prefix/$name")" && cp "$tree/$name" "$prefix/$name.new" && mv -f "$prefix/$name.new" "$prefix/$name"
    done <"$new/names"
    grep -vxF -f "$new/names" "$new/old" | while IFS= read -r name; do rm -f "$prefix/$name"; done
    mv "$new/names" "$manifest"
    echo "$("$prefix/bin/accelc" --version) is in $prefix/bin"
    case :$PATH: in *":$prefix/bin:"*) ;; *) echo "$prefix/bin is not on PATH: add it, or call $prefix/bin/accelc" ;; esac
}

main "$@"
