// The encoders of ggml_simple.c for one instruction set, which NAME and TARGET select.

#define WHOLE(value) __builtin_convertvector(value, i32x16)
#define BYTES(codes) __builtin_convertvector(codes, u8x16)
#define AT(x, i) (*(const f32x16_anywhere *)((x) + (i)))

/// Finds the least and the largest of 32 weights.
TARGET CK_INLINE void NAME(range)(const float *x, float *low, float *high) {
    const f32x16 first = AT(x, 0), second = AT(x, 16);
    const f32x16 least = SMALLER_OF(first, second), most = LARGER_OF(first, second);
    *low = IN_HALVES(float, least, SMALLER_OF), *high = IN_HALVES(float, most, LARGER_OF);
}

/// Returns the largest magnitude of `count` weights, a multiple of 16.
TARGET CK_INLINE float NAME(largest_magnitude)(const float *x, int count) {
    f32x16 most = __builtin_elementwise_abs(AT(x, 0));
    for (int i = 16; i < count; i += 16) {
        const f32x16 own = __builtin_elementwise_abs(AT(x, i));
        most = LARGER_OF(most, own);
    }
    return IN_HALVES(float, most, LARGER_OF);
}

TARGET static void NAME(quantize_row_q8_0)(const float *x, size_t blocks, block_q8_0 *block) {
    for (; blocks; blocks--, x += 32, block++) {
        const float d = NAME(largest_magnitude)(x, 32) / 127;
        float id = inverse(d);
        id = id < INFINITE ? id : 0;
        block->d = narrow_f16(d);
        UNROLLED for (int i = 0; i < 32; i += 16) {
            // Adding nearly a half, of the same sign, makes the nearest integer of what is cut off; halves go away from zero.
            const f32x16 moved = AT(x, i) * id;
            const i32x16 half = ((i32x16)moved & INT32_MIN) | 0x3EFFFFFF;
            *(u8x16_anywhere *)(block->qs + i) = BYTES(WHOLE(moved + (f32x16)half));
        }
    }
}

/// The codes of 16 weights: whole multiples of `id` after `shift` is added, at most `top`. All are 0 if `id` is infinite, or if a weight
/// is infinitely far from the minimum.
TARGET CK_INLINE void NAME(codes_of)(const float *x, float minimum, float id, float shift, int top, i32x16 *codes) {
    const f32x16 moved = (AT(x, 0) - minimum) * id + shift;
    const i32x16 code = WHOLE(__builtin_elementwise_abs(moved) < 128 ? moved : (f32x16)0);
    *codes = SMALLER_OF(code, (i32x16)top);
}

/// Packs the codes of 32 weights: the lowest four bits of two of them in a byte, 16 weights apart, and the fifth bits, if wanted.
TARGET CK_INLINE void NAME(pack)(const i32x16 codes[2], uint8_t *target, uint8_t *high) {
    *(u8x16_anywhere *)target = BYTES((codes[0] & 15) | (codes[1] & 15) << 4);
    if (!high) return;
    UNROLLED for (int half = 0; half < 2; half++) {
        const i32x16 places = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
        const i32x16 bits = (codes[half] >> 4 & 1) << places;
        const int32_t all = __builtin_reduce_or(bits);
        high[2 * half] = (uint8_t)all, high[2 * half + 1] = (uint8_t)(all >> 8);
    }
}

/// Encodes 32 weights by their outermost one.
TARGET CK_INLINE void NAME(encode_outermost)(const float *x, int reach, uint16_t *scale, uint8_t *codes, uint8_t *high) {
    float low, most;
    NAME(range)(x, &low, &most);
    const float d = outermost(x, low, most) / (float)-reach, id = inverse(d);
    i32x16 all[2];
    *scale = narrow_f16(d);
    UNROLLED for (int i = 0; i < 2; i++) NAME(codes_of)(x + 16 * i, 0, id, (float)reach + 0.5f, 2 * reach - 1, all + i);
    NAME(pack)(all, codes, high);
}

TARGET static void NAME(quantize_row_q4_0)(const float *x, size_t blocks, block_q4_0 *block) {
    uint16_t d;
    for (; blocks; blocks--, x += 32, block++) NAME(encode_outermost)(x, 8, &d, block->qs, 0), block->d = d;
}

TARGET static void NAME(quantize_row_q5_0)(const float *x, size_t blocks, block_q5_0 *block) {
    uint16_t d;
    for (; blocks; blocks--, x += 32, block++) NAME(encode_outermost)(x, 16, &d, block->qs, block->qh), block->d = d;
}

