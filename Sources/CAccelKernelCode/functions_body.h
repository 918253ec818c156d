// Elementwise functions for one instruction set, of which rows_body.h, which includes this, defines NAME(x) and TARGET.
//
// The body uses vectors of 16, which the compiler splits for the instruction set. The same operations run in the
// same order everywhere, so all sets give the same bits.

#include "fused.h"

typedef float NAME(floats) __attribute__((ext_vector_type(16), aligned(4)));
typedef double NAME(doubles) __attribute__((ext_vector_type(16), aligned(8)));
typedef int32_t NAME(ints) __attribute__((ext_vector_type(16), aligned(4)));
#define FLOATS NAME(floats)
#define DOUBLES NAME(doubles)
#define INTS NAME(ints)
#define WIDE(x) __builtin_convertvector(x, DOUBLES)
#define NARROW(x) __builtin_convertvector(x, FLOATS)
#if NAME(FMA_IS_CALL)
#define FMA(a, b, c) FMA_BY_CALL(FLOATS, a, b, c)
#else
#define FMA(a, b, c) __builtin_elementwise_fma(a, b, c)
#endif

/// A number of twice the precision of float32: the sum of two, of which the lower is at most half a unit of the higher.
typedef struct {
    FLOATS high, low;
} NAME(pair);
#define PAIR NAME(pair)

/// Computes the product of two numbers.
TARGET CK_INLINE void NAME(multiply)(const FLOATS *a, const FLOATS *b, PAIR *product) {
    product->high = *a * *b;
    product->low = FMA(*a, *b, -product->high);
}

/// Computes the difference of two numbers.
TARGET CK_INLINE void NAME(subtract)(const FLOATS *a, const FLOATS *b, PAIR *difference) {
    FLOATS high = *a - *b, less = high - *a;
    difference->high = high;
    difference->low = (*a - (high - less)) - (*b + less);
}

/// Computes x - n ln 2, with the logarithm in two parts: products with the first, and their differences from x, are exact.
TARGET CK_INLINE void NAME(less_logarithms)(const FLOATS *x, const FLOATS *n, FLOATS *rest) {
    *rest = FMA(*n, (FLOATS)-0x1.7f7d1cp-20f, FMA(*n, (FLOATS)-0x1.62e4p-1f, *x));
}

/// Computes e^r for r from -ln 2 / 2 to ln 2 / 2.
TARGET CK_INLINE void NAME(exponential_near_0)(const FLOATS *rest, FLOATS *result) {
    const FLOATS r = *rest;
    FLOATS p = 0x1.a124e4p-13f;
    p = FMA(p, r, (FLOATS)0x1.6d4316p-10f);
    p = FMA(p, r, (FLOATS)0x1.1110e0p-7f);
    p = FMA(p, r, (FLOATS)0x1.5554eap-5f);
    p = FMA(p, r, (FLOATS)0x1.555556p-3f);
    p = FMA(p, r, (FLOATS)0.5f);
    *result = FMA(p * r, r, r) + 1.0f;
}

/// Computes e^x / 2^n, where n is the integer nearest to x / ln 2.
TARGET CK_INLINE void NAME(rest)(const PAIR *x, const FLOATS *n, FLOATS *result) {
    FLOATS r;
    NAME(less_logarithms)(&x->high, n, &r);
    r += x->low;
    NAME(exponential_near_0)(&r, result);
}

/// Computes e^x = part * scale. The argument is a pair because its error becomes a relative error of the result. The
/// scale, a power of two, is separate so that factors can be multiplied in before a result falls below the normal
/// numbers.
TARGET CK_INLINE void NAME(exponential)(const PAIR *argument, FLOATS *part, FLOATS *scale) {
    const float round_to_integer = 0x1.8p23f;
    // Outside of this range the result is 0 or infinity. NaN fails both comparisons and stays.
    FLOATS x = argument->high;
    x = x < -120.0f ? (FLOATS)-120.0f : x;
    x = x > 89.0f ? (FLOATS)89.0f : x;
    FLOATS low = x == argument->high ? argument->low : (FLOATS)0.0f;
    FLOATS n = FMA(x, (FLOATS)0x1.715476p0f, (FLOATS)round_to_integer) - round_to_integer;
    const PAIR limited = {x, low};
    FLOATS p;
    NAME(rest)(&limited, &n, &p);
    // 2^n in two factors: n goes below the smallest and above the largest exponent of a float.
    n = n == n ? n : (FLOATS)0.0f;
    INTS exponent = __builtin_convertvector(n, INTS);
    INTS half = exponent >> 1;
    *part = p * (FLOATS)((half + 127) << 23);
    *scale = (FLOATS)((exponent - half + 127) << 23);
    // The result has to be exactly 0, because a huge factor may follow.
    *scale = x <= -120.0f ? (FLOATS)0.0f : *scale;
}

