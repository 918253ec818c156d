// Dot products of rows of codes with one vector: codes of four bits and of one byte, whose blocks share scales. Included
// by dot_body.h, for one instruction set.

/// The sharing of scales: one per row or none, or one for each 16, 32 or 64 columns, or for more.
enum NAME(sharing) { NAME(by_row), NAME(by_16), NAME(by_32), NAME(by_64), NAME(by_more) };

typedef float NAME(two) __attribute__((ext_vector_type(2), aligned(4)));
typedef float NAME(four) __attribute__((ext_vector_type(4), aligned(4)));
typedef float NAME(eight) __attribute__((ext_vector_type(8), aligned(4)));

// ---- codes of four bits ----------------------------------------------------------------------------------------
// A group is 128 codes: 16 words, whose lane j has the codes 8 * j to 8 * j + 7, the first in its lowest bits. The vector is
// interleaved alike (`ck_interleave`), so that a shift of all words brings up 16 codes for 16 elements that follow each other.

/// Rows of codes of four bits, and what stands for a code: an entry of a table, or the code itself, `(code ^ flip) - zero`.
typedef struct {
    const float *table;
    /// The flip of all codes of a word.
    uint32_t flips;
    float zero;
    /// The end of the last row; nothing from there on is read.
    const uint8_t *end;
    /// The bits of the codes in the last group of a row, if it has fewer than 128.
    NAME(words) last;
} NAME(nibbles);

/// The bits of the first `left` codes of a group.
TARGET CK_INLINE void NAME(bits_of_codes)(size_t left, NAME(words) *bits) {
    for (size_t lane = 0; lane < 16; lane++) {
        const size_t codes = left < 8 * lane ? 0 : left - 8 * lane;
        (*bits)[lane] = codes < 8 ? (1u << 4 * codes) - 1 : ~0u;
    }
}

/// The sums of a group's products, by lanes. `shift` is the sum of the zeros' products; `words` are flipped codes.
TARGET CK_INLINE void NAME(codes4_products)(const float *x, const NAME(words) *codes, const NAME(nibbles) *values,
                                            const FLOATS *shift, FLOATS *products, const int is_linear) {
    const NAME(words) words = *codes;
    FLOATS even = *shift, odd = 0;
#pragma clang loop unroll(full)
    for (int code = 0; code < 8; code += 2) {
        const NAME(words) lower = words >> (4 * code), upper = words >> (4 * code + 4);
        FLOATS a, b;
        if (is_linear && !LINEAR_BY_TABLE) {
            a = __builtin_convertvector((NAME(ints))(lower & 15), FLOATS);
            b = __builtin_convertvector((NAME(ints))(upper & 15), FLOATS);
        } else {
            ENTRIES(lower, values->table, a);
            ENTRIES(upper, values->table, b);
        }
        even = FMA(a, AT(x + 16 * code), even);
        odd = FMA(b, AT(x + 16 * code + 16), odd);
    }
    *products = even + odd;
}

/// The scale of each lane of a group.
TARGET CK_INLINE void NAME(codes4_scale)(const float *scales, FLOATS *target, const enum NAME(sharing) sharing) {
    if (sharing == NAME(by_16)) {
        const NAME(eight) s = *(const NAME(eight) *)scales;
        *target = __builtin_shufflevector(s, s, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7);
    } else if (sharing == NAME(by_32)) {
        const NAME(four) s = *(const NAME(four) *)scales;
        *target = __builtin_shufflevector(s, s, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3);
    } else if (sharing == NAME(by_64)) {
        const NAME(two) s = *(const NAME(two) *)scales;
        *target = __builtin_shufflevector(s, s, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1);
    } else {
        *target = scales[0];
    }
}

