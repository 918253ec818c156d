// Packs panels: 32 rows of a weight side by side, so that the matrix product reads them in order.
#include "panels.h"

typedef float eight __attribute__((ext_vector_type(8), aligned(4)));

/// to[i * PANEL_WIDTH + j] = from[j * stride + i] for i, j in 0..<8.
CK_INLINE void transpose_8x8(const float *from, size_t stride, float *to) {
    eight row[8], pair[8], quad[8];
#pragma clang loop unroll(full)
    for (int i = 0; i < 8; i++) row[i] = *(const eight *)(from + (size_t)i * stride);
    // Interleaves pairs of rows, then pairs of pairs, then halves. Each step but the last stays within 16-byte lanes.
#pragma clang loop unroll(full)
    for (int i = 0; i < 8; i += 2) {
        pair[i] = __builtin_shufflevector(row[i], row[i + 1], 0, 8, 1, 9, 4, 12, 5, 13);
        pair[i + 1] = __builtin_shufflevector(row[i], row[i + 1], 2, 10, 3, 11, 6, 14, 7, 15);
    }
#pragma clang loop unroll(full)
    for (int i = 0; i < 8; i += 4) {
        quad[i] = __builtin_shufflevector(pair[i], pair[i + 2], 0, 1, 8, 9, 4, 5, 12, 13);
        quad[i + 1] = __builtin_shufflevector(pair[i], pair[i + 2], 2, 3, 10, 11, 6, 7, 14, 15);
        quad[i + 2] = __builtin_shufflevector(pair[i + 1], pair[i + 3], 0, 1, 8, 9, 4, 5, 12, 13);
        quad[i + 3] = __builtin_shufflevector(pair[i + 1], pair[i + 3], 2, 3, 10, 11, 6, 7, 14, 15);
    }
#pragma clang loop unroll(full)
    for (int i = 0; i < 4; i++) {
        *(eight *)(to + i * PANEL_WIDTH) = __builtin_shufflevector(quad[i], quad[i + 4], 0, 1, 2, 3, 8, 9, 10, 11);
        *(eight *)(to + (i + 4) * PANEL_WIDTH) =
            __builtin_shufflevector(quad[i], quad[i + 4], 4, 5, 6, 7, 12, 13, 14, 15);
    }
}

CK_INLINE void pack_body(const float *w, size_t stride, size_t rows, size_t k, float *panel) {
    size_t whole_rows = rows & ~(size_t)7, whole_k = k & ~(size_t)7;
    // Eight rows at a time are packed to their end, because the hardware prefetcher can follow that few streams.
    for (size_t row = 0; row < whole_rows; row += 8)
        for (size_t i = 0; i < whole_k; i += 8)
            transpose_8x8(w + row * stride + i, stride, panel + i * PANEL_WIDTH + row);
    for (size_t i = 0; i < k; i++) {
        float *to = panel + i * PANEL_WIDTH;
        for (size_t row = i < whole_k ? whole_rows : 0; row < rows; row++) to[row] = w[row * stride + i];
        for (size_t row = rows; row < PANEL_WIDTH; row++) to[row] = 0;
    }
}

static void pack_plain(const float *w, size_t stride, size_t rows, size_t k, float *panel) {
    pack_body(w, stride, rows, k, panel);
}

#if CK_X86
CK_TARGET_AVX2 static void pack_avx2(const float *w, size_t stride, size_t rows, size_t k, float *panel) {
    pack_body(w, stride, rows, k, panel);
}
#endif

void ck_pack_panel(const float *w, size_t stride, size_t rows, size_t k, float *panel) {
#if CK_X86
    if (ck_current_isa() >= CK_AVX2) {
        pack_avx2(w, stride, rows, k, panel);
        return;
    }
#endif
    pack_plain(w, stride, rows, k, panel);
}

void ck_pack_panel_transposed(const float *w, size_t stride, size_t columns, size_t k, float *panel) {
    for (size_t i = 0; i < k; i++) {
        float *to = panel + i * PANEL_WIDTH;
        ck_copy(to, w + i * stride, columns * sizeof(float));
        for (size_t column = columns; column < PANEL_WIDTH; column++) to[column] = 0;
    }
}
