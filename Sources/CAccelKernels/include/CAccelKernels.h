// SIMD kernels behind one run-time dispatch. The plain scalar form of each function defines its result; faster forms are
// chosen once by the processor's features, and are tested against the scalar form.
#ifndef CACCEL_KERNELS_H
#define CACCEL_KERNELS_H

#include <stddef.h>
#include <stdint.h>

#include "bfloat16_products.h"
#include "ggml_blocks.h"
#include "int8_activations.h"
#include "row_kernels.h"

// ---- dispatch ------------------------------------------------------------------------------------------------

/// AVX-512 is its parts F, BW, VL and DQ; VNNI is its products of bytes, VBMI these and its permutations of bytes, BF16 these and
/// its products of bfloat16, AMX all of them and tiles of products of bytes and of bfloat16. NEON_DOT is NEON with its products of
/// bytes, NEON_I8MM these and its matrix products of bytes, NEON_BF16 these and its matrix products of bfloat16.
typedef enum {
    CK_SCALAR = 0,
    CK_NEON = 1,
    CK_NEON_DOT = 2,
    CK_NEON_I8MM = 3,
    CK_NEON_BF16 = 4,
    CK_AVX2 = 5,
    CK_AVX512 = 6,
    CK_AVX512_VNNI = 7,
    CK_AVX512_VBMI = 8,
    CK_AVX512_BF16 = 9,
    CK_AMX = 10
} ck_isa;

/// The instruction set in use: the best of the processor, limited by the environment variable ACCELC_CPU (scalar, neon, neondot,
/// neoni8mm, neonbf16, avx2, avx512, avx512vnni, avx512vbmi, avx512bf16, amx). It is CK_AVX512 with VNNI, VBMI, BF16 or AMX, too,
/// and CK_NEON with products of bytes or of bfloat16.
ck_isa ck_current_isa(void);
/// Returns the name that ACCELC_CPU has for a set; NULL for a number that is none.
const char *ck_isa_name(ck_isa isa);
/// For tests: uses at most `isa` (a set that the processor lacks is ignored). Returns the set that is now in use.
ck_isa ck_limit_isa(ck_isa isa);

// ---- threads ---------------------------------------------------------------------------------------------------

/// The threads of one run: the caller, and helpers from a pool of the process.
typedef struct ck_team ck_team;
/// A piece of work. `worker` is below the team's number of threads; concurrent pieces have different workers.
typedef void (*ck_piece)(void *context, size_t piece, size_t worker);

/// Makes a team of at most `threads` (1 to 255), and new helpers if the pool has too few; helpers last as long as the process.
/// Returns NULL if memory does not suffice.
ck_team *ck_team_make(size_t threads);
void ck_team_free(ck_team *team);
/// Calls `body` once for each piece. The first call with several pieces after a rest wakes the helpers that no other team
/// has; until the next rest they wait for calls without sleeping. Takes no lock and allocates nothing.
void ck_team_run(ck_team *team, size_t pieces, ck_piece body, void *context);
/// Lets the helpers sleep. Has to be called before the team is freed.
void ck_team_rest(ck_team *team);
/// The number of times that the team has woken helpers.
size_t ck_team_wakes(const ck_team *team);

// ---- half precision ------------------------------------------------------------------------------------------
// Round to nearest even; NaN stays NaN (quiet); float32 -> float16 overflows to infinity. Bit-equal on every instruction set.

void ck_f16_to_f32(const uint16_t *source, float *target, size_t count);
void ck_f32_to_f16(const float *source, uint16_t *target, size_t count);
void ck_bf16_to_f32(const uint16_t *source, float *target, size_t count);
void ck_f32_to_bf16(const float *source, uint16_t *target, size_t count);

// ---- rows of codes -------------------------------------------------------------------------------------------
// A row is `count` codes of 8 bits, and then the bytes of its scale, a float32: element i is code i times the scale. Rows
// may be unaligned. Bit-equal on every instruction set.

/// Rounds a row. Its scale is max|x| / 127, at least 2^-126; 0 for a row of zeros, and NaN, with codes of 0, for a row that
/// is not finite. Code i is x[i] * (1 / scale), rounded to nearest even and limited to -127 and 127.
void ck_round_byte_row(const float *x, size_t count, int8_t *row, ck_cancellation cancellation);
/// Returns the scale of a row.
float ck_byte_row_scale(const int8_t *row, size_t count);
/// target[i] = codes[i] * scale, i < count.
void ck_widen_codes(const int8_t *codes, size_t count, float scale, float *target);

// ---- cells of an axis ----------------------------------------------------------------------------------------

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

// ---- codes of evenly spaced values -------------------------------------------------------------------------------

/// The type of values, which may be unaligned.
typedef enum { CK_F32 = 0, CK_F16 = 1, CK_BF16 = 2 } ck_type;

