// ck_quantize_nibbles for one instruction set; included by quantize_body.h.

/// Finds the smallest and the largest of 0 and a block's values in each lane, as integers that are ordered like the
/// values. The block is whole vectors.
TARGET CK_INLINE void NAME(block_extremes)(const uint8_t *p, ck_type type, size_t count, i32x16 *low, i32x16 *high) {
    if (type == CK_F32) {
        i32x16 lows = 0, highs = 0;
        for (size_t i = 0; i < count; i += 16) {
            i32x16 x = *(const i32x16u *)(p + 4 * i);
            x ^= (x >> 31) & 0x7FFFFFFF;
            lows = __builtin_elementwise_min(lows, x), highs = __builtin_elementwise_max(highs, x);
        }
        *low = lows, *high = highs;
    } else {
        i16x16 lows = 0, highs = 0;
        for (size_t i = 0; i < count; i += 16) {
            i16x16 x = *(const i16x16u *)(p + 2 * i);
            x ^= (x >> 15) & 0x7FFF;
            lows = __builtin_elementwise_min(lows, x), highs = __builtin_elementwise_max(highs, x);
        }
        *low = __builtin_convertvector(lows, i32x16), *high = __builtin_convertvector(highs, i32x16);
    }
}

// Reduces sixteen vectors to one: lane b is the JOIN of all lanes of vector b.
#define REDUCE_ROWS(rows, JOIN)                                                                                      \
    {                                                                                                                \
        _Pragma("clang loop unroll(full)") for (int k = 0; k < 8; k++)                                               \
            (rows)[k] = JOIN(__builtin_shufflevector((rows)[k], (rows)[k + 8], 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18,   \
                                                     19, 20, 21, 22, 23),                                            \
                             __builtin_shufflevector((rows)[k], (rows)[k + 8], 8, 9, 10, 11, 12, 13, 14, 15, 24, 25, \
                                                     26, 27, 28, 29, 30, 31));                                       \
        _Pragma("clang loop unroll(full)") for (int k = 0; k < 4; k++)                                               \
            (rows)[k] = JOIN(__builtin_shufflevector((rows)[k], (rows)[k + 4], 0, 1, 2, 3, 16, 17, 18, 19, 8, 9, 10, \
                                                     11, 24, 25, 26, 27),                                            \
                             __builtin_shufflevector((rows)[k], (rows)[k + 4], 4, 5, 6, 7, 20, 21, 22, 23, 12, 13,   \
                                                     14, 15, 28, 29, 30, 31));                                       \
        _Pragma("clang loop unroll(full)") for (int k = 0; k < 2; k++)                                               \
            (rows)[k] = JOIN(__builtin_shufflevector((rows)[k], (rows)[k + 2], 0, 1, 16, 17, 4, 5, 20, 21, 8, 9, 24, \
                                                     25, 12, 13, 28, 29),                                            \
                             __builtin_shufflevector((rows)[k], (rows)[k + 2], 2, 3, 18, 19, 6, 7, 22, 23, 10, 11,   \
                                                     26, 27, 14, 15, 30, 31));                                       \
        (rows)[0] = JOIN(__builtin_shufflevector((rows)[0], (rows)[1], 0, 16, 2, 18, 4, 20, 6, 22, 8, 24, 10, 26,    \
                                                 12, 28, 14, 30),                                                    \
                         __builtin_shufflevector((rows)[0], (rows)[1], 1, 17, 3, 19, 5, 21, 7, 23, 9, 25, 11, 27,    \
                                                 13, 29, 15, 31));                                                   \
    }
#define JOIN_SUM(a, b) ((a) + (b))

