#!/usr/bin/env bash
# Writes the symbol graphs of the libraries' modules into FOLDER, from the modules of the tests' build (scripts/test_build.sh).
# usage: symbols.sh FOLDER [FLAG...]      (flags go to swift symbolgraph-extract)
set -euo pipefail
cd "$(dirname "$0")/.."
folder=$1
shift
source scripts/test_build.sh
products=$(swift build "${test_flags[@]}" --show-bin-path)
target=$(swift -print-target-info | python3 -c 'import json, sys; print(json.load(sys.stdin)["target"]["unversionedTriple"])')
mkdir -p "$folder"
module_maps "$products"
# The executable and the C libraries have no public declarations, and the platform's module has none of its own.
for module in Sources/Accel*; do
    module=$(basename "$module")
    case $module in AccelPlatform | AccelC | AccelCConvert) continue ;; esac
    swift symbolgraph-extract -module-name "$module" -target "$target" -I "$products/Modules" "${maps[@]}" \
        -minimum-access-level public -output-dir "$folder" "$@"
done
