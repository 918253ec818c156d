// The types of ggml with grids; included by ggml_search_body.h.
//
// Candidates for the scale of a part are searched in the lanes of vectors. The error of an entry is a sum of a term for each of its codes;
// candidates with the same nearest codes have the same list of entries.

#if SET_BYTES >= 32
#define POSITIONS(mask) _mm256_movemask_ps((__m256)(mask))
#else
/// The bits of the lanes that are set.
#define POSITIONS(mask) __builtin_reduce_or((mask) & (i32x8){1, 2, 4, 8, 16, 32, 64, 128})
#endif

#define EIGHT_AT(array) (*(f32x8 *)(array))
// The nearest codes of eight magnitudes in steps of the scale.
#define CODES_8(f, steps) LARGER_OF(SMALLER_OF(NEAREST(i32x8, 0.5f * ((steps) - 1)), (i32x8)(f).top), (i32x8)0)

/// Reads the weights of a part, and decides how much errors count: as ggml does, or evenly, by the importance alone.
TARGET CK_INLINE void NAME(read_magnitudes)(grid_form f, const float *x, const float *importance, float mean, int evenly, magnitudes *m) {
    f32x8 most = 0;
    for (int k = 0; k < f.n / 8; k++) {
        const f32x8 own = *(const f32x8_anywhere *)(x + 8 * k), square = own * own;
        const i32x8 negative = own < 0;
        int signs = POSITIONS(negative);
        f32x8 w = f.share * mean + square;
        if (evenly) {
            w = importance ? *(const f32x8_anywhere *)(importance + 8 * k) : (f32x8)1;
        } else if (importance || f.share < 0) {
            const f32x8 root = __builtin_elementwise_sqrt(mean + square);
            w = importance ? *(const f32x8_anywhere *)(importance + 8 * k) * root : root;
        }
        EIGHT_AT(m->x + 8 * k) = negative ? -own : own;
        EIGHT_AT(m->w + 8 * k) = w;
        EIGHT_AT(m->root + 8 * k) = __builtin_elementwise_sqrt(w);
        if (f.is_even && __builtin_popcount((unsigned)signs) % 2) {
            const f32x8 loss = w * own * own;
            int least = 0;
            for (int i = 1; i < 8; i++) least = loss[i] < loss[least] ? i : least;
            m->x[8 * k + least] = -m->x[8 * k + least], signs ^= 1 << least;
        }
        m->signs[k] = (uint8_t)signs;
        const f32x8 final = EIGHT_AT(m->x + 8 * k);
        most = k == 0 ? final : LARGER_OF(final, most);
    }
    m->most = most[0];
    for (int i = 1; i < 8; i++) m->most = LARGER_OF(most[i], m->most);
}

/// The codes of an entry from some position on, as a number.
#define CODES_FROM(f, entry, position, mask) ((size_t)(entry) >> (f).bits * (position) & (size_t)(mask))

/// Chooses the entries of eight weights, or four, for the first `count` of eight scales: of those on the list of the nearest codes the one of
/// least error; of equal ones, the first. Returns the lanes whose nearest codes are no entry.
TARGET CK_INLINE unsigned NAME(find_best_neighbour)(grid_form f, const grid_lists *lists, const float *x, const float *root, const f32x8 *scales,
                                               const i32x8 *places, int count, uint32_t *chosen) {
    f32x8 terms[8][8], firsts[64];
    i32x8 result = 0;
    unsigned left = (1u << count) - 1, off = 0;
    int32_t numbers[8];
    *(i32x8_anywhere *)numbers = *places;
    UNROLLED for (int code = 0; code <= f.top; code++) {
        const f32x8 value = *scales * (float)(2 * code + 1);
        UNROLLED for (int i = 0; i < f.size; i++) {
            const f32x8 difference = value - x[i];
            terms[i][code] = root[i] * difference * difference;
        }
    }
    // Of eight terms, the sums of the first three.
    const int start = f.size == 8 ? 3 : 1;
    if (f.size == 8)
        UNROLLED for (int codes = 0; codes < 9; codes++) {
            const f32x8 two = terms[0][codes % 3] + terms[1][codes / 3];
            UNROLLED for (int third = 0; third < 3; third++) firsts[codes % 3 | codes / 3 << 2 | third << 4] = two + terms[2][third];
        }
    while (left) {
        const int place = numbers[__builtin_ctz(left)];
        const i32x8 own = *places == place;
        const uint32_t list = lists->lists[place];
        const uint16_t *entry = lists->entries + (list >> 10), *end = entry + (list >> 1 & 511);
        const unsigned positions = (unsigned)POSITIONS(own);
        f32x8 least = __builtin_inff();
        u16x16 found = *entry;
        left &= ~positions, off |= list & 1 ? 0 : positions;
        if (end == entry + 1) {
            result = own ? (i32x8)found : result;
            continue;
        }
        for (; entry < end; entry++) {
            f32x8 sum = f.size == 8 ? firsts[*entry & 63] : terms[0][*entry & f.top_bits];
            UNROLLED for (int i = start; i < f.size; i++) sum += terms[i][CODES_FROM(f, *entry, i, f.top_bits)];
            const i32x8 better = sum < least;
            least = better ? sum : least;
            found = (u16x16)(better ? (i32x8)(u16x16)*entry : (i32x8)found);
        }
        result = own ? (i32x8)found : result;
    }
    *(i32x8_anywhere *)chosen = result & 0xFFFF;
    return off;
}

