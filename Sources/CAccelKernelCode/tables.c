// Codes of one byte to entries of a table: palettes, short vectors, and the numbers of eight bits.
#include "../CAccelKernels/half.h"
#include "planes.h"

// A number and its scale are rounded once, on every instruction set.
#pragma clang fp contract(off)

static void look_up_scalar(const uint8_t *codes, const float *table, size_t count, float *target) {
    for (size_t i = 0; i < count; i++) target[i] = table[codes[i]];
}

static void float8_scalar(const uint8_t *codes, int is_e5m2, float scale, size_t count, float *target) {
    for (size_t i = 0; i < count; i++) {
        // As the upper byte of a float16, or with one bit of exponent more and 2^8 times too small.
        const uint16_t low = codes[i] & 0x7F, sign = (uint16_t)((codes[i] & 0x80) << 8);
        const uint16_t half = is_e5m2 ? (uint16_t)(codes[i] << 8) : (uint16_t)(sign | (low == 0x7F ? 0x7F80 : low << 7));
        target[i] = widen_f16(half) * (is_e5m2 ? 1.0f : 256.0f) * scale;
    }
}

#if CK_X86

/// Sixteen entries at most; a smaller table is read as far as it goes.
CK_TARGET_AVX2 static size_t look_up_16(const uint8_t *codes, const float *table, int bits, size_t count, float *target) {
    float entries[16] = {0};
    ck_copy(entries, table, sizeof(float) << bits);
    const __m256 low = _mm256_loadu_ps(entries), high = _mm256_loadu_ps(entries + 8);
    size_t i = 0;
    for (; i + 8 <= count; i += 8) {
        __m256i code = _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)(codes + i)));
        _mm256_storeu_ps(target + i, bits == 4 ? entries_of_16(low, high, code) : _mm256_permutevar8x32_ps(low, code));
    }
    return i;
}

/// 64 entries, looked up by their bytes.
CK_TARGET_AVX2 static size_t look_up_64(const uint8_t *codes, const float *table, size_t count, float *target) {
    uint8_t planes[4 * 64];
    by_bytes(table, 64, planes);
    size_t i = 0;
    for (; i + 32 <= count; i += 32) {
        __m256 entries[4];
        entries_of_32(codes + i, planes, 6, entries);
#pragma clang loop unroll(full)
        for (int k = 0; k < 4; k++) _mm256_storeu_ps(target + i + 8 * k, entries[k]);
    }
    return i;
}

CK_TARGET_AVX2 static size_t float8_avx2(const uint8_t *codes, int is_e5m2, float scale, size_t count, float *target) {
    const __m256 by = _mm256_set1_ps(scale), shift = _mm256_set1_ps(256);
    const __m128i low_bits = _mm_set1_epi16(0x7F), sign_bit = _mm_set1_epi16((short)0x8000);
    size_t i = 0;
    for (; i + 8 <= count; i += 8) {
        __m128i code = _mm_cvtepu8_epi16(_mm_loadl_epi64((const __m128i *)(codes + i)));
        __m256 values;
        if (is_e5m2) {
            values = _mm256_cvtph_ps(_mm_slli_epi16(code, 8));
        } else {
            __m128i low = _mm_and_si128(code, low_bits);
            __m128i nan = _mm_and_si128(_mm_cmpeq_epi16(low, low_bits), _mm_set1_epi16(0x7E00));
            __m128i half = _mm_or_si128(_mm_and_si128(_mm_slli_epi16(code, 8), sign_bit), _mm_slli_epi16(low, 7));
            values = _mm256_mul_ps(_mm256_cvtph_ps(_mm_or_si128(half, nan)), shift);
        }
        _mm256_storeu_ps(target + i, _mm256_mul_ps(values, by));
    }
    return i;
}

#endif

void ck_look_up(const uint8_t *codes, const float *table, int bits, size_t count, float *target) {
    size_t done = 0;
#if CK_X86
    if (ck_current_isa() >= CK_AVX2) {
        if (bits <= 4) done = look_up_16(codes, table, bits, count, target);
        // Its tables of bytes are made in each call.
        if (bits == 6 && count >= 128) done = look_up_64(codes, table, count, target);
    }
#endif
    (void)bits;
    // A look-up in 1 KB is two loads and a store per value; gather instructions are not faster.
    look_up_scalar(codes + done, table, count - done, target + done);
}

void ck_decode_float8(const uint8_t *codes, int is_e5m2, float scale, size_t count, float *target) {
    size_t done = 0;
#if CK_X86
    if (ck_current_isa() >= CK_AVX2) done = float8_avx2(codes, is_e5m2, scale, count, target);
#endif
    float8_scalar(codes + done, is_e5m2, scale, count - done, target + done);
}

void ck_look_up_vectors(const uint8_t *codes, const float *table, size_t size, size_t count, float *target) {
    const size_t whole = count / size;
    if (size == 2) {
        for (size_t i = 0; i < whole; i++) ck_copy(target + 2 * i, table + 2 * codes[i], 2 * sizeof(float));
    } else if (size == 4) {
        for (size_t i = 0; i < whole; i++) ck_copy(target + 4 * i, table + 4 * codes[i], 4 * sizeof(float));
    } else {
        for (size_t i = 0; i < whole * size; i++) target[i] = table[codes[i / size] * size + i % size];
    }
    for (size_t i = whole * size; i < count; i++) target[i] = table[codes[whole] * size + i % size];
}
