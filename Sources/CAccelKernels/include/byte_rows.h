// Rows of codes of one byte; CAccelKernels.h includes it.
#ifndef CKERNELS_BYTE_ROWS_H
#define CKERNELS_BYTE_ROWS_H

#include <stddef.h>
#include <stdint.h>

#include "row_kernels.h"

// A row is `count` codes of 8 bits, and then the bytes of its scale, a float32: element i is code i times the scale. Rows
// may be unaligned. Bit-equal on every instruction set.

/// Rounds a row. Its scale is max|x| / 127, at least 2^-126; 0 for a row of zeros, and NaN, with codes of 0, for a row that
/// is not finite. Code i is x[i] * (1 / scale), rounded to nearest even and limited to -127 and 127.
void ck_round_byte_row(const float *x, size_t count, int8_t *row, ck_cancellation cancellation);
/// Returns the scale of a row.
float ck_byte_row_scale(const int8_t *row, size_t count);
/// target[i] = codes[i] * scale, i < count.
void ck_widen_codes(const int8_t *codes, size_t count, float scale, float *target);

#endif
