// The sums of products with panels of quads for one instruction set. Included once for each, with these defined:
//   NAME(x)   the function's name for this set      TARGET    its target attribute
//   LANES     columns of a vector                   ROWS      rows of a tile
//   PARTS     a vector of sums of a group           GROUP     the columns whose products such a sum holds
//   NO_PARTS  zeros                                 QUAD(p)   four step codes, for all lanes
//   CODES(p)  LANES quads of codes                  ADD_QUADS(part, steps, codes)   adds their products
//   WHOLE(part)   the sums as LANES whole numbers
//   MIDDLE    what QUAD subtracts from step codes

// Without a sign, so that parts of a sum may overflow which does not.
typedef uint32_t NAME(wholes) __attribute__((ext_vector_type(LANES), aligned(4)));

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

/// The products of some rows' steps with a block of 2 * LANES columns, from column `column` of the panel on.
TARGET CK_INLINE void NAME(block)(const int8_tile *t, size_t block, size_t column, NAME(wholes) sums[ROWS][2],
                                  const int rows) {
    const size_t from = block * t->block, depth = depth_of(t, block);
    const int8_t *codes = t->codes + from * PANEL_WIDTH + 4 * column;
    const uint8_t *steps = t->step_codes + from;
    NAME(group)(steps, t->stride, codes, depth < GROUP ? depth : GROUP, sums, rows);
    for (size_t k = GROUP; k < depth; k += GROUP) {
        NAME(wholes) next[ROWS][2];
        NAME(group)(steps + k, t->stride, codes + k * PANEL_WIDTH, depth - k < GROUP ? depth - k : GROUP, next, rows);
#pragma clang loop unroll(full)
        for (int r = 0; r < rows; r++) sums[r][0] += next[r][0], sums[r][1] += next[r][1];
    }
    const int32_t *code_sums = t->code_sums + block * PANEL_WIDTH + column;
    const NAME(wholes) first = *(const NAME(wholes) *)code_sums, second = *(const NAME(wholes) *)(code_sums + LANES);
#pragma clang loop unroll(full)
    for (int r = 0; r < rows; r++) {
        // A step is its code and the lowest step.
        const uint32_t lowest = (uint32_t)(t->roundings[r].lowest + MIDDLE);
        sums[r][0] += first * lowest, sums[r][1] += second * lowest;
    }
}

#include "int8_tile_body.h"

#undef PARTS
#undef GROUP
#undef NO_PARTS
#undef QUAD
#undef CODES
#undef ADD_QUADS
#undef WHOLE
#undef MIDDLE
