// The types of ggml with a scale and even codes of either sign; included by ggml_search_body.h.

/// Candidates that are tried in one pass over the weights.
#define TRIED 6

/// Finds the first weight of the largest magnitude of each block, and the blocks that hold nearly zeros.
TARGET CK_INLINE void NAME(outermost)(const lanes *b, int at, int n, reals *edge, integers *zeros) {
    reals magnitude = 0, found = 0;
    for (int i = 0; i < n; i++) {
        const reals x = AT(b->x[i], at), own = __builtin_elementwise_abs(x);
        const integers larger = own > magnitude;
        magnitude = larger ? own : magnitude, found = larger ? x : found;
    }
    *zeros = magnitude < GROUP_MAX_EPS, *edge = found;
}

/// Adds up the products and the squares of the codes of `count` inverses of scales. Without `exact`, these are below 2^22.
TARGET CK_INLINE void NAME(try_scales)(const lanes *b, int at, int n, int top, int exact, int count, const reals *inverses, reals *products,
                                       reals *squares) {
    UNROLLED for (int t = 0; t < count; t++) products[t] = 0, squares[t] = 0;
    for (int i = 0; i < n; i++) {
        const reals x = AT(b->x[i], at), w = AT(b->w[i], at), weighted = w * x;
        UNROLLED for (int t = 0; t < count; t++) {
            const reals moved = inverses[t] * x;
            reals code;
            if (exact) {
                code = REALS(CODES(moved, -top, top - 1));
            } else {
                code = NEAREST_REAL(moved);
                code = LARGER_OF(SMALLER_OF(code, (reals)(float)(top - 1)), (reals)(float)-top);
            }
            products[t] += weighted * code, squares[t] += w * code * code;
        }
    }
}

/// Searches codes of -top..<top, stored with `top` added, and a scale, for the least weighted error.
TARGET CK_INLINE void NAME(make_qx_quants)(lanes *b, int n, int top, int exact) {
    for (int at = 0; at < 16; at += WIDTH) {
        integers zeros;
        reals edge, tried[TRIED], products[TRIED], squares[TRIED];
        NAME(outermost)(b, at, n, &edge, &zeros);
        edge = zeros ? (reals)1 : edge;
        // The plain scale counts in any case.
        tried[0] = -(float)top / edge;
        NAME(try_scales)(b, at, n, top, exact, 1, tried, products, squares);
        reals inverse = tried[0], scale = squares[0] != 0 ? products[0] / squares[0] : (reals)0, best = scale * products[0];
        for (int step = 0; step < 18; step += TRIED) {
            UNROLLED for (int t = 0; t < TRIED; t++) {
                const int number = step + t < 9 ? step + t - 9 : step + t - 8;
                tried[t] = -((float)top + 0.1f * (float)number) / edge;
            }
            NAME(try_scales)(b, at, n, top, exact, TRIED, tried, products, squares);
            UNROLLED for (int t = 0; t < TRIED; t++) {
                const integers better = (squares[t] > 0) & (products[t] * products[t] > best * squares[t]);
                const reals own = products[t] / squares[t];
                scale = better ? own : scale, best = better ? own * products[t] : best, inverse = better ? tried[t] : inverse;
            }
        }
        AT(b->inverse, at) = zeros ? (reals)0 : inverse, AT(b->start, at) = 0, AT(b->minimum, at) = 0;
        AT(b->scale, at) = zeros ? (reals)0 : scale, INTEGERS_AT(b->shift, at) = zeros ? (integers)0 : (integers)top;
    }
}

TARGET static void NAME(quantize_row_q6_k)(const float *values, const float *importance, size_t blocks, block_q6_k *target) {
    for (size_t from = 0; from < blocks; from++, values += QK_K) {
        block_q6_k *block = target + from;
        lanes b;
        uint8_t codes[QK_K];
        NAME(read)(values, 16, 16, b.x);
        if (importance)
            NAME(read)(importance + QK_K * from, 16, 16, b.w);
        else
            NAME(weigh)(&b, 16, BY_SQUARE);
        NAME(make_qx_quants)(&b, 16, 32, 0);
        const float edge = outermost(b.scale, 16), inverse = -128 / edge;
        if (__builtin_fabsf(edge) < GROUP_MAX_EPS) {
            __builtin_memset(block, 0, sizeof *block);
            continue;
        }
        block->d = narrow_f16(1 / inverse);
        for (int j = 0; j < 16; j++) {
            const int scale = nearest_int(inverse * b.scale[j]);
            block->scales[j] = (int8_t)(scale < 127 ? scale : 127);
            NAME(choose)(values + 16 * j, 16, -32, 31, &b, j, widen_f16(block->d) * (float)block->scales[j], 0, codes + 16 * j);
        }
        pack_q6_k(codes, block);
    }
}

