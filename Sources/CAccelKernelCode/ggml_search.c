// Encodes weights in the types of ggml whose scales are searched for: the K and the IQ types, and with an importance of each
// column also Q4_0, Q4_1, Q5_0 and Q5_1.
//
// Functions and fields have ggml's names where they do what ggml's do. The bytes are those of ggml's reference on x86-64, on every
// processor: blocks of one scale each are searched in the lanes of vectors, so that every sum is taken over the weights of a block in
// their order, and each operation rounds once.
#include "ggml.h"

#pragma clang fp contract(off)

typedef float f32x8 __attribute__((ext_vector_type(8)));
typedef int32_t i32x8 __attribute__((ext_vector_type(8)));
typedef uint16_t u16x16 __attribute__((ext_vector_type(16)));
typedef float f32x16 __attribute__((ext_vector_type(16)));
typedef int32_t i32x16 __attribute__((ext_vector_type(16)));
typedef uint8_t u8x16 __attribute__((ext_vector_type(16)));
// Vectors at any address.
typedef f32x8 f32x8_anywhere __attribute__((aligned(1), may_alias));
typedef i32x8 i32x8_anywhere __attribute__((aligned(1), may_alias));
typedef f32x16 f32x16_anywhere __attribute__((aligned(1), may_alias));
typedef uint8_t u8x8_anywhere __attribute__((ext_vector_type(8), aligned(1), may_alias));
typedef u8x16 u8x16_anywhere __attribute__((aligned(1), may_alias));

#define MAGIC 12582912.0f
// The nearest integer, ties to even, for numbers below 2^22: adding 1.5 * 2^23 leaves it in the lowest bits. Other numbers give what
// ggml makes of their bits.
#define NEAREST(integers, value) (((integers)((value) + MAGIC) & 0x7FFFFF) - 0x400000)
// The same as a float, for numbers of magnitudes below 2^22 only.
#define NEAREST_REAL(value) (((value) + MAGIC) - MAGIC)
#define GROUP_MAX_EPS 1e-15f
// Super-blocks whose scales are encoded together.
#define GROUP 8
// The same for Q3_K, where only some blocks are searched in the end: the more there are, the fewer lanes stay empty.
#define LARGE_GROUP 16

/// Returns the nearest integer of one number, as `NEAREST` and ggml's function of this name.
CK_INLINE int nearest_int(float value) { return (int)(bits_of(value + MAGIC) & 0x7FFFFF) - 0x400000; }

/// Sixteen blocks of at most 32 weights, and what was found for each of them.
typedef struct {
    /// Weight `i` of all blocks, and how much its error counts.
    _Alignas(64) float x[32][16], w[32][16];
    /// The scale, the minimum with the opposite sign, and the sum of `w`.
    float scale[16], minimum[16], total[16];
    /// The sums of weighted products of weights and codes, and of squares of codes.
    float products[16], squares[16];
    /// The codes of the search are those of `inverse * (x - start)`, with `shift` added.
    float inverse[16], start[16];
    int32_t shift[16];
} lanes;

/// Blocks of 16 whose codes are improved together: in each of them a step waits for the one before.
#define IMPROVED 32

typedef struct {
    /// Weight `i` of sixteen blocks, and its code.
    _Alignas(64) float x[IMPROVED / 16][16][16], codes[IMPROVED / 16][16][16];
    float products[IMPROVED], squares[IMPROVED], inverse[IMPROVED];
    int32_t changed[IMPROVED];
} improved;

/// How codes of 0...top, a scale and a minimum are searched for: `steps` and one candidates beside the plain one.
typedef struct {
    int n, top;
    float first, delta;
    int steps;
    /// Whether errors count by their magnitudes instead of by their squares.
    int by_magnitude;
} range_search;

/// A type for searches for the least squared error: its codes are `low...high`, or those of IQ4. Blocks of `n` weights have scales of
/// `least_scale...most_scale`, and minima of `0...most_scale`, and `blocks` of them common ones; or they have ones of their own in float16.
typedef struct {
    int n, low, high, has_minimum, is_uneven, blocks, least_scale, most_scale;
} fit_form;

