// AVX-512 instructions in C, for processors that lack them. scripts/kernels.sh includes this file before int8_gemm.c: its bodies
// for AVX-512 are then compiled for AVX2, and each instruction that they name is a loop over bytes.
#ifndef KERNELS_EMULATION_H
#define KERNELS_EMULATION_H

#include <immintrin.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/// How often each kind of instruction was called; the check defines it.
enum { EMULATED_VNNI, EMULATED_AVX512, EMULATED_KINDS };
extern unsigned long emulated_calls[EMULATED_KINDS];

// A function that asks for any instruction set gets this one.
#define target(features) target("avx2,fma,f16c")
#define EMULATED static __attribute__((noinline, unused, target()))

typedef union {
    __m512i whole;
    int32_t words[16];
    int16_t shorts[32];
    uint8_t codes[64];
    int8_t signed_codes[64];
} emulated_vector;

/// VPDPBUSD: adds the sums of four products of a byte without a sign and one with a sign. Sums wrap.
EMULATED __m512i emulated_dpbusd(__m512i sum, __m512i a, __m512i b) {
    emulated_vector result = {.whole = sum}, x = {.whole = a}, y = {.whole = b};
    emulated_calls[EMULATED_VNNI]++;
    for (int lane = 0; lane < 16; lane++)
        for (int i = 4 * lane; i < 4 * lane + 4; i++)
            result.words[lane] = (int32_t)((uint32_t)result.words[lane] + (uint32_t)(x.codes[i] * y.signed_codes[i]));
    return result.whole;
}

/// VPMADDWD: the sums of two products of neighbours.
EMULATED __m512i emulated_madd(__m512i a, __m512i b) {
    emulated_vector result, x = {.whole = a}, y = {.whole = b};
    emulated_calls[EMULATED_AVX512]++;
    for (int lane = 0; lane < 16; lane++) {
        const int i = 2 * lane;
        result.words[lane] = (int32_t)((uint32_t)(x.shorts[i] * y.shorts[i]) + (uint32_t)(x.shorts[i + 1] * y.shorts[i + 1]));
    }
    return result.whole;
}

EMULATED __m512i emulated_add(__m512i a, __m512i b) {
    emulated_vector result, x = {.whole = a}, y = {.whole = b};
    for (int lane = 0; lane < 16; lane++)
        result.words[lane] = (int32_t)((uint32_t)x.words[lane] + (uint32_t)y.words[lane]);
    return result.whole;
}

EMULATED __m512i emulated_widening(__m256i codes) {
    emulated_vector result;
    int8_t own[32];
    memcpy(own, &codes, sizeof own);
    for (int i = 0; i < 32; i++) result.shorts[i] = own[i];
    return result.whole;
}

EMULATED __m512i emulated_load(const void *from) {
    emulated_vector result;
    memcpy(&result, from, sizeof result);
    return result.whole;
}

EMULATED __m512i emulated_repeated(int32_t word) {
    emulated_vector result;
    for (int lane = 0; lane < 16; lane++) result.words[lane] = word;
    return result.whole;
}

#define _mm512_dpbusd_epi32 emulated_dpbusd
#define _mm512_madd_epi16 emulated_madd
#define _mm512_add_epi32 emulated_add
#define _mm512_cvtepi8_epi16 emulated_widening
#define _mm512_loadu_si512 emulated_load
#define _mm512_set1_epi32 emulated_repeated
#define _mm512_setzero_si512() emulated_repeated(0)

#endif
