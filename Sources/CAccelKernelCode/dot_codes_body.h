// Dot products of rows of codes of four bits with one vector, and the scales that blocks of codes share. Included by
// dot_body.h, for one instruction set.

/// The sharing of scales: one per row or none, or one for each 16, 32 or 64 columns, or for more.
enum NAME(sharing) { NAME(by_row), NAME(by_16), NAME(by_32), NAME(by_64), NAME(by_more) };

/// The scales of rows: float32, float16 or bfloat16.
typedef struct {
    const uint8_t *bytes;
    /// Scales of a row.
    size_t blocks;
    /// Scales from those of a row to those of the next one: 0 if all rows share theirs.
    size_t stride;
} NAME(scales);

/// Widens 1, 2, 4, 8 or 16 numbers of bfloat16, which may be unaligned.
TARGET CK_INLINE void NAME(widen_bfloats)(const uint8_t *from, size_t count, float *target) {
    if (count == 16) {
        *(FLOATS *)target = (FLOATS)(__builtin_convertvector(*(const NAME(shorts) *)from, NAME(words)) << 16);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        uint16_t half;
        ck_copy(&half, from + 2 * i, sizeof half);
        const uint32_t bits = (uint32_t)half << 16;
        ck_copy(target + i, &bits, sizeof bits);
    }
}

/// Reads some scales of a row.
TARGET CK_INLINE void NAME(read_scales)(const NAME(scales) *scales, size_t row, size_t first, size_t count, float *target,
                                        const ck_type scale_type) {
    const size_t at = row * scales->stride + first;
    if (scale_type == CK_F16) NAME(widen)(scales->bytes + 2 * at, count, target);
    else if (scale_type == CK_BF16) NAME(widen_bfloats)(scales->bytes + 2 * at, count, target);
    else ck_copy(target, scales->bytes + 4 * at, 4 * count);
}

TARGET CK_INLINE float NAME(scale)(const NAME(scales) *scales, size_t row, size_t index, const ck_type scale_type) {
    float scale;
    NAME(read_scales)(scales, row, index, 1, &scale, scale_type);
    return scale;
}

/// Sums each row by one of the macros BY_ROW, BY_16, BY_32, BY_64 and BY_MORE, as its blocks share `scales`. The scale of a
/// whole row comes in at the end.
#define SUM_ROWS_BY_BLOCKS                                                                                                \
    if (scales->blocks <= 1) {                                                                                            \
        SUM_ROWS(BY_ROW)                                                                                                  \
        for (size_t row = 0; scales->blocks && row < rows; row++) target[row] *= NAME(scale)(scales, row, 0, scale_type); \
    } else if (block == 16) {                                                                                             \
        SUM_ROWS(BY_16)                                                                                                   \
    } else if (block == 32) {                                                                                             \
        SUM_ROWS(BY_32)                                                                                                   \
    } else if (block == 64) {                                                                                             \
        SUM_ROWS(BY_64)                                                                                                   \
    } else {                                                                                                              \
        SUM_ROWS(BY_MORE)                                                                                                 \
    }                                                                                                                     

// ---- codes of four bits ----------------------------------------------------------------------------------------
// A group is 128 codes: 16 words, whose lane j has the codes 8 * j to 8 * j + 7, the first in its lowest bits. The vector is
// interleaved alike (`ck_interleave`), so that a shift of all words brings up 16 codes for 16 elements that follow each other.

/// Rows of codes of four bits, and what stands for a code.
typedef struct {
    /// The entry of each code, as `planes` leaves it; NULL for numbers.
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
        NAME(add_entries)(x, (const uint32_t *)codes, values->table, (float *)&even, (float *)&odd);
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
                                         const enum NAME(sharing) sharing, const int is_signed, const ck_type scale_type,
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
            NAME(read_scales)(scales, row, at + i, 1, block_scales + i, scale_type);
    } else {
        NAME(read_scales)(scales, row, at, each, block_scales, scale_type);
    }
    NAME(codes4_scale)(block_scales, &lane_scales, sharing);
    *sums = FMA(products, lane_scales, *sums);
}