/// What decides how much the error of a weight counts.
typedef enum { BY_MAGNITUDE, BY_MEAN_AND_MAGNITUDE, BY_SQUARE } weighing;

/// The codes of 256 weights of two bits, four in a byte, each 32 weights after the one before.
CK_INLINE void pack_twos(const uint8_t *codes, uint8_t *target) {
    for (int half = 0; half < 2; half++)
        for (int i = 0; i < 32; i++) {
            const uint8_t *c = codes + 128 * half + i;
            target[32 * half + i] = (uint8_t)((c[0] & 3) | (c[32] & 3) << 2 | (c[64] & 3) << 4 | (c[96] & 3) << 6);
        }
}

/// The codes of 32 weights of four bits, two in a byte, 16 weights apart.
CK_INLINE void pack_fours(const uint8_t *codes, uint8_t *target) {
    for (int i = 0; i < 16; i++) target[i] = (uint8_t)((codes[i] & 15) | codes[i + 16] << 4);
}

/// The fifth bits of the codes of 32 weights.
CK_INLINE void pack_fifth(const uint8_t *codes, uint8_t *target) {
    for (int byte = 0; byte < 4; byte++) {
        int bits = 0;
        for (int i = 0; i < 8; i++) bits |= (codes[8 * byte + i] >> 4 & 1) << i;
        target[byte] = (uint8_t)bits;
    }
}

/// Packs the scales and the minima of Q4_K and Q5_K, six bits each.
CK_INLINE void pack_sixes(const int *scales, const int *minima, uint8_t *bytes) {
    for (int j = 0; j < 4; j++) {
        bytes[j] = (uint8_t)(scales[j] | scales[j + 4] >> 4 << 6);
        bytes[j + 4] = (uint8_t)(minima[j] | minima[j + 4] >> 4 << 6);
        bytes[j + 8] = (uint8_t)((scales[j + 4] & 15) | (minima[j + 4] & 15) << 4);
    }
}

/// Packs the scales of Q3_K, 0...63.
CK_INLINE void pack_sixes_signed(const int *scales, uint8_t *bytes) {
    __builtin_memset(bytes, 0, 12);
    for (int j = 0; j < 16; j++) {
        bytes[j % 8] |= (uint8_t)((scales[j] & 15) << 4 * (j / 8));
        bytes[8 + j % 4] |= (uint8_t)(scales[j] >> 4 << 2 * (j / 4));
    }
}

/// Packs the codes of 256 weights of three bits.
CK_INLINE void pack_q3_k(const uint8_t *codes, block_q3_k *block) {
    for (int i = 0; i < 32; i++) {
        int high = 0;
        for (int j = 0; j < 8; j++) high |= codes[32 * j + i] >> 2 << j;
        block->hmask[i] = (uint8_t)high;
    }
    pack_twos(codes, block->qs);
}

CK_INLINE void pack_q4_k(const uint8_t *codes, block_q4_k *block) {
    for (int j = 0; j < 4; j++)
        for (int i = 0; i < 32; i++) block->qs[32 * j + i] = (uint8_t)(codes[64 * j + i] | codes[64 * j + 32 + i] << 4);
}

CK_INLINE void pack_q5_k(const uint8_t *codes, block_q5_k *block) {
    for (int i = 0; i < 32; i++) {
        const uint8_t *c = codes + i;
        int high = 0;
        for (int j = 0; j < 8; j++) high |= c[32 * j] >> 4 << j;
        block->qh[i] = (uint8_t)high;
        for (int j = 0; j < 4; j++) block->qs[32 * j + i] = (uint8_t)((c[64 * j] & 15) | c[64 * j + 32] << 4);
    }
}

