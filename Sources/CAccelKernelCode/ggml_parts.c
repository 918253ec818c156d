// Products of ggml's blocks with a vector, and their floats: a splitter for each type gives codes of one byte and scales, which one
// product and one decoder read.
#include "ggml_parts.h"

// Without contraction, a * b + c has two roundings on every instruction set, unless the code requests one.
#pragma clang fp contract(off)

#if CK_ARM

CK_INLINE void widen_8_plain(const uint16_t *halves, float *target) {
    const float16x8_t own = vreinterpretq_f16_u16(vld1q_u16(halves));
    vst1q_f32(target, vcvt_f32_f16(vget_low_f16(own)));
    vst1q_f32(target + 4, vcvt_high_f32_f16(own));
}
#define LOOK_UP(table, codes) (NAME(bytes16)) vqtbl1q_u8(vld1q_u8((const uint8_t *)(table)), (uint8x16_t)(codes))

#else

CK_INLINE void widen_8_plain(const uint16_t *halves, float *target) {
    for (int i = 0; i < 8; i++) target[i] = widen_f16(halves[i]);
}
#define LOOK_UP(table, codes)                                                                      \
    ({                                                                                             \
        const NAME(bytes16) own = codes;                                                           \
        NAME(bytes16) found;                                                                       \
        UNROLLED for (int lane = 0; lane < 16; lane++) found[lane] = (uint8_t)(table)[own[lane]];  \
        found;                                                                                     \
    })

#endif

#define NAME(x) x##_plain
#define TARGET
#define WIDEN_8 widen_8_plain
#include "ggml_parts_body.h"
#undef WIDEN_8

#if CK_X86

#define WIDEN_8(halves, target) _mm256_storeu_ps(target, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(halves))))
#define BYTES_OF_16(table, codes) \
    (NAME(bytes16)) _mm_shuffle_epi8(_mm_loadu_si128((const __m128i *)(table)), (__m128i)(codes))

#define NAME(x) x##_avx2
#define TARGET CK_TARGET_AVX2
#define LOOK_UP BYTES_OF_16
#include "ggml_parts_body.h"

#define NAME(x) x##_avx512
#define TARGET CK_TARGET_AVX512
#define LOOK_UP BYTES_OF_16
#include "ggml_parts_body.h"

#endif

void ck_ggml_dot(ck_ggml_type type, const float *x, const float *part_sums, const uint8_t *codes, size_t stride, size_t rows,
                 size_t blocks, float *target) {
    CK_CHOOSE(ggml_dot, type, x, part_sums, codes, stride, rows, blocks, target);
}

void ck_ggml_decode(ck_ggml_type type, const uint8_t *codes, size_t blocks, float *values) {
    if (ck_current_isa() == CK_SCALAR) ck_ggml_decode_plain(type, codes, blocks, values);
    else CK_CHOOSE(ggml_floats, type, codes, blocks, values);
}
