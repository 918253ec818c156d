#!/usr/bin/env bash
# Plants mistakes in a copy of the sources, one after the other, and prints which test catches each. See planted.py.
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/setup.sh
source scripts/test_build.sh
export ACCELC_BUILD_TESTS="swift build --build-tests ${test_flags[*]}"
export ACCELC_RUN_TESTS="swift test --skip-build --disable-xctest ${test_flags[*]}"
exec python3 scripts/planted.py "$@"
