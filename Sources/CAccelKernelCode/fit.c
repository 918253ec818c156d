// Computes the sums that determine the best of several scales, for all scales at once.
#include "internal.h"

// Products and sums are rounded separately on every instruction set.
#pragma clang fp contract(off)

typedef float f32x16 __attribute__((ext_vector_type(16)));
typedef int32_t i32x16 __attribute__((ext_vector_type(16)));

#define CHOOSE(mask, yes, no) ((f32x16)(((mask) & (i32x16)(yes)) | (~(mask) & (i32x16)(no))))

// Each lane is a scale, so every set adds in the same order. Float32 sums of 32 values are added in float64.
CK_INLINE void try_scales(const float *values, const float *weights, size_t count, const float inverses[16], float low,
                          float high, double products[16], double squares[16]) {
    f32x16 inverse, lowest = low, highest = high;
    ck_copy(&inverse, inverses, sizeof inverse);
    // Adding and subtracting 1.5 * 2^23 rounds to an integer.
    const f32x16 rounder = 12582912.0f;
    for (int lane = 0; lane < 16; lane++) products[lane] = squares[lane] = 0;
    for (size_t start = 0; start < count; start += 32) {
        size_t end = count - start < 32 ? count : start + 32;
        f32x16 product = 0, square = 0;
        for (size_t i = start; i < end; i++) {
            f32x16 x = values[i] * inverse;
            f32x16 code = CHOOSE(x < lowest, lowest, x);
            code = CHOOSE(code > highest, highest, code);
            code = (code + rounder) - rounder;
            f32x16 a = x * code, b = code * code;
            if (weights) {
                a *= weights[i];
                b *= weights[i];
            }
            product += a;
            square += b;
        }
        for (int lane = 0; lane < 16; lane++) {
            products[lane] += product[lane];
            squares[lane] += square[lane];
        }
    }
}

// The same with the nearest entry of a table instead of an integer.
CK_INLINE void try_table(const float *values, const float *weights, size_t count, const float inverses[16],
                         const float table[16], const float bounds[15], double products[16], double squares[16]) {
    f32x16 inverse;
    ck_copy(&inverse, inverses, sizeof inverse);
    for (int lane = 0; lane < 16; lane++) products[lane] = squares[lane] = 0;
    for (size_t start = 0; start < count; start += 32) {
        size_t end = count - start < 32 ? count : start + 32;
        f32x16 product = 0, square = 0;
        for (size_t i = start; i < end; i++) {
            f32x16 x = values[i] * inverse, entry = table[0];
#pragma clang loop unroll(full)
            for (int k = 0; k < 15; k++) entry = CHOOSE(x > bounds[k], (f32x16)table[k + 1], entry);
            f32x16 a = x * entry, b = entry * entry;
            if (weights) {
                a *= weights[i];
                b *= weights[i];
            }
            product += a;
            square += b;
        }
        for (int lane = 0; lane < 16; lane++) {
            products[lane] += product[lane];
            squares[lane] += square[lane];
        }
    }
}

static void try_scalar(const float *v, const float *w, size_t n, const float *i, float l, float h, double *p,
                       double *s) {
    w ? try_scales(v, w, n, i, l, h, p, s) : try_scales(v, 0, n, i, l, h, p, s);
}
#if CK_X86
CK_TARGET_AVX2 static void try_avx2(const float *v, const float *w, size_t n, const float *i, float l, float h,
                                    double *p, double *s) {
    w ? try_scales(v, w, n, i, l, h, p, s) : try_scales(v, 0, n, i, l, h, p, s);
}
CK_TARGET_AVX512 static void try_avx512(const float *v, const float *w, size_t n, const float *i, float l, float h,
                                        double *p, double *s) {
    w ? try_scales(v, w, n, i, l, h, p, s) : try_scales(v, 0, n, i, l, h, p, s);
}
#endif

void ck_try_scales(const float *values, const float *weights, size_t count, const float inverses[16], float low,
                   float high, double products[16], double squares[16]) {
    switch (ck_current_isa()) {
#if CK_X86
    case CK_AVX512: try_avx512(values, weights, count, inverses, low, high, products, squares); return;
    case CK_AVX2: try_avx2(values, weights, count, inverses, low, high, products, squares); return;
#endif
    default: try_scalar(values, weights, count, inverses, low, high, products, squares); return;
    }
}

static void table_scalar(const float *v, const float *w, size_t n, const float *i, const float *t, const float *b,
                         double *p, double *s) {
    w ? try_table(v, w, n, i, t, b, p, s) : try_table(v, 0, n, i, t, b, p, s);
}
#if CK_X86
CK_TARGET_AVX2 static void table_avx2(const float *v, const float *w, size_t n, const float *i, const float *t,
                                      const float *b, double *p, double *s) {
    w ? try_table(v, w, n, i, t, b, p, s) : try_table(v, 0, n, i, t, b, p, s);
}
CK_TARGET_AVX512 static void table_avx512(const float *v, const float *w, size_t n, const float *i, const float *t,
                                          const float *b, double *p, double *s) {
    w ? try_table(v, w, n, i, t, b, p, s) : try_table(v, 0, n, i, t, b, p, s);
}
#endif

void ck_try_table_scales(const float *values, const float *weights, size_t count, const float inverses[16],
                         const float table[16], const float bounds[15], double products[16], double squares[16]) {
    switch (ck_current_isa()) {
#if CK_X86
    case CK_AVX512: table_avx512(values, weights, count, inverses, table, bounds, products, squares); return;
    case CK_AVX2: table_avx2(values, weights, count, inverses, table, bounds, products, squares); return;
#endif
    default: table_scalar(values, weights, count, inverses, table, bounds, products, squares); return;
    }
}
