#!/usr/bin/env bash
# Makes a package in a temporary folder that depends on this checkout by path, builds it, and lets it convert, verify and run the
# digit classifier through the public API.
# usage: consumer.sh      (the build is kept in .build/consumer: minutes the first time, seconds afterwards)
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/setup.sh
root=$PWD
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir -p "$folder/Sources/consumer"
cp scripts/consumer/*.swift "$folder/Sources/consumer/"
cat >"$folder/Package.swift" <<END
// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "consumer",
    platforms: [.macOS(.v15)],
    dependencies: [.package(name: "accelc", path: "$root")],
    targets: [
        .executableTarget(
            name: "consumer",
            dependencies: [
                .product(name: "Accel", package: "accelc"), .product(name: "AccelConversion", package: "accelc"),
            ])
    ],
    swiftLanguageModes: [.v6]
)
END
swift build --package-path "$folder" --scratch-path "$root/.build/consumer"
"$root/.build/consumer/debug/consumer" "$root/Tests/Fixtures/digits" "$folder"