/// Computes the scales of sixteen blocks for both signs: the smallest that reach the extremes, rounded to their type.
/// `units` receives the values of largest magnitude, negated (1 for zeros). Returns 0 if a block is outside of the
/// magnitudes of the fast path.
TARGET CK_INLINE int NAME(block_scales)(const i32x16 *lows, const i32x16 *highs, ck_type type, float reach, int halves,
                                        f32x16 *forward, f32x16 *backward, f32x16 *units) {
    f32x16 low, high;
    i32x16 least = *lows, most = *highs;
    if (type == CK_F32) {
        low = (f32x16)(least ^ ((least >> 31) & 0x7FFFFFFF)), high = (f32x16)most;
    } else {
        least ^= (least >> 31) & 0x7FFF;
        u16x16u bits[2] = {__builtin_convertvector(least, u16x16), __builtin_convertvector(most, u16x16)};
        NAME(widen)((const uint8_t *)bits, type, &low);
        NAME(widen)((const uint8_t *)(bits + 1), type, &high);
    }
    // Codes reach 7 steps above zero and `reach` steps below it. A negative scale exchanges the two sides.
    f32x16 a = -low / reach, b = high / 7, c = high / reach, d = -low / 7;
    f32x16 first = a > b ? a : b, second = c > d ? c : d;
    // A block of zeros has the scale 1; its codes are zeros.
    const f32x16 one = 1;
    i32x16 isEmpty = (first == 0) & (second == 0);
    first = isEmpty ? one : first, second = isEmpty ? one : second;
    *units = isEmpty ? one : -low > high ? -low : -high;
    if (halves) {
        uint16_t bits[32];
        NAME(narrow_16)(&first, bits);
        NAME(narrow_16)(&second, bits + 16);
        NAME(widen)((const uint8_t *)bits, CK_F16, &first);
        NAME(widen)((const uint8_t *)(bits + 16), CK_F16, &second);
    }
    *forward = first, *backward = second;
    const float least_scale = halves ? 0x1p-14f : 0x1p-40f, most_scale = halves ? 65504 : 0x1p50f;
    // Written so that NaN and infinity fail the comparison.
    i32x16 isInside = (first >= least_scale) & (second >= least_scale) & (first <= most_scale) & (second <= most_scale);
    return __builtin_reduce_and(isInside) != 0;
}

/// Computes how much the scale `other` reduces the squared error of `scale`, spread over lanes; `count` values are
/// whole vectors. Quotients may differ slightly from those of the codes, but only where both codes are equally near.
/// - Parameter wide: NULL, or receives the values as float32.
TARGET CK_INLINE void NAME(gain)(const uint8_t *p, ck_type type, size_t count, float scale, float reciprocal,
                                 float other, float other_reciprocal, float *wide, f32x16 *gain) {
    const size_t size = type == CK_F32 ? 4 : 2;
    f32x16 rests = 0, other_rests = 0;
    for (size_t i = 0; i < count; i += 16) {
        f32x16 w;
        NAME(widen)(p + size * i, type, &w);
        if (wide) *(f32x16u *)(wide + i) = w;
        f32x16 x = w * reciprocal, y = w * other_reciprocal;
        NAME(fraction)(&x, &x);
        NAME(fraction)(&y, &y);
        rests = FUSED(x, x, rests), other_rests = FUSED(y, y, other_rests);
    }
    *gain = rests * (scale * scale) - other_rests * (other * other);
}

/// The loop of `nibbles_block`.
/// - Parameter is_half: the values have been widened from 16 bits.
/// - Parameter is_exact: 0 to multiply by the reciprocal instead of dividing, which is faster.
TARGET CK_INLINE void NAME(nibbles_loop)(const uint8_t *p, ck_type type, size_t count, float scale, float reciprocal, int reach,
                                         int is_half, int is_exact, uint8_t *codes, f32x16 *energy, f32x16 *squares, f32x16 *largest) {
    const f32x16 lowest = -(float)reach, highest = 7;
    const size_t size = type == CK_F32 ? 4 : 2;
    for (size_t i = 0; i < count; i += 16) {
        f32x16 w, moved;
        NAME(widen)(p + size * i, type, &w);
        if (is_exact) {
            NAME(divide)(&w, scale, reciprocal, &moved);
            if (reach) {
                moved = moved < lowest ? lowest : moved;
                moved = moved > highest ? highest : moved;
            }
            moved += INTEGER_ROUNDER;
        } else {
            moved = FUSED(w, (f32x16)reciprocal, (f32x16)INTEGER_ROUNDER);
        }
        f32x16 error = w - scale * (moved - INTEGER_ROUNDER);
        f32x16 square = error * error;
        ADD_SQUARE(*energy, w, is_half);
        *squares += square;
        *largest = square > *largest ? square : *largest;
        u64x8 pairs = (u64x8)moved;
        *(u8x8u *)(codes + i / 2) = __builtin_convertvector((pairs & 15) | ((pairs >> 28) & 0xF0), u8x8);
    }
}

