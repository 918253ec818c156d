// The matrix product of rows that are rounded to 8 bits with panels of codes. Sums of products are whole numbers, so that
// they are exact on every instruction set; scales come in block by block, in one order.
#include "panels.h"

/// Two steps of 16 bits, read as one number of 32 bits.
typedef int32_t int_at_2 __attribute__((aligned(2), may_alias));
/// Four step codes, read as one number of 32 bits.
typedef int32_t int_at_1 __attribute__((aligned(1), may_alias));

// Without contraction, a * b + c has two roundings on every instruction set, unless the code requests one.
#pragma clang fp contract(off)

/// The operands of a tile: some rows of x, and some columns of a panel.
typedef struct {
    const int16_t *steps;
    const uint8_t *step_codes;
    size_t stride;
    const ck_rounding *roundings;
    const int32_t *sums;
    const int8_t *codes;
    const int32_t *code_sums;
    const float *scales, *shifts;
    /// For whole panels; NULL: none.
    const float *bias;
    size_t depth, block, blocks;
    /// The quads left of a block that this thread's AMX tiles are shaped for; -1: they are not in use.
    int32_t *amx_quads;
} int8_tile;

/// The columns of x in a block.
CK_INLINE size_t depth_of(const int8_tile *t, size_t block) {
    const size_t left = t->depth - block * t->block;
    return left < t->block ? left : t->block;
}

/// - Parameter side: the codes of a row that lie side by side in the panel.
static void tile_plain(const int8_tile *t, size_t side, float *c, size_t ldc, size_t rows, size_t columns) {
    for (size_t row = 0; row < rows; row++)
        for (size_t column = 0; column < columns; column++) {
            float total = 0;
            for (size_t block = 0; block < t->blocks; block++) {
                const size_t from = block * t->block, end = from + depth_of(t, block);
                int32_t sum = 0;
                for (size_t k = from; k < end; k++) {
                    const int32_t code = t->codes[k / side * side * PANEL_WIDTH + side * column + k % side];
                    sum += code * (side == 4 ? t->step_codes[row * t->stride + k] + t->roundings[row].lowest
                                             : t->steps[row * t->stride + k]);
                }
                total = __builtin_fmaf((float)sum, t->scales[block * PANEL_WIDTH + column], total);
                if (t->shifts)
                    total = __builtin_fmaf((float)t->sums[row * t->blocks + block],
                                           t->shifts[block * PANEL_WIDTH + column], total);
            }
            c[row * ldc + column] = total * t->roundings[row].scale + (t->bias ? t->bias[column] : -0.0f);
        }
}

#if CK_X86

// Codes of four bits: sixteen products of a step code with one of them fit into 16 bits.
#define NAME(x) x##_quads_avx2
#define TARGET CK_TARGET_AVX2
#define LANES 8
#define ROWS 6
#define PARTS __m256i
#define GROUP 32
#define NO_PARTS _mm256_setzero_si256()
#define QUAD(p) _mm256_set1_epi32(*(const int_at_1 *)(p))
#define CODES(p) _mm256_loadu_si256((const __m256i *)(p))
#define ADD_QUADS(part, steps, codes) _mm256_add_epi16(part, _mm256_maddubs_epi16(steps, codes))
#define WHOLE(part) _mm256_madd_epi16(part, _mm256_set1_epi16(1))
#define MIDDLE 0
#include "int8_quads_body.h"

#define NAME(x) x##_quads_vnni
#define TARGET CK_TARGET_VNNI
#define LANES 16
#define ROWS 14
#define PARTS __m512i
#define GROUP ((size_t)1 << 16)
#define NO_PARTS _mm512_setzero_si512()
#define QUAD(p) _mm512_set1_epi32(*(const int_at_1 *)(p))
#define CODES(p) _mm512_loadu_si512(p)
#define ADD_QUADS(part, steps, codes) _mm512_dpbusd_epi32(part, steps, codes)
#define WHOLE(part) part
#define MIDDLE 0
#include "int8_quads_body.h"

