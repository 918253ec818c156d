// Dot products of many rows with one vector, where codes stand for entries of a table: palettes and short vectors.
#include "planes.h"

// Without contraction, a * b + c has two roundings on every instruction set, unless the code requests one.
#pragma clang fp contract(off)

CK_INLINE void add_looked_up_one_by_one(const float *x, const uint8_t *codes, const void *table, float *even, float *odd) {
    for (int i = 0; i < 64; i++) {
        float *sum = (i & 16 ? odd : even) + i % 16;
        *sum = __builtin_fmaf(((const float *)table)[codes[i]], x[i], *sum);
    }
}

#if CK_ARM

CK_INLINE int reads_bytes_plain(const int bits) { return bits != 8; }

CK_INLINE void add_looked_up_plain(const float *x, const uint8_t *codes, const void *table, float *even, float *odd,
                                   const int bits) {
    if (bits == 8) {
        add_looked_up_one_by_one(x, codes, table, even, odd);
        return;
    }
    const uint8_t *planes = table;
#pragma clang loop unroll(full)
    for (int i = 0; i < 64; i += 16) {
        const uint8x16_t places = vld1q_u8(codes + i);
        uint8x16_t found[4];
#pragma clang loop unroll(full)
        for (int plane = 0; plane < 4; plane++)
            found[plane] = bits == 6 ? vqtbl4q_u8(vld1q_u8_x4(planes + 64 * plane), places)
                                     : vqtbl1q_u8(vld1q_u8(planes + 16 * plane), places);
        const uint16x8x2_t low = {{vreinterpretq_u16_u8(vzip1q_u8(found[0], found[1])),
                                   vreinterpretq_u16_u8(vzip2q_u8(found[0], found[1]))}};
        const uint16x8x2_t high = {{vreinterpretq_u16_u8(vzip1q_u8(found[2], found[3])),
                                    vreinterpretq_u16_u8(vzip2q_u8(found[2], found[3]))}};
        float *sums = i & 16 ? odd : even;
#pragma clang loop unroll(full)
        for (int half = 0; half < 2; half++) {
            const float32x4_t first = vreinterpretq_f32_u16(vzip1q_u16(low.val[half], high.val[half]));
            const float32x4_t second = vreinterpretq_f32_u16(vzip2q_u16(low.val[half], high.val[half]));
            float *own = sums + 8 * half;
            vst1q_f32(own, vfmaq_f32(vld1q_f32(own), first, vld1q_f32(x + i + 8 * half)));
            vst1q_f32(own + 4, vfmaq_f32(vld1q_f32(own + 4), second, vld1q_f32(x + i + 8 * half + 4)));
        }
    }
}

#else

CK_INLINE int reads_bytes_plain(const int bits) {
    (void)bits;
    return 0;
}

CK_INLINE void add_looked_up_plain(const float *x, const uint8_t *codes, const void *table, float *even, float *odd,
                                   const int bits) {
    (void)bits;
    add_looked_up_one_by_one(x, codes, table, even, odd);
}

#endif

#if CK_X86

CK_INLINE int reads_bytes_avx2(const int bits) { return bits != 8; }

CK_TARGET_AVX2 CK_INLINE void add_looked_up_avx2(const float *x, const uint8_t *codes, const void *table, float *even,
                                                 float *odd, const int bits) {
#pragma clang loop unroll(full)
    for (int i = 0; i < 64; i += 32) {
        __m256 entries[4];
        if (bits == 8) {
            float values[32];
#pragma clang loop unroll(full)
            for (int k = 0; k < 32; k++) values[k] = ((const float *)table)[codes[i + k]];
            ck_copy(entries, values, sizeof values);
        } else {
            entries_of_32(codes + i, table, bits, entries);
        }
#pragma clang loop unroll(full)
        for (int k = 0; k < 4; k++) {
            float *sums = (k < 2 ? even : odd) + k % 2 * 8;
            _mm256_storeu_ps(sums, _mm256_fmadd_ps(entries[k], _mm256_loadu_ps(x + i + 8 * k), _mm256_loadu_ps(sums)));
        }
    }
}

CK_INLINE int reads_bytes_avx512(const int bits) {
    (void)bits;
    return 0;
}

