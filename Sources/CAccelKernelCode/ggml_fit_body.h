// Searches for the least squared error in the types of ggml; included by ggml_search_body.h.
//
// Codes are always the nearest ones for the scales as they are stored. In turn, the scales of the blocks become the best ones of their
// neighbours for the super-block's scale and minimum, and these the solution of least squares, rounded to float16, for the codes.

/// Sums over the weights of blocks: of their weighted errors, and for least squares.
typedef struct {
    reals error, code2, code, product;
} NAME(fit_sums);

/// Measures codes, the nearest ones, that stand for `scale * code - minimum`.
TARGET CK_INLINE void NAME(measure)(const lanes *b, int at, fit_form f, const reals *scale, const reals *minimum, NAME(fit_sums) * sums) {
    const reals inverse = *scale != 0 ? 1 / *scale : (reals)0;
    sums->error = 0, sums->code2 = 0, sums->code = 0, sums->product = 0;
    for (int i = 0; i < f.n; i++) {
        const reals x = AT(b->x[i], at), w = AT(b->w[i], at), moved = (x + *minimum) * inverse;
        reals code;
        if (f.is_uneven) {
            integers number, value;
            BEST_INDEX_INT8(integers, moved, number, value);
            (void)number;
            code = REALS(value);
        } else {
            code = LARGER_OF(SMALLER_OF(moved, (reals)(float)f.high), (reals)(float)f.low);
            code = NEAREST_REAL(code);
        }
        const reals difference = *scale * code - *minimum - x, weighted = w * code;
        sums->error += w * difference * difference;
        sums->code2 += weighted * code, sums->code += weighted, sums->product += weighted * x;
    }
}

/// Rounds to float16.
TARGET CK_INLINE void NAME(round_to_halves)(float *numbers) {
    for (int lane = 0; lane < 16; lane++) numbers[lane] = widen_f16(narrow_f16(numbers[lane]));
}

/// Adds up the importance of each block's weights, and its products with them.
TARGET CK_INLINE void NAME(add_importance)(const lanes *b, int at, int n, reals *total, reals *sum_x) {
    *total = 0, *sum_x = 0;
    for (int i = 0; i < n; i++) *total += AT(b->w[i], at), *sum_x += AT(b->w[i], at) * AT(b->x[i], at);
}

/// Searches a float16 scale and minimum for each block, from those of another search on.
TARGET CK_INLINE void NAME(fit_blocks)(lanes *b, fit_form f) {
    _Alignas(64) float scale[16], minimum[16], least[16];
    for (int lane = 0; lane < 16; lane++) scale[lane] = b->scale[lane], minimum[lane] = b->minimum[lane], least[lane] = __builtin_inff();
    for (int pass = 0; pass < 6; pass++) {
        NAME(round_to_halves)(scale), NAME(round_to_halves)(minimum);
        for (int at = 0; at < 16; at += WIDTH) {
            NAME(fit_sums) sums;
            reals total, sum_x;
            NAME(measure)(b, at, f, &AT(scale, at), &AT(minimum, at), &sums);
            NAME(add_importance)(b, at, f.n, &total, &sum_x);
            const integers better = sums.error < AT(least, at);
            AT(least, at) = better ? sums.error : AT(least, at);
            AT(b->scale, at) = better ? AT(scale, at) : AT(b->scale, at);
            AT(b->minimum, at) = better ? AT(minimum, at) : AT(b->minimum, at);
            if (f.has_minimum) {
                const reals determinant = total * sums.code2 - sums.code * sums.code;
                const integers known = determinant > 0;
                AT(scale, at) = known ? (total * sums.product - sum_x * sums.code) / determinant : AT(scale, at);
                AT(minimum, at) = known ? (sums.code * sums.product - sums.code2 * sum_x) / determinant : AT(minimum, at);
            } else {
                AT(scale, at) = sums.code2 > 0 ? sums.product / sums.code2 : AT(scale, at);
            }
        }
    }
}

