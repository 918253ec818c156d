// Rows of 8-bit codes that end with the bytes of their scale, a float32: key/value caches of int8.
#include "internal.h"

// Each operation rounds once, on every instruction set.
#pragma clang fp contract(off)

#define NAME(x) x##_plain
#define TARGET
#include "byte_rows_body.h"

#if CK_X86

#define NAME(x) x##_avx2
#define TARGET CK_TARGET_AVX2
#include "byte_rows_body.h"

#define NAME(x) x##_avx512
#define TARGET CK_TARGET_AVX512
#include "byte_rows_body.h"

#endif

float ck_byte_row_scale(const int8_t *row, size_t count) {
    float scale;
    ck_copy(&scale, row + count, sizeof scale);
    return scale;
}

void ck_round_byte_row(const float *x, size_t count, int8_t *row) { CK_CHOOSE(round_byte_row, x, count, row); }

void ck_widen_codes(const int8_t *codes, size_t count, float scale, float *target) {
    CK_CHOOSE(widen_codes, codes, count, scale, target);
}
