// The searches of ggml_search.c for one instruction set, which NAME and TARGET select.

/// Reads `blocks` blocks of `n` weights, of sixteen; the lanes after them repeat the last one.
TARGET CK_INLINE void NAME(read)(const float *values, int n, size_t blocks, lanes *target) {
    for (int lane = 0; lane < 16; lane++) {
        const float *x = values + ((size_t)lane < blocks ? (size_t)lane : blocks - 1) * (size_t)n;
        for (int i = 0; i < n; i++) target->x[i][lane] = x[i];
    }
}

// ---- a scale and a minimum -------------------------------------------------------------------------------------

/// Searches codes of 0...top, a scale and a minimum of at most 0, for the least weighted error: squared, or absolute if `n` is 16.
/// The minimum is stored with the opposite sign.
TARGET CK_INLINE void NAME(search_ranges)(lanes *b, int n, int top, float first, int steps) {
    f32x16 weights[32], low = b->x[0], high = b->x[0];
    if (n == 16) {
        for (int i = 0; i < n; i++) weights[i] = __builtin_elementwise_abs(b->x[i]);
    } else {
        f32x16 squares = 0;
        for (int i = 0; i < n; i++) squares += b->x[i] * b->x[i];
        const f32x16 mean = __builtin_elementwise_sqrt(squares / 32);
        for (int i = 0; i < n; i++) weights[i] = mean + __builtin_elementwise_abs(b->x[i]);
    }
    f32x16 sum_w = weights[0], sum_x = sum_w * b->x[0];
    for (int i = 1; i < n; i++) {
        low = CHOSEN(b->x[i] < low, b->x[i], low), high = CHOSEN(b->x[i] > high, b->x[i], high);
        sum_w += weights[i], sum_x += weights[i] * b->x[i];
    }
    low = CHOSEN(low > 0, (f32x16)0, low);
    const i32x16 constant = high == low;
    const f32x16 lowest = low;
    f32x16 inverse = (float)top / (high - low), scale = 1 / inverse, error = 0;
    for (int i = 0; i < n; i++) {
        b->codes[i] = CLAMPED(NEAREST(inverse * (b->x[i] - low)), 0, top);
        f32x16 difference = scale * REALS(b->codes[i]) + low - b->x[i];
        difference = n == 16 ? __builtin_elementwise_abs(difference) : difference * difference;
        error += weights[i] * difference;
    }
    for (int step = 0; step <= steps; step++) {
        i32x16 codes[32];
        f32x16 sum_l = 0, sum_l2 = 0, sum_xl = 0;
        inverse = (first + 0.1f * (float)step + (float)top) / (high - low);
        for (int i = 0; i < n; i++) {
            codes[i] = CLAMPED(NEAREST(inverse * (b->x[i] - low)), 0, top);
            const f32x16 l = REALS(codes[i]), wl = weights[i] * l;
            sum_l += wl, sum_l2 += wl * l, sum_xl += wl * b->x[i];
        }
        const f32x16 determinant = sum_w * sum_l2 - sum_l * sum_l;
        f32x16 this_scale = (sum_w * sum_xl - sum_x * sum_l) / determinant;
        f32x16 this_low = (sum_l2 * sum_x - sum_l * sum_xl) / determinant;
        const i32x16 above = this_low > 0;
        this_low = CHOSEN(above, (f32x16)0, this_low);
        this_scale = CHOSEN(above, sum_xl / sum_l2, this_scale);
        f32x16 this_error = 0;
        for (int i = 0; i < n; i++) {
            f32x16 difference = this_scale * REALS(codes[i]) + this_low - b->x[i];
            difference = n == 16 ? __builtin_elementwise_abs(difference) : difference * difference;
            this_error += weights[i] * difference;
        }
        const i32x16 better = (determinant > 0) & (this_error < error);
        for (int i = 0; i < n; i++) b->codes[i] = CHOSEN_CODES(better, codes[i], b->codes[i]);
        error = CHOSEN(better, this_error, error);
        scale = CHOSEN(better, this_scale, scale), low = CHOSEN(better, this_low, low);
    }
    for (int i = 0; i < n; i++) b->codes[i] &= ~constant;
    b->scale = CHOSEN(constant, (f32x16)0, scale);
    b->minimum = -CHOSEN(constant, lowest, low);
}