/// Searches the integer scales and minima of the blocks of one super-block, or of two that have eight blocks each, and their common ones.
/// The scales and minima of the blocks are those of another search at first, and what is found in the end; `numbers` and `lows` are the
/// integers, and `d` and `m` the common ones.
TARGET CK_INLINE void NAME(fit_common)(lanes *b, fit_form f, int numbers[16], int lows[16], float d[2], float m[2]) {
    const int parts = 16 / f.blocks;
    _Alignas(64) float scale[16], minimum[16], found_scale[16], found_minimum[16];
    _Alignas(64) float tried_scale[16], tried_minimum[16], own_d[16], own_m[16];
    float least[2] = {__builtin_inff(), __builtin_inff()}, this_d[2], this_m[2];
    for (int part = 0; part < parts; part++) {
        const int first = part * f.blocks;
        const float edge = outermost(b->scale + first, f.blocks);
        // The outermost scale has the outermost integer: of negative ones there is one more.
        this_d[part] = widen_f16(narrow_f16(edge / (float)(f.least_scale < 0 ? f.least_scale : f.most_scale)));
        this_m[part] = widen_f16(narrow_f16(largest(b->minimum + first, f.blocks) / (float)f.most_scale));
        for (int j = first; j < first + f.blocks; j++) {
            const float s = this_d[part] != 0 ? b->scale[j] / this_d[part] : 0, l = this_m[part] != 0 ? b->minimum[j] / this_m[part] : 0;
            scale[j] = (float)nearest_int(s < -128 ? -128 : s > 127 ? 127 : s), minimum[j] = (float)nearest_int(l < 0 ? 0 : l > 127 ? 127 : l);
        }
    }
    for (int pass = 0; pass < 4; pass++) {
        float sums[2][6] = {{0}};
        for (int j = 0; j < 16; j++) own_d[j] = this_d[j / f.blocks], own_m[j] = this_m[j / f.blocks];
        for (int at = 0; at < 16; at += WIDTH) {
            reals best_error = __builtin_inff();
            const reals from = AT(scale, at), from_low = AT(minimum, at);
            const int reach = pass == 0 ? 2 : 1, low_reach = f.has_minimum ? reach : 0;
            for (int step = -reach; step <= reach; step++)
                for (int low_step = -low_reach; low_step <= low_reach; low_step++) {
                    reals s = from + (float)step, l = from_low + (float)low_step;
                    s = LARGER_OF(SMALLER_OF(s, (reals)(float)f.most_scale), (reals)(float)f.least_scale);
                    l = LARGER_OF(SMALLER_OF(l, (reals)(float)f.most_scale), (reals)0);
                    const reals own = AT(own_d, at) * s, own_low = AT(own_m, at) * l;
                    NAME(fit_sums) measured;
                    NAME(measure)(b, at, f, &own, &own_low, &measured);
                    const integers better = measured.error < best_error;
                    best_error = better ? measured.error : best_error;
                    AT(tried_scale, at) = better ? s : AT(tried_scale, at), AT(tried_minimum, at) = better ? l : AT(tried_minimum, at);
                }
        }
        for (int at = 0; at < 16; at += WIDTH) {
            NAME(fit_sums) measured;
            reals total, sum_x;
            const reals own = AT(own_d, at) * AT(tried_scale, at), own_low = AT(own_m, at) * AT(tried_minimum, at);
            NAME(measure)(b, at, f, &own, &own_low, &measured);
            NAME(add_importance)(b, at, f.n, &total, &sum_x);
            for (int lane = 0; lane < WIDTH; lane++) {
                float *sum = sums[(at + lane) / f.blocks];
                const float s = tried_scale[at + lane], l = tried_minimum[at + lane];
                sum[0] += measured.error[lane], sum[1] += s * s * measured.code2[lane], sum[2] += s * l * measured.code[lane];
                sum[3] += l * l * total[lane], sum[4] += s * measured.product[lane], sum[5] += l * sum_x[lane];
            }
        }
        ck_copy(scale, tried_scale, sizeof scale), ck_copy(minimum, tried_minimum, sizeof minimum);
        for (int part = 0; part < parts; part++) {
            const float *sum = sums[part];
            if (sum[0] < least[part]) {
                least[part] = sum[0], d[part] = this_d[part], m[part] = this_m[part];
                for (int j = part * f.blocks; j < (part + 1) * f.blocks; j++) found_scale[j] = scale[j], found_minimum[j] = minimum[j];
            }
            const float determinant = sum[1] * sum[3] - sum[2] * sum[2];
            float new_d = sum[1] > 0 ? sum[4] / sum[1] : this_d[part], new_m = this_m[part];
            if (f.has_minimum && determinant > 0) {
                new_d = (sum[4] * sum[3] - sum[5] * sum[2]) / determinant;
                new_m = (sum[4] * sum[2] - sum[5] * sum[1]) / determinant;
            }
            this_d[part] = widen_f16(narrow_f16(new_d)), this_m[part] = widen_f16(narrow_f16(new_m < 0 ? 0 : new_m));
        }
    }
    for (int j = 0; j < 16; j++) {
        const int part = j / f.blocks;
        numbers[j] = least[part] < __builtin_inff() ? (int)found_scale[j] : 0;
        lows[j] = least[part] < __builtin_inff() ? (int)found_minimum[j] : 0;
        b->inverse[j] = 0, b->start[j] = 0, b->shift[j] = 0;
    }
}

