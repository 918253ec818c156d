// Finds the nearest entry of a table of short vectors.
#include "internal.h"

#pragma clang fp contract(off)

typedef float f32x16 __attribute__((ext_vector_type(16)));
typedef int32_t i32x16 __attribute__((ext_vector_type(16)));

// Compares sixteen entries at a time. Lanes and then entries are compared in ascending order, so the first of equal
// ones wins.
CK_INLINE void nearest_vectors(const float *points, size_t count, size_t size, const float *entries, size_t k,
                               uint8_t *codes) {
    const i32x16 first = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    for (size_t p = 0; p < count; p++) {
        f32x16 least = __builtin_inff();
        i32x16 best = first;
        for (size_t c = 0; c < k; c += 16) {
            f32x16 sum = 0;
            for (size_t j = 0; j < size; j++) {
                f32x16 entry;
                ck_copy(&entry, entries + j * k + c, sizeof entry);
                f32x16 difference = points[p * size + j] - entry;
                sum += difference * difference;
            }
            i32x16 nearer = sum < least;
            least = (f32x16)((nearer & (i32x16)sum) | (~nearer & (i32x16)least));
            best = (nearer & (first + (int32_t)c)) | (~nearer & best);
        }
        int32_t code = best[0];
        float distance = least[0];
        for (int lane = 1; lane < 16; lane++) {
            if (least[lane] < distance || (least[lane] == distance && best[lane] < code)) {
                distance = least[lane];
                code = best[lane];
            }
        }
        codes[p] = (uint8_t)code;
    }
}

static void vectors_scalar(const float *p, size_t n, size_t size, const float *e, size_t k, uint8_t *c) {
    nearest_vectors(p, n, size, e, k, c);
}
#if CK_X86
CK_TARGET_AVX2 static void vectors_avx2(const float *p, size_t n, size_t size, const float *e, size_t k, uint8_t *c) {
    nearest_vectors(p, n, size, e, k, c);
}
CK_TARGET_AVX512 static void vectors_avx512(const float *p, size_t n, size_t size, const float *e, size_t k,
                                            uint8_t *c) {
    nearest_vectors(p, n, size, e, k, c);
}
#endif

void ck_nearest_vectors(const float *points, size_t count, size_t size, const float *entries, size_t k,
                        uint8_t *codes) {
    switch (ck_current_isa()) {
#if CK_X86
    case CK_AVX512: vectors_avx512(points, count, size, entries, k, codes); return;
    case CK_AVX2: vectors_avx2(points, count, size, entries, k, codes); return;
#endif
    default: vectors_scalar(points, count, size, entries, k, codes); return;
    }
}