/// Computes e^x * 2^64 for x in -120...0, for which fewer steps suffice. Times 2^-64, results below the normal numbers
/// are rounded once.
TARGET CK_INLINE void NAME(exponential_below)(const PAIR *x, FLOATS *power) {
    const float round_to_integer = 0x1.8p23f;
    FLOATS turned = FMA(x->high, (FLOATS)0x1.715476p0f, (FLOATS)round_to_integer), n = turned - round_to_integer;
    FLOATS p;
    NAME(rest)(x, &n, &p);
    // The lowest bits of the rounded number are those of n.
    *power = p * (FLOATS)(((INTS)turned << 23) + ((127 + 64) << 23));
}

/// Computes e^x for x at most a little above 0, with a relative error of |x| / 2^24 and a few units; 0 below -87, where results
/// are nearly below the normal numbers.
TARGET CK_INLINE void NAME(weight_below)(const FLOATS *x, FLOATS *weight) {
    const float round_to_integer = 0x1.8p23f;
    const FLOATS turned = FMA(*x, (FLOATS)0x1.715476p0f, (FLOATS)round_to_integer), n = turned - round_to_integer;
    FLOATS r, p;
    NAME(less_logarithms)(x, &n, &r);
    NAME(exponential_near_0)(&r, &p);
    const FLOATS power = p * (FLOATS)(((INTS)turned << 23) + (127 << 23));
    *weight = *x < -87.0f ? (FLOATS)0.0f : power;
}

/// Computes x / (1 + e^-v) without intermediate overflow, where x is not large unless v is.
TARGET CK_INLINE void NAME(gate)(const FLOATS *x, const PAIR *v, FLOATS *result) {
    INTS above = v->high > 0.0f;
    FLOATS away = -__builtin_elementwise_abs(v->high), power;
    INTS far = away <= -120.0f;
    PAIR argument = {far ? (FLOATS)-120.0f : away, far ? (FLOATS)0.0f : above ? -v->low : v->low};
    NAME(exponential_below)(&argument, &power);
    FLOATS denominator = FMA(power, (FLOATS)0x1p-64f, (FLOATS)1.0f);
    // A result that is far below has to be exactly 0, because a huge factor may follow.
    FLOATS scale = far ? (FLOATS)0.0f : (FLOATS)0x1p-64f;
    power = above ? (FLOATS)1.0f : power;
    scale = above ? (FLOATS)1.0f : scale;
    *result = *x * power / denominator * scale;
}

