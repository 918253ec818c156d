// The plain decoders of the types of ggml: the float32 operations of ggml, in its order, so that the numbers have its bits. Those of
// ggml_parts.c are compared with them.
#include "ggml_grid_parts.h"

#pragma clang fp contract(off)

static void dequantize_q8_0(const uint8_t *source, float *y) {
    const block_q8_0 *block = (const block_q8_0 *)source;
    const float d = widen_f16(block->d);
    for (int i = 0; i < 32; i++) y[i] = (float)block->qs[i] * d;
}

static void dequantize_q4_0(const uint8_t *source, float *y) {
    const block_q4_0 *block = (const block_q4_0 *)source;
    const float d = widen_f16(block->d);
    for (int i = 0; i < 16; i++) {
        y[i] = (float)((block->qs[i] & 15) - 8) * d;
        y[i + 16] = (float)((block->qs[i] >> 4) - 8) * d;
    }
}

static void dequantize_q4_1(const uint8_t *source, float *y) {
    const block_q4_1 *block = (const block_q4_1 *)source;
    const float d = widen_f16(block->d), m = widen_f16(block->m);
    for (int i = 0; i < 16; i++) {
        y[i] = (float)(block->qs[i] & 15) * d + m;
        y[i + 16] = (float)(block->qs[i] >> 4) * d + m;
    }
}

/// The fifth bit of code `i`, at its place.
CK_INLINE int fifth(const uint8_t *high, int i) { return (high[i / 8] >> i % 8 & 1) << 4; }

static void dequantize_q5_0(const uint8_t *source, float *y) {
    const block_q5_0 *block = (const block_q5_0 *)source;
    const float d = widen_f16(block->d);
    for (int i = 0; i < 16; i++) {
        y[i] = (float)(((block->qs[i] & 15) | fifth(block->qh, i)) - 16) * d;
        y[i + 16] = (float)((block->qs[i] >> 4 | fifth(block->qh, i + 16)) - 16) * d;
    }
}

static void dequantize_q5_1(const uint8_t *source, float *y) {
    const block_q5_1 *block = (const block_q5_1 *)source;
    const float d = widen_f16(block->d), m = widen_f16(block->m);
    for (int i = 0; i < 16; i++) {
        y[i] = (float)((block->qs[i] & 15) | fifth(block->qh, i)) * d + m;
        y[i + 16] = (float)(block->qs[i] >> 4 | fifth(block->qh, i + 16)) * d + m;
    }
}

static void dequantize_q2_k(const uint8_t *source, float *y) {
    const block_q2_k *block = (const block_q2_k *)source;
    const float d = widen_f16(block->d), m = widen_f16(block->dmin);
    for (int j = 0; j < 16; j++) {
        const uint8_t *codes = block->qs + 32 * (j / 8) + 16 * (j % 2);
        const float scale = d * (float)(block->scales[j] & 15), minimum = m * (float)(block->scales[j] >> 4);
        const int shift = j % 8 / 2 * 2;
        for (int i = 0; i < 16; i++) y[16 * j + i] = scale * (float)(codes[i] >> shift & 3) - minimum;
    }
}

static void dequantize_q3_k(const uint8_t *source, float *y) {
    const block_q3_k *block = (const block_q3_k *)source;
    const float d = widen_f16(block->d);
    for (int j = 0; j < 16; j++) {
        const uint8_t *codes = block->qs + 32 * (j / 8) + 16 * (j % 2), *high = block->hmask + 16 * (j % 2);
        const float scale = d * (float)six_bits_signed(block->scales, j);
        const int shift = j % 8 / 2 * 2, bit = j / 2;
        for (int i = 0; i < 16; i++)
            y[16 * j + i] = scale * (float)((codes[i] >> shift & 3) - 4 + (high[i] >> bit & 1) * 4);
    }
}

static void dequantize_q4_k(const uint8_t *source, float *y) {
    const block_q4_k *block = (const block_q4_k *)source;
    const float d = widen_f16(block->d), m = widen_f16(block->dmin);
    for (int j = 0; j < 8; j++) {
        int scale, minimum;
        get_scale_min_k4(block->scales, j, &scale, &minimum);
        const float step = d * (float)scale, lowest = m * (float)minimum;
        const uint8_t *codes = block->qs + j / 2 * 32;
        for (int i = 0; i < 32; i++) y[32 * j + i] = step * (float)(codes[i] >> 4 * (j % 2) & 15) - lowest;
    }
}

static void dequantize_q5_k(const uint8_t *source, float *y) {
    const block_q5_k *block = (const block_q5_k *)source;
    const float d = widen_f16(block->d), m = widen_f16(block->dmin);
    for (int j = 0; j < 8; j++) {
        int scale, minimum;
        get_scale_min_k4(block->scales, j, &scale, &minimum);
        const float step = d * (float)scale, lowest = m * (float)minimum;
        const uint8_t *codes = block->qs + j / 2 * 32;
        for (int i = 0; i < 32; i++)
            y[32 * j + i] = step * (float)((codes[i] >> 4 * (j % 2) & 15) + (block->qh[i] >> j & 1) * 16) - lowest;
    }
}