/// Chooses the codes for scales and minima as they are stored. Blocks whose scale is 0 keep theirs.
TARGET CK_INLINE void NAME(choose_ranges)(lanes *b, int n, int top, const float *scales, const float *minima) {
    f32x16 scale, minimum;
    for (int lane = 0; lane < 16; lane++) scale[lane] = scales[lane], minimum[lane] = minima[lane];
    const i32x16 known = scale != 0;
    for (int i = 0; i < n; i++) {
        const i32x16 codes = CLAMPED(NEAREST((b->x[i] + minimum) / scale), 0, top);
        b->codes[i] = CHOSEN_CODES(known, codes, b->codes[i]);
    }
}

TARGET static void NAME(encode_q2_k)(const float *values, size_t blocks, block_q2_k *target) {
    for (; blocks; blocks--, values += SUPER, target++) {
        lanes b;
        float scales[16], minima[16];
        uint8_t codes[SUPER];
        NAME(read)(values, 16, 16, &b);
        NAME(search_ranges)(&b, 16, 3, -0.5f, 15);
        for (int j = 0; j < 16; j++) scales[j] = b.scale[j], minima[j] = b.minimum[j];
        const float scale = largest(scales, 16), minimum = largest(minima, 16);
        target->d = narrow_f16(scale > 0 ? scale / 15 : 0), target->m = narrow_f16(minimum > 0 ? minimum / 15 : 0);
        const float d = widen_f16(target->d), m = widen_f16(target->m);
        for (int j = 0; j < 16; j++) {
            int both = scale > 0 ? nearest(15 / scale * scales[j]) & 255 : 0;
            if (minimum > 0) both |= nearest(15 / minimum * minima[j]) * 16 & 255;
            target->scales[j] = (uint8_t)both;
            scales[j] = d * (float)(both & 15), minima[j] = m * (float)(both >> 4);
        }
        NAME(choose_ranges)(&b, 16, 3, scales, minima);
        in_order(&b, 16, codes);
        pack_twos(codes, target->codes);
    }
}

/// Encodes the sixteen scales and minima of two super-blocks in 12 bytes each, and chooses the codes for them.
TARGET CK_INLINE void NAME(encode_sixes)(lanes *b, int top, uint8_t packed[2][12], uint16_t d[2], uint16_t m[2]) {
    float scales[16], minima[16];
    for (int j = 0; j < 16; j++) scales[j] = b->scale[j], minima[j] = b->minimum[j];
    for (int part = 0; part < 2; part++) {
        float *own = scales + 8 * part, *lows = minima + 8 * part;
        const float scale = largest(own, 8), minimum = largest(lows, 8);
        const float by_scale = scale > 0 ? 63 / scale : 0, by_minimum = minimum > 0 ? 63 / minimum : 0;
        uint8_t *bytes = packed[part];
        d[part] = narrow_f16(scale / 63), m[part] = narrow_f16(minimum / 63);
        for (int j = 0; j < 8; j++) {
            int s = nearest(by_scale * own[j]) & 255, l = nearest(by_minimum * lows[j]) & 255;
            s = s < 63 ? s : 63, l = l < 63 ? l : 63;
            if (j < 4) {
                bytes[j] = (uint8_t)s, bytes[j + 4] = (uint8_t)l;
            } else {
                bytes[j + 4] = (uint8_t)((s & 15) | (l & 15) << 4);
                bytes[j - 4] |= (uint8_t)(s >> 4 << 6), bytes[j] |= (uint8_t)(l >> 4 << 6);
            }
            own[j] = widen_f16(d[part]) * (float)s, lows[j] = widen_f16(m[part]) * (float)l;
        }
    }
    NAME(choose_ranges)(b, 32, top, scales, minima);
}

