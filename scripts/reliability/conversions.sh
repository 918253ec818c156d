#!/usr/bin/env bash
# Conversions that are killed or interrupted, and several at once over one cache.
set -euo pipefail
cache=$SCRATCH/cache
kills=10 copies=4
if [ "$MODE" = short ]; then kills=4 copies=2; fi

convert() { # where to; the rest are further options
    local out=$1
    shift
    exec "$ACCELC" convert Tests/Fixtures/digits --shape batch=1,sequence=65 --compress palette:bits=4,group=16 --quiet -o "$out" "$@"
}
row() { printf '%s\t%d\t%d\t%d\n' "$1" "$2" $(($2 - $3)) "$3"; } # name, tried, lost
now() { echo $(($(date +%s%N 2>/dev/null | sed 's/N$/000000000/') / 1000000)); }
pause() { sleep "$(printf '%d.%03d' $(($1 / 1000)) $(($1 % 1000)))"; } # milliseconds

start=$(now)
(convert "$SCRATCH/expected.accelpkg" --no-cache)
took=$(($(now) - start))

lost=0
for ((part = 1; part <= kills; part++)); do
    rm -rf "$SCRATCH/killed"
    mkdir "$SCRATCH/killed"
    convert "$SCRATCH/killed/a.accelpkg" --cache "$cache" 2>/dev/null &
    pid=$!
    pause $((took * part / kills))
    kill -KILL $pid 2>/dev/null || true
    wait $pid 2>/dev/null || true
    if [ -e "$SCRATCH/killed/a.accelpkg" ] && ! "$ACCELC" inspect --check "$SCRATCH/killed/a.accelpkg" >/dev/null; then
        lost=$((lost + 1))
        echo "killed at $part/$kills: the package is broken" >&2
    fi
done
row "a conversion is killed: no package, or a whole one" $kills $lost

mkdir "$SCRATCH/interrupted"
set -m # without job control the shell has background processes ignore an interrupt
convert "$SCRATCH/interrupted/a.accelpkg" --no-cache 2>/dev/null &
pid=$!
set +m
# As soon as there is a file: the conversion has begun to write, and has not ended.
while kill -0 $pid 2>/dev/null && [ -z "$(ls -A "$SCRATCH/interrupted")" ]; do pause 1; done
kill -INT $pid 2>/dev/null || true
status=0 && wait $pid || status=$?
left=$(find "$SCRATCH/interrupted" -mindepth 1 | head -3)
lost=0
if [ $status != 130 ] || [ -n "$left" ]; then lost=1 && echo "interrupted: exit $status, left: ${left:-nothing}" >&2; fi
row "a conversion is interrupted: exit 130, nothing left" 1 $lost

pids=()
for ((copy = 1; copy <= copies; copy++)); do
    convert "$SCRATCH/$copy.accelpkg" --cache "$cache" &
    pids+=($!)
done
lost=0
for pid in "${pids[@]}"; do wait "$pid" || echo "exit $?" >&2; done
for ((copy = 1; copy <= copies; copy++)); do diff -r "$SCRATCH/expected.accelpkg" "$SCRATCH/$copy.accelpkg" >&2 || lost=$((lost + 1)); done
row "conversions at once over one cache: the same bytes" $copies $lost

shared() {
    "$ACCELC" convert Tests/Fixtures/digits --shape batch=1,sequence=65 --compress palette:bits=4 --cache "$SCRATCH/shared" -o "$SCRATCH/shared$1.accelpkg" \
        2>/dev/null | head -1
}
pids=()
for ((copy = 1; copy <= copies; copy++)); do
    shared "$copy" >"$SCRATCH/shared$copy.txt" &
    pids+=($!)
done
for pid in "${pids[@]}"; do wait "$pid" || echo "exit $?" >&2; done
lost=$((copies - 1 - $(cat "$SCRATCH"/shared*.txt | grep -c "cache hit")))
row "conversions at once: one makes it, the others take it" $copies $lost

lost=0
"$ACCELC" cache fsck --cache "$cache" >&2 || lost=1
row "the cache is whole afterwards" 1 $lost
