// The types of ggml with a scale and a minimum; included by ggml_search_body.h.

/// The best candidates of some lanes.
typedef struct {
    /// The scale, the minimum of at most 0, and the error; the codes are those of `inverse * (x - start)`.
    reals scale, low, error, inverse, start;
} NAME(range);

/// Adds up errors, squared or by their magnitudes, of codes that stand for `scale * code + low`.
TARGET CK_INLINE void NAME(add_error)(const lanes *b, int at, int i, int by_magnitude, const reals *code,
                                      const reals *scale, const reals *low, reals *error) {
    const reals difference = *scale * *code + *low - AT(b->x[i], at);
    *error += AT(b->w[i], at) * (by_magnitude ? __builtin_elementwise_abs(difference) : difference * difference);
}

/// Tries the codes of `inverse * (x - best->low)`, with the scale and the minimum of least squared error for them. Without `exact`, these
/// numbers are below 2^22.
TARGET CK_INLINE void NAME(try_range)(const lanes *b, int at, range_search s, int exact, const reals *inverse,
                                      const reals *total, const reals *sum_x, NAME(range) * best) {
    reals codes[32], sum_l = 0, sum_l2 = 0, sum_xl = 0;
    const reals low = best->low;
    for (int i = 0; i < s.n; i++) {
        const reals x = AT(b->x[i], at), moved = *inverse * (x - low);
        reals code;
        if (exact) {
            code = REALS(CODES(moved, 0, s.top));
        } else {
            code = NEAREST_REAL(moved);
            code = LARGER_OF(SMALLER_OF(code, (reals)(float)s.top), (reals)0);
        }
        codes[i] = code;
        const reals weighted = AT(b->w[i], at) * code;
        sum_l += weighted, sum_l2 += weighted * code, sum_xl += weighted * x;
    }
    const reals determinant = *total * sum_l2 - sum_l * sum_l;
    reals scale = (*total * sum_xl - *sum_x * sum_l) / determinant;
    reals moved_low = (sum_l2 * *sum_x - sum_l * sum_xl) / determinant, error = 0;
    const integers above = moved_low > 0;
    moved_low = above ? (reals)0 : moved_low;
    scale = above ? sum_xl / sum_l2 : scale;
    for (int i = 0; i < s.n; i++) NAME(add_error)(b, at, i, s.by_magnitude, codes + i, &scale, &moved_low, &error);
    const integers better = (determinant > 0) & (error < best->error);
    best->error = better ? error : best->error, best->scale = better ? scale : best->scale;
    best->inverse = better ? *inverse : best->inverse, best->start = better ? low : best->start;
    best->low = better ? moved_low : best->low;
}

/// Searches codes of 0...top, a scale and a minimum of at most 0, for the least weighted error: `make_qkx2_quants` of ggml, and by other
/// candidates `make_qkx3_quants`, which takes an importance.
TARGET CK_INLINE void NAME(make_qkx2_quants)(lanes *b, range_search s) {
    for (int at = 0; at < 16; at += WIDTH) {
        reals lowest = AT(b->x[0], at), high = lowest, total = AT(b->w[0], at), sum_x = total * lowest;
        for (int i = 1; i < s.n; i++) {
            const reals x = AT(b->x[i], at), w = AT(b->w[i], at);
            lowest = x < lowest ? x : lowest, high = x > high ? x : high;
            total += w, sum_x += w * x;
        }
        const reals low = lowest > 0 ? (reals)0 : lowest;
        // A constant block has codes of 0. Until then it gets some range, so that its lane is not beyond the numbers of the others.
        const integers constant = ~(high > low);
        high = constant ? low + 1 : high;
        NAME(range) best = {.low = low, .start = low, .error = 0, .inverse = (float)s.top / (high - low)};
        best.scale = 1 / best.inverse;
        for (int i = 0; i < s.n; i++) {
            const reals code = REALS(CODES(best.inverse * (AT(b->x[i], at) - low), 0, s.top));
            NAME(add_error)(b, at, i, s.by_magnitude, &code, &best.scale, &low, &best.error);
        }
        for (int step = 0; step <= s.steps; step++) {
            const reals range = high - best.low, below = best.low - lowest;
            const reals inverse = (s.first + s.delta * (float)step + (float)s.top) / range;
            const reals farthest = (range > below ? range : below) * __builtin_elementwise_abs(inverse);
            // The low of the best candidate may leave hardly any range.
            if (__builtin_reduce_and(farthest < 4e6f))
                NAME(try_range)(b, at, s, 0, &inverse, &total, &sum_x, &best);
            else
                NAME(try_range)(b, at, s, 1, &inverse, &total, &sum_x, &best);
        }
        AT(b->scale, at) = constant ? (reals)0 : best.scale;
        AT(b->minimum, at) = -(constant ? low : best.low);
        AT(b->inverse, at) = constant ? (reals)0 : best.inverse;
        AT(b->start, at) = best.start, AT(b->total, at) = total, INTEGERS_AT(b->shift, at) = 0;
    }
}

