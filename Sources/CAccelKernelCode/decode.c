// Decodes stored codes of a weight to float32.
#include "planes.h"

// The difference and the product of a weight are rounded separately on every instruction set.
#pragma clang fp contract(off)

// ---- scalar definition ---------------------------------------------------------------------------------------

static void palette4_scalar(const uint8_t *codes, size_t first, const float table[16], float *target, size_t count) {
    for (size_t i = 0; i < count; i++) {
        size_t at = first + i;
        target[i] = table[at & 1 ? codes[at / 2] >> 4 : codes[at / 2] & 15];
    }
}

CK_INLINE void int8_body(const int8_t *codes, float scale, float zero, float *target, size_t count) {
    for (size_t i = 0; i < count; i++) target[i] = scale * ((float)codes[i] - zero);
}

static void int8_plain(const int8_t *codes, float scale, float zero, float *target, size_t count) {
    int8_body(codes, scale, zero, target, count);
}

CK_INLINE void zero_points_body(const uint8_t *codes, size_t count, size_t group, size_t first, const float *scales,
                                const float *zeros, float *target) {
    if (group == 0) {
        for (size_t i = 0; i < count; i++) target[i] = ((float)codes[i] - zeros[i]) * scales[i];
        return;
    }
    for (size_t i = 0, end = group - first % group, g = first / group; i < count; end += group, g++) {
        const float scale = scales[g], zero = zeros[g];
        for (const size_t stop = end < count ? end : count; i < stop; i++) target[i] = ((float)codes[i] - zero) * scale;
    }
}

static void zero_points_plain(const uint8_t *codes, size_t count, size_t group, size_t first, const float *scales, const float *zeros,
                              float *target) {
    zero_points_body(codes, count, group, first, scales, zeros, target);
}

// ---- vector variants: each starts at a whole byte and returns the number of decoded values -------------------

#if CK_X86

CK_TARGET_AVX2 static size_t palette4_avx2(const uint8_t *codes, const float table[16], float *target, size_t count) {
    __m256 first_half = _mm256_loadu_ps(table), second_half = _mm256_loadu_ps(table + 8);
    size_t i = 0;
    for (; i + 16 <= count; i += 16) {
        __m256i even = _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)(codes + i / 2)));
        __m256i odd = _mm256_srli_epi32(even, 4);
        __m256 a = entries_of_16(first_half, second_half, even), b = entries_of_16(first_half, second_half, odd);
        __m256 low = _mm256_unpacklo_ps(a, b), high = _mm256_unpackhi_ps(a, b);
        _mm256_storeu_ps(target + i, _mm256_permute2f128_ps(low, high, 0x20));
        _mm256_storeu_ps(target + i + 8, _mm256_permute2f128_ps(low, high, 0x31));
    }
    return i;
}

CK_TARGET_AVX512 static size_t palette4_avx512(const uint8_t *codes, const float table[16], float *target,
                                               size_t count) {
    __m512 values = _mm512_loadu_ps(table);
    // Each half of the vector takes 8 codes out of one word. The permutation uses 4 bits only.
    const __m512i shifts = _mm512_set_epi32(28, 24, 20, 16, 12, 8, 4, 0, 28, 24, 20, 16, 12, 8, 4, 0);
    size_t i = 0;
    for (; i + 16 <= count; i += 16) {
        uint32_t words[2];
        ck_copy(words, codes + i / 2, 8);
        __m512i both = _mm512_mask_set1_epi32(_mm512_set1_epi32((int)words[0]), 0xFF00, (int)words[1]);
        _mm512_storeu_ps(target + i, _mm512_permutexvar_ps(_mm512_srlv_epi32(both, shifts), values));
    }
    return i;
}

CK_TARGET_AVX2 static void int8_avx2(const int8_t *codes, float scale, float zero, float *target, size_t count) {
    int8_body(codes, scale, zero, target, count);
}

