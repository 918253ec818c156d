// The operations of simd.h by AVX-512.

CK_TARGET_AVX512 CK_INLINE void narrow_16_avx512(const f32x16 *x, uint16_t *target) {
    _mm256_storeu_si256((__m256i *)target, _mm512_cvtps_ph((__m512)*x, _MM_FROUND_TO_NEAREST_INT));
}

CK_TARGET_AVX512 CK_INLINE void widen_8_avx512(const uint16_t *halves, float *target) { widen_8_avx2(halves, target); }

CK_TARGET_AVX512 CK_INLINE void widen_16_avx512(const uint8_t *halves, f32x16 *target) {
    *target = (f32x16)_mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)halves));
}

CK_TARGET_AVX512 CK_INLINE void look_up_16_avx512(const void *table, const u8x16 *codes, u8x16 *target) {
    look_up_16_avx2(table, codes, target);
}

CK_TARGET_AVX512 CK_INLINE void divide_avx512(const f32x16 *w, float scale, float reciprocal, f32x16 *target) {
    DIVIDE_FUSED(w, scale, reciprocal, target)
}

CK_TARGET_AVX512 CK_INLINE void fraction_avx512(const f32x16 *x, f32x16 *target) {
    *target = (f32x16)_mm512_reduce_ps((__m512)*x, _MM_FROUND_NO_EXC);
}