CK_INLINE void pack_q6_k(const uint8_t *codes, block_q6_k *block) {
    for (int half = 0; half < 2; half++)
        for (int i = 0; i < 32; i++) {
            const uint8_t *c = codes + 128 * half + i;
            block->ql[64 * half + i] = (uint8_t)((c[0] & 15) | (c[64] & 15) << 4);
            block->ql[64 * half + 32 + i] = (uint8_t)((c[32] & 15) | (c[96] & 15) << 4);
            block->qh[32 * half + i] = (uint8_t)(c[0] >> 4 | c[32] >> 4 << 2 | c[64] >> 4 << 4 | c[96] >> 4 << 6);
        }
}

/// Packs the scales of IQ4_XS, 0...63.
CK_INLINE void pack_iq4_xs(const int *scales, block_iq4_xs *block) {
    int high = 0;
    for (int j = 0; j < 8; j++) high |= scales[j] >> 4 << 2 * j;
    block->scales_h = (uint16_t)high;
    for (int j = 0; j < 4; j++) block->scales_l[j] = (uint8_t)((scales[2 * j] & 15) | (scales[2 * j + 1] & 15) << 4);
}

/// Returns the largest of some numbers, and 0.
CK_INLINE float largest(const float *numbers, int count) {
    float most = 0;
    for (int i = 0; i < count; i++) most = numbers[i] > most ? numbers[i] : most;
    return most;
}

/// Returns the first of the numbers of the largest magnitude.
CK_INLINE float outermost(const float *numbers, int count) {
    float most = 0, found = 0;
    for (int i = 0; i < count; i++)
        if (__builtin_fabsf(numbers[i]) > most) most = __builtin_fabsf(numbers[i]), found = numbers[i];
    return found;
}

/// The sums of squares of up to sixteen rows of `count` numbers, each in order.
CK_INLINE void sums_of_squares(const float *x, size_t count, size_t rows, float *sums) {
    for (size_t row = 0; row < rows; row++) sums[row] = 0;
    for (size_t i = 0; i < count; i++)
        for (size_t row = 0; row < rows; row++) sums[row] += x[row * count + i] * x[row * count + i];
}

/// Returns the form of a type; one without weights for those that have no other search.
CK_INLINE fit_form form_of(ck_ggml_type type) {
    switch (type) {
    case CK_GGML_Q8_0: return (fit_form){32, -127, 127, 0, 0, 0, 0, 0};
    case CK_GGML_Q4_0: return (fit_form){32, -8, 7, 0, 0, 0, 0, 0};
    case CK_GGML_Q4_1: return (fit_form){32, 0, 15, 1, 0, 0, 0, 0};
    case CK_GGML_Q5_0: return (fit_form){32, -16, 15, 0, 0, 0, 0, 0};
    case CK_GGML_Q5_1: return (fit_form){32, 0, 31, 1, 0, 0, 0, 0};
    case CK_GGML_IQ4_NL: return (fit_form){32, 0, 0, 0, 1, 0, 0, 0};
    case CK_GGML_Q2_K: return (fit_form){16, 0, 3, 1, 0, 16, 0, 15};
    case CK_GGML_Q3_K: return (fit_form){16, -4, 3, 0, 0, 16, -32, 31};
    case CK_GGML_Q4_K: return (fit_form){32, 0, 15, 1, 0, 8, 0, 63};
    case CK_GGML_Q5_K: return (fit_form){32, 0, 31, 1, 0, 8, 0, 63};
    case CK_GGML_Q6_K: return (fit_form){16, -32, 31, 0, 0, 16, -128, 127};
    case CK_GGML_IQ4_XS: return (fit_form){32, 0, 0, 0, 1, 8, -32, 31};
    default: return (fit_form){0};
    }
}

