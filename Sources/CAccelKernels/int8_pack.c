// Codes of weights packed to panels, as the products of ck_gemm_int8 read them.
#include "internal.h"

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

void ck_pack_int8_panel(const uint8_t *codes, size_t stride, size_t rows, uint8_t flipped, uint8_t middle,
                        const ck_int8_panels *shape, int8_t *panel, int32_t *code_sums) {
    if (!shape->has_quads) return pack(codes, stride, rows, shape->depth, flipped, middle, panel, 2);
    pack(codes, stride, rows, shape->depth, flipped, middle, panel, 4);
    sum_quads(panel, shape->depth, shape->block, code_sums);
}
