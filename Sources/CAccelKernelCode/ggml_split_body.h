// The blocks of each type of ggml in parts, for one instruction set. Included by ggml_parts_body.h.
//
// A splitter takes the blocks of SPLIT weights, or fewer of them at the end of a row. Scales and minima have the float32 operations of
// ggml, in its order.

typedef uint8_t NAME(bytes16) __attribute__((ext_vector_type(16), aligned(1)));
typedef uint8_t NAME(bytes32) __attribute__((ext_vector_type(32), aligned(1)));
typedef uint8_t NAME(bytes8) __attribute__((ext_vector_type(8), aligned(1)));
typedef int8_t NAME(signed16) __attribute__((ext_vector_type(16), aligned(1)));

#define BYTES16(p) (*(const NAME(bytes16) *)(p))
#define BYTES32(p) (*(const NAME(bytes32) *)(p))
#define STORE16(p, values) (*(NAME(bytes16) *)(p) = (values))
#define STORE32(p, values) (*(NAME(bytes32) *)(p) = (values))

/// Four bits of 16 bytes to 32 codes: the lower ones first.
TARGET CK_INLINE void NAME(nibbles32)(const uint8_t *packed, NAME(bytes32) *codes) {
    const NAME(bytes16) both = BYTES16(packed);
    *codes = __builtin_shufflevector(both & 15, both >> 4, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20,
                                   21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31);
}

/// The bytes whose bits of 32 are set: all their bits.
TARGET CK_INLINE void NAME(bits32)(const uint8_t *bits, NAME(bytes32) *masks) {
    uint32_t four;
    ck_copy(&four, bits, sizeof four);
    const NAME(bytes32) all = (NAME(bytes32))((uint32_t __attribute__((ext_vector_type(8))))four);
    const NAME(bytes32) spread = __builtin_shufflevector(all, all, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 18, 18, 18, 18, 18,
                                                         18, 18, 18, 19, 19, 19, 19, 19, 19, 19, 19);
    const NAME(bytes32) each = (NAME(bytes32))((uint64_t __attribute__((ext_vector_type(4))))0x8040201008040201u);
    *masks = (NAME(bytes32))((spread & each) == each);
}

/// Widens a number of each of up to eight blocks, whose first byte is at `at` of a block.
TARGET CK_INLINE void NAME(halves_of_blocks)(const uint8_t *at, size_t size, size_t blocks, float *target) {
    uint16_t halves[8] = {0};
    if (blocks == 8) {
        UNROLLED for (int i = 0; i < 8; i++) ck_copy(halves + i, at + (size_t)i * size, 2);
    } else {
        for (size_t i = 0; i < blocks; i++) ck_copy(halves + i, at + i * size, 2);
    }
    NAME(widen_8)(halves, target);
}

/// The scales of some blocks, and their codes: for block i, `make` computes `codes`.
#define EACH_BLOCK(type, make)                                            \
    const block_##type *const block = (const block_##type *)source;       \
    NAME(halves_of_blocks)(source, sizeof *block, blocks, parts->scales); \
    for (size_t i = 0; i < blocks; i++) {                                 \
        NAME(bytes32) codes;                                              \
        make;                                                             \
        STORE32(parts->codes + 32 * i, codes);                            \
    }

TARGET CK_INLINE void NAME(split_q8_0)(const uint8_t *source, size_t blocks, ggml_parts *parts) {
    EACH_BLOCK(q8_0, codes = BYTES32(block[i].qs))
}

TARGET CK_INLINE void NAME(split_q4_0)(const uint8_t *source, size_t blocks, ggml_parts *parts) {
    EACH_BLOCK(q4_0, NAME(nibbles32)(block[i].qs, &codes); codes -= 8)
}

/// Minima that are stored as what is added.
TARGET CK_INLINE void NAME(negated_minima)(const uint8_t *source, size_t size, size_t blocks, ggml_parts *parts) {
    NAME(halves_of_blocks)(source + 2, size, blocks, parts->minima);
    *(NAME(eight) *)parts->minima = -*(NAME(eight) *)parts->minima;
}

