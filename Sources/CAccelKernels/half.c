// Conversions of float16 and bfloat16 to and from float32.
#include "half.h"

// ---- scalar definition ---------------------------------------------------------------------------------------

/// A number of 16 bits at any address.
CK_INLINE uint16_t half_at(const void *source) {
    uint16_t half;
    __builtin_memcpy(&half, source, sizeof half);
    return half;
}

static void f16_to_f32_scalar(const uint16_t *source, float *target, size_t count) {
    for (size_t i = 0; i < count; i++) target[i] = widen_f16(half_at(source + i));
}

static void f32_to_f16_scalar(const float *source, uint16_t *target, size_t count) {
    for (size_t i = 0; i < count; i++) target[i] = narrow_f16(source[i]);
}

// The bfloat16 loops are plain integer work, so one body is compiled for each instruction set.
typedef uint32_t u32x16 __attribute__((ext_vector_type(16)));
typedef uint32_t u32x16u __attribute__((ext_vector_type(16), aligned(4)));
typedef uint16_t u16x16u __attribute__((ext_vector_type(16), aligned(1)));
typedef uint16_t u16x32 __attribute__((ext_vector_type(32)));
typedef uint16_t u16x32u __attribute__((ext_vector_type(32), aligned(2)));

CK_INLINE void bf16_to_f32_body(const uint16_t *source, float *target, size_t count) {
    size_t i = 0;
    for (; i + 16 <= count; i += 16) {
        prefetch_ahead(source + i);
        u32x16 bits = __builtin_convertvector(*(const u16x16u *)(source + i), u32x16) << 16;
        // A signalling NaN becomes quiet, as in every other conversion.
        *(u32x16u *)(target + i) = (bits & 0x7FFFFFFF) > 0x7F800000 ? bits | 0x00400000 : bits;
    }
    for (; i < count; i++) {
        uint32_t bits = (uint32_t)half_at(source + i) << 16;
        bits |= (bits & 0x7FFFFFFF) > 0x7F800000 ? 0x00400000 : 0;
        target[i] = float_of(bits);
    }
}

/// The same as narrow_bf16, with the result in the upper half of each lane.
#define NARROWED(bits)                                                                              \
    (((bits) & 0x7FFFFFFF) > 0x7F800000 ? (bits) | 0x00400000 : (bits) + 0x7FFF + ((bits) >> 16 & 1))

CK_INLINE void f32_to_bf16_body(const float *source, uint16_t *target, size_t count) {
    size_t i = 0;
    for (; i + 32 <= count; i += 32) {
        u32x16 a = *(const u32x16u *)(source + i), b = *(const u32x16u *)(source + i + 16);
        prefetch_ahead(source + i), prefetch_ahead(source + i + 16);
        u32x16 low = NARROWED(a), high = NARROWED(b);
        *(u16x32u *)(target + i) = __builtin_shufflevector(
            (u16x32)low, (u16x32)high, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31, 33, 35, 37, 39, 41, 43,
            45, 47, 49, 51, 53, 55, 57, 59, 61, 63);
    }
    for (; i < count; i++) target[i] = narrow_bf16(source[i]);
}

static void bf16_to_f32_scalar(const uint16_t *source, float *target, size_t count) {
    bf16_to_f32_body(source, target, count);
}

static void f32_to_bf16_scalar(const float *source, uint16_t *target, size_t count) {
    f32_to_bf16_body(source, target, count);
}

// ---- x86-64 --------------------------------------------------------------------------------------------------

#if CK_X86

CK_TARGET_AVX2 static void f16_to_f32_avx2(const uint16_t *source, float *target, size_t count) {
    size_t i = 0;
    for (; i + 16 <= count; i += 16) {
        prefetch_ahead(source + i);
        __m128i low = _mm_loadu_si128((const __m128i *)(source + i));
        __m128i high = _mm_loadu_si128((const __m128i *)(source + i + 8));
        _mm256_storeu_ps(target + i, _mm256_cvtph_ps(low));
        _mm256_storeu_ps(target + i + 8, _mm256_cvtph_ps(high));
    }
    f16_to_f32_scalar(source + i, target + i, count - i);
}

CK_TARGET_AVX2 static void f32_to_f16_avx2(const float *source, uint16_t *target, size_t count) {
    size_t i = 0;
    for (; i + 16 <= count; i += 16) {
        prefetch_ahead(source + i);
        __m128i low = _mm256_cvtps_ph(_mm256_loadu_ps(source + i), _MM_FROUND_TO_NEAREST_INT);
        __m128i high = _mm256_cvtps_ph(_mm256_loadu_ps(source + i + 8), _MM_FROUND_TO_NEAREST_INT);
        _mm_storeu_si128((__m128i *)(target + i), low);
        _mm_storeu_si128((__m128i *)(target + i + 8), high);
    }
    f32_to_f16_scalar(source + i, target + i, count - i);
}

