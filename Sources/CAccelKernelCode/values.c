// What encoders do with all values of a row or a block: their range, their nearest codes, and the error of what is stored. In C, since
// Swift's own code takes the processor's oldest vectors.
#include "internal.h"

// No product is joined with a sum, so all instruction sets give the same bits.
#pragma clang fp contract(off)

#define BODY "values_body.h"
#include "each_set.h"

void ck_add_distortion(const float *x, const float *stored, size_t count, double sums[3]) {
    CK_CHOOSE(distortion, x, stored, count, sums);
}

void ck_value_range(const float *x, size_t count, float *low, float *high) { CK_CHOOSE(value_range, x, count, low, high); }

void ck_affine_codes(const float *x, size_t count, double scale, double bias, float top, int is_float, uint8_t *codes) {
    CK_CHOOSE(affine_codes, x, count, scale, bias, top, is_float, codes);
}

void ck_affine_values(const uint8_t *codes, size_t count, double scale, double bias, float *target) {
    CK_CHOOSE(affine_values, codes, count, scale, bias, target);
}