/// Finds the codes, in -4...3, of the outermost weight, and the scale of least error, weighted by squares.
TARGET CK_INLINE void NAME(start_q3_quants)(lanes *b) {
    for (int at = 0; at < 16; at += WIDTH) {
        integers zeros;
        reals edge, products = 0, squares = 0;
        NAME(outermost)(b, at, 16, &edge, &zeros);
        edge = zeros ? (reals)1 : edge;
        const reals inverse = -4.0f / edge;
        for (int i = 0; i < 16; i++) {
            const reals x = AT(b->x[i], at), w = x * x;
            reals l = NEAREST_REAL(inverse * x);
            l = LARGER_OF(SMALLER_OF(l, (reals)3), (reals)-4);
            products += w * x * l, squares += w * l * l;
        }
        AT(b->inverse, at) = zeros ? (reals)0 : inverse, AT(b->start, at) = 0;
        INTEGERS_AT(b->shift, at) = zeros ? (integers)0 : (integers)4;
        AT(b->products, at) = products, AT(b->squares, at) = squares;
        AT(b->scale, at) = zeros | ~(squares > 0) ? (reals)0 : products / squares;
    }
}

/// Makes each code of some blocks in turn the best one for the others.
TARGET CK_INLINE void NAME(improve_q3_quants)(improved *b) {
    few products[IMPROVED / NARROW], squares[IMPROVED / NARROW];
    few_integers changed[IMPROVED / NARROW];
    UNROLLED for (int part = 0; part < IMPROVED / NARROW; part++) {
        products[part] = FEW_AT(b->products, part * NARROW), squares[part] = FEW_AT(b->squares, part * NARROW);
        changed[part] = 0;
    }
    for (int i = 0; i < 16; i++)
        UNROLLED for (int part = 0; part < IMPROVED / NARROW; part++) {
            const int half = part * NARROW / 16, at = part * NARROW % 16;
            const few x = FEW_AT(b->x[half][i], at), l = FEW_AT(b->codes[half][i], at), w = x * x, wx = w * x;
            few own_products = products[part] - wx * l, own_squares = squares[part] - w * l * l;
            few_integers nearest = NEAREST(few_integers, x * own_squares / own_products);
            nearest = LARGER_OF(SMALLER_OF(nearest, (few_integers)3), (few_integers)-4);
            const few code = __builtin_convertvector(nearest, few);
            few_integers better = (own_products > 0) & (code != l);
            own_products += wx * code, own_squares += w * code * code;
            better &= (own_squares > 0)
                & (own_products * own_products * squares[part] > products[part] * products[part] * own_squares);
            FEW_AT(b->codes[half][i], at) = better ? code : l;
            products[part] = better ? own_products : products[part], squares[part] = better ? own_squares : squares[part];
            changed[part] |= better;
        }
    UNROLLED for (int part = 0; part < IMPROVED / NARROW; part++) {
        FEW_AT(b->products, part * NARROW) = products[part], FEW_AT(b->squares, part * NARROW) = squares[part];
        *(few_integers *)(b->changed + part * NARROW) = changed[part];
    }
}

/// Improves the codes of up to `LARGE_GROUP` super-blocks at most five times, and the scales with them. Where codes changed, `codes` gets the
/// block's, with 4 added.
TARGET CK_INLINE void NAME(make_q3_quants)(const float *values, int count, lanes *parts, float codes[16 * LARGE_GROUP][16],
                                          uint8_t is_changed[16 * LARGE_GROUP]) {
    int blocks[16 * LARGE_GROUP], left = 0;
    for (int block = 0; block < 16 * count; block++) {
        const lanes *own = parts + block / 16;
        is_changed[block] = 0;
        // Where the outermost weight is positive, its code is -4, so that all products are negative, and no code is improved.
        blocks[left] = block, left += own->products[block % 16] > 0;
    }
    for (int pass = 0; pass < 5 && left; pass++) {
        int next = 0;
        for (int from = 0; from < left; from += IMPROVED) {
            improved b;
            for (int half = 0; half < IMPROVED / 16; half++) {
                const float *rows[16], *code_rows[16];
                for (int lane = 0; lane < 16; lane++) {
                    const int number = from + 16 * half + lane, block = blocks[number < left ? number : left - 1];
                    const lanes *own = parts + block / 16;
                    rows[lane] = values + 16 * block, code_rows[lane] = codes[block];
                    b.products[16 * half + lane] = own->products[block % 16], b.squares[16 * half + lane] = own->squares[block % 16];
                    b.inverse[16 * half + lane] = own->inverse[block % 16];
                }
                NAME(gather)(rows, 16, b.x[half]);
                if (pass > 0)
                    NAME(gather)(code_rows, 16, b.codes[half]);
                else
                    for (int i = 0; i < 16; i++)
                        for (int at = 0; at < 16; at += WIDTH) {
                            const reals l = NEAREST_REAL(AT(b.inverse + 16 * half, at) * AT(b.x[half][i], at));
                            AT(b.codes[half][i], at) = LARGER_OF(SMALLER_OF(l, (reals)3), (reals)-4);
                        }
            }
            NAME(improve_q3_quants)(&b);
            for (int half = 0; half < IMPROVED / 16; half++) {
                _Alignas(64) float ordered[16][16];
                const float *rows[16];
                for (int i = 0; i < 16; i++) rows[i] = b.codes[half][i];
                NAME(gather)(rows, 16, ordered);
                for (int lane = 0; lane < 16 && from + 16 * half + lane < left; lane++) {
                    const int number = 16 * half + lane, block = blocks[from + number];
                    lanes *own = parts + block / 16;
                    if (!b.changed[number]) continue;
                    is_changed[block] = 1, blocks[next++] = block;
                    ck_copy(codes[block], ordered[lane], sizeof ordered[lane]);
                    own->products[block % 16] = b.products[number], own->squares[block % 16] = b.squares[number];
                    own->scale[block % 16] = b.squares[number] > 0 ? b.products[number] / b.squares[number] : 0;
                }
            }
        }
        left = next;
    }
}

