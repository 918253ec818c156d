#!/usr/bin/env bash
# Makes a Swift SDK for Linux on arm64 from Debian's packages, for Debian's own toolchain on x86-64 (package swiftlang, 6.2 or newer).
# The SDK has the libraries of the same version for arm64, with a static C library. Other toolchains need the static SDK of swift.org.
# usage: arm64_sdk.sh [FOLDER]   (default: .build/arm64)
#   then ACCELC_ARM64_SDK=aarch64-unknown-linux-gnu ACCELC_SDKS=FOLDER scripts/release.sh --arm64
set -euo pipefail
folder=$(realpath -m "${1:-$(dirname "$0")/../../.build/arm64}")
fail() { echo "arm64_sdk: $*" >&2; exit 1; }

version=$(dpkg-query -W -f '${Version}' swiftlang:amd64 2>/dev/null) || fail "Debian's package swiftlang is not installed"
gcc=$(dpkg-query -W -f '${Depends}' gcc 2>/dev/null | grep -oE 'gcc-[0-9]+' | head -1 | tr -dc 0-9) || fail "gcc is not installed"
dpkg --print-foreign-architectures | grep -qx arm64 || fail "run first: dpkg --add-architecture arm64 && apt-get update"

bundle=$folder/accelc-arm64.artifactbundle
sdk=$bundle/linux-arm64
rm -rf "$bundle"
mkdir -p "$folder/packages" "$sdk/root/usr/lib"
(cd "$folder/packages" && apt-get download -q -o APT::Sandbox::User=root "swiftlang:arm64=$version" libc6:arm64 libc6-dev:arm64 linux-libc-dev \
    "libgcc-$gcc-dev:arm64" "libstdc++-$gcc-dev:arm64" libgcc-s1:arm64 libstdc++6:arm64 zlib1g:arm64 zlib1g-dev:arm64)

ln -s usr/lib "$sdk/root/lib"
for package in "$folder"/packages/*.deb; do
    case $package in
        # Of the toolchain for arm64 only the libraries; swiftc looks for them in usr/lib of an SDK.
        */swiftlang_*) dpkg-deb --fsys-tarfile "$package" | tar -x -C "$sdk/root/usr" --strip-components=4 \
            ./usr/libexec/swift/lib/clang ./usr/libexec/swift/lib/swift ./usr/libexec/swift/lib/swift_static ;;
        *) dpkg-deb -x "$package" "$sdk/root" ;;
    esac
done

cat >"$bundle/info.json" <<END
{"schemaVersion": "1.0", "artifacts": {"accelc-arm64": {"type": "swiftSDK", "version": "$version", "variants": [{"path": "linux-arm64"}]}}}
END
cat >"$sdk/swift-sdk.json" <<'END'
{"schemaVersion": "4.0", "targetTriples": {"aarch64-unknown-linux-gnu": {
  "sdkRootPath": "root", "swiftResourcesPath": "root/usr/lib/swift", "swiftStaticResourcesPath": "root/usr/lib/swift_static",
  "toolsetPaths": ["toolset.json"]}}}
END
cat >"$sdk/toolset.json" <<'END'
{"schemaVersion": "1.0", "swiftCompiler": {"extraCLIOptions": ["-use-ld=lld"]}}
END
echo "arm64_sdk: $bundle, of swiftlang $version"
