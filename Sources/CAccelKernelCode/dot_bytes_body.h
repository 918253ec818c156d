// Dot products of rows of codes of one byte with one vector: integers or numbers of float8, whose blocks share scales. Included
// by dot_body.h, for one instruction set.

/// What codes of one byte stand for: integers about a zero, or numbers of float8.
enum NAME(kind) { NAME(integers), NAME(e4m3), NAME(e5m2) };

/// The numbers of e4m3 come out as this share of them, because float16 has another bias of exponents.
#define UNIT_OF_E4M3 0x1p-8f

/// What 16 codes stand for; of e4m3 by its unit.
TARGET CK_INLINE void NAME(values_of_bytes)(const uint8_t *codes, uint8_t zero, FLOATS *values, const enum NAME(kind) kind) {
    const NAME(unsigned_bytes) bytes = *(const NAME(unsigned_bytes) *)codes;
    if (kind == NAME(integers)) {
        // Bytes are widened faster from memory than from registers, so that the zero is subtracted behind that.
        *values = __builtin_convertvector(bytes, FLOATS) - (float)zero;
        return;
    }
    NAME(shorts) halves = __builtin_convertvector(bytes, NAME(shorts)) << 8;
    if (kind == NAME(e4m3)) {
        const NAME(shorts) magnitudes = halves & 0x7F00, are_nan = (NAME(shorts))(magnitudes == 0x7F00);
        halves = (halves & 0x8000) | magnitudes >> 1 | (are_nan & 0x7E00);
    }
    NAME(widen)((const uint8_t *)&halves, 16, (float *)values);
}

/// Adds the products of 16 columns of codes of one byte.
TARGET CK_INLINE void NAME(bytes_step)(const float *x, const uint8_t *codes, uint8_t zero, FLOATS *sums,
                                       const enum NAME(kind) kind) {
    FLOATS values;
    NAME(values_of_bytes)(codes, zero, &values, kind);
    *sums = FMA(values, AT(x), *sums);
}

/// Adds the products of a block, the last of a row if it is shorter than others.
TARGET CK_INLINE void NAME(bytes_block)(const float *x, const uint8_t *codes, size_t count, uint8_t zero, float scale,
                                        FLOATS *first, FLOATS *second, const enum NAME(kind) kind, int are_ahead) {
    FLOATS sums[2] = {0, 0};
    size_t i = 0;
    for (; i + 32 <= count; i += 32) {
        if (are_ahead) prefetch_codes(codes + i);
        NAME(bytes_step)(x + i, codes + i, zero, &sums[0], kind);
        NAME(bytes_step)(x + i + 16, codes + i + 16, zero, &sums[1], kind);
    }
    if (i + 16 <= count) NAME(bytes_step)(x + i, codes + i, zero, &sums[0], kind), i += 16;
    if (i < count) {
        float xs[16];
        uint8_t cs[16];
        NAME(rest)(x + i, (count - i) * sizeof(float), (uint8_t *)xs, sizeof xs);
        NAME(rest)(codes + i, count - i, cs, sizeof cs);
        NAME(bytes_step)(xs, cs, zero, &sums[1], kind);
    }
    *first = FMA(sums[0], (FLOATS)scale, *first);
    *second = FMA(sums[1], (FLOATS)scale, *second);
}

TARGET CK_INLINE void NAME(bytes_row)(const float *x, const uint8_t *codes, size_t row, size_t count, uint8_t zero,
                                      const NAME(scales) *scales, FLOATS *lanes, const size_t block,
                                      const enum NAME(kind) kind, const ck_type scale_type, int are_ahead) {
    FLOATS first = 0, second = 0;
    // Scales are read sixteen at a time.
    for (size_t index = 0; index < scales->blocks; index += 16) {
        float own[16];
        const size_t left = scales->blocks - index;
        if (left >= 16) NAME(read_scales)(scales, row, index, 16, own, scale_type);
        for (size_t i = 0; left < 16 && i < left; i++) NAME(read_scales)(scales, row, index + i, 1, own + i, scale_type);
        for (size_t i = 0; i < 16 && i < left; i++) {
            const size_t at = (index + i) * block;
            // A block of constant size needs no rest.
            if (count - at >= block)
                NAME(bytes_block)(x + at, codes + at, block, zero, own[i], &first, &second, kind, are_ahead);
            else
                NAME(bytes_block)(x + at, codes + at, count - at, zero, own[i], &first, &second, kind, are_ahead);
        }
    }
    *lanes = first + second;
}