TARGET CK_INLINE void NAME(split_q4_1)(const uint8_t *source, size_t blocks, ggml_parts *parts) {
    EACH_BLOCK(q4_1, NAME(nibbles32)(block[i].qs, &codes))
    NAME(negated_minima)(source, sizeof *block, blocks, parts);
}

TARGET CK_INLINE void NAME(split_q5_0)(const uint8_t *source, size_t blocks, ggml_parts *parts) {
    NAME(bytes32) high;
    EACH_BLOCK(q5_0, NAME(nibbles32)(block[i].qs, &codes); NAME(bits32)(block[i].qh, &high); codes |= ~high & 0xF0)
}

TARGET CK_INLINE void NAME(split_q5_1)(const uint8_t *source, size_t blocks, ggml_parts *parts) {
    NAME(bytes32) high;
    EACH_BLOCK(q5_1, NAME(nibbles32)(block[i].qs, &codes); NAME(bits32)(block[i].qh, &high); codes |= high & 16)
    NAME(negated_minima)(source, sizeof *block, blocks, parts);
}

/// The codes of 16 bytes of nibbles, as numbers of IQ4.
#define UNEVEN(packed, target)                              \
    {                                                       \
        const NAME(bytes16) both = BYTES16(packed);         \
        u8x16 found = both & 15;                            \
        NAME(look_up_16)(kvalues_iq4nl, &found, &found);    \
        STORE16(target, found);                             \
        found = both >> 4;                                  \
        NAME(look_up_16)(kvalues_iq4nl, &found, &found);    \
        STORE16((target) + 16, found);                      \
    }

TARGET CK_INLINE void NAME(split_iq4_nl)(const uint8_t *source, size_t blocks, ggml_parts *parts) {
    const block_iq4_nl *const block = (const block_iq4_nl *)source;
    NAME(halves_of_blocks)(source, sizeof *block, blocks, parts->scales);
    for (size_t i = 0; i < blocks; i++) UNEVEN(block[i].qs, parts->codes + 32 * i)
}

#undef EACH_BLOCK

// ---- blocks of 256 weights -----------------------------------------------------------------------------------------

TARGET CK_INLINE float NAME(half_of)(uint16_t half) {
    uint16_t halves[8] = {half};
    float wide[8];
    NAME(widen_8)(halves, wide);
    return wide[0];
}

/// unit * bytes[i], for sixteen parts.
TARGET CK_INLINE void NAME(scaled16)(NAME(bytes16) bytes, float unit, float *target) {
    *(FLOATS *)target = unit * __builtin_convertvector(bytes, FLOATS);
}

TARGET CK_INLINE void NAME(scaled8)(NAME(bytes8) bytes, float unit, float *target) {
    *(NAME(eight) *)target = unit * __builtin_convertvector(bytes, NAME(eight));
}

TARGET CK_INLINE void NAME(split_q2_k)(const uint8_t *source, size_t blocks, ggml_parts *parts) {
    const block_q2_k *block = (const block_q2_k *)source;
    (void)blocks;
    UNROLLED for (int half = 0; half < 2; half++) {
        const NAME(bytes32) packed = BYTES32(block->qs + 32 * half);
        UNROLLED for (int k = 0; k < 4; k++) STORE32(parts->codes + 128 * half + 32 * k, packed >> 2 * k & 3);
    }
    const NAME(bytes16) both = BYTES16(block->scales);
    NAME(scaled16)(both & 15, NAME(half_of)(block->d), parts->scales);
    NAME(scaled16)(both >> 4, NAME(half_of)(block->dmin), parts->minima);
}

