// Products of ggml's blocks with a vector, and their floats: a splitter for each type gives codes of one byte and scales, which one
// product and one decoder read.
#include "ggml_parts.h"
#include "simd.h"

// Without contraction, a * b + c has two roundings on every instruction set, unless the code requests one.
#pragma clang fp contract(off)

#define BODY "ggml_parts_body.h"
#include "each_set.h"

void ck_ggml_dot(ck_ggml_type type, const float *x, const float *part_sums, const uint8_t *codes, size_t stride, size_t rows,
                 size_t blocks, float *target) {
    CK_CHOOSE(ggml_dot, type, x, part_sums, codes, stride, rows, blocks, target);
}

void ck_ggml_decode(ck_ggml_type type, const uint8_t *codes, size_t blocks, float *values) {
    if (ck_current_isa() == CK_SCALAR) ck_ggml_decode_plain(type, codes, blocks, values);
    else CK_CHOOSE(ggml_floats, type, codes, blocks, values);
}