/// Reads sixteen blocks of `f.n` weights, and searches scales for the least squared error, or that which the importance weighs.
TARGET CK_INLINE void NAME(start_fit)(const float *x, const float *importance, size_t blocks, fit_form f, lanes *b) {
    NAME(read)(x, f.n, blocks, b->x);
    if (importance)
        NAME(read)(importance, f.n, blocks, b->w);
    else
        for (int i = 0; i < f.n; i++)
            for (int lane = 0; lane < 16; lane++) b->w[i][lane] = 1;
    if (f.has_minimum) {
        const range_search s = {f.n, f.high, -0.9f, 0.05f, 36, 0};
        NAME(make_qkx2_quants)(b, s);
    } else if (f.is_uneven) {
        NAME(quantize_row_iq4_nl_impl)(b);
        for (int lane = 0; lane < 16; lane++) b->minimum[lane] = 0;
    } else {
        NAME(make_qx_quants)(b, f.n, -f.low, 0);
    }
}

/// Writes a block of 32 weights with a scale, and perhaps a minimum, of its own.
TARGET CK_INLINE void NAME(write_block)(ck_ggml_type type, fit_form f, const float *x, const lanes *b, int lane, uint8_t *target) {
    uint8_t codes[32];
    const uint16_t d = narrow_f16(b->scale[lane]), m = narrow_f16(-b->minimum[lane]);
    if (!f.is_uneven) NAME(choose)(x, 32, f.low, f.high, b, lane, b->scale[lane], b->minimum[lane], codes);
    switch (type) {
    case CK_GGML_Q8_0: {
        block_q8_0 *block = (block_q8_0 *)target;
        block->d = d;
        for (int i = 0; i < 32; i++) block->qs[i] = (int8_t)(codes[i] + f.low);
        return;
    }
    case CK_GGML_Q4_0: {
        block_q4_0 *block = (block_q4_0 *)target;
        block->d = d, pack_fours(codes, block->qs);
        return;
    }
    case CK_GGML_Q4_1: {
        block_q4_1 *block = (block_q4_1 *)target;
        block->d = d, block->m = m, pack_fours(codes, block->qs);
        return;
    }
    case CK_GGML_Q5_0: {
        block_q5_0 *block = (block_q5_0 *)target;
        block->d = d, pack_fours(codes, block->qs), pack_fifth(codes, block->qh);
        return;
    }
    case CK_GGML_Q5_1: {
        block_q5_1 *block = (block_q5_1 *)target;
        block->d = d, block->m = m, pack_fours(codes, block->qs), pack_fifth(codes, block->qh);
        return;
    }
    default: {
        block_iq4_nl *block = (block_iq4_nl *)target;
        block->d = d;
        NAME(choose_values)(x, b->scale[lane] != 0 ? 1 / b->scale[lane] : 0, block->qs);
    }
    }
}

