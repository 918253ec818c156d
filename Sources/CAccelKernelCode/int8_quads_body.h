// The sums of products with panels of quads for one instruction set. Included once for each, with these defined:
//   NAME(x)   the function's name for this set      TARGET    its target attribute
//   LANES     columns of a vector                   ROWS      rows of a tile
//   PARTS     a vector of sums of a group           GROUP     the columns whose products such a sum holds
//   NO_PARTS  zeros                                 QUAD(p)   four step codes, for all lanes
//   CODES(p)  LANES quads of codes                  ADD_QUADS(part, steps, codes)   adds their products
//   WHOLE(part)   the sums as LANES whole numbers
//   MIDDLE    what QUAD subtracts from step codes

#define EACH_ROW UNROLLED for (int r = 0; r < rows; r++)

// Without a sign, so that parts of a sum may overflow which does not.
typedef uint32_t NAME(wholes) __attribute__((ext_vector_type(LANES), aligned(4)));

/// The products of a group's step codes with its codes.
TARGET CK_INLINE void NAME(group)(const int8_tile *t, const uint8_t *steps, const int8_t *codes, size_t depth,
                                  NAME(wholes) sums[ROWS][2], const int rows) {
    const size_t stride = t->stride;
    PARTS part[ROWS][2];
    EACH_ROW part[r][0] = part[r][1] = NO_PARTS;
    for (size_t k = 0; k < depth; k += 4) {
        const PARTS first = CODES(codes), second = CODES(codes + 4 * LANES);
        EACH_ROW {
            const PARTS quad = QUAD(steps + (size_t)r * stride + k);
            part[r][0] = ADD_QUADS(part[r][0], quad, first);
            part[r][1] = ADD_QUADS(part[r][1], quad, second);
        }
        codes += 4 * PANEL_WIDTH;
    }
    EACH_ROW {
        sums[r][0] = (NAME(wholes))WHOLE(part[r][0]);
        sums[r][1] = (NAME(wholes))WHOLE(part[r][1]);
    }
}

#include "int8_quads_block.h"

#undef PARTS
#undef NO_PARTS
#undef QUAD
#undef CODES
#undef ADD_QUADS
#undef WHOLE
