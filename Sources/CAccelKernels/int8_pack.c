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

// ---- pairs: two codes that follow each other in a row lie side by side, then those of the panel's next row --------

typedef uint16_t pairs __attribute__((ext_vector_type(8), aligned(1)));

/// Transposes 8 rows of 8 pairs: three perfect shuffles.
CK_INLINE void transpose(pairs rows[8]) {
#pragma clang loop unroll(full)
    for (int round = 0; round < 3; round++) {
        pairs next[8];
#pragma clang loop unroll(full)
        for (int i = 0; i < 4; i++) {
            next[2 * i] = __builtin_shufflevector(rows[i], rows[i + 4], 0, 8, 1, 9, 2, 10, 3, 11);
            next[2 * i + 1] = __builtin_shufflevector(rows[i], rows[i + 4], 4, 12, 5, 13, 6, 14, 7, 15);
        }
#pragma clang loop unroll(full)
        for (int i = 0; i < 8; i++) rows[i] = next[i];
    }
}

static void pack_pairs(const uint8_t *codes, size_t stride, size_t rows, size_t depth, uint8_t flipped, uint8_t middle,
                       int8_t *panel) {
    for (size_t k = 0; k < depth; k += 16) {
        const size_t bytes = depth - k < 16 ? depth - k : 16, count = (bytes + 1) / 2;
        for (size_t group = 0; group < PANEL_WIDTH; group += 8) {
            pairs block[8];
#pragma clang loop unroll(full)
            for (size_t i = 0; i < 8; i++) {
                block[i] = (pairs)sixteen_codes(codes + (group + i) * stride + k, group + i < rows ? bytes : 0, flipped, middle);
            }
            transpose(block);
            for (size_t p = 0; p < count; p++) *(pairs *)(panel + (k + 2 * p) * PANEL_WIDTH + 2 * group) = block[p];
        }
    }
}


// ---- quads: the same with four codes ---------------------------------------------------------------------------

typedef uint32_t quads __attribute__((ext_vector_type(4), aligned(1)));

/// Transposes 4 rows of 4 quads.
CK_INLINE void transpose_quads(quads rows[4]) {
    const quads a = __builtin_shufflevector(rows[0], rows[1], 0, 4, 1, 5), b = __builtin_shufflevector(rows[2], rows[3], 0, 4, 1, 5);
    const quads c = __builtin_shufflevector(rows[0], rows[1], 2, 6, 3, 7), d = __builtin_shufflevector(rows[2], rows[3], 2, 6, 3, 7);
    rows[0] = __builtin_shufflevector(a, b, 0, 1, 4, 5);
    rows[1] = __builtin_shufflevector(a, b, 2, 3, 6, 7);
    rows[2] = __builtin_shufflevector(c, d, 0, 1, 4, 5);
    rows[3] = __builtin_shufflevector(c, d, 2, 3, 6, 7);
}

static void pack_quads(const uint8_t *codes, size_t stride, size_t rows, size_t depth, uint8_t flipped, uint8_t middle,
                       int8_t *panel) {
    for (size_t k = 0; k < depth; k += 16) {
        const size_t bytes = depth - k < 16 ? depth - k : 16, count = (bytes + 3) / 4;
        for (size_t group = 0; group < PANEL_WIDTH; group += 4) {
            quads block[4];
#pragma clang loop unroll(full)
            for (size_t i = 0; i < 4; i++)
                block[i] = (quads)sixteen_codes(codes + (group + i) * stride + k, group + i < rows ? bytes : 0, flipped, middle);
            transpose_quads(block);
            for (size_t q = 0; q < count; q++) *(quads *)(panel + (k + 4 * q) * PANEL_WIDTH + 4 * group) = block[q];
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
    if (!shape->has_quads) return pack_pairs(codes, stride, rows, shape->depth, flipped, middle, panel);
    pack_quads(codes, stride, rows, shape->depth, flipped, middle, panel);
    sum_quads(panel, shape->depth, shape->block, code_sums);
}
