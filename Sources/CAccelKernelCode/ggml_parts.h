// Blocks of ggml's types in parts: 16 or 32 weights that share a scale and a minimum.
#ifndef CKERNELS_GGML_PARTS_H
#define CKERNELS_GGML_PARTS_H

#include "ggml_grid_parts.h"

// The weights that are split at once: a block of them, or eight blocks of 32.
#define SPLIT 256

/// Weight i is scale * code - minimum, with the scale and the minimum of its part.
typedef struct {
    _Alignas(64) int8_t codes[SPLIT];
    _Alignas(64) float scales[16];
    float minima[16];
} ggml_parts;

/// Calls M(NUMBER, type, weights of a block, weights of a part, whether parts have minima) for each type.
#define EACH_GGML_TYPE(M)                                                                                           \
    M(Q8_0, q8_0, 32, 32, 0) M(Q4_0, q4_0, 32, 32, 0) M(Q4_1, q4_1, 32, 32, 1) M(Q5_0, q5_0, 32, 32, 0)             \
    M(Q5_1, q5_1, 32, 32, 1) M(IQ4_NL, iq4_nl, 32, 32, 0) M(Q2_K, q2_k, QK_K, 16, 1) M(Q3_K, q3_k, QK_K, 16, 0)     \
    M(Q4_K, q4_k, QK_K, 32, 1) M(Q5_K, q5_k, QK_K, 32, 1) M(Q6_K, q6_k, QK_K, 16, 0)                                \
    M(IQ4_XS, iq4_xs, QK_K, 32, 0) M(TQ1_0, tq1_0, QK_K, 32, 0) M(TQ2_0, tq2_0, QK_K, 32, 0)                        \
    M(IQ2_XXS, iq2_xxs, QK_K, 32, 0) M(IQ2_XS, iq2_xs, QK_K, 16, 0) M(IQ2_S, iq2_s, QK_K, 16, 0)                    \
    M(IQ3_XXS, iq3_xxs, QK_K, 32, 0) M(IQ3_S, iq3_s, QK_K, 32, 0)

#endif
