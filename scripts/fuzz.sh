#!/usr/bin/env bash
# Feeds each reader with anything for a while (libFuzzer with the address sanitizer), starting from the tests' hostile files.
# usage: fuzz.sh [SECONDS|RUNSx [TARGET...]]      default: 60 seconds for each target; 10000000x: as many executions of each, however long
# that takes. What breaks a reader is kept in .build-fuzz/findings, what leads to new places in .build-fuzz/corpus.
set -eu
cd "$(dirname "$0")/.."
amount=${1:-60}
case $amount in
*x) limit=-runs=${amount%x} ;;
*) limit=-max_total_time=$amount amount="$amount s" ;;
esac
[ $# = 0 ] || shift
work=.build-fuzz
source scripts/setup.sh

export ACCELC_FUZZ=1
# A third of the time went into where each piece of memory came from; a finding tells that when it is run again without these.
export ASAN_OPTIONS=${ASAN_OPTIONS:-malloc_context_size=2:quarantine_size_mb=16}
# Of two --sanitize of the package manager the Swift compiler takes the last: without the flag behind them its code is not
# instrumented, and the fuzzer gropes in the dark.
build=(-c release --scratch-path "$work" --product FuzzTargets --sanitize fuzzer --sanitize address -Xswiftc "-sanitize=fuzzer,address")
library=$(swift build "${build[@]}" --show-bin-path)/libFuzzTargets.a
# An archive keeps the objects of files that are gone.
rm -f "$library"
swift build "${build[@]}"
# The program's main function is libFuzzer's own: all that is linked to it is the library.
: > $work/empty.swift
swiftc -parse-as-library -sanitize=fuzzer,address $work/empty.swift "$library" -lz -o $work/fuzz 2> $work/link.log || { cat $work/link.log >&2; exit 1; }

# shellcheck disable=SC2046  # the names are words
if [ $# = 0 ]; then set -- $($work/fuzz); fi
failed=0
for target; do
    mkdir -p "$work/corpus/$target" "$work/findings"
    echo "fuzz: $target, $amount"
    FUZZ_TARGET=$target FUZZ_SEEDS=$work/corpus/$target $work/fuzz "$work/corpus/$target" "$limit" \
        -timeout=10 -rss_limit_mb=2048 -max_len=65536 -print_final_stats=1 -artifact_prefix="$work/findings/$target-" \
        > "$work/$target.log" 2>&1 || failed=1
    if grep 'Is the code instrumented for coverage' "$work/$target.log"; then failed=1; fi
    grep -E 'number_of_executed_units|^SUMMARY|ERROR|Fatal error' "$work/$target.log" || true
done
[ $failed = 0 ] || { echo "fuzz: findings in $work/findings, logs in $work" >&2; exit 1; }
