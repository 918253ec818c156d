// Vectors of sixteen float32, and the sums of rows whose products are added in them: the same bits for every instruction
// set. Included by the bodies of products, which define NAME(x) and TARGET, and include sums_end.h at their end.

#include "fused.h"

typedef float NAME(floats) __attribute__((ext_vector_type(16), aligned(4)));
typedef float NAME(four) __attribute__((ext_vector_type(4), aligned(4)));
typedef float NAME(eight) __attribute__((ext_vector_type(8), aligned(4)));
#define FLOATS NAME(floats)
#if NAME(FMA_IS_CALL)
#define FMA(a, b, c) FMA_BY_CALL(FLOATS, a, b, c)
#else
#define FMA(a, b, c) __builtin_elementwise_fma(a, b, c)
#endif
#define AT(p) (*(const FLOATS *)(p))

TARGET CK_INLINE float NAME(sum)(const FLOATS *values) { return IN_HALVES(float, *values, SUM_OF); }

/// The sums of four vectors, each with the bits of `sum`.
TARGET CK_INLINE void NAME(sums_of_4)(const FLOATS *v, float *target) {
    const FLOATS a = __builtin_shufflevector(v[0], v[1], 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23) +
                     __builtin_shufflevector(v[0], v[1], 8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31);
    const FLOATS b = __builtin_shufflevector(v[2], v[3], 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23) +
                     __builtin_shufflevector(v[2], v[3], 8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31);
    const FLOATS c = __builtin_shufflevector(a, b, 0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27) +
                     __builtin_shufflevector(a, b, 4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22, 23, 28, 29, 30, 31);
    const NAME(eight) d = __builtin_shufflevector(c, c, 0, 1, 4, 5, 8, 9, 12, 13) +
                          __builtin_shufflevector(c, c, 2, 3, 6, 7, 10, 11, 14, 15);
    *(NAME(four) *)target = __builtin_shufflevector(d, d, 0, 2, 4, 6) + __builtin_shufflevector(d, d, 1, 3, 5, 7);
}

/// Sums each row of a product, whose lanes LANES(row, lanes) computes, to `target`.
#define SUM_ROWS(LANES)                                                                    \
    {                                                                                      \
        FLOATS lanes[4];                                                                   \
        size_t row = 0;                                                                    \
        for (; row + 4 <= rows; row += 4) {                                                \
            _Pragma("clang loop unroll(disable)") for (size_t next = 0; next < 4; next++)  \
                LANES(row + next, &lanes[next]);                                           \
            NAME(sums_of_4)(lanes, target + row);                                          \
        }                                                                                  \
        for (; row < rows; row++) {                                                        \
            LANES(row, lanes);                                                             \
            target[row] = NAME(sum)(lanes);                                                \
        }                                                                                  \
    }

/// Copies the end of a row, padded with zeros.
TARGET CK_INLINE void NAME(rest)(const void *source, size_t bytes, uint8_t *buffer, size_t size) {
    for (size_t i = 0; i < size; i++) buffer[i] = 0;
    ck_copy(buffer, source, bytes);
}