/// The error of decoded values. Each row's squares are summed in float32 over at most 16 values, then in float64.
typedef struct {
    /// Sum of w^2.
    double energy;
    /// Sum of (w - q)^2.
    double squares;
    /// Largest |w - q|; exact.
    double maximum;
} ck_errors;

/// The smallest and the largest value; infinity and minus infinity if there is none. The values are not NaN.
void ck_value_range(const float *x, size_t count, float *low, float *high);
/// Adds sum (x - stored)^2 and sum x^2 in float64 to sums[0] and sums[1], and raises sums[2] to the largest |x - stored|, of finite
/// elements; in one order, so that all instruction sets give the same bits.
void ck_add_distortion(const float *x, const float *stored, size_t count, double sums[3]);
/// codes[i] = (x[i] - bias) / scale, limited to 0 and `top`, and rounded to nearest even; in float32 throughout with `is_float`, else
/// divided in float64 and rounded to float32 first.
void ck_affine_codes(const float *x, size_t count, double scale, double bias, float top, int is_float, uint8_t *codes);
/// target[i] = scale * codes[i] + bias, in float64 and rounded once.
void ck_affine_values(const uint8_t *codes, size_t count, double scale, double bias, float *target);
/// The smallest and the largest of the values and 0. Returns 0, with undefined results, if a value is not finite.
int ck_extremes(const void *values, ck_type type, size_t count, float *low, float *high);

/// codes[i] = the lowest byte of values[i] / scale (rounded to float32, then to the nearest integer, ties to even).
/// Adds to `errors`. Magnitudes of the scale and the largest value: from 2^-40 to 2^60; quotients up to 256.
void ck_quantize_bytes(const void *values, ck_type type, size_t count, float scale, uint8_t *codes, ck_errors *errors);

/// Quantises one row to 4-bit codes, low nibble first, with a scale for each `block` values; the last block may be shorter.
/// `count` and `block` are multiples of 16. A scale (float16 or float32) is the smallest that reaches the block's values with
/// codes from -`reach` (7 or 8) to 7; for 8, the sign with less squared error is taken, the positive one if they are equal.
/// A refined scale is the result of `ck_refined_scale` for both signs. Returns 0, with undefined output, if a block's
/// magnitude needs the slow path: below 2^-40, or with a float16 scale that is subnormal or infinite.
int ck_quantize_nibbles(const void *values, ck_type type, size_t count, size_t block, int reach, int is_refined,
                        int half_scales, uint8_t *codes, uint8_t *scales, ck_errors *errors);

/// The scale (float16 or float32) of about the least squared error with codes from -`reach` (7 or 8) to 7. `unit` is
/// the value of largest magnitude, negated; `first` and `second` are stored scales that reach all values. Values are
/// counted in steps of unit / 32767, so sums are exact, and equal on every instruction set.
float ck_refined_scale(const float *values, size_t count, float unit, int reach, int half_scales, float first,
                       float second);

// ---- hashing -------------------------------------------------------------------------------------------------

/// Adds `blocks` whole 64-byte blocks to a SHA-256 state (FIPS 180-4).
void ck_sha256_blocks(uint32_t state[8], const uint8_t *bytes, size_t blocks);
/// The same for several hashes with equal numbers of blocks and eight words of state each. Two take little more time than
/// one, and with AVX-512 sixteen take less than four.
void ck_sha256_blocks_many(uint32_t *states, const uint8_t *const *bytes, size_t hashes, size_t blocks);

// ---- decoding of compressed weights --------------------------------------------------------------------------

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

// ---- optimal partitions --------------------------------------------------------------------------------------

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

// ---- scales --------------------------------------------------------------------------------------------------

/// For each of 16 scales, whose inverses are given, with x = value / scale and q = x rounded to an integer from `low` to
/// `high`: products = sum of weight * x * q, squares = sum of weight * q^2. `weights` is NULL for 1. Quotients have
/// to be below 2^22.
void ck_try_scales(const float *values, const float *weights, size_t count, const float inverses[16], float low,
                   float high, double products[16], double squares[16]);
/// The same without weights, where q is the entry of an ascending table at the number of bounds below x.
void ck_try_table_scales(const float *values, size_t count, const float inverses[16], const float table[16],
                         const float bounds[15], double products[16], double squares[16]);

// ---- matrix product (GEMM) -----------------------------------------------------------------------------------
// C[m, n] = sum_k A[m, k] * W[n, k]. W is first packed into panels of ck_panel_width() output columns,
// each panel k-major ([k][width], columns past n are zero).

