// Rows of float32 rounded to 8 bits, as products of int8 activations read them.
#include "internal.h"

// Each operation rounds once, on every instruction set.
#pragma clang fp contract(off)

#define BODY "rounding_body.h"
#include "each_set.h"

size_t ck_step_stride(size_t count) { return (count + 63) / 64 * 64; }

void ck_round_row(const float *x, size_t count, const ck_rounding *range, int16_t *steps, ck_rounding *rounding) {
    CK_CHOOSE(round_row, x, count, range, steps, rounding);
}

void ck_round_row_to_codes(const float *x, size_t count, const ck_rounding *range, uint8_t *codes, ck_rounding *rounding) {
    CK_CHOOSE(round_row_to_codes, x, count, range, codes, rounding);
}

void ck_rounded_row(const float *x, size_t count, const ck_rounding *range, float *target) {
    CK_CHOOSE(rounded_row, x, count, range, target);
}

void ck_sum_steps(const int16_t *steps, size_t count, size_t block, int32_t *sums) {
    for (size_t from = 0, index = 0; from < count; from += block, index++) {
        const size_t end = count - from < block ? count : from + block;
        int32_t sum = 0;
        for (size_t i = from; i < end; i++) sum += steps[i];
        sums[index] = sum;
    }
}

void ck_step_codes(const int16_t *steps, size_t count, ck_rounding rounding, uint8_t *codes) {
    for (size_t i = 0; i < ck_step_stride(count); i++) codes[i] = (uint8_t)(steps[i] - rounding.lowest);
}

void ck_split_step_codes(const int16_t *steps, size_t count, ck_rounding rounding, uint8_t *codes) {
    for (size_t i = 0; i < ck_step_stride(count); i += 32)
        for (size_t k = 0; k < 16; k++) {
            codes[i + k] = (uint8_t)(steps[i + 2 * k] - rounding.lowest);
            codes[i + 16 + k] = (uint8_t)(steps[i + 2 * k + 1] - rounding.lowest);
        }
}
