// Products of bfloat16; CAccelKernels.h includes it.
#ifndef CKERNELS_BFLOAT16_PRODUCTS_H
#define CKERNELS_BFLOAT16_PRODUCTS_H

#include <stddef.h>
#include <stdint.h>

// Both factors are rounded to bfloat16, so that each product is exact in float32; sums are float32. The scalar form, AVX2, AVX-512 and
// NEON add the products one after the other, each with one rounding, and give the same bits. So does AVX-512 BF16, unless a number
// is below 2^-126, which it takes for 0. AMX and NEON with BF16 do that too, and add several products in an order of their own:
// their sums are as close to the exact ones, and have other bits.

/// `depth`, rounded up to a multiple of 32: the numbers of a row of x, and of a column of a panel. Those past the depth are 0.
size_t ck_bf16_depth(size_t depth);
/// The numbers from a row of x to the next: at least `ck_bf16_depth`, and such that rows do not share their places in the cache.
size_t ck_bf16_stride(size_t depth);
/// row[i] = x[i], rounded to nearest even, followed by zeros up to `ck_bf16_depth`.
void ck_bf16_row(const float *x, size_t count, uint16_t *row);
/// Packs up to `ck_panel_width` rows of `ck_bf16_depth` numbers, which start each `stride` numbers, to a panel: pairs of neighbours
/// in a row, side by side. Rows and panel lie on a boundary of 4 bytes; the stride is even.
void ck_pack_bf16_panel(const uint16_t *w, size_t stride, size_t rows, size_t depth, uint16_t *panel);
/// Returns whether the instruction set in use multiplies pairs of bfloat16: AVX-512 BF16, AMX, or NEON with BF16.
int ck_has_bf16_products(void);
/// c[r, n] = the product of row r of x with column n of panels that follow each other, r < rows, n < columns.
void ck_gemm_bf16(const uint16_t *x, size_t stride, size_t rows, size_t depth, const uint16_t *panels, size_t columns,
                  float *c, size_t ldc);

#endif
