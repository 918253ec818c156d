// Blocks of ggml; CAccelKernels.h includes it.
#ifndef CKERNELS_GGML_BLOCKS_H
#define CKERNELS_GGML_BLOCKS_H

#include <stddef.h>
#include <stdint.h>

/// Types of ggml by their numbers in GGUF files.
typedef enum {
    CK_GGML_Q4_0 = 2,
    CK_GGML_Q4_1 = 3,
    CK_GGML_Q5_0 = 6,
    CK_GGML_Q5_1 = 7,
    CK_GGML_Q8_0 = 8,
    CK_GGML_Q2_K = 10,
    CK_GGML_Q3_K = 11,
    CK_GGML_Q4_K = 12,
    CK_GGML_Q5_K = 13,
    CK_GGML_Q6_K = 14,
    CK_GGML_IQ2_XXS = 16,
    CK_GGML_IQ2_XS = 17,
    CK_GGML_IQ3_XXS = 18,
    CK_GGML_IQ4_NL = 20,
    CK_GGML_IQ3_S = 21,
    CK_GGML_IQ2_S = 22,
    CK_GGML_IQ4_XS = 23,
    CK_GGML_TQ1_0 = 34,
    CK_GGML_TQ2_0 = 35
} ck_ggml_type;

/// Encodes whole blocks of a row. The bytes are those of ggml's reference on x86-64, on every processor. Scales that float16 cannot hold
/// become infinite.
/// - Parameter importance: how much the error of each column counts, at least 0, or null. Q8_0 and the ternary types have no use for it;
///   without it, IQ2_XXS and IQ2_XS, which ggml does not encode then, have the bytes for an importance of 1.
void ck_ggml_encode(ck_ggml_type type, const float *values, const float *importance, size_t blocks, uint8_t *codes);
/// Encodes whole blocks of a row as `ck_ggml_encode`, or where that has a smaller squared error, with scales of a search of its own. The
/// bytes are the same on every processor.
void ck_ggml_fit(ck_ggml_type type, const float *values, const float *importance, size_t blocks, uint8_t *codes);
/// The same for types whose scales need no search; others are left as they are.
void ck_ggml_encode_simple(ck_ggml_type type, const float *values, size_t blocks, uint8_t *codes);
/// Decodes whole blocks, with the bits of ggml.
void ck_ggml_decode(ck_ggml_type type, const uint8_t *codes, size_t blocks, float *values);
/// target[r] = the sum of the weights of row r, `blocks` whole blocks at `stride` bytes, each times its element of x, to float32 rounding.
/// A weight is scale * code - minimum: codes are multiplied, and minima meet sums of x. Bit-equal on every instruction set.
/// - part_sums: the sums of x over the parts of the type's blocks that share a scale; NULL for types without minima.
void ck_ggml_dot(ck_ggml_type type, const float *x, const float *part_sums, const uint8_t *codes, size_t stride, size_t rows,
                 size_t blocks, float *target);

#endif
