#!/usr/bin/env bash
# The one test command: sets up what is missing, builds, and runs every test. Arguments go to `swift test`.
# Without arguments it also runs a sample of what scripts/reliability.sh tries: kills, faults, several at once.
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/setup.sh
swift build --build-tests
if [ $# = 0 ]; then scripts/reliability.sh --short; fi
swift test --skip-build --disable-xctest "$@"
