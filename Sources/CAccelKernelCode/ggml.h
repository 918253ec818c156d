// The blocks of ggml's types: a scale, or a scale and a minimum, in float16, with the codes of 32 or 256 weights.
#ifndef CKERNELS_GGML_H
#define CKERNELS_GGML_H

#include "../CAccelKernels/half.h"
#include "internal.h"

// The weights of a block whose own blocks, of 16 or 32 weights, have scales.
#define QK_K 256

// Blocks stand at any address.
#define BLOCK __attribute__((packed, may_alias))

typedef struct BLOCK {
    uint16_t d;
    uint8_t qs[16];
} block_q4_0, block_iq4_nl;

typedef struct BLOCK {
    uint16_t d, m;
    uint8_t qs[16];
} block_q4_1;

typedef struct BLOCK {
    uint16_t d;
    uint8_t qh[4], qs[16];
} block_q5_0;

typedef struct BLOCK {
    uint16_t d, m;
    uint8_t qh[4], qs[16];
} block_q5_1;

typedef struct BLOCK {
    uint16_t d;
    int8_t qs[32];
} block_q8_0;

typedef struct BLOCK {
    uint8_t scales[16], qs[64];
    uint16_t d, dmin;
} block_q2_k;

typedef struct BLOCK {
    uint8_t hmask[32], qs[64], scales[12];
    uint16_t d;
} block_q3_k;

typedef struct BLOCK {
    uint16_t d, dmin;
    uint8_t scales[12], qs[128];
} block_q4_k;

typedef struct BLOCK {
    uint16_t d, dmin;
    uint8_t scales[12], qh[32], qs[128];
} block_q5_k;

typedef struct BLOCK {
    uint8_t ql[128], qh[64];
    int8_t scales[16];
    uint16_t d;
} block_q6_k;

typedef struct BLOCK {
    uint16_t d, scales_h;
    uint8_t scales_l[4], qs[128];
} block_iq4_xs;

typedef struct BLOCK {
    uint8_t qs[48], qh[4];
    uint16_t d;
} block_tq1_0;

typedef struct BLOCK {
    uint8_t qs[64];
    uint16_t d;
} block_tq2_0;

// Types whose codes are numbers of entries of a grid: eight weights, or four in IQ3. Weights are the entries' values with signs; those
// with seven bits of signs for eight weights have an even number of negative ones.

typedef struct BLOCK {
    uint16_t d;
    uint8_t qs[64];
} block_iq2_xxs;

typedef struct BLOCK {
    uint16_t d;
    uint8_t qs[64], scales[8];
} block_iq2_xs;

typedef struct BLOCK {
    uint16_t d;
    uint8_t qs[32], signs[32], qh[8], scales[8];
} block_iq2_s;

typedef struct BLOCK {
    uint16_t d;
    uint8_t qs[64], signs[32];
} block_iq3_xxs;

typedef struct BLOCK {
    uint16_t d;
    uint8_t qs[64], qh[8], signs[32], scales[4];
} block_iq3_s;

/// Calls M(NUMBER, type, weights of a part) for each type.
#define EACH_GRID_TYPE(M) \
    M(IQ2_XXS, iq2_xxs, 32) M(IQ2_XS, iq2_xs, 16) M(IQ2_S, iq2_s, 16) M(IQ3_XXS, iq3_xxs, 32) M(IQ3_S, iq3_s, 32)

// The magnitudes that the codes of grids stand for, before the scale.
#define IQ2_VALUE(code) ((code) == 0 ? 8 : (code) == 1 ? 25 : 43)
#define IQ3_XXS_VALUE(code) ((code) == 7 ? 62 : 8 * (code) + 4)
#define IQ3_S_VALUE(code) (2 * (code) + 1)

/// The weights that the codes of IQ4_NL and IQ4_XS stand for, before the scale.
static const int8_t kvalues_iq4nl[16] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};

/// The scale and the minimum of block `j` in the 12 bytes of Q4_K and Q5_K, six bits each.
CK_INLINE void get_scale_min_k4(const uint8_t *packed, int j, int *scale, int *minimum) {
    if (j < 4) {
        *scale = packed[j] & 63, *minimum = packed[j + 4] & 63;
    } else {
        *scale = (packed[j + 4] & 15) | packed[j - 4] >> 6 << 4;
        *minimum = packed[j + 4] >> 4 | packed[j] >> 6 << 4;
    }
}

/// The scale of block `j` in the 12 bytes of Q3_K, in -32...31.
CK_INLINE int six_bits_signed(const uint8_t *packed, int j) {
    int low = j < 8 ? packed[j] & 15 : packed[j - 8] >> 4;
    return (low | (packed[8 + j % 4] >> 2 * (j / 4) & 3) << 4) - 32;
}

/// The plain form of `ck_ggml_decode`.
void ck_ggml_decode_plain(ck_ggml_type type, const uint8_t *codes, size_t blocks, float *values);

#endif
