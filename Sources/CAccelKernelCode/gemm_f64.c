// The matrix product of float64: for reference runs, whose factors are float32 numbers, and for Cholesky factors.
#include "panels.h"

#pragma clang fp contract(off)

#define REAL double
// A column of a panel has as many bytes as in float32.
#define WIDTH (PANEL_WIDTH / 2)
#include "gemm_sets.h"

typedef float floats __attribute__((ext_vector_type(8), aligned(4)));
typedef double doubles __attribute__((ext_vector_type(8), aligned(8)));

size_t ck_panel_width_f64(void) { return WIDTH; }

void ck_gemm_panel_f64(const double *a, size_t lda, size_t m, size_t k, const double *panel, double *c, size_t ldc) {
    gemm_part *part = current_part();
    for (size_t start = 0; start < m; start += ROW_BLOCK)
        for (size_t from = 0; from < k || from == 0; from += K_BLOCK)
            part(a + start * lda + from, lda, m - start < ROW_BLOCK ? m - start : ROW_BLOCK, part_depth(k, from, K_BLOCK),
                 panel + from * WIDTH, k, 1, 0, from == 0, c + start * ldc, ldc);
}

CK_INLINE void widen(const float *from, size_t count, double *to) {
    size_t index = 0;
    for (; index + 8 <= count; index += 8)
        *(doubles *)(to + index) = __builtin_convertvector(*(const floats *)(from + index), doubles);
    for (; index < count; index++) to[index] = from[index];
}

void ck_widen_rows(const float *x, size_t m, size_t k, double *blocks) {
    for (size_t start = 0; start < m; start += ROW_BLOCK) {
        const size_t end = m - start < ROW_BLOCK ? m : start + ROW_BLOCK;
        for (size_t from = 0; from < k; from += K_BLOCK) {
            const size_t depth = part_depth(k, from, K_BLOCK);
            for (size_t row = start; row < end; row++) {
                widen(x + row * k + from, depth, blocks);
                blocks += depth;
            }
        }
    }
}

void ck_widen_panel(const float *panel, size_t k, double *panels) {
    for (size_t i = 0; i < k; i++) {
        widen(panel + i * PANEL_WIDTH, WIDTH, panels + i * WIDTH);
        widen(panel + i * PANEL_WIDTH + WIDTH, WIDTH, panels + (k + i) * WIDTH);
    }
}

void ck_gemm_blocks_f64(const double *blocks, size_t m, size_t k, const double *panels, size_t count, double *c) {
    gemm_part *part = current_part();
    const size_t ldc = count * WIDTH;
    for (size_t start = 0; start < m; start += ROW_BLOCK) {
        const size_t rows = m - start < ROW_BLOCK ? m - start : ROW_BLOCK;
        for (size_t from = 0; from < k || from == 0; from += K_BLOCK) {
            const size_t depth = part_depth(k, from, K_BLOCK);
            part(blocks, depth, rows, depth, panels + from * WIDTH, k, count, 0, from == 0, c + start * ldc, ldc);
            blocks += rows * depth;
        }
    }
}
