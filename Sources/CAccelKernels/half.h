// Conversions of single values of float16 and bfloat16: the reference for the vector variants.
#ifndef CKERNELS_HALF_H
#define CKERNELS_HALF_H

#include "internal.h"

CK_INLINE uint32_t bits_of(float value) {
    uint32_t bits;
    ck_copy(&bits, &value, 4);
    return bits;
}

CK_INLINE float float_of(uint32_t bits) {
    float value;
    ck_copy(&value, &bits, 4);
    return value;
}

CK_INLINE float widen_f16(uint16_t half) {
    uint32_t sign = (uint32_t)(half & 0x8000) << 16;
    uint32_t exponent = half & 0x7C00, fraction = half & 0x03FF;
    if (exponent == 0x7C00) {
        uint32_t quiet = fraction ? 0x00400000 : 0;
        return float_of(sign | 0x7F800000 | quiet | fraction << 13);
    }
    // A subnormal is fraction * 2^-24, an exact product in float32.
    if (exponent == 0) return float_of(sign | bits_of((float)fraction * 0x1p-24f));
    return float_of(sign | (((uint32_t)(half & 0x7FFF) << 13) + (112u << 23)));
}

CK_INLINE uint16_t narrow_f16(float value) {
    uint32_t bits = bits_of(value);
    uint16_t sign = (uint16_t)(bits >> 16 & 0x8000);
    bits &= 0x7FFFFFFF;
    if (bits > 0x7F800000) return (uint16_t)(sign | 0x7E00 | (bits >> 13 & 0x03FF));
    if (bits >= 0x47800000) return sign | 0x7C00;
    // Below 2^-14 the result is subnormal: adding 0.5 lets the float32 adder round to a multiple of 2^-24.
    if (bits < 0x38800000) return (uint16_t)(sign | (bits_of(float_of(bits) + 0.5f) - 0x3F000000));
    uint32_t odd = bits >> 13 & 1;
    return (uint16_t)(sign | (bits - (112u << 23) + 0x0FFF + odd) >> 13);
}

CK_INLINE uint16_t narrow_bf16(float value) {
    uint32_t bits = bits_of(value);
    uint32_t rounded = (bits + 0x7FFF + (bits >> 16 & 1)) >> 16;
    uint32_t quiet = bits >> 16 | 0x0040;
    return (uint16_t)((bits & 0x7FFFFFFF) > 0x7F800000 ? quiet : rounded);
}

#endif