/// The place of the nearest codes of eight weights, or four, for eight inverses of scales.
#define NEAREST_PLACE(f, place, steps, i)                                                               \
    i32x8 place = 0;                                                                                    \
    UNROLLED for (int i = (f).size - 1; i >= 0; i--) place = place * ((f).top + 1) + CODES_8(f, steps)

/// Searches the scale of a part and its entries. `edge` is what the largest code stands for at the plain scale,
/// which `scale` is.
TARGET CK_INLINE void NAME(search_part)(grid_form f, const grid_lists *lists, const magnitudes *m, float edge, float scale,
                                    grid_found *part) {
    const int count = 2 * f.steps + 1, groups = f.n / f.size;
    const float unit = (float)(2 * f.top + 1);
    _Alignas(32) float products[CANDIDATES], squares[CANDIDATES];
    _Alignas(32) uint32_t chosen[8][CANDIDATES];
    unsigned off[8] = {0};
    for (int c = 0; c < count; c += 8) {
        const f32x8 step = (float)(c - f.steps) + (f32x8){0, 1, 2, 3, 4, 5, 6, 7};
        const f32x8 inverse = (unit + step * f.delta) / edge, tried = 1 / inverse;
        for (int g = 0; g < groups; g++) {
            const float *x = m->x + f.size * g, *root = m->root + f.size * g;
            NEAREST_PLACE(f, place, inverse * x[i], i);
            off[g] |= NAME(find_best_neighbour)(f, lists, x, root, &tried, &place, count - c < 8 ? count - c : 8, chosen[g] + c) << c;
        }
    }
    for (int c = 0; c < count; c += 8) {
        f32x8 product = 0, square = 0;
        for (int g = 0; g < groups; g++) {
            i32x8 codes = *(i32x8 *)(chosen[g] + c);
            UNROLLED for (int i = 0; i < f.size; i++) {
                const float w = m->w[f.size * g + i], weighted = w * m->x[f.size * g + i];
                const f32x8 q = __builtin_convertvector((codes >> f.bits * i & f.top_bits) * 2 + 1, f32x8);
                product += weighted * q, square += w * q * q;
            }
        }
        EIGHT_AT(products + c) = product, EIGHT_AT(squares + c) = square;
    }
    float best = 0;
    int found = -1;
    for (int c = 0; c < count; c++)
        if (squares[c] > 0 && products[c] * products[c] > best * squares[c])
            scale = products[c] / squares[c], best = scale * products[c], found = c;
    uint32_t entries[8] = {0}, again = f.again == OFF_GRID ? 0 : ~0u;
    if (found >= 0) {
        again = 0;
        for (int g = 0; g < groups; g++) entries[g] = chosen[g][found], again |= (off[g] >> found & 1) << g;
        if (f.again == ALL || (f.again == ALL_IF_ANY && again)) again = ~0u;
    }
    if (again && scale > 0) {
        const f32x8 inverse = 1 / scale, own = scale;
        float product = 0, square = 0;
        for (int g = 0; g < groups; g++) {
            const float *x = m->x + f.size * g;
            uint32_t best[8];
            if (!(again >> g & 1)) continue;
            NEAREST_PLACE(f, place, inverse * x[i], i);
            (void)NAME(find_best_neighbour)(f, lists, x, m->root + f.size * g, &own, &place, 8, best);
            entries[g] = best[0];
        }
        for (int i = 0; i < f.n; i++) {
            const float w = m->w[i], q = (float)(2 * (int)CODES_FROM(f, entries[i / f.size], i % f.size, f.top_bits) + 1);
            product += w * m->x[i] * q, square += w * q * q;
        }
        if (square > 0) scale = product / square;
    }
    // Where all signs are wrong, they change.
    const int flip = scale < 0 ? 255 : 0;
    scale = scale < 0 ? -scale : scale;
    part->scale = scale >= 0 ? scale : __builtin_inff();
    for (int k = 0; k < f.n / 8; k++) part->signs[k] = (uint8_t)(m->signs[k] ^ flip);
    for (int g = 0; g < groups; g++) {
        int place = 0;
        for (int i = f.size - 1; i >= 0; i--) place = place * (f.top + 1) + (int)CODES_FROM(f, entries[g], i, f.top_bits);
        part->numbers[g] = lists->numbers[place];
    }
}