TARGET CK_INLINE void NAME(split_q3_k)(const uint8_t *source, size_t blocks, ggml_parts *parts) {
    const block_q3_k *block = (const block_q3_k *)source;
    (void)blocks;
    const NAME(bytes32) high = BYTES32(block->hmask);
    UNROLLED for (int half = 0; half < 2; half++) {
        const NAME(bytes32) packed = BYTES32(block->qs + 32 * half);
        UNROLLED for (int k = 0; k < 4; k++)
            STORE32(parts->codes + 128 * half + 32 * k, ((packed >> 2 * k & 3) | (high >> (4 * half + k) & 1) << 2) - 4);
    }
    uint32_t words[3], bytes[4];
    ck_copy(words, block->scales, sizeof words);
    UNROLLED for (int k = 0; k < 4; k++)
        bytes[k] = (words[k % 2] >> k / 2 * 4 & 0x0F0F0F0Fu) | (words[2] >> 2 * k & 0x03030303u) << 4;
    const NAME(signed16) scales = (NAME(signed16))(BYTES16(bytes) - 32);
    *(FLOATS *)parts->scales = NAME(half_of)(block->d) * __builtin_convertvector(scales, FLOATS);
}

/// The scales and minima of Q4_K and Q5_K, which have six bits each.
TARGET CK_INLINE void NAME(split_six_bits)(const uint8_t *packed, float d, float m, ggml_parts *parts) {
    uint32_t words[3], scales[2], minima[2];
    ck_copy(words, packed, sizeof words);
    scales[0] = words[0] & 0x3F3F3F3Fu, minima[0] = words[1] & 0x3F3F3F3Fu;
    scales[1] = (words[2] & 0x0F0F0F0Fu) | (words[0] >> 6 & 0x03030303u) << 4;
    minima[1] = (words[2] >> 4 & 0x0F0F0F0Fu) | (words[1] >> 6 & 0x03030303u) << 4;
    NAME(scaled8)(*(const NAME(bytes8) *)scales, d, parts->scales);
    NAME(scaled8)(*(const NAME(bytes8) *)minima, m, parts->minima);
}

TARGET CK_INLINE void NAME(split_q4_k)(const uint8_t *source, size_t blocks, ggml_parts *parts) {
    const block_q4_k *block = (const block_q4_k *)source;
    (void)blocks;
    UNROLLED for (int k = 0; k < 4; k++) {
        const NAME(bytes32) both = BYTES32(block->qs + 32 * k);
        STORE32(parts->codes + 64 * k, both & 15);
        STORE32(parts->codes + 64 * k + 32, both >> 4);
    }
    NAME(split_six_bits)(block->scales, NAME(half_of)(block->d), NAME(half_of)(block->dmin), parts);
}

TARGET CK_INLINE void NAME(split_q5_k)(const uint8_t *source, size_t blocks, ggml_parts *parts) {
    const block_q5_k *block = (const block_q5_k *)source;
    (void)blocks;
    const NAME(bytes32) high = BYTES32(block->qh);
    UNROLLED for (int k = 0; k < 4; k++) {
        const NAME(bytes32) both = BYTES32(block->qs + 32 * k);
        STORE32(parts->codes + 64 * k, (both & 15) | (high >> 2 * k & 1) << 4);
        STORE32(parts->codes + 64 * k + 32, both >> 4 | (high >> (2 * k + 1) & 1) << 4);
    }
    NAME(split_six_bits)(block->scales, NAME(half_of)(block->d), NAME(half_of)(block->dmin), parts);
}

TARGET CK_INLINE void NAME(split_q6_k)(const uint8_t *source, size_t blocks, ggml_parts *parts) {
    const block_q6_k *block = (const block_q6_k *)source;
    (void)blocks;
    UNROLLED for (int half = 0; half < 2; half++) {
        const NAME(bytes32) high = BYTES32(block->qh + 32 * half);
        UNROLLED for (int k = 0; k < 4; k++) {
            const NAME(bytes32) low = BYTES32(block->ql + 64 * half + k % 2 * 32);
            STORE32(parts->codes + 128 * half + 32 * k, ((low >> k / 2 * 4 & 15) | (high >> 2 * k & 3) << 4) - 32);
        }
    }
    const NAME(signed16) scales = *(const NAME(signed16) *)block->scales;
    *(FLOATS *)parts->scales = NAME(half_of)(block->d) * __builtin_convertvector(scales, FLOATS);
}

