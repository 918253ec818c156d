// Packed codes of 1 to 8 bits to one byte each.
#include "internal.h"

/// Eight codes are `bits` bytes, so they are one word.
CK_INLINE void unpack_words(const uint8_t *packed, const int bits, size_t count, uint8_t *codes) {
    const uint64_t mask = (1u << bits) - 1;
    size_t i = 0;
    // A word of eight bytes must not end behind the last code: the last 64 bits are read byte by byte.
    for (const size_t ahead = (64 + (size_t)bits - 1) / (size_t)bits; i + ahead <= count; i += 8, packed += bits) {
        uint64_t word;
        ck_copy(&word, packed, 8);
#pragma clang loop unroll(full)
        for (int k = 0; k < 8; k++) codes[i + k] = (uint8_t)(word >> (k * bits) & mask);
    }
    uint32_t word = 0;
    for (int filled = 0; i < count; i++, filled -= bits, word >>= bits) {
        if (filled < bits) word |= (uint32_t)*packed++ << filled, filled += 8;
        codes[i] = (uint8_t)(word & mask);
    }
}

CK_INLINE void unpack_nibbles(const uint8_t *packed, size_t count, uint8_t *codes) {
    for (size_t i = 0; i < count / 2; i++) codes[2 * i] = packed[i] & 15, codes[2 * i + 1] = packed[i] >> 4;
    if (count & 1) codes[count - 1] = packed[count / 2] & 15;
}

/// Where code k of eight lies: in the bytes `byte` and `byte` + 1, `shift` bits above the lowest.
#define CODE_BYTE(k, bits) ((k) * (bits) / 8)
#define CODE_SHIFT(k, bits) ((k) * (bits) % 8)

#if CK_X86

typedef uint8_t bytes32 __attribute__((ext_vector_type(32)));
typedef uint16_t words16 __attribute__((ext_vector_type(16)));

/// Takes 32 codes out of 4 * `bits` bytes. Of every second code, a lane of 16 bits gets the two bytes in which it lies, and a product
/// moves the code to the upper byte.
CK_TARGET_AVX2 CK_INLINE void unpack_by_lanes(const uint8_t *packed, const int bits, size_t count, uint8_t *codes) {
    bytes32 bytes[2];
    words16 factors[2];
    UNROLLED for (int k = 0; k < 32; k++) {
        const int code = k % 16;
        bytes[code % 2][k / 2 * 2] = (uint8_t)CODE_BYTE(code, bits), bytes[code % 2][k / 2 * 2 + 1] = (uint8_t)(CODE_BYTE(code, bits) + 1);
        factors[code % 2][k / 2] = (uint16_t)(256 >> CODE_SHIFT(code, bits));
    }
    const __m256i mask = _mm256_set1_epi8((char)((1 << bits) - 1)), upper = _mm256_set1_epi16((short)(((1 << bits) - 1) << 8));
    const size_t step = 4 * (size_t)bits, size = (count * (size_t)bits + 7) / 8;
    size_t i = 0;
    // The last load of a step ends 16 bytes after the step's last sixteen codes begin.
    for (size_t at = 0; i + 32 <= count && at + 2 * (size_t)bits + 16 <= size; i += 32, at += step) {
        prefetch_codes(packed + at);
        const __m128i low = _mm_loadu_si128((const __m128i *)(packed + at));
        const __m256i both = _mm256_inserti128_si256(_mm256_castsi128_si256(low), _mm_loadu_si128((const __m128i *)(packed + at + 2 * bits)), 1);
        const __m256i even = _mm256_mullo_epi16(_mm256_shuffle_epi8(both, (__m256i)bytes[0]), (__m256i)factors[0]);
        const __m256i odd = _mm256_mullo_epi16(_mm256_shuffle_epi8(both, (__m256i)bytes[1]), (__m256i)factors[1]);
        const __m256i found = _mm256_or_si256(_mm256_and_si256(_mm256_srli_epi16(even, 8), mask), _mm256_and_si256(odd, upper));
        _mm256_storeu_si256((__m256i *)(codes + i), found);
    }
    unpack_words(packed + i / 8 * (size_t)bits, bits, count - i, codes + i);
}

typedef uint8_t bytes64 __attribute__((ext_vector_type(64)));

