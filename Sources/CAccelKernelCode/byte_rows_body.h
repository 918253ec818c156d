// Rows of codes for one instruction set, which defines NAME(x) and TARGET.

typedef float NAME(reals) __attribute__((ext_vector_type(16), aligned(4)));
typedef int8_t NAME(bytes) __attribute__((ext_vector_type(16), aligned(1)));
#define REALS NAME(reals)

/// Returns the scale of a row: max|x| / 127, at least 2^-126; 0 for a row of zeros, NaN for one that is not finite.
TARGET CK_INLINE float NAME(scale)(const float *x, size_t count, ck_cancellation cancellation) {
    REALS high[2] = {0, 0}, finite[2] = {0, 0};
    const size_t whole = count / 32 * 32;
    CK_STEPS_OF_ROW(i, 32, whole, cancellation) {
#pragma clang loop unroll(full)
        for (int v = 0; v < 2; v++) {
            const REALS values = *(const REALS *)(x + i + 16 * v);
            high[v] = __builtin_elementwise_max(high[v], __builtin_elementwise_abs(values));
            finite[v] += values - values;
        }
    }
    high[0] = __builtin_elementwise_max(high[0], high[1]);
    finite[0] += finite[1];
    float most = 0, difference = 0;
#pragma clang loop unroll(full)
    for (int lane = 0; lane < 16; lane++) {
        most = high[0][lane] > most ? high[0][lane] : most;
        difference += finite[0][lane];
    }
    for (size_t i = whole; i < count; i++) {
        const float size = __builtin_fabsf(x[i]);
        most = size > most ? size : most;
        difference += x[i] - x[i];
    }
    // A number less itself is 0, unless it is infinite or no number.
    if (difference != 0) return __builtin_nanf("");
    const float scale = most / 127;
    return most == 0 ? 0 : scale < 0x1p-126f ? 0x1p-126f : scale;
}

/// Sixteen codes.
TARGET CK_INLINE void NAME(codes)(const float *x, float inverse, NAME(bytes) *codes) {
    REALS steps = __builtin_elementwise_rint(*(const REALS *)x * (REALS)inverse);
    steps = __builtin_elementwise_max(steps, (REALS)-127.0f);
    steps = __builtin_elementwise_min(steps, (REALS)127.0f);
    *codes = __builtin_convertvector(steps, NAME(bytes));
}

TARGET static void NAME(round_byte_row)(const float *x, size_t count, int8_t *row, ck_cancellation cancellation) {
    const float scale = NAME(scale)(x, count, cancellation);
    ck_copy(row + count, &scale, sizeof scale);
    if (!(scale > 0)) {
        for (size_t i = 0; i < count; i++) row[i] = 0;
        return;
    }
    const float inverse = 1 / scale;
    const size_t whole = count / 16 * 16;
    CK_STEPS_OF_ROW(i, 16, whole, cancellation) NAME(codes)(x + i, inverse, (NAME(bytes) *)(row + i));
    if (whole == count) return;
    float rest[16] = {0};
    NAME(bytes) last;
    ck_copy(rest, x + whole, (count - whole) * sizeof(float));
    NAME(codes)(rest, inverse, &last);
    ck_copy(row + whole, &last, count - whole);
}

TARGET static void NAME(widen_codes)(const int8_t *codes, size_t count, float scale, float *target) {
    size_t i = 0;
    for (; i + 16 <= count; i += 16)
        *(REALS *)(target + i) = __builtin_convertvector(*(const NAME(bytes) *)(codes + i), REALS) * (REALS)scale;
    for (; i < count; i++) target[i] = (float)codes[i] * scale;
}

#undef REALS
#undef NAME
#undef TARGET