TARGET static void NAME(encode_q4_k)(const float *values, size_t blocks, block_q4_k *target) {
    for (size_t from = 0; from < blocks; from += 2) {
        lanes b;
        uint8_t packed[2][12], codes[2 * SUPER];
        uint16_t d[2], m[2];
        NAME(read)(values + from * SUPER, 32, 8 * (blocks - from), &b);
        NAME(search_ranges)(&b, 32, 15, -1, 20);
        NAME(encode_sixes)(&b, 15, packed, d, m);
        in_order(&b, 32, codes);
        for (size_t part = 0; part < 2 && from + part < blocks; part++) {
            block_q4_k *block = target + from + part;
            const uint8_t *own = codes + SUPER * part;
            block->d = d[part], block->m = m[part];
            ck_copy(block->scales, packed[part], 12);
            for (int j = 0; j < 4; j++)
                for (int i = 0; i < 32; i++)
                    block->codes[32 * j + i] = (uint8_t)(own[64 * j + i] | own[64 * j + 32 + i] << 4);
        }
    }
}

TARGET static void NAME(encode_q5_k)(const float *values, size_t blocks, block_q5_k *target) {
    for (size_t from = 0; from < blocks; from += 2) {
        lanes b;
        uint8_t packed[2][12], codes[2 * SUPER];
        uint16_t d[2], m[2];
        NAME(read)(values + from * SUPER, 32, 8 * (blocks - from), &b);
        NAME(search_ranges)(&b, 32, 31, -0.5f, 15);
        NAME(encode_sixes)(&b, 31, packed, d, m);
        in_order(&b, 32, codes);
        for (size_t part = 0; part < 2 && from + part < blocks; part++) {
            block_q5_k *block = target + from + part;
            const uint8_t *own = codes + SUPER * part;
            block->d = d[part], block->m = m[part];
            ck_copy(block->scales, packed[part], 12);
            for (int i = 0; i < 32; i++) {
                int high = 0;
                for (int j = 0; j < 8; j++) high |= own[32 * j + i] >> 4 << j;
                block->high[i] = (uint8_t)high;
            }
            for (int j = 0; j < 4; j++)
                for (int i = 0; i < 32; i++)
                    block->codes[32 * j + i] = (uint8_t)((own[64 * j + i] & 15) | (own[64 * j + 32 + i] & 15) << 4);
        }
    }
}

// ---- a scale -----------------------------------------------------------------------------------------------------

/// Finds the first weight of the largest magnitude of each block, and which blocks count as zeros.
TARGET CK_INLINE void NAME(outermost)(const lanes *b, int n, f32x16 *edge, i32x16 *zeros) {
    f32x16 magnitude = 0, found = 0;
    for (int i = 0; i < n; i++) {
        const f32x16 own = __builtin_elementwise_abs(b->x[i]);
        const i32x16 larger = own > magnitude;
        magnitude = CHOSEN(larger, own, magnitude), found = CHOSEN(larger, b->x[i], found);
    }
    *zeros = magnitude < SMALLEST, *edge = found;
}

/// Chooses the codes for scales as they are stored, of -reach..<reach, stored with `reach` added. Blocks whose scale is 0 keep theirs.
TARGET CK_INLINE void NAME(choose_scaled)(lanes *b, int reach, const float *scales) {
    f32x16 scale;
    for (int lane = 0; lane < 16; lane++) scale[lane] = scales[lane];
    const i32x16 known = scale != 0;
    for (int i = 0; i < 16; i++) {
        const i32x16 codes = CLAMPED(NEAREST(b->x[i] / scale), -reach, reach - 1) + reach;
        b->codes[i] = CHOSEN_CODES(known, codes, b->codes[i]);
    }
}

