#!/usr/bin/env bash
# Changes single fields of packages of six families and more, with all digests made anew, and has verify notice each.
# usage: mutations.sh [COUNT [SEED]]        (default: 2000 mutations, seed 1)
# Prints for each family which kinds of mutation were rejected, caught by which stage, or proved equal.
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/setup.sh
source scripts/test_build.sh
ACCELC_MUTATIONS=${1:-2000} ACCELC_SEED=${2:-1} \
    swift test --disable-xctest "${test_flags[@]}" --filter 'VerificationTests.MutationLawTests/law'
