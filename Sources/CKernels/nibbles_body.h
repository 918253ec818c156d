// One instruction set's forms of ck_quantize_nibbles, after quantize_body.h. NARROW_F16(v, p) rounds the sixteen values of
// v to float16 at p; FUSED(a, b, c) is a * b + c, rounded once or twice.

/// The scales of sixteen blocks for both signs: the smallest that reach the extremes, rounded to their type. Returns 0 when
/// a block is not within the magnitudes that take no care.
TARGET CK_INLINE int NAME(block_scales)(const int32_t *lows, const int32_t *highs, ck_type type, float reach, int halves,
                                        f32x16 *forward, f32x16 *backward) {
    f32x16 low, high;
    i32x16 least = *(const i32x16u *)lows, most = *(const i32x16u *)highs;
    if (type == CK_F32) {
        low = (f32x16)(least ^ ((least >> 31) & 0x7FFFFFFF)), high = (f32x16)most;
    } else {
        least ^= (least >> 31) & 0x7FFF;
        u16x16u bits[2] = {__builtin_convertvector(least, u16x16), __builtin_convertvector(most, u16x16)};
        NAME(widen)((const uint8_t *)bits, type, &low);
        NAME(widen)((const uint8_t *)(bits + 1), type, &high);
    }
    // No value is above zero by more codes than 7, or below it by more than `reach`.
    f32x16 a = -low / reach, b = high / 7, c = high / reach, d = -low / 7;
    f32x16 first = a > b ? a : b, second = c > d ? c : d;
    // What a block of zeros has; its codes are zeros too.
    const f32x16 one = 1;
    i32x16 isEmpty = (first == 0) & (second == 0);
    first = isEmpty ? one : first, second = isEmpty ? one : second;
    if (halves) {
        uint16_t bits[32];
        NARROW_F16(first, bits);
        NARROW_F16(second, bits + 16);
        NAME(widen)((const uint8_t *)bits, CK_F16, &first);
        NAME(widen)((const uint8_t *)(bits + 16), CK_F16, &second);
    }
    *forward = first, *backward = second;
    const float least_scale = halves ? 0x1p-14f : 0x1p-40f, most_scale = halves ? 65504 : 0x1p50f;
    // Not "outside": what is not finite is nowhere.
    i32x16 isInside = (first >= least_scale) & (second >= least_scale) & (first <= most_scale) & (second <= most_scale);
    return __builtin_reduce_and(isInside) != 0;
}

/// Whether the scale `other` leaves less squared error than `scale`; `count` values are whole vectors. The quotients are
/// not quite those of the codes, but where they round the other way both codes are as near.
TARGET CK_INLINE int NAME(is_better)(const uint8_t *p, ck_type type, size_t count, float scale, float other) {
    const size_t size = type == CK_F32 ? 4 : 2;
    const float reciprocal = 1 / scale, other_reciprocal = 1 / other;
    f32x16 gain = 0;
    for (size_t i = 0; i < count; i += 16) {
        f32x16 w;
        NAME(widen)(p + size * i, type, &w);
        f32x16 code = FUSED(w, (f32x16)reciprocal, (f32x16)INTEGER_ROUNDER) - INTEGER_ROUNDER;
        f32x16 other_code = FUSED(w, (f32x16)other_reciprocal, (f32x16)INTEGER_ROUNDER) - INTEGER_ROUNDER;
        f32x16 x = FUSED(code, (f32x16)-scale, w), y = FUSED(other_code, (f32x16)-other, w);
        gain = FUSED(x, x, FUSED(y, -y, gain));
    }
    __typeof__(gain.lo) eight = gain.lo + gain.hi;
    __typeof__(eight.lo) four = eight.lo + eight.hi;
    float sum = (four[0] + four[1]) + (four[2] + four[3]);
    float larger = scale > other ? scale : other;
    float doubt = (float)count * larger * larger * 0x1p-18f;
    if (sum > doubt) return 1;
    if (sum < -doubt) return 0;
    return exact_squares(p, type, count, other) < exact_squares(p, type, count, scale);
}

