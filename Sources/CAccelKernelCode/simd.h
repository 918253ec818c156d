// What instruction sets do in different ways, as inline functions of the same names with the set at their ends: bodies that each_set.h
// includes call NAME(widen_16) and so on. No function takes or returns a vector: the plain set has no registers for it.
#ifndef CKERNELS_SIMD_H
#define CKERNELS_SIMD_H

#include "../CAccelKernels/half.h"
#include "internal.h"

typedef float f32x16 __attribute__((ext_vector_type(16)));
typedef uint8_t u8x16 __attribute__((ext_vector_type(16)));

// 1.5 * 2^23: adding it to a number rounds that to nearest even, and leaves the integer in the lowest bits.
#define INTEGER_ROUNDER 12582912.0f

/// target = w / scale, correctly rounded, by a fused multiply-add: the quotient is three operations away from the correctly rounded
/// `reciprocal` of the scale (Markstein, "Computation of elementary functions on the IBM RISC System/6000 processor", 1990, theorem 5).
#define DIVIDE_FUSED(w, scale, reciprocal, target)                                           \
    {                                                                                        \
        const f32x16 near = *(w) * (reciprocal);                                             \
        const f32x16 rest = __builtin_elementwise_fma(-near, (f32x16)(scale), *(w));         \
        *(target) = __builtin_elementwise_fma(rest, (f32x16)(reciprocal), near);             \
    }

#include "simd_plain.h"
#if CK_X86
#include "simd_avx2.h"
#include "simd_avx512.h"
#endif

#endif
