// Dot products of rows of codes with one vector: codes of four bits and of one byte, whose blocks share scales. Included
// by dot_body.h, for one instruction set.

/// The sharing of scales: one per row or none, one per 32 columns or more, one per 16.
enum NAME(sharing) { NAME(by_row), NAME(by_groups), NAME(by_halves) };

/// What stands for codes of four bits: the entries of a table, or the codes themselves, `(code ^ flip) - zero`. Both codes
/// of a byte are flipped at once.
typedef struct {
    const float *table;
    int flips;
    float zero;
} NAME(nibbles);

/// Adds 32 columns; `low` is the scale of the first 16, `high` of the others. `shift` is the sum of the zeros' products.
TARGET CK_INLINE void NAME(codes4_step)(const float *x, const uint8_t *codes, const NAME(nibbles) *values,
                                        const FLOATS *shift, float low, float high, FLOATS *first, FLOATS *second,
                                        const enum NAME(sharing) sharing, const int is_linear) {
    FLOATS even, odd, part;
    if (is_linear) {
        NAME(ints) both = __builtin_convertvector(*(const NAME(unsigned_bytes) *)codes, NAME(ints)) ^ values->flips;
        even = __builtin_convertvector(both & 15, FLOATS);
        odd = __builtin_convertvector(both >> 4, FLOATS);
        part = FMA(even, AT(x), FMA(odd, AT(x + 16), *shift));
    } else {
        LOOKUP(codes, values->table, even, odd);
        if (sharing == NAME(by_row)) {
            *first = FMA(even, AT(x), *first);
            *second = FMA(odd, AT(x + 16), *second);
            return;
        }
        part = FMA(odd, AT(x + 16), even * AT(x));
    }
    FLOATS scale = low;
    if (sharing == NAME(by_row)) {
        *first += part;
        return;
    }
    if (sharing == NAME(by_halves))
        scale = (FLOATS){low, low, low, low, low, low, low, low, high, high, high, high, high, high, high, high};
    *first = FMA(part, scale, *first);
}

/// Adds one group of 32 columns (the last one of a row may have fewer), for all rows.
TARGET CK_INLINE void NAME(codes4_group)(const float *x, const uint8_t *codes, size_t stride, size_t group, size_t left,
                                         const NAME(nibbles) *values, const float *scales, size_t blocks, int shift,
                                         FLOATS *first, FLOATS *second, const int rows,
                                         const enum NAME(sharing) sharing, const int is_linear, const int is_short) {
    size_t at = sharing == NAME(by_halves) ? 2 * group : group >> shift;
    // The second block of a last group of 16 columns or fewer does not exist.
    size_t next = sharing == NAME(by_halves) && (!is_short || left > 16);
    FLOATS zeros = is_linear ? (AT(x + group * 32) + AT(x + group * 32 + 16)) * -values->zero : (FLOATS)0;
#pragma clang loop unroll(full)
    for (int r = 0; r < rows; r++) {
        const uint8_t *own = codes + (size_t)r * stride + group * 16;
        uint8_t last[16];
        if (is_short) NAME(rest)(own, (left + 1) / 2, last, sizeof last);
        const float *scale = scales + (size_t)r * blocks + at;
        NAME(codes4_step)(x + group * 32, is_short ? last : own, values, &zeros,
                          sharing == NAME(by_row) ? 1 : scale[0], sharing == NAME(by_row) ? 1 : scale[next], &first[r],
                          &second[r], sharing, is_linear);
    }
}

TARGET CK_INLINE void NAME(codes4_rows)(const float *x, const uint8_t *codes, size_t stride, size_t count,
                                        const NAME(nibbles) *values, const float *scales, size_t blocks, int shift,
                                        float *target, const int rows, const enum NAME(sharing) sharing,
                                        const int is_linear) {
    FLOATS first[DOT_ROWS], second[DOT_ROWS];
#pragma clang loop unroll(full)
    for (int r = 0; r < rows; r++) first[r] = 0, second[r] = 0;
    size_t group = 0;
    for (; group < count / 32; group++)
        NAME(codes4_group)(x, codes, stride, group, 32, values, scales, blocks, shift, first, second, rows, sharing,
                           is_linear, 0);
    if (group * 32 < count)
        NAME(codes4_group)(x, codes, stride, group, count - group * 32, values, scales, blocks, shift, first, second,
                           rows, sharing, is_linear, 1);
#pragma clang loop unroll(full)
    for (int r = 0; r < rows; r++) {
        FLOATS all = first[r] + second[r];
        target[r] = NAME(sum)(&all);
    }
}