/// Adds one group (the last one of a row may have fewer codes), for all rows.
TARGET CK_INLINE void NAME(codes4_group)(const float *x, const uint8_t *codes, size_t stride, size_t group, size_t left,
                                         const NAME(nibbles) *values, const float *scales, size_t blocks, int shift,
                                         FLOATS *sums, const int rows, const enum NAME(sharing) sharing,
                                         const int is_linear, const int is_short) {
    const size_t each = sharing == NAME(by_16) ? 8 : sharing == NAME(by_32) ? 4 : sharing == NAME(by_64) ? 2 : 1;
    const size_t at = sharing == NAME(by_more) ? group >> shift : group * each;
    x += group * 128;
    FLOATS zeros = 0;
    if (is_linear) {
#pragma clang loop unroll(full)
        for (int i = 0; i < 128; i += 16) zeros += AT(x + i);
        zeros *= -values->zero;
    }
#pragma clang loop unroll(full)
    for (int r = 0; r < rows; r++) {
        const uint8_t *own = codes + (size_t)r * stride + group * 64;
        // There may be none.
        const float *scale = sharing == NAME(by_row) ? scales : scales + (size_t)r * blocks + at;
        float last_scales[8] = {0};
        NAME(words) words;
        if (is_short) {
            // What follows are codes of another row, where there is one.
            if ((size_t)(values->end - own) >= sizeof words)
                words = *(const NAME(words) *)own & values->last;
            else
                NAME(rest)(own, (left + 1) / 2, (uint8_t *)&words, sizeof words);
            for (size_t i = 0; sharing != NAME(by_row) && i < each && at + i < blocks; i++) last_scales[i] = scale[i];
        } else {
            words = *(const NAME(words) *)own;
            prefetch_rows(own);
        }
        words ^= values->flips;
        FLOATS products, each_scale;
        NAME(codes4_products)(x, &words, values, &zeros, &products, is_linear);
        if (sharing == NAME(by_row)) {
            sums[r] += products;
        } else {
            NAME(codes4_scale)(is_short ? last_scales : scale, &each_scale, sharing);
            sums[r] = FMA(products, each_scale, sums[r]);
        }
    }
}

TARGET CK_INLINE void NAME(codes4_rows)(const float *x, const uint8_t *codes, size_t stride, size_t count,
                                        const NAME(nibbles) *values, const float *scales, size_t blocks, int shift,
                                        float *target, const int rows, const enum NAME(sharing) sharing,
                                        const int is_linear) {
    FLOATS sums[DOT_ROWS];
#pragma clang loop unroll(full)
    for (int r = 0; r < rows; r++) sums[r] = 0;
    size_t group = 0;
    for (; group < count / 128; group++)
        NAME(codes4_group)(x, codes, stride, group, 128, values, scales, blocks, shift, sums, rows, sharing, is_linear, 0);
    if (group * 128 < count)
        NAME(codes4_group)(x, codes, stride, group, count - group * 128, values, scales, blocks, shift, sums, rows,
                           sharing, is_linear, 1);
#pragma clang loop unroll(full)
    for (int r = 0; r < rows; r++) target[r] = NAME(sum)(&sums[r]);
}

/// Those of a row, where there are some.
#define SCALES (scales ? scales + row * blocks : scales)

TARGET CK_INLINE void NAME(codes4)(const float *x, const uint8_t *codes, size_t stride, size_t rows, size_t count,
                                   NAME(nibbles) *values, const float *scales, size_t blocks, size_t block,
                                   float *target, const int is_linear) {
    const int shift = block_shift(block, 128);
    if (rows) values->end = codes + (rows - 1) * stride + (count + 1) / 2;
    NAME(bits_of_codes)(count % 128, &values->last);
#define CALL(n, sharing)                                                                                           \
    NAME(codes4_rows)(x, codes + row * stride, stride, count, values, SCALES, blocks, shift,                       \
                      target + row, n, sharing, is_linear)
    if (blocks <= 1) {
        ALL_ROWS(CALL, NAME(by_row))
        for (size_t row = 0; blocks && row < rows; row++) target[row] *= scales[row];
    } else if (block == 16) {
        ALL_ROWS(CALL, NAME(by_16))
    } else if (block == 32) {
        ALL_ROWS(CALL, NAME(by_32))
    } else if (block == 64) {
        ALL_ROWS(CALL, NAME(by_64))
    } else {
        ALL_ROWS(CALL, NAME(by_more))
    }
#undef CALL
}

TARGET static void NAME(dot_codes4)(const float *x, const uint8_t *codes, size_t stride, size_t rows, size_t count,
                                    const float *table, const float *scales, size_t blocks, size_t block,
                                    float *target) {
    NAME(nibbles) values = {.table = table};
    NAME(codes4)(x, codes, stride, rows, count, &values, scales, blocks, block, target, 0);
}

