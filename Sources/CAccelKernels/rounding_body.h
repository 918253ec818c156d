// The rounding of rows for one instruction set, which defines NAME(x) and TARGET.

typedef float NAME(reals) __attribute__((ext_vector_type(16), aligned(4)));
typedef int16_t NAME(shorts) __attribute__((ext_vector_type(16), aligned(2)));
#define REALS NAME(reals)

/// Returns the scale and the lowest step of a row: those of `range`, or the range of the row and 0 is divided into 255 steps.
TARGET CK_INLINE ck_rounding NAME(rounding)(const float *x, size_t count, const ck_rounding *range) {
    REALS low[2] = {0, 0}, high[2] = {0, 0}, finite[2] = {0, 0};
    size_t i = 0;
    for (; i + 32 <= count; i += 32) {
#pragma clang loop unroll(full)
        for (int v = 0; v < 2; v++) {
            const REALS values = *(const REALS *)(x + i + 16 * v);
            low[v] = __builtin_elementwise_min(low[v], values);
            high[v] = __builtin_elementwise_max(high[v], values);
            finite[v] += values - values;
        }
    }
    low[0] = __builtin_elementwise_min(low[0], low[1]);
    high[0] = __builtin_elementwise_max(high[0], high[1]);
    finite[0] += finite[1];
    float least = 0, most = 0, difference = 0;
#pragma clang loop unroll(full)
    for (int lane = 0; lane < 16; lane++) {
        least = low[0][lane] < least ? low[0][lane] : least;
        most = high[0][lane] > most ? high[0][lane] : most;
        difference += finite[0][lane];
    }
    for (; i < count; i++) {
        least = x[i] < least ? x[i] : least;
        most = x[i] > most ? x[i] : most;
        difference += x[i] - x[i];
    }
    // A number less itself is 0, unless it is infinite or no number.
    if (difference != 0) return (ck_rounding){__builtin_nanf(""), 0};
    if (range) return *range;
    // The difference of the two may overflow.
    float scale = most / 255 - least / 255;
    if (scale < 0x1p-126f) scale = 0x1p-126f;
    return (ck_rounding){scale, (int32_t)__builtin_rintf(least * (1 / scale))};
}

/// Sixteen steps, as float32.
TARGET CK_INLINE void NAME(steps)(const float *x, float inverse, float lowest, REALS *steps) {
    *steps = __builtin_elementwise_rint(*(const REALS *)x * (REALS)inverse);
    *steps = __builtin_elementwise_max(*steps, (REALS)lowest);
    // A step of -0 becomes 0.
    *steps = __builtin_elementwise_min(*steps, (REALS)(lowest + 255)) + (REALS)0.0f;
}

TARGET static void NAME(round_row)(const float *x, size_t count, const ck_rounding *range, int16_t *steps,
                                   ck_rounding *target) {
    const ck_rounding rounding = NAME(rounding)(x, count, range);
    *target = rounding;
    const size_t padded = (count + 63) / 64 * 64;
    if (rounding.scale != rounding.scale) {
        for (size_t i = 0; i < padded; i++) steps[i] = 0;
        return;
    }
    const float inverse = 1 / rounding.scale, lowest = (float)rounding.lowest;
    REALS own;
    size_t i = 0;
    for (; i + 16 <= count; i += 16) {
        NAME(steps)(x + i, inverse, lowest, &own);
        *(NAME(shorts) *)(steps + i) = __builtin_convertvector(own, NAME(shorts));
    }
    float rest[16] = {0};
    ck_copy(rest, x + i, (count - i) * sizeof(float));
    for (; i < padded; i += 16) {
        // Zero is step 0, whatever the range is.
        NAME(steps)(rest, inverse, lowest, &own);
        *(NAME(shorts) *)(steps + i) = __builtin_convertvector(own, NAME(shorts));
        for (int k = 0; k < 16; k++) rest[k] = 0;
    }
}

TARGET static void NAME(rounded_row)(const float *x, size_t count, const ck_rounding *range, float *target) {
    const ck_rounding rounding = NAME(rounding)(x, count, range);
    const float scale = rounding.scale, inverse = 1 / scale, lowest = (float)rounding.lowest;
    if (scale != scale) {
        for (size_t i = 0; i < count; i++) target[i] = scale;
        return;
    }
    REALS own;
    size_t i = 0;
    for (; i + 16 <= count; i += 16) {
        NAME(steps)(x + i, inverse, lowest, &own);
        *(REALS *)(target + i) = own * (REALS)scale;
    }
    float rest[16] = {0};
    ck_copy(rest, x + i, (count - i) * sizeof(float));
    NAME(steps)(rest, inverse, lowest, &own);
    own *= (REALS)scale;
    ck_copy(target + i, &own, (count - i) * sizeof(float));
}

#undef REALS
#undef NAME
#undef TARGET
