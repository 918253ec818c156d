// Kernels on the bit patterns of 16-bit weights: the number of occurrences of each, and a code for each.
#include "internal.h"

CK_INLINE uint64_t load64(const uint8_t *p) {
    uint64_t word;
    ck_copy(&word, p, 8);
    return word;
}

CK_INLINE uint16_t load16(const uint8_t *p) {
    uint16_t half;
    ck_copy(&half, p, 2);
    return half;
}

void ck_count_halves(const void *values, size_t count, uint32_t counts[1 << 16]) {
    const uint8_t *p = values;
    size_t i = 0;
    // Several tables would avoid waits in runs of one pattern, but no longer fit the first cache level.
    for (; i + 4 <= count; i += 4, p += 8) {
        prefetch_ahead(p);
        uint64_t word = load64(p);
        counts[word & 0xFFFF]++;
        counts[word >> 16 & 0xFFFF]++;
        counts[word >> 32 & 0xFFFF]++;
        counts[word >> 48]++;
    }
    for (; i < count; i++, p += 2) counts[load16(p)]++;
}

/// Returns the codes of four values, each `bits` bits after the one before it.
CK_INLINE uint64_t four(const uint8_t *p, const uint8_t *table, int bits) {
    uint64_t x = load64(p);
    return (uint64_t)table[x & 0xFFFF] | (uint64_t)table[x >> 16 & 0xFFFF] << bits |
           (uint64_t)table[x >> 32 & 0xFFFF] << 2 * bits | (uint64_t)table[x >> 48] << 3 * bits;
}

CK_INLINE void look_up(const uint8_t *p, size_t count, const uint8_t *table, int bits, uint8_t *codes) {
    size_t i = 0;
    // Eight codes are `bits` bytes.
    for (; i + 8 <= count; i += 8, p += 16, codes += bits) {
        prefetch_ahead(p);
        uint64_t word = four(p, table, bits) | four(p + 8, table, bits) << 4 * bits;
        ck_copy(codes, &word, (size_t)bits);
    }
    uint64_t word = 0;
    int filled = 0;
    for (; i < count; i++, p += 2, filled += bits) word |= (uint64_t)table[load16(p)] << filled;
    for (; filled > 0; filled -= 8, word >>= 8) *codes++ = (uint8_t)word;
}

void ck_look_up_halves(const void *values, size_t count, const uint8_t table[1 << 16], int bits, uint8_t *codes) {
    switch (bits) {
    case 1: look_up(values, count, table, 1, codes); return;
    case 2: look_up(values, count, table, 2, codes); return;
    case 3: look_up(values, count, table, 3, codes); return;
    case 4: look_up(values, count, table, 4, codes); return;
    case 6: look_up(values, count, table, 6, codes); return;
    default: look_up(values, count, table, 8, codes); return;
    }
}