/// Encodes the scales of `count` super-blocks, with the importance of their weights.
TARGET CK_INLINE void NAME(encode_scales)(const lanes *parts, int count, lanes *common) {
    for (int lane = 0; lane < 16; lane++) {
        const lanes *part = parts + (lane < count ? lane : count - 1);
        for (int j = 0; j < 16; j++) common->x[j][lane] = part->scale[j], common->w[j][lane] = part->total[j];
    }
    NAME(make_qx_quants)(common, 16, 32, 1);
}

TARGET static void NAME(quantize_row_q3_k)(const float *values, const float *importance, size_t blocks, block_q3_k *target) {
    for (size_t from = 0; from < blocks; from += LARGE_GROUP) {
        lanes parts[LARGE_GROUP], common;
        float squares[LARGE_GROUP];
        _Alignas(64) float improved_codes[16 * LARGE_GROUP][16];
        uint8_t is_improved[16 * LARGE_GROUP];
        _Alignas(64) float mean[16];
        const int count = blocks - from < LARGE_GROUP ? (int)(blocks - from) : LARGE_GROUP;
        const float *x = values + from * QK_K;
        if (importance) sums_of_squares(x, QK_K, (size_t)count, squares);
        for (int own = 0; own < count; own++) {
            NAME(read)(x + QK_K * own, 16, 16, parts[own].x);
            if (importance) {
                for (int lane = 0; lane < 16; lane++) mean[lane] = 2 * squares[own] / QK_K;
                NAME(weigh_important)(parts + own, importance + QK_K * (from + (size_t)own), 16, 16, mean);
                NAME(add_weights)(parts + own, 16);
                NAME(make_qx_quants)(parts + own, 16, 4, 0);
            } else {
                NAME(start_q3_quants)(parts + own);
            }
        }
        if (importance)
            NAME(encode_scales)(parts, count, &common);
        else
            NAME(make_q3_quants)(x, count, parts, improved_codes, is_improved);
        for (int own = 0; own < count; own++, x += QK_K) {
            block_q3_k *block = target + from + own;
            const lanes *b = parts + own;
            uint8_t codes[QK_K];
            int scales[16];
            if (importance) {
                block->d = narrow_f16(common.scale[own]);
                for (int j = 0; j < 16; j++) {
                    int scale = nearest_int(common.inverse[own] * common.x[j][own]);
                    scale = scale < 31 ? scale : 31;
                    scales[j] = (scale > -32 ? scale : -32) + common.shift[own];
                }
            } else {
                const float edge = outermost(b->scale, 16), inverse = edge != 0 ? -32 / edge : 0;
                block->d = narrow_f16(edge != 0 ? 1 / inverse : 0);
                for (int j = 0; j < 16; j++) {
                    const int scale = (int8_t)nearest_int(inverse * b->scale[j]);
                    scales[j] = edge != 0 ? (scale < -32 ? -32 : scale > 31 ? 31 : scale) + 32 : 0;
                }
            }
            pack_sixes_signed(scales, block->scales);
            for (int j = 0; j < 16; j++) {
                const float scale = widen_f16(block->d) * (float)(scales[j] - 32);
                if (scale != 0 || importance || !is_improved[16 * own + j])
                    NAME(choose)(x + 16 * j, 16, -4, 3, b, j, scale, 0, codes + 16 * j);
                else
                    for (int i = 0; i < 16; i++) codes[16 * j + i] = (uint8_t)(improved_codes[16 * own + j][i] + 4);
            }
            pack_q3_k(codes, block);
        }
    }
}

/// The search of `EVENLY` for types without minima.
TARGET CK_INLINE void NAME(search_important_scales)(lanes *b, int top) { NAME(make_qx_quants)(b, 32, top + 1, 0); }

EVENLY(q4_0, search_important_scales, -8, 7, (void)0)
EVENLY(q5_0, search_important_scales, -16, 15, pack_fifth(codes, block->qh))
#undef TRIED
