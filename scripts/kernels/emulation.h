// Instructions of AVX-512 and AMX in C, for processors that lack them. scripts/kernels.sh includes this file before the
// products: their bodies for them are then compiled for AVX2, and each instruction that they name is a loop over bytes.
// Source of what they do: Intel 64 and IA-32 Architectures Software Developer's Manual, volume 2.
#ifndef KERNELS_EMULATION_H
#define KERNELS_EMULATION_H

#include <immintrin.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/// How often each kind of instruction was called; the check defines it.
enum { EMULATED_VNNI, EMULATED_AVX512, EMULATED_AMX, EMULATED_BF16, EMULATED_AMX_BF16, EMULATED_KINDS };
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

static inline float emulated_number(uint16_t bits) {
    const uint32_t word = (uint32_t)bits << 16;
    float number;
    memcpy(&number, &word, sizeof number);
    // Numbers below 2^-126 are taken for 0.
    return word & 0x7F800000 ? number : 0;
}

/// VDPBF16PS: adds two products of bfloat16, the one of odd index first.
EMULATED __m512 emulated_dpbf16(__m512 sum, __m512bh a, __m512bh b) {
    float sums[16];
    uint16_t x[32], y[32];
    memcpy(sums, &sum, sizeof sums);
    memcpy(x, &a, sizeof x);
    memcpy(y, &b, sizeof y);
    emulated_calls[EMULATED_BF16]++;
    for (int lane = 0; lane < 16; lane++)
        for (int i = 2 * lane + 1; i >= 2 * lane; i--) sums[lane] += emulated_number(x[i]) * emulated_number(y[i]);
    memcpy(&sum, sums, sizeof sums);
    return sum;
}

#define _mm512_dpbf16_ps emulated_dpbf16
#define _mm512_dpbusd_epi32 emulated_dpbusd
#define _mm512_madd_epi16 emulated_madd
#define _mm512_add_epi32 emulated_add
#define _mm512_cvtepi8_epi16 emulated_widening
#define _mm512_loadu_si512 emulated_load
#define _mm512_set1_epi32 emulated_repeated
#define _mm512_setzero_si512() emulated_repeated(0)

// ---- tiles ---------------------------------------------------------------------------------------------------

/// A tile that is not configured has no rows.
typedef struct {
    size_t rows, row_bytes;
    uint8_t bytes[16][64];
} emulated_tile;

static emulated_tile emulated_tiles[8];
/// Whether tiles are configured; the check defines it.
extern int emulated_tiles_in_use;

/// Stops the program where the processor would raise a fault.
static __attribute__((unused)) void emulated_fault_unless(int is_met, const char *rule) {
    if (is_met) return;
    printf("kernels: a processor would raise a fault, unless %s\n", rule);
    abort();
}

/// LDTILECFG.
EMULATED void emulated_loadconfig(const void *config) {
    uint8_t bytes[64], rest = 0;
    memcpy(bytes, config, sizeof bytes);
    emulated_fault_unless(bytes[0] == 1 && bytes[1] == 0, "tiles are of palette 1 and start at row 0");
    for (int i = 2; i < 16; i++) rest |= bytes[i];
    for (int i = 32; i < 48; i++) rest |= bytes[i];
    for (int i = 56; i < 64; i++) rest |= bytes[i];
    emulated_fault_unless(!rest, "reserved bytes of a configuration are 0");
    memset(emulated_tiles, 0, sizeof emulated_tiles);
    for (int i = 0; i < 8; i++) {
        emulated_tile *tile = emulated_tiles + i;
        tile->rows = bytes[48 + i], tile->row_bytes = bytes[16 + 2 * i] + 256u * bytes[17 + 2 * i];
        emulated_fault_unless(tile->rows <= 16 && tile->row_bytes <= 64, "a tile has up to 16 rows of up to 64 bytes");
        emulated_fault_unless(!tile->rows == !tile->row_bytes, "a tile has both rows and bytes, or neither");
    }
    emulated_tiles_in_use = 1;
}

/// TILERELEASE.
EMULATED void emulated_release(void) {
    memset(emulated_tiles, 0, sizeof emulated_tiles);
    emulated_tiles_in_use = 0;
}

/// Returns a tile that an instruction names.
static __attribute__((unused)) emulated_tile *emulated_tile_at(int index) {
    emulated_fault_unless(emulated_tiles_in_use && emulated_tiles[index].rows, "an instruction names a configured tile");
    return emulated_tiles + index;
}

