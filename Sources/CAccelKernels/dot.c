// Dot products of many rows of weights with one vector: the main work of a decode step. Weights are decoded in
// registers, so memory is read once and never written.
#include "half.h"

// Without contraction, a * b + c has two roundings on every instruction set, unless the code requests one.
#pragma clang fp contract(off)

// Four float32 rows share each load of the vector, and their sums keep the multipliers busy. Rows of codes are multiplied
// one by one: work on the codes keeps the multipliers busy, and memory is read in order.

/// Prefetches codes or halves that come later, to the second cache level. Harmless past the end of the rows.
#define prefetch_codes(p) __builtin_prefetch((const char *)(p) + 4096, 0, 2)

/// Blocks of at least `unit` columns have as many times a power of two: its exponent.
static inline int block_shift(size_t block, size_t unit) {
    int shift = 0;
    while (unit << shift < block) shift++;
    return shift;
}

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

CK_INLINE void widen_plain(const uint8_t *from, size_t count, float *target) {
    size_t i = 0;
#if CK_ARM
    for (; i + 4 <= count; i += 4)
        vst1q_f32(target + i, vcvt_f32_f16(vreinterpret_f16_u8(vld1_u8(from + 2 * i))));
#endif
    for (; i < count; i++) {
        uint16_t half;
        ck_copy(&half, from + 2 * i, 2);
        target[i] = widen_f16(half);
    }
}
#define NAME(x) x##_plain
#define TARGET
#define WIDEN_F16(from, count, target) widen_plain(from, count, target)
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

CK_TARGET_AVX2 CK_INLINE void widen_avx2(const uint8_t *from, size_t count, float *target) {
    if (count >= 8) {
        for (size_t i = 0; i < count; i += 8)
            _mm256_storeu_ps(target + i, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(from + 2 * i))));
    } else if (count == 4) {
        _mm_storeu_ps(target, _mm_cvtph_ps(_mm_loadl_epi64((const __m128i *)from)));
    } else {
        int32_t halves = 0;
        ck_copy(&halves, from, 2 * count);
        const __m128 wide = _mm_cvtph_ps(_mm_cvtsi32_si128(halves));
        ck_copy(target, &wide, 4 * count);
    }
}
#define NAME(x) x##_avx2
#define TARGET CK_TARGET_AVX2
#define ENTRIES(codes, table, target) entries_avx2((const uint32_t *)&codes, table, (float *)&target)
#define WIDEN_F16(from, count, target) widen_avx2(from, count, target)
#define LINEAR_BY_TABLE 0
#define TILE_ROWS 2
#define TILE_VECTORS 3
#include "dot_body.h"

// The permutation uses 4 bits only.
CK_TARGET_AVX512 CK_INLINE void entries_avx512(const uint32_t *codes, const float *table, float *target) {
    _mm512_storeu_ps(target, _mm512_permutexvar_ps(_mm512_loadu_si512(codes), _mm512_loadu_ps(table)));
}

CK_TARGET_AVX512 CK_INLINE void widen_avx512(const uint8_t *from, size_t count, float *target) {
    if (count == 16)
        _mm512_storeu_ps(target, _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)from)));
    else
        widen_avx2(from, count, target);
}
#define NAME(x) x##_avx512
#define TARGET CK_TARGET_AVX512
#define ENTRIES(codes, table, target) entries_avx512((const uint32_t *)&codes, table, (float *)&target)
#define WIDEN_F16(from, count, target) widen_avx512(from, count, target)
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

void ck_dot_halves(const float *x, const uint16_t *w, ck_type type, size_t stride, size_t rows, size_t count, float *target) {
    CK_CHOOSE(dot_halves, x, w, type, stride, rows, count, target);
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
                   const float table[16], const void *scales, ck_type type, size_t blocks, size_t block, float *target) {
    CK_CHOOSE(dot_codes4, interleaved, codes, stride, rows, count, table, scales, type, blocks, block, target);
}

void ck_dot_nibbles(const float *interleaved, const uint8_t *codes, size_t stride, size_t rows, size_t count,
                    int is_biased, const void *scales, ck_type type, size_t blocks, size_t block, float *target) {
    CK_CHOOSE(dot_nibbles, interleaved, codes, stride, rows, count, is_biased, scales, type, blocks, block, target);
}

void ck_dot_bytes(const float *x, const uint8_t *codes, size_t stride, size_t rows, size_t count, uint8_t zero,
                  const float *scales, size_t blocks, size_t block, float *target) {
    CK_CHOOSE(dot_bytes, x, codes, stride, rows, count, zero, scales, blocks, block, target);
}

void ck_weighted_sum(const float *weights, const float *rows, size_t stride, size_t count, size_t columns,
                     float *target) {
    CK_CHOOSE(weighted_sum, weights, rows, stride, count, columns, target);
}