/// Finds the entries and scales of the parts of two blocks at most.
TARGET CK_INLINE void NAME(search_parts)(grid_form f, const grid_lists *lists, const float *x, const float *importance, const float *squares,
                                         int blocks, grid_found *parts) {
    magnitudes all[32];
    lanes b;
    const int count = QK_K / f.n;
    for (int j = 0; j < blocks * count; j++)
        NAME(read_magnitudes)(f, x + f.n * j, importance ? importance + f.n * j : 0, f.mean * squares[j / count] / QK_K, 0, all + j);
    if (f.is_searched) {
        const float *rows[16], *weights[16];
        for (int j = 0; j < 16; j++) {
            const magnitudes *own = all + (j < blocks * count ? j : 0);
            rows[j] = own->x, weights[j] = own->w;
        }
        NAME(gather)(rows, f.n, b.x), NAME(gather)(weights, f.n, b.w);
        NAME(make_qp_quants)(&b, f.n, f.top + 2, 0);
    }
    for (int j = 0; j < blocks * count; j++) {
        const magnitudes *own = all + j;
        const float edge = f.is_searched ? b.scale[j % 16] * (float)(f.top + 1) : own->most;
        parts[j] = (grid_found){0};
        if (own->most < f.least || edge <= 0) continue;
        NAME(search_part)(f, lists, own, edge, f.is_searched ? b.scale[j % 16] : edge / (float)(2 * f.top + 1), parts + j);
    }
}

#define ENCODE_GRID(NUMBER, type)                                                                                                         \
    TARGET static void NAME(quantize_row_##type)(const float *values, const float *importance, size_t blocks, block_##type *target) {     \
        const grid_form f = type##_form;                                                                                                  \
        const grid_lists *lists = ck_grid_lists(CK_GGML_##NUMBER);                                                                        \
        for (size_t from = 0; from < blocks; from += 2) {                                                                                 \
            grid_found parts[32];                                                                                                         \
            float squares[2];                                                                                                             \
            const size_t count = blocks - from < 2 ? 1 : 2;                                                                               \
            const float *x = values + from * QK_K;                                                                                        \
            sums_of_squares(x, QK_K, count, squares);                                                                                     \
            NAME(search_parts)(f, lists, x, importance ? importance + from * QK_K : 0, squares, (int)count, parts);                       \
            for (size_t own = 0; own < count; own++) {                                                                                    \
                block_##type *block = target + from + own;                                                                                \
                const grid_found *found = parts + own * (QK_K / (size_t)f.n);                                                             \
                int scales[16];                                                                                                           \
                const float d = common_scale(f, found, squares[own], scales);                                                             \
                block->d = narrow_f16(d * f.factor);                                                                                      \
                write_##type(found, scales, block);                                                                                       \
                if (d == 0 && f.is_even) __builtin_memset(block, 0, sizeof *block);                                                       \
            }                                                                                                                             \
        }                                                                                                                                 \
    }

ENCODE_GRID(IQ2_XXS, iq2_xxs)
ENCODE_GRID(IQ2_XS, iq2_xs)
ENCODE_GRID(IQ2_S, iq2_s)
ENCODE_GRID(IQ3_XXS, iq3_xxs)
ENCODE_GRID(IQ3_S, iq3_s)

#undef ENCODE_GRID
#undef POSITIONS
#undef CODES_8
#undef CODES_FROM
#undef NEAREST_PLACE