/// Takes 64 codes out of 8 * `bits` bytes. Each lane of 64 bits gets the bytes of eight codes, and each of its bytes a code.
CK_TARGET_VBMI CK_INLINE void unpack_by_permutation(const uint8_t *packed, const int bits, size_t count, uint8_t *codes) {
    bytes64 places, shifts;
#pragma clang loop unroll(full)
    for (int k = 0; k < 64; k++) places[k] = (uint8_t)(k / 8 * bits + k % 8), shifts[k] = (uint8_t)(k % 8 * bits);
    const __m512i mask = _mm512_set1_epi8((char)((1 << bits) - 1));
    for (size_t i = 0; i < count; i += 64, packed += 8 * bits) {
        prefetch_codes(packed);
        const size_t left = count - i < 64 ? count - i : 64, bytes = (left * (size_t)bits + 7) / 8;
        const __m512i words = _mm512_permutexvar_epi8((__m512i)places, _mm512_maskz_loadu_epi8(~0ull >> (64 - bytes), packed));
        const __m512i found = _mm512_and_si512(_mm512_multishift_epi64_epi8((__m512i)shifts, words), mask);
        if (left == 64) _mm512_storeu_si512(codes + i, found);
        else _mm512_mask_storeu_epi8(codes + i, ~0ull >> (64 - left), found);
    }
}

#elif CK_ARM

CK_INLINE void unpack_by_lanes(const uint8_t *packed, const int bits, size_t count, uint8_t *codes) {
    uint8_t bytes[16];
    int16_t shifts[8];
#pragma clang loop unroll(full)
    for (int k = 0; k < 8; k++) {
        bytes[2 * k] = (uint8_t)CODE_BYTE(k, bits), bytes[2 * k + 1] = (uint8_t)(CODE_BYTE(k, bits) + 1);
        shifts[k] = (int16_t)-CODE_SHIFT(k, bits);
    }
    const uint8x16_t pattern = vld1q_u8(bytes);
    const int16x8_t right = vld1q_s16(shifts);
    const uint16x8_t mask = vdupq_n_u16((uint16_t)((1 << bits) - 1));
    const size_t size = (count * (size_t)bits + 7) / 8;
    size_t i = 0;
    for (size_t at = 0; i + 8 <= count && at + 16 <= size; i += 8, at += (size_t)bits) {
        uint16x8_t words = vreinterpretq_u16_u8(vqtbl1q_u8(vld1q_u8(packed + at), pattern));
        vst1_u8(codes + i, vmovn_u16(vandq_u16(vshlq_u16(words, right), mask)));
    }
    unpack_words(packed + i / 8 * (size_t)bits, bits, count - i, codes + i);
}

#endif

#define UNPACK(form, TARGET, unpack_codes)                                                                           \
    TARGET static void unpack_##form(const uint8_t *packed, int bits, size_t count, uint8_t *codes) {                \
        switch (bits) {                                                                                              \
        case 1: unpack_codes(packed, 1, count, codes); return;                                                       \
        case 2: unpack_codes(packed, 2, count, codes); return;                                                       \
        case 3: unpack_codes(packed, 3, count, codes); return;                                                       \
        case 4: unpack_nibbles(packed, count, codes); return;                                                        \
        case 5: unpack_codes(packed, 5, count, codes); return;                                                       \
        case 6: unpack_codes(packed, 6, count, codes); return;                                                       \
        case 7: unpack_codes(packed, 7, count, codes); return;                                                       \
        default: ck_copy(codes, packed, count);                                                                      \
        }                                                                                                            \
    }

#if CK_ARM
UNPACK(neon, , unpack_by_lanes)
#endif
UNPACK(plain, , unpack_words)
#if CK_X86
UNPACK(avx2, CK_TARGET_AVX2, unpack_by_lanes)
UNPACK(avx512, CK_TARGET_AVX512, unpack_by_lanes)
UNPACK(vbmi, CK_TARGET_VBMI, unpack_by_permutation)
#endif

void ck_unpack_codes(const uint8_t *packed, int bits, size_t count, uint8_t *codes) {
#if CK_ARM
    if (ck_current_isa() == CK_NEON) return unpack_neon(packed, bits, count, codes);
#endif
#if CK_X86
    if (ck_has_vbmi()) return unpack_vbmi(packed, bits, count, codes);
#endif
    CK_CHOOSE(unpack, packed, bits, count, codes);
}
