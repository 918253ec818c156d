// Tiles of the bfloat16 matrix product in AMX: 16 to 32 rows of a panel are four AMX tiles of 16 x 16 sums, or two if there are 16
// rows. Included once, with TARGET defined.

/// The shapes of all AMX tiles, as LDTILECFG reads them: 16 rows of 64 bytes.
typedef struct {
    uint8_t palette, first_row, reserved[14];
    uint16_t row_bytes[16];
    uint8_t rows[16];
} amx_shapes;

/// Shapes the AMX tiles of this thread: 0 to 3 for sums, 4 for 32 numbers of 16 rows of x, 5 for 16 pairs of 16 columns.
TARGET static void configure_amx(void) {
    amx_shapes shapes = {.palette = 1};
    for (int index = 0; index < 6; index++) shapes.row_bytes[index] = 64, shapes.rows[index] = 16;
    _tile_loadconfig(&shapes);
}

/// Gives the AMX tiles of this thread back.
TARGET static void release_amx(void) { _tile_release(); }

/// As NAME(tile) of bf16_tile_body.h; `depth` is a multiple of 32.
TARGET static void tile_amx(const uint16_t *x, size_t stride, size_t depth, const uint16_t *w, int first, float *c,
                            size_t ldc, size_t rows) {
    // The last sixteen rows: some of them may be among the first sixteen too, and then have the same sums.
    const size_t last = rows - 16, columns = PANEL_WIDTH / 2;
    float *const below = c + last * ldc;
    if (first) {
        _tile_zero(0);
        _tile_zero(1);
        _tile_zero(2);
        _tile_zero(3);
    } else {
        _tile_loadd(0, c, 4 * ldc);
        _tile_loadd(1, c + columns, 4 * ldc);
        _tile_loadd(2, below, 4 * ldc);
        _tile_loadd(3, below + columns, 4 * ldc);
    }
    for (size_t k = 0; k < depth; k += 32, w += 32 * PANEL_WIDTH) {
        _tile_loadd(4, x + k, 2 * stride);
        _tile_loadd(5, w, 4 * PANEL_WIDTH);
        _tile_dpbf16ps(0, 4, 5);
        _tile_loadd(5, w + 2 * columns, 4 * PANEL_WIDTH);
        _tile_dpbf16ps(1, 4, 5);
        if (!last) continue;
        _tile_loadd(4, x + last * stride + k, 2 * stride);
        _tile_dpbf16ps(3, 4, 5);
        _tile_loadd(5, w, 4 * PANEL_WIDTH);
        _tile_dpbf16ps(2, 4, 5);
    }
    _tile_stored(0, c, 4 * ldc);
    _tile_stored(1, c + columns, 4 * ldc);
    if (!last) return;
    _tile_stored(2, below, 4 * ldc);
    _tile_stored(3, below + columns, 4 * ldc);
}

#undef TARGET
