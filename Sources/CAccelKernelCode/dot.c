// Dot products of many rows of weights with one vector: the main work of a decode step. Weights are decoded in
// registers, so memory is read once and never written.
#include "../CAccelKernels/half.h"
#include "fused.h"
#include "planes.h"

// Without contraction, a * b + c has two roundings on every instruction set, unless the code requests one.
#pragma clang fp contract(off)

// Four float32 rows share each load of the vector, and their sums keep the multipliers busy. Rows of codes are multiplied
// one by one: work on the codes keeps the multipliers busy, and memory is read in order.

/// Blocks of at least `unit` columns have as many times a power of two: its exponent.
static inline int block_shift(size_t block, size_t unit) {
    int shift = 0;
    while (unit << shift < block) shift++;
    return shift;
}

CK_INLINE const float *planes_plain(const float *table, float *buffer) {
    (void)buffer;
    return table;
}

#if CK_ARM

/// The entry of code c is at bytes 4c to 4c + 3 of the table.
CK_INLINE void add_entries_plain(const float *x, const uint32_t *words, const float *table, float *even, float *odd) {
    const uint8x16x4_t values = {{
        vld1q_u8((const uint8_t *)table),
        vld1q_u8((const uint8_t *)(table + 4)),
        vld1q_u8((const uint8_t *)(table + 8)),
        vld1q_u8((const uint8_t *)(table + 12)),
    }};
#pragma clang loop unroll(full)
    for (int part = 0; part < 16; part += 4) {
        const uint32x4_t four = vld1q_u32(words + part);
        float32x4_t sums[2] = {vld1q_f32(even + part), vld1q_f32(odd + part)};
#pragma clang loop unroll(full)
        for (int code = 0; code < 8; code++) {
            const uint32x4_t codes = vandq_u32(vshlq_u32(four, vdupq_n_s32(-4 * code)), vdupq_n_u32(15));
            const uint32x4_t places = vmlaq_n_u32(vdupq_n_u32(0x03020100), codes, 0x04040404);
            const float32x4_t entries = vreinterpretq_f32_u8(vqtbl4q_u8(values, vreinterpretq_u8_u32(places)));
            sums[code % 2] = vfmaq_f32(sums[code % 2], entries, vld1q_f32(x + 16 * code + part));
        }
        vst1q_f32(even + part, sums[0]);
        vst1q_f32(odd + part, sums[1]);
    }
}

#else

#if CK_X86
#define add_products ck_add_products_plain
#else
CK_INLINE void add_products(const float *a, const float *b, float *sums) {
    for (int lane = 0; lane < 16; lane++) sums[lane] = __builtin_fmaf(a[lane], b[lane], sums[lane]);
}
#endif

CK_INLINE void add_entries_plain(const float *x, const uint32_t *words, const float *table, float *even, float *odd) {
    for (int code = 0; code < 8; code++) {
        float entries[16];
        for (int lane = 0; lane < 16; lane++) entries[lane] = table[words[lane] >> (4 * code) & 15];
        add_products(entries, x + 16 * code, code % 2 ? odd : even);
    }
}

#endif

#if CK_ARM
CK_INLINE
#else
// By many instructions for each number: not in place.
static __attribute__((noinline))
#endif
void widen_plain(const uint8_t *from, size_t count, float *target) {
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

#if CK_X86

CK_INLINE const float *planes_avx2(const float *table, float *buffer) {
    return (const float *)by_bytes(table, 16, (uint8_t *)buffer);
}

CK_TARGET_AVX2 CK_INLINE void add_entries_avx2(const float *x, const uint32_t *words, const float *planes, float *even,
                                               float *odd) {
    // Of each four words the first bytes, then the second ones.
    const __m256i order = _mm256_broadcastsi128_si256(
        _mm_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15));
    __m256i plane[4];
#pragma clang loop unroll(full)
    for (int i = 0; i < 4; i++) plane[i] = _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)planes + i));
#pragma clang loop unroll(full)
    for (int half = 0; half < 16; half += 8) {
        const __m256i bytes = _mm256_shuffle_epi8(_mm256_loadu_si256((const __m256i *)(words + half)), order);
#pragma clang loop unroll(full)
        for (int odds = 0; odds < 2; odds++) {
            const __m256i codes = _mm256_and_si256(odds ? _mm256_srli_epi16(bytes, 4) : bytes, _mm256_set1_epi8(15));
            __m256i found[4];
#pragma clang loop unroll(full)
            for (int i = 0; i < 4; i++) found[i] = _mm256_shuffle_epi8(plane[i], codes);
            const __m256i first[2] = {_mm256_unpacklo_epi8(found[0], found[1]), _mm256_unpackhi_epi8(found[0], found[1])};
            const __m256i last[2] = {_mm256_unpacklo_epi8(found[2], found[3]), _mm256_unpackhi_epi8(found[2], found[3])};
            float *target = (odds ? odd : even) + half;
            const float *own = x + 16 * odds + half;
            __m256 sums = _mm256_loadu_ps(target);
#pragma clang loop unroll(full)
            for (int i = 0; i < 2; i++) {
                const __m256i low = _mm256_unpacklo_epi16(first[i], last[i]);
                const __m256i high = _mm256_unpackhi_epi16(first[i], last[i]);
                sums = _mm256_fmadd_ps(_mm256_castsi256_ps(low), _mm256_loadu_ps(own + 64 * i), sums);
                sums = _mm256_fmadd_ps(_mm256_castsi256_ps(high), _mm256_loadu_ps(own + 64 * i + 32), sums);
            }
            _mm256_storeu_ps(target, sums);
        }
    }
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

