// Codes of one byte with a scale for each block of a row to float32, a whole row in one call.
#include "internal.h"

// Products and sums are rounded one after the other, on every instruction set.
#pragma clang fp contract(off)

// ---- bytes to values -------------------------------------------------------------------------------------------

CK_INLINE void scaled_block(const uint8_t *codes, int flip, float scale, float zero, size_t count, float *target) {
    for (size_t i = 0; i < count; i++) target[i] = scale * ((float)((codes[i] ^ flip) - flip) - zero);
}

/// Blocks of 32 have a loop of their own, which needs no rest.
CK_INLINE void scaled_body(const uint8_t *codes, int flip, size_t count, size_t block, const float *scales,
                           const float *zeros, float *target) {
    size_t b = 0, start = 0;
    for (; block == 32 && start + 32 <= count; b++, start += 32)
        scaled_block(codes + start, flip, scales[b], zeros ? zeros[b] : 0, 32, target + start);
    for (; start < count; b++, start += block)
        scaled_block(codes + start, flip, scales[b], zeros ? zeros[b] : 0, count - start < block ? count - start : block,
                     target + start);
}

CK_INLINE void shifted_block(const uint8_t *codes, double scale, double bias, size_t count, float *target) {
    for (size_t i = 0; i < count; i++) target[i] = (float)(scale * codes[i] + bias);
}

/// The same if the scale has at most 16 significant bits: its products with codes are exact in float32, too.
CK_INLINE void short_shifted_block(const uint8_t *codes, float scale, float bias, size_t count, float *target) {
    for (size_t i = 0; i < count; i++) target[i] = scale * (float)codes[i] + bias;
}

CK_INLINE void shifted_body(const uint8_t *codes, size_t count, size_t block, const float *scales, const float *biases,
                            int is_short, float *target) {
    size_t b = 0, start = 0;
    for (; block == 32 && is_short && start + 32 <= count; b++, start += 32)
        short_shifted_block(codes + start, scales[b], biases[b], 32, target + start);
    for (; start < count; b++, start += block) {
        const size_t length = count - start < block ? count - start : block;
        if (is_short) short_shifted_block(codes + start, scales[b], biases[b], length, target + start);
        else shifted_block(codes + start, scales[b], biases[b], length, target + start);
    }
}

CK_INLINE void multiplied_body(float *values, size_t count, size_t block, const float *scales) {
    for (size_t b = 0, start = 0; start < count; b++, start += block) {
        const size_t end = count - start < block ? count : start + block;
        const float scale = scales[b];
        for (size_t i = start; i < end; i++) values[i] = scale * values[i];
    }
}

// ---- sums of blocks ----------------------------------------------------------------------------------------------

typedef float sixteen __attribute__((ext_vector_type(16), aligned(4)));

/// Sixteen sums, of every sixteenth value, which are added at the end: so all instruction sets give the same bits.
CK_INLINE float sum_body(const float *x, size_t count) {
    sixteen sums = 0;
    size_t i = 0;
    for (; i + 16 <= count; i += 16) sums += *(const sixteen *)(x + i);
    float s[16];
    ck_copy(s, &sums, sizeof s);
    for (int lane = 0; i < count; lane++, i++) s[lane] += x[i];
    return sum_of_16(s);
}

CK_INLINE void sums_body(const float *x, size_t count, size_t block, float *sums) {
    size_t b = 0, start = 0;
    for (; block == 32 && start + 32 <= count; b++, start += 32) sums[b] = sum_body(x + start, 32);
    for (; start < count; b++, start += block) sums[b] = sum_body(x + start, count - start < block ? count - start : block);
}

// ---- forms -----------------------------------------------------------------------------------------------------

#define FORMS(form, TARGET)                                                                                          \
    TARGET static void scaled_##form(const uint8_t *codes, int flip, size_t count, size_t block,                     \
                                     const float *scales, const float *zeros, float *target) {                       \
        scaled_body(codes, flip, count, block, scales, zeros, target);                                               \
    }                                                                                                                \
    TARGET static void shifted_##form(const uint8_t *codes, size_t count, size_t block, const float *scales,         \
                                      const float *biases, int is_short, float *target) {                            \
        shifted_body(codes, count, block, scales, biases, is_short, target);                                         \
    }                                                                                                                \
    TARGET static void sums_##form(const float *x, size_t count, size_t block, float *sums) {                         \
        sums_body(x, count, block, sums);                                                                            \
    }                                                                                                                \
    TARGET static void multiplied_##form(float *values, size_t count, size_t block, const float *scales) {           \
        multiplied_body(values, count, block, scales);                                                               \
    }

FORMS(plain, )
#if CK_X86
FORMS(avx2, CK_TARGET_AVX2)
FORMS(avx512, CK_TARGET_AVX512)
#endif

// ---- choice ----------------------------------------------------------------------------------------------------

void ck_decode_scaled(const uint8_t *codes, int is_signed, size_t count, size_t block, const float *scales,
                      const float *zeros, float *target) {
    CK_CHOOSE(scaled, codes, is_signed ? 8 : 0, count, block, scales, zeros, target);
}

void ck_decode_shifted(const uint8_t *codes, size_t count, size_t block, const float *scales, const float *biases,
                       int is_short, float *target) {
    CK_CHOOSE(shifted, codes, count, block, scales, biases, is_short, target);
}

void ck_multiply_blocks(float *values, size_t count, size_t block, const float *scales) {
    CK_CHOOSE(multiplied, values, count, block, scales);
}

void ck_sum_blocks(const float *x, size_t count, size_t block, float *sums) {
    CK_CHOOSE(sums, x, count, block, sums);
}
