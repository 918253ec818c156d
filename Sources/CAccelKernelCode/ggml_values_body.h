// The types of ggml with codes of uneven values: IQ4_NL and IQ4_XS; included by ggml_search_body.h.

/// Finds the nearest values of IQ4_NL, the upper one of two that are as near, and their numbers.
#define BEST_INDEX_INT8(integers, x, number, value)                                                                                        \
    do {                                                                                                                                   \
        /* The middles between neighbours. Where a number is near one of them, ggml's differences to both neighbours are exact. */         \
        static const float middles[15] = {-115.5f, -93.5f, -74, -57, -42, -28.5f, -16, -4.5f, 7, 19, 31.5f, 45.5f, 61, 79, 101};           \
        integers code = 0, found = kvalues_iq4nl[0];                                                                                       \
        UNROLLED for (int middle = 0; middle < 15; middle++) {                                                                             \
            const integers above = ~((x) < middles[middle]);                                                                               \
            code -= above;                                                                                                                 \
            found += above & (kvalues_iq4nl[middle + 1] - kvalues_iq4nl[middle]);                                                          \
        }                                                                                                                                  \
        number = code, value = found;                                                                                                      \
    } while (0)

/// Searches a scale for the least weighted error.
TARGET CK_INLINE void NAME(quantize_row_iq4_nl_impl)(lanes *b) {
    for (int at = 0; at < 16; at += WIDTH) {
        integers zeros;
        reals edge, scale = 0, best = 0;
        NAME(outermost)(b, at, 32, &edge, &zeros);
        for (int step = -8; step <= 7; step++) {
            // The first one is the plain scale, which counts in any case.
            const int is_first = step == -8;
            const reals inverse = is_first ? 1 / (-edge / (float)kvalues_iq4nl[0]) : (float)(step + kvalues_iq4nl[0]) / edge;
            reals products = 0, squares = 0;
            for (int i = 0; i < 32; i++) {
                const reals x = AT(b->x[i], at), w = AT(b->w[i], at), moved = inverse * x;
                integers number, value;
                BEST_INDEX_INT8(integers, moved, number, value);
                const reals q = REALS(value);
                (void)number;
                products += w * q * x, squares += w * q * q;
            }
            const integers positive = squares > 0;
            const integers better = is_first ? (integers)-1 : positive & (products * products > best * squares);
            const reals own = positive ? products / squares : (reals)0;
            scale = better ? own : scale, best = better ? own * products : best;
        }
        AT(b->scale, at) = zeros ? (reals)0 : scale;
    }
}

/// Reads up to sixteen blocks of 32 and searches their scales. `squares` are the sums of squares of the super-blocks of `blocks` blocks
/// that `factor` makes count.
TARGET CK_INLINE void NAME(search_uneven)(const float *values, const float *importance, size_t count, int blocks, lanes *b) {
    NAME(read)(values, 32, count, b->x);
    if (importance) {
        float squares[16];
        _Alignas(64) float mean[16];
        const size_t all = count < 16 ? count : 16, groups = all / (size_t)blocks;
        sums_of_squares(values, 32 * (size_t)blocks, groups, squares);
        for (int lane = 0; lane < 16; lane++) {
            const size_t group = (size_t)(lane / blocks);
            mean[lane] = squares[group < groups ? group : groups - 1] * (2.0f / (float)(32 * blocks));
        }
        NAME(weigh_important)(b, importance, 32, count, mean);
    } else {
        NAME(weigh)(b, 32, BY_SQUARE);
    }
    NAME(quantize_row_iq4_nl_impl)(b);
}

/// Chooses the codes of 32 weights for the inverse of a scale, and packs them.
TARGET CK_INLINE void NAME(choose_values)(const float *x, float inverse, uint8_t *target) {
    uint8_t codes[32];
    for (int i = 0; i < 32; i += 16) {
        const f32x16 moved = inverse * *(const f32x16_anywhere *)(x + i);
        i32x16 number, value;
        BEST_INDEX_INT8(i32x16, moved, number, value);
        (void)value;
        *(u8x16_anywhere *)(codes + i) = __builtin_convertvector(number, u8x16);
    }
    pack_fours(codes, target);
}

TARGET static void NAME(quantize_row_iq4_nl)(const float *values, const float *importance, size_t blocks, block_iq4_nl *target) {
    for (size_t from = 0; from < blocks; from += 16) {
        lanes b;
        NAME(search_uneven)(values + from * 32, importance ? importance + from * 32 : 0, blocks - from, 1, &b);
        for (size_t own = 0; own < 16 && from + own < blocks; own++) {
            block_iq4_nl *block = target + from + own;
            block->d = narrow_f16(b.scale[own]);
            NAME(choose_values)(values + 32 * (from + own), b.scale[own] != 0 ? 1 / b.scale[own] : 0, block->qs);
        }
    }
}

TARGET static void NAME(quantize_row_iq4_xs)(const float *values, const float *importance, size_t blocks, block_iq4_xs *target) {
    for (size_t from = 0; from < blocks; from += 2) {
        lanes b;
        NAME(search_uneven)(values + from * QK_K, importance ? importance + from * QK_K : 0, 8 * (blocks - from), 8, &b);
        for (size_t own = 0; own < 2 && from + own < blocks; own++) {
            block_iq4_xs *block = target + from + own;
            const float *scales = b.scale + 8 * own, d = -outermost(scales, 8) / 32, inverse = d != 0 ? 1 / d : 0;
            int numbers[8];
            block->d = narrow_f16(d);
            for (int j = 0; j < 8; j++) {
                int number = nearest_int(inverse * scales[j]);
                number = number < -32 ? -32 : number > 31 ? 31 : number;
                const float scale = d * (float)number;
                numbers[j] = number + 32;
                NAME(choose_values)(values + QK_K * (from + own) + 32 * (size_t)j, scale != 0 ? 1 / scale : 0, block->qs + 16 * j);
            }
            pack_iq4_xs(numbers, block);
        }
    }
}
