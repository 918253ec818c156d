// The sums of products with panels of pairs for one instruction set. Included once for each, with these defined:
//   NAME(x)   the function's name for this set      TARGET    its target attribute
//   LANES     columns of a vector                   ROWS      rows of a tile
//   INTS      a vector of LANES numbers of 32 bits, or of 2 * LANES of 16 bits
//   PAIR(p)   two steps, in all lanes               WIDEN(p)  2 * LANES codes of 8 bits as 16 bits
//   ADD_PRODUCTS(sum, a, b)   sum + the sums of neighbouring products
//   NO_INTS   zeros

#define EACH_ROW UNROLLED for (int r = 0; r < rows; r++)

typedef uint32_t NAME(wholes) __attribute__((ext_vector_type(LANES), aligned(4)));

/// The products of some rows' steps with a block of 2 * LANES columns, from column `column` of the panel on.
TARGET CK_INLINE void NAME(block)(const int8_tile *t, size_t block, size_t column, NAME(wholes) sums[ROWS][2],
                                  const int rows) {
    const size_t from = block * t->block, depth = depth_of(t, block);
    const int8_t *codes = t->codes + from * PANEL_WIDTH + 2 * column;
    const int16_t *steps = t->steps + from;
    INTS sum[ROWS][2];
    EACH_ROW sum[r][0] = sum[r][1] = NO_INTS;
    for (size_t k = 0; k < depth; k += 2) {
        const INTS first = WIDEN(codes), second = WIDEN(codes + 2 * LANES);
        EACH_ROW {
            const INTS pair = PAIR(steps + (size_t)r * t->stride + k);
            sum[r][0] = ADD_PRODUCTS(sum[r][0], pair, first);
            sum[r][1] = ADD_PRODUCTS(sum[r][1], pair, second);
        }
        codes += 2 * PANEL_WIDTH;
    }
    EACH_ROW {
        sums[r][0] = (NAME(wholes))sum[r][0];
        sums[r][1] = (NAME(wholes))sum[r][1];
    }
}

#include "int8_tile_body.h"

#undef INTS
#undef PAIR
#undef WIDEN
#undef ADD_PRODUCTS
#undef NO_INTS
