// Encodes weights in the types of ggml whose scales need no search. The bytes are those of ggml's reference on x86-64, on every
// processor: each operation rounds once, and a number that no int32 holds becomes the lowest one.
#include "ggml.h"

#pragma clang fp contract(off)

/// Returns a number without its fraction.
CK_INLINE int whole(float value) { return __builtin_fabsf(value) < 0x1p31f ? (int)value : INT32_MIN; }

/// Returns the nearest integer; ties go away from zero.
CK_INLINE int nearest_away(float value) {
    int near = whole(value);
    float rest = value - (float)near;
    return near == INT32_MIN ? near : near + (rest >= 0.5f) - (rest <= -0.5f);
}

CK_INLINE float largest_magnitude(const float *x, int count) {
    float largest = 0;
    for (int i = 0; i < count; i++) largest = __builtin_fabsf(x[i]) > largest ? __builtin_fabsf(x[i]) : largest;
    return largest;
}

/// Returns the first weight of the largest magnitude.
CK_INLINE float outermost(const float *x, int count) {
    float largest = 0, weight = 0;
    for (int i = 0; i < count; i++)
        if (largest < __builtin_fabsf(x[i])) largest = __builtin_fabsf(x[i]), weight = x[i];
    return weight;
}

CK_INLINE float inverse(float scale) { return scale != 0 ? 1 / scale : 0; }

static void encode_q8_0(const float *x, uint8_t *target) {
    block_q8_0 *block = (block_q8_0 *)target;
    float d = largest_magnitude(x, 32) / 127, id = inverse(d);
    block->d = narrow_f16(d);
    for (int i = 0; i < 32; i++) block->codes[i] = (int8_t)nearest_away(x[i] * id);
}

/// Codes of the multiples of `id` in 0...top, after `shift` is added. `minimum` is subtracted first.
CK_INLINE void codes_of(const float *x, float minimum, float id, float shift, int top, uint8_t *codes) {
    for (int i = 0; i < 32; i++) {
        int code = (int8_t)whole((x[i] - minimum) * id + shift);
        codes[i] = (uint8_t)(code < top ? code : top);
    }
}

CK_INLINE void pack_fours(const uint8_t *codes, uint8_t *target) {
    for (int i = 0; i < 16; i++) target[i] = (uint8_t)((codes[i] & 15) | codes[i + 16] << 4);
}

CK_INLINE void pack_fifth(const uint8_t *codes, uint8_t *target) {
    for (int byte = 0; byte < 4; byte++) {
        int bits = 0;
        for (int i = 0; i < 8; i++) bits |= (codes[8 * byte + i] >> 4 & 1) << i;
        target[byte] = (uint8_t)bits;
    }
}

static void encode_q4_0(const float *x, uint8_t *target) {
    block_q4_0 *block = (block_q4_0 *)target;
    uint8_t codes[32];
    float d = outermost(x, 32) / -8;
    block->d = narrow_f16(d);
    codes_of(x, 0, inverse(d), 8.5f, 15, codes);
    pack_fours(codes, block->codes);
}

static void encode_q5_0(const float *x, uint8_t *target) {
    block_q5_0 *block = (block_q5_0 *)target;
    uint8_t codes[32];
    float d = outermost(x, 32) / -16;
    block->d = narrow_f16(d);
    codes_of(x, 0, inverse(d), 16.5f, 31, codes);
    pack_fours(codes, block->codes);
    pack_fifth(codes, block->high);
}

/// Returns the scale of the range of the weights in steps, and their minimum.
CK_INLINE float range_scale(const float *x, float steps, float *minimum) {
    float low = x[0], high = x[0];
    for (int i = 1; i < 32; i++) low = x[i] < low ? x[i] : low, high = x[i] > high ? x[i] : high;
    *minimum = low;
    return (high - low) / steps;
}

static void encode_q4_1(const float *x, uint8_t *target) {
    block_q4_1 *block = (block_q4_1 *)target;
    uint8_t codes[32];
    float minimum, d = range_scale(x, 15, &minimum);
    block->d = narrow_f16(d), block->m = narrow_f16(minimum);
    codes_of(x, minimum, inverse(d), 0.5f, 15, codes);
    pack_fours(codes, block->codes);
}

static void encode_q5_1(const float *x, uint8_t *target) {
    block_q5_1 *block = (block_q5_1 *)target;
    uint8_t codes[32];
    float minimum, d = range_scale(x, 31, &minimum);
    block->d = narrow_f16(d), block->m = narrow_f16(minimum);
    codes_of(x, minimum, inverse(d), 0.5f, 127, codes);
    pack_fours(codes, block->codes);
    pack_fifth(codes, block->high);
}

/// Returns -1, 0 or 1, as 0, 1 or 2.
CK_INLINE int ternary(float value) {
    int near = nearest_away(value);
    return near == INT32_MIN ? 1 : near + 1;
}

/// Writes `count` bytes of five ternary digits each; the digits of a byte are `count` weights apart. The digits are the first ones
/// of a fraction of 256, so that decoding multiplies instead of dividing.
CK_INLINE void pack_ternary(const float *x, float id, int count, int digits, uint8_t *target) {
    for (int i = 0; i < count; i++) {
        int number = 0;
        for (int digit = 0; digit < 5; digit++) number = number * 3 + (digit < digits ? ternary(x[i + digit * count] * id) : 0);
        target[i] = (uint8_t)(((number & 255) * 256 + 242) / 243);
    }
}

static void encode_tq1_0(const float *x, uint8_t *target) {
    block_tq1_0 *block = (block_tq1_0 *)target;
    float d = largest_magnitude(x, SUPER), id = inverse(d);
    block->d = narrow_f16(d);
    pack_ternary(x, id, 32, 5, block->codes);
    pack_ternary(x + 160, id, 16, 5, block->codes + 32);
    pack_ternary(x + 240, id, 4, 4, block->rest);
}

static void encode_tq2_0(const float *x, uint8_t *target) {
    block_tq2_0 *block = (block_tq2_0 *)target;
    float d = largest_magnitude(x, SUPER), id = inverse(d);
    block->d = narrow_f16(d);
    for (int half = 0; half < 2; half++)
        for (int i = 0; i < 32; i++) {
            int byte = 0;
            for (int part = 0; part < 4; part++) byte |= (ternary(x[128 * half + 32 * part + i] * id) & 3) << 2 * part;
            block->codes[32 * half + i] = (uint8_t)byte;
        }
}

#define EACH(encode, type, count)                                                                            \
    for (size_t i = 0; i < blocks; i++) encode(values + i * (count), target + i * sizeof(block_##type));     \
    return

void ck_ggml_encode_simple(ck_ggml_type type, const float *values, size_t blocks, uint8_t *target) {
    switch (type) {
    case CK_GGML_Q8_0: EACH(encode_q8_0, q8_0, 32);
    case CK_GGML_Q4_0: EACH(encode_q4_0, q4_0, 32);
    case CK_GGML_Q4_1: EACH(encode_q4_1, q4_1, 32);
    case CK_GGML_Q5_0: EACH(encode_q5_0, q5_0, 32);
    case CK_GGML_Q5_1: EACH(encode_q5_1, q5_1, 32);
    case CK_GGML_TQ1_0: EACH(encode_tq1_0, tq1_0, SUPER);
    case CK_GGML_TQ2_0: EACH(encode_tq2_0, tq2_0, SUPER);
    default: return;
    }
}