/// Quantises `count` values (whole vectors) to packed nibbles.
/// - Parameter reach: 0 if all codes are known to be within -reach and 7.
TARGET CK_INLINE void NAME(nibbles_block)(const uint8_t *p, ck_type type, size_t count, float scale, float reciprocal, int reach,
                                          int is_half, uint8_t *codes, f32x16 *energy, f32x16 *squares, f32x16 *largest) {
    if (!reach) {
        f32x16 tried_energy = *energy, tried_squares = *squares, most = 0;
        NAME(nibbles_loop)(p, type, count, scale, reciprocal, 0, is_half, 0, codes, &tried_energy, &tried_squares, &most);
        if (!__builtin_reduce_or(most >= SURE_SQUARE(scale, 0x1p-18f))) {
            *energy = tried_energy, *squares = tried_squares;
            *largest = most > *largest ? most : *largest;
            return;
        }
    }
    NAME(nibbles_loop)(p, type, count, scale, reciprocal, reach, is_half, 1, codes, energy, squares, largest);
}

/// Negates the scales of sixteen blocks, and their reciprocals, if that reduces the squared error.
/// - Parameter wide: NULL, or receives the values as float32.
TARGET CK_INLINE void NAME(choose_signs)(const uint8_t *p, ck_type type, size_t count, size_t block, f32x16 *chosen,
                                         f32x16 *reciprocal, const f32x16 *other, float *wide) {
    const f32x16 backward = *other, backward_reciprocal = 1 / backward;
    const size_t size = type == CK_F32 ? 4 : 2;
    f32x16 gains[16] = {0};
    _Alignas(64) float scales[4][16];
    *(f32x16 *)scales[0] = *chosen, *(f32x16 *)scales[1] = *reciprocal;
    *(f32x16 *)scales[2] = backward, *(f32x16 *)scales[3] = backward_reciprocal;
    size_t index = 0;
    for (size_t i = 0; i < count; i += block, index++)
        NAME(gain)(p + size * i, type, count - i < block ? count - i : block, scales[0][index], scales[1][index],
                   scales[2][index], scales[3][index], wide ? wide + i : 0, gains + index);
    REDUCE_ROWS(gains, JOIN_SUM);
    f32x16 larger = *chosen > backward ? *chosen : backward;
    f32x16 doubt = larger * larger * ((float)block * 0x1p-17f);
    i32x16 isBetter = gains[0] > doubt;
    i32x16 isUnsure = (gains[0] <= doubt) & (gains[0] >= -doubt) & (*chosen != backward);
    if (__builtin_reduce_or(isUnsure)) {
        index = 0;
        for (size_t i = 0; i < count; i += block, index++) {
            const size_t length = count - i < block ? count - i : block;
            if (isUnsure[index] && exact_squares(p + size * i, type, length, scales[2][index]) <
                                       exact_squares(p + size * i, type, length, scales[0][index]))
                isBetter[index] = -1;
        }
    }
    *chosen = isBetter ? -backward : *chosen;
    *reciprocal = isBetter ? -backward_reciprocal : *reciprocal;
}

