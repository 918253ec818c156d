// SIMD kernels behind one run-time dispatch. Every function has a plain scalar form that is its meaning;
// faster forms are chosen once, by what the processor offers, and are tested to agree with it.
#ifndef CKERNELS_H
#define CKERNELS_H

#include <stddef.h>
#include <stdint.h>

// ---- dispatch ------------------------------------------------------------------------------------------------

typedef enum { CK_SCALAR = 0, CK_NEON = 1, CK_AVX2 = 2, CK_AVX512 = 3 } ck_isa;

/// The instruction set in use.
ck_isa ck_current_isa(void);
/// For tests: use at most `isa` (a set that the processor lacks is ignored). Returns the set now in use.
ck_isa ck_limit_isa(ck_isa isa);

// ---- half precision ------------------------------------------------------------------------------------------
// Round to nearest even; NaN stays NaN (quiet); float32 -> float16 overflows to infinity. Bit-equal on every set.

void ck_f16_to_f32(const uint16_t *source, float *target, size_t count);
void ck_f32_to_f16(const float *source, uint16_t *target, size_t count);
void ck_bf16_to_f32(const uint16_t *source, float *target, size_t count);
void ck_f32_to_bf16(const float *source, uint16_t *target, size_t count);

// ---- hashing -------------------------------------------------------------------------------------------------

/// Feeds `blocks` whole 64-byte blocks to a SHA-256 state (FIPS 180-4).
void ck_sha256_blocks(uint32_t state[8], const uint8_t *bytes, size_t blocks);

// ---- decoding of compressed weights --------------------------------------------------------------------------

/// target[i] = table[code i], codes of 4 bits packed low nibble first; `first` is the index of the first code.
void ck_decode_palette4(const uint8_t *codes, size_t first, const float table[16], float *target, size_t count);
/// target[i] = table[codes[i]].
void ck_decode_palette8(const uint8_t *codes, const float table[256], float *target, size_t count);
/// target[i] = scale * (codes[i] - zero).
void ck_decode_int8(const int8_t *codes, float scale, float zero, float *target, size_t count);

// ---- optimal partitions --------------------------------------------------------------------------------------

/// Cuts n sorted weighted points into runs so that the squared error about each run's mean plus `penalty` for each run is
/// least. Position i lies before point i; w, s1, s2 [0...n] are the sums of weight, weight * x, weight * x^2 over the
/// points before a position (up to a constant each), w rising strictly. `reciprocal` is NULL, or reciprocal[d] = 1 / (w[i + d] - w[i]) where that
/// is the same for all i. Fills f[0...n] (the least cost up to a position), previous[0...n] (where its last run starts);
/// g[0...n] is scratch. Takes about 10 ns a point when runs are shorter than a few thousand points.
void ck_partition(const double *w, const double *s1, const double *s2, const double *reciprocal, size_t n,
                  double penalty, double *f, double *g, int32_t *previous);

/// codes[i] = how many of the `limit` (<= 255) ascending bounds values[i] is above.
void ck_nearest_codes(const float *values, size_t count, const float *bounds, size_t limit, uint8_t *codes);

// ---- scales --------------------------------------------------------------------------------------------------

/// For each of 16 scales, whose inverses are given, with x = value / scale and q = x rounded to an integer from `low` to
/// `high`: products = sum of weight * x * q, squares = sum of weight * q^2. `weights` is NULL for 1. The quotients have
/// to be of less than 2^22.
void ck_try_scales(const float *values, const float *weights, size_t count, const float inverses[16], float low,
                   float high, double products[16], double squares[16]);
/// The same without weights, where q is the entry of an ascending table whose number is how many bounds x is above.
void ck_try_table_scales(const float *values, size_t count, const float inverses[16], const float table[16],
                         const float bounds[15], double products[16], double squares[16]);

// ---- matrix product ------------------------------------------------------------------------------------------
// C[m, n] = sum_k A[m, k] * W[n, k]. W is first packed into panels of ck_panel_width() output columns,
// each panel k-major ([k][width], columns past n are zero).

size_t ck_panel_width(void);
/// Packs `rows` (<= panel width) rows of W, each `k` floats at `stride` floats, into one panel.
void ck_pack_panel(const float *w, size_t stride, size_t rows, size_t k, float *panel);
/// The same from W transposed: w holds `k` rows of `columns` (<= panel width) floats each, at `stride` floats.
void ck_pack_panel_transposed(const float *w, size_t stride, size_t columns, size_t k, float *panel);
/// One panel: C[0..<m, 0..<columns] (row stride ldc) = A (row stride lda) x panel + bias (or NULL: zero).
/// columns <= panel width. The order of summation over k does not depend on m; all sets give the same bits.
/// Fastest when the rows of A in one call (some 128) and a panel fit in the second cache level.
void ck_gemm_panel(const float *a, size_t lda, size_t m, size_t k, const float *panel, const float *bias,
                   float *c, size_t ldc, size_t columns);

// ---- elementwise and row kernels -----------------------------------------------------------------------------
// Each within 4 ulp of the correctly rounded result (tested against float64). Bit-equal on every set.

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
/// Radians.
void ck_sin(float *x, size_t count);
void ck_cos(float *x, size_t count);
/// In place softmax of one row.
void ck_softmax(float *row, size_t count);
/// target = (x - mean) / sqrt(variance + epsilon) * gain + shift, biased variance, one row. `target` may be `x`.
void ck_layer_norm(const float *x, const float *gain, const float *shift, double epsilon, float *target, size_t count);

#endif
