// Expands values over a row by a bit mask.
#include "internal.h"

static void expand_scalar(const float *values, const uint8_t *mask, float *target, size_t first, size_t count) {
    for (size_t i = first; i < count; i++) target[i] = mask[i / 8] >> (i % 8) & 1 ? *values++ : 0;
}

#if CK_X86
CK_TARGET_AVX512 static size_t expand_avx512(const float *values, const uint8_t *mask, float *target, size_t count,
                                             size_t *used) {
    size_t i = 0, taken = 0;
    for (; i + 16 <= count; i += 16) {
        uint16_t bits;
        ck_copy(&bits, mask + i / 8, 2);
        // Reads only as many values as there are set bits.
        _mm512_storeu_ps(target + i, _mm512_maskz_expandloadu_ps(bits, values + taken));
        taken += (size_t)__builtin_popcount(bits);
    }
    *used = taken;
    return i;
}
#endif

void ck_expand_mask(const float *values, const uint8_t *mask, float *target, size_t count) {
    size_t done = 0, used = 0;
#if CK_X86
    if (ck_current_isa() == CK_AVX512) done = expand_avx512(values, mask, target, count, &used);
#endif
    expand_scalar(values + used, mask, target, done, count);
}
