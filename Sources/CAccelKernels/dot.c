// Dot products of many rows of weights with one vector: the main work of a decode step. Weights are decoded in
// registers, so memory is read once and never written.
#include "internal.h"

// Without contraction, a * b + c has two roundings on every instruction set, unless the code requests one.
#pragma clang fp contract(off)

// The number of rows that share each load of the vector. Their sums keep the multipliers busy.
#define DOT_ROWS 4

/// Blocks of more than 16 columns have 32 of them, times a power of two: its exponent.
static inline int block_shift(size_t block) {
    int shift = 0;
    while ((size_t)32 << shift < block) shift++;
    return shift;
}

#define NAME(x) x##_plain
#define TARGET
#if CK_ARM

static inline void lookup_neon(const uint8_t *codes, const float *table, float *even, float *odd) {
    uint8x16x4_t values = {{
        vld1q_u8((const uint8_t *)table),
        vld1q_u8((const uint8_t *)(table + 4)),
        vld1q_u8((const uint8_t *)(table + 8)),
        vld1q_u8((const uint8_t *)(table + 12)),
    }};
    static const uint8_t spread_bytes[16] = {0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3};
    static const uint8_t place_bytes[16] = {0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3};
    uint8x16_t spread = vld1q_u8(spread_bytes), places = vld1q_u8(place_bytes), pairs = vld1q_u8(codes);
    // The entry of code c is at bytes 4c to 4c + 3 of the table.
    uint8x16_t low = vshlq_n_u8(vandq_u8(pairs, vdupq_n_u8(15)), 2), high = vshlq_n_u8(vshrq_n_u8(pairs, 4), 2);
#pragma clang loop unroll(full)
    for (int part = 0; part < 4; part++) {
        uint8x16_t from = vaddq_u8(spread, vdupq_n_u8((uint8_t)(4 * part)));
        vst1q_u8((uint8_t *)(even + 4 * part), vqtbl4q_u8(values, vaddq_u8(vqtbl1q_u8(low, from), places)));
        vst1q_u8((uint8_t *)(odd + 4 * part), vqtbl4q_u8(values, vaddq_u8(vqtbl1q_u8(high, from), places)));
    }
}
#define LOOKUP(codes, table, even, odd) lookup_neon(codes, table, (float *)&even, (float *)&odd)

#else

#define LOOKUP(codes, table, even, odd)                                                                       \
    for (int lane = 0; lane < 16; lane++)                                                                     \
    even[lane] = (table)[(codes)[lane] & 15], odd[lane] = (table)[(codes)[lane] >> 4]

#endif
#define TILE_ROWS 2
#define TILE_VECTORS 3
#include "dot_body.h"

#if CK_X86

CK_TARGET_AVX2 CK_INLINE void lookup_avx2(const uint8_t *codes, const float *table, float *even, float *odd) {
    __m256i a = _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)codes));
    __m256i b = _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)(codes + 8)));
    const __m256 low = _mm256_loadu_ps(table), high = _mm256_loadu_ps(table + 8);
    _mm256_storeu_ps(even, entries_of_16(low, high, a));
    _mm256_storeu_ps(even + 8, entries_of_16(low, high, b));
    _mm256_storeu_ps(odd, entries_of_16(low, high, _mm256_srli_epi32(a, 4)));
    _mm256_storeu_ps(odd + 8, entries_of_16(low, high, _mm256_srli_epi32(b, 4)));
}
#define NAME(x) x##_avx2
#define TARGET CK_TARGET_AVX2
#define LOOKUP(codes, table, even, odd) lookup_avx2(codes, table, (float *)&even, (float *)&odd)
#define TILE_ROWS 2
#define TILE_VECTORS 3
#include "dot_body.h"

// The permutation uses 4 bits only.
CK_TARGET_AVX512 CK_INLINE void lookup_avx512(const uint8_t *codes, const float *table, float *even, float *odd) {
    __m512 values = _mm512_loadu_ps(table);
    __m512i pairs = _mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i *)codes));
    _mm512_storeu_ps(even, _mm512_permutexvar_ps(pairs, values));
    _mm512_storeu_ps(odd, _mm512_permutexvar_ps(_mm512_srli_epi32(pairs, 4), values));
}
#define NAME(x) x##_avx512
#define TARGET CK_TARGET_AVX512
#define LOOKUP(codes, table, even, odd) lookup_avx512(codes, table, (float *)&even, (float *)&odd)
#define TILE_ROWS 4
#define TILE_VECTORS 4
#include "dot_body.h"

#endif

void ck_split_pairs(const float *x, size_t count, float *target) {
    for (size_t i = 0; i < (count + 31) / 32 * 32; i++)
        target[i / 32 * 32 + i % 2 * 16 + i % 32 / 2] = i < count ? x[i] : 0;
}

void ck_dot(const float *x, const float *w, size_t stride, size_t rows, size_t count, float *target) {
    CK_CHOOSE(dot, x, w, stride, rows, count, target);
}

void ck_dot_many(const float *x, size_t x_stride, size_t vectors, const float *w, size_t stride, size_t rows,
                 size_t count, float *target, size_t target_stride) {
    CK_CHOOSE(dot_many, x, x_stride, vectors, w, stride, rows, count, target, target_stride);
}

void ck_dot_int8(const float *x, const int8_t *codes, size_t stride, size_t rows, size_t count, const float *zeros,
                 float *target) {
    CK_CHOOSE(dot_int8, x, codes, stride, rows, count, zeros, target);
}

void ck_dot_codes4(const float *pairs, const uint8_t *codes, size_t stride, size_t rows, size_t count,
                   const float table[16], const float *scales, size_t blocks, size_t block, float *target) {
    CK_CHOOSE(dot_codes4, pairs, codes, stride, rows, count, table, scales, blocks, block, target);
}

void ck_dot_nibbles(const float *pairs, const uint8_t *codes, size_t stride, size_t rows, size_t count, int flip,
                    float zero, const float *scales, size_t blocks, size_t block, float *target) {
    CK_CHOOSE(dot_nibbles, pairs, codes, stride, rows, count, flip, zero, scales, blocks, block, target);
}

void ck_dot_bytes(const float *x, const uint8_t *codes, size_t stride, size_t rows, size_t count, float zero,
                  const float *scales, size_t blocks, size_t block, float *target) {
    CK_CHOOSE(dot_bytes, x, codes, stride, rows, count, zero, scales, blocks, block, target);
}

void ck_weighted_sum(const float *weights, const float *rows, size_t stride, size_t count, size_t columns,
                     float *target) {
    CK_CHOOSE(weighted_sum, weights, rows, stride, count, columns, target);
}