/// Returns the bytes of a block of a type whose scales are searched for.
CK_INLINE size_t bytes_of(ck_ggml_type type) {
    switch (type) {
    case CK_GGML_Q8_0: return sizeof(block_q8_0);
    case CK_GGML_Q4_0: return sizeof(block_q4_0);
    case CK_GGML_Q4_1: return sizeof(block_q4_1);
    case CK_GGML_Q5_0: return sizeof(block_q5_0);
    case CK_GGML_Q5_1: return sizeof(block_q5_1);
    case CK_GGML_IQ4_NL: return sizeof(block_iq4_nl);
    case CK_GGML_Q2_K: return sizeof(block_q2_k);
    case CK_GGML_Q3_K: return sizeof(block_q3_k);
    case CK_GGML_Q4_K: return sizeof(block_q4_k);
    case CK_GGML_Q5_K: return sizeof(block_q5_k);
    case CK_GGML_Q6_K: return sizeof(block_q6_k);
#define GRID_BYTES(NUMBER, type, n) \
    case CK_GGML_##NUMBER: return sizeof(block_##type);
        EACH_GRID_TYPE(GRID_BYTES)
    default: return sizeof(block_iq4_xs);
    }
}

/// Whether the codes of a type are entries of a grid.
CK_INLINE int is_grid(ck_ggml_type type) {
    switch (type) {
#define IS_GRID(NUMBER, type, n) case CK_GGML_##NUMBER:
        EACH_GRID_TYPE(IS_GRID)
        return 1;
    default: return 0;
    }
}

/// Returns the squared error of decoded weights, as the importance weighs it.
CK_INLINE double error_of(const float *decoded, const float *values, const float *importance, size_t count) {
    double sum = 0;
    for (size_t i = 0; i < count; i++) {
        const double difference = (double)decoded[i] - (double)values[i];
        sum += difference * difference * (importance ? (double)importance[i] : 1);
    }
    return sum;
}

/// Defines the encoder of a type with blocks of 32 of one scale, with an importance: `search` finds the scales of sixteen blocks, codes
/// are from `low` to `high`, and the rest stores what a block has beside its scale and the lower four bits of its codes.
#define EVENLY(type, search, low, high, ...)                                                                                          \
    TARGET static void NAME(quantize_row_##type)(const float *values, const float *importance, size_t blocks, block_##type *target) { \
        _Alignas(64) float means[16];                                                                                                 \
        sums_of_squares(values, 32 * blocks, 1, means);                                                                               \
        means[0] /= (float)(32 * blocks);                                                                                             \
        for (int lane = 1; lane < 16; lane++) means[lane] = means[0];                                                                 \
        for (size_t from = 0; from < blocks; from += 16) {                                                                            \
            const float *x = values + 32 * from;                                                                                      \
            lanes b;                                                                                                                  \
            NAME(read)(x, 32, blocks - from, b.x);                                                                                    \
            NAME(weigh_important)(&b, importance + 32 * from, 32, blocks - from, means);                                              \
            NAME(search)(&b, high);                                                                                                   \
            for (int own = 0; own < 16 && from + (size_t)own < blocks; own++, x += 32) {                                              \
                block_##type *block = target + from + own;                                                                            \
                uint8_t codes[32];                                                                                                    \
                NAME(found_codes)(x, 32, low, high, &b, own, codes);                                                                  \
                block->d = narrow_f16(b.scale[own]);                                                                                  \
                pack_fours(codes, block->qs);                                                                                         \
                __VA_ARGS__;                                                                                                          \
            }                                                                                                                         \
        }                                                                                                                             \
    }

#include "ggml_grid_search.h"

#define BODY "ggml_search_body.h"
#include "each_set.h"

