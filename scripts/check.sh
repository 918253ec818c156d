#!/usr/bin/env bash
# Everything a change has to pass before it lands, beyond the tests: format, kernels for other processors, warnings as errors, release,
# sanitizers, fuzzing, the public API, a package that uses it and the C libraries.
# usage: check.sh [STEP...]     steps: format layers docs traps kernels release address thread fuzz api consumer libaccel      (default: all, in this order)
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/setup.sh

tests() { # name, then flags of the build; each kind keeps its own build folder, so that none undoes another's work
    local scratch=.build/check-$1
    shift
    swift build --build-tests --scratch-path "$scratch" "$@"
    swift test --skip-build --disable-xctest --scratch-path "$scratch" "$@"
}

warnings=(-Xswiftc -warnings-as-errors -Xcc -Wall -Xcc -Wextra -Xcc -Werror)
if [ $# = 0 ]; then set -- format layers docs traps kernels release address thread fuzz api consumer libaccel; fi
for step; do
    echo "== $step"
    case $step in
    format)
        swift format lint --strict --recursive --parallel Package.swift Sources Tests scripts/consumer scripts/docs
        if command -v shellcheck >/dev/null; then shellcheck -x scripts/*.sh .ci/run; else echo "shellcheck is not installed: shell scripts not checked"; fi
        ;;
    # A line for each: the first command before an && may fail without ending the script.
    layers)
        scripts/layers.sh check
        scripts/platforms.sh
        ;;
    docs)
        scripts/docs.sh
        scripts/undocumented.sh
        scripts/words.sh
        ;;
    traps) scripts/check_traps.sh ;;
    kernels) scripts/kernels.sh ;;
    release)
        swift build -c release --product accelc --scratch-path .build/check-release "${warnings[@]}"
        if [ "$(uname -m)" = x86_64 ] && command -v objdump >/dev/null; then
            python3 scripts/stack_objects.py .build/check-release/release/accelc
        else
            echo "no objdump for x86-64: the objects on the stack are not checked"
        fi
        ;;
    # The sanitizers run optimised builds, which take less time: Swift's checks of arithmetic and indices are in them too. Behaviour of the C
    # code that its standard leaves undefined ends the program, whatever an optimiser would make of it.
    address)
        LSAN_OPTIONS=suppressions=$PWD/scripts/leaks.txt:print_suppressions=0 tests address -c release -Xswiftc -enable-testing \
            "${warnings[@]}" --sanitize address -Xcc -fsanitize=undefined -Xcc -fsanitize-trap=undefined
        ;;
    # Each process under the thread sanitizer sleeps for a second at its end, unless told not to; the tests start many.
    thread) TSAN_OPTIONS=suppressions=$PWD/scripts/races.txt:atexit_sleep_ms=0 tests thread -c release -Xswiftc -enable-testing --sanitize thread ;;
    fuzz) scripts/fuzz.sh 30 ;;
    api) scripts/api.sh ;;
    consumer) scripts/consumer.sh ;;
    libaccel) scripts/libaccel.sh ;;
    *)
        echo "check: no step is called '$step'; there are format layers docs traps kernels release address thread fuzz api consumer libaccel" >&2
        exit 2
        ;;
    esac
done
echo "== passed: $*"
