// Dot products of rows with one vector, where codes of one byte stand for entries of a table, for one instruction set.
// Included by entries.c once for each, with NAME(x) and TARGET defined, and with these functions for the set:
//   reads_bytes(bits)                                  whether tables for so many bits are read by the bytes of their entries
//   add_looked_up(x, codes, table, even, odd, bits)    of 64 codes, adds the products of their entries and of x to 16 sums: the first
//                                                      and third 16 to `even`, the others to `odd`
//
// Products are added in the order of `ck_dot`, so the sums have the bits of decoding the rows first.

#include "sums_body.h"

TARGET CK_INLINE void NAME(entries_row)(const float *x, const uint8_t *codes, size_t count, const float *table,
                                        const void *ordered, FLOATS *lanes, const int bits) {
    FLOATS even = 0, odd = 0;
    size_t i = 0;
    for (; i + 64 <= count; i += 64) {
        // Unpacked codes are in the cache. To prefetch behind them would take lines that another thread writes.
        if (bits == 8) prefetch_codes(codes + i);
        NAME(add_looked_up)(x + i, codes + i, ordered, (float *)&even, (float *)&odd, bits);
    }
    for (; i < count; i += 32) {
        float values[32] = {0}, xs[32] = {0};
        for (size_t k = 0; k < 32 && i + k < count; k++) values[k] = table[codes[i + k]], xs[k] = x[i + k];
        even = FMA(AT(values), AT(xs), even);
        odd = FMA(AT(values + 16), AT(xs + 16), odd);
    }
    *lanes = even + odd;
}

TARGET static void NAME(dot_entries)(const float *x, const uint8_t *codes, size_t stride, size_t rows, size_t count,
                                     const float *table, int bits, float *target) {
    uint8_t buffer[4 * 256];
    float sixteen[16];
#define ROW(row, lanes, bits) NAME(entries_row)(x, codes + (row) * stride, count, table, ordered, lanes, bits)
#define ROW_OF_4(row, lanes) ROW(row, lanes, 4)
#define ROW_OF_6(row, lanes) ROW(row, lanes, 6)
#define ROW_OF_8(row, lanes) ROW(row, lanes, 8)
    if (bits <= 4) {
        // A smaller table is read as far as it goes.
        for (size_t i = 0; i < 16; i++) sixteen[i] = i >> bits ? 0 : table[i];
        const void *ordered = NAME(reads_bytes)(4) ? (const void *)by_bytes(sixteen, 16, buffer) : sixteen;
        SUM_ROWS(ROW_OF_4)
    } else if (bits == 6) {
        const void *ordered = NAME(reads_bytes)(6) ? (const void *)by_bytes(table, 64, buffer) : table;
        SUM_ROWS(ROW_OF_6)
    } else {
        const void *ordered = NAME(reads_bytes)(8) ? (const void *)by_bytes(table, 256, buffer) : table;
        SUM_ROWS(ROW_OF_8)
    }
#undef ROW
#undef ROW_OF_4
#undef ROW_OF_6
#undef ROW_OF_8
}

#include "sums_end.h"
