# The build that the tests run in, for scripts to source: what computes is optimised (ACCELC_TESTS in Package.swift), in a folder of
# its own. Release builds and sanitizers are steps of scripts/check.sh.
# shellcheck shell=bash disable=SC2034
export ACCELC_TESTS=1
test_scratch=.build/tests
test_flags=(--scratch-path "$test_scratch" -Xswiftc -gline-tables-only)
# Tests write thousands of small packages, and a disk takes milliseconds to say that each is safe: in memory, where there is room.
room() { awk -v wanted=8000000 '$1 >= wanted { found = 1 } END { exit !found }'; }
if [ -z "${TMPDIR:-}" ] && df -k --output=avail /dev/shm 2>/dev/null | room && awk '/^MemAvailable/ { print $2 }' /proc/meminfo | room; then
    export TMPDIR=/dev/shm
fi

module_maps() { # folder of the products: sets `maps` to the flags by which Swift finds the modules in C
    local library map
    maps=(-Xcc -fmodule-map-file="$PWD/Sources/CAccelZlib/module.modulemap")
    for library in Sources/CAccel*; do
        map=$1/$(basename "$library").build/module.modulemap
        if [ -f "$map" ]; then maps+=(-Xcc -fmodule-map-file="$map"); fi
    done
}