#define NAME(x) x##_amx
#define TARGET CK_TARGET_AMX
#include "int8_amx_body.h"

#define NAME(x) x##_avx2
#define TARGET CK_TARGET_AVX2
#define LANES 8
#define ROWS 6
#define INTS __m256i
#define PAIR(p) _mm256_set1_epi32(*(const int_at_2 *)(p))
#define WIDEN(p) _mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i *)(p)))
#define ADD_PRODUCTS(sum, a, b) _mm256_add_epi32(sum, _mm256_madd_epi16(a, b))
#define NO_INTS _mm256_setzero_si256()
#include "int8_pairs_body.h"

#define NAME(x) x##_avx512
#define TARGET CK_TARGET_AVX512
#define LANES 16
#define ROWS 14
#define INTS __m512i
#define PAIR(p) _mm512_set1_epi32(*(const int_at_2 *)(p))
#define WIDEN(p) _mm512_cvtepi8_epi16(_mm256_loadu_si256((const __m256i *)(p)))
#define ADD_PRODUCTS(sum, a, b) _mm512_add_epi32(sum, _mm512_madd_epi16(a, b))
#define NO_INTS _mm512_setzero_si512()
#include "int8_pairs_body.h"

#elif CK_ARM

// Both factors have a sign: step codes less 128.
#define NAME(x) x##_quads_neon
#define TARGET CK_TARGET_NEON_DOT
#define LANES 4
#define ROWS 6
#define PARTS int32x4_t
#define GROUP ((size_t)1 << 16)
#define NO_PARTS vdupq_n_s32(0)
#define QUAD(p) veorq_s32(vdupq_n_s32(*(const int_at_1 *)(p)), vreinterpretq_s32_u8(vdupq_n_u8(128)))
#define CODES(p) vreinterpretq_s32_s8(vld1q_s8(p))
#define ADD_QUADS(part, steps, codes) vdotq_s32(part, vreinterpretq_s8_s32(steps), vreinterpretq_s8_s32(codes))
#define WHOLE(part) part
#define MIDDLE 128
#include "int8_quads_body.h"

#define NAME(x) x##_mmla
#define TARGET CK_TARGET_NEON_I8MM
#include "int8_mmla_body.h"

#define NAME(x) x##_neon
#define TARGET
#define LANES 4
#define ROWS 6
#define INTS int32x4_t
#define PAIR(p) vdupq_n_s32(*(const int_at_2 *)(p))
#define WIDEN(p) vreinterpretq_s32_s16(vmovl_s8(vld1_s8(p)))
#define ADD_PRODUCTS(sum, a, b) add_products_neon(sum, vreinterpretq_s16_s32(a), vreinterpretq_s16_s32(b))
#define NO_INTS vdupq_n_s32(0)

CK_INLINE int32x4_t add_products_neon(int32x4_t sum, int16x8_t a, int16x8_t b) {
    return vaddq_s32(sum, vpaddq_s32(vmull_s16(vget_low_s16(a), vget_low_s16(b)), vmull_high_s16(a, b)));
}
#include "int8_pairs_body.h"

#endif

#define MOST_ROWS 32

typedef void product_tile(const int8_tile *, float *c, size_t ldc, size_t rows);

/// The tile for so many rows on the instruction set in use, and its rows at most; NULL for none.
static product_tile *tile_for(const ck_int8_panels *w, size_t rows, size_t *most) {
    (void)rows;
#if CK_X86
    if (w->has_quads) {
        // Tiles of nearly equal height, of which there may be several, have 16 rows at least, too.
        if (ck_has_amx() && rows >= 16) return *most = MOST_ROWS, tile_amx;
        if (ck_has_vnni()) return *most = 14, tile_quads_vnni;
        if (ck_current_isa() >= CK_AVX2 && w->bits <= 4) return *most = 6, tile_quads_avx2;
        return 0;
    }
    switch (ck_current_isa()) {
    case CK_AVX512: return *most = 14, tile_avx512;
    case CK_AVX2: return *most = 6, tile_avx2;
    default: return 0;
    }
#elif CK_ARM
    if (w->has_quads && ck_has_neon_i8mm()) return *most = 8, tile_mmla;
    if (w->has_quads) return ck_has_neon_dot() ? (*most = 6, tile_quads_neon) : 0;
    return ck_current_isa() == CK_NEON ? (*most = 6, tile_neon) : 0;
#else
    return 0;
#endif
}

