// Compares the products of bfloat16 on each instruction set with the scalar form, bit by bit, and those of sets that add in an order
// of their own with float64.
#include <math.h>

#include "../../Sources/CAccelKernels/half.h"
#include "check.h"

typedef struct {
    size_t rows, depth, columns;
    /// Columns of c after the last, and numbers of a row of x after the stride that is usual.
    size_t gap, more;
} shape;

static const size_t fixed[][3] = {
    // Rows of x, columns, rows of weights.
    {1, 1, 1},      {2, 7, 5},     {8, 32, 32},   {7, 33, 33},    {9, 64, 31},     {15, 512, 65},   {16, 1, 1},
    {16, 384, 32},  {17, 385, 31}, {31, 416, 33}, {32, 768, 64},  {33, 31, 70},    {63, 1000, 37},  {128, 96, 32},
    {129, 129, 40}, {144, 40, 64}, {161, 65, 7},  {290, 33, 100}, {5, 0, 40},      {20, 0, 33},
};
enum { FIXED = sizeof fixed / sizeof fixed[0] };

static shape shape_at(size_t index) {
    shape s = {.gap = from_to(0, 3), .more = 32 * from_to(0, 1)};
    if (index < FIXED) return s.rows = fixed[index][0], s.depth = fixed[index][1], s.columns = fixed[index][2], s;
    s.rows = from_to(0, 1) ? from_to(1, 40) : from_to(16, 140);
    s.depth = from_to(0, 3) ? from_to(1, 200) : from_to(1, 900);
    s.columns = from_to(1, 70);
    return s;
}

/// A row of `depth` numbers, followed by zeros.
static void fill(uint16_t *row, size_t depth) {
    for (size_t i = 0; i < ck_bf16_depth(depth); i++) row[i] = i < depth ? narrow_bf16(real(-1, 1)) : 0;
}

static float widen(uint16_t number) { return float_of((uint32_t)number << 16); }

/// Whether a level adds products in an order of its own.
static int has_own_order(ck_isa isa) { return isa == CK_NEON_BF16 || isa == CK_AMX; }

/// Whether c is near the exact sums. A product adds to its result what 384 numbers at most have added up to before, so that errors
/// are far below the bound for the sum of all; most were measured to be below 2.
static int is_close(const shape *s, const uint16_t *x, size_t stride, const uint16_t *w, const float *c, size_t width) {
    const double most = 8 * 0x1p-24;
    for (size_t row = 0; row < s->rows; row++)
        for (size_t column = 0; column < s->columns; column++) {
            double sum = 0, size = 0;
            for (size_t k = 0; k < s->depth; k++) {
                const double product = (double)widen(x[row * stride + k]) * widen(w[column * ck_bf16_depth(s->depth) + k]);
                sum += product, size += fabs(product);
            }
            if (!(fabs(c[row * width + column] - sum) <= most * size)) return 0;
        }
    return 1;
}

int bfloat16_agrees(size_t index, const ck_isa *levels, const char *const *names, size_t count) {
    static guarded memory[5];
    const shape s = shape_at(index);
    const size_t depth = ck_bf16_depth(s.depth), stride = ck_bf16_stride(s.depth) + s.more, width = s.columns + s.gap;
    const size_t panels = (s.columns + PANEL_WIDTH - 1) / PANEL_WIDTH, bytes = s.rows * width * sizeof(float);
    // The last row of x ends with its zeros.
    uint16_t *x = last(memory, ((s.rows - 1) * stride + depth) * sizeof *x), *w = last(memory + 1, s.columns * depth * sizeof *w);
    for (size_t row = 0; row < s.rows; row++) fill(x + row * stride, s.depth);
    for (size_t row = 0; row < s.columns; row++) fill(w + row * depth, s.depth);
    uint16_t *packed = last(memory + 2, panels * PANEL_WIDTH * depth * sizeof *packed);
    float *expected = last(memory + 3, bytes), *c = last(memory + 4, bytes);
    int is_good = 1;
    for (size_t i = 0; i < count; i++) {
        level = levels[i];
        for (size_t row = 0; row < s.columns; row += PANEL_WIDTH) {
            const size_t left = s.columns - row;
            ck_pack_bf16_panel(w + row * depth, depth, left < PANEL_WIDTH ? left : PANEL_WIDTH, s.depth, packed + row * depth);
        }
        float *target = i == 0 ? expected : c;
        for (size_t n = 0; n < s.rows * width; n++) target[n] = -7;
        ck_gemm_bf16(x, stride, s.rows, s.depth, packed, s.columns, target, width);
        int is_own_good = 1;
        for (size_t row = 0; row < s.rows; row++)
            for (size_t column = s.columns; column < width; column++) is_own_good &= target[row * width + column] == -7;
        if (i == 0 || has_own_order(level)) is_own_good &= is_close(&s, x, stride, w, target, width);
        else is_own_good &= !memcmp(target, expected, bytes);
#if CK_X86
        if (emulated_tiles_in_use) printf("kernels: tiles were not released\n"), is_own_good = 0;
#endif
        if (!is_own_good)
            printf("kernels: products of bfloat16, %zu x %zu by %zu, differ with %s\n", s.rows, s.depth, s.columns, names[i]);
        is_good &= is_own_good;
    }
    return is_good;
}
