// Matrix products (GEMM); CAccelKernels.h includes it.
#ifndef CKERNELS_MATRIX_PRODUCTS_H
#define CKERNELS_MATRIX_PRODUCTS_H

#include <stddef.h>

// C[m, n] = sum_k A[m, k] * W[n, k]. W is first packed into panels of ck_panel_width() output columns,
// each panel k-major ([k][width], columns past n are zero).

size_t ck_panel_width(void);
/// Packs `rows` (<= panel width) rows of W, each `k` floats at `stride` floats, into one panel.
void ck_pack_panel(const float *w, size_t stride, size_t rows, size_t k, float *panel);
/// The same from W transposed: w holds `k` rows of `columns` (<= panel width) floats each, at `stride` floats.
void ck_pack_panel_transposed(const float *w, size_t stride, size_t columns, size_t k, float *panel);
/// C[0..<m, 0..<columns] (row stride ldc) = A (row stride lda) x panels that follow each other + bias (NULL for zero).
/// The order of summation over k depends on nothing else; all instruction sets give the same bits.
void ck_gemm_panels(const float *a, size_t lda, size_t m, size_t k, const float *panels, const float *bias, float *c,
                    size_t ldc, size_t columns);
/// The same without a bias, added to C.
void ck_gemm_panels_add(const float *a, size_t lda, size_t m, size_t k, const float *panels, float *c, size_t ldc, size_t columns);

/// The columns of a panel in float64.
size_t ck_panel_width_f64(void);
/// C[0..<m, 0..<width] = A (row stride lda) x panel, in float64; as `ck_gemm_panels`, for whole panels [k][width].
void ck_gemm_panel_f64(const double *a, size_t lda, size_t m, size_t k, const double *panel, double *c, size_t ldc);
/// Lays out m rows of k numbers as `ck_gemm_blocks_f64` reads them: in blocks that stay in the second cache level.
void ck_widen_rows(const float *x, size_t m, size_t k, double *blocks);
/// Makes two panels in float64, [2][k][width], of one of `ck_pack_panel`.
void ck_widen_panel(const float *panel, size_t k, double *panels);
/// C[0..<m, 0..<count * width] = rows of `ck_widen_rows` x panels in float64, [count][k][width]; the same bits as
/// `ck_gemm_panel_f64`.
void ck_gemm_blocks_f64(const double *blocks, size_t m, size_t k, const double *panels, size_t count, double *c);

#endif
