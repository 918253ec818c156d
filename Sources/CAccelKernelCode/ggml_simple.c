// Encodes weights in the types of ggml whose scales need no search. The bytes are those of ggml's reference on x86-64, on every
// processor: each operation rounds once, and a number that no int32 holds becomes the lowest one, whose last byte is 0.
#include "ggml.h"

#pragma clang fp contract(off)

typedef float f32x16 __attribute__((ext_vector_type(16)));
typedef int32_t i32x16 __attribute__((ext_vector_type(16)));
typedef uint8_t u8x16 __attribute__((ext_vector_type(16)));
// Vectors at any address.
typedef f32x16 f32x16_anywhere __attribute__((aligned(1), may_alias));
typedef u8x16 u8x16_anywhere __attribute__((aligned(1), may_alias));

#define INFINITE __builtin_inff()

/// Returns 1 / scale, or 0 for 0.
CK_INLINE float inverse(float scale) { return scale != 0 ? 1 / scale : 0; }

/// Returns the first of 32 weights of the magnitude `-low` or `high`, the larger of both.
CK_INLINE float outermost(const float *x, float low, float high) {
    if (high != -low) return high > -low ? high : low;
    for (int i = 0; i < 32 && high != 0; i++)
        if (x[i] == low || x[i] == high) return x[i];
    return 0;
}

/// Returns the first of 32 weights that is equal to the least one: zeros have signs.
CK_INLINE float first_least(const float *x, float low) {
    for (int i = 0; i < 32 && low == 0; i++)
        if (x[i] == 0) return x[i];
    return low;
}

#define BODY "ggml_simple_body.h"
#include "each_set.h"

void ck_ggml_encode_simple(ck_ggml_type type, const float *values, size_t blocks, uint8_t *target) {
    switch (type) {
    case CK_GGML_Q8_0: CK_CHOOSE(quantize_row_q8_0, values, blocks, (block_q8_0 *)target); return;
    case CK_GGML_Q4_0: CK_CHOOSE(quantize_row_q4_0, values, blocks, (block_q4_0 *)target); return;
    case CK_GGML_Q4_1: CK_CHOOSE(quantize_row_q4_1, values, blocks, (block_q4_1 *)target); return;
    case CK_GGML_Q5_0: CK_CHOOSE(quantize_row_q5_0, values, blocks, (block_q5_0 *)target); return;
    case CK_GGML_Q5_1: CK_CHOOSE(quantize_row_q5_1, values, blocks, (block_q5_1 *)target); return;
    case CK_GGML_TQ1_0: CK_CHOOSE(quantize_row_tq1_0, values, blocks, (block_tq1_0 *)target); return;
    case CK_GGML_TQ2_0: CK_CHOOSE(quantize_row_tq2_0, values, blocks, (block_tq2_0 *)target); return;
    default: return;
    }
}
