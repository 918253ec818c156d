// One plain implementation that does not depend on the instruction set, for comparisons with kernels; CAccelKernels.h includes it.
#ifndef CKERNELS_REFERENCE_SUMS_H
#define CKERNELS_REFERENCE_SUMS_H

#include <stddef.h>
#include <stdint.h>

/// sums[j] = sum_i a[8 * i + j] * b[8 * i + j] in float64, in the order of i; 8 * i + j < count & ~7.
void ck_reference_dot(const float *a, const float *b, size_t count, double sums[8]);
/// Whether no element is NaN or infinite.
int ck_all_finite(const float *x, size_t count);
/// Adds what a comparison of finite elements sums up, in float64 and in one order: sum (x - r)^2, sum r^2, sum x^2 and
/// sum x * r to sums[0...3]; and raises sums[4] to the largest |x - r| and sums[5] to the largest |r|. Counts each |x - r|
/// in the bucket of the upper 16 bits of its float32. Returns the number of elements of opposite signs. count < 2^31.
size_t ck_error_sums(const float *x, const float *reference, size_t count, double sums[6], uint32_t *buckets);

#endif