/// A row without scales.
TARGET CK_INLINE void NAME(plain_bytes_row)(const float *x, const uint8_t *codes, size_t count, uint8_t zero, FLOATS *lanes,
                                            const enum NAME(kind) kind, int are_ahead) {
    FLOATS first = 0, second = 0;
    NAME(bytes_block)(x, codes, count, zero, 1, &first, &second, kind, are_ahead);
    *lanes = first + second;
}

TARGET CK_INLINE void NAME(bytes_rows)(const float *x, const uint8_t *codes, size_t stride, size_t rows, size_t count,
                                       uint8_t zero, const NAME(scales) *scales, size_t block, float *target,
                                       const enum NAME(kind) kind, const ck_type scale_type, int are_ahead) {
#define BY_ROW(row, lanes) NAME(plain_bytes_row)(x, codes + (row) * stride, count, zero, lanes, kind, are_ahead)
#define LANES(row, lanes, size) \
    NAME(bytes_row)(x, codes + (row) * stride, row, count, zero, scales, lanes, size, kind, scale_type, are_ahead)
#define BY_16(row, lanes) LANES(row, lanes, 16)
#define BY_32(row, lanes) LANES(row, lanes, 32)
#define BY_64(row, lanes) LANES(row, lanes, 64)
#define BY_MORE(row, lanes) LANES(row, lanes, block)
    SUM_ROWS_BY_BLOCKS
    for (size_t row = 0; kind == NAME(e4m3) && row < rows; row++) target[row] /= UNIT_OF_E4M3;
#undef BY_ROW
#undef LANES
#undef BY_16
#undef BY_32
#undef BY_64
#undef BY_MORE
}

TARGET static void NAME(dot_bytes)(const float *x, const uint8_t *codes, size_t stride, size_t rows, size_t count,
                                   int bits, const void *scales, ck_type type, size_t blocks, size_t block,
                                   float *target) {
    const NAME(scales) all = {scales, blocks, blocks};
    const uint8_t zero = (uint8_t)(1 << (bits - 1));
    // Unpacked codes are in the cache. To prefetch behind them would take lines that another thread writes.
    const int are_ahead = bits == 8;
    if (type == CK_F16) NAME(bytes_rows)(x, codes, stride, rows, count, zero, &all, block, target, NAME(integers), CK_F16, are_ahead);
    else if (type == CK_BF16) NAME(bytes_rows)(x, codes, stride, rows, count, zero, &all, block, target, NAME(integers), CK_BF16, are_ahead);
    else NAME(bytes_rows)(x, codes, stride, rows, count, zero, &all, block, target, NAME(integers), CK_F32, are_ahead);
}

TARGET static void NAME(dot_float8)(const float *x, const uint8_t *codes, size_t stride, size_t rows, size_t count,
                                    int is_e5m2, const float *scales, size_t scale_stride, size_t blocks, size_t block,
                                    float *target) {
    const NAME(scales) all = {(const uint8_t *)scales, blocks, scale_stride};
    if (is_e5m2) NAME(bytes_rows)(x, codes, stride, rows, count, 0, &all, block, target, NAME(e5m2), CK_F32, 1);
    else NAME(bytes_rows)(x, codes, stride, rows, count, 0, &all, block, target, NAME(e4m3), CK_F32, 1);
}