TARGET CK_INLINE void NAME(gelu_erf_16)(FLOATS *values) {
    // x * Phi(x), with a Phi(-a) = e^(-a^2/2) h(t) w for a >= 0, w = a / (a + 4) and t = 2 w - 1. h is a polynomial (least
    // relative error on 0...15, 9e-9). Never 1 + erf, which loses the digits of negative x.
    FLOATS x = *values;
    FLOATS a = __builtin_elementwise_abs(x);
    // Farther away the result is 0, too, or x.
    a = a > 15.0f ? (FLOATS)15.0f : a;
    FLOATS half = a * -0.5f, power;
    PAIR square;
    NAME(multiply)(&a, &half, &square);
    NAME(exponential_below)(&square, &power);
    FLOATS w = FMA((FLOATS)-4.0f, 1.0f / (a + 4.0f), (FLOATS)1.0f), t = FMA((FLOATS)2.0f, w, (FLOATS)-1.0f);
    FLOATS h = -0x1.196e18p-13f;
    h = FMA(h, t, (FLOATS)0x1.6e497cp-13f);
    h = FMA(h, t, (FLOATS)0x1.9b2618p-10f);
    h = FMA(h, t, (FLOATS)-0x1.cc1722p-9f);
    h = FMA(h, t, (FLOATS)-0x1.ed17d8p-8f);
    h = FMA(h, t, (FLOATS)0x1.eed34cp-5f);
    h = FMA(h, t, (FLOATS)-0x1.7e001ep-3f);
    h = FMA(h, t, (FLOATS)0x1.8c6d9ep-2f);
    h = FMA(h, t, (FLOATS)-0x1.373e38p-1f);
    h = FMA(h, t, (FLOATS)0x1.82b4bcp-1f);
    PAIR lost;
    NAME(multiply)(&h, &power, &lost);
    // The complete result for negative x. Minus infinity times 0 is NaN, as in the definition.
    FLOATS far = (x > 0.0f ? x : x * 0.0f) - FMA(lost.high, w, lost.low * w) * 0x1p-64f;
    // Near zero the error of 1 - Phi(-x) is large against the result: there Phi(x) = 1/2 + x p(x^2).
    FLOATS s = x * x;
    FLOATS p = -0x1.010b86p-17f;
    p = FMA(p, s, (FLOATS)0x1.dc102ap-14f);
    p = FMA(p, s, (FLOATS)-0x1.36fe32p-10f);
    p = FMA(p, s, (FLOATS)0x1.46ce58p-7f);
    p = FMA(p, s, (FLOATS)-0x1.105832p-4f);
    p = FMA(p, s, (FLOATS)0x1.988454p-2f);
    *values = a < 1.0f ? x * FMA(p, x, (FLOATS)0.5f) : far;
}

TARGET CK_INLINE void NAME(gelu_tanh_16)(FLOATS *values) {
    // x/2 (1 + tanh(u)) = x / (1 + e^-2u), 2u = 2 sqrt(2/pi) (1 + 0.044715 x^2) x
    const FLOATS first = 0x1.988454p0f, second = 0x1.2444f2p-4f;
    FLOATS x = *values;
    PAIR square, cubic, factor, v;
    NAME(multiply)(&x, &x, &square);
    NAME(multiply)(&square.high, &second, &cubic);
    FLOATS minus = -cubic.high;
    NAME(subtract)(&first, &minus, &factor);
    // What products and the sum have lost, and what the constants are beyond float32.
    factor.low += cubic.low + FMA(square.low, second, FMA(square.high, (FLOATS)0x1.49b16ap-29f, (FLOATS)-0x1.857936p-25f));
    NAME(multiply)(&x, &factor.high, &v);
    v.low = FMA(x, factor.low, v.low);
    NAME(gate)(values, &v, values);
}

TARGET CK_INLINE void NAME(gelu_quick_16)(FLOATS *values) {
    const FLOATS factor = 0x1.b3b646p0f;
    PAIR v;
    NAME(multiply)(values, &factor, &v);
    v.low = FMA(*values, (FLOATS)-0x1.78d4fep-26f, v.low);
    NAME(gate)(values, &v, values);
}

TARGET CK_INLINE void NAME(sigmoid_16)(FLOATS *values) {
    PAIR v = {*values, 0.0f};
    FLOATS one = 1.0f;
    NAME(gate)(&one, &v, values);
}

TARGET CK_INLINE void NAME(silu_16)(FLOATS *values) {
    PAIR v = {*values, 0.0f};
    NAME(gate)(values, &v, values);
}

TARGET CK_INLINE void NAME(exp_16)(FLOATS *values) {
    PAIR x = {*values, 0.0f};
    FLOATS part, scale;
    NAME(exponential)(&x, &part, &scale);
    *values = part * scale;
}