CK_INLINE const float *planes_avx512(const float *table, float *buffer) {
    (void)buffer;
    return table;
}

CK_TARGET_AVX512 CK_INLINE void add_entries_avx512(const float *x, const uint32_t *words, const float *table, float *even,
                                                   float *odd) {
    const __m512 values = _mm512_loadu_ps(table);
    const __m512i codes = _mm512_loadu_si512(words);
    __m512 sums[2] = {_mm512_loadu_ps(even), _mm512_loadu_ps(odd)};
    // The permutation uses 4 bits only.
#pragma clang loop unroll(full)
    for (int code = 0; code < 8; code++)
        sums[code % 2] = _mm512_fmadd_ps(_mm512_permutexvar_ps(_mm512_srli_epi32(codes, (unsigned)(4 * code)), values),
                                         _mm512_loadu_ps(x + 16 * code), sums[code % 2]);
    _mm512_storeu_ps(even, sums[0]);
    _mm512_storeu_ps(odd, sums[1]);
}

CK_TARGET_AVX512 CK_INLINE void widen_avx512(const uint8_t *from, size_t count, float *target) {
    if (count == 16)
        _mm512_storeu_ps(target, _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)from)));
    else
        widen_avx2(from, count, target);
}

#endif

#define BODY "dot_body.h"
#include "each_set.h"

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

void ck_dot_vectors(const float *x, const uint8_t *codes, size_t stride, size_t rows, size_t count, const float *table,
                    size_t size, float *target) {
    CK_CHOOSE(dot_vectors, x, codes, stride, rows, count, table, size, target);
}

void ck_dot_codes4(const float *interleaved, const uint8_t *codes, size_t stride, size_t rows, size_t count,
                   const float table[16], const void *scales, ck_type type, size_t blocks, size_t block, float *target) {
    CK_CHOOSE(dot_codes4, interleaved, codes, stride, rows, count, table, scales, type, blocks, block, target);
}

void ck_dot_nibbles(const float *interleaved, const uint8_t *codes, size_t stride, size_t rows, size_t count,
                    int is_biased, const void *scales, ck_type type, size_t blocks, size_t block, float *target) {
    CK_CHOOSE(dot_nibbles, interleaved, codes, stride, rows, count, is_biased, scales, type, blocks, block, target);
}

void ck_dot_bytes(const float *x, const uint8_t *codes, size_t stride, size_t rows, size_t count, int bits,
                  const void *scales, ck_type type, size_t blocks, size_t block, float *target) {
    CK_CHOOSE(dot_bytes, x, codes, stride, rows, count, bits, scales, type, blocks, block, target);
}

void ck_dot_float8(const float *x, const uint8_t *codes, size_t stride, size_t rows, size_t count, int is_e5m2,
                   const float *scales, size_t scale_stride, size_t blocks, size_t block, float *target) {
    CK_CHOOSE(dot_float8, x, codes, stride, rows, count, is_e5m2, scales, scale_stride, blocks, block, target);
}

void ck_dot_biases(const float *sums, const void *scales, const void *biases, ck_type type, float zero, size_t rows,
                   size_t blocks, float *target) {
    CK_CHOOSE(dot_biases, sums, scales, biases, type, zero, rows, blocks, target);
}

void ck_dot_zeros(const float *sums, const void *scales, ck_type type, const uint8_t *zeros, size_t stride,
                  size_t rows, size_t blocks, float *target) {
    CK_CHOOSE(dot_zeros, sums, scales, type, zeros, stride, rows, blocks, target);
}

void ck_weighted_sum(const float *weights, const float *rows, size_t stride, size_t count, size_t columns,
                     float *target) {
    CK_CHOOSE(weighted_sum, weights, rows, stride, count, columns, target);
}

void ck_weighted_sum_halves(const float *weights, const uint16_t *rows, size_t stride, size_t count, size_t columns,
                            float *target) {
    CK_CHOOSE(weighted_sum_halves, weights, rows, stride, count, columns, target);
}

void ck_dot_byte_rows(const float *x, const int8_t *w, size_t stride, size_t rows, size_t count, float *target) {
    CK_CHOOSE(dot_byte_rows, x, w, stride, rows, count, target);
}

void ck_weighted_sum_byte_rows(const float *weights, const int8_t *rows, size_t stride, size_t count, size_t columns,
                               float *target) {
    CK_CHOOSE(weighted_sum_byte_rows, weights, rows, stride, count, columns, target);
}
