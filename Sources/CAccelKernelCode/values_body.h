// The kernels of values.c for one instruction set, which defines NAME(x) and TARGET.

typedef float NAME(floats) __attribute__((ext_vector_type(8), aligned(4)));
typedef double NAME(doubles) __attribute__((ext_vector_type(8), aligned(8)));
typedef float NAME(sixteen) __attribute__((ext_vector_type(16), aligned(4)));
typedef int32_t NAME(words) __attribute__((ext_vector_type(8)));
typedef uint8_t NAME(bytes) __attribute__((ext_vector_type(8), aligned(1)));

// No function here takes or returns a vector: compilers warn of vectors that the plain set has no registers for.

TARGET static void NAME(distortion)(const float *x, const float *stored, size_t count, double sums[3]) {
    NAME(doubles) errors = 0, squares = 0, largest = 0;
    for (size_t index = 0; index < count; index += 8) {
        // The last elements are followed by zeros, which add nothing.
        NAME(floats) a = 0, b = 0;
        if (index + 8 <= count) {
            a = *(const NAME(floats) *)(x + index), b = *(const NAME(floats) *)(stored + index);
        } else {
            for (size_t lane = 0; index + lane < count; lane++) a[lane] = x[index + lane], b[lane] = stored[index + lane];
        }
        const NAME(doubles) value = __builtin_convertvector(a, NAME(doubles));
        const NAME(doubles) error = value - __builtin_convertvector(b, NAME(doubles));
        squares += value * value;
        errors += error * error;
        largest = __builtin_elementwise_max(__builtin_elementwise_abs(error), largest);
    }
    for (int lane = 0; lane < 8; lane++) {
        sums[0] += errors[lane], sums[1] += squares[lane];
        if (largest[lane] > sums[2]) sums[2] = largest[lane];
    }
}

TARGET static void NAME(value_range)(const float *x, size_t count, float *low, float *high) {
    NAME(sixteen) lows = __builtin_inff(), highs = -__builtin_inff();
    size_t index = 0;
    for (; index + 16 <= count; index += 16) {
        const NAME(sixteen) block = *(const NAME(sixteen) *)(x + index);
        lows = block < lows ? block : lows, highs = block > highs ? block : highs;
    }
    float least = __builtin_inff(), most = -__builtin_inff();
    for (int lane = 0; lane < 16; lane++) {
        if (lows[lane] < least) least = lows[lane];
        if (highs[lane] > most) most = highs[lane];
    }
    for (; index < count; index++) {
        if (x[index] < least) least = x[index];
        if (x[index] > most) most = x[index];
    }
    *low = least, *high = most;
}

/// The nearest codes from 0 to `top`, with ties to even.
TARGET CK_INLINE void NAME(codes_of_eight)(const float *x, double scale, double bias, float top, int is_float, uint8_t *codes) {
    const NAME(floats) value = *(const NAME(floats) *)x, zero = 0, last = top;
    NAME(floats) steps;
    if (is_float) steps = (value - (float)bias) / (float)scale;
    else steps = __builtin_convertvector((__builtin_convertvector(value, NAME(doubles)) - bias) / scale, NAME(floats));
    steps = steps > zero ? steps : zero, steps = steps < last ? steps : last;
    // Adding 1.5 * 2^23 rounds to a whole number.
    steps = (steps + 12582912.0f) - 12582912.0f;
    *(NAME(bytes) *)codes = __builtin_convertvector(__builtin_convertvector(steps, NAME(words)), NAME(bytes));
}

TARGET static void NAME(affine_codes)(const float *x, size_t count, double scale, double bias, float top, int is_float, uint8_t *codes) {
    size_t index = 0;
    for (; index + 8 <= count; index += 8) NAME(codes_of_eight)(x + index, scale, bias, top, is_float, codes + index);
    if (index < count) {
        float rest[8] = {0};
        uint8_t last[8];
        ck_copy(rest, x + index, (count - index) * sizeof(float));
        NAME(codes_of_eight)(rest, scale, bias, top, is_float, last);
        ck_copy(codes + index, last, count - index);
    }
}

TARGET static void NAME(affine_values)(const uint8_t *codes, size_t count, double scale, double bias, float *target) {
    size_t index = 0;
    for (; index + 8 <= count; index += 8) {
        const NAME(doubles) code = __builtin_convertvector(*(const NAME(bytes) *)(codes + index), NAME(doubles));
        *(NAME(floats) *)(target + index) = __builtin_convertvector(code * scale + bias, NAME(floats));
    }
    for (; index < count; index++) target[index] = (float)(scale * (double)codes[index] + bias);
}

#undef NAME
#undef TARGET