/// Encodes 32 weights by their range.
TARGET CK_INLINE void NAME(encode_range)(const float *x, float steps, int top, uint16_t *scale, uint16_t *minimum, uint8_t *codes,
                                         uint8_t *high) {
    float low, most;
    NAME(range)(x, &low, &most);
    const float d = most == low ? 0 : (most - low) / steps, id = inverse(d);
    i32x16 all[2];
    *scale = narrow_f16(d), *minimum = narrow_f16(first_least(x, low));
    UNROLLED for (int i = 0; i < 2; i++) NAME(codes_of)(x + 16 * i, low, id, 0.5f, top, all + i);
    NAME(pack)(all, codes, high);
}

TARGET static void NAME(quantize_row_q4_1)(const float *x, size_t blocks, block_q4_1 *block) {
    uint16_t d, m;
    for (; blocks; blocks--, x += 32, block++) NAME(encode_range)(x, 15, 15, &d, &m, block->qs, 0), block->d = d, block->m = m;
}

TARGET static void NAME(quantize_row_q5_1)(const float *x, size_t blocks, block_q5_1 *block) {
    uint16_t d, m;
    for (; blocks; blocks--, x += 32, block++)
        NAME(encode_range)(x, 31, 127, &d, &m, block->qs, block->qh), block->d = d, block->m = m;
}

/// -1, 0 or 1, as 0, 1 or 2, for 16 weights.
TARGET CK_INLINE void NAME(ternary)(const float *x, float id, i32x16 *digits) {
    const f32x16 moved = AT(x, 0) * id;
    *digits = 1 - (moved >= 0.5f) + (moved <= -0.5f);
}

/// The scale of 256 weights, its float16, and its inverse, which is 0 where it is infinite.
TARGET CK_INLINE float NAME(ternary_scale)(const float *x, uint16_t *half) {
    const float d = NAME(largest_magnitude)(x, QK_K), id = inverse(d);
    *half = narrow_f16(d);
    return id < INFINITE ? id : 0;
}

/// A byte of ternary digits is the first ones of a fraction of 256, so that decoding multiplies instead of dividing.
TARGET CK_INLINE void NAME(fractions)(const i32x16 *numbers, u8x16 *bytes) {
    *bytes = BYTES((i32x16)(((*numbers & 255) * 256 + 242) / 243));
}

TARGET static void NAME(quantize_row_tq1_0)(const float *x, size_t blocks, block_tq1_0 *block) {
    for (; blocks; blocks--, x += QK_K, block++) {
        uint16_t d;
        const float id = NAME(ternary_scale)(x, &d);
        block->d = d;
        // Three times sixteen bytes of five digits each, 32 or 16 weights apart.
        for (int part = 0; part < 3; part++) {
            const int first = part < 2 ? 16 * part : 160, step = part < 2 ? 32 : 16;
            i32x16 number = 0, digits;
            u8x16 bytes;
            for (int digit = 0; digit < 5; digit++) {
                NAME(ternary)(x + first + digit * step, id, &digits);
                number = number * 3 + digits;
            }
            NAME(fractions)(&number, &bytes);
            *(u8x16_anywhere *)(block->qs + 16 * part) = bytes;
        }
        i32x16 last;
        NAME(ternary)(x + 240, id, &last);
        for (int i = 0; i < 4; i++) {
            const int number = ((last[i] * 3 + last[i + 4]) * 3 + last[i + 8]) * 3 + last[i + 12];
            block->qh[i] = (uint8_t)((number * 3 * 256 + 242) / 243);
        }
    }
}

TARGET static void NAME(quantize_row_tq2_0)(const float *x, size_t blocks, block_tq2_0 *block) {
    for (; blocks; blocks--, x += QK_K, block++) {
        uint16_t d;
        const float id = NAME(ternary_scale)(x, &d);
        block->d = d;
        for (int part = 0; part < 4; part++) {
            const float *own = x + 128 * (part / 2) + 16 * (part % 2);
            i32x16 byte = 0, digits;
            UNROLLED for (int digit = 0; digit < 4; digit++) {
                NAME(ternary)(own + 32 * digit, id, &digits);
                byte |= digits << 2 * digit;
            }
            *(u8x16_anywhere *)(block->qs + 16 * part) = BYTES(byte);
        }
    }
}

#undef WHOLE
#undef BYTES
#undef AT
#undef NAME
#undef TARGET
