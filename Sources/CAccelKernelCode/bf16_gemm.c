// The matrix product of rows of bfloat16 with panels of bfloat16. Both are padded with zeros to a multiple of 32 numbers.
#include "panels.h"

// Without contraction, a * b + c has two roundings on every instruction set, unless the code requests one.
#pragma clang fp contract(off)

// The numbers that a product sums before it adds them to the result: that part of a panel stays in the first cache level, and
// rounding errors grow with the number of parts, not of products.
#define DEPTH_BLOCK 384

#define EACH_ROW UNROLLED for (int r = 0; r < rows; r++)

/// Two numbers, read as one of 32 bits.
typedef uint32_t pair_at_2 __attribute__((aligned(2), may_alias));

#define NAME(x) x##_scalar
#define TARGET
#define LANES 1
#define ROWS 1
#include "bf16_tile_body.h"

#if CK_X86

#define NAME(x) x##_avx2
#define TARGET CK_TARGET_AVX2
#define LANES 8
#define ROWS 4
#include "bf16_tile_body.h"

#define NAME(x) x##_avx512
#define TARGET CK_TARGET_AVX512
#define LANES 16
#define ROWS 12
#include "bf16_tile_body.h"

#define NAME(x) x##_avx512_bf16
#define TARGET CK_TARGET_BF16
#define LANES 16
#define ROWS 14
#define ADD_PRODUCTS(sum, x, w) (NAME(reals))_mm512_dpbf16_ps((__m512)(sum), (__m512bh)(x), (__m512bh)(w))
#include "bf16_tile_body.h"

#define TARGET CK_TARGET_AMX
#include "bf16_amx_body.h"

#elif CK_ARM

#define NAME(x) x##_neon
#define TARGET
#define LANES 4
#define ROWS 6
#include "bf16_tile_body.h"

#define NAME(x) x##_neon_bf16
#define TARGET CK_TARGET_NEON_BF16
#define ROWS 8
#define SQUARE float32x4_t
#define MMLA(sum, a, b) vbfmmlaq_f32(sum, vreinterpretq_bf16_u8(a), vreinterpretq_bf16_u32(b))
#include "mmla_body.h"

TARGET static void tile_neon_bf16(const uint16_t *x, size_t stride, size_t depth, const uint16_t *w, int first, float *c,
                                  size_t ldc, size_t rows) {
    for (size_t column = 0; column < PANEL_WIDTH; column += 8) {
        float32x4_t sums[ROWS][2];
        switch (rows) {
#define CASE(n) \
    case n: squares_neon_bf16(x, 2 * stride, w + 2 * column, depth / 2, sums, n); break;
            CASE(1) CASE(2) CASE(3) CASE(4) CASE(5) CASE(6) CASE(7) CASE(8)
#undef CASE
        }
        for (size_t r = 0; r < rows; r++)
            for (size_t v = 0; v < 2; v++) {
                float *const target = c + r * ldc + column + 4 * v;
                vst1q_f32(target, first ? sums[r][v] : vaddq_f32(vld1q_f32(target), sums[r][v]));
            }
    }
}

#undef NAME
#undef TARGET
#undef ROWS

#endif

typedef void product_tile(const uint16_t *x, size_t stride, size_t depth, const uint16_t *w, int first, float *c, size_t ldc,
                          size_t rows);

/// The tile for so many rows on the instruction set in use, and its rows at most.
static product_tile *tile_for(size_t rows, size_t *most) {
    (void)rows;
#if CK_X86
    // Tiles of nearly equal height, of which there may be several, have 16 rows at least, too.
    if (rows >= 16 && ck_has_amx()) return *most = 32, tile_amx;
    if (ck_has_avx512_bf16()) return *most = 14, tile_avx512_bf16;
    switch (ck_current_isa()) {
    case CK_AVX512: return *most = 12, tile_avx512;
    case CK_AVX2: return *most = 4, tile_avx2;
    default: break;
    }
#elif CK_ARM
    if (ck_has_neon_bf16()) return *most = 8, tile_neon_bf16;
    if (ck_current_isa() == CK_NEON) return *most = 6, tile_neon;
#endif
    return *most = 1, tile_scalar;
}

int ck_has_bf16_products(void) { return ck_has_avx512_bf16() || ck_has_neon_bf16(); }

/// Some rows times whole panels that follow each other.
static void whole_panels(const uint16_t *x, size_t stride, size_t rows, size_t depth, const uint16_t *panels, size_t count,
                         float *c, size_t ldc) {
    size_t most;
    product_tile *const tile = tile_for(rows, &most);
    // Tiles of nearly equal height: 128 rows are 13 + 13 + ... + 12, not 9 * 14 + 2.
    const size_t tiles = (rows + most - 1) / most;
    for (size_t from = 0; from < depth || from == 0; from += DEPTH_BLOCK) {
        const size_t part = depth - from < DEPTH_BLOCK ? depth - from : DEPTH_BLOCK;
        for (size_t panel = 0; panel < count; panel++) {
            const uint16_t *const w = panels + (panel * depth + from) * PANEL_WIDTH;
            for (size_t left = tiles, row = 0; left; left--) {
                const size_t height = (rows - row + left - 1) / left;
                tile(x + row * stride + from, stride, part, w, from == 0, c + row * ldc + panel * PANEL_WIDTH, ldc, height);
                row += height;
            }
        }
    }
}

void ck_gemm_bf16(const uint16_t *x, size_t stride, size_t rows, size_t depth, const uint16_t *panels, size_t columns,
                  float *c, size_t ldc) {
    depth = ck_bf16_depth(depth);
    const size_t count = columns / PANEL_WIDTH, rest = columns % PANEL_WIDTH;
#if CK_X86
    const int uses_amx = rows >= 16 && ck_has_amx();
    if (uses_amx) configure_amx();
#endif
    for (size_t row = 0; row < rows; row += ROW_BLOCK) {
        const size_t height = rows - row < ROW_BLOCK ? rows - row : ROW_BLOCK;
        const uint16_t *const own = x + row * stride;
        if (count) whole_panels(own, stride, height, depth, panels, count, c + row * ldc, ldc);
        if (!rest) continue;
        float buffer[ROW_BLOCK * PANEL_WIDTH];
        whole_panels(own, stride, height, depth, panels + count * depth * PANEL_WIDTH, 1, buffer, PANEL_WIDTH);
        for (size_t r = 0; r < height; r++)
            ck_copy(c + (row + r) * ldc + count * PANEL_WIDTH, buffer + r * PANEL_WIDTH, rest * sizeof(float));
    }
#if CK_X86
    if (uses_amx) release_amx();
#endif
}