CK_TARGET_AVX512 static void f16_to_f32_avx512(const uint16_t *source, float *target, size_t count) {
    size_t i = 0;
    for (; i + 32 <= count; i += 32) {
        prefetch_ahead(source + i);
        __m256i low = _mm256_loadu_si256((const __m256i *)(source + i));
        __m256i high = _mm256_loadu_si256((const __m256i *)(source + i + 16));
        _mm512_storeu_ps(target + i, _mm512_cvtph_ps(low));
        _mm512_storeu_ps(target + i + 16, _mm512_cvtph_ps(high));
    }
    f16_to_f32_scalar(source + i, target + i, count - i);
}

CK_TARGET_AVX512 static void f32_to_f16_avx512(const float *source, uint16_t *target, size_t count) {
    size_t i = 0;
    for (; i + 32 <= count; i += 32) {
        prefetch_ahead(source + i), prefetch_ahead(source + i + 16);
        __m256i low = _mm512_cvtps_ph(_mm512_loadu_ps(source + i), _MM_FROUND_TO_NEAREST_INT);
        __m256i high = _mm512_cvtps_ph(_mm512_loadu_ps(source + i + 16), _MM_FROUND_TO_NEAREST_INT);
        _mm256_storeu_si256((__m256i *)(target + i), low);
        _mm256_storeu_si256((__m256i *)(target + i + 16), high);
    }
    f32_to_f16_scalar(source + i, target + i, count - i);
}

CK_TARGET_AVX2 static void bf16_to_f32_avx2(const uint16_t *source, float *target, size_t count) {
    bf16_to_f32_body(source, target, count);
}

CK_TARGET_AVX2 static void f32_to_bf16_avx2(const float *source, uint16_t *target, size_t count) {
    f32_to_bf16_body(source, target, count);
}

CK_TARGET_AVX512 static void bf16_to_f32_avx512(const uint16_t *source, float *target, size_t count) {
    bf16_to_f32_body(source, target, count);
}

CK_TARGET_AVX512 static void f32_to_bf16_avx512(const float *source, uint16_t *target, size_t count) {
    f32_to_bf16_body(source, target, count);
}

#endif

// ---- ARM -----------------------------------------------------------------------------------------------------

#if CK_ARM

static void f16_to_f32_neon(const uint16_t *source, float *target, size_t count) {
    size_t i = 0;
    for (; i + 8 <= count; i += 8) {
        float16x8_t half = vreinterpretq_f16_u16(vld1q_u16(source + i));
        vst1q_f32(target + i, vcvt_f32_f16(vget_low_f16(half)));
        vst1q_f32(target + i + 4, vcvt_high_f32_f16(half));
    }
    f16_to_f32_scalar(source + i, target + i, count - i);
}

static void f32_to_f16_neon(const float *source, uint16_t *target, size_t count) {
    size_t i = 0;
    for (; i + 8 <= count; i += 8) {
        float16x4_t low = vcvt_f16_f32(vld1q_f32(source + i));
        vst1q_u16(target + i, vreinterpretq_u16_f16(vcvt_high_f16_f32(low, vld1q_f32(source + i + 4))));
    }
    f32_to_f16_scalar(source + i, target + i, count - i);
}

#endif

// ---- dispatch ------------------------------------------------------------------------------------------------

void ck_f16_to_f32(const uint16_t *source, float *target, size_t count) {
    switch (ck_current_isa()) {
#if CK_X86
    case CK_AVX512: f16_to_f32_avx512(source, target, count); return;
    case CK_AVX2: f16_to_f32_avx2(source, target, count); return;
#elif CK_ARM
    case CK_NEON: f16_to_f32_neon(source, target, count); return;
#endif
    default: f16_to_f32_scalar(source, target, count);
    }
}

void ck_f32_to_f16(const float *source, uint16_t *target, size_t count) {
    switch (ck_current_isa()) {
#if CK_X86
    case CK_AVX512: f32_to_f16_avx512(source, target, count); return;
    case CK_AVX2: f32_to_f16_avx2(source, target, count); return;
#elif CK_ARM
    case CK_NEON: f32_to_f16_neon(source, target, count); return;
#endif
    default: f32_to_f16_scalar(source, target, count);
    }
}

void ck_bf16_to_f32(const uint16_t *source, float *target, size_t count) {
    switch (ck_current_isa()) {
#if CK_X86
    case CK_AVX512: bf16_to_f32_avx512(source, target, count); return;
    case CK_AVX2: bf16_to_f32_avx2(source, target, count); return;
#endif
    default: bf16_to_f32_scalar(source, target, count);
    }
}

void ck_f32_to_bf16(const float *source, uint16_t *target, size_t count) {
    switch (ck_current_isa()) {
#if CK_X86
    case CK_AVX512: f32_to_bf16_avx512(source, target, count); return;
    case CK_AVX2: f32_to_bf16_avx2(source, target, count); return;
#endif
    default: f32_to_bf16_scalar(source, target, count);
    }
}