int ck_int8_wants_quads(int bits) {
#if CK_X86
    return ck_has_vnni() || (bits <= 4 && ck_current_isa() >= CK_AVX2);
#else
    (void)bits;
    return ck_has_neon_dot();
#endif
}

/// Computes some rows of a panel, all columns of it or the first ones.
static void panel(const int8_tile *t, const ck_int8_panels *w, float *c, size_t ldc, size_t rows, size_t columns) {
    float buffer[MOST_ROWS * PANEL_WIDTH];
    size_t most = 0;
    product_tile *const tile = tile_for(w, rows, &most);
    if (!tile) return tile_plain(t, w->has_quads ? 4 : 2, c, ldc, rows, columns);
    // Tiles of nearly equal height: 128 rows are 13 + 13 + ... + 12, not 9 * 14 + 2.
    const size_t tiles = (rows + most - 1) / most;
    int8_tile part = *t;
    for (size_t left = tiles, row = 0; left; left--) {
        const size_t height = (rows - row + left - 1) / left;
        if (t->steps) part.steps = t->steps + row * t->stride;
        if (t->step_codes) part.step_codes = t->step_codes + row * t->stride;
        part.roundings = t->roundings + row;
        if (t->sums) part.sums = t->sums + row * t->blocks;
        if (columns == PANEL_WIDTH) {
            tile(&part, c + row * ldc, ldc, height);
        } else {
            tile(&part, buffer, PANEL_WIDTH, height);
            for (size_t r = 0; r < height; r++)
                ck_copy(c + (row + r) * ldc, buffer + r * PANEL_WIDTH, columns * sizeof(float));
        }
        row += height;
    }
}

void ck_gemm_int8(const ck_rounded_rows *x, size_t first, size_t rows, const ck_int8_panels *w, const float *bias, size_t columns,
                  float *c, size_t ldc) {
    // The rows that stay in the second cache level while they meet several panels.
    const size_t rows_at_once = 128;
    int32_t amx_quads = -1;
    // The bias of a last panel of fewer columns.
    float last_bias[PANEL_WIDTH] = {0};
    const size_t whole = columns / PANEL_WIDTH * PANEL_WIDTH;
    if (bias) ck_copy(last_bias, bias + whole, (columns - whole) * sizeof(float));
    for (size_t row = 0; row < rows; row += rows_at_once) {
        const size_t height = rows - row < rows_at_once ? rows - row : rows_at_once, from = first + row;
        for (size_t column = 0; column < columns; column += PANEL_WIDTH) {
            const size_t scales = column * w->blocks;
            const int8_tile tile = {
                .steps = x->steps ? x->steps + from * x->stride : 0,
                .step_codes = x->step_codes ? x->step_codes + from * x->stride : 0,
                .stride = x->stride,
                .roundings = x->roundings + from,
                .sums = x->sums ? x->sums + from * w->blocks : 0,
                .codes = w->codes + column / PANEL_WIDTH * ck_int8_panel_bytes(w->depth),
                .code_sums = w->has_quads ? w->code_sums + scales : 0,
                .scales = w->scales + scales,
                .shifts = w->shifts ? w->shifts + scales : 0,
                .bias = !bias ? 0 : column < whole ? bias + column : last_bias,
                .depth = w->depth,
                .block = w->block,
                .blocks = w->blocks,
                .amx_quads = &amx_quads,
            };
            panel(&tile, w, c + row * ldc + column, ldc, height,
                  columns - column < PANEL_WIDTH ? columns - column : PANEL_WIDTH);
        }
    }
#if CK_X86
    if (amx_quads >= 0) release_amx();
#endif
}
