// Searches for the least squared error in the types of ggml with grids; included by ggml_search_body.h.
//
// The error of an entry is a polynomial in the scale of its part, `square * scale^2 - 2 * product * scale`, whose sums do not depend on the
// scale. So every entry is tried for several scales of each part; then the block's scale becomes the solution of least squares, and again.

/// Adds the best of all entries for one group of weights, for the scales `first...last` of the part.
TARGET CK_INLINE void NAME(try_entries)(grid_form f, const grid_lists *lists, const float *x, const float *w, float d, int first, int last,
                                        int group, scale_trials *trials) {
    _Alignas(32) float products[1024], squares[1024];
    for (int from = 0; from < lists->count; from += 8) {
        f32x8 product = 0, square = 0;
        UNROLLED for (int i = 0; i < f.size; i++) {
            const u8x8_anywhere bytes = *(const u8x8_anywhere *)(lists->values + i * lists->count + from);
            const f32x8 value = __builtin_convertvector(bytes, f32x8), weighted = w[i] * value;
            product += weighted * x[i], square += weighted * value;
        }
        EIGHT_AT(products + from) = product, EIGHT_AT(squares + from) = square;
    }
    for (int s = first; s <= last; s++) {
        const float scale = d * f.unit * ((float)s + 0.5f), twice = 2 * scale, own = scale * scale;
        f32x8 least = __builtin_inff();
        i32x8 found = 0;
        for (int from = 0; from < lists->count; from += 8) {
            const f32x8 error = own * EIGHT_AT(squares + from) - twice * EIGHT_AT(products + from);
            const i32x8 better = error < least;
            least = better ? error : least, found = better ? (i32x8)from : found;
        }
        int entry = found[0];
        float error = least[0];
        for (int lane = 1; lane < 8; lane++)
            if (least[lane] < error) error = least[lane], entry = found[lane] + lane;
        trials->errors[s] += error, trials->products[s] += products[entry], trials->squares[s] += squares[entry];
        trials->entries[s][group] = (uint16_t)entry;
    }
}

/// Searches a block's scale, `*d`, with the numbers of its parts' scales and their entries. Returns whether it found any.
TARGET CK_INLINE int NAME(fit_parts)(grid_form f, const grid_lists *lists, const float *x, const float *importance, float *d,
                                     grid_found *parts, int *scales) {
    magnitudes all[16];
    const int count = QK_K / f.n;
    float least = __builtin_inff(), tried = *d;
    int centers[16];
    for (int j = 0; j < count; j++) NAME(read_magnitudes)(f, x + f.n * j, importance ? importance + f.n * j : 0, 0, 1, all + j);
    for (int pass = 0; pass < 4; pass++) {
        float error = 0, product = 0, square = 0;
        grid_found found[16];
        for (int j = 0; j < count; j++) {
            const int first = pass == 0 || centers[j] == 0 ? 0 : centers[j] - 1;
            const int last = pass == 0 || centers[j] == 15 ? 15 : centers[j] + 1;
            scale_trials trials;
            __builtin_memset(&trials, 0, sizeof trials);
            for (int g = 0; g < f.n / f.size; g++)
                NAME(try_entries)(f, lists, all[j].x + f.size * g, all[j].w + f.size * g, tried, first, last, g, &trials);
            int best = first;
            for (int s = first; s <= last; s++)
                if (trials.errors[s] < trials.errors[best]) best = s;
            const float multiple = f.unit * ((float)best + 0.5f);
            error += trials.errors[best], product += multiple * trials.products[best], square += multiple * multiple * trials.squares[best];
            centers[j] = best;
            __builtin_memcpy(found[j].numbers, trials.entries[best], sizeof found[j].numbers);
            __builtin_memcpy(found[j].signs, all[j].signs, sizeof found[j].signs);
        }
        if (error < least) {
            least = error, *d = tried;
            for (int j = 0; j < count; j++) parts[j] = found[j], scales[j] = centers[j];
        }
        const float next = widen_f16(narrow_f16(product / square));
        if (!(square > 0) || !(next > 0) || next == tried) break;
        tried = next;
    }
    return least < __builtin_inff();
}

#define FIT_GRID(NUMBER, type)                                                                                                     \
    TARGET static void NAME(fit_##type)(const float *values, const float *importance, size_t blocks, block_##type *target) {       \
        for (size_t own = 0; own < blocks; own++) {                                                                                \
            const float *x = values + own * QK_K, *w = importance ? importance + own * QK_K : 0;                                   \
            float d = widen_f16(target[own].d);                                                                                    \
            grid_found parts[16];                                                                                                  \
            int scales[16];                                                                                                        \
            if (!(d > 0) || !NAME(fit_parts)(type##_form, ck_grid_lists(CK_GGML_##NUMBER), x, w, &d, parts, scales)) continue;     \
            target[own].d = narrow_f16(d);                                                                                         \
            write_##type(parts, scales, target + own);                                                                             \
        }                                                                                                                          \
    }

FIT_GRID(IQ2_XXS, iq2_xxs)
FIT_GRID(IQ2_XS, iq2_xs)
FIT_GRID(IQ2_S, iq2_s)
FIT_GRID(IQ3_XXS, iq3_xxs)
FIT_GRID(IQ3_S, iq3_s)

/// Fits blocks that have ggml's bytes at first.
TARGET static void NAME(fit_grids)(ck_ggml_type type, const float *x, const float *importance, size_t blocks, uint8_t *target) {
    switch (type) {
    case CK_GGML_IQ2_XXS: NAME(fit_iq2_xxs)(x, importance, blocks, (block_iq2_xxs *)target); return;
    case CK_GGML_IQ2_XS: NAME(fit_iq2_xs)(x, importance, blocks, (block_iq2_xs *)target); return;
    case CK_GGML_IQ2_S: NAME(fit_iq2_s)(x, importance, blocks, (block_iq2_s *)target); return;
    case CK_GGML_IQ3_XXS: NAME(fit_iq3_xxs)(x, importance, blocks, (block_iq3_xxs *)target); return;
    default: NAME(fit_iq3_s)(x, importance, blocks, (block_iq3_s *)target);
    }
}

#undef FIT_GRID
#undef EIGHT_AT
