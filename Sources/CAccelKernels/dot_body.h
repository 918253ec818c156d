// Dot products of rows of weights with one vector, for one instruction set. Included once for each, with these defined:
//   NAME(x)   the function's name for this set      TARGET    its target attribute
//   LOOKUP(codes, table, even, odd)   the entries of 32 codes of 4 bits: those of low nibbles, those of high ones
//   TILE_ROWS, TILE_VECTORS           rows and vectors of a tile of `dot_many`, whose sums stay in registers
//
// A row's products are added in two vectors of 16 sums, for every set and independently of the other rows, so all sets
// give the same bits. The end of a row is padded with zeros to whole vectors.

typedef float NAME(floats) __attribute__((ext_vector_type(16), aligned(4)));
typedef int32_t NAME(ints) __attribute__((ext_vector_type(16), aligned(4)));
typedef int8_t NAME(bytes) __attribute__((ext_vector_type(16), aligned(1)));
typedef uint8_t NAME(unsigned_bytes) __attribute__((ext_vector_type(16), aligned(1)));
#define FLOATS NAME(floats)
#define FMA(a, b, c) __builtin_elementwise_fma(a, b, c)
#define AT(p) (*(const FLOATS *)(p))

TARGET CK_INLINE float NAME(sum)(const FLOATS *values) {
    float s[16];
    ck_copy(s, values, sizeof s);
    for (int step = 8; step; step /= 2)
        for (int lane = 0; lane < step; lane++) s[lane] += s[lane + step];
    return s[0];
}

/// Copies the end of a row, padded with zeros.
TARGET CK_INLINE void NAME(rest)(const void *source, size_t bytes, uint8_t *buffer, size_t size) {
    for (size_t i = 0; i < size; i++) buffer[i] = 0;
    ck_copy(buffer, source, bytes);
}

TARGET CK_INLINE void NAME(float_step)(const float *x, const float *w, FLOATS *even, FLOATS *odd) {
    *even = FMA(AT(w), AT(x), *even);
    *odd = FMA(AT(w + 16), AT(x + 16), *odd);
}

TARGET CK_INLINE void NAME(float_rows)(const float *x, const float *w, size_t stride, size_t count, float *target,
                                       const int rows) {
    FLOATS even[DOT_ROWS], odd[DOT_ROWS];
#pragma clang loop unroll(full)
    for (int r = 0; r < rows; r++) even[r] = 0, odd[r] = 0;
    size_t i = 0;
    for (; i + 32 <= count; i += 32) {
#pragma clang loop unroll(full)
        for (int r = 0; r < rows; r++) NAME(float_step)(x + i, w + (size_t)r * stride + i, &even[r], &odd[r]);
    }
    if (i < count) {
        float xs[32], ws[32];
        NAME(rest)(x + i, (count - i) * sizeof(float), (uint8_t *)xs, sizeof xs);
#pragma clang loop unroll(full)
        for (int r = 0; r < rows; r++) {
            NAME(rest)(w + (size_t)r * stride + i, (count - i) * sizeof(float), (uint8_t *)ws, sizeof ws);
            NAME(float_step)(xs, ws, &even[r], &odd[r]);
        }
    }
#pragma clang loop unroll(full)
    for (int r = 0; r < rows; r++) {
        FLOATS all = even[r] + odd[r];
        target[r] = NAME(sum)(&all);
    }
}

