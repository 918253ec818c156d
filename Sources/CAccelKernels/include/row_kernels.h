// Elementwise and row kernels; CAccelKernels.h includes it.
#ifndef CKERNELS_ROW_KERNELS_H
#define CKERNELS_ROW_KERNELS_H

#include <stddef.h>

/// A question whether work has to end early. Kernels of whole rows ask it between the parts of a long row, and leave what they have
/// not written then. All zero bytes: the work is done to its end.
typedef struct {
    /// Returns 0 as long as the work may go on. NULL: it may.
    int (*must_end)(void *context);
    void *context;
} ck_cancellation;

// Each within 4 ulp of the correctly rounded result (tested against float64). Bit-equal on every instruction set.

void ck_gelu_erf(float *x, size_t count);
void ck_gelu_tanh(float *x, size_t count);
/// x / (1 + e^(-1.702 x))
void ck_gelu_quick(float *x, size_t count);
void ck_tanh(float *x, size_t count);
/// 1 / (1 + e^-x)
void ck_sigmoid(float *x, size_t count);
/// x / (1 + e^-x)
void ck_silu(float *x, size_t count);
void ck_exp(float *x, size_t count);
/// Angles in radians.
void ck_sin(float *x, size_t count);
void ck_cos(float *x, size_t count);
/// Softmax of one row, in place.
void ck_softmax(float *row, size_t count, ck_cancellation cancellation);
/// Softmax of factor * row + mask, in place; a mask of NULL is all zeros. The product and the sum are rounded.
void ck_softmax_scores(float *row, size_t count, float factor, const float *mask);

/// What is known of a row's softmax after some of its scores; at first -infinity and 0.
typedef struct {
    double sum;
    float largest;
} ck_softmax_row;

/// Attention over some of the keys of each row: turns scores into weights, the exponentials of `factor` * score + mask, less the
/// largest number of the row so far; and multiplies the row's values, weighted sums over earlier keys, so that they have the same
/// measure. The values become results by `ck_divide_by_weights`.
/// - Parameters:
///   - scores: rows of `keys` scores, without gaps.
///   - mask: a row of it starts each `mask_stride` numbers; NULL for none.
///   - values: rows of `width` numbers, which start each `stride` numbers.
void ck_weigh_scores(float *scores, size_t rows, size_t keys, float factor, const float *mask, size_t mask_stride,
                     ck_softmax_row *states, float *values, size_t stride, size_t width);
void ck_divide_by_weights(const ck_softmax_row *states, size_t rows, float *values, size_t stride, size_t width);
/// target = (x - mean) / sqrt(variance + epsilon) * gain + shift, biased variance, one row. `target` may be `x`.
void ck_layer_norm(const float *x, const float *gain, const float *shift, double epsilon, float *target, size_t count,
                   ck_cancellation cancellation);
/// target = x / sqrt(mean(x^2) + epsilon) * gain, one row. `target` may be `x`.
void ck_rms_norm(const float *x, const float *gain, double epsilon, float *target, size_t count, ck_cancellation cancellation);
/// One row of `width` elements: rotates the pairs x[i] and x[i + half] for i < half, and copies the rest. Not in place.
void ck_rope(const float *x, const float *cos, const float *sin, size_t half, float *target, size_t width);

#endif
