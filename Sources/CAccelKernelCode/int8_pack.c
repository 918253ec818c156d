// Codes of weights packed to panels, as the products of ck_gemm_int8 read them.
#include "panels.h"

size_t ck_int8_panel_bytes(size_t depth) { return (depth + 3) / 4 * 4 * PANEL_WIDTH; }

typedef uint8_t sixteen __attribute__((ext_vector_type(16), aligned(1)));

/// The first `bytes` codes, and zeros.
CK_INLINE sixteen sixteen_codes(const uint8_t *from, size_t bytes, uint8_t flipped, uint8_t middle) {
    sixteen own = flipped ^ middle;
    if (bytes == 16) own = *(const sixteen *)from;
    else for (size_t b = 0; b < bytes; b++) own[b] = from[b];
    return (own ^ (sixteen)flipped) - (sixteen)middle;
}

/// Transposes 8 rows of 8 pairs of codes: three perfect shuffles.
CK_INLINE void transpose_pairs(sixteen rows[8]) {
    typedef uint16_t pairs __attribute__((ext_vector_type(8)));
#pragma clang loop unroll(full)
    for (int round = 0; round < 3; round++) {
        sixteen next[8];
#pragma clang loop unroll(full)
        for (int i = 0; i < 4; i++) {
            const pairs a = (pairs)rows[i], b = (pairs)rows[i + 4];
            next[2 * i] = (sixteen)__builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11);
            next[2 * i + 1] = (sixteen)__builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15);
        }
#pragma clang loop unroll(full)
        for (int i = 0; i < 8; i++) rows[i] = next[i];
    }
}

/// Transposes 4 rows of 4 quads of codes: two perfect shuffles.
CK_INLINE void transpose_quads(sixteen rows[4]) {
    typedef uint32_t quads __attribute__((ext_vector_type(4)));
#pragma clang loop unroll(full)
    for (int round = 0; round < 2; round++) {
        sixteen next[4];
#pragma clang loop unroll(full)
        for (int i = 0; i < 2; i++) {
            const quads a = (quads)rows[i], b = (quads)rows[i + 2];
            next[2 * i] = (sixteen)__builtin_shufflevector(a, b, 0, 4, 1, 5);
            next[2 * i + 1] = (sixteen)__builtin_shufflevector(a, b, 2, 6, 3, 7);
        }
#pragma clang loop unroll(full)
        for (int i = 0; i < 4; i++) rows[i] = next[i];
    }
}

/// - Parameter side: the codes of a row that lie side by side, before those of the panel's next row: 2 or 4.
CK_INLINE void pack(const uint8_t *codes, size_t stride, size_t rows, size_t depth, uint8_t flipped, uint8_t middle,
                    int8_t *panel, const size_t side) {
    const size_t height = 16 / side;
    for (size_t k = 0; k < depth; k += 16) {
        const size_t bytes = depth - k < 16 ? depth - k : 16, count = (bytes + side - 1) / side;
        for (size_t group = 0; group < PANEL_WIDTH; group += height) {
            sixteen square[8];
#pragma clang loop unroll(full)
            for (size_t i = 0; i < height; i++)
                square[i] =
                    sixteen_codes(codes + (group + i) * stride + k, group + i < rows ? bytes : 0, flipped, middle);
            if (side == 2) transpose_pairs(square);
            else transpose_quads(square);
            for (size_t p = 0; p < count; p++)
                *(sixteen *)(panel + (k + side * p) * PANEL_WIDTH + side * group) = square[p];
        }
    }
}

/// The sums of a panel's codes by block and column.
static void sum_quads(const int8_t *panel, size_t depth, size_t block, int32_t *sums) {
    typedef int8_t bytes __attribute__((ext_vector_type(16), aligned(1)));
    typedef int16_t shorts __attribute__((ext_vector_type(16)));
    for (size_t from = 0; from < depth; from += block, sums += PANEL_WIDTH) {
        const size_t end = depth - from < block ? depth : from + block;
        for (size_t group = 0; group < PANEL_WIDTH; group += 4) {
            int32_t total[4] = {0};
            for (size_t k = from; k < end;) {
                // Sums of 64 codes fit into 16 bits.
                shorts part = 0;
                for (const size_t stop = end - k < 256 ? end : k + 256; k < stop; k += 4)
                    part += __builtin_convertvector(*(const bytes *)(panel + k * PANEL_WIDTH + 4 * group), shorts);
                for (int column = 0; column < 4; column++)
                    for (int i = 0; i < 4; i++) total[column] += part[4 * column + i];
            }
            for (int column = 0; column < 4; column++) sums[group + column] = total[column];
        }
    }
}