/// Searches codes of -32...31, stored with 32 added, and a scale, for the least error weighted by squares.
TARGET CK_INLINE void NAME(search_scales)(lanes *b) {
    i32x16 zeros;
    f32x16 edge;
    NAME(outermost)(b, 16, &edge, &zeros);
    f32x16 scale = 0, best = 0;
    for (int step = -10; step <= 9; step++) {
        // The first one is the plain scale, which counts in any case.
        const int is_first = step == -10;
        if (step == 0) continue;
        const f32x16 inverse = -(is_first ? 32.0f : 32.0f + 0.1f * (float)step) / edge;
        i32x16 codes[16];
        f32x16 products = 0, squares = 0;
        for (int i = 0; i < 16; i++) {
            codes[i] = CLAMPED(NEAREST(inverse * b->x[i]), -32, 31);
            const f32x16 l = REALS(codes[i]), w = b->x[i] * b->x[i];
            products += w * b->x[i] * l, squares += w * l * l;
        }
        const i32x16 positive = is_first ? squares != 0 : squares > 0;
        const i32x16 better = is_first ? (i32x16)-1 : positive & (products * products > best * squares);
        for (int i = 0; i < 16; i++) b->codes[i] = CHOSEN_CODES(better, codes[i] + 32, b->codes[i]);
        const f32x16 own = CHOSEN(positive, products / squares, (f32x16)0);
        scale = CHOSEN(better, own, scale), best = CHOSEN(better, own * products, best);
    }
    for (int i = 0; i < 16; i++) b->codes[i] &= ~zeros;
    b->scale = CHOSEN(zeros, (f32x16)0, scale);
}

TARGET static void NAME(encode_q6_k)(const float *values, size_t blocks, block_q6_k *target) {
    for (; blocks; blocks--, values += SUPER, target++) {
        lanes b;
        float scales[16];
        uint8_t codes[SUPER];
        NAME(read)(values, 16, 16, &b);
        NAME(search_scales)(&b);
        for (int j = 0; j < 16; j++) scales[j] = b.scale[j];
        const float edge = outermost(scales, 16);
        if (__builtin_fabsf(edge) < SMALLEST) {
            __builtin_memset(target, 0, sizeof *target);
            continue;
        }
        const float inverse = -128 / edge;
        target->d = narrow_f16(1 / inverse);
        for (int j = 0; j < 16; j++) {
            const int scale = nearest(inverse * scales[j]);
            target->scales[j] = (int8_t)(scale < 127 ? scale : 127);
            scales[j] = widen_f16(target->d) * (float)target->scales[j];
        }
        NAME(choose_scaled)(&b, 32, scales);
        in_order(&b, 16, codes);
        for (int half = 0; half < 2; half++)
            for (int i = 0; i < 32; i++) {
                const uint8_t *c = codes + 128 * half + i;
                target->low[64 * half + i] = (uint8_t)((c[0] & 15) | (c[64] & 15) << 4);
                target->low[64 * half + 32 + i] = (uint8_t)((c[32] & 15) | (c[96] & 15) << 4);
                target->high[32 * half + i] = (uint8_t)(c[0] >> 4 | c[32] >> 4 << 2 | c[64] >> 4 << 4 | c[96] >> 4 << 6);
            }
    }
}

/// Searches codes of -4...3, stored with 4 added, and a scale, for the least error weighted by squares: five times each code in turn
/// becomes the best one for the others.
TARGET CK_INLINE void NAME(improve_codes)(lanes *b) {
    i32x16 zeros;
    f32x16 edge;
    NAME(outermost)(b, 16, &edge, &zeros);
    const f32x16 inverse = -4.0f / edge;
    f32x16 products = 0, squares = 0;
    for (int i = 0; i < 16; i++) {
        b->codes[i] = CLAMPED(NEAREST(inverse * b->x[i]), -4, 3);
        const f32x16 l = REALS(b->codes[i]), w = b->x[i] * b->x[i];
        products += w * b->x[i] * l, squares += w * l * l;
    }
    for (int pass = 0; pass < 5; pass++) {
        i32x16 changed = 0;
        for (int i = 0; i < 16; i++) {
            const f32x16 x = b->x[i], w = x * x, l = REALS(b->codes[i]);
            f32x16 own_products = products - w * x * l, own_squares = squares - w * l * l;
            const i32x16 codes = CLAMPED(NEAREST(x * own_squares / own_products), -4, 3);
            i32x16 better = (own_products > 0) & (codes != b->codes[i]);
            own_products += w * x * REALS(codes), own_squares += w * REALS(codes) * REALS(codes);
            better &= (own_squares > 0)
                & (own_products * own_products * squares > products * products * own_squares);
            b->codes[i] = CHOSEN_CODES(better, codes, b->codes[i]);
            products = CHOSEN(better, own_products, products), squares = CHOSEN(better, own_squares, squares);
            changed |= better;
        }
        if (!__builtin_reduce_or(changed)) break;
    }
    for (int i = 0; i < 16; i++) b->codes[i] = (b->codes[i] + 4) & ~zeros;
    b->scale = CHOSEN((squares > 0) & ~zeros, products / squares, (f32x16)0);
}

