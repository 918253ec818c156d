#!/usr/bin/env bash
# Compares the products of int8 activations and of bfloat16 with the scalar form for the instruction sets that this processor lacks:
# their bodies are compiled with those instructions written in C (scripts/kernels/emulation.h), and multiply a list of odd shapes
# and shapes chosen at random. Any other bit fails, and so does a read or write past the end of an operand. AMX and NEON
# add products of bfloat16 in an order of their own, and are compared with float64 there.
# On x86-64 the forms for NEON run under qemu-aarch64, if it and a cross compiler (aarch64-linux-gnu-gcc) are there.
# usage: kernels.sh [SHAPES [SEED]]      (default: 2000 random shapes, half as many under qemu, seed 1: less than a minute)
set -euo pipefail
cd "$(dirname "$0")/.."
shapes=${1:-2000}
seed=${2:-1}
command -v clang >/dev/null || { echo "kernels: needs clang, which comes with Swift" >&2; exit 3; }
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

compile() { # folder of the objects, then flags for the kernels
    local folder=$scratch/$1 file
    shift
    mkdir -p "$folder"
    local -a running=()
    for file in Sources/CAccelKernelCode/{bf16_gemm,bf16_pack,int8_gemm,int8_pack,pack,rounding}.c scripts/kernels/check*.c; do
        clang -std=gnu11 -O2 -Wall -Wextra -Werror "$@" -c "$file" -o "$folder/$(basename "$file" .c).o" &
        running+=($!)
    done
    for file in "${running[@]}"; do wait "$file"; done
}

instructions() { # file, then what its code has to have
    local name=$1 instruction
    shift
    clang -std=gnu11 -O2 -c "Sources/CAccelKernelCode/$name.c" -o "$scratch/product.o"
    objdump -d --no-show-raw-insn "$scratch/product.o" >"$scratch/product.txt"
    for instruction in "$@"; do
        grep -q "\<$instruction\>" "$scratch/product.txt" || { echo "kernels: $name.c has no $instruction" >&2; exit 1; }
    done
}

case $(uname -m) in
x86_64)
    # Vectors of 64 bytes are passed between functions of one file only.
    compile own -include scripts/kernels/emulation.h -Wno-psabi
    clang "$scratch"/own/*.o -lm -o "$scratch/check"
    "$scratch/check" "$shapes" "$seed"
    # Without the emulation the same bodies have the instructions themselves.
    if command -v objdump >/dev/null; then
        instructions int8_gemm vpmaddwd vpdpbusd ldtilecfg tileloadd tdpbusd tilestored tilerelease
        instructions bf16_gemm vdpbf16ps vfmadd231ps ldtilecfg tileloadd tdpbf16ps tilestored tilerelease
    else
        echo "kernels: no objdump: the instructions of the products are not checked"
    fi
    if ! command -v aarch64-linux-gnu-gcc >/dev/null || ! command -v qemu-aarch64 >/dev/null; then
        echo "kernels: qemu-aarch64 or aarch64-linux-gnu-gcc is not installed: NEON is not checked"
    else
        compile arm --target=aarch64-linux-gnu
        aarch64-linux-gnu-gcc -static "$scratch"/arm/*.o -lm -o "$scratch/check-arm"
        qemu-aarch64 "$scratch/check-arm" $((shapes / 2)) "$seed"
    fi
    ;;
aarch64 | arm64)
    compile own
    clang "$scratch"/own/*.o -lm -o "$scratch/check"
    "$scratch/check" "$shapes" "$seed"
    ;;
*) echo "kernels: no fast forms for this processor" ;;
esac
