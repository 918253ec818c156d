// Rows of x as bfloat16.
#include "internal.h"

void ck_bf16_row(const float *x, size_t count, uint16_t *row) {
    ck_f32_to_bf16(x, row, count);
    for (size_t i = count; i < ck_bf16_depth(count); i++) row[i] = 0;
}