/// Adds 32 columns of codes of one byte; the scales are those of `codes4_step`, and `shifts` the zeros' products.
TARGET CK_INLINE void NAME(bytes_step)(const float *x, const uint8_t *codes, const FLOATS *shifts, float low, float high,
                                       FLOATS *first, FLOATS *second, const enum NAME(sharing) sharing) {
    FLOATS a = __builtin_convertvector(*(const NAME(unsigned_bytes) *)codes, FLOATS);
    FLOATS b = __builtin_convertvector(*(const NAME(unsigned_bytes) *)(codes + 16), FLOATS);
    a = FMA(a, AT(x), shifts[0]), b = FMA(b, AT(x + 16), shifts[1]);
    if (sharing == NAME(by_row)) {
        *first += a, *second += b;
    } else {
        *first = FMA(a, (FLOATS)low, *first);
        *second = FMA(b, (FLOATS)(sharing == NAME(by_groups) ? low : high), *second);
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
                             : scales[(size_t)r * blocks + (sharing == NAME(by_halves) ? i / 16 + next : i / 32 >> shift)])
    for (; i + 32 <= count; i += 32) {
        const FLOATS shifts[2] = {AT(x + i) * -zero, AT(x + i + 16) * -zero};
#pragma clang loop unroll(full)
        for (int r = 0; r < rows; r++)
            NAME(bytes_step)(x + i, codes + (size_t)r * stride + i, shifts, SCALE(r, 0), SCALE(r, 1), &first[r],
                             &second[r], sharing);
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

/// Calls a function for all rows, compiled for the number of rows and for the sharing of scales. Scales of whole rows come
/// last.
#define ALL_SHARINGS(CALL_AS)                                                                                      \
    if (blocks <= 1) {                                                                                             \
        ALL_ROWS(CALL_BY_ROW)                                                                                      \
        for (row = 0; blocks && row < rows; row++) target[row] *= scales[row];                                     \
    } else if (block == 16) {                                                                                      \
        ALL_ROWS(CALL_BY_HALVES)                                                                                   \
    } else {                                                                                                       \
        ALL_ROWS(CALL_BY_GROUPS)                                                                                   \
    }
#define CALL_BY_ROW(n) CALL_AS(n, NAME(by_row))
#define CALL_BY_HALVES(n) CALL_AS(n, NAME(by_halves))
#define CALL_BY_GROUPS(n) CALL_AS(n, NAME(by_groups))

TARGET CK_INLINE void NAME(codes4)(const float *x, const uint8_t *codes, size_t stride, size_t rows, size_t count,
                                   const NAME(nibbles) *values, const float *scales, size_t blocks, size_t block,
                                   float *target, const int is_linear) {
    const int shift = block_shift(block);
#define CALL_AS(n, sharing)                                                                                        \
    NAME(codes4_rows)(x, codes + row * stride, stride, count, values, scales + row * blocks, blocks, shift,        \
                      target + row, n, sharing, is_linear)
    ALL_SHARINGS(CALL_AS)
#undef CALL_AS
}

TARGET static void NAME(dot_codes4)(const float *x, const uint8_t *codes, size_t stride, size_t rows, size_t count,
                                    const float *table, const float *scales, size_t blocks, size_t block,
                                    float *target) {
    const NAME(nibbles) values = {table, 0, 0};
    NAME(codes4)(x, codes, stride, rows, count, &values, scales, blocks, block, target, 0);
}

TARGET static void NAME(dot_nibbles)(const float *x, const uint8_t *codes, size_t stride, size_t rows, size_t count,
                                     int flip, float zero, const float *scales, size_t blocks, size_t block,
                                     float *target) {
    const NAME(nibbles) values = {0, flip << 4 | flip, zero};
    NAME(codes4)(x, codes, stride, rows, count, &values, scales, blocks, block, target, 1);
}

TARGET static void NAME(dot_bytes)(const float *x, const uint8_t *codes, size_t stride, size_t rows, size_t count,
                                   float zero, const float *scales, size_t blocks, size_t block, float *target) {
    const int shift = block_shift(block);
#define CALL_AS(n, sharing)                                                                                        \
    NAME(bytes_rows)(x, codes + row * stride, stride, count, zero, scales + row * blocks, blocks, shift, target + row, \
                     n, sharing)
    ALL_SHARINGS(CALL_AS)
#undef CALL_AS
}

#undef ALL_SHARINGS
#undef CALL_BY_ROW
#undef CALL_BY_HALVES
#undef CALL_BY_GROUPS
