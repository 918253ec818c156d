// Encodes weights in the types of ggml whose scales are searched for: the K types, and the IQ4 types.
//
// The bytes are those of ggml's reference on x86-64, on every processor: sixteen blocks of one scale each are searched in the lanes of
// a vector, so that every sum is taken over the weights of a block in their order, and each operation rounds once.
#include "ggml.h"

#pragma clang fp contract(off)

typedef float f32x16 __attribute__((ext_vector_type(16)));
typedef int32_t i32x16 __attribute__((ext_vector_type(16)));

// The nearest integer, ties to even, for numbers below 2^22: adding 1.5 * 2^23 leaves it in the lowest bits. Other numbers give what
// ggml makes of their bits.
#define NEAREST(value) (((i32x16)((value) + 12582912.0f) & 0x7FFFFF) - 0x400000)
#define CLAMPED(value, low, high) __builtin_elementwise_max(__builtin_elementwise_min(value, (i32x16)(high)), (i32x16)(low))
#define REALS(integers) __builtin_convertvector(integers, f32x16)
#define CHOSEN(mask, yes, no) ((f32x16)(((i32x16)(yes) & (mask)) | ((i32x16)(no) & ~(mask))))
#define CHOSEN_CODES(mask, yes, no) (((yes) & (mask)) | ((no) & ~(mask)))
#define SMALLEST 1e-15f

/// Returns the nearest integer of one number, as `NEAREST`.
CK_INLINE int nearest(float value) { return (int)(bits_of(value + 12582912.0f) & 0x7FFFFF) - 0x400000; }

/// Sixteen blocks of `n` weights, which follow each other: weight `i` of all of them, and the codes that were found.
typedef struct {
    f32x16 x[32], scale, minimum;
    i32x16 codes[32];
} lanes;

/// Writes the codes of all lanes in the order of the weights.
CK_INLINE void in_order(const lanes *found, int n, uint8_t *codes) {
    for (int i = 0; i < n; i++)
        for (int lane = 0; lane < 16; lane++) codes[lane * n + i] = (uint8_t)found->codes[i][lane];
}

/// The codes of 256 weights of two bits, four in a byte, each 32 weights after the one before.
CK_INLINE void pack_twos(const uint8_t *codes, uint8_t *target) {
    for (int half = 0; half < 2; half++)
        for (int i = 0; i < 32; i++) {
            const uint8_t *c = codes + 128 * half + i;
            target[32 * half + i] = (uint8_t)((c[0] & 3) | (c[32] & 3) << 2 | (c[64] & 3) << 4 | (c[96] & 3) << 6);
        }
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

#define BODY "ggml_search_body.h"
#include "each_set.h"

void ck_ggml_encode(ck_ggml_type type, const float *values, size_t blocks, uint8_t *target) {
    switch (type) {
    case CK_GGML_Q2_K: CK_CHOOSE(encode_q2_k, values, blocks, (block_q2_k *)target); return;
    case CK_GGML_Q3_K: CK_CHOOSE(encode_q3_k, values, blocks, (block_q3_k *)target); return;
    case CK_GGML_Q4_K: CK_CHOOSE(encode_q4_k, values, blocks, (block_q4_k *)target); return;
    case CK_GGML_Q5_K: CK_CHOOSE(encode_q5_k, values, blocks, (block_q5_k *)target); return;
    case CK_GGML_Q6_K: CK_CHOOSE(encode_q6_k, values, blocks, (block_q6_k *)target); return;
    case CK_GGML_IQ4_NL: CK_CHOOSE(encode_iq4_nl, values, blocks, (block_iq4_nl *)target); return;
    case CK_GGML_IQ4_XS: CK_CHOOSE(encode_iq4_xs, values, blocks, (block_iq4_xs *)target); return;
    default: ck_ggml_encode_simple(type, values, blocks, target);
    }
}
