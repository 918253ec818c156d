#!/usr/bin/env bash
# Nothing that an input leads to may end the tool by a trap: no forced unwrapping, no forced try or cast, no failed precondition.
# What is allowed: the address of memory that is never empty, and the promises of views and tensors, which their callers have checked.
set -euo pipefail
cd "$(dirname "$0")/.."
strict=$(mktemp)
trap 'rm -f "$strict"' EXIT
sed -e 's/"NeverForceUnwrap": false/"NeverForceUnwrap": true, "NeverUseForceTry": true/' .swift-format >"$strict"
found=$(
    swift format lint --configuration "$strict" --recursive --parallel Sources 2>&1 |
        grep -E 'NeverForceUnwrap|NeverUseForceTry' | grep -v "baseAddress'" || true
    grep -rnE '\b(fatalError|preconditionFailure|assertionFailure|precondition|assert|unsafelyUnwrapped)\b *\(' Sources --include='*.swift' |
        grep -v -e '^Sources/AccelByteIO/ByteView.swift:' -e '^Sources/AccelTensors/StoredTensor' || true
)
if [ -n "$found" ]; then
    printf '%s\n' "$found" "check_traps: input could end the tool here; throw a FormatError or RequestError instead" >&2
    exit 1
fi
