// Tiles of the bfloat16 matrix product for one instruction set. Included once for each, with these defined:
//   NAME(x)   the function's name for this set      TARGET    its target attribute
//   LANES     columns of a vector                   ROWS      rows of a tile
// and, where the set has products of pairs, ADD_PRODUCTS(sum, x, w): the sums with those of LANES pairs. Else the products of a pair
// are added in the order of AVX-512 BF16, the one of odd index first.

typedef float NAME(reals) __attribute__((ext_vector_type(LANES), aligned(4)));
typedef uint32_t NAME(pairs) __attribute__((ext_vector_type(LANES), aligned(4)));

#ifndef ADD_PRODUCTS
#define ADD_PRODUCTS(sum, x, w)                                                     \
    __builtin_elementwise_fma((NAME(reals))((x) << 16), (NAME(reals))((w) << 16),   \
                              __builtin_elementwise_fma((NAME(reals))((x) & 0xFFFF0000), (NAME(reals))((w) & 0xFFFF0000), sum))
#endif

/// c[rows, 2 * LANES] = (first ? 0 : c) + the products of `depth` numbers with columns of a panel.
TARGET CK_INLINE void NAME(part)(const uint16_t *x, size_t stride, size_t depth, const uint16_t *w, int first, float *c,
                                 size_t ldc, const int rows) {
    NAME(reals) sum[ROWS][2];
    EACH_ROW sum[r][0] = sum[r][1] = 0;
    for (size_t k = 0; k < depth; k += 2) {
        const NAME(pairs) left = *(const NAME(pairs) *)w, right = *(const NAME(pairs) *)(w + 2 * LANES);
        EACH_ROW {
            const NAME(pairs) pair = *(const pair_at_2 *)(x + (size_t)r * stride + k);
            sum[r][0] = ADD_PRODUCTS(sum[r][0], pair, left);
            sum[r][1] = ADD_PRODUCTS(sum[r][1], pair, right);
        }
        w += 2 * PANEL_WIDTH;
    }
    EACH_ROW {
        UNROLLED for (int v = 0; v < 2; v++) {
            NAME(reals) *const target = (NAME(reals) *)(c + (size_t)r * ldc + (size_t)v * LANES);
            *target = first ? sum[r][v] : *target + sum[r][v];
        }
    }
}

TARGET static void NAME(tile)(const uint16_t *x, size_t stride, size_t depth, const uint16_t *w, int first, float *c,
                              size_t ldc, size_t rows) {
    for (size_t column = 0; column < PANEL_WIDTH; column += 2 * LANES) {
        const uint16_t *const own = w + 2 * column;
        float *const corner = c + column;
        switch (rows) {
#define CASE(n) \
    case n: NAME(part)(x, stride, depth, own, first, corner, ldc, n < ROWS ? n : ROWS); break;
            CASE(1)
#if ROWS > 1
            CASE(2) CASE(3) CASE(4) CASE(5) CASE(6)
#endif
#if ROWS > 6
            CASE(7) CASE(8) CASE(9) CASE(10) CASE(11) CASE(12) CASE(13) CASE(14)
#endif
#undef CASE
        }
    }
}

#undef ADD_PRODUCTS
#undef NAME
#undef TARGET
#undef LANES
#undef ROWS
