// Products of rows of ggml's blocks with a vector, and their floats, for one instruction set, which NAME and TARGET select.
//
// A row's products are added in vectors of 16 sums, in the same order on every set, so all sets give the same bits.

#include "sums_body.h"

#include "ggml_split_body.h"

/// Sixteen codes as float32.
#define CODES_AT(p) __builtin_convertvector(*(const NAME(signed16) *)(p), FLOATS)

/// Adds the products of some parts of `rows` rows, 1 or 2, which share the loads of x. Parts are added to two vectors in turns, so
/// that none waits for the one before it.
/// - size: the weights of a part, 16 or 32.
TARGET CK_INLINE void NAME(add_products)(const float *x, const ggml_parts *parts, size_t count, FLOATS sums[2][2], const size_t size,
                                         const int rows) {
    for (size_t p = 0; p < count; p += 2) {
        UNROLLED for (size_t sum = 0; sum < 2; sum++) {
            if (p + sum == count) break;
            const float *own = x + size * (p + sum);
            UNROLLED for (int r = 0; r < rows; r++) {
                const int8_t *codes = parts[r].codes + size * (p + sum);
                FLOATS products = CODES_AT(codes) * AT(own);
                if (size == 32) products = FMA(CODES_AT(codes + 16), AT(own + 16), products);
                sums[r][sum] = FMA(products, (FLOATS)parts[r].scales[p + sum], sums[r][sum]);
            }
        }
    }
}

/// Subtracts the products of the minima and the sums of x.
TARGET CK_INLINE void NAME(subtract_minima)(const float *part_sums, const ggml_parts *parts, size_t count, FLOATS *total) {
    // A vector has 16 parts. Where there are fewer, zeros stand for the others.
    _Alignas(64) float minima[16] = {0}, sums[16] = {0};
    if (count == 16) {
        *total = FMA(-AT(parts->minima), AT(part_sums), *total);
        return;
    }
    if (count == 8) {
        *(NAME(eight) *)minima = *(const NAME(eight) *)parts->minima;
        *(NAME(eight) *)sums = *(const NAME(eight) *)part_sums;
    } else {
        for (size_t p = 0; p < count; p++) minima[p] = parts->minima[p], sums[p] = part_sums[p];
    }
    *total = FMA(-AT(minima), AT(sums), *total);
}

/// Writes the weights of some parts.
TARGET CK_INLINE void NAME(write_floats)(const ggml_parts *parts, size_t weights, float *target, const size_t size, const int has_minima) {
    for (size_t i = 0; i < weights; i += 16) {
        const FLOATS scaled = CODES_AT(parts->codes + i) * parts->scales[i / size];
        *(FLOATS *)(target + i) = has_minima ? scaled - parts->minima[i / size] : scaled;
    }
}

/// Calls `body` with each SPLIT weights of some rows in `parts`: with the block that they begin with, and their number.
#define EACH_SPLIT(type, weights, rows, body)                                                                        \
    {                                                                                                                \
        const size_t at_once = SPLIT / (weights);                                                                    \
        for (size_t block = 0; block < blocks; block += at_once) {                                                   \
            ggml_parts parts[2];                                                                                     \
            const size_t left = blocks - block < at_once ? blocks - block : at_once, count = left * (weights);       \
            UNROLLED for (size_t r = 0; r < rows; r++) {                                                             \
                const uint8_t *own = codes + r * stride + block * sizeof(block_##type);                              \
                for (size_t line = 0; line < at_once * sizeof(block_##type); line += 64) prefetch_codes(own + line); \
                if (left == at_once) NAME(split_##type)(own, at_once, &parts[r]);                                    \
                else NAME(split_##type)(own, left, &parts[r]);                                                       \
            }                                                                                                        \
            body                                                                                                     \
        }                                                                                                            \
    }

/// The sums of one or two rows by lanes, and the floats of a row.
#define ROW(NUMBER, type, weights, size, has_minima)                                                                      \
    TARGET CK_INLINE void NAME(rows_##type)(const float *x, const float *part_sums, const uint8_t *codes, size_t stride,  \
                                            size_t blocks, FLOATS *lanes, const size_t rows) {                            \
        FLOATS sums[2][2] = {{0, 0}, {0, 0}}, shifts[2] = {0, 0};                                                         \
        EACH_SPLIT(type, weights, rows, {                                                                                 \
            NAME(add_products)(x + block * (weights), parts, count / size, sums, size, rows);                             \
            UNROLLED for (size_t r = 0; has_minima && r < rows; r++)                                                      \
                NAME(subtract_minima)(part_sums + block * (weights) / size, &parts[r], count / size, &shifts[r]);         \
        })                                                                                                                \
        UNROLLED for (size_t r = 0; r < rows; r++) {                                                                      \
            lanes[r] = sums[r][0] + sums[r][1];                                                                           \
            if (has_minima) lanes[r] += shifts[r];                                                                        \
        }                                                                                                                 \
        (void)part_sums;                                                                                                  \
    }                                                                                                                     \
    TARGET static void NAME(row_##type)(const float *x, const float *part_sums, const uint8_t *codes, size_t stride,      \
                                        size_t blocks, FLOATS *lanes, int is_pair) {                                      \
        if (is_pair) NAME(rows_##type)(x, part_sums, codes, stride, blocks, lanes, 2);                                    \
        else NAME(rows_##type)(x, part_sums, codes, stride, blocks, lanes, 1);                                            \
    }                                                                                                                     \
    TARGET static void NAME(floats_##type)(const uint8_t *codes, size_t blocks, float *target) {                          \
        const size_t stride = 0;                                                                                          \
        EACH_SPLIT(type, weights, 1, { NAME(write_floats)(parts, count, target + block * (weights), size, has_minima); }) \
    }

EACH_GGML_TYPE(ROW)

typedef void NAME(row)(const float *x, const float *part_sums, const uint8_t *codes, size_t stride, size_t blocks, FLOATS *lanes,
                       int is_pair);

TARGET static NAME(row) *NAME(row_of)(ck_ggml_type type) {
#define CASE(NUMBER, type, weights, size, has_minima) \
    case CK_GGML_##NUMBER: return NAME(row_##type);
    switch (type) { EACH_GGML_TYPE(CASE) }
#undef CASE
    return NAME(row_q8_0);
}

TARGET static void NAME(ggml_dot)(ck_ggml_type type, const float *x, const float *part_sums, const uint8_t *codes, size_t stride,
                                  size_t rows, size_t blocks, float *target) {
    NAME(row) *const sum_row = NAME(row_of)(type);
    size_t row = 0;
    FLOATS lanes[4];
    for (; row + 4 <= rows; row += 4) {
        for (size_t pair = 0; pair < 4; pair += 2) sum_row(x, part_sums, codes + (row + pair) * stride, stride, blocks, lanes + pair, 1);
        NAME(sums_of_4)(lanes, target + row);
    }
    for (; row < rows; row++) {
        sum_row(x, part_sums, codes + row * stride, stride, blocks, lanes, 0);
        target[row] = NAME(sum)(lanes);
    }
}

TARGET static void NAME(ggml_floats)(ck_ggml_type type, const uint8_t *codes, size_t blocks, float *target) {
#define CASE(NUMBER, type, weights, size, has_minima) \
    case CK_GGML_##NUMBER: NAME(floats_##type)(codes, blocks, target); return;
    switch (type) { EACH_GGML_TYPE(CASE) }
#undef CASE
}

#undef BYTES16
#undef BYTES32
#undef STORE16
#undef STORE32
#undef CODES_AT
#undef EACH_SPLIT
#undef ROW
#include "sums_end.h"