static void dequantize_q6_k(const uint8_t *source, float *y) {
    const block_q6_k *block = (const block_q6_k *)source;
    const float d = widen_f16(block->d);
    for (int j = 0; j < 16; j++) {
        const int half = j / 8, part = j % 8 / 2, from = 16 * (j % 2);
        const uint8_t *low = block->ql + 64 * half + 32 * (part % 2) + from, *high = block->qh + 32 * half + from;
        const float scale = d * (float)block->scales[j];
        for (int i = 0; i < 16; i++)
            y[16 * j + i] = scale * (float)(((low[i] >> 4 * (part / 2) & 15) | (high[i] >> 2 * part & 3) << 4) - 32);
    }
}

CK_INLINE void dequantize_iq4(const uint8_t *codes, float scale, float *y) {
    for (int i = 0; i < 16; i++) {
        y[i] = scale * (float)kvalues_iq4nl[codes[i] & 15];
        y[i + 16] = scale * (float)kvalues_iq4nl[codes[i] >> 4];
    }
}

static void dequantize_iq4_nl(const uint8_t *source, float *y) {
    const block_iq4_nl *block = (const block_iq4_nl *)source;
    dequantize_iq4(block->qs, widen_f16(block->d), y);
}

static void dequantize_iq4_xs(const uint8_t *source, float *y) {
    const block_iq4_xs *block = (const block_iq4_xs *)source;
    const float d = widen_f16(block->d);
    for (int j = 0; j < 8; j++) {
        int scale = (block->scales_l[j / 2] >> 4 * (j % 2) & 15) | (block->scales_h >> 2 * j & 3) << 4;
        dequantize_iq4(block->qs + 16 * j, d * (float)(scale - 32), y + 32 * j);
    }
}

/// The ternary digit of a byte, 0 the first: -1, 0 or 1.
CK_INLINE int digit_of(uint8_t byte, int digit) {
    static const uint8_t powers[5] = {1, 3, 9, 27, 81};
    return ((byte * powers[digit] & 255) * 3 >> 8) - 1;
}

CK_INLINE void unpack_ternary(const uint8_t *codes, int count, int digits, float d, float *y) {
    for (int digit = 0; digit < digits; digit++)
        for (int i = 0; i < count; i++) y[digit * count + i] = (float)digit_of(codes[i], digit) * d;
}

static void dequantize_tq1_0(const uint8_t *source, float *y) {
    const block_tq1_0 *block = (const block_tq1_0 *)source;
    const float d = widen_f16(block->d);
    unpack_ternary(block->qs, 32, 5, d, y);
    unpack_ternary(block->qs + 32, 16, 5, d, y + 160);
    unpack_ternary(block->qh, 4, 4, d, y + 240);
}

static void dequantize_tq2_0(const uint8_t *source, float *y) {
    const block_tq2_0 *block = (const block_tq2_0 *)source;
    const float d = widen_f16(block->d);
    for (int half = 0; half < 2; half++)
        for (int part = 0; part < 4; part++)
            for (int i = 0; i < 32; i++)
                y[128 * half + 32 * part + i] = (float)((block->qs[32 * half + i] >> 2 * part & 3) - 1) * d;
}

#define DECODE_GRID(NUMBER, type, size)                                                                                 \
    static void dequantize_##type(const uint8_t *source, float *y) {                                                    \
        const block_##type *block = (const block_##type *)source;                                                       \
        const float d = widen_f16(block->d);                                                                            \
        for (int j = 0; j < 8; j++, y += 32) {                                                                          \
            grid_part part;                                                                                             \
            type##_part(block, j, d, &part);                                                                            \
            for (int i = 0; i < 32; i++) {                                                                              \
                const float value = part.scales[i / 16] * (float)(part.values[i / 8] >> i % 8 * 8 & 255);               \
                y[i] = part.signs >> i & 1 ? -value : value;                                                            \
            }                                                                                                           \
        }                                                                                                               \
    }
EACH_GRID_TYPE(DECODE_GRID)

#define EACH(type, count)                                                                                         \
    for (size_t i = 0; i < blocks; i++) dequantize_##type(codes + i * sizeof(block_##type), values + i * (count));    \
    return

void ck_ggml_decode_plain(ck_ggml_type type, const uint8_t *codes, size_t blocks, float *values) {
    switch (type) {
    case CK_GGML_Q8_0: EACH(q8_0, 32);
    case CK_GGML_Q4_0: EACH(q4_0, 32);
    case CK_GGML_Q4_1: EACH(q4_1, 32);
    case CK_GGML_Q5_0: EACH(q5_0, 32);
    case CK_GGML_Q5_1: EACH(q5_1, 32);
    case CK_GGML_IQ4_NL: EACH(iq4_nl, 32);
    case CK_GGML_Q2_K: EACH(q2_k, QK_K);
    case CK_GGML_Q3_K: EACH(q3_k, QK_K);
    case CK_GGML_Q4_K: EACH(q4_k, QK_K);
    case CK_GGML_Q5_K: EACH(q5_k, QK_K);
    case CK_GGML_Q6_K: EACH(q6_k, QK_K);
    case CK_GGML_IQ4_XS: EACH(iq4_xs, QK_K);
    case CK_GGML_TQ1_0: EACH(tq1_0, QK_K);
    case CK_GGML_TQ2_0: EACH(tq2_0, QK_K);
    case CK_GGML_IQ2_XXS: EACH(iq2_xxs, QK_K);
    case CK_GGML_IQ2_XS: EACH(iq2_xs, QK_K);
    case CK_GGML_IQ2_S: EACH(iq2_s, QK_K);
    case CK_GGML_IQ3_XXS: EACH(iq3_xxs, QK_K);
    case CK_GGML_IQ3_S: EACH(iq3_s, QK_K);
    }
}