TARGET CK_INLINE void NAME(codes4_row)(const float *x, const uint8_t *codes, size_t row, size_t count,
                                       const NAME(nibbles) *values, const NAME(scales) *scales, int shift, FLOATS *lanes,
                                       const enum NAME(sharing) sharing, const int is_signed, const ck_type scale_type) {
    FLOATS sums = 0;
    size_t group = 0;
    for (; group < count / 128; group++)
        NAME(codes4_group)(x, codes, row, group, 128, values, scales, shift, &sums, sharing, is_signed, scale_type, 0);
    if (group * 128 < count)
        NAME(codes4_group)(x, codes, row, group, count - group * 128, values, scales, shift, &sums, sharing, is_signed,
                           scale_type, 1);
    *lanes = sums;
}

TARGET CK_INLINE void NAME(codes4)(const float *x, const uint8_t *codes, size_t stride, size_t rows, size_t count,
                                   NAME(nibbles) *values, const NAME(scales) *scales, size_t block, float *target,
                                   const int is_signed, const ck_type scale_type) {
    const int shift = block_shift(block, 128);
    if (rows) values->end = codes + (rows - 1) * stride + (count + 1) / 2;
    NAME(bits_of_codes)(count % 128, &values->last);
#define LANES(row, lanes, sharing)                                                                            \
    NAME(codes4_row)(x, codes + (row) * stride, row, count, values, scales, shift, lanes, sharing, is_signed, \
                     scale_type)
#define BY_ROW(row, lanes) LANES(row, lanes, NAME(by_row))
#define BY_16(row, lanes) LANES(row, lanes, NAME(by_16))
#define BY_32(row, lanes) LANES(row, lanes, NAME(by_32))
#define BY_64(row, lanes) LANES(row, lanes, NAME(by_64))
#define BY_MORE(row, lanes) LANES(row, lanes, NAME(by_more))
    SUM_ROWS_BY_BLOCKS
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
    NAME(nibbles) values = {.table = NAME(planes)(table, buffer)};
    const NAME(scales) all = {scales, blocks, blocks};
    if (type == CK_F16) NAME(codes4)(x, codes, stride, rows, count, &values, &all, block, target, 0, CK_F16);
    else if (type == CK_BF16) NAME(codes4)(x, codes, stride, rows, count, &values, &all, block, target, 0, CK_BF16);
    else NAME(codes4)(x, codes, stride, rows, count, &values, &all, block, target, 0, CK_F32);
}

TARGET static void NAME(dot_nibbles)(const float *x, const uint8_t *codes, size_t stride, size_t rows, size_t count,
                                     int is_biased, const void *scales, ck_type type, size_t blocks, size_t block,
                                     float *target) {
    static const float numbers[2][16] = {{0, 1, 2, 3, 4, 5, 6, 7, -8, -7, -6, -5, -4, -3, -2, -1},
                                         {-8, -7, -6, -5, -4, -3, -2, -1, 0, 1, 2, 3, 4, 5, 6, 7}};
    // There a table is the faster way from codes to numbers, too.
    if (SET_BYTES == 64) {
        NAME(dot_codes4)(x, codes, stride, rows, count, numbers[is_biased ? 1 : 0], scales, type, blocks, block, target);
        return;
    }
    NAME(nibbles) values = {.flips = is_biased ? 0x88888888u : 0};
    const NAME(scales) all = {scales, blocks, blocks};
    if (type == CK_F16) NAME(codes4)(x, codes, stride, rows, count, &values, &all, block, target, 1, CK_F16);
    else if (type == CK_BF16) NAME(codes4)(x, codes, stride, rows, count, &values, &all, block, target, 1, CK_BF16);
    else NAME(codes4)(x, codes, stride, rows, count, &values, &all, block, target, 1, CK_F32);
}
