// Searches for palettes, and their codes; CAccelKernels.h includes it.
#ifndef CKERNELS_PALETTES_H
#define CKERNELS_PALETTES_H

#include <stddef.h>
#include <stdint.h>

#include "stored_types.h"

// Cells of an axis.

#define CK_CELL_BITS 22

/// An axis of 2^22 positions starting at the number `low`, with `per_step` positions for a difference of 1. Runs of 2^outer
/// positions are divided into cells of 2^inner positions.
typedef struct {
    float low, per_step;
    int outer, inner;
    /// For each run the number of its first cell; negative for a run that is not divided.
    const int32_t *first;
} ck_cells;

/// Copies the values that are in cells, in order.
/// - kept: `count` elements and 16 more.
/// - Returns: the number of copied values.
size_t ck_keep_open(const float *values, size_t count, const ck_cells *cells, float *kept);

/// For each value, all of which have to be in cells: adds 1 and its distance from `origin` to the two sums of its cell.
void ck_add_to_cells(const float *values, size_t count, const ck_cells *cells, double origin, double *sums);

// Optimal partitions.

/// Divides n sorted weighted points into runs with the least squared error about each run's mean plus `penalty` per run.
/// Position i is before point i; w, s1, s2 [0...n] are the sums of weight, weight * x, weight * x^2 over the
/// points before a position (each up to a constant), with w strictly increasing. `reciprocal` is NULL, or
/// reciprocal[d] = 1 / (w[i + d] - w[i]) if that is equal for all i. Fills f[0...n] (the least cost up to a position) and
/// previous[0...n] (the start of its last run); g[0...n] is scratch. Takes about 10 ns per point if runs are shorter than a
/// few thousand points.
void ck_partition(const double *w, const double *s1, const double *s2, const double *reciprocal, size_t n,
                  double penalty, double *f, double *g, int32_t *previous);

/// codes[i] = the number of the `limit` (<= 255) ascending bounds that are below values[i].
void ck_nearest_codes(const float *values, size_t count, const float *bounds, size_t limit, uint8_t *codes);

/// Adds the errors of scale * entries[codes[i]], rounded to float32, against values[i]; sums in float64, over every eighth element first.
void ck_add_palette_errors(const float *values, const uint8_t *codes, size_t count, const float *entries, float scale, ck_errors *errors);

/// Adds to counts[p] the number of occurrences of the 16-bit pattern p. Patterns may be unaligned.
void ck_count_halves(const void *values, size_t count, uint32_t counts[1 << 16]);

/// codes = table[pattern] for each 16-bit pattern, packed with `bits` (1, 2, 3, 4, 6 or 8) bits each, the first in the
/// lowest bits; the bits after the last are zero. Entries of the table are below 2^bits.
void ck_look_up_halves(const void *values, size_t count, const uint8_t table[1 << 16], int bits, uint8_t *codes);

/// codes[p] = the index of the entry nearest to point p, of `k` entries (a multiple of 16, at most 256), by sums of squares in
/// float32; the first of equally near ones. Points and entries have `size` values; entries are planar: entries[j * k + c].
void ck_nearest_vectors(const float *points, size_t count, size_t size, const float *entries, size_t k,
                        uint8_t *codes);

#endif
