// Rows of 8-bit codes that end with the bytes of their scale, a float32: key/value caches of int8.
#include "row_parts.h"

// Each operation rounds once, on every instruction set.
#pragma clang fp contract(off)

#define BODY "byte_rows_body.h"
#include "each_set.h"

float ck_byte_row_scale(const int8_t *row, size_t count) { return byte_row_scale(row, count); }

void ck_round_byte_row(const float *x, size_t count, int8_t *row, ck_cancellation cancellation) {
    CK_CHOOSE(round_byte_row, x, count, row, cancellation);
}

void ck_widen_codes(const int8_t *codes, size_t count, float scale, float *target) {
    CK_CHOOSE(widen_codes, codes, count, scale, target);
}
