// Tiles of the int8 matrix product with quads for one instruction set. Included once for each, with these defined:
//   NAME(x)   the function's name for this set      TARGET    its target attribute
//   LANES     columns of a vector                   ROWS      rows of a tile
//   PARTS     a vector of sums of a group           GROUP     the columns whose products such a sum holds
//   NO_PARTS  zeros                                 QUAD(p)   four step codes, for all lanes
//   CODES(p)  LANES quads of codes                  ADD_QUADS(part, steps, codes)   adds their products
//   WHOLE(part)   the sums as LANES whole numbers
//   MIDDLE    what QUAD subtracts from step codes

typedef float NAME(reals) __attribute__((ext_vector_type(LANES), aligned(4)));
// Without a sign, so that parts of a sum may overflow which does not.
typedef uint32_t NAME(wholes) __attribute__((ext_vector_type(LANES), aligned(4)));
typedef int32_t NAME(signed) __attribute__((ext_vector_type(LANES)));

/// The products of a group's step codes with its codes.
TARGET CK_INLINE void NAME(group)(const uint8_t *steps, size_t stride, const int8_t *codes, size_t depth,
                                  NAME(wholes) sums[ROWS][2], const int rows) {
    PARTS part[ROWS][2];
#pragma clang loop unroll(full)
    for (int r = 0; r < rows; r++) part[r][0] = part[r][1] = NO_PARTS;
    for (size_t k = 0; k < depth; k += 4) {
        const PARTS first = CODES(codes), second = CODES(codes + 4 * LANES);
#pragma clang loop unroll(full)
        for (int r = 0; r < rows; r++) {
            const PARTS quad = QUAD(steps + (size_t)r * stride + k);
            part[r][0] = ADD_QUADS(part[r][0], quad, first);
            part[r][1] = ADD_QUADS(part[r][1], quad, second);
        }
        codes += 4 * PANEL_WIDTH;
    }
#pragma clang loop unroll(full)
    for (int r = 0; r < rows; r++) {
        sums[r][0] = (NAME(wholes))WHOLE(part[r][0]);
        sums[r][1] = (NAME(wholes))WHOLE(part[r][1]);
    }
}

/// c[rows, 2 * LANES] of a panel from column `column` on.
TARGET CK_INLINE void NAME(part)(const int8_tile *t, size_t column, float *c, size_t ldc, const int rows) {
    NAME(reals) total[ROWS][2];
#pragma clang loop unroll(full)
    for (int r = 0; r < rows; r++) total[r][0] = total[r][1] = 0;
    for (size_t block = 0; block < t->blocks; block++) {
        const size_t from = block * t->block, depth = t->depth - from < t->block ? t->depth - from : t->block;
        const int8_t *codes = t->codes + from * PANEL_WIDTH + 4 * column;
        const uint8_t *steps = t->step_codes + from;
        NAME(wholes) sum[ROWS][2];
        NAME(group)(steps, t->stride, codes, depth < GROUP ? depth : GROUP, sum, rows);
        for (size_t k = GROUP; k < depth; k += GROUP) {
            NAME(wholes) next[ROWS][2];
            NAME(group)(steps + k, t->stride, codes + k * PANEL_WIDTH, depth - k < GROUP ? depth - k : GROUP, next, rows);
#pragma clang loop unroll(full)
            for (int r = 0; r < rows; r++) sum[r][0] += next[r][0], sum[r][1] += next[r][1];
        }
        const size_t at = block * PANEL_WIDTH + column;
#pragma clang loop unroll(full)
        for (int v = 0; v < 2; v++) {
            const NAME(reals) scale = *(const NAME(reals) *)(t->scales + at + (size_t)v * LANES);
            const NAME(wholes) own = *(const NAME(wholes) *)(t->code_sums + at + (size_t)v * LANES);
#pragma clang loop unroll(full)
            for (int r = 0; r < rows; r++) {
                // A step is its code and the lowest step.
                sum[r][v] += own * (uint32_t)(t->roundings[r].lowest + MIDDLE);
                total[r][v] = __builtin_elementwise_fma(
                    __builtin_convertvector((NAME(signed))sum[r][v], NAME(reals)), scale, total[r][v]);
            }
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
#undef PARTS
#undef GROUP
#undef NO_PARTS
#undef QUAD
#undef CODES
#undef ADD_QUADS
#undef WHOLE
#undef MIDDLE
