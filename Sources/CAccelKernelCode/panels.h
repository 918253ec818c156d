// The sizes of panels, and of the parts in which matrix products go through them.
#ifndef CKERNELS_PANELS_H
#define CKERNELS_PANELS_H

#include "internal.h"

// The columns of a panel: two AVX-512 vectors. Narrower sets compute a panel in several columns of tiles.
#define PANEL_WIDTH 32
// The number of products that a matrix product sums before it adds them to the result. Rounding errors grow with the root of this
// number, as long as there are few such sums: 192 has 1.4 times the error where there are many products, and is no faster.
#define K_BLOCK 96
// The number of products for which all rows of a block meet a panel, before the next ones follow: the fewer, the more often results
// are read and written; the more, the less of a panel stays in the first cache level. A multiple of K_BLOCK.
#define PART_DEPTH (4 * K_BLOCK)
// The same for tiles of AVX2, which are so small that a panel comes from the second cache level at the speed of their products: results
// that are read and written again cost more.
#define DEEP_PART (16 * K_BLOCK)
// The number of rows of which that part stays in the second cache level while it meets several panels.
#define ROW_BLOCK 128

#endif
