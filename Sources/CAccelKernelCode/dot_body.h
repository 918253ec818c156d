// Dot products of rows of weights with one vector, for one instruction set. Included once for each, with NAME(x), TARGET and SET_BYTES
// defined, and with these functions for the set:
//   planes(table, buffer)                      a table of 16 entries in the order in which `add_entries` reads it
//   add_entries(x, words, table, even, odd)    of 16 words of 8 codes, adds the products of the entries of code c of all words
//                                              and of x[16 * c ..< 16 * (c + 1)] to 16 sums, of even or of odd codes
//   widen(from, count, target)                 1, 2, 4, 8 or 16 numbers of float16, which may be unaligned, as float32
//
// A row's products are added in two vectors of 16 sums, for every set and independently of the other rows, so all sets
// give the same bits. The end of a row is padded with zeros to whole vectors.

#include "sums_body.h"

// Rows and vectors of a tile of `dot_many`, whose sums stay in registers.
#define TILE_ROWS (SET_BYTES == 64 ? 4 : 2)
#define TILE_VECTORS (SET_BYTES == 64 ? 4 : 3)

typedef float NAME(two) __attribute__((ext_vector_type(2), aligned(4)));
typedef int32_t NAME(ints) __attribute__((ext_vector_type(16), aligned(4)));
typedef uint32_t NAME(words) __attribute__((ext_vector_type(16), aligned(1)));
typedef uint16_t NAME(shorts) __attribute__((ext_vector_type(16), aligned(1)));
typedef int8_t NAME(bytes) __attribute__((ext_vector_type(16), aligned(1)));
typedef uint8_t NAME(unsigned_bytes) __attribute__((ext_vector_type(16), aligned(1)));
typedef int8_t NAME(eight_bytes) __attribute__((ext_vector_type(8), aligned(1)));

TARGET CK_INLINE void NAME(float_step)(const float *x, const float *w, FLOATS *even, FLOATS *odd) {
    *even = FMA(AT(w), AT(x), *even);
    *odd = FMA(AT(w + 16), AT(x + 16), *odd);
}

/// - Parameter rows: 4 or 1.
TARGET CK_INLINE void NAME(float_rows)(const float *x, const float *w, size_t stride, size_t count, float *target,
                                       const int rows) {
    FLOATS even[4], odd[4];
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
    for (int r = 0; r < rows; r++) even[r] += odd[r];
    if (rows == 4) NAME(sums_of_4)(even, target);
    else target[0] = NAME(sum)(even);
}

/// Sixteen numbers of two bytes as float32.
TARGET CK_INLINE void NAME(wide)(const uint16_t *halves, FLOATS *target, const int is_bfloat) {
    if (is_bfloat) *target = (FLOATS)(__builtin_convertvector(*(const NAME(shorts) *)halves, NAME(words)) << 16);
    else NAME(widen)((const uint8_t *)halves, 16, (float *)target);
}

TARGET CK_INLINE void NAME(half_step)(const float *x, const uint16_t *w, FLOATS *even, FLOATS *odd, const int is_bfloat) {
    FLOATS a, b;
    NAME(wide)(w, &a, is_bfloat);
    NAME(wide)(w + 16, &b, is_bfloat);
    *even = FMA(a, AT(x), *even);
    *odd = FMA(b, AT(x + 16), *odd);
}

TARGET CK_INLINE void NAME(half_row)(const float *x, const uint16_t *w, size_t count, FLOATS *lanes, const int is_bfloat) {
    FLOATS even = 0, odd = 0;
    size_t i = 0;
    for (; i + 32 <= count; i += 32) {
        prefetch_codes(w + i);
        NAME(half_step)(x + i, w + i, &even, &odd, is_bfloat);
    }
    if (i < count) {
        float xs[32];
        uint16_t ws[32];
        NAME(rest)(x + i, (count - i) * sizeof(float), (uint8_t *)xs, sizeof xs);
        NAME(rest)(w + i, (count - i) * sizeof(uint16_t), (uint8_t *)ws, sizeof ws);
        NAME(half_step)(xs, ws, &even, &odd, is_bfloat);
    }
    *lanes = even + odd;
}

