// Products of int8 activations; CAccelKernels.h includes it.
#ifndef CKERNELS_INT8_ACTIVATIONS_H
#define CKERNELS_INT8_ACTIVATIONS_H

#include <stddef.h>
#include <stdint.h>

// A row of x is rounded to whole steps of a scale of its own: element i stands for scale * steps[i]. Products of steps with
// codes of weights are whole numbers, so their sums are exact, and all instruction sets give the same bits.

/// The range of a row, and of 0, divided into 255 steps: from `lowest` (at most 0) to `lowest` + 255. The scale is NaN for a
/// row with an infinite element or a NaN.
typedef struct {
    float scale;
    int32_t lowest;
} ck_rounding;

/// steps[i] = x[i] / scale, rounded to nearest even; followed by zeros up to `ck_step_stride` steps. Elements outside of
/// `range` become its ends; NULL: the row has a range of its own.
void ck_round_row(const float *x, size_t count, const ck_rounding *range, int16_t *steps, ck_rounding *rounding);
/// The same as step codes, without the steps: codes[i] = steps[i] - lowest.
void ck_round_row_to_codes(const float *x, size_t count, const ck_rounding *range, uint8_t *codes, ck_rounding *rounding);
/// target[i] = scale * steps[i]. `target` may be `x`.
void ck_rounded_row(const float *x, size_t count, const ck_rounding *range, float *target);
/// `count`, rounded up to a multiple of 64.
size_t ck_step_stride(size_t count);
/// The sums of the steps of each block.
void ck_sum_steps(const int16_t *steps, size_t count, size_t block, int32_t *sums);
/// Steps less the lowest. There are `ck_step_stride` of them.
void ck_step_codes(const int16_t *steps, size_t count, ck_rounding rounding, uint8_t *codes);
/// The same in the order of `ck_dot_int8_nibbles`: of each 32 those of even index first.
void ck_split_step_codes(const int16_t *steps, size_t count, ck_rounding rounding, uint8_t *codes);

/// Rows of x that are rounded.
typedef struct {
    /// A row starts each `stride` steps. Panels with quads do not read them: then they may be NULL.
    const int16_t *steps;
    /// As `ck_step_codes` leaves them, for panels with quads; a row starts each `stride` codes.
    const uint8_t *step_codes;
    size_t stride;
    /// One for each row.
    const ck_rounding *roundings;
    /// The sums of the steps by block, row after row; NULL for weights without shifts.
    const int32_t *sums;
} ck_rounded_rows;

/// Panels of weights: element k of a row is scale * code + shift, of the block of k.
typedef struct {
    const int8_t *codes;
    /// A panel's blocks after each other, for each the numbers of its rows.
    const float *scales;
    /// As scales; NULL for none.
    const float *shifts;
    /// Columns of the weights.
    size_t depth;
    /// Columns of a block: at most 65,536; if there are several, even, and with quads a multiple of 4.
    size_t block;
    size_t blocks;
    /// Codes are from -2^(bits - 1) to 2^(bits - 1) - 1.
    int bits;
    /// Four codes of a row lie side by side, for products with step codes; else two.
    int has_quads;
    /// As scales: the sums of the codes. For quads only.
    const int32_t *code_sums;
} ck_int8_panels;

/// Returns whether products with codes of so many bits are fastest with quads, on the instruction set in use.
int ck_int8_wants_quads(int bits);
/// The bytes of a panel of codes.
size_t ck_int8_panel_bytes(size_t depth);
/// Packs up to `ck_panel_width` rows of codes of one byte to a panel, as (code ^ flipped) - middle, and for quads their sums.
/// Depth, blocks and the kind of panel are read from `shape`.
void ck_pack_int8_panel(const uint8_t *codes, size_t stride, size_t rows, uint8_t flipped, uint8_t middle,
                        const ck_int8_panels *shape, int8_t *panel, int32_t *code_sums);
/// c[r, n] = the product of row `first` + r of x with row n of the panels + bias[n], n < columns. No bias: NULL.
void ck_gemm_int8(const ck_rounded_rows *x, size_t first, size_t rows, const ck_int8_panels *w, const float *bias, size_t columns,
                  float *c, size_t ldc);

/// Rows of codes with one row of x that is rounded. A row of the weights has `blocks` scales, and shifts unless they are NULL,
/// each for `block` columns.
typedef struct {
    const int16_t *steps;
    /// As `ck_split_step_codes` leaves them, for `ck_dot_int8_nibbles`.
    const uint8_t *step_codes;
    ck_rounding rounding;
    /// The sums of the steps by block.
    const int32_t *sums;
    /// Of float16, if `scales` is NULL.
    const uint16_t *scale_halves;
    const float *scales, *shifts;
    size_t count, block, blocks;
} ck_int8_dot;

/// target[r] = the product with row r of codes of one byte, which starts at r * `stride`: (code ^ flipped) - middle.
void ck_dot_int8_bytes(const ck_int8_dot *x, const uint8_t *codes, size_t stride, size_t rows, uint8_t flipped,
                       uint8_t middle, float *target);
/// The same with codes of four bits, low nibble first, in two's complement or if they are biased, less 8. Blocks are of a
/// multiple of 32 columns, or the whole row.
void ck_dot_int8_nibbles(const ck_int8_dot *x, const uint8_t *codes, size_t stride, size_t rows, int is_biased, float *target);

#endif
