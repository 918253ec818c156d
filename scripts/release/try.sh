#!/usr/bin/env bash
# Installs and uses the packages of a release where nothing else is, and prints the seconds of each step:
#   wheel    in a new virtual environment of Python
#   script   install.sh in an empty home: from a folder and from a server, again, beside a foreign file, from a damaged archive
#   empty    the tool as the only file of a root folder (as root)
#   deb      in new systems of other Debian releases (as root, with debootstrap; they stay in .build/try for the next time)
#   bundle   as the tool of a Swift package's plugin (where swift is)
# usage: try.sh [STEP]...   (default: all; DEBIAN="bullseye trixie" names the releases, DIST the folder of the packages)
set -euo pipefail
cd "$(dirname "$0")/../.."
dist=$(realpath "${DIST:-.build/dist}")
fixtures=$PWD/Tests/Fixtures
roots=$PWD/.build/try
releases=${DEBIAN:-bullseye trixie}
steps=${*:-wheel script empty deb bundle}
scratch=$(mktemp -d)
server=""
trap '[ -z "$server" ] || kill "$server"; rm -rf "$scratch"' EXIT
case $(uname -m) in x86_64) machine=x86_64 architecture=amd64 ;; *) machine=aarch64 architecture=arm64 ;; esac
archive=$(cd "$dist" && echo accelc-*-"$machine"-linux.tar.gz)
version=${archive#accelc-}
version=${version%-"$machine"-linux.tar.gz}

fail() { echo "try: $*" >&2; exit 1; }
clean() { env -i HOME="$scratch/home" PATH="$1:/usr/bin:/bin" "${@:2}"; } # folder of the tool, command
inside() { # folder, command: with the folder as the root folder, and its processes in /proc, as in a container
    # shellcheck disable=SC2016
    env -i HOME=/tmp PATH=/usr/sbin:/usr/bin:/sbin:/bin unshare --mount sh -c 'mount -t proc proc "$0/proc" && exec chroot "$0" "$@"' "$@"
}
timed() { # label, command: its output only if it fails
    local start end
    start=$(date +%s%N)
    "${@:2}" >"$scratch/output" 2>&1 || { cat "$scratch/output" >&2; fail "$1 failed"; }
    end=$(date +%s%N)
    awk -v t=$((end - start)) -v label="$1" 'BEGIN { printf "%7.2f s  %s\n", t / 1e9, label }'
}
rejected() { # label, words of the error, command
    if "${@:3}" >"$scratch/output" 2>&1; then fail "$1: it was not rejected"; fi
    grep -q "$2" "$scratch/output" || { cat "$scratch/output" >&2; fail "$1: another error"; }
    echo "           $1: rejected"
}
use() { # label, folder of fixtures and of results as the tool sees them, words before the tool that give it a clean environment
    local label=$1 fixture=$2/digits out=$3/digits.accelpkg
    shift 3
    timed "$label: --version" "$@" accelc --version
    grep -qx "accelc $version" "$scratch/output" || fail "$label: $(cat "$scratch/output") is not $version"
    timed "$label: convert" "$@" accelc convert "$fixture" -o "$out" --no-cache
    timed "$label: verify" "$@" accelc verify "$out" --against "$fixture"
}

try_wheel() {
    local wheel=("$dist"/accelc-*manylinux*"$machine".whl) venv=$scratch/venv found
    timed "wheel: new environment" python3 -m venv "$venv"
    timed "wheel: pip install" "$venv/bin/pip" install --no-index "${wheel[0]}"
    mkdir -p "$scratch/wheel"
    use wheel "$fixtures" "$scratch/wheel" clean "$venv/bin"
    # It finds the programs of runtimes: what it then misses is Python.
    clean "$venv/bin" accelc export "$fixtures/llama_bfloat16" --format gguf --no-cache -o "$scratch/gguf" -q
    found=$(clean "$venv/bin" accelc verify "$scratch/gguf" --against "$fixtures/llama_bfloat16" --runtime llama --python none 2>&1 || true)
    [[ "$found" == *"no Python interpreter"* ]] || fail "wheel: the programs of runtimes are missing: $found"
    timed "wheel: pip uninstall" "$venv/bin/pip" uninstall -y accelc
    [ -z "$(find "$venv" -path '*accelc*' -type f)" ] || fail "wheel: uninstalling left $(find "$venv" -path '*accelc*' -type f)"
}

try_script() {
    local folder=$scratch/releases home=$scratch/home address
    mkdir -p "$folder" "$home"
    cp -R "$dist" "$folder/$version" 2>/dev/null
    ln -s "$version" "$folder/latest"
    timed "script: from a folder" clean /usr/bin ACCELC_RELEASES="$folder" sh "$dist/install.sh"
    grep -q "not on PATH" "$scratch/output" || fail "script: no remark about PATH"
    use script "$fixtures" "$scratch" clean "$home/.local/bin"
    echo share/accelc/of-an-older-version >>"$home/.local/share/accelc/installed"
    touch "$home/.local/share/accelc/of-an-older-version"
    python3 -u -m http.server -b 127.0.0.1 -d "$folder" 0 >"$scratch/port" 2>/dev/null &
    server=$!
    until [ -s "$scratch/port" ]; do sleep 0.1; done
    address=http://127.0.0.1:$(grep -oE 'port [0-9]+' "$scratch/port" | cut -d' ' -f2)
    timed "script: again, from a server" clean /usr/bin ACCELC_RELEASES="$address" sh "$dist/install.sh" --version "$version"
    [ ! -e "$home/.local/share/accelc/of-an-older-version" ] || fail "script: a file of an older version is left"
    (cd "$home/.local" && find . -type f | sed 's|\./||' | grep -vx share/accelc/installed | sort | diff - share/accelc/installed) ||
        fail "script: its list is not what is there"
    rejected "script: a missing version" "cannot get" clean /usr/bin ACCELC_RELEASES="$address" sh "$dist/install.sh" --version 99.9
    mkdir -p "$scratch/foreign/bin"
    echo mine >"$scratch/foreign/bin/accelc"
    rejected "script: a foreign file" "not from this script" clean /usr/bin ACCELC_RELEASES="$folder" sh "$dist/install.sh" --prefix "$scratch/foreign"
    [ "$(cd "$scratch/foreign" && find . -type f -exec cat {} +)" = mine ] || fail "script: it changed a foreign file"
    echo x >>"$folder/$version/$archive"
    rejected "script: a damaged archive" "SHA-256" clean /usr/bin ACCELC_RELEASES="$folder" sh "$dist/install.sh" --prefix "$scratch/damaged"
    [ ! -e "$scratch/damaged" ] || fail "script: it installed a damaged archive"
}

try_empty() {
    [ "$(id -u)" = 0 ] || { echo "           empty: skipped, it needs root"; return; }
    local root=$scratch/empty
    mkdir -p "$root/tmp" "$root/proc"
    tar -xzf "$dist/$archive" -C "$root" --strip-components=1 "${archive%.tar.gz}/bin/accelc"
    cp -R "$fixtures/digits" "$root/digits"
    use "empty root" / /tmp inside "$root"
}

try_deb() {
    if [ "$(id -u)" != 0 ] || ! command -v debootstrap >/dev/null; then echo "           deb: skipped, it needs root and debootstrap"; return; fi
    local mirror suite root deb=accelc_${version}_$architecture.deb
    mirror=$(cat /etc/apt/sources.list /etc/apt/sources.list.d/* 2>/dev/null | grep -oE 'https?://[^ ]+/debian/?( |$)' | head -1 || true)
    mirror=${mirror:-http://deb.debian.org/debian}
    for suite in $releases; do
        root=$roots/$suite
        [ -e "$root/made" ] || { rm -rf "$root"; mkdir -p "$roots"; timed "deb: new system $suite" debootstrap --variant=minbase "$suite" "$root" "${mirror% }"; }
        touch "$root/made"
        rm -rf "$root/accelc"
        mkdir "$root/accelc"
        cp "$dist/$deb" "$root/accelc"
        cp -R "$fixtures/digits" "$root/accelc"
        timed "deb on $suite: dpkg --install" inside "$root" dpkg --install "/accelc/$deb"
        use "deb on $suite" /accelc /accelc inside "$root"
        timed "deb on $suite: dpkg --purge" inside "$root" dpkg --purge accelc
    done
}

try_bundle() {
    command -v swift >/dev/null || { echo "           bundle: skipped, there is no swift"; return; }
    local package=$scratch/bundle
    mkdir -p "$package/Plugins/Convert"
    (cd "$package" && python3 -m zipfile -e "$dist/accelc-$version.artifactbundle.zip" . && chmod +x accelc.artifactbundle/*/bin/accelc)
    cat >"$package/Package.swift" <<'END'
// swift-tools-version: 6.0
import PackageDescription
let package = Package(
    name: "Example",
    targets: [
        .binaryTarget(name: "accelc", path: "accelc.artifactbundle"),
        .plugin(name: "Convert", capability: .command(intent: .custom(verb: "accelc", description: "run accelc")), dependencies: ["accelc"]),
    ])
END
    cat >"$package/Plugins/Convert/Convert.swift" <<'END'
import Foundation
import PackagePlugin
@main struct Convert: CommandPlugin {
    func performCommand(context: PluginContext, arguments: [String]) throws {
        let process = try Process.run(context.tool(named: "accelc").url, arguments: arguments)
        process.waitUntilExit()
        if process.terminationStatus != 0 { Diagnostics.error("accelc failed") }
    }
}
END
    timed "bundle: convert by a plugin" swift package --package-path "$package" --disable-sandbox --allow-writing-to-package-directory accelc \
        convert "$fixtures/digits" -o "$scratch/bundle.accelpkg" --no-cache
    [ -e "$scratch/bundle.accelpkg" ] || fail "bundle: there is no package"
}

for step in $steps; do
    case $step in
        wheel | script | empty | deb | bundle) "try_$step" ;;
        *) fail "unknown step $step" ;;
    esac
done
echo "try: passed: $steps"
