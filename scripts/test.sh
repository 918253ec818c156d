#!/usr/bin/env bash
# The one test command: sets up what is missing, builds, and runs every test. Arguments go to `swift test`.
# Without arguments it also runs a sample of what scripts/reliability.sh tries: kills, faults, several at once.
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/setup.sh
swift build --build-tests
if [ $# = 0 ]; then scripts/reliability.sh --short; fi
log=$(mktemp)
trap 'rm -f "$log"' EXIT
swift test --skip-build --disable-xctest "$@" 2>&1 | tee "$log" && exit 0
echo "What failed:"
grep -E '✘|↳' "$log" || tail -n 20 "$log" # the end of the log where the tests did not come to their own end
exit 1
