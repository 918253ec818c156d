// Elementwise and row kernels for one instruction set, which defines NAME(x) and TARGET.

#include "functions_body.h"

/// Loads the 16 values at `i`, with `fill` past `count`.
TARGET CK_INLINE void NAME(load)(const float *x, size_t i, size_t count, float fill, FLOATS *values) {
    if (i + 16 <= count) {
        *values = *(const FLOATS *)(x + i);
    } else {
        *values = fill;
        ck_copy(values, x + i, (count - i) * sizeof(float));
    }
}

TARGET CK_INLINE void NAME(store)(float *x, size_t i, size_t count, const FLOATS *values) {
    if (i + 16 <= count)
        *(FLOATS *)(x + i) = *values;
    else
        ck_copy(x + i, values, (count - i) * sizeof(float));
}

TARGET CK_INLINE double NAME(total)(const DOUBLES *lanes) { return IN_HALVES(double, *lanes, SUM_OF); }

TARGET CK_INLINE float NAME(largest_of)(const FLOATS *values) { return IN_HALVES(float, *values, LARGER_OF); }

/// - Parameter is_scored: whether the row is multiplied with `factor` first, and `mask` added unless it is NULL.
TARGET CK_INLINE void NAME(softmax_row)(float *row, size_t count, float factor, const float *mask, const int is_scored,
                                       ck_cancellation cancellation) {
    const float nothing = -__builtin_inff();
    FLOATS largest = nothing;
    CK_STEPS_OF_ROW(i, 16, count, cancellation) {
        FLOATS x;
        NAME(load)(row, i, count, nothing, &x);
        if (is_scored) {
            x *= factor;
            if (mask) {
                FLOATS terms;
                NAME(load)(mask, i, count, nothing, &terms);
                x += terms;
            }
            NAME(store)(row, i, count, &x);
            // What is past the end may have become NaN.
            if (i + 16 > count) NAME(load)(row, i, count, nothing, &x);
        }
        largest = x > largest ? x : largest;
    }
    const FLOATS tops = NAME(largest_of)(&largest);
    DOUBLES sums = 0.0;
    CK_STEPS_OF_ROW(i, 16, count, cancellation) {
        FLOATS x, power;
        NAME(load)(row, i, count, nothing, &x);
        PAIR below;
        NAME(subtract)(&x, &tops, &below);
        // Farther below, where the lanes past the end are too, the exponential is 0.
        INTS far = below.high < -120.0f;
        below.high = far ? (FLOATS)-120.0f : below.high;
        below.low = far ? (FLOATS)0.0f : below.low;
        NAME(exponential_below)(&below, &power);
        x = power * 0x1p-64f;
        sums += WIDE(x);
        NAME(store)(row, i, count, &x);
    }
    float inverse = (float)(1 / NAME(total)(&sums));
    CK_STEPS_OF_ROW(i, 16, count, cancellation) {
        FLOATS x;
        NAME(load)(row, i, count, 0.0f, &x);
        x *= inverse;
        NAME(store)(row, i, count, &x);
    }
}

/// A row of `weigh_scores`. Returns the factor of the sums of values that were weighted before.
TARGET CK_INLINE float NAME(weigh_row)(float *row, size_t count, float factor, const float *mask, ck_softmax_row *state) {
    const float nothing = -__builtin_inff();
    FLOATS largest = nothing;
    if (mask || !(factor > 0)) {
        for (size_t i = 0; i < count; i += 16) {
            FLOATS x, terms = 0;
            NAME(load)(row, i, count, 0.0f, &x);
            if (mask) NAME(load)(mask, i, count, 0.0f, &terms);
            x = FMA(x, (FLOATS)factor, terms);
            NAME(store)(row, i, count, &x);
            if (i + 16 > count) NAME(load)(row, i, count, nothing, &x);
            largest = x > largest ? x : largest;
        }
        factor = 1;
    } else {
        for (size_t i = 0; i < count; i += 16) {
            FLOATS x;
            NAME(load)(row, i, count, nothing, &x);
            largest = x > largest ? x : largest;
        }
    }
    const float before = state->largest, top = NAME(largest_of)(&largest) * factor;
    if (top > before) state->largest = top;
    // Without any number above -infinity, all weights are 0.
    const float base = state->largest == nothing ? 0 : state->largest;
    DOUBLES sums = 0.0;
    for (size_t start = 0; start < count; start += 256) {
        // Few numbers are added in float32.
        const size_t end = count - start < 256 ? count : start + 256;
        FLOATS part = 0;
        for (size_t i = start; i < end; i += 16) {
            FLOATS x, weight;
            NAME(load)(row, i, count, nothing, &x);
            x = FMA(x, (FLOATS)factor, (FLOATS)-base);
            NAME(weight_below)(&x, &weight);
            part += weight;
            NAME(store)(row, i, count, &weight);
        }
        sums += WIDE(part);
    }
    float correction = 1;
    // Before the first weight, the sums are 0.
    if (state->largest != before && before != nothing) {
        FLOATS x = before - base, weight;
        NAME(weight_below)(&x, &weight);
        correction = weight[0];
    }
    state->sum = state->sum * (double)correction + NAME(total)(&sums);
    return correction;
}