TARGET CK_INLINE int NAME(nibbles_all)(const uint8_t *p, ck_type type, size_t count, size_t block, int reach, int is_refined,
                                       int halves, uint8_t *codes, uint8_t *scales, error_sums *sums) {
    const size_t size = type == CK_F32 ? 4 : 2, group = 16 * block;
    f32x16 largest = 0;
    for (size_t start = 0; start < count; start += group) {
        const size_t length = count - start < group ? count - start : group;
        const uint8_t *values = p + size * start;
        i32x16 lows[16] = {0}, highs[16] = {0};
        size_t blocks = 0;
        for (size_t i = 0; i < length; i += block, blocks++) {
            const size_t part = length - i < block ? length - i : block;
            for (size_t k = 0; k < part; k += 16) __builtin_prefetch(values + size * (i + k + group));
            if (part == block) NAME(block_extremes)(values + size * i, type, block, lows + blocks, highs + blocks);
            else NAME(block_extremes)(values + size * i, type, part, lows + blocks, highs + blocks);
        }
        REDUCE_ROWS(lows, __builtin_elementwise_min);
        REDUCE_ROWS(highs, __builtin_elementwise_max);
        f32x16 chosen, backward, units, energy = 0, squares = 0;
        if (!NAME(block_scales)(lows, highs, type, (float)reach, halves, &chosen, &backward, &units)) return 0;
        // The widened values are kept for the codes if widening is slow and there are few values.
        _Alignas(64) float wide[16 * 32];
        const int isKept = reach == 8 && !is_refined && type != CK_F32 && block == 32;
        if (is_refined) {
            for (size_t i = 0, index = 0; i < length; i += block, index++) {
                const float first = chosen[index], second = backward[index] == first ? first : -backward[index];
                chosen[index] = length - i >= block ? NAME(refined)(values + size * i, type, block, units[index], reach, halves, first, second)
                                                    : NAME(refined)(values + size * i, type, length - i, units[index], reach, halves, first, second);
            }
        }
        f32x16 inverse = 1 / chosen;
        if (!is_refined && reach == 8) {
            if (length == group) NAME(choose_signs)(values, type, group, block, &chosen, &inverse, &backward, isKept ? wide : 0);
            else NAME(choose_signs)(values, type, length, block, &chosen, &inverse, &backward, isKept ? wide : 0);
        }
        _Alignas(64) float scale[16], reciprocal[16];
        *(f32x16 *)scale = chosen, *(f32x16 *)reciprocal = inverse;
        size_t index = 0;
        for (size_t i = 0; i < length; i += block, index++) {
            const size_t part = length - i < block ? length - i : block;
            uint8_t *target = codes + (start + i) / 2;
            if (isKept && part == block)
                NAME(nibbles_block)((const uint8_t *)(wide + i), CK_F32, block, scale[index], reciprocal[index], is_refined ? reach : 0, type != CK_F32, target, &energy, &squares, &largest);
            else if (part == block)
                NAME(nibbles_block)(values + size * i, type, block, scale[index], reciprocal[index], is_refined ? reach : 0, type != CK_F32, target, &energy, &squares, &largest);
            else
                NAME(nibbles_block)(values + size * i, type, part, scale[index], reciprocal[index], is_refined ? reach : 0, type != CK_F32, target, &energy, &squares, &largest);
        }
        sums->energy += __builtin_convertvector(energy, f64x16);
        sums->squares += __builtin_convertvector(squares, f64x16);
        const size_t first = start / block;
        if (halves) {
            uint16_t bits[16];
            NAME(narrow_16)(&chosen, bits);
            for (size_t k = 0; k < 2 * blocks; k++) scales[2 * first + k] = ((const uint8_t *)bits)[k];
        } else {
            for (size_t k = 0; k < 4 * blocks; k++) scales[4 * first + k] = ((const uint8_t *)scale)[k];
        }
    }
    sums->largest = largest > sums->largest ? largest : sums->largest;
    return 1;
}

TARGET static int NAME(nibbles)(const uint8_t *p, ck_type type, size_t count, size_t block, int reach, int is_refined,
                                int halves, uint8_t *codes, uint8_t *scales, error_sums *sums) {
    // The arguments are constants, so that the compiler specialises the loops.
#define ALL(type, block, reach, is_refined) \
    NAME(nibbles_all)(p, type, count, block, reach, is_refined, halves, codes, scales, sums)
#define FORM(type)                                                                                                  \
    return block == 32 && is_refined ? (reach == 8 ? ALL(type, 32, 8, 1) : ALL(type, 32, 7, 1))                     \
           : block == 32             ? (reach == 8 ? ALL(type, 32, 8, 0) : ALL(type, 32, 7, 0))                     \
                                     : ALL(type, block, reach, is_refined)
    switch (type) {
    case CK_F32: FORM(CK_F32);
    case CK_F16: FORM(CK_F16);
    case CK_BF16: FORM(CK_BF16);
    }
    return 0;
#undef FORM
#undef ALL
}
