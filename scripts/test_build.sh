# The build that the tests run in, for scripts to source: what computes is optimised (ACCELC_TESTS in Package.swift), in a folder of
# its own. Plain debug builds, release builds and sanitizers are steps of scripts/check.sh.
# shellcheck shell=bash disable=SC2034
export ACCELC_TESTS=1
test_scratch=.build/tests
test_flags=(--scratch-path "$test_scratch" -Xswiftc -gline-tables-only)