/// The products of some rows with some vectors: target[v * target_stride + r].
TARGET CK_INLINE void NAME(tile)(const float *x, size_t x_stride, const float *w, size_t stride, size_t count,
                                 float *target, size_t target_stride, const int rows, const int vectors) {
    FLOATS sums[TILE_ROWS][TILE_VECTORS];
#pragma clang loop unroll(full)
    for (int r = 0; r < rows; r++) {
#pragma clang loop unroll(full)
        for (int v = 0; v < vectors; v++) sums[r][v] = 0;
    }
    size_t i = 0;
    for (; i + 16 <= count; i += 16) {
        FLOATS ws[TILE_ROWS];
#pragma clang loop unroll(full)
        for (int r = 0; r < rows; r++) ws[r] = AT(w + (size_t)r * stride + i);
#pragma clang loop unroll(full)
        for (int v = 0; v < vectors; v++) {
            FLOATS xs = AT(x + (size_t)v * x_stride + i);
#pragma clang loop unroll(full)
            for (int r = 0; r < rows; r++) sums[r][v] = FMA(ws[r], xs, sums[r][v]);
        }
    }
    if (i < count) {
        float last[16];
        FLOATS ws[TILE_ROWS];
#pragma clang loop unroll(full)
        for (int r = 0; r < rows; r++) {
            NAME(rest)(w + (size_t)r * stride + i, (count - i) * sizeof(float), (uint8_t *)last, sizeof last);
            ws[r] = AT(last);
        }
#pragma clang loop unroll(full)
        for (int v = 0; v < vectors; v++) {
            NAME(rest)(x + (size_t)v * x_stride + i, (count - i) * sizeof(float), (uint8_t *)last, sizeof last);
#pragma clang loop unroll(full)
            for (int r = 0; r < rows; r++) sums[r][v] = FMA(ws[r], AT(last), sums[r][v]);
        }
    }
#pragma clang loop unroll(full)
    for (int v = 0; v < vectors; v++) {
#pragma clang loop unroll(full)
        for (int r = 0; r < rows; r++) target[(size_t)v * target_stride + (size_t)r] = NAME(sum)(&sums[r][v]);
    }
}

TARGET static void NAME(dot_many)(const float *x, size_t x_stride, size_t vectors, const float *w, size_t stride,
                                  size_t rows, size_t count, float *target, size_t target_stride) {
#define TILE(r, v) \
    NAME(tile)(x + vector * x_stride, x_stride, w + row * stride, stride, count, target + vector * target_stride + row, \
               target_stride, r, v)
    for (size_t row = 0; row < rows;) {
        const int isWhole = row + TILE_ROWS <= rows;
        size_t vector = 0;
        for (; vector + TILE_VECTORS <= vectors; vector += TILE_VECTORS)
            if (isWhole) TILE(TILE_ROWS, TILE_VECTORS); else TILE(1, TILE_VECTORS);
        for (; vector < vectors; vector++)
            if (isWhole) TILE(TILE_ROWS, 1); else TILE(1, 1);
        row += isWhole ? TILE_ROWS : 1;
    }
#undef TILE
}

TARGET CK_INLINE void NAME(int8_step)(const float *x, const int8_t *codes, float zero, FLOATS *even, FLOATS *odd) {
    FLOATS a = __builtin_convertvector(*(const NAME(bytes) *)codes, FLOATS);
    FLOATS b = __builtin_convertvector(*(const NAME(bytes) *)(codes + 16), FLOATS);
    *even = FMA(a - zero, AT(x), *even);
    *odd = FMA(b - zero, AT(x + 16), *odd);
}

TARGET CK_INLINE void NAME(int8_rows)(const float *x, const int8_t *codes, size_t stride, size_t count,
                                      const float *zeros, float *target, const int rows) {
    FLOATS even[DOT_ROWS], odd[DOT_ROWS];
#pragma clang loop unroll(full)
    for (int r = 0; r < rows; r++) even[r] = 0, odd[r] = 0;
    size_t i = 0;
    for (; i + 32 <= count; i += 32) {
#pragma clang loop unroll(full)
        for (int r = 0; r < rows; r++)
            NAME(int8_step)(x + i, codes + (size_t)r * stride + i, zeros[r], &even[r], &odd[r]);
    }
    if (i < count) {
        float xs[32];
        int8_t cs[32];
        NAME(rest)(x + i, (count - i) * sizeof(float), (uint8_t *)xs, sizeof xs);
#pragma clang loop unroll(full)
        for (int r = 0; r < rows; r++) {
            NAME(rest)(codes + (size_t)r * stride + i, count - i, (uint8_t *)cs, sizeof cs);
            NAME(int8_step)(xs, cs, zeros[r], &even[r], &odd[r]);
        }
    }
#pragma clang loop unroll(full)
    for (int r = 0; r < rows; r++) {
        FLOATS all = even[r] + odd[r];
        target[r] = NAME(sum)(&all);
    }
}

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
#define SCALE(r, next) (sharing == NAME(by_row) ? 1 : sharing == NAME(by_halves) ? scales[(size_t)r * blocks + i / 16 + next]                                                                                  : scales[(size_t)r * blocks + (i >> shift)])
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