TARGET static void NAME(weigh_scores)(float *scores, size_t rows, size_t keys, float factor, const float *mask, size_t mask_stride,
                                      ck_softmax_row *states, float *values, size_t stride, size_t width) {
    for (size_t row = 0; row < rows; row++) {
        float *own = values + row * stride;
        const float correction =
            NAME(weigh_row)(scores + row * keys, keys, factor, mask ? mask + row * mask_stride : mask, states + row);
        if (correction == 1) continue;
        for (size_t i = 0; i < width; i++) own[i] *= correction;
    }
}

TARGET static void NAME(divide_by_weights)(const ck_softmax_row *states, size_t rows, float *values, size_t stride, size_t width) {
    for (size_t row = 0; row < rows; row++) {
        const float inverse = (float)(1 / states[row].sum);
        for (size_t i = 0; i < width; i++) values[row * stride + i] *= inverse;
    }
}

TARGET static void NAME(softmax)(float *row, size_t count, ck_cancellation cancellation) {
    NAME(softmax_row)(row, count, 1, 0, 0, cancellation);
}

TARGET static void NAME(softmax_scores)(float *row, size_t count, float factor, const float *mask) {
    NAME(softmax_row)(row, count, factor, mask, 1, (ck_cancellation){0, 0});
}

TARGET static void NAME(layer_norm)(const float *x, const float *gain, const float *shift, double epsilon,
                                    float *target, size_t count, ck_cancellation cancellation) {
    DOUBLES sums = 0.0;
    CK_STEPS_OF_ROW(i, 16, count, cancellation) {
        FLOATS v;
        NAME(load)(x, i, count, 0.0f, &v);
        sums += WIDE(v);
    }
    double mean = NAME(total)(&sums) / (double)count;
    sums = 0.0;
    CK_STEPS_OF_ROW(i, 16, count, cancellation) {
        FLOATS v;
        NAME(load)(x, i, count, 0.0f, &v);
        DOUBLES distance = WIDE(v) - mean;
        if (i + 16 > count)
            for (size_t lane = count - i; lane < 16; lane++) distance[lane] = 0;
        sums += distance * distance;
    }
    double variance = NAME(total)(&sums) / (double)count;
    double scale = 1 / __builtin_sqrt(variance + epsilon);
    CK_STEPS_OF_ROW(i, 16, count, cancellation) {
        FLOATS v, g, s;
        NAME(load)(x, i, count, 0.0f, &v);
        NAME(load)(gain, i, count, 0.0f, &g);
        NAME(load)(shift, i, count, 0.0f, &s);
        v = NARROW((WIDE(v) - mean) * scale * WIDE(g) + WIDE(s));
        NAME(store)(target, i, count, &v);
    }
}

TARGET static void NAME(rms_norm)(const float *x, const float *gain, double epsilon, float *target, size_t count,
                                  ck_cancellation cancellation) {
    DOUBLES sums = 0.0;
    CK_STEPS_OF_ROW(i, 16, count, cancellation) {
        FLOATS v;
        NAME(load)(x, i, count, 0.0f, &v);
        sums += WIDE(v) * WIDE(v);
    }
    double scale = 1 / __builtin_sqrt(NAME(total)(&sums) / (double)count + epsilon);
    CK_STEPS_OF_ROW(i, 16, count, cancellation) {
        FLOATS v, g;
        NAME(load)(x, i, count, 0.0f, &v);
        NAME(load)(gain, i, count, 0.0f, &g);
        v = NARROW(WIDE(v) * scale * WIDE(g));
        NAME(store)(target, i, count, &v);
    }
}

TARGET static void NAME(rope)(const float *x, const float *cos, const float *sin, size_t half, float *target,
                              size_t width) {
    for (size_t i = 0; i < half; i += 16) {
        FLOATS a, b, c, s;
        NAME(load)(x, i, half, 0.0f, &a);
        NAME(load)(x + half, i, half, 0.0f, &b);
        NAME(load)(cos, i, half, 0.0f, &c);
        NAME(load)(sin, i, half, 0.0f, &s);
        FLOATS first = NARROW(WIDE(a) * WIDE(c) - WIDE(b) * WIDE(s));
        FLOATS second = NARROW(WIDE(b) * WIDE(c) + WIDE(a) * WIDE(s));
        NAME(store)(target, i, half, &first);
        NAME(store)(target + half, i, half, &second);
    }
    for (size_t i = 2 * half; i < width; i++) target[i] = x[i];
}

#undef PAIR
#undef FLOATS
#undef DOUBLES
#undef INTS
#undef WIDE
#undef NARROW
#undef FMA
#undef NAME
#undef TARGET
