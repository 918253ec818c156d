// Quantises weights to codes of evenly spaced values, directly from their stored type.
//
// The same float32 operations in the same sixteen lanes on every instruction set (contraction is off), so codes and
// error sums are bit-equal.
#include "simd.h"

#pragma clang fp contract(off)

typedef float f32x16u __attribute__((ext_vector_type(16), aligned(1)));
typedef double f64x16 __attribute__((ext_vector_type(16)));
typedef int32_t i32x16 __attribute__((ext_vector_type(16)));
typedef int32_t i32x16u __attribute__((ext_vector_type(16), aligned(1)));
typedef uint32_t u32x16 __attribute__((ext_vector_type(16)));
typedef uint16_t u16x16 __attribute__((ext_vector_type(16)));
typedef uint16_t u16x16u __attribute__((ext_vector_type(16), aligned(1)));
typedef int16_t i16x16 __attribute__((ext_vector_type(16)));
typedef int16_t i16x16u __attribute__((ext_vector_type(16), aligned(1)));
typedef int16_t i16x32 __attribute__((ext_vector_type(32)));
typedef int16_t i16x32u __attribute__((ext_vector_type(32), aligned(1)));
typedef uint64_t u64x8 __attribute__((ext_vector_type(8)));
typedef uint8_t u8x8 __attribute__((ext_vector_type(8)));
typedef uint8_t u8x8u __attribute__((ext_vector_type(8), aligned(1)));
typedef uint8_t u8x16u __attribute__((ext_vector_type(16), aligned(1)));

// The number of values that share float32 sums of squares.
#define PART 256

typedef struct {
    f64x16 energy, squares;
    f32x16 largest;
} error_sums;

// a * b + c, rounded once, or on the plain set twice.
#define FUSED(a, b, c) (SET_BYTES == 16 ? (a) * (b) + (c) : __builtin_elementwise_fma(a, b, c))

// sum += w * w. Squares of 16-bit values are exact, so that one fused operation gives the same result on every
// instruction set. (Squares below 2^-126 are not exact, but they vanish in the sum of a row with a scale of 2^-40 or
// more.)
#define ADD_SQUARE(sum, w, is_half) (sum) = (is_half) ? FUSED(w, w, sum) : (sum) + (w) * (w)

// A value times the reciprocal of the scale rounds to the same code as their quotient if the quotient is more than
// `doubt` steps away from the middle between two codes, that is if the error is below 0.5 - doubt steps. The
// reciprocal, the product, the quotient and the error are each rounded by at most 2^-24 of the code: together 2^-15 for
// codes up to 128, and 2^-19 for codes up to 8. `doubt` is larger. The macro gives the square of that error, or less.
#define SURE_SQUARE(scale, doubt) ((scale) * (scale) * (0.25f - (doubt)))

static float value_at(const uint8_t *p, ck_type type) {
    uint32_t bits = 0;
    ck_copy(&bits, p, type == CK_F32 ? 4 : 2);
    return type == CK_F32 ? float_of(bits) : type == CK_F16 ? widen_f16((uint16_t)bits) : float_of(bits << 16);
}

/// Returns the sum of squared errors of the nearest codes, in float64 and in the order of the values.
static double exact_squares(const uint8_t *p, ck_type type, size_t count, float scale) {
    double sum = 0;
    for (size_t i = 0; i < count; i++) {
        float w = value_at(p + i * (type == CK_F32 ? 4 : 2), type);
        float code = (w / scale + INTEGER_ROUNDER) - INTEGER_ROUNDER;
        double error = (double)w - (double)(scale * code);
        sum += error * error;
    }
    return sum;
}

// The number of values that are tried at a time in 16 bits, with sums in 32 bits.
#define TRIED_PART 4096

/// Adds up x * q and q^2 over all x for the ratio of each lane, which the lane's 32 bits hold twice. q is the code of
/// x; 16 bits hold it in steps of 1/4096.
static void sum_ratios_plain(const int16_t *x, size_t count, const i32x16 *ratios, int reach, i32x16 *products,
                             i32x16 *squares) {
    i32x16 ratio = *ratios >> 16, product = 0, square = 0;
    const i32x16 most = 32767, least = -32768, lowest = -reach;
    for (size_t i = 0; i < count; i++) {
        i32x16 y = (x[i] * ratio + 0x4000) >> 15;
        y = __builtin_elementwise_max(__builtin_elementwise_min(y + y, most), least);
        i32x16 code = __builtin_elementwise_min(y + 2048, most) >> 12;
        code = __builtin_elementwise_max(code, lowest);
        product += x[i] * code;
        square += code * code;
    }
    *products = product, *squares = square;
}

#if CK_X86

