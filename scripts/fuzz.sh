#!/usr/bin/env bash
# Feeds each reader with anything for a while (libFuzzer), starting from the tests' hostile files.
# usage: fuzz.sh [SECONDS|RUNSx [TARGET...]]      default: 60 seconds for each target, under the address sanitizer.
# 10000000x: as many executions of each with inputs up to 4 KiB, without that sanitizer, which makes them about three times slower; all
# inputs that led to new places are read once more under it in the end.
# What breaks a reader is kept in .build-fuzz/findings, what leads to new places in .build-fuzz/corpus.
set -eu
cd "$(dirname "$0")/.."
amount=${1:-60}
[ $# = 0 ] || shift
work=.build-fuzz
source scripts/setup.sh

export ACCELC_FUZZ=1
# A third of the time went into where each piece of memory came from; a finding tells that when it is run again without these.
export ASAN_OPTIONS=${ASAN_OPTIONS:-malloc_context_size=2:quarantine_size_mb=16}
# Swift would print where a trap was and end the program before the fuzzer can keep the input.
export SWIFT_BACKTRACE=enable=no

fuzzer() { # the sanitizers: builds the program with them, $work/SANITIZERS
    local sanitizers=$1 scratch=$work/build-$1 build library flag
    build=(-c release --scratch-path "$scratch" --product FuzzTargets)
    for flag in ${sanitizers//,/ }; do build+=(--sanitize "$flag"); done
    # Of two --sanitize of the package manager the Swift compiler takes the last: without the flag behind them its code is not
    # instrumented, and the fuzzer gropes in the dark.
    build+=(-Xswiftc "-sanitize=$sanitizers")
    # Targets call readers that are internal to their modules.
    build+=(-Xswiftc -enable-testing)
    library=$(swift build "${build[@]}" --show-bin-path)/libFuzzTargets.a
    # An archive keeps the objects of files that are gone.
    rm -f "$library"
    swift build "${build[@]}"
    # The program's main function is libFuzzer's own: all that is linked to it is the library.
    : > "$scratch/empty.swift"
    swiftc -parse-as-library "-sanitize=$sanitizers" "$scratch/empty.swift" "$library" -lz -o "$work/$sanitizers" 2> "$scratch/link.log" \
        || { cat "$scratch/link.log" >&2; exit 1; }
}

run() { # program, target, longest input, limit
    local log=$work/$2-$1.log failed=0
    mkdir -p "$work/corpus/$2" "$work/findings"
    FUZZ_TARGET=$2 FUZZ_SEEDS=$work/corpus/$2 "$work/$1" "$work/corpus/$2" "-max_len=$3" "$4" \
        -timeout=10 -rss_limit_mb=2048 -print_final_stats=1 -artifact_prefix="$work/findings/$2-" \
        > "$log" 2>&1 || { failed=1 && echo "fuzz: $2 failed, see $log"; }
    if grep 'Is the code instrumented for coverage' "$log"; then failed=1; fi
    grep -E 'number_of_executed_units|^SUMMARY|ERROR|Fatal error' "$log" | sed "s/^/$2: /" || true
    return $failed
}

fuzz() { # amount, target
    case $1 in
    *x)
        echo "fuzz: $2, ${1%x} executions, then its corpus with the address sanitizer"
        run fuzzer "$2" 4096 "-runs=${1%x}" && run fuzzer,address "$2" 65536 -runs=0
        ;;
    *)
        echo "fuzz: $2, $1 s"
        run fuzzer,address "$2" 65536 "-max_total_time=$1"
        ;;
    esac
}

fuzzer fuzzer,address
case $amount in *x) fuzzer fuzzer ;; esac
# shellcheck disable=SC2046  # the names are words
if [ $# = 0 ]; then set -- $("$work/fuzzer,address"); fi
# A target for each core at a time.
export work
export -f run fuzz
# shellcheck disable=SC2016  # the inner shell expands it
printf '%s\n' "$@" | xargs -P "$(getconf _NPROCESSORS_ONLN)" -I TARGET bash -c 'fuzz "$0" TARGET' "$amount" \
    || { echo "fuzz: findings in $work/findings, logs in $work" >&2; exit 1; }
