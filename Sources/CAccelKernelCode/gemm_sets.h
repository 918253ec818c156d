// The matrix product of REAL numbers, in panels of WIDTH columns, for all instruction sets.
#define JOINED(name, real, set) name##_##real##_##set
#define NAME_OF(name, real, set) JOINED(name, real, set)

// As the processor's own instructions for one number compute it.
#define NAME(x) NAME_OF(x, REAL, scalar)
#define TARGET
#define BYTES sizeof(REAL)
#define VECTORS 1
#define ROWS 1
#include "gemm_body.h"

#if CK_X86

#define NAME(x) NAME_OF(x, REAL, avx512)
#define TARGET CK_TARGET_AVX512
#define BYTES 64
#define VECTORS 2
#define ROWS 14
#include "gemm_body.h"

#define NAME(x) NAME_OF(x, REAL, avx2)
#define TARGET CK_TARGET_AVX2
#define BYTES 32
#define VECTORS 2
#define ROWS 6
#include "gemm_body.h"

#elif CK_ARM

#define NAME(x) NAME_OF(x, REAL, neon)
#define TARGET
#define BYTES 16
#define VECTORS 4
#define ROWS 6
#include "gemm_body.h"

#endif

/// A part of the products of up to ROW_BLOCK rows with whole panels (gemm_body.h).
typedef void gemm_part(const REAL *a, size_t lda, size_t m, size_t depth, const REAL *b, size_t k, size_t count,
                       const REAL *bias, int first, REAL *c, size_t ldc);

static gemm_part *current_part(void) {
    switch (ck_current_isa()) {
#if CK_X86
    case CK_AVX512: return NAME_OF(part, REAL, avx512);
    case CK_AVX2: return NAME_OF(part, REAL, avx2);
#elif CK_ARM
    case CK_NEON: return NAME_OF(part, REAL, neon);
#endif
    default: return NAME_OF(part, REAL, scalar);
    }
}

/// The products of one part: at most `most`, which is a multiple of K_BLOCK.
CK_INLINE size_t part_depth(size_t k, size_t from, size_t most) { return k - from < most ? k - from : most; }