/// Encodes scales in 0...top, and finds their common scale, for the least weighted squared error: in turn, each code becomes the best one
/// for the others. Codes are bytes, so negative scales have codes above 127.
/// - codes: those that were found, or null.
TARGET CK_INLINE void NAME(make_qp_quants)(lanes *b, int n, int top, int codes[][16]) {
    for (int at = 0; at < 16; at += WIDTH) {
        reals high = 0, error = 0, products = 0, squares = 0;
        for (int i = 0; i < n; i++) high = high > AT(b->x[i], at) ? high : AT(b->x[i], at);
        const integers zeros = high < GROUP_MAX_EPS;
        reals inverse = (float)top / high, scale = 1 / inverse;
        integers found[32];
        for (int i = 0; i < n; i++) {
            const reals difference = AT(b->x[i], at) - scale * REALS(NEAREST(integers, inverse * AT(b->x[i], at)) & 255);
            error += AT(b->w[i], at) * difference * difference;
        }
        for (int step = -4; step <= 4; step++) {
            if (step == 0) continue;
            const reals tried = (0.1f * (float)step + (float)top) / high, tried_scale = 1 / tried;
            reals sum = 0;
            for (int i = 0; i < n; i++) {
                const integers code = SMALLER_OF(NEAREST(integers, tried * AT(b->x[i], at)), (integers)top);
                const reals difference = AT(b->x[i], at) - tried_scale * REALS(code);
                sum += AT(b->w[i], at) * difference * difference;
            }
            const integers better = sum < error;
            error = better ? sum : error, inverse = better ? tried : inverse;
        }
        for (int i = 0; i < n; i++) {
            const integers code = SMALLER_OF(NEAREST(integers, inverse * AT(b->x[i], at)), (integers)top);
            const reals w = AT(b->w[i], at), l = REALS(code);
            found[i] = code & 255;
            products += w * AT(b->x[i], at) * l, squares += w * l * l;
        }
        integers changed = -1;
        for (int pass = 0; pass < 5 && __builtin_reduce_or(changed); pass++) {
            changed = 0;
            for (int i = 0; i < n; i++) {
                const reals x = AT(b->x[i], at), w = AT(b->w[i], at), l = REALS(found[i]);
                reals own_products = products - w * x * l, own_squares = squares - w * l * l;
                const integers code = SMALLER_OF(NEAREST(integers, x * own_squares / own_products), (integers)top);
                integers better = (own_products > 0) & (own_squares > 0) & (code != found[i]);
                own_products += w * x * REALS(code), own_squares += w * REALS(code) * REALS(code);
                better &= own_products * own_products * squares > products * products * own_squares;
                found[i] = better ? code & 255 : found[i];
                products = better ? own_products : products, squares = better ? own_squares : squares;
                changed |= better;
            }
        }
        for (int i = 0; codes && i < n; i++) INTEGERS_AT(codes[i], at) = zeros ? (integers)0 : found[i];
        AT(b->scale, at) = zeros | ~(squares > 0) ? (reals)0 : products / squares;
    }
}