TARGET static void NAME(dot_halves)(const float *x, const uint16_t *w, ck_type type, size_t stride, size_t rows,
                                    size_t count, float *target) {
#define HALVES(row, lanes) NAME(half_row)(x, w + (row) * stride, count, lanes, 0)
#define BFLOATS(row, lanes) NAME(half_row)(x, w + (row) * stride, count, lanes, 1)
    if (type == CK_BF16) SUM_ROWS(BFLOATS)
    else SUM_ROWS(HALVES)
#undef HALVES
#undef BFLOATS
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

TARGET CK_INLINE void NAME(int8_row)(const float *x, const int8_t *codes, size_t count, float zero, FLOATS *lanes) {
    FLOATS even = 0, odd = 0;
    size_t i = 0;
    for (; i + 32 <= count; i += 32) {
        prefetch_codes(codes + i);
        NAME(int8_step)(x + i, codes + i, zero, &even, &odd);
    }
    if (i < count) {
        float xs[32];
        int8_t cs[32];
        NAME(rest)(x + i, (count - i) * sizeof(float), (uint8_t *)xs, sizeof xs);
        NAME(rest)(codes + i, count - i, (uint8_t *)cs, sizeof cs);
        NAME(int8_step)(xs, cs, zero, &even, &odd);
    }
    *lanes = even + odd;
}

TARGET static void NAME(dot)(const float *x, const float *w, size_t stride, size_t rows, size_t count, float *target) {
    size_t row = 0;
    for (; row + 4 <= rows; row += 4) NAME(float_rows)(x, w + row * stride, stride, count, target + row, 4);
    for (; row < rows; row++) NAME(float_rows)(x, w + row * stride, stride, count, target + row, 1);
}

TARGET static void NAME(dot_int8)(const float *x, const int8_t *codes, size_t stride, size_t rows, size_t count,
                                  const float *zeros, float *target) {
#define LANES(row, lanes) NAME(int8_row)(x, codes + (row) * stride, count, zeros[row], lanes)
    SUM_ROWS(LANES)
#undef LANES
}

/// Entries of two or four elements, for as many columns each.
TARGET CK_INLINE void NAME(vectors_row)(const float *x, const uint8_t *codes, size_t count, const float *table,
                                        FLOATS *lanes, const size_t size) {
    FLOATS sums[2] = {0, 0};
    size_t i = 0;
    for (; i + 32 <= count; i += 32) {
        const uint8_t *own = codes + i / size;
        float values[32];
#pragma clang loop unroll(full)
        for (size_t k = 0; k < 32 / size; k++) ck_copy(values + size * k, table + size * own[k], size * sizeof(float));
        sums[0] = FMA(AT(values), AT(x + i), sums[0]);
        sums[1] = FMA(AT(values + 16), AT(x + i + 16), sums[1]);
    }
    if (i < count) {
        float values[32] = {0}, xs[32] = {0};
        for (size_t k = 0; i + k < count; k++)
            values[k] = table[size * codes[(i + k) / size] + (i + k) % size], xs[k] = x[i + k];
        sums[0] = FMA(AT(values), AT(xs), sums[0]);
        sums[1] = FMA(AT(values + 16), AT(xs + 16), sums[1]);
    }
    *lanes = sums[0] + sums[1];
}

TARGET static void NAME(dot_vectors)(const float *x, const uint8_t *codes, size_t stride, size_t rows, size_t count,
                                     const float *table, size_t size, float *target) {
#define LANES(row, lanes, size) NAME(vectors_row)(x, codes + (row) * stride, count, table, lanes, size)
#define OF_2(row, lanes) LANES(row, lanes, 2)
#define OF_4(row, lanes) LANES(row, lanes, 4)
    if (size == 2) SUM_ROWS(OF_2)
    else SUM_ROWS(OF_4)
#undef LANES
#undef OF_2
#undef OF_4
}

#include "dot_codes_body.h"
#include "dot_bytes_body.h"
#include "dot_shifts_body.h"

TARGET static void NAME(dot_byte_rows)(const float *x, const int8_t *w, size_t stride, size_t rows, size_t count,
                                       float *target) {
#define CODES(row, lanes) NAME(int8_row)(x, w + (row) * stride, count, 0, lanes)
    SUM_ROWS(CODES)
#undef CODES
    for (size_t row = 0; row < rows; row++) target[row] *= byte_row_scale(w + row * stride, count);
}

/// Sixteen numbers of a row: float32, float16 or codes, whose `size` is 4, 2 or 1 bytes.
TARGET CK_INLINE void NAME(numbers)(const void *row, size_t column, FLOATS *values, const int size) {
    if (size == 1) *values = __builtin_convertvector(*(const NAME(bytes) *)((const int8_t *)row + column), FLOATS);
    else if (size == 2) NAME(wide)((const uint16_t *)row + column, values, 0);
    else *values = AT((const float *)row + column);
}

/// The sums of 16 * `vectors` columns, which stay in registers while all rows are added. The scale of a row of codes is
/// multiplied by its weight.
TARGET CK_INLINE void NAME(sum_columns)(const float *weights, const char *rows, size_t row_bytes, size_t count,
                                        size_t columns, size_t column, float *target, const int size,
                                        const int vectors) {
    FLOATS sums[4];
#pragma clang loop unroll(full)
    for (int i = 0; i < vectors; i++) sums[i] = 0;
    for (size_t row = 0; row < count; row++) {
        const char *const own = rows + row * row_bytes;
        float weight = weights[row];
        if (weight == 0) continue;
        if (size == 1) weight *= byte_row_scale(own, columns);
#pragma clang loop unroll(full)
        for (int i = 0; i < vectors; i++) {
            FLOATS values;
            NAME(numbers)(own, column + 16 * (size_t)i, &values, size);
            sums[i] = FMA(values, (FLOATS)weight, sums[i]);
        }
    }
    ck_copy(target + column, sums, (size_t)vectors * sizeof(FLOATS));
}

TARGET CK_INLINE void NAME(sum_rows)(const float *weights, const void *rows, size_t stride, size_t count,
                                     size_t columns, float *target, const int size) {
    const char *const start = rows;
    const size_t row_bytes = stride * (size_t)size;
    size_t column = 0;
    for (; column + 64 <= columns; column += 64)
        NAME(sum_columns)(weights, start, row_bytes, count, columns, column, target, size, 4);
    for (; column + 16 <= columns; column += 16)
        NAME(sum_columns)(weights, start, row_bytes, count, columns, column, target, size, 1);
    for (; column < columns; column++) {
        float sum = 0;
        for (size_t row = 0; row < count; row++) {
            const char *const own = start + row * row_bytes;
            float weight = weights[row], value;
            if (weight == 0) continue;
            if (size == 1) value = ((const int8_t *)own)[column], weight *= byte_row_scale(own, columns);
            else if (size == 2) NAME(widen)((const uint8_t *)((const uint16_t *)(const void *)own + column), 1, &value);
            else value = ((const float *)(const void *)own)[column];
            sum = __builtin_fmaf(value, weight, sum);
        }
        target[column] = sum;
    }
}

TARGET static void NAME(weighted_sum)(const float *weights, const float *rows, size_t stride, size_t count,
                                      size_t columns, float *target) {
    NAME(sum_rows)(weights, rows, stride, count, columns, target, sizeof(float));
}

TARGET static void NAME(weighted_sum_halves)(const float *weights, const uint16_t *rows, size_t stride, size_t count,
                                             size_t columns, float *target) {
    NAME(sum_rows)(weights, rows, stride, count, columns, target, sizeof(uint16_t));
}

TARGET static void NAME(weighted_sum_byte_rows)(const float *weights, const int8_t *rows, size_t stride, size_t count,
                                                size_t columns, float *target) {
    NAME(sum_rows)(weights, rows, stride, count, columns, target, sizeof(int8_t));
}

#include "sums_end.h"
#undef TILE_ROWS
#undef TILE_VECTORS
#undef SUM_ROWS_BY_BLOCKS
#undef UNIT_OF_E4M3
