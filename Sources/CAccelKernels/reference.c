// The kernels of reference runs and of comparisons. They are in C, because a debug build of the same loops in Swift is
// many times slower.
#include "internal.h"

#pragma clang fp contract(off)

typedef float floats __attribute__((ext_vector_type(8), aligned(4)));
typedef double doubles __attribute__((ext_vector_type(8), aligned(8)));

CK_INLINE void reference_dot_body(const float *a, const float *b, size_t count, double sums[8]) {
    doubles sum = 0;
    for (size_t index = 0; index + 8 <= count; index += 8) {
        sum += __builtin_convertvector(*(const floats *)(a + index), doubles)
               * __builtin_convertvector(*(const floats *)(b + index), doubles);
    }
    *(doubles *)sums = sum;
}

typedef int32_t words __attribute__((ext_vector_type(8), aligned(4)));

CK_INLINE int all_finite_body(const float *x, size_t count) {
    words found = 0;
    size_t index = 0;
    for (; index + 8 <= count; index += 8) found |= (*(const words *)(x + index) & 0x7F800000) == 0x7F800000;
    int32_t any = 0;
    for (int lane = 0; lane < 8; lane++) any |= found[lane];
    for (; index < count; index++) any |= !(__builtin_fabsf(x[index]) <= __FLT_MAX__);
    return !any;
}

CK_INLINE size_t error_sums_body(const float *x, const float *reference, size_t count, double sums[6], uint32_t *buckets) {
    doubles squares = 0, energy = 0, reference_energy = 0, product = 0, largest = 0, peak = 0;
    words flips = 0;
    for (size_t index = 0; index < count; index += 8) {
        // The last elements are followed by zeros, which add nothing to the sums and are not in the buckets.
        const size_t number = count - index < 8 ? count - index : 8;
        floats a = 0, b = 0;
        if (number == 8) {
            a = *(const floats *)(x + index);
            b = *(const floats *)(reference + index);
        } else {
            for (size_t lane = 0; lane < number; lane++) {
                a[lane] = x[index + lane];
                b[lane] = reference[index + lane];
            }
        }
        const doubles wide = __builtin_convertvector(a, doubles), expected = __builtin_convertvector(b, doubles);
        const doubles error = wide - expected, distance = __builtin_elementwise_abs(error);
        squares += error * error;
        energy += wide * wide;
        reference_energy += expected * expected;
        product += wide * expected;
        largest = __builtin_elementwise_max(distance, largest);
        peak = __builtin_elementwise_max(__builtin_elementwise_abs(expected), peak);
        flips -= ((a > 0) & (b < 0)) | ((a < 0) & (b > 0));
        float distances[8];
        *(floats *)distances = __builtin_convertvector(distance, floats);
        for (size_t lane = 0; lane < number; lane++) {
            uint32_t bits;
            ck_copy(&bits, distances + lane, sizeof(bits));
            buckets[bits >> 16]++;
        }
    }
    size_t total = 0;
    for (int lane = 0; lane < 8; lane++) {
        sums[0] += squares[lane];
        sums[1] += reference_energy[lane];
        sums[2] += energy[lane];
        sums[3] += product[lane];
        if (largest[lane] > sums[4]) sums[4] = largest[lane];
        if (peak[lane] > sums[5]) sums[5] = peak[lane];
        total += (uint32_t)flips[lane];
    }
    return total;
}

// Each for every processor, and for wider vectors. No product is joined with a sum, so both have the same bits.
#if CK_X86
#define FUNCTION(result, name, parameters, ...)                                                   \
    CK_TARGET_AVX2 static result name##_avx2 parameters { return name##_body(__VA_ARGS__); }       \
    result ck_##name parameters {                                                                  \
        return ck_current_isa() >= CK_AVX2 ? name##_avx2(__VA_ARGS__) : name##_body(__VA_ARGS__); \
    }
#else
#define FUNCTION(result, name, parameters, ...) \
    result ck_##name parameters { return name##_body(__VA_ARGS__); }
#endif

FUNCTION(void, reference_dot, (const float *a, const float *b, size_t count, double sums[8]), a, b, count, sums)
FUNCTION(int, all_finite, (const float *x, size_t count), x, count)
FUNCTION(size_t, error_sums, (const float *x, const float *reference, size_t count, double sums[6], uint32_t *buckets), x,
         reference, count, sums, buckets)
