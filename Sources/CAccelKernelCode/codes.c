// Finds the nearest entry of a palette for many values.
#include "internal.h"

#pragma clang fp contract(off)

CK_INLINE void nearest(const float *values, size_t count, const float *bounds, size_t limit, uint8_t *codes) {
    size_t i = 0;
    if (limit <= 16) {
        // Compares sixteen values with every bound. The code is the number of bounds below the value.
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

/// Pads bounds that are too many to compare one by one with infinity, to 255 of them, so that all lanes do a binary
/// search together.
#define SEARCHED_BOUNDS 255
CK_INLINE int fill_bounds(const float *bounds, size_t limit, float all[256]) {
    if (limit <= 16 || limit > SEARCHED_BOUNDS) return 0;
    for (size_t b = 0; b < 256; b++) all[b] = b < limit ? bounds[b] : __builtin_inff();
    return 1;
}

CK_TARGET_AVX2 static void nearest_avx2(const float *v, size_t n, const float *b, size_t l, uint8_t *c) {
    float all[256];
    size_t i = 0;
    if (n >= 64 && fill_bounds(b, l, all)) {
        for (; i + 8 <= n; i += 8) {
            __m256 x = _mm256_loadu_ps(v + i);
            __m256i code = _mm256_setzero_si256();
#pragma clang loop unroll(full)
            for (int step = 128; step; step /= 2) {
                __m256 bound = _mm256_i32gather_ps(all + step - 1, code, 4);
                __m256i above = _mm256_castps_si256(_mm256_cmp_ps(x, bound, _CMP_GT_OQ));
                code = _mm256_add_epi32(code, _mm256_and_si256(above, _mm256_set1_epi32(step)));
            }
            _Alignas(32) int32_t lanes[8];
            _mm256_store_si256((__m256i *)lanes, code);
            for (int lane = 0; lane < 8; lane++) c[i + (size_t)lane] = (uint8_t)lanes[lane];
        }
    }
    nearest(v + i, n - i, b, l, c + i);
}

CK_TARGET_AVX512 static void nearest_avx512(const float *v, size_t n, const float *b, size_t l, uint8_t *c) {
    float all[256];
    size_t i = 0;
    if (n >= 64 && fill_bounds(b, l, all)) {
        // Every sixteenth bound: these fit a register.
        float every[16];
        for (int k = 0; k < 16; k++) every[k] = all[16 * k + 15];
        const __m512 coarse = _mm512_loadu_ps(every);
        for (; i + 16 <= n; i += 16) {
            __m512 x = _mm512_loadu_ps(v + i);
            __m512i code = _mm512_setzero_si512();
#pragma clang loop unroll(full)
            for (int step = 8; step; step /= 2) {
                __m512 bound = _mm512_permutexvar_ps(_mm512_add_epi32(code, _mm512_set1_epi32(step - 1)), coarse);
                __mmask16 above = _mm512_cmp_ps_mask(x, bound, _CMP_GT_OQ);
                code = _mm512_mask_add_epi32(code, above, code, _mm512_set1_epi32(step));
            }
            code = _mm512_slli_epi32(code, 4);
#pragma clang loop unroll(full)
            for (int step = 8; step; step /= 2) {
                __m512 bound = _mm512_i32gather_ps(code, all + step - 1, 4);
                __mmask16 above = _mm512_cmp_ps_mask(x, bound, _CMP_GT_OQ);
                code = _mm512_mask_add_epi32(code, above, code, _mm512_set1_epi32(step));
            }
            _mm_storeu_si128((__m128i *)(c + i), _mm512_cvtepi32_epi8(code));
        }
    }
    nearest(v + i, n - i, b, l, c + i);
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

typedef double f8 __attribute__((ext_vector_type(8)));
typedef float f8f __attribute__((ext_vector_type(8)));
typedef float f8fu __attribute__((ext_vector_type(8), aligned(4)));
typedef int64_t i8 __attribute__((ext_vector_type(8)));

CK_INLINE void add_errors(const float *values, const uint8_t *codes, size_t count, const float *entries, float scale, ck_errors *errors) {
    f8 energy = 0, squares = 0, largest = 0;
    for (size_t i = 0; i < count; i += 8) {
        f8f x = 0, entry = 0;
        if (i + 8 <= count) {
            x = *(const f8fu *)(values + i);
            for (size_t lane = 0; lane < 8; lane++) entry[lane] = entries[codes[i + lane]];
            entry *= scale;
        } else {
            for (size_t lane = 0; i + lane < count; lane++) x[lane] = values[i + lane], entry[lane] = scale * entries[codes[i + lane]];
        }
        f8 value = __builtin_convertvector(x, f8);
        f8 error = value - __builtin_convertvector(entry, f8);
        energy += value * value;
        squares += error * error;
        f8 size = error < 0 ? -error : error;
        largest = size > largest ? size : largest;
    }
    for (int lane = 0; lane < 8; lane++) {
        errors->energy += energy[lane];
        errors->squares += squares[lane];
        if (largest[lane] > errors->maximum) errors->maximum = largest[lane];
    }
}

static void add_errors_plain(const float *v, const uint8_t *c, size_t n, const float *e, float s, ck_errors *r) { add_errors(v, c, n, e, s, r); }
#if CK_X86
CK_TARGET_AVX2 static void add_errors_avx2(const float *v, const uint8_t *c, size_t n, const float *e, float s, ck_errors *r) { add_errors(v, c, n, e, s, r); }
CK_TARGET_AVX512 static void add_errors_avx512(const float *v, const uint8_t *c, size_t n, const float *e, float s, ck_errors *r) { add_errors(v, c, n, e, s, r); }
#endif

void ck_add_palette_errors(const float *values, const uint8_t *codes, size_t count, const float *entries, float scale, ck_errors *errors) {
    CK_CHOOSE(add_errors, values, codes, count, entries, scale, errors);
}
