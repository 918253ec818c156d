// Panels of bfloat16, as ck_gemm_bf16 reads them.
#include "internal.h"

size_t ck_bf16_depth(size_t depth) { return (depth + 31) / 32 * 32; }

size_t ck_bf16_stride(size_t depth) {
    const size_t numbers = ck_bf16_depth(depth);
    // Rows that are a multiple of 1 KB apart have few places in the first cache level.
    return numbers % 512 ? numbers : numbers + 32;
}

void ck_pack_bf16_panel(const uint16_t *w, size_t stride, size_t rows, size_t depth, uint16_t *panel) {
    // A pair is moved as one number of 32 bits.
    ck_pack_panel((const float *)w, stride / 2, rows, ck_bf16_depth(depth) / 2, (float *)panel);
}
