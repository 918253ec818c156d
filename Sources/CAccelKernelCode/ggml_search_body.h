// The searches of ggml_search.c for one instruction set, which NAME, TARGET and SET_BYTES select.

// The lanes that are searched at once: two vector registers of them keep the units for addition busy, where there are enough.
#define WIDTH (SET_BYTES == 16 ? 8 : 16)
typedef float NAME(reals) __attribute__((ext_vector_type(WIDTH)));
typedef int32_t NAME(integers) __attribute__((ext_vector_type(WIDTH)));
// One vector register, for searches with many comparisons: compilers narrow the results for more than one.
#define NARROW (SET_BYTES / 4)
typedef float NAME(few) __attribute__((ext_vector_type(NARROW)));
typedef int32_t NAME(few_integers) __attribute__((ext_vector_type(NARROW)));
#define reals NAME(reals)
#define integers NAME(integers)
#define few NAME(few)
#define few_integers NAME(few_integers)
#define AT(array, at) (*(reals *)((array) + (at)))
#define INTEGERS_AT(array, at) (*(integers *)((array) + (at)))
#define FEW_AT(array, at) (*(few *)((array) + (at)))
#define CODES(value, low, high) LARGER_OF(SMALLER_OF(NEAREST(integers, value), (integers)(high)), (integers)(low))
#define REALS(numbers) __builtin_convertvector(numbers, reals)

// ---- weights in lanes ----------------------------------------------------------------------------------------------

/// Transposes eight rows of eight numbers.
TARGET CK_INLINE void NAME(transpose)(const float *const rows[8], int column, float *target) {
    f32x8 a[8], b[8];
    UNROLLED for (int i = 0; i < 8; i++) a[i] = *(const f32x8_anywhere *)(rows[i] + column);
    UNROLLED for (int i = 0; i < 8; i += 2) {
        b[i] = __builtin_shufflevector(a[i], a[i + 1], 0, 8, 1, 9, 4, 12, 5, 13);
        b[i + 1] = __builtin_shufflevector(a[i], a[i + 1], 2, 10, 3, 11, 6, 14, 7, 15);
    }
    UNROLLED for (int i = 0; i < 8; i += 4) {
        a[i] = __builtin_shufflevector(b[i], b[i + 2], 0, 1, 8, 9, 4, 5, 12, 13);
        a[i + 1] = __builtin_shufflevector(b[i], b[i + 2], 2, 3, 10, 11, 6, 7, 14, 15);
        a[i + 2] = __builtin_shufflevector(b[i + 1], b[i + 3], 0, 1, 8, 9, 4, 5, 12, 13);
        a[i + 3] = __builtin_shufflevector(b[i + 1], b[i + 3], 2, 3, 10, 11, 6, 7, 14, 15);
    }
    UNROLLED for (int i = 0; i < 4; i++) {
        *(f32x8 *)(target + 16 * i) = __builtin_shufflevector(a[i], a[i + 4], 0, 1, 2, 3, 8, 9, 10, 11);
        *(f32x8 *)(target + 16 * (i + 4)) = __builtin_shufflevector(a[i], a[i + 4], 4, 5, 6, 7, 12, 13, 14, 15);
    }
}

/// Reads sixteen blocks of `n` numbers.
TARGET CK_INLINE void NAME(gather)(const float *const rows[16], int n, float target[][16]) {
    for (int half = 0; half < 16; half += 8)
        for (int column = 0; column < n; column += 8) NAME(transpose)(rows + half, column, &target[column][half]);
}

/// Reads at most sixteen blocks of `n` numbers, which follow each other; the lanes after them repeat the last one.
TARGET CK_INLINE void NAME(read)(const float *values, int n, size_t blocks, float target[][16]) {
    const float *rows[16];
    for (int i = 0; i < 16; i++) rows[i] = values + ((size_t)i < blocks ? (size_t)i : blocks - 1) * (size_t)n;
    NAME(gather)(rows, n, target);
}

/// Decides how much errors count, without an importance.
TARGET CK_INLINE void NAME(weigh)(lanes *b, int n, weighing by) {
    for (int at = 0; at < 16; at += WIDTH) {
        reals mean = 0;
        if (by == BY_MEAN_AND_MAGNITUDE) {
            for (int i = 0; i < n; i++) mean += AT(b->x[i], at) * AT(b->x[i], at);
            mean = __builtin_elementwise_sqrt(mean / (float)n);
        }
        for (int i = 0; i < n; i++) {
            const reals x = AT(b->x[i], at);
            AT(b->w[i], at) = by == BY_SQUARE ? x * x : mean + __builtin_elementwise_abs(x);
        }
    }
}

/// Reads the importance, and decides how much errors count: `mean[lane]` is a mean square.
TARGET CK_INLINE void NAME(weigh_important)(lanes *b, const float *importance, int n, size_t blocks, const float *mean) {
    NAME(read)(importance, n, blocks, b->w);
    for (int at = 0; at < 16; at += WIDTH)
        for (int i = 0; i < n; i++) {
            const reals x = AT(b->x[i], at);
            AT(b->w[i], at) *= __builtin_elementwise_sqrt(AT(mean, at) + x * x);
        }
}

/// Adds up how much the errors of each block count.
TARGET CK_INLINE void NAME(add_weights)(lanes *b, int n) {
    for (int at = 0; at < 16; at += WIDTH) {
        reals total = 0;
        for (int i = 0; i < n; i++) total += AT(b->w[i], at);
        AT(b->total, at) = total;
    }
}

// ---- codes in the order of the weights -----------------------------------------------------------------------------

#define CODES_16(value, low, high) \
    LARGER_OF(SMALLER_OF(NEAREST(i32x16, value), (i32x16)(high)), (i32x16)(low))

/// Writes the codes of block `lane` as the search chose them.
TARGET CK_INLINE void NAME(found_codes)(const float *x, int n, int low, int high, const lanes *b, int lane, uint8_t *codes) {
    for (int i = 0; i < n; i += 16) {
        const f32x16 moved = b->inverse[lane] * (*(const f32x16_anywhere *)(x + i) - b->start[lane]);
        *(u8x16_anywhere *)(codes + i) = __builtin_convertvector(CODES_16(moved, low, high) + b->shift[lane], u8x16);
    }
}

/// Writes the codes, of low...high, of block `lane` for a stored scale and minimum. A block whose scale is 0 has those of the search.
TARGET CK_INLINE void NAME(choose)(const float *x, int n, int low, int high, const lanes *b, int lane, float scale, float minimum,
                                   uint8_t *codes) {
    if (scale == 0) {
        NAME(found_codes)(x, n, low, high, b, lane, codes);
        return;
    }
    for (int i = 0; i < n; i += 16) {
        const f32x16 moved = (*(const f32x16_anywhere *)(x + i) + minimum) / scale;
        *(u8x16_anywhere *)(codes + i) = __builtin_convertvector(CODES_16(moved, low, high) - low, u8x16);
    }
}

#include "ggml_ranges_body.h"
#include "ggml_scales_body.h"
#include "ggml_values_body.h"
#include "ggml_fit_body.h"
#include "ggml_grids_body.h"
#include "ggml_grid_fit_body.h"

#undef BEST_INDEX_INT8
#undef WIDTH
#undef NARROW
#undef few
#undef few_integers
#undef FEW_AT
#undef reals
#undef integers
#undef AT
#undef INTEGERS_AT
#undef CODES
#undef REALS
#undef CODES_16
#undef NAME
#undef TARGET
