// The rounding of rows for one instruction set, which defines NAME(x) and TARGET.

typedef float NAME(reals) __attribute__((ext_vector_type(16), aligned(4)));
typedef int16_t NAME(shorts) __attribute__((ext_vector_type(16), aligned(2)));
typedef uint8_t NAME(bytes) __attribute__((ext_vector_type(16), aligned(1)));
#define REALS NAME(reals)

/// Returns the scale and the lowest step of a row: those of `range`, or the range of the row and 0 is divided into 255 steps.
TARGET CK_INLINE ck_rounding NAME(rounding)(const float *x, size_t count, const ck_rounding *range) {
    REALS low[2] = {0, 0}, high[2] = {0, 0}, finite[2] = {0, 0};
    size_t i = 0;
    for (; i + 32 <= count; i += 32) {
#pragma clang loop unroll(full)
        for (int v = 0; v < 2; v++) {
            const REALS values = *(const REALS *)(x + i + 16 * v);
            low[v] = SMALLER_OF(low[v], values);
            high[v] = LARGER_OF(values, high[v]);
            finite[v] += values - values;
        }
    }
    const REALS lows = SMALLER_OF(low[0], low[1]), highs = LARGER_OF(high[1], high[0]), differences = finite[0] + finite[1];
    float least = IN_HALVES(float, lows, SMALLER_OF), most = IN_HALVES(float, highs, LARGER_OF);
    float difference = IN_HALVES(float, differences, SUM_OF);
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
    const REALS least = (REALS)lowest, most = (REALS)(lowest + 255);
    *steps = LARGER_OF(*steps, least);
    // A step of -0 becomes 0.
    *steps = SMALLER_OF(*steps, most) + (REALS)0.0f;
}

/// Rounds a row, and fills up its last 64 with zeros, as steps or as codes: steps less the lowest.
TARGET CK_INLINE void NAME(row)(const float *x, size_t count, const ck_rounding *range, int16_t *steps, uint8_t *codes,
                                ck_rounding *target) {
    const ck_rounding rounding = NAME(rounding)(x, count, range);
    *target = rounding;
    const size_t padded = (count + 63) / 64 * 64;
    if (rounding.scale != rounding.scale) {
        for (size_t i = 0; i < padded; i++)
            if (steps) steps[i] = 0;
            else codes[i] = 0;
        return;
    }
    const float inverse = 1 / rounding.scale, lowest = (float)rounding.lowest;
    float rest[16] = {0};
    const size_t whole = count / 16 * 16;
    ck_copy(rest, x + whole, (count - whole) * sizeof(float));
    for (size_t i = 0; i < padded; i += 16) {
        REALS own;
        // Zero is step 0, whatever the range is.
        NAME(steps)(i < whole ? x + i : rest, inverse, lowest, &own);
        if (steps) *(NAME(shorts) *)(steps + i) = __builtin_convertvector(own, NAME(shorts));
        else *(NAME(bytes) *)(codes + i) = __builtin_convertvector(own - (REALS)lowest, NAME(bytes));
        if (i >= whole)
            for (int k = 0; k < 16; k++) rest[k] = 0;
    }
}

TARGET static void NAME(round_row)(const float *x, size_t count, const ck_rounding *range, int16_t *steps,
                                   ck_rounding *target) {
    NAME(row)(x, count, range, steps, 0, target);
}

TARGET static void NAME(round_row_to_codes)(const float *x, size_t count, const ck_rounding *range, uint8_t *codes,
                                            ck_rounding *target) {
    NAME(row)(x, count, range, 0, codes, target);
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
