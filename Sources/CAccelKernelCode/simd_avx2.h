// The operations of simd.h by AVX2.

CK_TARGET_AVX2 CK_INLINE void narrow_16_avx2(const f32x16 *x, uint16_t *target) {
    __m256 parts[2];
    ck_copy(parts, x, 64);
    _mm_storeu_si128((__m128i *)target, _mm256_cvtps_ph(parts[0], _MM_FROUND_TO_NEAREST_INT));
    _mm_storeu_si128((__m128i *)target + 1, _mm256_cvtps_ph(parts[1], _MM_FROUND_TO_NEAREST_INT));
}

CK_TARGET_AVX2 CK_INLINE void widen_8_avx2(const uint16_t *halves, float *target) {
    _mm256_storeu_ps(target, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)halves)));
}

CK_TARGET_AVX2 CK_INLINE void widen_16_avx2(const uint8_t *halves, f32x16 *target) {
    __m256 parts[2] = {_mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)halves)),
                       _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)halves + 1))};
    ck_copy(target, parts, 64);
}

CK_TARGET_AVX2 CK_INLINE void look_up_16_avx2(const void *table, const u8x16 *codes, u8x16 *target) {
    *target = (u8x16)_mm_shuffle_epi8(_mm_loadu_si128((const __m128i *)table), (__m128i)*codes);
}

CK_TARGET_AVX2 CK_INLINE void divide_avx2(const f32x16 *w, float scale, float reciprocal, f32x16 *target) {
    DIVIDE_FUSED(w, scale, reciprocal, target)
}

CK_TARGET_AVX2 CK_INLINE void fraction_avx2(const f32x16 *x, f32x16 *target) { fraction_plain(x, target); }