void ck_ggml_fit(ck_ggml_type type, const float *values, const float *importance, size_t blocks, uint8_t *target) {
    const fit_form form = form_of(type);
    const int has_grid = is_grid(type);
    const size_t elements = form.blocks || has_grid ? QK_K : 32, bytes = bytes_of(type);
    ck_ggml_encode(type, values, importance, blocks, target);
    for (size_t from = 0; (form.n || has_grid) && from < blocks; from += 16) {
        const size_t count = blocks - from < 16 ? blocks - from : 16;
        const float *own = importance ? importance + from * elements : 0;
        uint8_t fitted[16 * sizeof(block_q6_k)];
        if (has_grid) {
            __builtin_memcpy(fitted, target + from * bytes, count * bytes);
            CK_CHOOSE(fit_grids, type, values + from * elements, own, count, fitted);
        } else {
            CK_CHOOSE(fit, type, values + from * elements, own, count, fitted);
        }
        for (size_t i = 0; i < count; i++) {
            const float *x = values + (from + i) * elements, *w = own ? own + i * elements : 0;
            uint8_t *plain = target + (from + i) * bytes;
            float decoded[2][QK_K];
            ck_ggml_decode(type, plain, 1, decoded[0]);
            ck_ggml_decode(type, fitted + i * bytes, 1, decoded[1]);
            // Of equal ones, and of those with scales that are not finite, ggml's stays.
            if (error_of(decoded[1], x, w, elements) < error_of(decoded[0], x, w, elements))
                __builtin_memcpy(plain, fitted + i * bytes, bytes);
        }
    }
}

void ck_ggml_encode(ck_ggml_type type, const float *values, const float *importance, size_t blocks, uint8_t *target) {
    switch (type) {
    case CK_GGML_Q4_0:
        if (!importance) break;
        CK_CHOOSE(quantize_row_q4_0, values, importance, blocks, (block_q4_0 *)target);
        return;
    case CK_GGML_Q4_1:
        if (!importance) break;
        CK_CHOOSE(quantize_row_q4_1, values, importance, blocks, (block_q4_1 *)target);
        return;
    case CK_GGML_Q5_0:
        if (!importance) break;
        CK_CHOOSE(quantize_row_q5_0, values, importance, blocks, (block_q5_0 *)target);
        return;
    case CK_GGML_Q5_1:
        if (!importance) break;
        CK_CHOOSE(quantize_row_q5_1, values, importance, blocks, (block_q5_1 *)target);
        return;
    case CK_GGML_Q2_K: CK_CHOOSE(quantize_row_q2_k, values, importance, blocks, (block_q2_k *)target); return;
    case CK_GGML_Q3_K: CK_CHOOSE(quantize_row_q3_k, values, importance, blocks, (block_q3_k *)target); return;
    case CK_GGML_Q4_K: CK_CHOOSE(quantize_row_q4_k, values, importance, blocks, (block_q4_k *)target); return;
    case CK_GGML_Q5_K: CK_CHOOSE(quantize_row_q5_k, values, importance, blocks, (block_q5_k *)target); return;
    case CK_GGML_Q6_K: CK_CHOOSE(quantize_row_q6_k, values, importance, blocks, (block_q6_k *)target); return;
    case CK_GGML_IQ4_NL: CK_CHOOSE(quantize_row_iq4_nl, values, importance, blocks, (block_iq4_nl *)target); return;
    case CK_GGML_IQ4_XS: CK_CHOOSE(quantize_row_iq4_xs, values, importance, blocks, (block_iq4_xs *)target); return;
    case CK_GGML_IQ2_XXS: CK_CHOOSE(quantize_row_iq2_xxs, values, importance, blocks, (block_iq2_xxs *)target); return;
    case CK_GGML_IQ2_XS: CK_CHOOSE(quantize_row_iq2_xs, values, importance, blocks, (block_iq2_xs *)target); return;
    case CK_GGML_IQ2_S: CK_CHOOSE(quantize_row_iq2_s, values, importance, blocks, (block_iq2_s *)target); return;
    case CK_GGML_IQ3_XXS: CK_CHOOSE(quantize_row_iq3_xxs, values, importance, blocks, (block_iq3_xxs *)target); return;
    case CK_GGML_IQ3_S: CK_CHOOSE(quantize_row_iq3_s, values, importance, blocks, (block_iq3_s *)target); return;
    default: break;
    }
    ck_ggml_encode_simple(type, values, blocks, target);
}
