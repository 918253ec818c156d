// The kernel of reference runs. It is in C, because a debug build of the same loop in Swift is many times slower.
#include "internal.h"

#pragma clang fp contract(off)

typedef float floats __attribute__((ext_vector_type(8), aligned(4)));
typedef double doubles __attribute__((ext_vector_type(8), aligned(8)));

void ck_reference_dot(const float *a, const float *b, size_t count, double sums[8]) {
    doubles sum = 0;
    for (size_t index = 0; index + 8 <= count; index += 8) {
        sum += __builtin_convertvector(*(const floats *)(a + index), doubles)
               * __builtin_convertvector(*(const floats *)(b + index), doubles);
    }
    *(doubles *)sums = sum;
}
