#!/usr/bin/env bash
# Builds the documentation into .build/docs/accelc.doccarchive: the DocC catalogues beside the sources, the doc comments, and the
# documents in schemas. Fails on anything that docc complains of, on a link that leads nowhere, on a Swift example that does not
# compile, and on an example command with an option that there is not. Swift examples are the blocks that are marked as swift, and
# the indented blocks of doc comments, but for those that are no Swift at all (formulas, program texts).
# usage: docs.sh           (under a minute of two processors, besides the tests' build)
#        docs.sh links     checks the links between files only, without a build
set -euo pipefail
cd "$(dirname "$0")/.."
if [ $# -gt 1 ] || { [ $# = 1 ] && [ "$1" != links ]; }; then
    echo "usage: docs.sh [links]" >&2
    exit 2
fi
python3 scripts/docs.py links
if [ $# = 1 ]; then exit; fi

source scripts/setup.sh
source scripts/test_build.sh
swift build "${test_flags[@]}"
out=$PWD/.build/docs
rm -rf "$out"
mkdir -p "$out/archives"
scripts/symbols.sh "$out/graphs"
failed=0

# The catalogues, and modules that have none by their doc comments alone.
docc=$(command -v docc || xcrun --find docc)
python3 scripts/docs.py stage "$out/catalogues" >"$out/catalogues.txt"
modules=(accelc)
for graph in "$out"/graphs/*.symbols.json; do
    module=$(basename "$graph" .symbols.json)
    if [[ $module != *@* ]]; then modules+=("$module"); fi
done
archives=()
for module in "${modules[@]}"; do
    mkdir "$out/graphs/of-$module"
    cp "$out/graphs/$module".symbols.json "$out/graphs/$module"@*.symbols.json "$out/graphs/of-$module/" 2>/dev/null || true
    inputs=(--additional-symbol-graph-dir "$out/graphs/of-$module")
    if [ -d "$out/catalogues/$module.docc" ]; then inputs=("$out/catalogues/$module.docc" "${inputs[@]}"); fi
    "$docc" convert "${inputs[@]}" --fallback-display-name "$module" --fallback-bundle-identifier "accelc.$module" \
        --diagnostics-file "$out/$module.json" --output-path "$out/archives/$module.doccarchive" >"$out/$module.txt" 2>&1 || failed=1
    python3 scripts/docs.py diagnostics "$out/$module.json" || failed=1
    archives+=("$out/archives/$module.doccarchive")
done
"$docc" merge "${archives[@]}" --synthesized-landing-page-name accelc --output-path "$out/accelc.doccarchive"
echo "docs: ${#modules[@]} modules, $(wc -l <"$out/catalogues.txt") with a catalogue: $out/accelc.doccarchive"

# The examples.
products=$(swift build "${test_flags[@]}" --show-bin-path)
python3 scripts/docs.py commands "$products/accelc" || failed=1
python3 scripts/docs.py snippets "$out/graphs" "$out/examples" >"$out/examples.txt"
compiled=0
foreign=()
module_maps "$products"
while read -r file kind place; do
    # A block of a doc comment that is not marked may be a formula: what does not parse is no Swift.
    if [ "$kind" = unmarked ] && ! swiftc -frontend -parse -parse-as-library "$file" >/dev/null 2>&1; then
        foreign+=("$place")
    elif swiftc -c -parse-as-library -swift-version 6 -suppress-warnings -o /dev/null "$file" -I "$products/Modules" \
        "${maps[@]}"; then
        compiled=$((compiled + 1))
    else
        echo "docs: the example at $place does not compile" >&2
        failed=1
    fi
done <"$out/examples.txt"
echo "docs: $compiled examples compile; ${#foreign[@]} indented blocks of doc comments are no Swift${foreign[*]:+: ${foreign[*]}}"
exit $failed
