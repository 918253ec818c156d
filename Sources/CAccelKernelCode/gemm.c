// The matrix product of float32, panel by panel.
#include "panels.h"

// Without contraction, a * b + c has two roundings on every instruction set, unless the code requests one.
#pragma clang fp contract(off)

#define REAL float
#define WIDTH PANEL_WIDTH
#include "gemm_sets.h"

size_t ck_panel_width(void) { return PANEL_WIDTH; }

/// Any number of rows times whole panels that follow each other.
/// - most: the products of a part.
/// - first: 0 to add the products to c.
/// - copy: ROW_BLOCK * PART_DEPTH numbers for parts of rows that would displace each other from the cache; or NULL.
static void whole_panels(gemm_part *part, size_t most, const float *a, size_t lda, size_t m, size_t k, const float *panels,
                         size_t count, const float *bias, int first, float *c, size_t ldc, float *copy) {
    for (size_t start = 0; start < m; start += ROW_BLOCK) {
        const size_t rows = m - start < ROW_BLOCK ? m - start : ROW_BLOCK;
        // Part after part of the products goes through all panels.
        for (size_t from = 0; from < k || from == 0; from += most) {
            const size_t depth = part_depth(k, from, most);
            const float *x = a + start * lda + from;
            if (copy) {
                for (size_t row = 0; row < rows; row++)
                    ck_copy(copy + row * PART_DEPTH, x + row * lda, depth * sizeof(float));
                x = copy;
            }
            part(x, copy ? PART_DEPTH : lda, rows, depth, panels + from * WIDTH, k, count, bias, first && from == 0,
                 c + start * ldc, ldc);
        }
    }
}

/// Computes a panel of fewer columns through a buffer, some rows at a time.
static void narrow_panel(gemm_part *part, size_t most, const float *a, size_t lda, size_t m, size_t k, const float *panel,
                         const float *bias, int first, float *c, size_t ldc, size_t columns) {
    enum { rows_at_once = 56 };
    float buffer[rows_at_once * PANEL_WIDTH], wide_bias[PANEL_WIDTH] = {0};
    if (bias) ck_copy(wide_bias, bias, columns * sizeof(float));
    for (size_t row = 0; row < m; row += rows_at_once) {
        const size_t rows = m - row < rows_at_once ? m - row : rows_at_once;
        for (size_t r = 0; !first && r < rows; r++)
            ck_copy(buffer + r * PANEL_WIDTH, c + (row + r) * ldc, columns * sizeof(float));
        whole_panels(part, most, a + row * lda, lda, rows, k, panel, 1, wide_bias, first, buffer, PANEL_WIDTH, 0);
        for (size_t r = 0; r < rows; r++)
            ck_copy(c + (row + r) * ldc, buffer + r * PANEL_WIDTH, columns * sizeof(float));
    }
}

/// Rows that are a multiple of 4 KB apart have the same few places in the first cache level: their parts are copied.
__attribute__((noinline)) static void with_copy(gemm_part *part, const float *a, size_t lda, size_t m, size_t k,
                                                const float *panels, size_t count, const float *bias, int first,
                                                float *c, size_t ldc) {
    float copy[ROW_BLOCK * PART_DEPTH];
    whole_panels(part, PART_DEPTH, a, lda, m, k, panels, count, bias, first, c, ldc, copy);
}

static void gemm(const float *a, size_t lda, size_t m, size_t k, const float *panels, const float *bias, int first, float *c,
                 size_t ldc, size_t columns) {
    const size_t count = columns / PANEL_WIDTH, rest = columns % PANEL_WIDTH, done = count * PANEL_WIDTH;
    gemm_part *part = current_part();
    const size_t most = ck_current_isa() == CK_AVX2 ? DEEP_PART : PART_DEPTH;
    if (count > 1 && m > 1 && k > most && lda % 1024 == 0)
        with_copy(part, a, lda, m, k, panels, count, bias, first, c, ldc);
    else if (count)
        whole_panels(part, most, a, lda, m, k, panels, count, bias, first, c, ldc, 0);
    if (rest)
        narrow_panel(part, most, a, lda, m, k, panels + done * k, bias ? bias + done : bias, first, c + done, ldc, rest);
}

void ck_gemm_panels(const float *a, size_t lda, size_t m, size_t k, const float *panels, const float *bias, float *c,
                    size_t ldc, size_t columns) {
    gemm(a, lda, m, k, panels, bias, 1, c, ldc, columns);
}

void ck_gemm_panels_add(const float *a, size_t lda, size_t m, size_t k, const float *panels, float *c, size_t ldc, size_t columns) {
    gemm(a, lda, m, k, panels, 0, 0, c, ldc, columns);
}