#if CK_X86

/// Transposes 8 rows of 8 quads of codes.
CK_TARGET_AVX2 CK_INLINE void transpose_8x8_quads(__m256i rows[8]) {
    __m256i pair[8], four[8];
    UNROLLED for (int i = 0; i < 8; i += 2) {
        pair[i] = _mm256_unpacklo_epi32(rows[i], rows[i + 1]);
        pair[i + 1] = _mm256_unpackhi_epi32(rows[i], rows[i + 1]);
    }
    UNROLLED for (int i = 0; i < 8; i += 4) {
        four[i] = _mm256_unpacklo_epi64(pair[i], pair[i + 2]);
        four[i + 1] = _mm256_unpackhi_epi64(pair[i], pair[i + 2]);
        four[i + 2] = _mm256_unpacklo_epi64(pair[i + 1], pair[i + 3]);
        four[i + 3] = _mm256_unpackhi_epi64(pair[i + 1], pair[i + 3]);
    }
    UNROLLED for (int i = 0; i < 4; i++) {
        rows[i] = _mm256_permute2x128_si256(four[i], four[i + 4], 0x20);
        rows[i + 4] = _mm256_permute2x128_si256(four[i], four[i + 4], 0x31);
    }
}

/// Packs a panel of quads, and adds up the codes of each block while they are in registers.
CK_TARGET_AVX2 static void pack_quads_avx2(const uint8_t *codes, size_t stride, size_t rows, uint8_t flipped, uint8_t middle,
                                           size_t depth, size_t block, int8_t *panel, int32_t *code_sums) {
    const __m256i flip = _mm256_set1_epi8((char)flipped), less = _mm256_set1_epi8((char)middle);
    const __m256i ones = _mm256_set1_epi8(1), wide_ones = _mm256_set1_epi16(1);
    const uint8_t nothing = flipped ^ middle;
    // Eight rows at a time are packed to their end, because the hardware prefetcher can follow that few streams.
    for (size_t group = 0; group < PANEL_WIDTH; group += 8) {
        const size_t height = rows <= group ? 0 : rows - group < 8 ? rows - group : 8;
        const uint8_t *own = codes + group * stride;
        int32_t *sums = code_sums + group;
        for (size_t from = 0; from < depth; from += block, sums += PANEL_WIDTH) {
            const size_t end = depth - from < block ? depth : from + block;
            __m256i sum = _mm256_setzero_si256();
            for (size_t k = from; k < end; k += 32) {
                const size_t bytes = end - k < 32 ? end - k : 32;
                __m256i square[8];
                if (bytes == 32 && height == 8) {
                    UNROLLED for (int i = 0; i < 8; i++)
                        square[i] = _mm256_loadu_si256((const __m256i *)(own + (size_t)i * stride + k));
                } else {
                    uint8_t rest[8][32];
                    for (size_t i = 0; i < 8; i++)
                        for (size_t b = 0; b < 32; b++)
                            rest[i][b] = i < height && b < bytes ? own[i * stride + k + b] : nothing;
                    UNROLLED for (int i = 0; i < 8; i++) square[i] = _mm256_loadu_si256((const __m256i *)rest[i]);
                }
                transpose_8x8_quads(square);
                const size_t quads = (bytes + 3) / 4;
                UNROLLED for (size_t q = 0; q < 8; q++) {
                    const __m256i next = _mm256_sub_epi8(_mm256_xor_si256(square[q], flip), less);
                    if (q < quads) _mm256_storeu_si256((__m256i *)(panel + (k + 4 * q) * PANEL_WIDTH + 4 * group), next);
                    // Quads past the end are zeros.
                    sum = _mm256_add_epi32(sum, _mm256_madd_epi16(_mm256_maddubs_epi16(ones, next), wide_ones));
                }
            }
            _mm256_storeu_si256((__m256i *)sums, sum);
        }
    }
}

#endif

void ck_pack_int8_panel(const uint8_t *codes, size_t stride, size_t rows, uint8_t flipped, uint8_t middle,
                        const ck_int8_panels *shape, int8_t *panel, int32_t *code_sums) {
    if (!shape->has_quads) return pack(codes, stride, rows, shape->depth, flipped, middle, panel, 2);
#if CK_X86
    if (ck_current_isa() >= CK_AVX2)
        return pack_quads_avx2(codes, stride, rows, flipped, middle, shape->depth, shape->block, panel, code_sums);
#endif
    pack(codes, stride, rows, shape->depth, flipped, middle, panel, 4);
    sum_quads(panel, shape->depth, shape->block, code_sums);
}
