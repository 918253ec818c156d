#!/usr/bin/env bash
# What must hold when things go wrong around a conversion: kills at any moment, an interrupt, and several conversions at once.
# usage: reliability.sh [ACCELC]      default: the debug build's; prints one line a check, exits 1 when one fails
set -euo pipefail
cd "$(dirname "$0")/.."
accelc=${1:-.build/debug/accelc}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cache=$scratch/cache
failed=0

convert() { # where to; the rest are further options
    local out=$1
    shift
    exec "$accelc" convert Tests/Fixtures/digits --shape batch=1,sequence=65 --compress palette:bits=4,group=16 --quiet -o "$out" "$@"
}
good() { echo "  ok   $*"; }
bad() { echo "  FAIL $*" && failed=1; }
now() { echo $(($(date +%s%N 2>/dev/null | sed 's/N$/000000000/') / 1000000)); }
pause() { sleep "$(printf '%d.%03d' $(($1 / 1000)) $(($1 % 1000)))"; } # milliseconds

start=$(now)
(convert "$scratch/expected.accelpkg" --no-cache)
took=$(($(now) - start))

broken=""
for part in 1 2 3 4 5 6 7 8 9 10; do
    rm -rf "$scratch/killed"
    mkdir "$scratch/killed"
    convert "$scratch/killed/a.accelpkg" --cache "$cache" 2>/dev/null &
    pid=$!
    pause $((took * part / 10))
    kill -KILL $pid 2>/dev/null || true
    wait $pid 2>/dev/null || true
    if [ -e "$scratch/killed/a.accelpkg" ] && ! "$accelc" inspect --check "$scratch/killed/a.accelpkg" >/dev/null; then broken+=" at $part/10"; fi
done
if [ -z "$broken" ]; then good "10 conversions killed: never a broken package"; else bad "killed conversions left a broken package:$broken"; fi

mkdir "$scratch/interrupted"
set -m # without job control the shell has background processes ignore an interrupt
convert "$scratch/interrupted/a.accelpkg" --no-cache 2>/dev/null &
pid=$!
set +m
pause $((took / 3))
kill -INT $pid 2>/dev/null || true
status=0 && wait $pid || status=$?
left=$(find "$scratch/interrupted" -mindepth 1 | head -3)
if [ $status = 130 ] && [ -z "$left" ]; then good "interrupted: exit 130, nothing left behind"; else bad "interrupted: exit $status, left: ${left:-nothing}"; fi

pids=()
for copy in 1 2 3 4; do
    convert "$scratch/$copy.accelpkg" --cache "$cache" &
    pids+=($!)
done
broken=""
for pid in "${pids[@]}"; do wait "$pid" || broken+=" exit $?"; done
for copy in 1 2 3 4; do diff -r "$scratch/expected.accelpkg" "$scratch/$copy.accelpkg" >/dev/null || broken+=" copy $copy differs"; done
if [ -z "$broken" ]; then good "4 conversions at once over one cache: the same bytes"; else bad "4 conversions at once:$broken"; fi

if "$accelc" cache fsck --cache "$cache" >/dev/null; then good "the cache is whole afterwards"; else bad "cache fsck found damage"; fi
exit $failed