/// Encodes `n` scales and minima of each of `count` super-blocks in 0...top, with the importance of their weights: first those of the
/// scales, then those of the minima.
TARGET CK_INLINE void NAME(encode_common)(const lanes *parts, int n, int count, int top, int codes[16][16], float *scales) {
    lanes common;
    for (int i = 0; i < n; i++)
        for (int lane = 0; lane < 16; lane++) {
            const int block = lane % GROUP < count ? lane % GROUP : count - 1, number = block * n + i;
            const lanes *part = parts + number / 16;
            common.x[i][lane] = lane < GROUP ? part->scale[number % 16] : part->minimum[number % 16];
            common.w[i][lane] = part->total[number % 16];
        }
    NAME(make_qp_quants)(&common, n, top, codes);
    ck_copy(scales, common.scale, sizeof common.scale);
}

/// Reads the weights of up to `GROUP` super-blocks and searches the scales and minima of their blocks of `s.n`: with an importance, or by
/// `by`. Errors count
/// by `factor` times the mean square of the super-block too.
TARGET CK_INLINE void NAME(search_group)(const float *values, const float *importance, int count, range_search s, weighing by,
                                         float factor, lanes *parts) {
    const int blocks = QK_K / s.n;
    float squares[GROUP];
    _Alignas(64) float mean[16];
    if (importance) sums_of_squares(values, QK_K, (size_t)count, squares);
    for (int from = 0; from < count * blocks; from += 16, parts++) {
        const size_t left = (size_t)(count * blocks - from);
        NAME(read)(values + from * s.n, s.n, left, parts->x);
        if (importance) {
            for (int lane = 0; lane < 16; lane++) {
                const int block = (from + lane) / blocks;
                mean[lane] = factor * squares[block < count ? block : count - 1] / QK_K;
            }
            NAME(weigh_important)(parts, importance + from * s.n, s.n, left, mean);
        } else {
            NAME(weigh)(parts, s.n, by);
        }
        NAME(make_qkx2_quants)(parts, s);
    }
}

TARGET static void NAME(quantize_row_q2_k)(const float *values, const float *importance, size_t blocks, block_q2_k *target) {
    const range_search plain = {16, 3, -0.5f, 0.1f, 15, 1}, weighted = {16, 3, -0.9f, 0.05f, 36, 0};
    for (size_t from = 0; from < blocks; from += GROUP) {
        lanes parts[GROUP];
        _Alignas(64) int common[16][16];
        float scales[16];
        const int count = blocks - from < GROUP ? (int)(blocks - from) : GROUP;
        const float *x = values + from * QK_K;
        if (importance) {
            NAME(search_group)(x, importance + from * QK_K, count, weighted, BY_SQUARE, 1, parts);
            NAME(encode_common)(parts, 16, count, 15, common, scales);
        } else {
            NAME(search_group)(x, 0, count, plain, BY_MAGNITUDE, 1, parts);
        }
        for (int own = 0; own < count; own++, x += QK_K) {
            block_q2_k *block = target + from + own;
            const lanes *b = parts + own;
            uint8_t codes[QK_K];
            if (importance) {
                block->d = narrow_f16(scales[own]), block->dmin = narrow_f16(scales[GROUP + own]);
                for (int j = 0; j < 16; j++) block->scales[j] = (uint8_t)(common[j][own] | common[j][GROUP + own] << 4);
            } else {
                const float scale = largest(b->scale, 16), minimum = largest(b->minimum, 16);
                block->d = narrow_f16(scale > 0 ? scale / 15 : 0), block->dmin = narrow_f16(minimum > 0 ? minimum / 15 : 0);
                for (int j = 0; j < 16; j++) {
                    int both = scale > 0 ? nearest_int(15 / scale * b->scale[j]) & 255 : 0;
                    if (minimum > 0) both |= nearest_int(15 / minimum * b->minimum[j]) * 16 & 255;
                    block->scales[j] = (uint8_t)both;
                }
            }
            const float d = widen_f16(block->d), m = widen_f16(block->dmin);
            for (int j = 0; j < 16; j++)
                NAME(choose)(x + 16 * j, 16, 0, 3, b, j, d * (float)(block->scales[j] & 15), m * (float)(block->scales[j] >> 4),
                             codes + 16 * j);
            pack_twos(codes, block->qs);
        }
    }
}

