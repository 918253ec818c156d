// Shared by the code of the kernels; not part of the interface.
#ifndef CKERNELS_INTERNAL_H
#define CKERNELS_INTERNAL_H

#include "../CAccelKernels/internal.h"

#define UNROLLED _Pragma("clang loop unroll(full)")

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

#endif
