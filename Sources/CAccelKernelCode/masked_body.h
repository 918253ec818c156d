// Dot products of rows of kept weights with one vector, for one instruction set. Included by sparse.c once for each, with NAME(x) and
// TARGET defined, and with this function for the set:
//   sixteen(values, mask, target)   16 floats: the next of 16 values where a bit is set, else 0
//
// Products are added in the order of `ck_dot`, so the sums have the bits of expanding the rows first.

#include "sums_body.h"

TARGET CK_INLINE void NAME(masked_row)(const float *x, const float *values, const uint8_t *mask, size_t count, FLOATS *lanes) {
    FLOATS sums[2] = {0, 0};
    size_t i = 0;
    for (; i + 32 <= count; i += 32) {
        prefetch_codes(mask + i / 8);
        uint32_t bits;
        ck_copy(&bits, mask + i / 8, 4);
#pragma clang loop unroll(full)
        for (int half = 0; half < 2; half++, bits >>= 16) {
            FLOATS own;
            NAME(sixteen)(values, (uint16_t)bits, (float *)&own);
            sums[half] = FMA(own, AT(x + i + 16 * (size_t)half), sums[half]);
            values += __builtin_popcount(bits & 0xFFFF);
        }
    }
    if (i < count) {
        float own[32] = {0}, xs[32] = {0};
        for (size_t k = 0; i + k < count; k++) own[k] = mask[(i + k) / 8] >> (i + k) % 8 & 1 ? *values++ : 0, xs[k] = x[i + k];
        sums[0] = FMA(AT(own), AT(xs), sums[0]);
        sums[1] = FMA(AT(own + 16), AT(xs + 16), sums[1]);
    }
    *lanes = sums[0] + sums[1];
}

TARGET static void NAME(dot_masked)(const float *x, const float *values, const void *starts, const uint8_t *mask,
                                    size_t stride, size_t rows, size_t count, float *target) {
#define LANES(row, lanes) \
    NAME(masked_row)(x, values + (start_of(starts, row) - start_of(starts, 0)), mask + (row) * stride, count, lanes)
    SUM_ROWS(LANES)
#undef LANES
}

#include "sums_end.h"
