// The kernels of reference runs and of comparisons. They are in C, because a debug build of the same loops in Swift is
// many times slower.
#include "internal.h"

// No product is joined with a sum, so all instruction sets give the same bits.
#pragma clang fp contract(off)

#define BODY "reference_body.h"
#include "each_set.h"

void ck_reference_dot(const float *a, const float *b, size_t count, double sums[8]) {
    CK_CHOOSE(reference_dot, a, b, count, sums);
}

int ck_all_finite(const float *x, size_t count) { return CK_CHOOSE(all_finite, x, count); }

size_t ck_error_sums(const float *x, const float *reference, size_t count, double sums[6], uint32_t *buckets) {
    return CK_CHOOSE(error_sums, x, reference, count, sums, buckets);
}
