#!/usr/bin/env bash
# The one test command: sets up what is missing, builds, and runs every test. Arguments go to `swift test`.
# Without arguments it also runs a sample of what scripts/reliability.sh tries: kills, faults, several at once.
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/setup.sh
source scripts/test_build.sh
swift build --build-tests "${test_flags[@]}"
if [ $# = 0 ]; then scripts/reliability.sh --short; fi
log=$(mktemp)
trap 'rm -f "$log"' EXIT
status=0
scripts/within.sh 3600 swift test --skip-build --disable-xctest "${test_flags[@]}" "$@" 2>&1 | tee "$log" || status=$?
if [ $status = 0 ]; then exit 0; fi
if [ $status = 124 ]; then
    echo "The tests did not end within an hour. What began and did not end:"
    sed -nE '/^◇ Test (case|run) /!s/^◇ Test (.*) started\.$/\1/p' "$log" | while IFS= read -r name; do
        grep -aqF -e "Test $name passed" -e "Test $name with" -e "Test $name failed" "$log" || echo "    $name"
    done
fi
echo "What failed:"
grep -aE '✘|↳' "$log" || true
# A crash ends all tests: they run in one process, and most commands with them.
grep -aqE '^. Test run with' "$log" || tail -n 40 "$log"
exit 1
