// The matrix product of rows that are rounded to 8 bits with panels of codes. Sums of products are whole numbers, so that
// they are exact on every instruction set; scales come in block by block, in one order.
#include "internal.h"

// Without contraction, a * b + c has two roundings on every instruction set, unless the code requests one.
#pragma clang fp contract(off)

/// Two codes that follow each other in a row lie side by side, then those of the panel's next row.
#define PAIRS (2 * PANEL_WIDTH)

size_t ck_int8_panel_bytes(size_t depth) { return (depth + 1) / 2 * PAIRS; }

// ---- packing ---------------------------------------------------------------------------------------------------

typedef uint16_t pairs __attribute__((ext_vector_type(8), aligned(1)));
typedef uint8_t sixteen __attribute__((ext_vector_type(16), aligned(1)));

/// Transposes 8 rows of 8 pairs: three perfect shuffles.
CK_INLINE void transpose(pairs rows[8]) {
#pragma clang loop unroll(full)
    for (int round = 0; round < 3; round++) {
        pairs next[8];
#pragma clang loop unroll(full)
        for (int i = 0; i < 4; i++) {
            next[2 * i] = __builtin_shufflevector(rows[i], rows[i + 4], 0, 8, 1, 9, 2, 10, 3, 11);
            next[2 * i + 1] = __builtin_shufflevector(rows[i], rows[i + 4], 4, 12, 5, 13, 6, 14, 7, 15);
        }
#pragma clang loop unroll(full)
        for (int i = 0; i < 8; i++) rows[i] = next[i];
    }
}

void ck_pack_int8_panel(const uint8_t *codes, size_t stride, size_t rows, size_t depth, uint8_t flipped, uint8_t middle,
                        int8_t *panel) {
    const uint8_t nothing = flipped ^ middle;
    for (size_t k = 0; k < depth; k += 16) {
        const size_t bytes = depth - k < 16 ? depth - k : 16, count = (bytes + 1) / 2;
        for (size_t group = 0; group < PANEL_WIDTH; group += 8) {
            pairs block[8];
#pragma clang loop unroll(full)
            for (size_t i = 0; i < 8; i++) {
                const uint8_t *from = codes + (group + i) * stride + k;
                sixteen own = nothing;
                if (group + i < rows) {
                    if (bytes == 16) own = *(const sixteen *)from;
                    else for (size_t b = 0; b < bytes; b++) own[b] = from[b];
                }
                block[i] = (pairs)((own ^ (sixteen)flipped) - (sixteen)middle);
            }
            transpose(block);
            for (size_t p = 0; p < count; p++) *(pairs *)(panel + (k / 2 + p) * PAIRS + 2 * group) = block[p];
        }
    }
}

// ---- products --------------------------------------------------------------------------------------------------

/// The operands of a tile: some rows of x, and some columns of a panel.
typedef struct {
    const int16_t *steps;
    size_t stride;
    const ck_rounding *roundings;
    const int32_t *sums;
    const int8_t *codes;
    const float *scales, *shifts;
    size_t depth, block, blocks;
} int8_tile;

static void tile_plain(const int8_tile *t, float *c, size_t ldc, size_t rows, size_t columns) {
    for (size_t row = 0; row < rows; row++)
        for (size_t column = 0; column < columns; column++) {
            float total = 0;
            for (size_t block = 0; block < t->blocks; block++) {
                const size_t from = block * t->block, end = t->depth - from < t->block ? t->depth : from + t->block;
                int32_t sum = 0;
                for (size_t k = from; k < end; k++)
                    sum += t->steps[row * t->stride + k] * t->codes[k / 2 * PAIRS + 2 * column + k % 2];
                total = __builtin_fmaf((float)sum, t->scales[block * PANEL_WIDTH + column], total);
                if (t->shifts)
                    total = __builtin_fmaf((float)t->sums[row * t->blocks + block],
                                           t->shifts[block * PANEL_WIDTH + column], total);
            }
            c[row * ldc + column] = total * t->roundings[row].scale;
        }
}

#if CK_X86

#define NAME(x) x##_avx2
#define TARGET CK_TARGET_AVX2
#define LANES 8
#define ROWS 6
#define INTS __m256i
#define PAIR(p) _mm256_set1_epi32(*(const int_at_2 *)(p))
#define WIDEN(p) _mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i *)(p)))
#define ADD_PRODUCTS(sum, a, b) _mm256_add_epi32(sum, _mm256_madd_epi16(a, b))
#define NO_INTS _mm256_setzero_si256()
#include "int8_gemm_body.h"

#define NAME(x) x##_avx512
#define TARGET CK_TARGET_AVX512
#define LANES 16
#define ROWS 14
#define INTS __m512i
#define PAIR(p) _mm512_set1_epi32(*(const int_at_2 *)(p))
#define WIDEN(p) _mm512_cvtepi8_epi16(_mm256_loadu_si256((const __m256i *)(p)))
#define ADD_PRODUCTS(sum, a, b) _mm512_add_epi32(sum, _mm512_madd_epi16(a, b))
#define NO_INTS _mm512_setzero_si512()
#include "int8_gemm_body.h"

#elif CK_ARM

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
#include "int8_gemm_body.h"

#endif

/// Computes some rows of a panel, all columns of it or the first ones.
static void panel(const int8_tile *t, float *c, size_t ldc, size_t rows, size_t columns) {
    float buffer[14 * PANEL_WIDTH];
    void (*tile)(const int8_tile *, float *, size_t, size_t) = 0;
    size_t most = 0;
    switch (ck_current_isa()) {
#if CK_X86
    case CK_AVX512: tile = tile_avx512, most = 14; break;
    case CK_AVX2: tile = tile_avx2, most = 6; break;
#elif CK_ARM
    case CK_NEON: tile = tile_neon, most = 6; break;
#endif
    default: return tile_plain(t, c, ldc, rows, columns);
    }
    // Tiles of nearly equal height: 128 rows are 13 + 13 + ... + 12, not 9 * 14 + 2.
    const size_t tiles = (rows + most - 1) / most;
    int8_tile part = *t;
    for (size_t left = tiles, row = 0; left; left--) {
        const size_t height = (rows - row + left - 1) / left;
        part.steps = t->steps + row * t->stride;
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

void ck_gemm_int8(const ck_rounded_rows *x, size_t first, size_t rows, const ck_int8_panels *w, size_t columns, float *c,
                  size_t ldc) {
    // The rows that stay in the second cache level while they meet several panels.
    const size_t rows_at_once = 126;
    for (size_t row = 0; row < rows; row += rows_at_once) {
        const size_t height = rows - row < rows_at_once ? rows - row : rows_at_once, from = first + row;
        for (size_t column = 0; column < columns; column += PANEL_WIDTH) {
            const size_t scales = column * w->blocks;
            const int8_tile tile = {
                .steps = x->steps + from * x->stride,
                .stride = x->stride,
                .roundings = x->roundings + from,
                .sums = x->sums ? x->sums + from * w->blocks : 0,
                .codes = w->codes + column / PANEL_WIDTH * ck_int8_panel_bytes(w->depth),
                .scales = w->scales + scales,
                .shifts = w->shifts ? w->shifts + scales : 0,
                .depth = w->depth,
                .block = w->block,
                .blocks = w->blocks,
            };
            panel(&tile, c + row * ldc + column, ldc, height,
                  columns - column < PANEL_WIDTH ? columns - column : PANEL_WIDTH);
        }
    }
}
