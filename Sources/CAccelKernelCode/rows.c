// Elementwise functions and row reductions.
#include "row_parts.h"

// Without contraction, a * b + c has two roundings on every instruction set, unless the code requests one.
#pragma clang fp contract(off)

#define BODY "rows_body.h"
#include "each_set.h"

void ck_gelu_erf(float *x, size_t count) { CK_CHOOSE(gelu_erf, x, count); }
void ck_gelu_tanh(float *x, size_t count) { CK_CHOOSE(gelu_tanh, x, count); }
void ck_gelu_quick(float *x, size_t count) { CK_CHOOSE(gelu_quick, x, count); }
void ck_tanh(float *x, size_t count) { CK_CHOOSE(tanh, x, count); }
void ck_sigmoid(float *x, size_t count) { CK_CHOOSE(sigmoid, x, count); }
void ck_silu(float *x, size_t count) { CK_CHOOSE(silu, x, count); }
void ck_exp(float *x, size_t count) { CK_CHOOSE(exp, x, count); }
void ck_sin(float *x, size_t count) { CK_CHOOSE(sin, x, count); }
void ck_cos(float *x, size_t count) { CK_CHOOSE(cos, x, count); }
void ck_softmax(float *row, size_t count, ck_cancellation cancellation) { CK_CHOOSE(softmax, row, count, cancellation); }
void ck_softmax_scores(float *row, size_t count, float factor, const float *mask) {
    CK_CHOOSE(softmax_scores, row, count, factor, mask);
}

void ck_weigh_scores(float *scores, size_t rows, size_t keys, float factor, const float *mask, size_t mask_stride,
                     ck_softmax_row *states, float *values, size_t stride, size_t width) {
    CK_CHOOSE(weigh_scores, scores, rows, keys, factor, mask, mask_stride, states, values, stride, width);
}

void ck_divide_by_weights(const ck_softmax_row *states, size_t rows, float *values, size_t stride, size_t width) {
    CK_CHOOSE(divide_by_weights, states, rows, values, stride, width);
}

void ck_layer_norm(const float *x, const float *gain, const float *shift, double epsilon, float *target, size_t count,
                   ck_cancellation cancellation) {
    CK_CHOOSE(layer_norm, x, gain, shift, epsilon, target, count, cancellation);
}

void ck_rms_norm(const float *x, const float *gain, double epsilon, float *target, size_t count, ck_cancellation cancellation) {
    CK_CHOOSE(rms_norm, x, gain, epsilon, target, count, cancellation);
}

void ck_rope(const float *x, const float *cos, const float *sin, size_t half, float *target, size_t width) {
    CK_CHOOSE(rope, x, cos, sin, half, target, width);
}
