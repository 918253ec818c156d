// Codes of evenly spaced values; CAccelKernels.h includes it.
#ifndef CKERNELS_EVEN_CODES_H
#define CKERNELS_EVEN_CODES_H

#include <stddef.h>
#include <stdint.h>

#include "stored_types.h"

/// The smallest and the largest value; infinity and minus infinity if there is none. The values are not NaN.
void ck_value_range(const float *x, size_t count, float *low, float *high);
/// Adds sum (x - stored)^2 and sum x^2 in float64 to sums[0] and sums[1], and raises sums[2] to the largest |x - stored|, of finite
/// elements; in one order, so that all instruction sets give the same bits.
void ck_add_distortion(const float *x, const float *stored, size_t count, double sums[3]);
/// codes[i] = (x[i] - bias) / scale, limited to 0 and `top`, and rounded to nearest even; in float32 throughout with `is_float`, else
/// divided in float64 and rounded to float32 first.
void ck_affine_codes(const float *x, size_t count, double scale, double bias, float top, int is_float, uint8_t *codes);
/// target[i] = scale * codes[i] + bias, in float64 and rounded once.
void ck_affine_values(const uint8_t *codes, size_t count, double scale, double bias, float *target);
/// The smallest and the largest of the values and 0. Returns 0, with undefined results, if a value is not finite.
int ck_extremes(const void *values, ck_type type, size_t count, float *low, float *high);

/// codes[i] = the lowest byte of values[i] / scale (rounded to float32, then to the nearest integer, ties to even).
/// Adds to `errors`. Magnitudes of the scale and the largest value: from 2^-40 to 2^60; quotients up to 256.
void ck_quantize_bytes(const void *values, ck_type type, size_t count, float scale, uint8_t *codes, ck_errors *errors);

/// Quantises one row to 4-bit codes, low nibble first, with a scale for each `block` values; the last block may be shorter.
/// `count` and `block` are multiples of 16. A scale (float16 or float32) is the smallest that reaches the block's values with
/// codes from -`reach` (7 or 8) to 7; for 8, the sign with less squared error is taken, the positive one if they are equal.
/// A refined scale is the result of `ck_refined_scale` for both signs. Returns 0, with undefined output, if a block's
/// magnitude needs the slow path: below 2^-40, or with a float16 scale that is subnormal or infinite.
int ck_quantize_nibbles(const void *values, ck_type type, size_t count, size_t block, int reach, int is_refined,
                        int half_scales, uint8_t *codes, uint8_t *scales, ck_errors *errors);

/// The scale (float16 or float32) of about the least squared error with codes from -`reach` (7 or 8) to 7. `unit` is
/// the value of largest magnitude, negated; `first` and `second` are stored scales that reach all values. Values are
/// counted in steps of unit / 32767, so sums are exact, and equal on every instruction set.
float ck_refined_scale(const float *values, size_t count, float unit, int reach, int half_scales, float first,
                       float second);

/// For each of 16 scales, whose inverses are given, with x = value / scale and q = x rounded to an integer from `low` to
/// `high`: products = sum of weight * x * q, squares = sum of weight * q^2. `weights` is NULL for 1. Quotients have
/// to be below 2^22.
void ck_try_scales(const float *values, const float *weights, size_t count, const float inverses[16], float low,
                   float high, double products[16], double squares[16]);
/// The same where q is the entry of an ascending table at the number of bounds below x.
void ck_try_table_scales(const float *values, const float *weights, size_t count, const float inverses[16],
                         const float table[16], const float bounds[15], double products[16], double squares[16]);

#endif
