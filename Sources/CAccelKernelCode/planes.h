// Tables by the bytes of their entries: the lowest bytes of all, then the next ones. Bytes are looked up faster than numbers.
#ifndef CKERNELS_PLANES_H
#define CKERNELS_PLANES_H

#include "internal.h"

/// Fills `target`, of 4 * `entries` bytes, with a table's bytes by their planes.
CK_INLINE const uint8_t *by_bytes(const float *table, size_t entries, uint8_t *target) {
    for (size_t entry = 0; entry < entries; entry++)
        for (size_t plane = 0; plane < 4; plane++)
            target[entries * plane + entry] = ((const uint8_t *)(table + entry))[plane];
    return target;
}

#if CK_X86

/// The entries of eight codes, of whose bits the lowest four count: of a table of sixteen, `low` and `high`.
CK_TARGET_AVX2 CK_INLINE __m256 entries_of_16(__m256 low, __m256 high, __m256i codes) {
    // The permutation uses 3 bits of a code. The 4th, shifted to the sign, selects the half of the table.
    return _mm256_blendv_ps(_mm256_permutevar8x32_ps(low, codes), _mm256_permutevar8x32_ps(high, codes),
                            _mm256_castsi256_ps(_mm256_slli_epi32(codes, 28)));
}

/// The bytes of one plane, of a table of 16 entries (`bits` is 4) or of 64 (6).
CK_TARGET_AVX2 CK_INLINE __m256i bytes_of_plane(const uint8_t *plane, __m256i codes, const int bits) {
#define PART(k) _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)(plane + 16 * (k)))), codes)
    if (bits == 4) return PART(0);
    // Bits 4 and 5 of the codes, as signs of bytes.
    const __m256i bit4 = _mm256_slli_epi16(codes, 3), bit5 = _mm256_slli_epi16(codes, 2);
    return _mm256_blendv_epi8(_mm256_blendv_epi8(PART(0), PART(1), bit4), _mm256_blendv_epi8(PART(2), PART(3), bit4), bit5);
#undef PART
}

/// The entries of 32 codes of one byte, eight in each vector.
CK_TARGET_AVX2 CK_INLINE void entries_of_32(const uint8_t *codes, const uint8_t *planes, const int bits, __m256 entries[4]) {
    // Codes 8 * v + 4 * h to 8 * v + 4 * h + 3 go to place v of half h, so that halves have what follows each other.
    const __m256i order = _mm256_setr_epi32(0, 2, 4, 6, 1, 3, 5, 7);
    const __m256i own = _mm256_permutevar8x32_epi32(_mm256_loadu_si256((const __m256i *)codes), order);
    __m256i found[4];
#pragma clang loop unroll(full)
    for (int plane = 0; plane < 4; plane++) found[plane] = bytes_of_plane(planes + (plane << bits), own, bits);
    const __m256i low[2] = {_mm256_unpacklo_epi8(found[0], found[1]), _mm256_unpackhi_epi8(found[0], found[1])};
    const __m256i high[2] = {_mm256_unpacklo_epi8(found[2], found[3]), _mm256_unpackhi_epi8(found[2], found[3])};
#pragma clang loop unroll(full)
    for (int part = 0; part < 2; part++) {
        entries[2 * part] = _mm256_castsi256_ps(_mm256_unpacklo_epi16(low[part], high[part]));
        entries[2 * part + 1] = _mm256_castsi256_ps(_mm256_unpackhi_epi16(low[part], high[part]));
    }
}

#endif
#endif