TARGET static void NAME(encode_q3_k)(const float *values, size_t blocks, block_q3_k *target) {
    for (; blocks; blocks--, values += SUPER, target++) {
        lanes b;
        float scales[16];
        uint8_t codes[SUPER];
        NAME(read)(values, 16, 16, &b);
        NAME(improve_codes)(&b);
        for (int j = 0; j < 16; j++) scales[j] = b.scale[j];
        const float edge = outermost(scales, 16), inverse = edge != 0 ? -32 / edge : 0;
        target->d = narrow_f16(edge != 0 ? 1 / inverse : 0);
        __builtin_memset(target->scales, 0, 12);
        for (int j = 0; edge != 0 && j < 16; j++) {
            int scale = (int8_t)nearest(inverse * scales[j]);
            scale = (scale < -32 ? -32 : scale > 31 ? 31 : scale) + 32;
            target->scales[j % 8] |= (uint8_t)((scale & 15) << 4 * (j / 8));
            target->scales[8 + j % 4] |= (uint8_t)(scale >> 4 << 2 * (j / 4));
        }
        for (int j = 0; j < 16; j++) scales[j] = widen_f16(target->d) * (float)six_bits_signed(target->scales, j);
        NAME(choose_scaled)(&b, 4, scales);
        in_order(&b, 16, codes);
        for (int i = 0; i < 32; i++) {
            int high = 0;
            for (int j = 0; j < 8; j++) high |= codes[32 * j + i] >> 2 << j;
            target->high[i] = (uint8_t)high;
        }
        pack_twos(codes, target->codes);
    }
}

// ---- codes of uneven weights -------------------------------------------------------------------------------------

/// Finds the number of the nearest value of IQ4_NL, the upper one of two that are as near, and the value.
TARGET CK_INLINE void NAME(nearest_value)(const f32x16 *x, i32x16 *number, f32x16 *value) {
    // The middles between neighbours. Where a number is near one of them, ggml's differences to both neighbours are exact.
    static const float middles[15] = {-115.5f, -93.5f, -74, -57, -42, -28.5f, -16, -4.5f, 7, 19, 31.5f, 45.5f, 61, 79, 101};
    i32x16 code = 0, found = iq4_values[0];
#pragma clang loop unroll(full)
    for (int i = 0; i < 15; i++) {
        const i32x16 above = ~(*x < middles[i]);
        code -= above;
        found += above & (iq4_values[i + 1] - iq4_values[i]);
    }
    *number = code, *value = REALS(found);
}

