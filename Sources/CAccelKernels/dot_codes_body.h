// Dot products of rows of codes with one vector: codes of four bits and of one byte, whose blocks share scales. Included
// by dot_body.h, for one instruction set.

/// The sharing of scales: one per row or none, or one for each 16, 32 or 64 columns, or for more.
enum NAME(sharing) { NAME(by_row), NAME(by_16), NAME(by_32), NAME(by_64), NAME(by_more) };

/// The scales of rows: float32 or float16.
typedef struct {
    const uint8_t *bytes;
    /// Scales of a row.
    size_t blocks;
    /// Scales from those of a row to those of the next one: 0 if all rows share theirs.
    size_t stride;
} NAME(scales);

/// Reads some scales of a row.
TARGET CK_INLINE void NAME(read_scales)(const NAME(scales) *scales, size_t row, size_t first, size_t count, float *target,
                                        const int are_halves) {
    const size_t at = row * scales->stride + first;
    if (are_halves) WIDEN_F16(scales->bytes + 2 * at, count, target);
    else ck_copy(target, scales->bytes + 4 * at, 4 * count);
}

TARGET CK_INLINE float NAME(scale)(const NAME(scales) *scales, size_t row, size_t index, const int are_halves) {
    float scale;
    NAME(read_scales)(scales, row, index, 1, &scale, are_halves);
    return scale;
}

// ---- codes of four bits ----------------------------------------------------------------------------------------
// A group is 128 codes: 16 words, whose lane j has the codes 8 * j to 8 * j + 7, the first in its lowest bits. The vector is
// interleaved alike (`ck_interleave`), so that a shift of all words brings up 16 codes for 16 elements that follow each other.

/// Rows of codes of four bits, and what stands for a code.
typedef struct {
    /// The entry of each code, as TABLE leaves it; NULL for numbers.
    const float *table;
    /// For numbers: what the codes of a word are flipped by to be in two's complement.
    uint32_t flips;
    /// The end of the last row; nothing from there on is read.
    const uint8_t *end;
    /// The bits of the codes in the last group of a row, if it has fewer than 128.
    NAME(words) last;
} NAME(nibbles);

/// The bits of the first `left` codes of a group.
TARGET CK_INLINE void NAME(bits_of_codes)(size_t left, NAME(words) *bits) {
    for (size_t lane = 0; lane < 16; lane++) {
        const size_t codes = left < 8 * lane ? 0 : left - 8 * lane;
        (*bits)[lane] = codes < 8 ? (1u << 4 * codes) - 1 : ~0u;
    }
}

/// The sums of a group's products, by lanes.
TARGET CK_INLINE void NAME(codes4_products)(const float *x, const NAME(words) *codes, const NAME(nibbles) *values,
                                            FLOATS *products, const int is_signed) {
    FLOATS even = 0, odd = 0;
    if (is_signed) {
        const NAME(words) words = *codes ^ values->flips;
#pragma clang loop unroll(full)
        for (int code = 0; code < 8; code++) {
            const FLOATS numbers = __builtin_convertvector((NAME(ints))(words << (28 - 4 * code)) >> 28, FLOATS);
            if (code % 2) odd = FMA(numbers, AT(x + 16 * code), odd);
            else even = FMA(numbers, AT(x + 16 * code), even);
        }
    } else {
        ADD_ENTRIES(x, (const uint32_t *)codes, values->table, (float *)&even, (float *)&odd);
    }
    *products = even + odd;
}

/// The scale of each lane of a group.
TARGET CK_INLINE void NAME(codes4_scale)(const float *scales, FLOATS *target, const enum NAME(sharing) sharing) {
    if (sharing == NAME(by_16)) {
        const NAME(eight) s = *(const NAME(eight) *)scales;
        *target = __builtin_shufflevector(s, s, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7);
    } else if (sharing == NAME(by_32)) {
        const NAME(four) s = *(const NAME(four) *)scales;
        *target = __builtin_shufflevector(s, s, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3);
    } else if (sharing == NAME(by_64)) {
        const NAME(two) s = *(const NAME(two) *)scales;
        *target = __builtin_shufflevector(s, s, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1);
    } else {
        *target = scales[0];
    }
}

