// Rows of x as bfloat16.
#include "internal.h"

void ck_bf16_row(const float *x, size_t count, uint16_t *row) {
    ck_f32_to_bf16(x, row, count);
    for (size_t i = count; i < ck_bf16_depth(count); i++) row[i] = 0;
}

void ck_bf16_rounded(const float *x, size_t count, float *target) {
    uint16_t rounded[512];
    for (size_t i = 0; i < count; i += 512) {
        const size_t some = count - i < 512 ? count - i : 512;
        ck_f32_to_bf16(x + i, rounded, some);
        ck_bf16_to_f32(rounded, target + i, some);
    }
}
