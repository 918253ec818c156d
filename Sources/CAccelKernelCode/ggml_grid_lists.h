// For each combination of codes, the entries of a grid that may stand for it.
#ifndef CKERNELS_GGML_GRID_LISTS_H
#define CKERNELS_GGML_GRID_LISTS_H

#include "internal.h"

/// The lists of a grid. Codes of eight weights are 0...2 (IQ2), those of four are 0...7 (IQ3); their place is the number whose digits,
/// the first the lowest, are the codes.
typedef struct {
    /// By place: the first entry of its list times 1024; the number of entries in the nine bits above the lowest; and in the lowest
    /// whether the place itself is an entry, the only one of its list then.
    const uint32_t *lists;
    /// The entries of all lists, as ggml_grids.h has them, the nearest first.
    const uint16_t *entries;
    /// By place: the number of the entry, if it is one.
    const uint16_t *numbers;
    /// The number of entries, and their magnitudes: those of the first position of all entries, then of the next.
    int count;
    const uint8_t *values;
} grid_lists;

/// Returns the lists of a type's grid; the first call for a type makes them, which takes some milliseconds.
const grid_lists *ck_grid_lists(ck_ggml_type type);

#endif
