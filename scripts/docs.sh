#!/usr/bin/env bash
# Builds the libraries' documentation from their doc comments, with the toolchain's own docc, into .build/docs.
# usage: docs.sh [MODULE...]
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/setup.sh
if [ $# = 0 ]; then set -- AccelByteIO AccelTensors AccelWeightCompression AccelPrograms AccelModelFamilies AccelCPURuntime AccelPackages AccelConversion AccelVerification; fi
out=$PWD/.build/docs
rm -rf "$out/graphs"
mkdir -p "$out/graphs"
swift build --scratch-path "$out/build" -Xswiftc -emit-symbol-graph -Xswiftc -emit-symbol-graph-dir -Xswiftc "$out/graphs"
docc=$(command -v docc || xcrun --find docc)
for module; do
    mkdir "$out/graphs/of-$module"
    cp "$out/graphs/$module".symbols.json "$out/graphs/$module"@*.symbols.json "$out/graphs/of-$module/" 2>/dev/null || true
    "$docc" convert --fallback-display-name "$module" --fallback-bundle-identifier "accelc.$module" \
        --additional-symbol-graph-dir "$out/graphs/of-$module" --output-path "$out/$module.doccarchive"
    echo "$out/$module.doccarchive"
done
