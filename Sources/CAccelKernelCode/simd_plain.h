// The operations of simd.h in plain C, and on ARM by NEON.

// By many instructions for each number: not in place.
static __attribute__((noinline, unused)) void narrow_halves(const f32x16 *x, uint16_t *target) {
    for (int k = 0; k < 16; k++) target[k] = narrow_f16((*x)[k]);
}

/// Rounds sixteen numbers to float16.
CK_INLINE void narrow_16_plain(const f32x16 *x, uint16_t *target) { narrow_halves(x, target); }

#if CK_ARM

/// Widens eight numbers of float16.
CK_INLINE void widen_8_plain(const uint16_t *halves, float *target) {
    const float16x8_t own = vreinterpretq_f16_u16(vld1q_u16(halves));
    vst1q_f32(target, vcvt_f32_f16(vget_low_f16(own)));
    vst1q_f32(target + 4, vcvt_high_f32_f16(own));
}

/// Widens sixteen numbers of float16, which may be unaligned.
CK_INLINE void widen_16_plain(const uint8_t *halves, f32x16 *target) {
    uint16x8_t low, high;
    ck_copy(&low, halves, 16);
    ck_copy(&high, halves + 16, 16);
    float16x8_t a = vreinterpretq_f16_u16(low), b = vreinterpretq_f16_u16(high);
    float32x4_t parts[4] = {vcvt_f32_f16(vget_low_f16(a)), vcvt_high_f32_f16(a), vcvt_f32_f16(vget_low_f16(b)), vcvt_high_f32_f16(b)};
    ck_copy(target, parts, 64);
}

/// The bytes of a table of 16 by codes of 0...15.
CK_INLINE void look_up_16_plain(const void *table, const u8x16 *codes, u8x16 *target) {
    *target = (u8x16)vqtbl1q_u8(vld1q_u8((const uint8_t *)table), (uint8x16_t)*codes);
}

#else

CK_INLINE void widen_8_plain(const uint16_t *halves, float *target) {
    for (int i = 0; i < 8; i++) target[i] = widen_f16(halves[i]);
}

static __attribute__((noinline, unused)) void widen_halves(const uint8_t *halves, f32x16 *target) {
    for (int k = 0; k < 16; k++) {
        uint16_t half;
        ck_copy(&half, halves + 2 * k, 2);
        (*target)[k] = widen_f16(half);
    }
}

CK_INLINE void widen_16_plain(const uint8_t *halves, f32x16 *target) { widen_halves(halves, target); }

CK_INLINE void look_up_16_plain(const void *table, const u8x16 *codes, u8x16 *target) {
    const u8x16 own = *codes;
    u8x16 found;
    UNROLLED for (int lane = 0; lane < 16; lane++) found[lane] = ((const uint8_t *)table)[own[lane]];
    *target = found;
}

#endif

/// target = w / scale, correctly rounded.
/// - reciprocal: the correctly rounded one of the scale.
CK_INLINE void divide_plain(const f32x16 *w, float scale, float reciprocal, f32x16 *target) {
    (void)reciprocal;
    *target = *w / scale;
}

/// Numbers less the nearest integers.
CK_INLINE void fraction_plain(const f32x16 *x, f32x16 *target) { *target = *x - ((*x + INTEGER_ROUNDER) - INTEGER_ROUNDER); }
