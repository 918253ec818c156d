// What the shifts of blocks add to products of codes: the shift of a block is multiplied with the sum of its block of the
// vector, sixteen blocks at a time. Included by dot_body.h, for one instruction set.

/// Some bytes of memory that ends at `end`, and zeros for those that follow it: at `from`, or in `buffer`.
TARGET CK_INLINE const uint8_t *NAME(padded)(const uint8_t *from, const uint8_t *end, size_t size, uint8_t *buffer) {
    if ((size_t)(end - from) >= size) return from;
    NAME(rest)(from, (size_t)(end - from), buffer, size);
    return buffer;
}

/// Sixteen scales or biases of a row, from one of its blocks on. Those of other rows are cleared by `last`.
/// - Parameter end: the end of the last row.
TARGET CK_INLINE void NAME(read_sixteen)(const NAME(scales) *scales, const uint8_t *end, size_t row, size_t first,
                                         const NAME(words) *last, FLOATS *target, const ck_type scale_type) {
    const size_t size = scale_type == CK_F32 ? 4 : 2;
    uint8_t buffer[64];
    const NAME(scales) part = {
        .bytes = NAME(padded)(scales->bytes + (row * scales->stride + first) * size, end, 16 * size, buffer)};
    NAME(read_scales)(&part, 0, 0, 16, (float *)target, scale_type);
    if (scales->blocks - first < 16) *target = (FLOATS)((NAME(words))(*target) & *last);
}

/// Zero points of sixteen blocks: of 8 bytes, low nibbles first.
TARGET CK_INLINE void NAME(read_zeros)(const uint8_t *packed, FLOATS *target) {
    const NAME(eight_bytes) codes = *(const NAME(eight_bytes) *)packed;
    const NAME(eight_bytes) low = (codes << 4) >> 4, high = codes >> 4;
    *target = __builtin_convertvector(
        __builtin_shufflevector(low, high, 0, 8, 1, 9, 2, 10, 3, 11, 4, 12, 5, 13, 6, 14, 7, 15), FLOATS);
}

/// The shifts of blocks: biases of codes less `zero`, or zero points.
typedef struct {
    const NAME(scales) *scales;
    /// NULL for zero points.
    const NAME(scales) *biases;
    float zero;
    const uint8_t *zeros;
    /// Bytes of a row's zero points.
    size_t stride;
    size_t rows;
    /// The bits of the blocks of a row that follow its last whole sixteen.
    NAME(words) last;
} NAME(shifts);

TARGET CK_INLINE void NAME(shifts_row)(const float *sums, const NAME(shifts) *shifts, size_t row, FLOATS *lanes,
                                       const ck_type scale_type) {
    const NAME(scales) *scales = shifts->scales, *biases = shifts->biases;
    const size_t blocks = scales->blocks, size = shifts->rows * blocks * (scale_type == CK_F32 ? 4 : 2);
    FLOATS total = 0;
    for (size_t first = 0; first < blocks; first += 16) {
        FLOATS scale, shift;
        NAME(read_sixteen)(scales, scales->bytes + size, row, first, &shifts->last, &scale, scale_type);
        if (biases) {
            NAME(read_sixteen)(biases, biases->bytes + size, row, first, &shifts->last, &shift, scale_type);
            shift += scale * shifts->zero;
        } else {
            uint8_t buffer[8];
            const uint8_t *end = shifts->zeros + shifts->rows * shifts->stride;
            NAME(read_zeros)(NAME(padded)(shifts->zeros + row * shifts->stride + first / 2, end, 8, buffer), &shift);
            shift *= -scale;
        }
        total = FMA(shift, AT(sums + first), total);
    }
    *lanes = total;
}

TARGET CK_INLINE void NAME(dot_shifts)(const float *sums, NAME(shifts) *shifts, ck_type type, float *target) {
    const size_t rows = shifts->rows, left = shifts->scales->blocks % 16;
    for (size_t lane = 0; lane < 16; lane++) shifts->last[lane] = lane < left ? ~0u : 0;
#define OF_HALVES(row, lanes) NAME(shifts_row)(sums, shifts, row, lanes, CK_F16)
#define OF_BFLOATS(row, lanes) NAME(shifts_row)(sums, shifts, row, lanes, CK_BF16)
#define OF_FLOATS(row, lanes) NAME(shifts_row)(sums, shifts, row, lanes, CK_F32)
    if (type == CK_F16) SUM_ROWS(OF_HALVES)
    else if (type == CK_BF16) SUM_ROWS(OF_BFLOATS)
    else SUM_ROWS(OF_FLOATS)
#undef OF_HALVES
#undef OF_BFLOATS
#undef OF_FLOATS
}

TARGET static void NAME(dot_biases)(const float *sums, const void *scales, const void *biases, ck_type type, float zero,
                                    size_t rows, size_t blocks, float *target) {
    const NAME(scales) all = {scales, blocks, blocks}, added = {biases, blocks, blocks};
    NAME(shifts) shifts = {.scales = &all, .biases = &added, .zero = zero, .rows = rows};
    NAME(dot_shifts)(sums, &shifts, type, target);
}

TARGET static void NAME(dot_zeros)(const float *sums, const void *scales, ck_type type, const uint8_t *zeros,
                                   size_t stride, size_t rows, size_t blocks, float *target) {
    const NAME(scales) all = {scales, blocks, blocks};
    NAME(shifts) shifts = {.scales = &all, .zeros = zeros, .stride = stride, .rows = rows};
    NAME(dot_shifts)(sums, &shifts, type, target);
}
