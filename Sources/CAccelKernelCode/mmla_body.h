// Products of eight columns of a panel with some rows, two rows and two columns at once, as NEON's matrix instructions multiply.
// Rows and columns are words of 32 bits: four codes, or two numbers of 16 bits. Included once for each kind, with these defined:
//   NAME(x)   the function's name for this kind     TARGET    its target attribute
//   ROWS      rows of a tile                        SQUARE    a vector of sums: of a row two columns, then of the next row
//   MMLA(sum, a, b)   adds the products of two words of two rows with two words of two columns

/// Two words, or one and zeros.
TARGET CK_INLINE uint8x8_t NAME(words)(const char *from, const int has_both) {
    if (has_both) return vld1_u8((const uint8_t *)from);
    uint32_t word;
    ck_copy(&word, from, sizeof word);
    return vcreate_u8(word);
}

/// Adds the products of two words of each row and column, or of one.
TARGET CK_INLINE void NAME(add)(const char *x, size_t stride, const uint32_t *w, SQUARE square[ROWS / 2][4], const int rows,
                                const int has_both) {
    const uint32x4_t zero = vdupq_n_u32(0), upper[2] = {vld1q_u32(w), vld1q_u32(w + 4)};
    const uint32x4_t lower[2] = {has_both ? vld1q_u32(w + PANEL_WIDTH) : zero, has_both ? vld1q_u32(w + PANEL_WIDTH + 4) : zero};
    const uint32x4_t columns[4] = {vzip1q_u32(upper[0], lower[0]), vzip2q_u32(upper[0], lower[0]),
                                   vzip1q_u32(upper[1], lower[1]), vzip2q_u32(upper[1], lower[1])};
    UNROLLED for (int r = 0; r < rows; r += 2) {
        // The last of an odd number of rows stands for the one after it, too.
        const int next = r + 1 < rows ? r + 1 : r;
        const uint8x16_t pair =
            vcombine_u8(NAME(words)(x + (size_t)r * stride, has_both), NAME(words)(x + (size_t)next * stride, has_both));
        UNROLLED for (int i = 0; i < 4; i++) square[r / 2][i] = MMLA(square[r / 2][i], pair, columns[i]);
    }
}

/// sums[r][v] = the products of row r with columns 4 * v to 4 * v + 3. Rows start each `stride` bytes.
TARGET CK_INLINE void NAME(squares)(const void *x, size_t stride, const void *panel, size_t words, SQUARE sums[ROWS][2],
                                    const int rows) {
    const char *own = x;
    const uint32_t *w = panel;
    SQUARE square[ROWS / 2][4];
    UNROLLED for (int r = 0; r < rows; r += 2) UNROLLED for (int i = 0; i < 4; i++) square[r / 2][i] = (SQUARE){0};
    for (size_t left = words / 2; left; left--, own += 8, w += 2 * PANEL_WIDTH) NAME(add)(own, stride, w, square, rows, 1);
    if (words % 2) NAME(add)(own, stride, w, square, rows, 0);
    UNROLLED for (int r = 0; r < rows; r++) UNROLLED for (int v = 0; v < 2; v++) {
        const uint64x2_t left = (uint64x2_t)square[r / 2][2 * v], right = (uint64x2_t)square[r / 2][2 * v + 1];
        sums[r][v] = (SQUARE)(r % 2 ? vzip2q_u64(left, right) : vzip1q_u64(left, right));
    }
}

#undef SQUARE
#undef MMLA
