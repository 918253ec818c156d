// The sums of products with panels of quads by NEON's matrix product of bytes. Included once, with NAME(x) and TARGET defined.

#define LANES 4
#define ROWS 8
#define GROUP SIZE_MAX
#define MIDDLE 0
#define EACH_ROW UNROLLED for (int r = 0; r < rows; r++)

// Without a sign, so that parts of a sum may overflow which does not.
typedef uint32_t NAME(wholes) __attribute__((ext_vector_type(LANES), aligned(4)));

// Step codes have no sign, codes have one.
#define SQUARE int32x4_t
#define MMLA(sum, a, b) vusmmlaq_s32(sum, a, vreinterpretq_s8_u32(b))
#include "mmla_body.h"

/// The products of a group's step codes with its codes.
TARGET CK_INLINE void NAME(group)(const int8_tile *t, const uint8_t *steps, const int8_t *codes, size_t depth,
                                  NAME(wholes) sums[ROWS][2], const int rows) {
    int32x4_t own[ROWS][2];
    NAME(squares)(steps, t->stride, codes, (depth + 3) / 4, own, rows);
    EACH_ROW sums[r][0] = (NAME(wholes))own[r][0], sums[r][1] = (NAME(wholes))own[r][1];
}

#include "int8_quads_block.h"
