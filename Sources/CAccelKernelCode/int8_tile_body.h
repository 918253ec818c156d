// Tiles of the int8 matrix product for one instruction set and one kind of panel. Included once for each by the file that defines
// NAME(block), the whole sums of a block, and EACH_ROW, the loop over a tile's rows, with NAME(x), TARGET, LANES and ROWS; all of
// these end here.

typedef float NAME(reals) __attribute__((ext_vector_type(LANES), aligned(4)));
typedef int32_t NAME(signed) __attribute__((ext_vector_type(LANES)));

/// c[rows, 2 * LANES] of a panel from column `column` on.
TARGET CK_INLINE void NAME(part)(const int8_tile *t, size_t column, float *c, size_t ldc, const int rows) {
    NAME(reals) total[ROWS][2];
    // The results come after the last product: until then their lines are fetched.
    EACH_ROW prefetch_target(c + (size_t)r * ldc + column, 2 * LANES);
    EACH_ROW total[r][0] = total[r][1] = 0;
    for (size_t block = 0; block < t->blocks; block++) {
        NAME(wholes) sum[ROWS][2];
        NAME(block)(t, block, column, sum, rows);
        const size_t at = block * PANEL_WIDTH + column;
#pragma clang loop unroll(full)
        for (int v = 0; v < 2; v++) {
            const NAME(reals) scale = *(const NAME(reals) *)(t->scales + at + (size_t)v * LANES);
            EACH_ROW total[r][v] = __builtin_elementwise_fma(
                __builtin_convertvector((NAME(signed))sum[r][v], NAME(reals)), scale, total[r][v]);
            if (!t->shifts) continue;
            const NAME(reals) shift = *(const NAME(reals) *)(t->shifts + at + (size_t)v * LANES);
            EACH_ROW total[r][v] = __builtin_elementwise_fma((NAME(reals))(float)t->sums[(size_t)r * t->blocks + block], shift,
                                                             total[r][v]);
        }
    }
    EACH_ROW {
#pragma clang loop unroll(full)
        for (int v = 0; v < 2; v++)
        {
            NAME(reals) result = total[r][v] * t->roundings[r].scale;
            if (t->bias) result += *(const NAME(reals) *)(t->bias + column + (size_t)v * LANES);
            *(NAME(reals) *)(c + (size_t)r * ldc + column + (size_t)v * LANES) = result;
        }
    }
}

TARGET static void NAME(tile)(const int8_tile *t, float *c, size_t ldc, size_t rows) {
#if ROWS > 14
    // A tile of any number of rows is as wide as the panel.
    NAME(part)(t, 0, c, ldc, (int)rows);
#else
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
#endif
}

#undef EACH_ROW
#undef NAME
#undef TARGET
#undef LANES
#undef ROWS