CK_TARGET_AVX2 CK_INLINE void sum_ratios_avx2(const int16_t *x, size_t count, const i32x16 *ratios, int reach, i32x16 *products,
                                              i32x16 *squares) {
    __m256i ratio[2], product[2], square[2];
    ck_copy(ratio, ratios, sizeof ratio);
    const __m256i half = _mm256_set1_epi16(2048), lowest = _mm256_set1_epi16((short)-reach);
    for (int k = 0; k < 2; k++) product[k] = square[k] = _mm256_setzero_si256();
    for (size_t i = 0; i < count; i += 2) {
        int32_t both;
        ck_copy(&both, x + i, 4);
        __m256i pair = _mm256_set1_epi32(both);
#pragma clang loop unroll(full)
        for (int k = 0; k < 2; k++) {
            __m256i y = _mm256_mulhrs_epi16(pair, ratio[k]);
            __m256i code = _mm256_srai_epi16(_mm256_adds_epi16(_mm256_adds_epi16(y, y), half), 12);
            if (reach < 8) code = _mm256_max_epi16(code, lowest);
            product[k] = _mm256_add_epi32(product[k], _mm256_madd_epi16(pair, code));
            square[k] = _mm256_add_epi32(square[k], _mm256_madd_epi16(code, code));
        }
    }
    ck_copy(products, product, sizeof product);
    ck_copy(squares, square, sizeof square);
}

CK_TARGET_AVX512 CK_INLINE void sum_ratios_avx512(const int16_t *x, size_t count, const i32x16 *ratios, int reach,
                                                  i32x16 *products, i32x16 *squares) {
    const __m512i ratio = (__m512i)*ratios, half = _mm512_set1_epi16(2048), lowest = _mm512_set1_epi16((short)-reach);
    __m512i product = _mm512_setzero_si512(), square = _mm512_setzero_si512();
#pragma clang loop unroll_count(8)
    for (size_t i = 0; i < count; i += 2) {
        int32_t both;
        ck_copy(&both, x + i, 4);
        __m512i pair = _mm512_set1_epi32(both), y = _mm512_mulhrs_epi16(pair, ratio);
        __m512i code = _mm512_srai_epi16(_mm512_adds_epi16(_mm512_adds_epi16(y, y), half), 12);
        if (reach < 8) code = _mm512_max_epi16(code, lowest);
        product = _mm512_add_epi32(product, _mm512_madd_epi16(pair, code));
        square = _mm512_add_epi32(square, _mm512_madd_epi16(code, code));
    }
    *products = (i32x16)product, *squares = (i32x16)square;
}

#endif

#define BODY "quantize_body.h"
#include "each_set.h"

/// Returns the float whose ordered integer is `x`.
static float unordered(int32_t x, ck_type type) {
    if (type == CK_F32) return float_of((uint32_t)(x ^ ((x >> 31) & 0x7FFFFFFF)));
    uint16_t half = (uint16_t)(x ^ ((x >> 15) & 0x7FFF));
    return type == CK_F16 ? widen_f16(half) : float_of((uint32_t)half << 16);
}

int ck_extremes(const void *values, ck_type type, size_t count, float *low, float *high) {
    int least, most;
    CK_CHOOSE(extremes, values, type, count, &least, &most);
    // The ordered integer of positive infinity. Negative infinity is -1 - infinity, and NaNs are beyond both.
    const int infinity = type == CK_F32 ? 0x7F800000 : type == CK_F16 ? 0x7C00 : 0x7F80;
    if (most >= infinity || least <= -1 - infinity) return 0;
    *low = unordered(least, type), *high = unordered(most, type);
    return 1;
}

/// Returns the sum of lanes, in an order that does not depend on the instruction set.
static double total(const f64x16 *lanes) {
    double sums[16];
    ck_copy(sums, lanes, sizeof sums);
    for (int half = 8; half; half /= 2)
        for (int i = 0; i < half; i++) sums[i] += sums[i + half];
    return sums[0];
}

static void add_errors(const error_sums *sums, ck_errors *errors) {
    errors->energy += total(&sums->energy);
    errors->squares += total(&sums->squares);
    // sqrt(x * x) is |x| in binary arithmetic.
    double maximum = __builtin_sqrtf(__builtin_reduce_max(sums->largest));
    if (maximum > errors->maximum) errors->maximum = maximum;
}

void ck_quantize_bytes(const void *values, ck_type type, size_t count, float scale, uint8_t *codes,
                       ck_errors *errors) {
    error_sums sums = {0, 0, 0};
    CK_CHOOSE(bytes, values, type, count, scale, codes, &sums);
    add_errors(&sums, errors);
}

int ck_quantize_nibbles(const void *values, ck_type type, size_t count, size_t block, int reach, int is_refined,
                        int half_scales, uint8_t *codes, uint8_t *scales, ck_errors *errors) {
    error_sums sums = {0, 0, 0};
    if (!CK_CHOOSE(nibbles, values, type, count, block, reach, is_refined, half_scales, codes, scales, &sums)) return 0;
    add_errors(&sums, errors);
    return 1;
}

float ck_refined_scale(const float *values, size_t count, float unit, int reach, int half_scales, float first,
                       float second) {
    return CK_CHOOSE(refined_floats, values, count, unit, reach, half_scales, first, second);
}
