// The sums of products with panels of quads, in AMX: 16 to 32 rows of a panel are four AMX tiles of 16 x 16 sums, or two if there
// are 16 rows. Included once, with NAME(x) and TARGET defined.

#define LANES 16
#define ROWS 32
#define GROUP SIZE_MAX
#define MIDDLE 0
// So many rows do not fit into registers.
#define EACH_ROW for (int r = 0; r < rows; r++)

// Without a sign, so that parts of a sum may overflow which does not.
typedef uint32_t NAME(wholes) __attribute__((ext_vector_type(LANES), aligned(4)));

/// The shapes of all AMX tiles, as LDTILECFG reads them.
typedef struct {
    uint8_t palette, first_row, reserved[14];
    uint16_t row_bytes[16];
    uint8_t rows[16];
} NAME(shapes);

/// Shapes the AMX tiles of this thread: 0 to 3 for sums, 4 and 5 for step codes and codes of 64 columns of x, 6 and 7 for those of
/// the `quads` quads of columns that are left of a block.
TARGET static void NAME(configure)(size_t quads) {
    NAME(shapes) shapes = {.palette = 1};
    for (int index = 0; index < 6; index++) shapes.row_bytes[index] = 64, shapes.rows[index] = 16;
    if (quads) {
        shapes.row_bytes[6] = (uint16_t)(4 * quads), shapes.rows[6] = 16;
        shapes.row_bytes[7] = 64, shapes.rows[7] = (uint8_t)quads;
    }
    _tile_loadconfig(&shapes);
}

/// Gives the AMX tiles of this thread back.
TARGET static void NAME(release)(void) { _tile_release(); }

/// Adds the products of the columns of x from `k` on that AMX tiles x and y hold.
#define ADD_PRODUCTS(x, y, k)                                 \
    do {                                                      \
        const int8_t *const left = codes + (k) * PANEL_WIDTH; \
        _tile_loadd(x, steps + (k), stride);                  \
        _tile_loadd(y, left, 4 * PANEL_WIDTH);                \
        _tile_dpbusd(0, x, y);                                \
        _tile_loadd(y, left + 4 * LANES, 4 * PANEL_WIDTH);    \
        _tile_dpbusd(1, x, y);                                \
        if (second) {                                         \
            _tile_loadd(x, steps + second + (k), stride);     \
            _tile_dpbusd(3, x, y);                            \
            _tile_loadd(y, left, 4 * PANEL_WIDTH);            \
            _tile_dpbusd(2, x, y);                            \
        }                                                     \
    } while (0)

TARGET CK_INLINE void NAME(group)(const int8_tile *t, const uint8_t *steps, const int8_t *codes, size_t depth,
                                  NAME(wholes) sums[ROWS][2], const int rows) {
    const size_t stride = t->stride, whole = depth / 64 * 64, quads = (depth - whole + 3) / 4;
    // The last sixteen rows: some of them may be among the first sixteen too, and then have the same sums.
    const int last = rows - 16;
    const size_t second = (size_t)last * stride;
    if (*t->amx_quads != (int32_t)quads) NAME(configure)(quads), *t->amx_quads = (int32_t)quads;
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
    for (size_t k = 0; k < whole; k += 64) ADD_PRODUCTS(4, 5, k);
    if (quads) ADD_PRODUCTS(6, 7, whole);
    _tile_stored(0, &sums[0][0], sizeof sums[0]);
    _tile_stored(1, &sums[0][1], sizeof sums[0]);
    if (!second) return;
    _tile_stored(2, &sums[last][0], sizeof sums[0]);
    _tile_stored(3, &sums[last][1], sizeof sums[0]);
}

#undef ADD_PRODUCTS

#include "int8_quads_block.h"
