// The kernels of quantize.c for one instruction set, which NAME, TARGET and SET_BYTES select.

TARGET CK_INLINE void NAME(widen)(const uint8_t *p, ck_type type, f32x16 *v) {
    if (type == CK_F32) {
        *v = *(const f32x16u *)p;
    } else if (type == CK_BF16) {
        *v = (f32x16)(__builtin_convertvector(*(const u16x16u *)p, u32x16) << 16);
    } else {
        NAME(widen_16)(p, v);
    }
}

// ---- extremes ------------------------------------------------------------------------------------------------
// The bits of floats are mapped to signed integers in the same order. NaN and infinity are beyond all other values.

TARGET CK_INLINE void NAME(extremes16)(const uint8_t *p, size_t count, int *low, int *high) {
    i16x32 lows = 0, highs = 0;
    size_t i = 0;
    for (; i + 32 <= count; i += 32) {
        i16x32 x = *(const i16x32u *)(p + 2 * i);
        x ^= (x >> 15) & 0x7FFF;
        lows = __builtin_elementwise_min(lows, x), highs = __builtin_elementwise_max(highs, x);
    }
    int least = __builtin_reduce_min(lows), most = __builtin_reduce_max(highs);
    for (; i < count; i++) {
        int16_t x;
        ck_copy(&x, p + 2 * i, 2);
        x ^= (x >> 15) & 0x7FFF;
        if (x < least) least = x;
        if (x > most) most = x;
    }
    *low = least, *high = most;
}

TARGET CK_INLINE void NAME(extremes32)(const uint8_t *p, size_t count, int *low, int *high) {
    i32x16 lows = 0, highs = 0;
    size_t i = 0;
    for (; i + 16 <= count; i += 16) {
        i32x16 x = *(const i32x16u *)(p + 4 * i);
        x ^= (x >> 31) & 0x7FFFFFFF;
        lows = __builtin_elementwise_min(lows, x), highs = __builtin_elementwise_max(highs, x);
    }
    int least = __builtin_reduce_min(lows), most = __builtin_reduce_max(highs);
    for (; i < count; i++) {
        int32_t x;
        ck_copy(&x, p + 4 * i, 4);
        x ^= (x >> 31) & 0x7FFFFFFF;
        if (x < least) least = x;
        if (x > most) most = x;
    }
    *low = least, *high = most;
}

TARGET static void NAME(extremes)(const uint8_t *p, ck_type type, size_t count, int *low, int *high) {
    if (type == CK_F32) NAME(extremes32)(p, count, low, high);
    else NAME(extremes16)(p, count, low, high);
}

// ---- bytes ---------------------------------------------------------------------------------------------------

/// Quantises whole vectors, and computes their errors.
/// - Parameter is_exact: 0 to multiply by the reciprocal instead of dividing, which is faster.
TARGET CK_INLINE void NAME(bytes_loop)(const uint8_t *p, ck_type type, size_t count, size_t ahead, float scale, int is_exact,
                                       uint8_t *codes, f32x16 *energies, f32x16 *all_squares, f32x16 *most) {
    const size_t size = type == CK_F32 ? 4 : 2;
    const float reciprocal = 1 / scale;
    f32x16 energy = 0, squares = 0, largest = 0;
#pragma clang loop unroll_count(4)
    for (size_t i = 0; i < count; i += 16) {
        f32x16 w, moved;
        __builtin_prefetch(p + size * i + ahead);
        NAME(widen)(p + size * i, type, &w);
        if (is_exact) {
            NAME(divide)(&w, scale, reciprocal, &moved);
            moved += INTEGER_ROUNDER;
        } else {
            moved = FUSED(w, (f32x16)reciprocal, (f32x16)INTEGER_ROUNDER);
        }
        f32x16 error = w - scale * (moved - INTEGER_ROUNDER);
        f32x16 square = error * error;
        ADD_SQUARE(energy, w, type != CK_F32);
        squares += square;
        largest = square > largest ? square : largest;
        *(u8x16u *)(codes + i) = __builtin_convertvector((u32x16)moved, u8x16);
    }
    *energies = energy, *all_squares = squares, *most = largest;
}

/// Quantises whole vectors, at most `PART` values.
TARGET CK_INLINE void NAME(bytes_part)(const uint8_t *p, ck_type type, size_t count, size_t ahead, float scale,
                                       uint8_t *codes, error_sums *sums) {
    f32x16 energy, squares, largest;
    // Many bfloat16 values are exactly half of the largest, which is the middle between two codes, so that the fast
    // path would seldom succeed.
    const int is_exact = type == CK_BF16;
    NAME(bytes_loop)(p, type, count, ahead, scale, is_exact, codes, &energy, &squares, &largest);
    if (!is_exact && __builtin_reduce_or(largest >= SURE_SQUARE(scale, 0x1.4p-15f)))
        NAME(bytes_loop)(p, type, count, 0, scale, 1, codes, &energy, &squares, &largest);
    sums->largest = largest > sums->largest ? largest : sums->largest;
    sums->energy += __builtin_convertvector(energy, f64x16);
    sums->squares += __builtin_convertvector(squares, f64x16);
}

TARGET CK_INLINE void NAME(bytes_all)(const uint8_t *p, ck_type type, size_t count, float scale, uint8_t *codes,
                                      error_sums *sums) {
    const size_t size = type == CK_F32 ? 4 : 2, whole = count / 16 * 16;
    size_t i = 0;
    for (; i + PART <= whole; i += PART) NAME(bytes_part)(p + size * i, type, PART, size * count, scale, codes + i, sums);
    if (i < whole) NAME(bytes_part)(p + size * i, type, whole - i, size * count, scale, codes + i, sums);
    if (whole == count) return;
    uint8_t rest[64] = {0}, rest_codes[16];
    for (i = 0; i < (count - whole) * size; i++) rest[i] = p[whole * size + i];
    NAME(bytes_part)(rest, type, 16, 0, scale, rest_codes, sums);
    for (i = whole; i < count; i++) codes[i] = rest_codes[i - whole];
}

TARGET static void NAME(bytes)(const uint8_t *p, ck_type type, size_t count, float scale, uint8_t *codes,
                               error_sums *sums) {
    switch (type) {
    case CK_F32: NAME(bytes_all)(p, CK_F32, count, scale, codes, sums); return;
    case CK_F16: NAME(bytes_all)(p, CK_F16, count, scale, codes, sums); return;
    case CK_BF16: NAME(bytes_all)(p, CK_BF16, count, scale, codes, sums); return;
    }
}

#include "refine_body.h"
#include "nibbles_body.h"

#undef NAME
#undef TARGET
