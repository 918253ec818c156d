// Dot products of many rows of weights with one vector: the main work of a decode step. Weights are decoded in
// registers, so memory is read once and never written.
#include "internal.h"

// Without contraction, a * b + c has two roundings on every instruction set, unless the code requests one.
#pragma clang fp contract(off)

// The number of rows that share each load of the vector. Their sums keep the multipliers busy.
#define DOT_ROWS 4

/// Prefetches what comes some rows on. A product reads few rows at once, whose parts are too short for the hardware to see
/// that they follow each other. Harmless past the end of the rows.
#define prefetch_rows(p) __builtin_prefetch((const char *)(p) + 4096)

/// Blocks of at least `unit` columns have as many times a power of two: its exponent.
static inline int block_shift(size_t block, size_t unit) {
    int shift = 0;
    while (unit << shift < block) shift++;
    return shift;
}

#define NAME(x) x##_plain
#define TARGET
#if CK_ARM

/// The entry of code c is at bytes 4c to 4c + 3 of the table.
static inline void entries_neon(const uint32_t *codes, const float *table, float *target) {
    const uint8x16x4_t values = {{
        vld1q_u8((const uint8_t *)table),
        vld1q_u8((const uint8_t *)(table + 4)),
        vld1q_u8((const uint8_t *)(table + 8)),
        vld1q_u8((const uint8_t *)(table + 12)),
    }};
#pragma clang loop unroll(full)
    for (int part = 0; part < 16; part += 4) {
        const uint32x4_t code = vandq_u32(vld1q_u32(codes + part), vdupq_n_u32(15));
        const uint32x4_t places = vmlaq_n_u32(vdupq_n_u32(0x03020100), code, 0x04040404);
        vst1q_u8((uint8_t *)(target + part), vqtbl4q_u8(values, vreinterpretq_u8_u32(places)));
    }
}
#define ENTRIES(codes, table, target) entries_neon((const uint32_t *)&codes, table, (float *)&target)

#else

#define ENTRIES(codes, table, target) \
    for (int lane = 0; lane < 16; lane++) target[lane] = (table)[codes[lane] & 15]

#endif
#define LINEAR_BY_TABLE 0
#define TILE_ROWS 2
#define TILE_VECTORS 3
#include "dot_body.h"

#if CK_X86

CK_TARGET_AVX2 CK_INLINE void entries_avx2(const uint32_t *codes, const float *table, float *target) {
    const __m256 low = _mm256_loadu_ps(table), high = _mm256_loadu_ps(table + 8);
    _mm256_storeu_ps(target, entries_of_16(low, high, _mm256_loadu_si256((const __m256i *)codes)));
    _mm256_storeu_ps(target + 8, entries_of_16(low, high, _mm256_loadu_si256((const __m256i *)(codes + 8))));
}
#define NAME(x) x##_avx2
#define TARGET CK_TARGET_AVX2
#define ENTRIES(codes, table, target) entries_avx2((const uint32_t *)&codes, table, (float *)&target)
#define LINEAR_BY_TABLE 0
#define TILE_ROWS 2
#define TILE_VECTORS 3
#include "dot_body.h"

// The permutation uses 4 bits only.
CK_TARGET_AVX512 CK_INLINE void entries_avx512(const uint32_t *codes, const float *table, float *target) {
    _mm512_storeu_ps(target, _mm512_permutexvar_ps(_mm512_loadu_si512(codes), _mm512_loadu_ps(table)));
}
#define NAME(x) x##_avx512
#define TARGET CK_TARGET_AVX512
#define ENTRIES(codes, table, target) entries_avx512((const uint32_t *)&codes, table, (float *)&target)
#define LINEAR_BY_TABLE 1
#define TILE_ROWS 4
#define TILE_VECTORS 4
#include "dot_body.h"

#endif

size_t ck_interleaved_count(size_t count) { return (count + 127) / 128 * 128; }

void ck_interleave(const float *x, size_t count, float *target) {
    size_t i = 0;
    for (; i + 128 <= count; i += 128)
        for (size_t code = 0; code < 8; code++)
            for (size_t lane = 0; lane < 16; lane++) target[i + 16 * code + lane] = x[i + 8 * lane + code];
    for (; i < ck_interleaved_count(count); i++)
        target[i / 128 * 128 + i % 8 * 16 + i % 128 / 8] = i < count ? x[i] : 0;
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

void ck_dot_codes4(const float *interleaved, const uint8_t *codes, size_t stride, size_t rows, size_t count,
                   const float table[16], const float *scales, size_t blocks, size_t block, float *target) {
    CK_CHOOSE(dot_codes4, interleaved, codes, stride, rows, count, table, scales, blocks, block, target);
}

void ck_dot_nibbles(const float *interleaved, const uint8_t *codes, size_t stride, size_t rows, size_t count, int flip,
                    float zero, const float *scales, size_t blocks, size_t block, float *target) {
    CK_CHOOSE(dot_nibbles, interleaved, codes, stride, rows, count, flip, zero, scales, blocks, block, target);
}

void ck_dot_bytes(const float *x, const uint8_t *codes, size_t stride, size_t rows, size_t count, float zero,
                  const float *scales, size_t blocks, size_t block, float *target) {
    CK_CHOOSE(dot_bytes, x, codes, stride, rows, count, zero, scales, blocks, block, target);
}

void ck_weighted_sum(const float *weights, const float *rows, size_t stride, size_t count, size_t columns,
                     float *target) {
    CK_CHOOSE(weighted_sum, weights, rows, stride, count, columns, target);
}
