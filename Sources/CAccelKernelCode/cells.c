// Assigns many numbers to cells of an axis, for the passes of exact k-means over all of its points.
//
// The same float32 operations on every instruction set (contraction is off), so results are bit-equal.
#include "internal.h"

#pragma clang fp contract(off)

/// Returns the position nearest to x. Adding 2^23 rounds to an integer, which is then in the low bits.
CK_INLINE uint32_t position(const ck_cells *cells, float x) {
    float sum = (x - cells->low) * cells->per_step + 0x1p23f;
    uint32_t bits;
    ck_copy(&bits, &sum, 4);
    return bits & ((1u << CK_CELL_BITS) - 1);
}

CK_INLINE int is_open(const ck_cells *cells, float x) { return cells->first[position(cells, x) >> cells->outer] >= 0; }

/// Copies without a branch, which would be mispredicted too often.
CK_INLINE size_t keep(const float *values, size_t count, const ck_cells *cells, float *kept) {
    size_t n = 0;
    for (size_t i = 0; i < count; i++) {
        kept[n] = values[i];
        n += (size_t)is_open(cells, values[i]);
    }
    return n;
}

static size_t keep_plain(const float *v, size_t n, const ck_cells *cells, float *kept) { return keep(v, n, cells, kept); }

#if CK_X86
CK_TARGET_AVX2 static size_t keep_avx2(const float *v, size_t n, const ck_cells *cells, float *kept) { return keep(v, n, cells, kept); }

CK_TARGET_AVX512 static size_t keep_avx512(const float *values, size_t count, const ck_cells *cells, float *kept) {
    __m512 low = _mm512_set1_ps(cells->low), scale = _mm512_set1_ps(cells->per_step), ones = _mm512_set1_ps(0x1p23f);
    __m512i mask = _mm512_set1_epi32((1 << CK_CELL_BITS) - 1);
    size_t n = 0, i = 0;
    for (; i + 16 <= count; i += 16) {
        __m512 x = _mm512_loadu_ps(values + i);
        __m512 sum = _mm512_add_ps(_mm512_mul_ps(_mm512_sub_ps(x, low), scale), ones);
        __m512i place = _mm512_srlv_epi32(_mm512_and_si512(_mm512_castps_si512(sum), mask), _mm512_set1_epi32(cells->outer));
        __mmask16 open = _mm512_movepi32_mask(_mm512_i32gather_epi32(place, cells->first, 4));
        open = (__mmask16)~open;
        _mm512_storeu_ps(kept + n, _mm512_maskz_compress_ps(open, x));
        n += (size_t)__builtin_popcount(open);
    }
    return n + keep(values + i, count - i, cells, kept + n);
}
#endif

size_t ck_keep_open(const float *values, size_t count, const ck_cells *cells, float *kept) {
    return CK_CHOOSE(keep, values, count, cells, kept);
}

void ck_add_to_cells(const float *values, size_t count, const ck_cells *cells, double origin, double *sums) {
    enum { block = 64 };
    uint32_t at[block], mask = (1u << cells->outer) - 1;
    for (size_t start = 0; start < count; start += block) {
        // The positions are computed first, many at once.
        size_t n = count - start < block ? count - start : block;
        for (size_t i = 0; i < n; i++) at[i] = position(cells, values[start + i]);
        for (size_t i = 0; i < n; i++) {
            int32_t first = cells->first[at[i] >> cells->outer];
            // A value outside of all cells occurs only if the values change while they are read.
            if (first < 0) continue;
            double *sum = sums + 2 * ((size_t)first + ((at[i] & mask) >> cells->inner));
            sum[0] += 1;
            sum[1] += (double)values[start + i] - origin;
        }
    }
}