CK_TARGET_AVX2 static void zero_points_avx2(const uint8_t *codes, size_t count, size_t group, size_t first, const float *scales,
                                            const float *zeros, float *target) {
    zero_points_body(codes, count, group, first, scales, zeros, target);
}

CK_TARGET_AVX512 static void zero_points_avx512(const uint8_t *codes, size_t count, size_t group, size_t first, const float *scales,
                                                const float *zeros, float *target) {
    zero_points_body(codes, count, group, first, scales, zeros, target);
}

CK_TARGET_AVX512 static void int8_avx512(const int8_t *codes, float scale, float zero, float *target, size_t count) {
    int8_body(codes, scale, zero, target, count);
}

#elif CK_ARM

static size_t palette4_neon(const uint8_t *codes, const float table[16], float *target, size_t count) {
    uint8x16x4_t values = {{
        vld1q_u8((const uint8_t *)table),
        vld1q_u8((const uint8_t *)(table + 4)),
        vld1q_u8((const uint8_t *)(table + 8)),
        vld1q_u8((const uint8_t *)(table + 12)),
    }};
    static const uint8_t spread_bytes[16] = {0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3};
    static const uint8_t place_bytes[16] = {0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3};
    uint8x16_t spread = vld1q_u8(spread_bytes), places = vld1q_u8(place_bytes);
    size_t i = 0;
    for (; i + 16 <= count; i += 16) {
        uint8x8_t pairs = vld1_u8(codes + i / 2);
        uint8x8_t even = vand_u8(pairs, vdup_n_u8(15)), odd = vshr_n_u8(pairs, 4);
        // The entry of code c is at bytes 4c to 4c + 3 of the table.
        uint8x16_t starts = vshlq_n_u8(vcombine_u8(vzip1_u8(even, odd), vzip2_u8(even, odd)), 2);
#pragma clang loop unroll(full)
        for (int part = 0; part < 4; part++) {
            uint8x16_t from = vqtbl1q_u8(starts, vaddq_u8(spread, vdupq_n_u8((uint8_t)(4 * part))));
            vst1q_u8((uint8_t *)(target + i + 4 * part), vqtbl4q_u8(values, vaddq_u8(from, places)));
        }
    }
    return i;
}

#endif

// ---- dispatch ------------------------------------------------------------------------------------------------

void ck_decode_palette4(const uint8_t *codes, size_t first, const float table[16], float *target, size_t count) {
    if (first & 1 && count) {
        palette4_scalar(codes, first, table, target, 1);
        first++, target++, count--;
    }
    const uint8_t *start = codes + first / 2;
    size_t done = 0;
    switch (ck_current_isa()) {
#if CK_X86
    case CK_AVX512: done = palette4_avx512(start, table, target, count); break;
    case CK_AVX2: done = palette4_avx2(start, table, target, count); break;
#elif CK_ARM
    case CK_NEON: done = palette4_neon(start, table, target, count); break;
#endif
    default: break;
    }
    palette4_scalar(start, done, table, target + done, count - done);
}

void ck_decode_int8(const int8_t *codes, float scale, float zero, float *target, size_t count) {
    switch (ck_current_isa()) {
#if CK_X86
    case CK_AVX512: int8_avx512(codes, scale, zero, target, count); return;
    case CK_AVX2: int8_avx2(codes, scale, zero, target, count); return;
#endif
    default: int8_plain(codes, scale, zero, target, count);
    }
}

void ck_decode_zero_points(const uint8_t *codes, size_t count, size_t group, size_t first, const float *scales, const float *zeros,
                           float *target) {
    switch (ck_current_isa()) {
#if CK_X86
    case CK_AVX512: zero_points_avx512(codes, count, group, first, scales, zeros, target); return;
    case CK_AVX2: zero_points_avx2(codes, count, group, first, scales, zeros, target); return;
#endif
    default: zero_points_plain(codes, count, group, first, scales, zeros, target);
    }
}