EMULATED void emulated_zero(int index) {
    emulated_tile *tile = emulated_tile_at(index);
    memset(tile->bytes, 0, sizeof tile->bytes);
}

EMULATED void emulated_loadd(int index, const void *base, size_t stride) {
    emulated_zero(index);
    emulated_tile *tile = emulated_tile_at(index);
    for (size_t row = 0; row < tile->rows; row++)
        memcpy(tile->bytes[row], (const char *)base + row * stride, tile->row_bytes);
}

EMULATED void emulated_stored(int index, void *base, size_t stride) {
    const emulated_tile *tile = emulated_tile_at(index);
    for (size_t row = 0; row < tile->rows; row++) memcpy((char *)base + row * stride, tile->bytes[row], tile->row_bytes);
}

/// TDPBUSD: adds the product of a, of bytes without a sign, and b, of quads of bytes with a sign. Sums wrap.
EMULATED void emulated_tile_dpbusd(int sum_index, int a_index, int b_index) {
    emulated_tile *sum = emulated_tile_at(sum_index);
    const emulated_tile *a = emulated_tile_at(a_index), *b = emulated_tile_at(b_index);
    emulated_calls[EMULATED_AMX]++;
    emulated_fault_unless(sum != a && a != b && sum != b, "the tiles of a product differ");
    emulated_fault_unless(sum->rows == a->rows && sum->row_bytes == b->row_bytes && a->row_bytes == 4 * b->rows
                              && sum->row_bytes % 4 == 0,
                          "the tiles of a product fit together");
    for (size_t m = 0; m < sum->rows; m++) {
        uint32_t sums[16];
        memcpy(sums, sum->bytes[m], sizeof sums);
        for (size_t k = 0; k < b->rows; k++)
            for (size_t n = 0; n < sum->row_bytes / 4; n++)
                for (size_t i = 0; i < 4; i++)
                    sums[n] += (uint32_t)(a->bytes[m][4 * k + i] * (int8_t)b->bytes[k][4 * n + i]);
        memcpy(sum->bytes[m], sums, sum->row_bytes);
    }
    for (size_t m = sum->rows; m < 16; m++) memset(sum->bytes[m], 0, 64);
}

/// TDPBF16PS: adds the product of a and b, of pairs of bfloat16. Products of even and of odd index have sums of their own.
EMULATED void emulated_tile_dpbf16ps(int sum_index, int a_index, int b_index) {
    emulated_tile *sum = emulated_tile_at(sum_index);
    const emulated_tile *a = emulated_tile_at(a_index), *b = emulated_tile_at(b_index);
    emulated_calls[EMULATED_AMX_BF16]++;
    emulated_fault_unless(sum != a && a != b && sum != b && sum->rows == a->rows && sum->row_bytes == b->row_bytes
                              && a->row_bytes == 4 * b->rows && sum->row_bytes % 4 == 0,
                          "the tiles of a product differ and fit together");
    for (size_t m = 0; m < sum->rows; m++) {
        float sums[16], own[16][2] = {{0}};
        uint16_t x[32], y[32];
        memcpy(sums, sum->bytes[m], sizeof sums);
        memcpy(x, a->bytes[m], sizeof x);
        for (size_t k = 0; k < b->rows; k++) {
            memcpy(y, b->bytes[k], sizeof y);
            for (size_t n = 0; n < sum->row_bytes / 4; n++)
                for (size_t i = 0; i < 2; i++) own[n][i] += emulated_number(x[2 * k + i]) * emulated_number(y[2 * n + i]);
        }
        for (size_t n = 0; n < 16; n++) sums[n] += own[n][0] + own[n][1];
        memcpy(sum->bytes[m], sums, sum->row_bytes);
    }
    for (size_t m = sum->rows; m < 16; m++) memset(sum->bytes[m], 0, 64);
}

#undef _tile_zero
#undef _tile_loadd
#undef _tile_stored
#undef _tile_dpbusd
#undef _tile_dpbf16ps
#define _tile_loadconfig emulated_loadconfig
#define _tile_release emulated_release
#define _tile_zero emulated_zero
#define _tile_loadd emulated_loadd
#define _tile_stored emulated_stored
#define _tile_dpbusd emulated_tile_dpbusd
#define _tile_dpbf16ps emulated_tile_dpbf16ps

#endif
