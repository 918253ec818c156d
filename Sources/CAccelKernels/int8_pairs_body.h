// Tiles of the int8 matrix product with pairs for one instruction set. Included once for each, with these defined:
//   NAME(x)   the function's name for this set      TARGET    its target attribute
//   LANES     columns of a vector                   ROWS      rows of a tile
//   INTS      a vector of LANES numbers of 32 bits, or of 2 * LANES of 16 bits
//   PAIR(p)   two steps, in all lanes               WIDEN(p)  2 * LANES codes of 8 bits as 16 bits
//   ADD_PRODUCTS(sum, a, b)   sum + the sums of neighbouring products
//   NO_INTS   zeros

typedef float NAME(reals) __attribute__((ext_vector_type(LANES), aligned(4)));
typedef int32_t NAME(wholes) __attribute__((ext_vector_type(LANES)));

/// c[rows, 2 * LANES] of a panel from column `column` on.
TARGET CK_INLINE void NAME(part)(const int8_tile *t, size_t column, float *c, size_t ldc, const int rows) {
    NAME(reals) total[ROWS][2];
#pragma clang loop unroll(full)
    for (int r = 0; r < rows; r++) total[r][0] = total[r][1] = 0;
    for (size_t block = 0; block < t->blocks; block++) {
        const size_t from = block * t->block, depth = t->depth - from < t->block ? t->depth - from : t->block;
        const int8_t *codes = t->codes + from * PANEL_WIDTH + 2 * column;
        const int16_t *steps = t->steps + from;
        INTS sum[ROWS][2];
#pragma clang loop unroll(full)
        for (int r = 0; r < rows; r++) sum[r][0] = sum[r][1] = NO_INTS;
        for (size_t k = 0; k < depth; k += 2) {
            const INTS first = WIDEN(codes), second = WIDEN(codes + 2 * LANES);
#pragma clang loop unroll(full)
            for (int r = 0; r < rows; r++) {
                const INTS pair = PAIR(steps + (size_t)r * t->stride + k);
                sum[r][0] = ADD_PRODUCTS(sum[r][0], pair, first);
                sum[r][1] = ADD_PRODUCTS(sum[r][1], pair, second);
            }
            codes += 2 * PANEL_WIDTH;
        }
        const size_t at = block * PANEL_WIDTH + column;
#pragma clang loop unroll(full)
        for (int v = 0; v < 2; v++) {
            const NAME(reals) scale = *(const NAME(reals) *)(t->scales + at + (size_t)v * LANES);
#pragma clang loop unroll(full)
            for (int r = 0; r < rows; r++)
                total[r][v] = __builtin_elementwise_fma(
                    __builtin_convertvector((NAME(wholes))sum[r][v], NAME(reals)), scale, total[r][v]);
            if (!t->shifts) continue;
            const NAME(reals) shift = *(const NAME(reals) *)(t->shifts + at + (size_t)v * LANES);
#pragma clang loop unroll(full)
            for (int r = 0; r < rows; r++)
                total[r][v] = __builtin_elementwise_fma((NAME(reals))(float)t->sums[(size_t)r * t->blocks + block], shift,
                                                        total[r][v]);
        }
    }
#pragma clang loop unroll(full)
    for (int r = 0; r < rows; r++) {
#pragma clang loop unroll(full)
        for (int v = 0; v < 2; v++)
            *(NAME(reals) *)(c + (size_t)r * ldc + column + (size_t)v * LANES) = total[r][v] * t->roundings[r].scale;
    }
}

TARGET static void NAME(tile)(const int8_tile *t, float *c, size_t ldc, size_t rows) {
    for (size_t column = 0; column < PANEL_WIDTH; column += 2 * LANES) {
        switch (rows) {
#define CASE(n) \
    case n: NAME(part)(t, column, c, ldc, n < ROWS ? n : ROWS); break;
            CASE(1) CASE(2) CASE(3) CASE(4) CASE(5) CASE(6)
#if ROWS > 6
            CASE(7) CASE(8) CASE(9) CASE(10) CASE(11) CASE(12) CASE(13) CASE(14)
#endif
#undef CASE
        }
    }
}

#undef NAME
#undef TARGET
#undef LANES
#undef ROWS
#undef INTS
#undef PAIR
#undef WIDEN
#undef ADD_PRODUCTS
#undef NO_INTS
