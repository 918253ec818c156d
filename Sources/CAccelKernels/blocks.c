// Codes with a scale for each block of a row to float32, a whole row in one call.
#include "internal.h"

// Products and sums are rounded one after the other, on every instruction set.
#pragma clang fp contract(off)

// ---- codes to bytes --------------------------------------------------------------------------------------------

/// Eight codes are `bits` bytes, so they are one word.
CK_INLINE void unpack_words(const uint8_t *packed, const int bits, size_t count, uint8_t *codes) {
    const uint64_t mask = (1u << bits) - 1;
    size_t i = 0;
    // A word of eight bytes must not end behind the last code: the last 64 bits are read byte by byte.
    for (const size_t ahead = (64 + (size_t)bits - 1) / (size_t)bits; i + ahead <= count; i += 8, packed += bits) {
        uint64_t word;
        ck_copy(&word, packed, 8);
#pragma clang loop unroll(full)
        for (int k = 0; k < 8; k++) codes[i + k] = (uint8_t)(word >> (k * bits) & mask);
    }
    uint32_t word = 0;
    for (int filled = 0; i < count; i++, filled -= bits, word >>= bits) {
        if (filled < bits) word |= (uint32_t)*packed++ << filled, filled += 8;
        codes[i] = (uint8_t)(word & mask);
    }
}

CK_INLINE void unpack_nibbles(const uint8_t *packed, size_t count, uint8_t *codes) {
    for (size_t i = 0; i < count / 2; i++) codes[2 * i] = packed[i] & 15, codes[2 * i + 1] = packed[i] >> 4;
    if (count & 1) codes[count - 1] = packed[count / 2] & 15;
}

CK_INLINE void unpack_body(const uint8_t *packed, int bits, size_t count, uint8_t *codes) {
    switch (bits) {
    case 1: unpack_words(packed, 1, count, codes); return;
    case 2: unpack_words(packed, 2, count, codes); return;
    case 3: unpack_words(packed, 3, count, codes); return;
    case 4: unpack_nibbles(packed, count, codes); return;
    case 5: unpack_words(packed, 5, count, codes); return;
    case 6: unpack_words(packed, 6, count, codes); return;
    case 7: unpack_words(packed, 7, count, codes); return;
    default: ck_copy(codes, packed, count);
    }
}

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

CK_INLINE void shifted_body(const uint8_t *codes, size_t count, size_t block, const float *scales, const float *biases,
                            float *target) {
    size_t b = 0, start = 0;
    for (; block == 32 && start + 32 <= count; b++, start += 32)
        shifted_block(codes + start, scales[b], biases[b], 32, target + start);
    for (; start < count; b++, start += block)
        shifted_block(codes + start, scales[b], biases[b], count - start < block ? count - start : block, target + start);
}

CK_INLINE void multiplied_body(float *values, size_t count, size_t block, const float *scales) {
    for (size_t b = 0, start = 0; start < count; b++, start += block) {
        const size_t end = count - start < block ? count : start + block;
        const float scale = scales[b];
        for (size_t i = start; i < end; i++) values[i] = scale * values[i];
    }
}

// ---- forms -----------------------------------------------------------------------------------------------------

#define FORMS(form, TARGET)                                                                                          \
    TARGET static void unpack_##form(const uint8_t *packed, int bits, size_t count, uint8_t *codes) {                \
        unpack_body(packed, bits, count, codes);                                                                     \
    }                                                                                                                \
    TARGET static void scaled_##form(const uint8_t *codes, int flip, size_t count, size_t block,                     \
                                     const float *scales, const float *zeros, float *target) {                       \
        scaled_body(codes, flip, count, block, scales, zeros, target);                                               \
    }                                                                                                                \
    TARGET static void shifted_##form(const uint8_t *codes, size_t count, size_t block, const float *scales,         \
                                      const float *biases, float *target) {                                          \
        shifted_body(codes, count, block, scales, biases, target);                                                   \
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

void ck_unpack_codes(const uint8_t *packed, int bits, size_t count, uint8_t *codes) {
    CK_CHOOSE(unpack, packed, bits, count, codes);
}

void ck_decode_scaled(const uint8_t *codes, int is_signed, size_t count, size_t block, const float *scales,
                      const float *zeros, float *target) {
    CK_CHOOSE(scaled, codes, is_signed ? 8 : 0, count, block, scales, zeros, target);
}

void ck_decode_shifted(const uint8_t *codes, size_t count, size_t block, const float *scales, const float *biases,
                       float *target) {
    CK_CHOOSE(shifted, codes, count, block, scales, biases, target);
}

void ck_multiply_blocks(float *values, size_t count, size_t block, const float *scales) {
    CK_CHOOSE(multiplied, values, count, block, scales);
}
