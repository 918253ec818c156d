// A part of the matrix product for one instruction set. gemm_sets.h includes it for each, with these defined:
//   NAME(x)   the function's name for this set      TARGET    its target attribute
//   BYTES     the size of a vector                  VECTORS   vectors in a row of the tile
//   ROWS      rows of the tile (its ROWS * VECTORS sums stay in registers)
//   REAL      float or double                       WIDTH     columns of a panel
//
// Every set adds the same products in the same order with one rounding each (fused multiply-add), so all of them give
// the same bits.

#define LANES (BYTES / sizeof(REAL))

typedef REAL NAME(vector) __attribute__((ext_vector_type(LANES), aligned(sizeof(REAL))));

/// c[rows, VECTORS * LANES] = (first ? start or 0 : c) + a[rows, depth] x b[depth, panel width]
TARGET CK_INLINE void NAME(tile)(const REAL *a, size_t lda, size_t depth, const REAL *b, const REAL *start,
                                 int first, REAL *c, size_t ldc, const int rows) {
    // Sums of K_BLOCK products are added to what was there before: in c, and between two of them here.
    NAME(vector) between[ROWS][VECTORS];
    for (size_t from = 0; from < depth || from == 0; from += K_BLOCK) {
        const size_t end = depth - from < K_BLOCK ? depth : from + K_BLOCK;
        NAME(vector) sum[ROWS][VECTORS];
        UNROLLED for (int r = 0; r < rows; r++) {
            UNROLLED for (int v = 0; v < VECTORS; v++) sum[r][v] = 0;
        }
        for (size_t k = from; k < end; k++) {
            NAME(vector) row[VECTORS];
            UNROLLED for (int v = 0; v < VECTORS; v++) row[v] = *(const NAME(vector) *)(b + v * LANES);
            UNROLLED for (int r = 0; r < rows; r++) {
                NAME(vector) x = a[(size_t)r * lda + k];
                UNROLLED for (int v = 0; v < VECTORS; v++) sum[r][v] = __builtin_elementwise_fma(x, row[v], sum[r][v]);
            }
            b += WIDTH;
        }
        UNROLLED for (int r = 0; r < rows; r++) {
            UNROLLED for (int v = 0; v < VECTORS; v++) {
                NAME(vector) *target = (NAME(vector) *)(c + (size_t)r * ldc + v * LANES);
                NAME(vector) before = 0;
                if (from)
                    before = between[r][v];
                else if (!first)
                    before = *target;
                else if (start)
                    before = *(const NAME(vector) *)(start + v * LANES);
                *(end < depth ? &between[r][v] : target) = before + sum[r][v];
            }
        }
    }
}

TARGET static void NAME(tile_of)(const REAL *a, size_t lda, size_t depth, const REAL *b, const REAL *start,
                                 int first, REAL *c, size_t ldc, size_t rows) {
    switch (rows) {
#define CASE(n) \
    case n: NAME(tile)(a, lda, depth, b, start, first, c, ldc, n < ROWS ? n : ROWS); return;
        CASE(1) CASE(2) CASE(3) CASE(4) CASE(5) CASE(6)
#if ROWS > 6
        CASE(7) CASE(8) CASE(9) CASE(10) CASE(11) CASE(12) CASE(13) CASE(14)
#endif
#undef CASE
    }
}

/// One part of the products of up to ROW_BLOCK rows with whole panels, of which each has all `k` rows of its columns. The
/// rows' part of x stays in the second cache level, and a panel's in the first.
/// - depth: the products in the part: some K_BLOCKs, or fewer in the last part.
/// - b: the part's first row in the first panel.
TARGET static void NAME(part)(const REAL *a, size_t lda, size_t m, size_t depth, const REAL *b, size_t k, size_t count,
                              const REAL *bias, int first, REAL *c, size_t ldc) {
    // Tiles of nearly equal height: 128 rows are 13 + 13 + ... + 12, not 9 * 14 + 2.
    const size_t tiles = (m + ROWS - 1) / ROWS;
    for (size_t index = 0; index < count; index++) {
        const REAL *panel = b + index * k * WIDTH;
        const REAL *start = bias ? bias + index * WIDTH : bias;
        for (size_t tile = 0, row = 0; tile < tiles; tile++) {
            const size_t rows = (m - row + (tiles - tile) - 1) / (tiles - tile);
            for (size_t column = 0; column < WIDTH; column += VECTORS * LANES)
                NAME(tile_of)(a + row * lda, lda, depth, panel + column, start ? start + column : start, first,
                              c + row * ldc + index * WIDTH + column, ldc, rows);
            row += rows;
        }
    }
}

#undef NAME
#undef TARGET
#undef BYTES
#undef LANES
#undef VECTORS
#undef ROWS
