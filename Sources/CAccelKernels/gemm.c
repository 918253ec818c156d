// The matrix product, panel by panel.
#include "internal.h"

// Without contraction, a * b + c has two roundings on every instruction set, unless the code requests one.
#pragma clang fp contract(off)

// The number of products that are summed before they are added to the result. The part of a panel that a tile reads
// stays in the first cache level, and rounding errors grow with the number of blocks, not of products.
#define K_BLOCK 192
// The number of rows of which that part stays in the second cache level while it meets several panels.
#define ROW_BLOCK 128

size_t ck_panel_width(void) { return PANEL_WIDTH; }

#define REAL float
#define WIDTH PANEL_WIDTH
#if CK_X86

#define NAME(x) x##_avx512
#define TARGET CK_TARGET_AVX512
#define LANES 16
#define VECTORS 2
#define ROWS 14
#include "gemm_body.h"

#define NAME(x) x##_avx2
#define TARGET CK_TARGET_AVX2
#define LANES 8
#define VECTORS 2
#define ROWS 6
#include "gemm_body.h"

#elif CK_ARM

#define NAME(x) x##_neon
#define TARGET
#define LANES 4
#define VECTORS 4
#define ROWS 6
#include "gemm_body.h"

#endif
#undef REAL
#undef WIDTH

static void panel_scalar(const float *a, size_t lda, size_t m, size_t k, const float *panel, const float *bias,
                         float *c, size_t ldc, size_t columns) {
    for (size_t row = 0; row < m; row++) {
        for (size_t column = 0; column < columns; column++) {
            float total = bias ? bias[column] : 0;
            for (size_t from = 0; from < k; from += K_BLOCK) {
                size_t end = k - from < K_BLOCK ? k : from + K_BLOCK;
                float sum = 0;
                for (size_t i = from; i < end; i++)
                    sum = __builtin_fmaf(a[row * lda + i], panel[i * PANEL_WIDTH + column], sum);
                total += sum;
            }
            c[row * ldc + column] = total;
        }
    }
}

/// Computes whole panels.
typedef void whole_panels(const float *a, size_t lda, size_t m, size_t k, const float *panels, size_t count,
                          const float *bias, float *c, size_t ldc, float *copy);

/// Computes a panel of fewer columns through a buffer, some rows at a time.
static void narrow_panel(whole_panels *whole, const float *a, size_t lda, size_t m, size_t k, const float *panel,
                         const float *bias, float *c, size_t ldc, size_t columns) {
    enum { rows_at_once = 56 };
    float buffer[rows_at_once * PANEL_WIDTH], wide_bias[PANEL_WIDTH] = {0};
    if (bias) ck_copy(wide_bias, bias, columns * sizeof(float));
    for (size_t row = 0; row < m; row += rows_at_once) {
        size_t rows = m - row < rows_at_once ? m - row : rows_at_once;
        whole(a + row * lda, lda, rows, k, panel, 1, wide_bias, buffer, PANEL_WIDTH, 0);
        for (size_t r = 0; r < rows; r++)
            ck_copy(c + (row + r) * ldc, buffer + r * PANEL_WIDTH, columns * sizeof(float));
    }
}

/// Rows that are a multiple of 4 KB apart have the same few places in the first cache level: their parts are copied.
__attribute__((noinline)) static void with_copy(whole_panels *whole, const float *a, size_t lda, size_t m, size_t k,
                                                const float *panels, size_t count, const float *bias, float *c,
                                                size_t ldc) {
    float copy[ROW_BLOCK * K_BLOCK];
    whole(a, lda, m, k, panels, count, bias, c, ldc, copy);
}

void ck_gemm_panels(const float *a, size_t lda, size_t m, size_t k, const float *panels, const float *bias, float *c,
                    size_t ldc, size_t columns) {
    const size_t count = columns / PANEL_WIDTH, rest = columns % PANEL_WIDTH, done = count * PANEL_WIDTH;
    whole_panels *whole;
    switch (ck_current_isa()) {
#if CK_X86
    case CK_AVX512: whole = panels_avx512; break;
    case CK_AVX2: whole = panels_avx2; break;
#elif CK_ARM
    case CK_NEON: whole = panels_neon; break;
#endif
    default:
        for (size_t column = 0; column < columns; column += PANEL_WIDTH)
            panel_scalar(a, lda, m, k, panels + column * k, bias ? bias + column : bias, c + column, ldc,
                         columns - column < PANEL_WIDTH ? columns - column : PANEL_WIDTH);
        return;
    }
    if (count > 1 && m > 1 && lda % 1024 == 0)
        with_copy(whole, a, lda, m, k, panels, count, bias, c, ldc);
    else if (count)
        whole(a, lda, m, k, panels, count, bias, c, ldc, 0);
    if (rest)
        narrow_panel(whole, a, lda, m, k, panels + done * k, bias ? bias + done : bias, c + done, ldc, rest);
}

// ---- float64 -------------------------------------------------------------------------------------------------

#define REAL double
#define WIDTH (PANEL_WIDTH / 2)
#if CK_X86

#define NAME(x) x##_f64_avx512
#define TARGET CK_TARGET_AVX512
#define LANES 8
#define VECTORS 2
#define ROWS 14
#include "gemm_body.h"

#define NAME(x) x##_f64_avx2
#define TARGET CK_TARGET_AVX2
#define LANES 4
#define VECTORS 2
#define ROWS 6
#include "gemm_body.h"

#elif CK_ARM

#define NAME(x) x##_f64_neon
#define TARGET
#define LANES 2
#define VECTORS 4
#define ROWS 6
#include "gemm_body.h"

#endif

size_t ck_panel_width_f64(void) { return WIDTH; }

void ck_gemm_panel_f64(const double *a, size_t lda, size_t m, size_t k, const double *panel, double *c, size_t ldc) {
    switch (ck_current_isa()) {
#if CK_X86
    case CK_AVX512: panels_f64_avx512(a, lda, m, k, panel, 1, 0, c, ldc, 0); return;
    case CK_AVX2: panels_f64_avx2(a, lda, m, k, panel, 1, 0, c, ldc, 0); return;
#elif CK_ARM
    case CK_NEON: panels_f64_neon(a, lda, m, k, panel, 1, 0, c, ldc, 0); return;
#endif
    default: break;
    }
    for (size_t row = 0; row < m; row++) {
        for (size_t column = 0; column < WIDTH; column++) {
            double total = 0;
            for (size_t from = 0; from < k; from += K_BLOCK) {
                size_t end = k - from < K_BLOCK ? k : from + K_BLOCK;
                double sum = 0;
                for (size_t i = from; i < end; i++) sum = __builtin_fma(a[row * lda + i], panel[i * WIDTH + column], sum);
                total += sum;
            }
            c[row * ldc + column] = total;
        }
    }
}