/// Adds one group (the last one of a row may have fewer codes).
TARGET CK_INLINE void NAME(codes4_group)(const float *x, const uint8_t *codes, size_t row, size_t group, size_t left,
                                         const NAME(nibbles) *values, const NAME(scales) *scales, int shift, FLOATS *sums,
                                         const enum NAME(sharing) sharing, const int is_signed, const int are_halves,
                                         const int is_short) {
    const size_t each = sharing == NAME(by_16) ? 8 : sharing == NAME(by_32) ? 4 : sharing == NAME(by_64) ? 2 : 1;
    const size_t at = sharing == NAME(by_more) ? group >> shift : group * each;
    const uint8_t *own = codes + group * 64;
    NAME(words) words;
    if (is_short) {
        // What follows are codes of another row, where there is one. The vector is padded with zeros.
        if ((size_t)(values->end - own) >= sizeof words)
            words = *(const NAME(words) *)own & values->last;
        else
            NAME(rest)(own, (left + 1) / 2, (uint8_t *)&words, sizeof words);
    } else {
        words = *(const NAME(words) *)own;
        prefetch_codes(own);
    }
    FLOATS products, lane_scales;
    NAME(codes4_products)(x + group * 128, &words, values, &products, is_signed);
    if (sharing == NAME(by_row)) {
        *sums += products;
        return;
    }
    float block_scales[8] = {0};
    if (is_short) {
        for (size_t i = 0; i < each && at + i < scales->blocks; i++)
            NAME(read_scales)(scales, row, at + i, 1, block_scales + i, are_halves);
    } else {
        NAME(read_scales)(scales, row, at, each, block_scales, are_halves);
    }
    NAME(codes4_scale)(block_scales, &lane_scales, sharing);
    *sums = FMA(products, lane_scales, *sums);
}

TARGET CK_INLINE void NAME(codes4_row)(const float *x, const uint8_t *codes, size_t row, size_t count,
                                       const NAME(nibbles) *values, const NAME(scales) *scales, int shift, FLOATS *lanes,
                                       const enum NAME(sharing) sharing, const int is_signed, const int are_halves) {
    FLOATS sums = 0;
    size_t group = 0;
    for (; group < count / 128; group++)
        NAME(codes4_group)(x, codes, row, group, 128, values, scales, shift, &sums, sharing, is_signed, are_halves, 0);
    if (group * 128 < count)
        NAME(codes4_group)(x, codes, row, group, count - group * 128, values, scales, shift, &sums, sharing, is_signed,
                           are_halves, 1);
    *lanes = sums;
}

TARGET CK_INLINE void NAME(codes4)(const float *x, const uint8_t *codes, size_t stride, size_t rows, size_t count,
                                   NAME(nibbles) *values, const NAME(scales) *scales, size_t block, float *target,
                                   const int is_signed, const int are_halves) {
    const int shift = block_shift(block, 128);
    if (rows) values->end = codes + (rows - 1) * stride + (count + 1) / 2;
    NAME(bits_of_codes)(count % 128, &values->last);
#define LANES(row, lanes, sharing)                                                                            \
    NAME(codes4_row)(x, codes + (row) * stride, row, count, values, scales, shift, lanes, sharing, is_signed, \
                     are_halves)
#define BY_ROW(row, lanes) LANES(row, lanes, NAME(by_row))
#define BY_16(row, lanes) LANES(row, lanes, NAME(by_16))
#define BY_32(row, lanes) LANES(row, lanes, NAME(by_32))
#define BY_64(row, lanes) LANES(row, lanes, NAME(by_64))
#define BY_MORE(row, lanes) LANES(row, lanes, NAME(by_more))
    if (scales->blocks <= 1) {
        SUM_ROWS(BY_ROW)
        for (size_t row = 0; scales->blocks && row < rows; row++) target[row] *= NAME(scale)(scales, row, 0, are_halves);
    } else if (block == 16) {
        SUM_ROWS(BY_16)
    } else if (block == 32) {
        SUM_ROWS(BY_32)
    } else if (block == 64) {
        SUM_ROWS(BY_64)
    } else {
        SUM_ROWS(BY_MORE)
    }
#undef LANES
#undef BY_ROW
#undef BY_16
#undef BY_32
#undef BY_64
#undef BY_MORE
}

TARGET static void NAME(dot_codes4)(const float *x, const uint8_t *codes, size_t stride, size_t rows, size_t count,
                                    const float *table, const void *scales, ck_type type, size_t blocks, size_t block,
                                    float *target) {
    float buffer[16];
    NAME(nibbles) values = {.table = TABLE(table, buffer)};
    const NAME(scales) all = {scales, blocks, blocks};
    if (type == CK_F16) NAME(codes4)(x, codes, stride, rows, count, &values, &all, block, target, 0, 1);
    else NAME(codes4)(x, codes, stride, rows, count, &values, &all, block, target, 0, 0);
}

TARGET static void NAME(dot_nibbles)(const float *x, const uint8_t *codes, size_t stride, size_t rows, size_t count,
                                     int is_biased, const void *scales, ck_type type, size_t blocks, size_t block,
                                     float *target) {
    static const float numbers[2][16] = {{0, 1, 2, 3, 4, 5, 6, 7, -8, -7, -6, -5, -4, -3, -2, -1},
                                         {-8, -7, -6, -5, -4, -3, -2, -1, 0, 1, 2, 3, 4, 5, 6, 7}};
    if (LINEAR_BY_TABLE) {
        NAME(dot_codes4)(x, codes, stride, rows, count, numbers[is_biased ? 1 : 0], scales, type, blocks, block, target);
        return;
    }
    NAME(nibbles) values = {.flips = is_biased ? 0x88888888u : 0};
    const NAME(scales) all = {scales, blocks, blocks};
    if (type == CK_F16) NAME(codes4)(x, codes, stride, rows, count, &values, &all, block, target, 1, 1);
    else NAME(codes4)(x, codes, stride, rows, count, &values, &all, block, target, 1, 0);
}

