// The two limits of a machine that a product can reach, each measured by the simplest loop that reaches it.
#include "internal.h"

// A vector each: as many as two multipliers with a latency of four cycles need, and fewer than there are registers.
#define SUMS 12

#define MULTIPLY_ADDS(form, lanes, TARGET)                                                 \
    typedef float form##_vector __attribute__((ext_vector_type(lanes)));                   \
    TARGET static size_t multiply_adds_##form(size_t rounds, float *result) {              \
        form##_vector sum[SUMS], factor = 0.999f, term = 0.001f;                           \
        for (int i = 0; i < SUMS; i++) sum[i] = (float)i;                                  \
        for (size_t round = 0; round < rounds; round++) {                                  \
            _Pragma("clang loop unroll(full)") for (int i = 0; i < SUMS; i++)              \
                sum[i] = __builtin_elementwise_fma(sum[i], factor, term);                  \
        }                                                                                  \
        *result = 0;                                                                       \
        for (int i = 0; i < SUMS; i++)                                                     \
            for (int lane = 0; lane < lanes; lane++) *result += sum[i][lane];              \
        return rounds * SUMS * lanes;                                                      \
    }

#if CK_X86
MULTIPLY_ADDS(avx512, 16, CK_TARGET_AVX512)
MULTIPLY_ADDS(avx2, 8, CK_TARGET_AVX2)
#elif CK_ARM
MULTIPLY_ADDS(neon, 4, )
#endif
MULTIPLY_ADDS(scalar, 1, )

size_t ck_multiply_adds(size_t rounds, float *result) {
    switch (ck_current_isa()) {
#if CK_X86
    case CK_AVX512: return multiply_adds_avx512(rounds, result);
    case CK_AVX2: return multiply_adds_avx2(rounds, result);
#elif CK_ARM
    case CK_NEON: return multiply_adds_neon(rounds, result);
#endif
    default: return multiply_adds_scalar(rounds, result);
    }
}

uint64_t ck_read_memory(const uint64_t *words, size_t count) {
    uint64_t sums[8] = {0};
    for (size_t i = 0; i + 8 <= count; i += 8) {
        prefetch_ahead(words + i);
        for (size_t k = 0; k < 8; k++) sums[k] += words[i + k];
    }
    uint64_t sum = 0;
    for (int k = 0; k < 8; k++) sum += sums[k];
    return sum;
}
