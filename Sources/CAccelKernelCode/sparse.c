// Expands values over a row by a bit mask, and multiplies such rows with a vector.
#include "internal.h"

// Without contraction, a * b + c has two roundings on every instruction set, unless the code requests one.
#pragma clang fp contract(off)

static void expand_scalar(const float *values, const uint8_t *mask, float *target, size_t first, size_t count) {
    for (size_t i = first; i < count; i++) target[i] = mask[i / 8] >> (i % 8) & 1 ? *values++ : 0;
}

#if CK_X86
/// Each byte of a word is 1 where the bit of its index is set, else 0.
CK_INLINE uint64_t bits_as_bytes(uint8_t bits) {
    const uint64_t ones = 0x0101010101010101;
    uint64_t spread = bits * ones & 0x8040201008040201;
    return (spread + 0x7F * ones) >> 7 & ones;
}

/// The next of eight values where a bit is set, else 0.
CK_TARGET_AVX2 CK_INLINE __m256 spread_avx2(const float *values, uint8_t mask) {
    const uint64_t bits = bits_as_bytes(mask);
    // The product's byte k is the number of bits set up to bit k.
    const uint64_t positions = bits * 0x0101010101010101 - bits;
    const __m256i isSet = _mm256_cvtepu8_epi32(_mm_cvtsi64_si128((long long)bits));
    const __m256i from = _mm256_cvtepu8_epi32(_mm_cvtsi64_si128((long long)positions));
    const __m256 lanes = _mm256_permutevar8x32_ps(_mm256_loadu_ps(values), from);
    return _mm256_and_ps(lanes, _mm256_castsi256_ps(_mm256_cmpgt_epi32(isSet, _mm256_setzero_si256())));
}

CK_TARGET_AVX2 static size_t expand_avx2(const float *values, const uint8_t *mask, float *target, size_t count, size_t *used) {
    // Eight values are read at once: as many as have to follow, whatever the masks of their lanes are.
    size_t i = 0, taken = 0, all = 0;
    for (size_t k = 0; k < count / 8; k++) all += (size_t)__builtin_popcount(mask[k]);
    for (; i + 8 <= count && taken + 8 <= all; i += 8) {
        _mm256_storeu_ps(target + i, spread_avx2(values + taken, mask[i / 8]));
        taken += (size_t)__builtin_popcount(mask[i / 8]);
    }
    *used = taken;
    return i;
}

CK_TARGET_AVX512 static size_t expand_avx512(const float *values, const uint8_t *mask, float *target, size_t count,
                                             size_t *used) {
    size_t i = 0, taken = 0;
    for (; i + 16 <= count; i += 16) {
        uint16_t bits;
        ck_copy(&bits, mask + i / 8, 2);
        // Reads only as many values as there are set bits.
        _mm512_storeu_ps(target + i, _mm512_maskz_expandloadu_ps(bits, values + taken));
        taken += (size_t)__builtin_popcount(bits);
    }
    *used = taken;
    return i;
}
#endif

void ck_expand_mask(const float *values, const uint8_t *mask, float *target, size_t count) {
    size_t done = 0, used = 0;
#if CK_X86
    if (ck_current_isa() == CK_AVX2) done = expand_avx2(values, mask, target, count, &used);
    if (ck_current_isa() == CK_AVX512) done = expand_avx512(values, mask, target, count, &used);
#endif
    expand_scalar(values + used, mask, target, done, count);
}

/// The number of values before a row.
CK_INLINE uint32_t start_of(const void *starts, size_t row) {
    uint32_t start;
    ck_copy(&start, (const uint8_t *)starts + 4 * row, 4);
    return start;
}

CK_INLINE void sixteen_plain(const float *values, uint16_t mask, float *target) {
    for (int i = 0; i < 16; i++) target[i] = mask >> i & 1 ? *values++ : 0;
}

#if CK_X86

CK_TARGET_AVX2 CK_INLINE void sixteen_avx2(const float *values, uint16_t mask, float *target) {
    _mm256_storeu_ps(target, spread_avx2(values, (uint8_t)mask));
    _mm256_storeu_ps(target + 8, spread_avx2(values + __builtin_popcount(mask & 0xFF), (uint8_t)(mask >> 8)));
}

CK_TARGET_AVX512 CK_INLINE void sixteen_avx512(const float *values, uint16_t mask, float *target) {
    // Of sixteen values in a register: an expansion of memory takes several times as long.
    _mm512_storeu_ps(target, _mm512_maskz_expand_ps(mask, _mm512_loadu_ps(values)));
}

#endif

#define BODY "masked_body.h"
#include "each_set.h"

void ck_dot_masked(const float *x, const float *values, const void *starts, const uint8_t *mask, size_t stride,
                   size_t rows, size_t count, float *target) {
    CK_CHOOSE(dot_masked, x, values, starts, mask, stride, rows, count, target);
}
