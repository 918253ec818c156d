// The nearest entry of a palette, for many values.
#include "internal.h"

CK_INLINE void nearest(const float *values, size_t count, const float *bounds, size_t limit, uint8_t *codes) {
    size_t i = 0;
    if (limit <= 16) {
        // Sixteen values against every bound: the code is how many they lie above.
        typedef float f16 __attribute__((ext_vector_type(16)));
        typedef float f16u __attribute__((ext_vector_type(16), aligned(4)));
        typedef int32_t i16 __attribute__((ext_vector_type(16)));
        typedef uint8_t u16 __attribute__((ext_vector_type(16)));
        typedef uint8_t u16u __attribute__((ext_vector_type(16), aligned(1)));
        for (; i + 16 <= count; i += 16) {
            f16 x = *(const f16u *)(values + i);
            i16 above = 0;
            for (size_t b = 0; b < limit; b++) above -= (i16)(x > bounds[b]);
            *(u16u *)(codes + i) = __builtin_convertvector(above, u16);
        }
    }
    for (; i < count; i++) {
        size_t low = 0, left = limit;
        while (left) {
            size_t half = left / 2;
            int above = values[i] > bounds[low + half];
            low = above ? low + half + 1 : low;
            left = above ? left - half - 1 : half;
        }
        codes[i] = (uint8_t)low;
    }
}

static void nearest_scalar(const float *v, size_t n, const float *b, size_t l, uint8_t *c) { nearest(v, n, b, l, c); }
#if CK_X86
CK_TARGET_AVX2 static void nearest_avx2(const float *v, size_t n, const float *b, size_t l, uint8_t *c) {
    nearest(v, n, b, l, c);
}
CK_TARGET_AVX512 static void nearest_avx512(const float *v, size_t n, const float *b, size_t l, uint8_t *c) {
    nearest(v, n, b, l, c);
}
#endif

void ck_nearest_codes(const float *values, size_t count, const float *bounds, size_t limit, uint8_t *codes) {
    switch (ck_current_isa()) {
#if CK_X86
    case CK_AVX512: nearest_avx512(values, count, bounds, limit, codes); return;
    case CK_AVX2: nearest_avx2(values, count, bounds, limit, codes); return;
#endif
    default: nearest_scalar(values, count, bounds, limit, codes); return;
    }
}