/// `count` values, whole vectors, to packed nibbles.
TARGET CK_INLINE void NAME(nibbles_block)(const uint8_t *p, ck_type type, size_t count, float scale, uint8_t *codes,
                                          f32x16 *energy, f32x16 *squares, f32x16 *largest) {
    const size_t size = type == CK_F32 ? 4 : 2;
    const float reciprocal = 1 / scale;
    (void)reciprocal;
    for (size_t i = 0; i < count; i += 16) {
        f32x16 w, quotient;
        NAME(widen)(p + size * i, type, &w);
        DIVIDE(w, scale, reciprocal, quotient);
        f32x16 moved = quotient + INTEGER_ROUNDER;
        f32x16 error = w - scale * (moved - INTEGER_ROUNDER);
        f32x16 square = error * error;
        *energy += w * w;
        *squares += square;
        *largest = square > *largest ? square : *largest;
        u64x8 pairs = (u64x8)moved;
        *(u8x8u *)(codes + i / 2) = __builtin_convertvector((pairs & 15) | ((pairs >> 28) & 0xF0), u8x8);
    }
}

TARGET CK_INLINE int NAME(nibbles_all)(const uint8_t *p, ck_type type, size_t count, size_t block, int reach, int halves,
                                       uint8_t *codes, uint8_t *scales, error_sums *sums) {
    const size_t size = type == CK_F32 ? 4 : 2, group = 16 * block;
    f32x16 largest = 0;
    for (size_t start = 0; start < count; start += group) {
        const size_t end = count - start < group ? count : start + group;
        int32_t lows[16] = {0}, highs[16] = {0};
        size_t blocks = 0;
        for (size_t i = start; i < end; i += block, blocks++) {
            const size_t length = end - i < block ? end - i : block;
            for (size_t k = 0; k < length; k += 16) __builtin_prefetch(p + size * (i + k + group));
            if (type == CK_F32) NAME(extremes32)(p + size * i, length, lows + blocks, highs + blocks);
            else NAME(extremes16)(p + size * i, length, lows + blocks, highs + blocks);
        }
        _Alignas(64) float chosen[16], backward[16];
        f32x16 energy = 0, squares = 0;
        if (!NAME(block_scales)(lows, highs, type, (float)reach, halves, (f32x16 *)chosen, (f32x16 *)backward)) return 0;
        size_t index = 0;
        for (size_t i = start; i < end; i += block, index++) {
            const size_t length = end - i < block ? end - i : block;
            const uint8_t *values = p + size * i;
            if (reach == 8 && chosen[index] != backward[index]) {
                int other = length == block ? NAME(is_better)(values, type, block, chosen[index], backward[index])
                                            : NAME(is_better)(values, type, length, chosen[index], backward[index]);
                chosen[index] = other ? -backward[index] : chosen[index];
            }
            if (length == block) NAME(nibbles_block)(values, type, block, chosen[index], codes + i / 2, &energy, &squares, &largest);
            else NAME(nibbles_block)(values, type, length, chosen[index], codes + i / 2, &energy, &squares, &largest);
        }
        sums->energy += __builtin_convertvector(energy, f64x16);
        sums->squares += __builtin_convertvector(squares, f64x16);
        const size_t first = start / block;
        if (halves) {
            uint16_t bits[16];
            f32x16 all = *(const f32x16u *)chosen;
            NARROW_F16(all, bits);
            for (size_t k = 0; k < 2 * blocks; k++) scales[2 * first + k] = ((const uint8_t *)bits)[k];
        } else {
            for (size_t k = 0; k < 4 * blocks; k++) scales[4 * first + k] = ((const uint8_t *)chosen)[k];
        }
    }
    sums->largest = largest > sums->largest ? largest : sums->largest;
    return 1;
}

TARGET static int NAME(nibbles)(const uint8_t *p, ck_type type, size_t count, size_t block, int reach, int halves,
                                uint8_t *codes, uint8_t *scales, error_sums *sums) {
    // Constants where they matter.
#define FORM(type) \
    return block == 32 ? NAME(nibbles_all)(p, type, count, 32, reach, halves, codes, scales, sums) \
                       : NAME(nibbles_all)(p, type, count, block, reach, halves, codes, scales, sums)
    switch (type) {
    case CK_F32: FORM(CK_F32);
    case CK_F16: FORM(CK_F16);
    case CK_BF16: FORM(CK_BF16);
    }
    return 0;
#undef FORM
}

#undef NAME
#undef TARGET
#undef WIDEN_F16
#undef NARROW_F16
#undef DIVIDE
#undef FUSED
