// The sums of a block of a panel of quads. Included by each file that defines NAME(group), the products of up to GROUP columns, and
// MIDDLE, the number that its products subtract from step codes.

/// The products of some rows' steps with a block of 2 * LANES columns, from column `column` of the panel on.
TARGET CK_INLINE void NAME(block)(const int8_tile *t, size_t block, size_t column, NAME(wholes) sums[ROWS][2],
                                  const int rows) {
    const size_t from = block * t->block, depth = depth_of(t, block);
    const int8_t *codes = t->codes + from * PANEL_WIDTH + 4 * column;
    const uint8_t *steps = t->step_codes + from;
    NAME(group)(t, steps, codes, depth < GROUP ? depth : GROUP, sums, rows);
    for (size_t k = GROUP; k < depth; k += GROUP) {
        NAME(wholes) next[ROWS][2];
        NAME(group)(t, steps + k, codes + k * PANEL_WIDTH, depth - k < GROUP ? depth - k : GROUP, next, rows);
        EACH_ROW sums[r][0] += next[r][0], sums[r][1] += next[r][1];
    }
    const int32_t *code_sums = t->code_sums + block * PANEL_WIDTH + column;
    const NAME(wholes) first = *(const NAME(wholes) *)code_sums, second = *(const NAME(wholes) *)(code_sums + LANES);
    EACH_ROW {
        // A step is its code and the lowest step.
        const uint32_t lowest = (uint32_t)(t->roundings[r].lowest + MIDDLE);
        sums[r][0] += first * lowest, sums[r][1] += second * lowest;
    }
}

#include "int8_tile_body.h"

#undef GROUP
#undef MIDDLE