/// Encodes up to `GROUP` super-blocks of blocks of 32 with codes of 0...top: their scales, and the codes of all weights.
TARGET CK_INLINE void NAME(encode_sixes)(const float *x, const float *importance, int count, range_search plain, uint8_t packed[GROUP][12],
                                         uint16_t *d, uint16_t *m, uint8_t *codes) {
    const range_search weighted = {32, plain.top, -0.9f, 0.05f, 36, 0};
    lanes parts[GROUP / 2];
    _Alignas(64) int common[16][16];
    float scales[16];
    if (importance) {
        NAME(search_group)(x, importance, count, weighted, BY_SQUARE, 2, parts);
        NAME(encode_common)(parts, 8, count, 63, common, scales);
    } else {
        NAME(search_group)(x, 0, count, plain, BY_MEAN_AND_MAGNITUDE, 2, parts);
    }
    for (int own = 0; own < count; own++) {
        const lanes *b = parts + own / 2;
        const int first = own % 2 * 8;
        int numbers[8], lows[8];
        if (importance) {
            d[own] = narrow_f16(scales[own]), m[own] = narrow_f16(scales[GROUP + own]);
            for (int j = 0; j < 8; j++) numbers[j] = common[j][own], lows[j] = common[j][GROUP + own];
        } else {
            const float scale = largest(b->scale + first, 8), minimum = largest(b->minimum + first, 8);
            const float by_scale = scale > 0 ? 63 / scale : 0, by_minimum = minimum > 0 ? 63 / minimum : 0;
            d[own] = narrow_f16(scale / 63), m[own] = narrow_f16(minimum / 63);
            for (int j = 0; j < 8; j++)
                numbers[j] = nearest_int(by_scale * b->scale[first + j]) & 255, lows[j] = nearest_int(by_minimum * b->minimum[first + j]) & 255;
        }
        // ggml does not clamp the scales of Q4_K that an importance gives.
        for (int j = 0; j < 8 && !(importance && plain.top == 15); j++)
            numbers[j] = numbers[j] < 63 ? numbers[j] : 63, lows[j] = lows[j] < 63 ? lows[j] : 63;
        pack_sixes(numbers, lows, packed[own]);
        const float widened = widen_f16(d[own]), widened_low = widen_f16(m[own]);
        for (int j = 0; j < 8; j++) {
            int scale, low;
            get_scale_min_k4(packed[own], j, &scale, &low);
            const int start = QK_K * own + 32 * j;
            NAME(choose)(x + start, 32, 0, plain.top, b, first + j, widened * (float)scale, widened_low * (float)low, codes + start);
        }
    }
}

#define SIXES(type, ...)                                                                                                              \
    TARGET static void NAME(quantize_row_##type)(const float *values, const float *importance, size_t blocks, block_##type *target) { \
        const range_search plain = {__VA_ARGS__};                                                                                     \
        for (size_t from = 0; from < blocks; from += GROUP) {                                                                         \
            uint8_t packed[GROUP][12], codes[GROUP * QK_K];                                                                           \
            uint16_t d[GROUP], m[GROUP];                                                                                              \
            const int count = blocks - from < GROUP ? (int)(blocks - from) : GROUP;                                                   \
            const float *weights = importance ? importance + from * QK_K : 0;                                                         \
            NAME(encode_sixes)(values + from * QK_K, weights, count, plain, packed, d, m, codes);                                     \
            for (int own = 0; own < count; own++) {                                                                                   \
                block_##type *block = target + from + own;                                                                            \
                block->d = d[own], block->dmin = m[own];                                                                              \
                ck_copy(block->scales, packed[own], 12);                                                                              \
                pack_##type(codes + QK_K * own, block);                                                                               \
            }                                                                                                                         \
        }                                                                                                                             \
    }
SIXES(q4_k, 32, 15, -1, 0.1f, 20, 0)
SIXES(q5_k, 32, 31, -0.5f, 0.1f, 15, 0)
#undef SIXES

/// The search of `EVENLY` for types with minima.
TARGET CK_INLINE void NAME(make_qkx3_quants)(lanes *b, int top) {
    NAME(make_qkx2_quants)(b, (range_search){32, top, -0.9f, 0.05f, 36, 0});
}

EVENLY(q4_1, make_qkx3_quants, 0, 15, block->m = narrow_f16(-b.minimum[own]))
EVENLY(q5_1, make_qkx3_quants, 0, 31, block->m = narrow_f16(-b.minimum[own]), pack_fifth(codes, block->qh))
