#!/usr/bin/env bash
# The one test command: sets up what is missing, builds, and runs every test. Arguments go to `swift test`.
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/setup.sh
swift build --build-tests
swift test --skip-build --disable-xctest "$@"