/// Writes a super-block with the integer scales and minima of its blocks.
TARGET CK_INLINE void NAME(write_super_block)(ck_ggml_type type, fit_form f, const float *x, const lanes *b, int first, float d, float m,
                                              int *numbers, int *lows, uint8_t *target) {
    uint8_t codes[QK_K];
    for (int j = 0; j < f.blocks && !f.is_uneven; j++)
        NAME(choose)(x + f.n * j, f.n, f.low, f.high, b, first + j, d * (float)numbers[j], m * (float)lows[j], codes + f.n * j);
    switch (type) {
    case CK_GGML_Q2_K: {
        block_q2_k *block = (block_q2_k *)target;
        block->d = narrow_f16(d), block->dmin = narrow_f16(m);
        for (int j = 0; j < 16; j++) block->scales[j] = (uint8_t)(numbers[j] | lows[j] << 4);
        pack_twos(codes, block->qs);
        return;
    }
    case CK_GGML_Q3_K: {
        block_q3_k *block = (block_q3_k *)target;
        block->d = narrow_f16(d);
        for (int j = 0; j < 16; j++) numbers[j] += 32;
        pack_sixes_signed(numbers, block->scales), pack_q3_k(codes, block);
        return;
    }
    case CK_GGML_Q4_K: {
        block_q4_k *block = (block_q4_k *)target;
        block->d = narrow_f16(d), block->dmin = narrow_f16(m);
        pack_sixes(numbers, lows, block->scales), pack_q4_k(codes, block);
        return;
    }
    case CK_GGML_Q5_K: {
        block_q5_k *block = (block_q5_k *)target;
        block->d = narrow_f16(d), block->dmin = narrow_f16(m);
        pack_sixes(numbers, lows, block->scales), pack_q5_k(codes, block);
        return;
    }
    case CK_GGML_Q6_K: {
        block_q6_k *block = (block_q6_k *)target;
        block->d = narrow_f16(d);
        for (int j = 0; j < 16; j++) block->scales[j] = (int8_t)numbers[j];
        pack_q6_k(codes, block);
        return;
    }
    default: {
        block_iq4_xs *block = (block_iq4_xs *)target;
        block->d = narrow_f16(d);
        for (int j = 0; j < 8; j++) {
            const float scale = d * (float)numbers[j];
            NAME(choose_values)(x + 32 * j, scale != 0 ? 1 / scale : 0, block->qs + 16 * j);
            numbers[j] += 32;
        }
        pack_iq4_xs(numbers, block);
    }
    }
}

/// Encodes up to sixteen blocks, or super-blocks, of a row.
TARGET static void NAME(fit)(ck_ggml_type type, const float *x, const float *importance, size_t count, uint8_t *target) {
    const fit_form f = form_of(type);
    const size_t bytes = bytes_of(type), at_once = f.blocks ? 16 / (size_t)f.blocks : 16, elements = f.blocks ? QK_K : 32;
    for (size_t from = 0; from < count; from += at_once) {
        lanes b;
        const size_t left = count - from < at_once ? count - from : at_once;
        const float *own = x + from * elements;
        NAME(start_fit)(own, importance ? importance + from * elements : 0, left * elements / (size_t)f.n, f, &b);
        if (!f.blocks) {
            NAME(fit_blocks)(&b, f);
            for (size_t i = 0; i < left; i++) {
                b.inverse[i] = 0, b.start[i] = 0, b.shift[i] = -f.low;
                NAME(write_block)(type, f, own + 32 * i, &b, (int)i, target + (from + i) * bytes);
            }
            continue;
        }
        int numbers[16], lows[16];
        float d[2] = {0}, m[2] = {0};
        NAME(fit_common)(&b, f, numbers, lows, d, m);
        for (size_t i = 0; i < left; i++) {
            const size_t first = i * (size_t)f.blocks;
            NAME(write_super_block)(type, f, own + QK_K * i, &b, (int)first, d[i], m[i], numbers + first, lows + first,
                                    target + (from + i) * bytes);
        }
    }
}