// ---- codes of one byte -----------------------------------------------------------------------------------------

/// What codes of one byte stand for: integers about a zero, or numbers of float8.
enum NAME(kind) { NAME(integers), NAME(e4m3), NAME(e5m2) };

/// The numbers of e4m3 come out as this share of them, because float16 has another bias of exponents.
#define UNIT_OF_E4M3 0x1p-8f

/// What 16 codes stand for; of e4m3 by its unit.
TARGET CK_INLINE void NAME(values_of_bytes)(const uint8_t *codes, uint8_t zero, FLOATS *values, const enum NAME(kind) kind) {
    const NAME(unsigned_bytes) bytes = *(const NAME(unsigned_bytes) *)codes;
    if (kind == NAME(integers)) {
        *values = __builtin_convertvector((NAME(bytes))(bytes - zero), FLOATS);
        return;
    }
    NAME(shorts) halves = __builtin_convertvector(bytes, NAME(shorts)) << 8;
    if (kind == NAME(e4m3)) {
        const NAME(shorts) magnitudes = halves & 0x7F00, are_nan = (NAME(shorts))(magnitudes == 0x7F00);
        halves = (halves & 0x8000) | magnitudes >> 1 | (are_nan & 0x7E00);
    }
    WIDEN_F16((const uint8_t *)&halves, 16, (float *)values);
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

/// - Parameter block: a constant, or 0 if only `any_block` tells it.
TARGET CK_INLINE void NAME(bytes_row)(const float *x, const uint8_t *codes, size_t row, size_t count, uint8_t zero,
                                      const NAME(scales) *scales, size_t any_block, FLOATS *lanes, const size_t block,
                                      const enum NAME(kind) kind, const int are_halves, int are_ahead) {
    const size_t size = block ? block : any_block;
    FLOATS first = 0, second = 0;
    // Scales are read sixteen at a time.
    for (size_t index = 0; index < scales->blocks; index += 16) {
        float own[16];
        const size_t left = scales->blocks - index;
        if (left >= 16) NAME(read_scales)(scales, row, index, 16, own, are_halves);
        for (size_t i = 0; left < 16 && i < left; i++) NAME(read_scales)(scales, row, index + i, 1, own + i, are_halves);
        for (size_t i = 0; i < 16 && i < left; i++) {
            const size_t at = (index + i) * size;
            if (count - at >= size)
                NAME(bytes_block)(x + at, codes + at, size, zero, own[i], &first, &second, kind, are_ahead);
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
                                       const enum NAME(kind) kind, const int are_halves, int are_ahead) {
#define BY_ROW(row, lanes) NAME(plain_bytes_row)(x, codes + (row) * stride, count, zero, lanes, kind, are_ahead)
#define LANES(row, lanes, constant) \
    NAME(bytes_row)(x, codes + (row) * stride, row, count, zero, scales, block, lanes, constant, kind, are_halves, are_ahead)
#define BY_16(row, lanes) LANES(row, lanes, 16)
#define BY_32(row, lanes) LANES(row, lanes, 32)
#define BY_64(row, lanes) LANES(row, lanes, 64)
#define BY_MORE(row, lanes) LANES(row, lanes, 0)
    if (scales->blocks <= 1) {
        SUM_ROWS(BY_ROW)
        for (size_t row = 0; scales->blocks && row < rows; row++) target[row] *= NAME(scale)(scales, row, 0, are_halves);
    } else if (block == 16) {
        SUM_ROWS(BY_16)
    } else if (block == 32) {
        SUM_ROWS(BY_32)
    } else if (block == 64) {
        SUM_ROWS(BY_64)
    } else {
        SUM_ROWS(BY_MORE)
    }
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
    if (type == CK_F16) NAME(bytes_rows)(x, codes, stride, rows, count, zero, &all, block, target, NAME(integers), 1, are_ahead);
    else NAME(bytes_rows)(x, codes, stride, rows, count, zero, &all, block, target, NAME(integers), 0, are_ahead);
}

TARGET static void NAME(dot_float8)(const float *x, const uint8_t *codes, size_t stride, size_t rows, size_t count,
                                    int is_e5m2, const float *scales, size_t scale_stride, size_t blocks, size_t block,
                                    float *target) {
    const NAME(scales) all = {(const uint8_t *)scales, blocks, scale_stride};
    if (is_e5m2) NAME(bytes_rows)(x, codes, stride, rows, count, 0, &all, block, target, NAME(e5m2), 0, 1);
    else NAME(bytes_rows)(x, codes, stride, rows, count, 0, &all, block, target, NAME(e4m3), 0, 1);
}
