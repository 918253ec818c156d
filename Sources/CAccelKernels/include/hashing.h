// Hashing; CAccelKernels.h includes it.
#ifndef CKERNELS_HASHING_H
#define CKERNELS_HASHING_H

#include <stddef.h>
#include <stdint.h>

/// Adds `blocks` whole 64-byte blocks to a SHA-256 state (FIPS 180-4).
void ck_sha256_blocks(uint32_t state[8], const uint8_t *bytes, size_t blocks);
/// The same for several hashes with equal numbers of blocks and eight words of state each. Two take little more time than
/// one, and with AVX-512 sixteen take less than four.
void ck_sha256_blocks_many(uint32_t *states, const uint8_t *const *bytes, size_t hashes, size_t blocks);

#endif
