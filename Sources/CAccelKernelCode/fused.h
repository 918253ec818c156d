// Products that are added with one rounding, on processors without an instruction for it.
#ifndef CKERNELS_FUSED_H
#define CKERNELS_FUSED_H

#include "internal.h"

#if CK_X86
/// Adds sixteen products, each with one rounding, on processors that have no instruction for it. Each product is a call, of which
/// all kernels of the plain set together would have a megabyte, if they were not in one place.
void ck_add_products_plain(const float *a, const float *b, float *sums);

/// The sets NAME whose sums call that function.
#define FMA_IS_CALL_plain 1
#define FMA_BY_CALL(vector, a, b, c)                                                                        \
    ({                                                                                                      \
        const vector fma_a = (a), fma_b = (b);                                                              \
        vector fma_c = (c);                                                                                 \
        ck_add_products_plain((const float *)&fma_a, (const float *)&fma_b, (float *)&fma_c);               \
        fma_c;                                                                                              \
    })
#endif

#endif