/// Calls a function for up to DOT_ROWS rows at once, for all rows. (It is compiled for each number of rows.)
#define ALL_ROWS(CALL)                                   \
    size_t row = 0;                                      \
    for (; row + DOT_ROWS <= rows; row += DOT_ROWS) {    \
        CALL(DOT_ROWS);                                  \
    }                                                    \
    for (; row < rows; row++) {                          \
        CALL(1);                                         \
    }

TARGET static void NAME(dot)(const float *x, const float *w, size_t stride, size_t rows, size_t count, float *target) {
#define CALL(n) NAME(float_rows)(x, w + row * stride, stride, count, target + row, n)
    ALL_ROWS(CALL)
#undef CALL
}

TARGET static void NAME(dot_int8)(const float *x, const int8_t *codes, size_t stride, size_t rows, size_t count,
                                  const float *zeros, float *target) {
#define CALL(n) NAME(int8_rows)(x, codes + row * stride, stride, count, zeros + row, target + row, n)
    ALL_ROWS(CALL)
#undef CALL
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

TARGET static void NAME(dot_codes4)(const float *x, const uint8_t *codes, size_t stride, size_t rows, size_t count,
                                    const float *table, const float *scales, size_t blocks, size_t block,
                                    float *target) {
    const NAME(nibbles) values = {table, 0, 0};
    int shift = 0;
    while ((size_t)32 << shift < block) shift++;
#define CALL_AS(n, sharing)                                                                                        \
    NAME(codes4_rows)(x, codes + row * stride, stride, count, &values, scales + row * blocks, blocks, shift,       \
                      target + row, n, sharing, 0)
    ALL_SHARINGS(CALL_AS)
#undef CALL_AS
}

TARGET static void NAME(dot_nibbles)(const float *x, const uint8_t *codes, size_t stride, size_t rows, size_t count,
                                     int flip, float zero, const float *scales, size_t blocks, size_t block,
                                     float *target) {
    const NAME(nibbles) values = {0, flip << 4 | flip, zero};
    int shift = 0;
    while ((size_t)32 << shift < block) shift++;
#define CALL_AS(n, sharing)                                                                                        \
    NAME(codes4_rows)(x, codes + row * stride, stride, count, &values, scales + row * blocks, blocks, shift,       \
                      target + row, n, sharing, 1)
    ALL_SHARINGS(CALL_AS)
#undef CALL_AS
}

TARGET static void NAME(dot_bytes)(const float *x, const uint8_t *codes, size_t stride, size_t rows, size_t count,
                                   float zero, const float *scales, size_t blocks, size_t block, float *target) {
    int shift = 5;
    while ((size_t)1 << shift < block) shift++;
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

/// Sums of up to 64 columns stay in registers while all rows are added.
TARGET static void NAME(weighted_sum)(const float *weights, const float *rows, size_t stride, size_t count,
                                      size_t columns, float *target) {
    size_t column = 0;
    for (; column + 64 <= columns; column += 64) {
        FLOATS a = 0, b = 0, c = 0, d = 0;
        for (size_t row = 0; row < count; row++) {
            float weight = weights[row];
            if (weight == 0) continue;
            const float *from = rows + row * stride + column;
            a = FMA(AT(from), (FLOATS)weight, a);
            b = FMA(AT(from + 16), (FLOATS)weight, b);
            c = FMA(AT(from + 32), (FLOATS)weight, c);
            d = FMA(AT(from + 48), (FLOATS)weight, d);
        }
        ck_copy(target + column, &a, sizeof a);
        ck_copy(target + column + 16, &b, sizeof a);
        ck_copy(target + column + 32, &c, sizeof a);
        ck_copy(target + column + 48, &d, sizeof a);
    }
    for (; column < columns; column++) {
        float sum = 0;
        for (size_t row = 0; row < count; row++)
            if (weights[row] != 0) sum = __builtin_fmaf(rows[row * stride + column], weights[row], sum);
        target[column] = sum;
    }
}

#undef ALL_ROWS
#undef FLOATS
#undef FMA
#undef AT
#undef NAME
#undef TARGET
#undef LOOKUP
#undef TILE_ROWS
#undef TILE_VECTORS
