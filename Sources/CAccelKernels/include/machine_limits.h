// Limits of the machine; CAccelKernels.h includes it.
#ifndef CKERNELS_MACHINE_LIMITS_H
#define CKERNELS_MACHINE_LIMITS_H

#include <stddef.h>
#include <stdint.h>

/// Does `rounds` times some multiply-adds of float32 in registers, as fast as the instruction set can. Returns their number.
size_t ck_multiply_adds(size_t rounds, float *result);
/// Reads memory once, in order. Returns a sum of it, so that no read is left out.
uint64_t ck_read_memory(const uint64_t *words, size_t count);

#endif