TARGET CK_INLINE void NAME(split_iq4_xs)(const uint8_t *source, size_t blocks, ggml_parts *parts) {
    const block_iq4_xs *block = (const block_iq4_xs *)source;
    (void)blocks;
    const float d = NAME(half_of)(block->d);
    UNROLLED for (int part = 0; part < 8; part++) {
        const int scale = (block->scales_l[part / 2] >> part % 2 * 4 & 15) | (block->scales_h >> 2 * part & 3) << 4;
        parts->scales[part] = d * (float)(scale - 32);
        UNEVEN(block->qs + 16 * part, parts->codes + 32 * part)
    }
}

/// The digits that fractions of 256 begin with: -1, 0 or 1.
#define DIGITS(vector, fractions) ((vector)((fractions) < 86) - (vector)((fractions) >= 171))

TARGET CK_INLINE void NAME(split_tq1_0)(const uint8_t *source, size_t blocks, ggml_parts *parts) {
    const block_tq1_0 *block = (const block_tq1_0 *)source;
    (void)blocks;
    NAME(bytes32) first = BYTES32(block->qs);
    NAME(bytes16) second = BYTES16(block->qs + 32);
    UNROLLED for (int digit = 0; digit < 5; digit++, first *= 3) STORE32(parts->codes + 32 * digit, DIGITS(NAME(bytes32), first));
    UNROLLED for (int digit = 0; digit < 5; digit++, second *= 3)
        STORE16(parts->codes + 160 + 16 * digit, DIGITS(NAME(bytes16), second));
    uint32_t rest;
    ck_copy(&rest, block->qh, sizeof rest);
    typedef uint32_t words4 __attribute__((ext_vector_type(4)));
    const NAME(bytes16) powers = (NAME(bytes16))(words4){0x01010101u, 0x03030303u, 0x09090909u, 0x1B1B1B1Bu};
    const NAME(bytes16) last = (NAME(bytes16))(words4)rest * powers;
    STORE16(parts->codes + 240, DIGITS(NAME(bytes16), last));
    const float d = NAME(half_of)(block->d);
    *(NAME(eight) *)parts->scales = d;
}

TARGET CK_INLINE void NAME(split_tq2_0)(const uint8_t *source, size_t blocks, ggml_parts *parts) {
    const block_tq2_0 *block = (const block_tq2_0 *)source;
    (void)blocks;
    UNROLLED for (int half = 0; half < 2; half++) {
        const NAME(bytes32) packed = BYTES32(block->qs + 32 * half);
        UNROLLED for (int k = 0; k < 4; k++) STORE32(parts->codes + 128 * half + 32 * k, (packed >> 2 * k & 3) - 1);
    }
    const float d = NAME(half_of)(block->d);
    *(NAME(eight) *)parts->scales = d;
}

/// Values of a grid with their signs, and the scales of parts.
#define SPLIT_GRID(NUMBER, type, size)                                                                              \
    TARGET CK_INLINE void NAME(split_##type)(const uint8_t *source, size_t blocks, ggml_parts *parts) {             \
        const block_##type *block = (const block_##type *)source;                                                   \
        const float d = NAME(half_of)(block->d);                                                                    \
        (void)blocks;                                                                                               \
        UNROLLED for (int j = 0; j < 8; j++) {                                                                      \
            grid_part part;                                                                                         \
            NAME(bytes32) negative;                                                                                 \
            type##_part(block, j, d, &part);                                                                        \
            NAME(bits32)((const uint8_t *)&part.signs, &negative);                                                  \
            STORE32(parts->codes + 32 * j, (BYTES32(part.values) ^ negative) - negative);                           \
            UNROLLED for (int i = 0; i < 32 / (size); i++) parts->scales[32 / (size) * j + i] = part.scales[i];     \
        }                                                                                                           \
    }
EACH_GRID_TYPE(SPLIT_GRID)

#undef SPLIT_GRID
#undef UNEVEN
#undef DIGITS