TARGET static void NAME(dot_nibbles)(const float *x, const uint8_t *codes, size_t stride, size_t rows, size_t count,
                                     int flip, float zero, const float *scales, size_t blocks, size_t block,
                                     float *target) {
    static const float numbers[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    NAME(nibbles) values = {.table = numbers, .flips = (uint32_t)flip * 0x11111111u, .zero = zero};
    NAME(codes4)(x, codes, stride, rows, count, &values, scales, blocks, block, target, 1);
}

// ---- codes of one byte -----------------------------------------------------------------------------------------

/// Adds 32 columns of codes of one byte; `low` is the scale of the first 16, `high` of the others, and
/// `shifts` are the zeros' products.
TARGET CK_INLINE void NAME(bytes_step)(const float *x, const uint8_t *codes, const FLOATS *shifts, float low, float high,
                                       FLOATS *first, FLOATS *second, const enum NAME(sharing) sharing) {
    FLOATS a = __builtin_convertvector(*(const NAME(unsigned_bytes) *)codes, FLOATS);
    FLOATS b = __builtin_convertvector(*(const NAME(unsigned_bytes) *)(codes + 16), FLOATS);
    a = FMA(a, AT(x), shifts[0]), b = FMA(b, AT(x + 16), shifts[1]);
    if (sharing == NAME(by_row)) {
        *first += a, *second += b;
    } else {
        *first = FMA(a, (FLOATS)low, *first);
        *second = FMA(b, (FLOATS)(sharing == NAME(by_more) ? low : high), *second);
    }
}

TARGET CK_INLINE void NAME(bytes_rows)(const float *x, const uint8_t *codes, size_t stride, size_t count, float zero,
                                       const float *scales, size_t blocks, int shift, float *target, const int rows,
                                       const enum NAME(sharing) sharing) {
    FLOATS first[DOT_ROWS], second[DOT_ROWS];
#pragma clang loop unroll(full)
    for (int r = 0; r < rows; r++) first[r] = 0, second[r] = 0;
    size_t i = 0;
#define SCALE(r, next)                                                                                             \
    (sharing == NAME(by_row) ? 1                                                                                   \
                             : scales[(size_t)r * blocks + (sharing == NAME(by_16) ? i / 16 + next : i / 32 >> shift)])
    for (; i + 32 <= count; i += 32) {
        const FLOATS shifts[2] = {AT(x + i) * -zero, AT(x + i + 16) * -zero};
#pragma clang loop unroll(full)
        for (int r = 0; r < rows; r++) {
            const uint8_t *own = codes + (size_t)r * stride + i;
            prefetch_rows(own);
            NAME(bytes_step)(x + i, own, shifts, SCALE(r, 0), SCALE(r, 1), &first[r], &second[r], sharing);
        }
    }
    if (i < count) {
        float xs[32];
        uint8_t cs[32];
        NAME(rest)(x + i, (count - i) * sizeof(float), (uint8_t *)xs, sizeof xs);
        // The second block of a last group of 16 columns or fewer does not exist.
        const size_t next = count - i > 16;
        const FLOATS shifts[2] = {AT(xs) * -zero, AT(xs + 16) * -zero};
#pragma clang loop unroll(full)
        for (int r = 0; r < rows; r++) {
            NAME(rest)(codes + (size_t)r * stride + i, count - i, cs, sizeof cs);
            NAME(bytes_step)(xs, cs, shifts, SCALE(r, 0), SCALE(r, next), &first[r], &second[r], sharing);
        }
    }
#undef SCALE
#pragma clang loop unroll(full)
    for (int r = 0; r < rows; r++) {
        FLOATS all = first[r] + second[r];
        target[r] = NAME(sum)(&all);
    }
}

TARGET static void NAME(dot_bytes)(const float *x, const uint8_t *codes, size_t stride, size_t rows, size_t count,
                                   float zero, const float *scales, size_t blocks, size_t block, float *target) {
    const int shift = block_shift(block, 32);
#define CALL(n, sharing)                                                                                               \
    NAME(bytes_rows)(x, codes + row * stride, stride, count, zero, SCALES, blocks, shift, target + row,                \
                     n, sharing)
    if (blocks <= 1) {
        ALL_ROWS(CALL, NAME(by_row))
        for (size_t row = 0; blocks && row < rows; row++) target[row] *= scales[row];
    } else if (block == 16) {
        ALL_ROWS(CALL, NAME(by_16))
    } else {
        ALL_ROWS(CALL, NAME(by_more))
    }
#undef CALL
}

#undef SCALES
