#!/usr/bin/env bash
# Builds the C libraries as they are shipped, into .build/libaccel (Linux):
#   include/   accel.h, accel_convert.h, accel.hpp; accel_plugin.h for backends
#   lib/       libaccel.so.1: models, sessions, streams. libaccelconvert.so.1: the same and conversion.
#              pkgconfig/accel.pc, pkgconfig/accelconvert.pc
# and checks what they export, need and are called, the interface against Tests/AccelCTests/libaccel.abi, and the examples.
# usage: libaccel.sh
#        libaccel.sh abi LIBRARY CONVERTING-LIBRARY     prints the interface: exported functions, sizes and offsets of structs
#        libaccel.sh update                             writes the interface of the libraries in .build/libaccel to libaccel.abi
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/setup.sh
dist=$PWD/.build/libaccel
# The goal is 8 MB, which is missed: this only stops growth that nobody sees. Swift's own libraries are 6.3 MB of it, kernels for all
# processors 4.3 MB, text with its templates 1.5 MB, sound and pictures 0.3 MB; codecs that only compress and Swift code that nothing here
# calls stay where tables of protocols name them.
limit=20500000
interface=Tests/AccelCTests/libaccel.abi
headers=Sources/CAccel/include
compiler=$(command -v clang || command -v cc)
# The C++ compiler beside it knows the C++ library of the system.
compilerxx=$(command -v clang++ || command -v c++)

fail() { echo "libaccel: $*" >&2; exit 1; }

exported() { # library: its functions, without versions and what the linker adds for them
    nm -D --defined-only "$1" | awk '$3 !~ /^ACCEL_/ { sub(/@.*/, "", $3); print $3 }' | sort -u
}

