// The blocks of ggml's types with grids, 32 weights at a time.
#ifndef CKERNELS_GGML_GRID_PARTS_H
#define CKERNELS_GGML_GRID_PARTS_H

#include "ggml.h"
#include "ggml_grids.h"

// The values of an entry, a byte each.
#define PLACED(value, entry, bits, i) ((uint64_t)value((entry) >> (bits) * (i) & ((1 << (bits)) - 1)) << 8 * (i))
#define FOUR(value, entry, bits) \
    (PLACED(value, entry, bits, 0) | PLACED(value, entry, bits, 1) | PLACED(value, entry, bits, 2) | PLACED(value, entry, bits, 3))
#define EIGHT(value, entry) (FOUR(value, (entry) & 255, 2) | FOUR(value, (entry) >> 8, 2) << 32)

#define IQ2_ENTRY(entry) EIGHT(IQ2_VALUE, entry),
#define IQ3_XXS_ENTRY(entry) (uint32_t) FOUR(IQ3_XXS_VALUE, entry, 3),
#define IQ3_S_ENTRY(entry) (uint32_t) FOUR(IQ3_S_VALUE, entry, 3),

static const uint64_t iq2_xxs_values[256] = {IQ2_XXS_ENTRIES(IQ2_ENTRY)};
static const uint64_t iq2_xs_values[512] = {IQ2_XS_ENTRIES(IQ2_ENTRY)};
static const uint64_t iq2_s_values[1024] = {IQ2_S_ENTRIES(IQ2_ENTRY)};
static const uint32_t iq3_xxs_values[256] = {IQ3_XXS_ENTRIES(IQ3_XXS_ENTRY)};
static const uint32_t iq3_s_values[512] = {IQ3_S_ENTRIES(IQ3_S_ENTRY)};

/// 32 weights: their magnitudes before the scale, a byte each, the bits of the negative ones, and the scales of the two halves.
typedef struct {
    uint64_t values[4];
    uint32_t signs;
    float scales[2];
} grid_part;

/// Widens four times seven bits of signs to eight: the number of negative ones is even.
CK_INLINE uint32_t even_signs(uint32_t sevens) {
    const uint32_t spread = (sevens & 0x7F) | (sevens << 1 & 0x7F00) | (sevens << 2 & 0x7F0000) | (sevens << 3 & 0x7F000000);
    uint32_t parity = spread ^ (spread >> 4 & 0x0F0F0F0F);
    parity ^= parity >> 2 & 0x33333333;
    parity ^= parity >> 1;
    return spread | (parity & 0x01010101) << 7;
}

/// The scales of two halves whose numbers are four bits each.
CK_INLINE void iq2_scales(uint8_t numbers, float d, float *scales) {
    scales[0] = d * (0.5f + (float)(numbers & 15)) * 0.25f;
    scales[1] = d * (0.5f + (float)(numbers >> 4)) * 0.25f;
}

CK_INLINE void iq2_xxs_part(const block_iq2_xxs *block, int j, float d, grid_part *part) {
    uint32_t word;
    ck_copy(&word, block->qs + 8 * j + 4, sizeof word);
    for (int k = 0; k < 4; k++) part->values[k] = iq2_xxs_values[block->qs[8 * j + k]];
    part->signs = even_signs(word);
    part->scales[0] = part->scales[1] = d * (0.5f + (float)(word >> 28)) * 0.25f;
}

CK_INLINE void iq2_xs_part(const block_iq2_xs *block, int j, float d, grid_part *part) {
    uint16_t words[4];
    uint32_t sevens = 0;
    ck_copy(words, block->qs + 8 * j, sizeof words);
    for (int k = 0; k < 4; k++) part->values[k] = iq2_xs_values[words[k] & 511], sevens |= (uint32_t)(words[k] >> 9) << 7 * k;
    part->signs = even_signs(sevens);
    iq2_scales(block->scales[j], d, part->scales);
}

CK_INLINE void iq2_s_part(const block_iq2_s *block, int j, float d, grid_part *part) {
    for (int k = 0; k < 4; k++) part->values[k] = iq2_s_values[block->qs[4 * j + k] | (block->qh[j] >> 2 * k & 3) << 8];
    ck_copy(&part->signs, block->signs + 4 * j, 4);
    iq2_scales(block->scales[j], d, part->scales);
}

CK_INLINE void iq3_xxs_part(const block_iq3_xxs *block, int j, float d, grid_part *part) {
    const uint8_t *codes = block->qs + 8 * j;
    uint32_t word;
    ck_copy(&word, block->signs + 4 * j, sizeof word);
    for (int k = 0; k < 4; k++)
        part->values[k] = iq3_xxs_values[codes[2 * k]] | (uint64_t)iq3_xxs_values[codes[2 * k + 1]] << 32;
    part->signs = even_signs(word);
    part->scales[0] = part->scales[1] = d * (0.5f + (float)(word >> 28)) * 0.5f;
}

CK_INLINE void iq3_s_part(const block_iq3_s *block, int j, float d, grid_part *part) {
    const uint8_t *codes = block->qs + 8 * j;
    const int high = block->qh[j];
    for (int k = 0; k < 4; k++)
        part->values[k] = iq3_s_values[codes[2 * k] | (high >> 2 * k & 1) << 8]
            | (uint64_t)iq3_s_values[codes[2 * k + 1] | (high >> (2 * k + 1) & 1) << 8] << 32;
    ck_copy(&part->signs, block->signs + 4 * j, 4);
    part->scales[0] = part->scales[1] = d * (float)(1 + 2 * (block->scales[j / 2] >> 4 * (j % 2) & 15));
}

#endif
