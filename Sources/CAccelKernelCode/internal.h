// Shared by the code of the kernels; not part of the interface.
#ifndef CKERNELS_INTERNAL_H
#define CKERNELS_INTERNAL_H

#include "../CAccelKernels/internal.h"

#define UNROLLED _Pragma("clang loop unroll(full)")

/// Two steps of 16 bits, read as one number of 32 bits.
typedef int32_t int_at_2 __attribute__((aligned(2), may_alias));
/// Four step codes, read as one number of 32 bits.
typedef int32_t int_at_1 __attribute__((aligned(1), may_alias));

// Operations of two vectors or numbers. As comparisons, the smaller and the larger take one instruction, and may lose a NaN.
#define SUM_OF(a, b) ((a) + (b))
#define SMALLER_OF(a, b) ((b) < (a) ? (b) : (a))
#define LARGER_OF(a, b) ((a) > (b) ? (a) : (b))

/// Combines sixteen numbers of a vector by one of these, in halves, which all instruction sets do alike.
#define IN_HALVES(number, vector, both)                                                                             \
    ({                                                                                                              \
        typedef number eight_numbers __attribute__((ext_vector_type(8)));                                           \
        typedef number four_numbers __attribute__((ext_vector_type(4)));                                            \
        const eight_numbers low = __builtin_shufflevector(vector, vector, 0, 1, 2, 3, 4, 5, 6, 7);                  \
        const eight_numbers high = __builtin_shufflevector(vector, vector, 8, 9, 10, 11, 12, 13, 14, 15);           \
        const eight_numbers half = both(low, high);                                                                 \
        const four_numbers first = __builtin_shufflevector(half, half, 0, 1, 2, 3);                                 \
        const four_numbers second = __builtin_shufflevector(half, half, 4, 5, 6, 7);                                \
        const four_numbers quarter = both(first, second);                                                           \
        const number even = both(quarter[0], quarter[2]), odd = both(quarter[1], quarter[3]);                       \
        both(even, odd);                                                                                            \
    })

/// Adds sixteen numbers in halves.
CK_INLINE float sum_of_16(const float lanes[16]) {
    typedef float sixteen_numbers __attribute__((ext_vector_type(16)));
    sixteen_numbers values;
    ck_copy(&values, lanes, sizeof values);
    return IN_HALVES(float, values, SUM_OF);
}

/// Elements of a row that are done before a kernel asks whether the work has to end.
enum { ck_row_part = 1 << 16 };

CK_INLINE int ck_may_go_on(ck_cancellation cancellation, size_t start) {
    // The first part is the only one of most rows.
    return __builtin_expect(start == 0, 1) || !cancellation.must_end || !cancellation.must_end(cancellation.context);
}

/// A loop over a row: `i` is 0, `step`, 2 `step` and so on, below `count`, until the work has to end. `step` is a power of 2.
#define CK_STEPS_OF_ROW(i, step, count, cancellation)                                                                   \
    for (size_t part = 0; part < (count) && ck_may_go_on(cancellation, part); part += ck_row_part)                      \
        for (size_t i = part, part_end = (count) - part < ck_row_part ? (count) : part + ck_row_part; i < part_end; i += (step))

/// The scale of a row of `count` codes, which follows them.
CK_INLINE float byte_row_scale(const void *row, size_t count) {
    float scale;
    ck_copy(&scale, (const int8_t *)row + count, sizeof scale);
    return scale;
}

/// Prefetches codes or halves that come later, to the second cache level. Harmless past the end of the rows, unless
/// another thread writes there: a line that is taken from it has to be taken back.
#define prefetch_codes(p) __builtin_prefetch((const char *)(p) + 4096, 0, 2)

/// Prefetches `count` numbers, at most 32, that are written some hundred cycles later.
CK_INLINE void prefetch_target(const float *target, size_t count) {
    __builtin_prefetch(target, 1);
    if (count > 16) __builtin_prefetch(target + 16, 1);
    // Where the numbers do not begin with a line, they end in another.
    __builtin_prefetch(target + count - 1, 1);
}

#if CK_X86
/// The entries of eight codes, of whose bits the lowest four count: of a table of sixteen, `low` and `high`.
CK_TARGET_AVX2 CK_INLINE __m256 entries_of_16(__m256 low, __m256 high, __m256i codes) {
    // The permutation uses 3 bits of a code. The 4th, shifted to the sign, selects the half of the table.
    return _mm256_blendv_ps(_mm256_permutevar8x32_ps(low, codes), _mm256_permutevar8x32_ps(high, codes),
                            _mm256_castsi256_ps(_mm256_slli_epi32(codes, 28)));
}
#endif

#if CK_X86
/// Adds sixteen products, each with one rounding, on processors that have no instruction for it. Each product is a call, of which
/// all kernels of the plain set together would have a megabyte, if they were not in one place.
void ck_add_products_plain(const float *a, const float *b, float *sums);

/// The sets NAME whose sums call that function.
#define FMA_IS_CALL_plain 1
#define FMA_BY_CALL(vector, a, b, c)                                                                        \
    ({                                                                                                      \
        const vector fma_a = (a), fma_b = (b);                                                              \
        vector fma_c = (c);                                                                                 \
        ck_add_products_plain((const float *)&fma_a, (const float *)&fma_b, (float *)&fma_c);               \
        fma_c;                                                                                              \
    })
#endif

/// Calls the variant of a kernel for the instruction set in use: `_plain`, `_avx2` or `_avx512`.
#if CK_X86
#define CK_CHOOSE(kernel, ...)                                         \
    (ck_current_isa() == CK_AVX512 ? kernel##_avx512(__VA_ARGS__)      \
     : ck_current_isa() == CK_AVX2 ? kernel##_avx2(__VA_ARGS__)        \
                                   : kernel##_plain(__VA_ARGS__))
#else
// On ARM, NEON is part of the plain compilation.
#define CK_CHOOSE(kernel, ...) kernel##_plain(__VA_ARGS__)
#endif

// The columns of a panel: two AVX-512 vectors. Narrower sets compute a panel in several columns of tiles.
#define PANEL_WIDTH 32
// The number of products that a matrix product sums before it adds them to the result. Rounding errors grow with the root of this
// number, as long as there are few such sums: 192 has 1.4 times the error where there are many products, and is no faster.
#define K_BLOCK 96
// The number of products for which all rows of a block meet a panel, before the next ones follow: the fewer, the more often results
// are read and written; the more, the less of a panel stays in the first cache level. A multiple of K_BLOCK.
#define PART_DEPTH (4 * K_BLOCK)
// The same for tiles of AVX2, which are so small that a panel comes from the second cache level at the speed of their products: results
// that are read and written again cost more.
#define DEEP_PART (16 * K_BLOCK)
// The number of rows of which that part stays in the second cache level while it meets several panels.
#define ROW_BLOCK 128

#endif
