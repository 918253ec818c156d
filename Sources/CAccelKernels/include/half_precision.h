// Half precision; CAccelKernels.h includes it.
#ifndef CKERNELS_HALF_PRECISION_H
#define CKERNELS_HALF_PRECISION_H

#include <stddef.h>
#include <stdint.h>

// Round to nearest even; NaN stays NaN (quiet); float32 -> float16 overflows to infinity. Bit-equal on every instruction set.
// Numbers of 16 bits that are widened may be at any address.

void ck_f16_to_f32(const uint16_t *source, float *target, size_t count);
void ck_f32_to_f16(const float *source, uint16_t *target, size_t count);
void ck_bf16_to_f32(const uint16_t *source, float *target, size_t count);
void ck_f32_to_bf16(const float *source, uint16_t *target, size_t count);

#endif