size_t ck_panel_width(void);
/// Packs `rows` (<= panel width) rows of W, each `k` floats at `stride` floats, into one panel.
void ck_pack_panel(const float *w, size_t stride, size_t rows, size_t k, float *panel);
/// The same from W transposed: w holds `k` rows of `columns` (<= panel width) floats each, at `stride` floats.
void ck_pack_panel_transposed(const float *w, size_t stride, size_t columns, size_t k, float *panel);
/// C[0..<m, 0..<columns] (row stride ldc) = A (row stride lda) x panels that follow each other + bias (NULL for zero).
/// The order of summation over k depends on nothing else; all instruction sets give the same bits.
void ck_gemm_panels(const float *a, size_t lda, size_t m, size_t k, const float *panels, const float *bias, float *c,
                    size_t ldc, size_t columns);
/// The same without a bias, added to C.
void ck_gemm_panels_add(const float *a, size_t lda, size_t m, size_t k, const float *panels, float *c, size_t ldc, size_t columns);

/// The columns of a panel in float64.
size_t ck_panel_width_f64(void);
/// C[0..<m, 0..<width] = A (row stride lda) x panel, in float64; as `ck_gemm_panels`, for whole panels [k][width].
void ck_gemm_panel_f64(const double *a, size_t lda, size_t m, size_t k, const double *panel, double *c, size_t ldc);
/// Lays out m rows of k numbers as `ck_gemm_blocks_f64` reads them: in blocks that stay in the second cache level.
void ck_widen_rows(const float *x, size_t m, size_t k, double *blocks);
/// Makes two panels in float64, [2][k][width], of one of `ck_pack_panel`.
void ck_widen_panel(const float *panel, size_t k, double *panels);
/// C[0..<m, 0..<count * width] = rows of `ck_widen_rows` x panels in float64, [count][k][width]; the same bits as
/// `ck_gemm_panel_f64`.
void ck_gemm_blocks_f64(const double *blocks, size_t m, size_t k, const double *panels, size_t count, double *c);

// ---- limits of the machine --------------------------------------------------------------------------------------

/// Does `rounds` times some multiply-adds of float32 in registers, as fast as the instruction set can. Returns their number.
size_t ck_multiply_adds(size_t rounds, float *result);
/// Reads memory once, in order. Returns a sum of it, so that no read is left out.
uint64_t ck_read_memory(const uint64_t *words, size_t count);

// ---- reference -------------------------------------------------------------------------------------------------
// One plain implementation that does not depend on the instruction set, for comparisons with kernels.

/// sums[j] = sum_i a[8 * i + j] * b[8 * i + j] in float64, in the order of i; 8 * i + j < count & ~7.
void ck_reference_dot(const float *a, const float *b, size_t count, double sums[8]);
/// Whether no element is NaN or infinite.
int ck_all_finite(const float *x, size_t count);
/// Adds what a comparison of finite elements sums up, in float64 and in one order: sum (x - r)^2, sum r^2, sum x^2 and
/// sum x * r to sums[0...3]; and raises sums[4] to the largest |x - r| and sums[5] to the largest |r|. Counts each |x - r|
/// in the bucket of the upper 16 bits of its float32. Returns the number of elements of opposite signs. count < 2^31.
size_t ck_error_sums(const float *x, const float *reference, size_t count, double sums[6], uint32_t *buckets);

// ---- matrix-vector products (GEMV) -----------------------------------------------------------------------------
// A row's sum does not depend on other rows; all instruction sets give the same bits.

/// target[r] = sum_i x[i] * w[r * stride + i], i < count.
void ck_dot(const float *x, const float *w, size_t stride, size_t rows, size_t count, float *target);
/// The same with rows of float16 or bfloat16. The sums have the bits of `ck_dot` with these numbers.
void ck_dot_halves(const float *x, const uint16_t *w, ck_type type, size_t stride, size_t rows, size_t count, float *target);
/// `ck_dot` for several vectors: target[v * target_stride + r] = sum_i x[v * x_stride + i] * w[r * stride + i]. Fastest if
/// the vectors and a few rows fit into the first cache level.
void ck_dot_many(const float *x, size_t x_stride, size_t vectors, const float *w, size_t stride, size_t rows,
                 size_t count, float *target, size_t target_stride);
/// target[r] = sum_i x[i] * (codes[r * stride + i] - zeros[r]).
void ck_dot_int8(const float *x, const int8_t *codes, size_t stride, size_t rows, size_t count, const float *zeros,
                 float *target);
/// Reorders a vector for `ck_dot_codes4`: of each 128 elements first those at positions 0, 8, 16 ..., then those at 1, 9,
/// 17 ...; padded with zeros to `ck_interleaved_count` elements.
void ck_interleave(const float *x, size_t count, float *target);
/// `count`, rounded up to a multiple of 128.
size_t ck_interleaved_count(size_t count);
/// target[r] = sum_i x[i] * scale(r, i) * table[code i of row r], with 4-bit codes packed low nibble first; a row starts
/// at r * `stride` bytes. A row has `blocks` scales (float32, float16 or bfloat16, may be unaligned), each for `block` (16, 32, 64,
/// 128, or count) columns; 0 for no scales. `interleaved` is x in the order of `ck_interleave`.
void ck_dot_codes4(const float *interleaved, const uint8_t *codes, size_t stride, size_t rows, size_t count,
                   const float table[16], const void *scales, ck_type type, size_t blocks, size_t block, float *target);