CK_TARGET_AVX512 CK_INLINE void add_looked_up_avx512(const float *x, const uint8_t *codes, const void *table, float *even,
                                                     float *odd, const int bits) {
    if (bits == 8) {
        add_looked_up_avx2(x, codes, table, even, odd, bits);
        return;
    }
    const float *entries = table;
#pragma clang loop unroll(full)
    for (int i = 0; i < 64; i += 16) {
        const __m512i own = _mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i *)(codes + i)));
        __m512 found = _mm512_permutexvar_ps(own, _mm512_loadu_ps(entries));
        if (bits == 6) {
            // A permutation of two vectors uses 5 bits.
            found = _mm512_permutex2var_ps(_mm512_loadu_ps(entries), own, _mm512_loadu_ps(entries + 16));
            const __m512 upper = _mm512_permutex2var_ps(_mm512_loadu_ps(entries + 32), own, _mm512_loadu_ps(entries + 48));
            found = _mm512_mask_blend_ps(_mm512_test_epi32_mask(own, _mm512_set1_epi32(32)), found, upper);
        }
        float *sums = i & 16 ? odd : even;
        _mm512_storeu_ps(sums, _mm512_fmadd_ps(found, _mm512_loadu_ps(x + i), _mm512_loadu_ps(sums)));
    }
}

CK_INLINE int reads_bytes_vbmi(const int bits) { return bits != 4; }

CK_TARGET_VBMI CK_INLINE void add_looked_up_vbmi(const float *x, const uint8_t *codes, const void *table, float *even,
                                                 float *odd, const int bits) {
    if (bits == 4) {
        add_looked_up_avx512(x, codes, table, even, odd, bits);
        return;
    }
    // Codes 16 * v + 4 * q to 16 * v + 4 * q + 3 go to place v of quarter q, so that quarters have what follows each other.
    const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    const __m512i own = _mm512_permutexvar_epi32(order, _mm512_loadu_si512(codes));
    __m512i found[4];
#pragma clang loop unroll(full)
    for (int plane = 0; plane < 4; plane++) {
        const uint8_t *bytes = (const uint8_t *)table + (plane << bits);
        if (bits == 6) {
            found[plane] = _mm512_permutexvar_epi8(own, _mm512_loadu_si512(bytes));
        } else {
            // A permutation of two vectors uses 7 bits.
            const __m512i low = _mm512_permutex2var_epi8(_mm512_loadu_si512(bytes), own, _mm512_loadu_si512(bytes + 64));
            const __m512i high = _mm512_permutex2var_epi8(_mm512_loadu_si512(bytes + 128), own, _mm512_loadu_si512(bytes + 192));
            found[plane] = _mm512_mask_blend_epi8(_mm512_movepi8_mask(own), low, high);
        }
    }
    const __m512i low[2] = {_mm512_unpacklo_epi8(found[0], found[1]), _mm512_unpackhi_epi8(found[0], found[1])};
    const __m512i high[2] = {_mm512_unpacklo_epi8(found[2], found[3]), _mm512_unpackhi_epi8(found[2], found[3])};
#pragma clang loop unroll(full)
    for (int part = 0; part < 2; part++) {
        const __m512 first = _mm512_castsi512_ps(_mm512_unpacklo_epi16(low[part], high[part]));
        const __m512 second = _mm512_castsi512_ps(_mm512_unpackhi_epi16(low[part], high[part]));
        const float *at = x + 32 * part;
        _mm512_storeu_ps(even, _mm512_fmadd_ps(first, _mm512_loadu_ps(at), _mm512_loadu_ps(even)));
        _mm512_storeu_ps(odd, _mm512_fmadd_ps(second, _mm512_loadu_ps(at + 16), _mm512_loadu_ps(odd)));
    }
}
#endif

#define BODY "entries_body.h"
#include "each_set.h"

#if CK_X86
#define NAME(x) x##_vbmi
#define TARGET CK_TARGET_VBMI
#include "entries_body.h"
#endif

void ck_dot_entries(const float *x, const uint8_t *codes, size_t stride, size_t rows, size_t count, const float *table,
                    int bits, float *target) {
#if CK_X86
    if (ck_has_vbmi()) return dot_entries_vbmi(x, codes, stride, rows, count, table, bits, target);
#endif
    CK_CHOOSE(dot_entries, x, codes, stride, rows, count, table, bits, target);
}