/// Searches a scale for the least error weighted by squares.
TARGET CK_INLINE void NAME(search_values)(lanes *b) {
    i32x16 zeros;
    f32x16 edge;
    NAME(outermost)(b, 32, &edge, &zeros);
    f32x16 scale = 0, best = 0;
    for (int step = -8; step <= 7; step++) {
        // The first one is the plain scale, which counts in any case.
        const int is_first = step == -8;
        const f32x16 inverse = is_first ? 1 / (-edge / (float)iq4_values[0]) : (float)(step + iq4_values[0]) / edge;
        f32x16 products = 0, squares = 0;
        for (int i = 0; i < 32; i++) {
            const f32x16 moved = inverse * b->x[i];
            i32x16 number;
            f32x16 q;
            NAME(nearest_value)(&moved, &number, &q);
            const f32x16 w = b->x[i] * b->x[i];
            products += w * q * b->x[i], squares += w * q * q;
        }
        const i32x16 positive = squares > 0;
        const i32x16 better = is_first ? (i32x16)-1 : positive & (products * products > best * squares);
        const f32x16 own = CHOSEN(positive, products / squares, (f32x16)0);
        scale = CHOSEN(better, own, scale), best = CHOSEN(better, own * products, best);
    }
    b->scale = CHOSEN(zeros, (f32x16)0, scale);
}

/// Chooses the codes for the inverse of a scale.
TARGET CK_INLINE void NAME(choose_values)(lanes *b, const f32x16 *inverse) {
    for (int i = 0; i < 32; i++) {
        const f32x16 moved = *inverse * b->x[i];
        f32x16 value;
        NAME(nearest_value)(&moved, &b->codes[i], &value);
    }
}

TARGET static void NAME(encode_iq4_nl)(const float *values, size_t blocks, block_iq4_nl *target) {
    for (size_t from = 0; from < blocks; from += 16) {
        lanes b;
        uint8_t codes[512];
        NAME(read)(values + from * 32, 32, blocks - from, &b);
        NAME(search_values)(&b);
        const f32x16 inverse = CHOSEN(b.scale != 0, 1 / b.scale, (f32x16)0);
        NAME(choose_values)(&b, &inverse);
        in_order(&b, 32, codes);
        for (size_t lane = 0; lane < 16 && from + lane < blocks; lane++) {
            block_iq4_nl *block = target + from + lane;
            block->d = narrow_f16(b.scale[lane]);
            for (int i = 0; i < 16; i++)
                block->codes[i] = (uint8_t)(codes[32 * lane + (size_t)i] | codes[32 * lane + 16 + (size_t)i] << 4);
        }
    }
}

TARGET static void NAME(encode_iq4_xs)(const float *values, size_t blocks, block_iq4_xs *target) {
    for (size_t from = 0; from < blocks; from += 2) {
        lanes b;
        uint8_t codes[2 * SUPER], numbers[16];
        float scales[16], d[2];
        f32x16 inverses;
        NAME(read)(values + from * SUPER, 32, 8 * (blocks - from), &b);
        NAME(search_values)(&b);
        for (int j = 0; j < 16; j++) scales[j] = b.scale[j];
        for (int part = 0; part < 2; part++) {
            d[part] = -outermost(scales + 8 * part, 8) / 32;
            const float inverse = d[part] != 0 ? 1 / d[part] : 0;
            for (int j = 8 * part; j < 8 * part + 8; j++) {
                int number = nearest(inverse * scales[j]);
                number = number < -32 ? -32 : number > 31 ? 31 : number;
                const float scale = d[part] * (float)number;
                inverses[j] = scale != 0 ? 1 / scale : 0;
                numbers[j] = (uint8_t)(number + 32);
            }
        }
        NAME(choose_values)(&b, &inverses);
        in_order(&b, 32, codes);
        for (size_t part = 0; part < 2 && from + part < blocks; part++) {
            block_iq4_xs *block = target + from + part;
            const uint8_t *own = codes + SUPER * part, *number = numbers + 8 * part;
            int high = 0;
            block->d = narrow_f16(d[part]);
            for (int j = 0; j < 8; j++) high |= number[j] >> 4 << 2 * j;
            block->high = (uint16_t)high;
            for (int j = 0; j < 4; j++) block->low[j] = (uint8_t)((number[2 * j] & 15) | (number[2 * j + 1] & 15) << 4);
            for (int j = 0; j < 8; j++)
                for (int i = 0; i < 16; i++)
                    block->codes[16 * j + i] = (uint8_t)(own[32 * j + i] | own[32 * j + 16 + i] << 4);
        }
    }
}

#undef NAME
#undef TARGET
