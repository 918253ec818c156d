// The kernels of reference runs for one instruction set, which defines NAME(x) and TARGET.

typedef float NAME(floats) __attribute__((ext_vector_type(8), aligned(4)));
typedef double NAME(doubles) __attribute__((ext_vector_type(8), aligned(8)));

TARGET static void NAME(reference_dot)(const float *a, const float *b, size_t count, double sums[8]) {
    NAME(doubles) sum = 0;
    for (size_t index = 0; index + 8 <= count; index += 8) {
        sum += __builtin_convertvector(*(const NAME(floats) *)(a + index), NAME(doubles))
               * __builtin_convertvector(*(const NAME(floats) *)(b + index), NAME(doubles));
    }
    *(NAME(doubles) *)sums = sum;
}

typedef int32_t NAME(words) __attribute__((ext_vector_type(8), aligned(4)));

TARGET static int NAME(all_finite)(const float *x, size_t count) {
    NAME(words) found = 0;
    size_t index = 0;
    for (; index + 8 <= count; index += 8) found |= (*(const NAME(words) *)(x + index) & 0x7F800000) == 0x7F800000;
    int32_t any = 0;
    for (int lane = 0; lane < 8; lane++) any |= found[lane];
    for (; index < count; index++) any |= !(__builtin_fabsf(x[index]) <= __FLT_MAX__);
    return !any;
}

TARGET static size_t NAME(error_sums)(const float *x, const float *reference, size_t count, double sums[6], uint32_t *buckets) {
    NAME(doubles) squares = 0, energy = 0, reference_energy = 0, product = 0, largest = 0, peak = 0;
    NAME(words) flips = 0;
    for (size_t index = 0; index < count; index += 8) {
        // The last elements are followed by zeros, which add nothing to the sums and are not in the buckets.
        const size_t number = count - index < 8 ? count - index : 8;
        NAME(floats) a = 0, b = 0;
        if (number == 8) {
            a = *(const NAME(floats) *)(x + index);
            b = *(const NAME(floats) *)(reference + index);
        } else {
            for (size_t lane = 0; lane < number; lane++) {
                a[lane] = x[index + lane];
                b[lane] = reference[index + lane];
            }
        }
        const NAME(doubles) wide = __builtin_convertvector(a, NAME(doubles)), expected = __builtin_convertvector(b, NAME(doubles));
        const NAME(doubles) error = wide - expected, distance = __builtin_elementwise_abs(error);
        squares += error * error;
        energy += wide * wide;
        reference_energy += expected * expected;
        product += wide * expected;
        largest = __builtin_elementwise_max(distance, largest);
        peak = __builtin_elementwise_max(__builtin_elementwise_abs(expected), peak);
        flips -= ((a > 0) & (b < 0)) | ((a < 0) & (b > 0));
        float distances[8];
        *(NAME(floats) *)distances = __builtin_convertvector(distance, NAME(floats));
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

#undef NAME
#undef TARGET