TARGET CK_INLINE void NAME(tanh_16)(FLOATS *values) {
    FLOATS x = *values, a = __builtin_elementwise_abs(x), s = a * a;
    // x + x^3 p(x^2) near zero, (1 - e^-2a) / (1 + e^-2a) elsewhere.
    FLOATS p = 0x1.2977d8p-9f;
    p = FMA(p, s, (FLOATS)-0x1.10bbf4p-7f);
    p = FMA(p, s, (FLOATS)0x1.648e8ep-6f);
    p = FMA(p, s, (FLOATS)-0x1.ba0718p-5f);
    p = FMA(p, s, (FLOATS)0x1.1110e4p-3f);
    p = FMA(p, s, (FLOATS)-0x1.555556p-2f);
    FLOATS near = FMA(p * s, a, a);
    PAIR argument = {a * -2.0f, 0.0f};
    FLOATS part, scale;
    NAME(exponential)(&argument, &part, &scale);
    FLOATS e = part * scale;
    FLOATS far = (1.0f - e) / (1.0f + e);
    FLOATS result = a < 0.63f ? near : far;
    *values = __builtin_elementwise_copysign(result, x);
}

/// Computes the sine of x + turn * pi / 2. The nearest multiple of pi / 2 is subtracted in three parts, whose products
/// with the multiple are exact; the rest goes through a Taylor polynomial (relative error 1e-11).
TARGET CK_INLINE void NAME(turned)(FLOATS *values, int turn) {
    const double round_to_integer = 0x1.8p52;
    DOUBLES x = WIDE(*values);
    DOUBLES n = (x * 0x1.45f306dc9c883p-1 + round_to_integer) - round_to_integer;
    DOUBLES r = ((x - n * 0x1.921fb544p0) - n * 0x1.0b4611a6p-34) - n * 0x1.3198a2e037073p-69;
    DOUBLES s = r * r;
    DOUBLES sine = r + r * s * (-0x1.5555555555555p-3 + s * (0x1.1111111111111p-7 + s * (-0x1.a01a01a01a01ap-13 +
                   s * (0x1.71de3a556c734p-19 + s * -0x1.ae64567f544e4p-26))));
    DOUBLES cosine = 1.0 + s * (-0.5 + s * (0x1.5555555555555p-5 + s * (-0x1.6c16c16c16c17p-10 +
                     s * (0x1.a01a01a01a01ap-16 + s * (-0x1.27e4fb7789f5cp-22 + s * 0x1.1eed8eff8d898p-29)))));
    FLOATS steps = NARROW(n);
    // Beyond a million the products are no longer exact.
    INTS far = __builtin_elementwise_abs(*values) > 1e6f;
    steps = steps == steps ? steps : (FLOATS)0.0f;
    steps = far ? (FLOATS)0.0f : steps;
    INTS quadrant = __builtin_convertvector(steps, INTS) + turn;
    FLOATS result = (quadrant & 1) != 0 ? NARROW(cosine) : NARROW(sine);
    result = (quadrant & 2) != 0 ? -result : result;
    for (int lane = 0; lane < 16; lane++)
        if (far[lane]) result[lane] = (float)(turn == 0 ? __builtin_sin((double)(*values)[lane]) : __builtin_cos((double)(*values)[lane]));
    *values = result;
}

TARGET CK_INLINE void NAME(sin_16)(FLOATS *values) { NAME(turned)(values, 0); }

TARGET CK_INLINE void NAME(cos_16)(FLOATS *values) { NAME(turned)(values, 1); }

#define ELEMENTWISE(kernel)                                                         \
    TARGET static void NAME(kernel)(float *x, size_t count) {                       \
        size_t i = 0;                                                               \
        for (; i + 16 <= count; i += 16) NAME(kernel##_16)((FLOATS *)(x + i));      \
        if (i == count) return;                                                     \
        FLOATS rest = 0.0f;                                                         \
        ck_copy(&rest, x + i, (count - i) * sizeof(float));                         \
        NAME(kernel##_16)(&rest);                                                   \
        ck_copy(x + i, &rest, (count - i) * sizeof(float));                         \
    }
ELEMENTWISE(gelu_erf)
ELEMENTWISE(gelu_tanh)
ELEMENTWISE(gelu_quick)
ELEMENTWISE(sigmoid)
ELEMENTWISE(silu)
ELEMENTWISE(exp)
ELEMENTWISE(tanh)
ELEMENTWISE(sin)
ELEMENTWISE(cos)
#undef ELEMENTWISE
