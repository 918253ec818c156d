// Dot products of rows of weights with one vector, for one instruction set. Included once for each, with these defined:
//   NAME(x)   the function's name for this set      TARGET    its target attribute
//   LOOKUP(codes, table, even, odd)   the entries of 32 codes of 4 bits: those of low nibbles, those of high ones
//
// A row's products are added in two vectors of 16 sums, for every set and independently of the other rows, so all sets
// give the same bits. The end of a row is padded with zeros to whole vectors.

typedef float NAME(floats) __attribute__((ext_vector_type(16), aligned(4)));
typedef int32_t NAME(ints) __attribute__((ext_vector_type(16), aligned(4)));
typedef int8_t NAME(bytes) __attribute__((ext_vector_type(16), aligned(1)));
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

/// Adds 32 columns; `low` is the scale of the first 16, `high` of the others.
TARGET CK_INLINE void NAME(codes4_step)(const float *x, const uint8_t *codes, const float *table, float low, float high,
                                        FLOATS *first, FLOATS *second, const enum NAME(sharing) sharing) {
    FLOATS even, odd;
    LOOKUP(codes, table, even, odd);
    if (sharing == NAME(by_row)) {
        *first = FMA(even, AT(x), *first);
        *second = FMA(odd, AT(x + 16), *second);
        return;
    }
    FLOATS part = FMA(odd, AT(x + 16), even * AT(x));
    FLOATS scale = low;
    if (sharing == NAME(by_halves))
        scale = (FLOATS){low, low, low, low, low, low, low, low, high, high, high, high, high, high, high, high};
    *first = FMA(part, scale, *first);
}

/// Adds one group of 32 columns (the last one of a row may have fewer), for all rows.
TARGET CK_INLINE void NAME(codes4_group)(const float *x, const uint8_t *codes, size_t stride, size_t group, size_t left,
                                         const float *table, const float *scales, size_t blocks, int shift,
                                         FLOATS *first, FLOATS *second, const int rows,
                                         const enum NAME(sharing) sharing, const int is_short) {
    size_t at = sharing == NAME(by_halves) ? 2 * group : group >> shift;
    // The second block of a last group of 16 columns or fewer does not exist.
    size_t next = sharing == NAME(by_halves) && (!is_short || left > 16);
#pragma clang loop unroll(full)
    for (int r = 0; r < rows; r++) {
        const uint8_t *own = codes + (size_t)r * stride + group * 16;
        uint8_t last[16];
        if (is_short) NAME(rest)(own, (left + 1) / 2, last, sizeof last);
        const float *scale = scales + (size_t)r * blocks + at;
        NAME(codes4_step)(x + group * 32, is_short ? last : own, table, sharing == NAME(by_row) ? 1 : scale[0],
                          sharing == NAME(by_row) ? 1 : scale[next], &first[r], &second[r], sharing);
    }
}

TARGET CK_INLINE void NAME(codes4_rows)(const float *x, const uint8_t *codes, size_t stride, size_t count,
                                        const float *table, const float *scales, size_t blocks, int shift,
                                        float *target, const int rows, const enum NAME(sharing) sharing) {
    FLOATS first[DOT_ROWS], second[DOT_ROWS];
#pragma clang loop unroll(full)
    for (int r = 0; r < rows; r++) first[r] = 0, second[r] = 0;
    size_t group = 0;
    for (; group < count / 32; group++)
        NAME(codes4_group)(x, codes, stride, group, 32, table, scales, blocks, shift, first, second, rows, sharing, 0);
    if (group * 32 < count)
        NAME(codes4_group)(x, codes, stride, group, count - group * 32, table, scales, blocks, shift, first, second,
                           rows, sharing, 1);
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

TARGET static void NAME(dot_codes4)(const float *x, const uint8_t *codes, size_t stride, size_t rows, size_t count,
                                    const float *table, const float *scales, size_t blocks, size_t block,
                                    float *target) {
    int shift = 0;
    while ((size_t)32 << shift < block) shift++;
#define CALL_AS(n, sharing)                                                                                        \
    NAME(codes4_rows)(x, codes + row * stride, stride, count, table, scales + row * blocks, blocks, shift, target + row, \
                      n, sharing)
    if (blocks <= 1) {
#define CALL(n) CALL_AS(n, NAME(by_row))
        ALL_ROWS(CALL)
#undef CALL
        if (blocks)
            for (row = 0; row < rows; row++) target[row] *= scales[row];
    } else if (block == 16) {
#define CALL(n) CALL_AS(n, NAME(by_halves))
        ALL_ROWS(CALL)
#undef CALL
    } else {
#define CALL(n) CALL_AS(n, NAME(by_groups))
        ALL_ROWS(CALL)
#undef CALL
    }
#undef CALL_AS
}

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
