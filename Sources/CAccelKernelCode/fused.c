// Products that are added with one rounding, on processors without an instruction for it.
#include "fused.h"

#if CK_X86

__attribute__((noinline)) void ck_add_products_plain(const float *a, const float *b, float *sums) {
    for (int lane = 0; lane < 16; lane++) sums[lane] = __builtin_fmaf(a[lane], b[lane], sums[lane]);
}

#endif
