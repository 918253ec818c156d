// Matrix-vector products (GEMV); CAccelKernels.h includes it.
#ifndef CKERNELS_VECTOR_PRODUCTS_H
#define CKERNELS_VECTOR_PRODUCTS_H

#include <stddef.h>
#include <stdint.h>

#include "stored_types.h"

// A row's sum does not depend on other rows; all instruction sets give the same bits.

/// target[r] = sum_i x[i] * w[r * stride + i], i < count.
void ck_dot(const float *x, const float *w, size_t stride, size_t rows, size_t count, float *target);
/// The same with rows of float16 or bfloat16. The sums have the bits of `ck_dot` with these numbers.
void ck_dot_halves(const float *x, const uint16_t *w, ck_type type, size_t stride, size_t rows, size_t count, float *target);
/// `ck_dot` for several vectors: target[v * target_stride + r] = sum_i x[v * x_stride + i] * w[r * stride + i]. Fastest if
/// the vectors and a few rows fit into the first cache level.
void ck_dot_many(const float *x, size_t x_stride, size_t vectors, const float *w, size_t stride, size_t rows,
                 size_t count, float *target, size_t target_stride);
/// target[r] = sum_i x[i] * (codes[r * stride + i] - zeros[r]).
void ck_dot_int8(const float *x, const int8_t *codes, size_t stride, size_t rows, size_t count, const float *zeros,
                 float *target);
/// Reorders a vector for `ck_dot_codes4`: of each 128 elements first those at positions 0, 8, 16 ..., then those at 1, 9,
/// 17 ...; padded with zeros to `ck_interleaved_count` elements.
void ck_interleave(const float *x, size_t count, float *target);
/// `count`, rounded up to a multiple of 128.
size_t ck_interleaved_count(size_t count);
/// target[r] = sum_i x[i] * scale(r, i) * table[code i of row r], with 4-bit codes packed low nibble first; a row starts
/// at r * `stride` bytes. A row has `blocks` scales (float32, float16 or bfloat16, may be unaligned), each for `block` (16, 32, 64,
/// 128, or count) columns; 0 for no scales. `interleaved` is x in the order of `ck_interleave`.
void ck_dot_codes4(const float *interleaved, const uint8_t *codes, size_t stride, size_t rows, size_t count,
                   const float table[16], const void *scales, ck_type type, size_t blocks, size_t block, float *target);
/// The same with numbers in place of a table: codes in two's complement, or if they are biased, codes less 8. The sums
/// have the bits of `ck_dot_codes4` with a table of these numbers.
void ck_dot_nibbles(const float *interleaved, const uint8_t *codes, size_t stride, size_t rows, size_t count,
                    int is_biased, const void *scales, ck_type type, size_t blocks, size_t block, float *target);
/// target[r] = sum_i x[i] * scale(r, i) * (code - 2^(bits - 1)), with codes of `bits` (2 to 8) bits in one byte each; a row
/// starts at r * `stride` bytes. Scales are as in `ck_dot_codes4`. Codes of fewer than 8 bits should be in the first cache
/// level, where they have been unpacked.
void ck_dot_bytes(const float *x, const uint8_t *codes, size_t stride, size_t rows, size_t count, int bits,
                  const void *scales, ck_type type, size_t blocks, size_t block, float *target);
/// target[r] = sum_i x[i] * scale(r, i) * value(code i of row r), with codes of float8: e5m2 or e4m3; a row starts at
/// r * `stride` bytes. A row has `blocks` scales, from r * `scale_stride` on (0 if all rows share them), each for `block` (16,
/// 32, 64, 128, or count) columns.
void ck_dot_float8(const float *x, const uint8_t *codes, size_t stride, size_t rows, size_t count, int is_e5m2,
                   const float *scales, size_t scale_stride, size_t blocks, size_t block, float *target);
/// target[r] = sum_i x[i] * table[code i of row r], with codes of one byte that are less than 2^bits (1, 2, 3, 4, 6 or 8); a
/// row starts at r * `stride` bytes. The sums have the bits of `ck_dot` with the looked up rows. Codes of fewer than 8 bits
/// should be in the first cache level, where they have been unpacked.
void ck_dot_entries(const float *x, const uint8_t *codes, size_t stride, size_t rows, size_t count, const float *table,
                    int bits, float *target);
/// The same with entries of `size` (2 or 4) floats, for as many columns: code c stands for those from table[size * c] on.
void ck_dot_vectors(const float *x, const uint8_t *codes, size_t stride, size_t rows, size_t count, const float *table,
                    size_t size, float *target);
/// target[r] = sum_i x[i] * row r's weight i: the next kept one where bit i of the row's mask is set, else 0. The mask of a row
/// starts at r * `stride` bytes. `starts` has the number of weights before each row, 32 bits each, counted from any number;
/// `values` are those from the first row on, and 16 more floats are read. The sums have the bits of `ck_dot` with the rows.
void ck_dot_masked(const float *x, const float *values, const void *starts, const uint8_t *mask, size_t stride,
                   size_t rows, size_t count, float *target);
/// target[r] = sum_b sums[b] * (bias(r, b) + zero * scale(r, b)), b < blocks: what biases add to products of codes less
/// `zero`, with `sums` of the vector's blocks, which zeros follow up to a multiple of 16. Scales and biases (float32,
/// float16 or bfloat16, may be unaligned) of a row follow those of the row before it.
void ck_dot_biases(const float *sums, const void *scales, const void *biases, ck_type type, float zero, size_t rows,
                   size_t blocks, float *target);
/// target[r] = -sum_b sums[b] * zero(r, b) * scale(r, b): the same with zero points of four bits in two's complement, low
/// nibble first; those of a row start at r * `stride` bytes.
void ck_dot_zeros(const float *sums, const void *scales, ck_type type, const uint8_t *zeros, size_t stride, size_t rows,
                  size_t blocks, float *target);
/// target[c] = sum_r weights[r] * rows[r * stride + c], c < columns, r < count. Rows of weight 0 are not read.
void ck_weighted_sum(const float *weights, const float *rows, size_t stride, size_t count, size_t columns,
                     float *target);
/// The same with rows of float16. The sums have the bits of `ck_weighted_sum` with these numbers.
void ck_weighted_sum_halves(const float *weights, const uint16_t *rows, size_t stride, size_t count, size_t columns,
                            float *target);
/// The products and sums of rows of codes: of `ck_dot`, and of `ck_weighted_sum`. A row has `count` or `columns` codes, and
/// then its scale, which multiplies the sum of a row, or its weight.
void ck_dot_byte_rows(const float *x, const int8_t *w, size_t stride, size_t rows, size_t count, float *target);
void ck_weighted_sum_byte_rows(const float *weights, const int8_t *rows, size_t stride, size_t count, size_t columns,
                               float *target);

#endif
