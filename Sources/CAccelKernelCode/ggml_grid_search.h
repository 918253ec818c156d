// How weights of ggml's types with grids are encoded, and their blocks. Included by ggml_search.c.

#include "ggml_grid_lists.h"

/// Which entries are chosen again, with the scale of the best candidate.
typedef enum { OFF_GRID, ALL_IF_ANY, ALL } chosen_again;

/// A type with a grid.
typedef struct {
    /// Weights of a part, which have a scale, and of an entry; the largest code, and the bits of codes: all of them set,
    /// and how many.
    int n, size, top, top_bits, bits;
    /// Candidates on either side of the plain scale, and how far they are apart.
    int steps;
    float delta;
    /// The signs of eight weights have an even number of negative ones. Else the sign of the one that matters least is changed.
    int is_even;
    /// Errors count by the root of this times the mean square and the square of the weight, times the importance.
    float mean;
    /// Without an importance they count by the square, and this times the mean square; below 0 with an importance of 1.
    float share;
    /// Parts whose magnitudes are all smaller are zeros.
    float least;
    /// The plain scale is searched first, instead of that of the largest magnitude.
    int is_searched;
    chosen_again again;
    /// Of the scale of the block.
    float factor;
    /// The scale of a part is this times that of the block, times its number and a half.
    float unit;
} grid_form;

static const grid_form iq2_xxs_form = {32, 8, 2, 3, 2, 6, 0.1f, 1, 1, -1, 1e-15f, 1, ALL, 1, 0.25f};
static const grid_form iq2_xs_form = {16, 8, 2, 3, 2, 9, 0.1f, 1, 1, -1, 1e-15f, 0, OFF_GRID, 1, 0.25f};
static const grid_form iq2_s_form = {16, 8, 2, 3, 2, 9, 0.1f, 0, 2, 0.25f, 1e-8f, 0, OFF_GRID, 0.9875f, 0.25f};
static const grid_form iq3_xxs_form = {32, 4, 7, 7, 3, 15, 0.2f, 1, 2, 0, 1e-8f, 0, OFF_GRID, 1.0125f, 0.5f};
static const grid_form iq3_s_form = {32, 4, 7, 7, 3, 9, 0.2f, 0, 2, 0, 0, 0, ALL_IF_ANY, 1.033f, 2};

/// The magnitudes of a part: all but the ones with a changed sign are at least 0.
typedef struct {
    /// `root` are the roots of how much errors count, `w`.
    _Alignas(32) float x[32], w[32], root[32];
    uint8_t signs[4];
    float most;
} magnitudes;

/// What was found for a part: the numbers of entries, and a scale, infinite if there is none.
typedef struct {
    uint16_t numbers[8];
    uint8_t signs[4];
    float scale;
} grid_found;

/// What was found for the scales 0...15 of a part: errors, sums for least squares, and entries.
typedef struct {
    float errors[16], products[16], squares[16];
    uint16_t entries[16][8];
} scale_trials;

// Candidates, whole vectors of them.
#define CANDIDATES 32

/// Returns the scale of a block, before its factor, and finds the numbers of its parts' scales.
static float common_scale(grid_form f, const grid_found *parts, float squares, int *scales) {
    float most = 0;
    for (int j = 0; j < QK_K / f.n; j++) most = LARGER_OF(parts[j].scale, most);
    // The squares of still larger weights may be infinite. ggml stops, or stores zeros.
    const float d = squares < 1e22f ? most / 31 : __builtin_inff(), inverse = 1 / d;
    for (int j = 0; j < QK_K / f.n; j++) {
        const int number = most > 0 ? nearest_int(0.5f * (inverse * parts[j].scale - 1)) : 0;
        scales[j] = number < 0 ? 0 : number > 15 ? 15 : number;
    }
    return d;
}

static void write_iq2_xxs(const grid_found *parts, const int *scales, block_iq2_xxs *block) {
    for (int j = 0; j < 8; j++) {
        uint32_t word = (uint32_t)scales[j] << 28;
        for (int k = 0; k < 4; k++) {
            block->qs[8 * j + k] = (uint8_t)parts[j].numbers[k];
            word |= (uint32_t)(parts[j].signs[k] & 127) << 7 * k;
        }
        ck_copy(block->qs + 8 * j + 4, &word, sizeof word);
    }
}

static void write_iq2_xs(const grid_found *parts, const int *scales, block_iq2_xs *block) {
    for (int j = 0; j < 16; j++)
        for (int k = 0; k < 2; k++) {
            const uint16_t word = (uint16_t)(parts[j].numbers[k] | (parts[j].signs[k] & 127) << 9);
            ck_copy(block->qs + 4 * j + 2 * k, &word, sizeof word);
        }
    for (int j = 0; j < 8; j++) block->scales[j] = (uint8_t)(scales[2 * j] | scales[2 * j + 1] << 4);
}

static void write_iq2_s(const grid_found *parts, const int *scales, block_iq2_s *block) {
    for (int j = 0; j < 8; j++) {
        int high = 0;
        for (int k = 0; k < 4; k++) {
            const grid_found *part = parts + 2 * j + k / 2;
            block->qs[4 * j + k] = (uint8_t)part->numbers[k % 2];
            block->signs[4 * j + k] = part->signs[k % 2];
            high |= part->numbers[k % 2] >> 8 << 2 * k;
        }
        block->qh[j] = (uint8_t)high;
        block->scales[j] = (uint8_t)(scales[2 * j] | scales[2 * j + 1] << 4);
    }
}

static void write_iq3_xxs(const grid_found *parts, const int *scales, block_iq3_xxs *block) {
    for (int j = 0; j < 8; j++) {
        uint32_t word = (uint32_t)scales[j] << 28;
        for (int k = 0; k < 8; k++) block->qs[8 * j + k] = (uint8_t)parts[j].numbers[k];
        for (int k = 0; k < 4; k++) word |= (uint32_t)(parts[j].signs[k] & 127) << 7 * k;
        ck_copy(block->signs + 4 * j, &word, sizeof word);
    }
}

static void write_iq3_s(const grid_found *parts, const int *scales, block_iq3_s *block) {
    for (int j = 0; j < 8; j++) {
        int high = 0;
        for (int k = 0; k < 8; k++) {
            block->qs[8 * j + k] = (uint8_t)parts[j].numbers[k];
            high |= parts[j].numbers[k] >> 8 << k;
        }
        block->qh[j] = (uint8_t)high;
        ck_copy(block->signs + 4 * j, parts[j].signs, 4);
    }
    for (int j = 0; j < 4; j++) block->scales[j] = (uint8_t)(scales[2 * j] | scales[2 * j + 1] << 4);
}
