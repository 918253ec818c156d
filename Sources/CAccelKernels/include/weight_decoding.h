// Decoding of compressed weights; CAccelKernels.h includes it.
#ifndef CKERNELS_WEIGHT_DECODING_H
#define CKERNELS_WEIGHT_DECODING_H

#include <stddef.h>
#include <stdint.h>

/// target[i] = table[code i], codes of 4 bits packed low nibble first; `first` is the index of the first code.
void ck_decode_palette4(const uint8_t *codes, size_t first, const float table[16], float *target, size_t count);
/// target[i] = table[codes[i]], of 2^`bits` entries (1 to 8 bits); the codes are below that, one byte each.
void ck_look_up(const uint8_t *codes, const float *table, int bits, size_t count, float *target);
/// The same with entries of `size` values each: target[i] = table[codes[i / size] * size + i % size].
void ck_look_up_vectors(const uint8_t *codes, const float *table, size_t size, size_t count, float *target);
/// target[i] = scale * the number of eight bits: E4M3 (with NaN, without infinities) or E5M2.
void ck_decode_float8(const uint8_t *codes, int is_e5m2, float scale, size_t count, float *target);
/// target[i] = scale * (codes[i] - zero).
void ck_decode_int8(const int8_t *codes, float scale, float zero, float *target, size_t count);
/// target[i] = (codes[i] - zeros[g]) * scales[g], where g is (first + i) / group for groups of neighbours, and i for a group of 0.
void ck_decode_zero_points(const uint8_t *codes, size_t count, size_t group, size_t first, const float *scales, const float *zeros,
                           float *target);

// Rows whose weights have a scale for each `block` values; the last block may be shorter. Codes are one byte each.

/// Codes of 1 to 8 bits, packed from the lowest bit of the first byte on, to one byte each.
void ck_unpack_codes(const uint8_t *packed, int bits, size_t count, uint8_t *codes);
/// target[i] = scale * (code - zero). Signed codes are the lower four bits in two's complement; NULL: all zeros are 0.
void ck_decode_scaled(const uint8_t *codes, int is_signed, size_t count, size_t block, const float *scales,
                      const float *zeros, float *target);
/// target[i] = scale * code + bias, rounded once; if not `is_short`, after a sum in float64. Short scales have at most 16
/// significant bits.
void ck_decode_shifted(const uint8_t *codes, size_t count, size_t block, const float *scales, const float *biases,
                       int is_short, float *target);
/// sums[b] = the sum of block b of x; to float32 rounding.
void ck_sum_blocks(const float *x, size_t count, size_t block, float *sums);
/// Scales of one byte: target[i] = scale * factor / divisor, each step rounded. A scale is a power of two (E8M0), or a positive number of
/// E4M3; codes of no scale give any number.
void ck_widen_microscales(const uint8_t *codes, int is_e4m3, size_t count, float factor, float divisor, float *target);
/// values[i] = scale * values[i].
void ck_multiply_blocks(float *values, size_t count, size_t block, const float *scales);

/// target[i] = the next of `values` if bit i of `mask` is set (the lowest bit of a byte first), else 0. Reads as many
/// values as there are bits set among the first `count`.
void ck_expand_mask(const float *values, const uint8_t *mask, float *target, size_t count);

#endif
