// The search for scales of 4-bit codes for one instruction set; included by quantize_body.h.

/// Computes x[i] = values[i] * factor, rounded to an integer, for whole vectors.
TARGET CK_INLINE void NAME(normalize)(const uint8_t *p, ck_type type, size_t count, float factor, int16_t *x) {
    const size_t size = type == CK_F32 ? 4 : 2;
    for (size_t i = 0; i < count; i += 16) {
        f32x16 w;
        NAME(widen)(p + size * i, type, &w);
        *(u16x16u *)(x + i) = __builtin_convertvector((u32x16)(w * factor + INTEGER_ROUNDER), u16x16);
    }
}

/// Computes sums over values for sixteen scales; x are values in steps of 1/32767 of a unit, q is the code of a value.
/// - Parameters:
///   - scales: of either sign, in units; magnitudes below a sixteenth of a unit are raised to it.
///   - products: of x * q.
///   - squares: of q^2.
TARGET CK_INLINE void NAME(try_units)(const uint8_t *p, ck_type type, size_t count, float factor, const f32x16 *scales, int reach,
                                      f32x16 *products, f32x16 *squares) {
    const size_t size = type == CK_F32 ? 4 : 2;
    // 2^26 / 32767: one code is 4096 in 16 bits, and the product of x and a ratio is half of that after a shift by 15
    // bits.
    f32x16 ratio = 2048.0625f / *scales;
    const f32x16 most = 32767, least = -32767;
    ratio = ratio > most ? most : ratio;
    ratio = ratio < least ? least : ratio;
    i32x16 ratios = (i32x16)(ratio + INTEGER_ROUNDER) << 16;
    ratios |= (ratios >> 16) & 0xFFFF;
    f64x16 product_sum = 0, square_sum = 0;
    int16_t x[TRIED_PART];
    for (size_t start = 0; start < count; start += TRIED_PART) {
        const size_t left = count - start < TRIED_PART ? count - start : TRIED_PART, whole = left / 16 * 16;
        NAME(normalize)(p + size * start, type, whole, factor, x);
        if (whole < left) {
            uint8_t rest[64] = {0};
            for (size_t i = 0; i < (left - whole) * size; i++) rest[i] = p[(start + whole) * size + i];
            NAME(normalize)(rest, type, 16, factor, x + whole);
        }
        i32x16 product = 0, square = 0;
        NAME(sum_ratios)(x, (left + 15) / 16 * 16, &ratios, reach, &product, &square);
        if (count <= TRIED_PART) {
            *products = __builtin_convertvector(product, f32x16), *squares = __builtin_convertvector(square, f32x16);
            return;
        }
        product_sum += __builtin_convertvector(product, f64x16);
        square_sum += __builtin_convertvector(square, f64x16);
    }
    *products = __builtin_convertvector(product_sum, f32x16), *squares = __builtin_convertvector(square_sum, f32x16);
}

/// Returns the stored scale of least squared error. Sixteen candidates clip values to different degrees. Each is
/// refitted by least squares to its codes and rounded to its storage type; then the stored scales are compared.
/// - Parameters:
///   - unit: the value of largest magnitude, negated.
///   - first, second: stored scales that reach all values.
TARGET CK_INLINE float NAME(refined)(const uint8_t *p, ck_type type, size_t count, float unit, int reach, int halves,
                                     float first, float second) {
    const float factor = 32767 / unit, part = unit / 32767;
    // Factors on the longer side of the codes: a candidate puts the largest magnitude at reach * clip steps.
    const f32x16 clips = {0.8125f,  0.85f,    0.8875f,  0.925f,   0.9625f,  1.0f,     1.0375f,  1.075f,
                          1.1125f,  1.15f,    1.1875f,  1.225f,   1.2625f,  1.3f,     1.3375f,  1.375f};
    f32x16 tried = 1 / ((float)reach * clips), products, squares;
    NAME(try_units)(p, type, count, factor, &tried, reach, &products, &squares);
    f32x16 scales = part * (products / squares);
    if (halves) {
        uint16_t bits[16];
        NAME(narrow_16)(&scales, bits);
        NAME(widen)((const uint8_t *)bits, CK_F16, &scales);
    }
    const f32x16 firsts = first;
    scales = (((scales - scales) == 0) & (scales != 0)) ? scales : firsts;
    scales[0] = first, scales[15] = second;
    tried = scales / unit;
    NAME(try_units)(p, type, count, factor, &tried, reach, &products, &squares);
    // The sum of squared values is left out, because it is the same for all scales.
    f32x16 errors = scales * (scales * squares - 2 * (part * products));
    _Alignas(64) float all[16];
    *(f32x16 *)all = scales;
    const int bound = errors[15] < errors[0] ? 15 : 0;
    // Differences below the rounding of values to steps of a unit are ignored.
    const float limit = errors[bound] - 0x1p-15f * (first * first) * squares[0];
    errors[0] = errors[15] = limit;
    // The reduction is written out, because the compiler's own goes lane by lane.
    __typeof__(errors.lo) eight = errors.lo < errors.hi ? errors.lo : errors.hi;
    __typeof__(eight.lo) four = eight.lo < eight.hi ? eight.lo : eight.hi;
    const float even = four[0] < four[2] ? four[0] : four[2], odd = four[1] < four[3] ? four[1] : four[3];
    const float least = even < odd ? even : odd;
    const i32x16 lanes = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}, none = 16;
    const int best = __builtin_reduce_min((errors == least) ? lanes : none);
    return least < limit ? all[best] : all[bound];
}

TARGET static float NAME(refined_floats)(const float *values, size_t count, float unit, int reach, int halves, float first,
                                         float second) {
    return NAME(refined)((const uint8_t *)values, CK_F32, count, unit, reach, halves, first, second);
}