/// The same with numbers in place of a table: codes in two's complement, or if they are biased, codes less 8. The sums
/// have the bits of `ck_dot_codes4` with a table of these numbers.
void ck_dot_nibbles(const float *interleaved, const uint8_t *codes, size_t stride, size_t rows, size_t count,
                    int is_biased, const void *scales, ck_type type, size_t blocks, size_t block, float *target);
/// target[r] = sum_i x[i] * scale(r, i) * (code - 2^(bits - 1)), with codes of `bits` (2 to 8) bits in one byte each; a row
/// starts at r * `stride` bytes. Scales are as in `ck_dot_codes4`. Codes of fewer than 8 bits should be in the first cache
/// level, where they have been unpacked.
void ck_dot_bytes(const float *x, const uint8_t *codes, size_t stride, size_t rows, size_t count, int bits,
                  const void *scales, ck_type type, size_t blocks, size_t block, float *target);
/// target[r] = sum_i x[i] * scale(r, i) * value(code i of row r), with codes of float8: e5m2 or e4m3; a row starts at
/// r * `stride` bytes. A row has `blocks` scales, from r * `scale_stride` on (0 if all rows share them), each for `block` (16,
/// 32, 64, 128, or count) columns.
void ck_dot_float8(const float *x, const uint8_t *codes, size_t stride, size_t rows, size_t count, int is_e5m2,
                   const float *scales, size_t scale_stride, size_t blocks, size_t block, float *target);
/// target[r] = sum_i x[i] * table[code i of row r], with codes of one byte that are less than 2^bits (1, 2, 3, 4, 6 or 8); a
/// row starts at r * `stride` bytes. The sums have the bits of `ck_dot` with the looked up rows. Codes of fewer than 8 bits
/// should be in the first cache level, where they have been unpacked.
void ck_dot_entries(const float *x, const uint8_t *codes, size_t stride, size_t rows, size_t count, const float *table,
                    int bits, float *target);
/// The same with entries of `size` (2 or 4) floats, for as many columns: code c stands for those from table[size * c] on.
void ck_dot_vectors(const float *x, const uint8_t *codes, size_t stride, size_t rows, size_t count, const float *table,
                    size_t size, float *target);
/// target[r] = sum_i x[i] * row r's weight i: the next kept one where bit i of the row's mask is set, else 0. The mask of a row
/// starts at r * `stride` bytes. `starts` has the number of weights before each row, 32 bits each, counted from any number;
/// `values` are those from the first row on, and 16 more floats are read. The sums have the bits of `ck_dot` with the rows.
void ck_dot_masked(const float *x, const float *values, const void *starts, const uint8_t *mask, size_t stride,
                   size_t rows, size_t count, float *target);
/// target[r] = sum_b sums[b] * (bias(r, b) + zero * scale(r, b)), b < blocks: what biases add to products of codes less
/// `zero`, with `sums` of the vector's blocks, which zeros follow up to a multiple of 16. Scales and biases (float32,
/// float16 or bfloat16, may be unaligned) of a row follow those of the row before it.
void ck_dot_biases(const float *sums, const void *scales, const void *biases, ck_type type, float zero, size_t rows,
                   size_t blocks, float *target);
/// target[r] = -sum_b sums[b] * zero(r, b) * scale(r, b): the same with zero points of four bits in two's complement, low
/// nibble first; those of a row start at r * `stride` bytes.
void ck_dot_zeros(const float *sums, const void *scales, ck_type type, const uint8_t *zeros, size_t stride, size_t rows,
                  size_t blocks, float *target);
/// target[c] = sum_r weights[r] * rows[r * stride + c], c < columns, r < count. Rows of weight 0 are not read.
void ck_weighted_sum(const float *weights, const float *rows, size_t stride, size_t count, size_t columns,
                     float *target);
/// The same with rows of float16. The sums have the bits of `ck_weighted_sum` with these numbers.
void ck_weighted_sum_halves(const float *weights, const uint16_t *rows, size_t stride, size_t count, size_t columns,
                            float *target);
/// The products and sums of rows of codes: of `ck_dot`, and of `ck_weighted_sum`. A row has `count` or `columns` codes, and
/// then its scale, which multiplies the sum of a row, or its weight.
void ck_dot_byte_rows(const float *x, const int8_t *w, size_t stride, size_t rows, size_t count, float *target);
void ck_weighted_sum_byte_rows(const float *weights, const int8_t *rows, size_t stride, size_t count, size_t columns,
                               float *target);

#endif