layouts() { # the structs of the headers, by a program made of what the preprocessor leaves of them
    local scratch
    scratch=$(mktemp -d)
    {
        printf '#include <stddef.h>\n#include <stdio.h>\n#include "accel_convert.h"\nint main(void) {\n'
        "$compiler" -E -P "-I$headers" "$headers/accel_convert.h" | awk '
            /^typedef struct accel_[a-z_]+ \{$/ { name = $3; printf "    printf(\"%s %%zu\\n\", sizeof(%s));\n", name, name; next }
            /^}/ { name = ""; next }
            name != "" && /;/ {
                sub(/;.*/, ""); sub(/\[.*/, ""); field = $NF; sub(/^\**/, "", field)
                printf "    printf(\"%s.%s %%zu\\n\", offsetof(%s, %s));\n", name, field, name, field
            }'
        printf '    return 0;\n}\n'
    } >"$scratch/layouts.c"
    "$compiler" "-I$headers" "$scratch/layouts.c" -o "$scratch/layouts"
    "$scratch/layouts"
    rm -rf "$scratch"
}

abi() { # library, converting library
    echo "# The binary interface of the C libraries, on processors of 64 bits: functions, then sizes of structs and offsets of fields."
    exported "$1" | { grep '^accel_' || true; } | sed 's/^/libaccel /'
    comm -13 <(exported "$1" | grep '^accel_') <(exported "$2" | grep '^accel_') | sed 's/^/libaccelconvert /'
    layouts
}

make() { # product, name of the library
    local scratch=.build/$2-build flags=()
    # Functions in sections of their own, so that the linker leaves out those that nothing calls. libaccel has no library of regular
    # expressions, which would come in with the import that the compiler adds; conversion needs it. Other flags are another build.
    if [ "$2" = libaccel ]; then flags=(-Xswiftc -Xfrontend -Xswiftc -disable-implicit-string-processing-module-import); fi
    swift build -c release --product "$1" --scratch-path "$scratch" -Xswiftc -static-stdlib \
        -Xswiftc -Xfrontend -Xswiftc -function-sections -Xcc -ffunction-sections -Xcc -fdata-sections \
        "${flags[@]}" -Xswiftc -use-ld=lld -Xlinker "-soname=$2.so.1" \
        -Xlinker "--version-script=$PWD/scripts/libaccel/accel.map" -Xlinker --gc-sections -Xlinker -s
    cp "$scratch/release/lib$1.so" "$dist/lib/$2.so.1"
    ln -sf "$2.so.1" "$dist/lib/$2.so"
    cat >"$dist/lib/pkgconfig/${2#lib}.pc" <<END
prefix=\${pcfiledir}/../..
Name: ${2#lib}
Description: opens and runs accelerator packages${3:-}
Version: $version
Cflags: -I\${prefix}/include
Libs: -L\${prefix}/lib -l${2#lib}
END
}

check() { # library
    local library=$dist/lib/$1.so.1 others
    others=$(exported "$library" | grep -v '^accel_' || true)
    [ -z "$others" ] || fail "$1 exports more than accel_*: $(head -3 <<<"$others")"
    nm -D --defined-only "$library" | grep -q ' accel_abi@@ACCEL_1$' || fail "$1 has no versions of its functions"
    readelf -d "$library" | grep -q "SONAME.*\[$1.so.1\]" || fail "$1 has another soname"
    # Swift's own libraries are inside; what is left is the C library and zlib.
    others=$(readelf -d "$library" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | grep -vE '^(ld-linux.*|lib(c|m|z|gcc_s|stdc\+\+|dl|pthread)\.so.*)$' || true)
    [ -z "$others" ] || fail "$1 needs $others"
    # One call of its functions, e.g. a split by a text, brings in 1.4 MB.
    [ "$1" != libaccel ] || ! grep -q _RegexParser "$library" || fail "$1 has Swift's regular expressions: the linker's --why-extract tells which file needs them"
    # shellcheck disable=SC2016  # the loader's own name, not a variable
    others=$(readelf -d "$library" | grep -E 'RPATH|RUNPATH' | grep -v '\[$ORIGIN\]' || true)
    [ -z "$others" ] || fail "$1 has a run path of this machine: $others"
    echo "$1: $(wc -c <"$library") bytes"
}

examples() { # compiles and runs the examples against the libraries
    local scratch flags=(-Wall -Wextra -pedantic -Werror "-I$dist/include" "-L$dist/lib" "-Wl,-rpath,$dist/lib")
    scratch=$(mktemp -d)
    for library in accel accelconvert; do
        "$compiler" -std=c99 "${flags[@]}" scripts/libaccel/examples/embed.c "-l$library" -o "$scratch/embed-$library"
        "$compiler" -std=c99 "${flags[@]}" scripts/libaccel/examples/generate.c "-l$library" -o "$scratch/generate-$library"
        "$compiler" -std=c99 "${flags[@]}" scripts/libaccel/examples/again.c "-l$library" -o "$scratch/again-$library"
        "$compilerxx" -std=c++11 "${flags[@]}" scripts/libaccel/examples/examples.cpp "-l$library" -o "$scratch/examples-$library"
    done
    "$compiler" -std=c99 "${flags[@]}" scripts/libaccel/examples/convert.c -laccelconvert -o "$scratch/convert"
    "$scratch/convert" Tests/Fixtures/bert_base "$scratch/bert.accelpkg" batch=1,sequence=5
    "$scratch/convert" Tests/Fixtures/qwen3_small "$scratch/qwen.accelpkg" batch=1,tokens=4,cache=16 batch=1,tokens=1,cache=16
    local embed=("$scratch/bert.accelpkg" model last_hidden_state 1 2 3 4 5) generate=("$scratch/qwen.accelpkg" 5 5 17 3 1)
    "$scratch/embed-accel" "${embed[@]}" >"$scratch/embedded"
    "$scratch/generate-accel" "${generate[@]}" >"$scratch/generated"
    [ "$(wc -l <"$scratch/generated")" = 6 ] || fail "generate printed $(cat "$scratch/generated")"
    "$scratch/again-accel" "${generate[@]}" | cmp - "$scratch/generated"
    "$scratch/again-accelconvert" "${generate[@]}" | cmp - "$scratch/generated"
    "$scratch/examples-accel" again "${generate[@]}" | cmp - "$scratch/generated"
    "$scratch/embed-accelconvert" "${embed[@]}" | cmp - "$scratch/embedded"
    "$scratch/generate-accelconvert" "${generate[@]}" | cmp - "$scratch/generated"
    "$scratch/examples-accel" embed "${embed[@]}" | cmp - "$scratch/embedded"
    "$scratch/examples-accelconvert" generate "${generate[@]}" | cmp - "$scratch/generated"
    if command -v python3 >/dev/null; then
        python3 scripts/libaccel/examples/examples.py "$dist/lib/libaccel.so.1" embed "${embed[@]}" | cmp - "$scratch/embedded"
        python3 scripts/libaccel/examples/examples.py "$dist/lib/libaccelconvert.so.1" generate "${generate[@]}" | cmp - "$scratch/generated"
        python3 scripts/libaccel/examples/examples.py "$dist/lib/libaccel.so.1" again "${generate[@]}" | cmp - "$scratch/generated"
    else
        echo "python3 is not installed: the example in Python is not run"
    fi
    rm -rf "$scratch"
}

case ${1:-} in
abi) abi "$2" "$3" ;;
update) abi "$dist/lib/libaccel.so.1" "$dist/lib/libaccelconvert.so.1" >"$interface" ;;
"")
    [ "$(uname)" = Linux ] || { echo "libaccel: the libraries are built on Linux only; on Apple's systems apps link the product Accel"; exit; }
    version=$(sed -n 's/.*static let version = "\([0-9.]*\)".*/\1/p' Sources/AccelPackages/PackageFormat.swift | head -1)
    rm -rf "$dist"
    mkdir -p "$dist/lib/pkgconfig" "$dist/include"
    cp $headers/accel.h $headers/accel_convert.h $headers/accel.hpp Sources/CAccelPlugin/include/accel_plugin.h "$dist/include"
    make AccelC libaccel
    make AccelCConvert libaccelconvert ", and converts models to them"
    check libaccel
    check libaccelconvert
    bytes=$(wc -c <"$dist/lib/libaccel.so.1")
    [ "$bytes" -le $limit ] || fail "libaccel has $bytes bytes, more than $limit"
    abi "$dist/lib/libaccel.so.1" "$dist/lib/libaccelconvert.so.1" | diff -u "$interface" - \
        || fail "the interface has changed (- before, + now); where that is meant and old programs still run, run libaccel.sh update"
    examples
    echo "libaccel: $dist"
    ;;
*)
    echo "usage: libaccel.sh [abi LIBRARY CONVERTING-LIBRARY | update]" >&2
    exit 2
    ;;
esac
