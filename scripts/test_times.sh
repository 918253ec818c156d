#!/usr/bin/env bash
# Prints where the time of the tests, or of a build, goes.
# usage: test_times.sh [ARGUMENT...]         runs the tests (arguments go to `swift test`), then prints the times of suites, tests and cases
#        test_times.sh --read RECORD         prints them from an earlier run's record, .build/tests/times.jsonl
#        test_times.sh --build [ARGUMENT...] builds the tests from nothing (arguments go to `swift build`), then prints the times of modules
#                                            and of the slowest functions and expressions
# LINES=N: the lines of each table (30).
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/setup.sh
case ${1:-} in
--read) exec python3 scripts/test_times.py tests "$2" ;;
--build)
    shift
    source scripts/test_build.sh
    scratch=.build/times
    rm -rf "$scratch"
    mkdir -p "$scratch/stats"
    status=0
    swift build --build-tests "${test_flags[@]}" --scratch-path "$scratch" "$@" \
        -Xswiftc -stats-output-dir -Xswiftc "$PWD/$scratch/stats" \
        -Xswiftc -Xfrontend -Xswiftc -warn-long-expression-type-checking=100 \
        -Xswiftc -Xfrontend -Xswiftc -warn-long-function-bodies=200 >"$scratch/log" 2>&1 || status=$?
    if [ $status != 0 ]; then tail -n 30 "$scratch/log" && exit $status; fi
    exec python3 scripts/test_times.py build "$scratch/stats" "$scratch/log"
    ;;
esac
source scripts/test_build.sh
record=$test_scratch/times.jsonl
swift build --build-tests "${test_flags[@]}"
# One after the other: a test's time is its own. The variable adds the names of cases to the record.
status=0
SWT_EXPERIMENTAL_EVENT_STREAM_FIELDS_ENABLED=1 swift test --skip-build --disable-xctest "${test_flags[@]}" \
    --no-parallel --event-stream-output-path $record "$@" | grep -aE '✘|↳' || status=${PIPESTATUS[0]}
python3 scripts/test_times.py tests $record
exit "$status"
