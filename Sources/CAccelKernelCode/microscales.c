// Scales of one byte, of the microscaled formats, as float32.
#include "../CAccelKernels/half.h"
#include "internal.h"

#pragma clang fp contract(off)

CK_INLINE void widen_scales(const uint8_t *codes, int is_e4m3, size_t count, float factor, float divisor, float *target) {
    for (size_t i = 0; i < count; i++) {
        const uint32_t code = codes[i], exponent = code >> 3, mantissa = code & 7;
        float scale;
        if (is_e4m3) {
            // The exponent's bias is 7, that of float32 is 127.
            scale = exponent ? float_of((exponent + 120) << 23 | mantissa << 20) : (float)mantissa * 0x1p-9f;
        } else {
            // 2^-127 is the only one below the smallest normal number.
            scale = float_of(code ? code << 23 : 1u << 22);
        }
        target[i] = scale * factor / divisor;
    }
}

#define FORMS(form, TARGET)                                                                                                         \
    TARGET static void scales_##form(const uint8_t *codes, int is_e4m3, size_t count, float factor, float divisor, float *target) { \
        if (is_e4m3) widen_scales(codes, 1, count, factor, divisor, target);                                                        \
        else widen_scales(codes, 0, count, factor, divisor, target);                                                                \
    }

FORMS(plain, )
#if CK_X86
FORMS(avx2, CK_TARGET_AVX2)
FORMS(avx512, CK_TARGET_AVX512)
#endif

void ck_widen_microscales(const uint8_t *codes, int is_e4m3, size_t count, float factor, float divisor, float *target) {
    CK_CHOOSE(scales, codes, is_e4m3, count, factor, divisor, target);
}
