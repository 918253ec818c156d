// The choice of an instruction set; CAccelKernels.h includes it.
#ifndef CKERNELS_INSTRUCTION_SETS_H
#define CKERNELS_INSTRUCTION_SETS_H


/// AVX-512 is its parts F, BW, VL and DQ; VNNI is its products of bytes, VBMI these and its permutations of bytes, BF16 these and
/// its products of bfloat16, AMX all of them and tiles of products of bytes and of bfloat16. NEON_DOT is NEON with its products of
/// bytes, NEON_I8MM these and its matrix products of bytes, NEON_BF16 these and its matrix products of bfloat16.
typedef enum {
    CK_SCALAR = 0,
    CK_NEON = 1,
    CK_NEON_DOT = 2,
    CK_NEON_I8MM = 3,
    CK_NEON_BF16 = 4,
    CK_AVX2 = 5,
    CK_AVX512 = 6,
    CK_AVX512_VNNI = 7,
    CK_AVX512_VBMI = 8,
    CK_AVX512_BF16 = 9,
    CK_AMX = 10
} ck_isa;

/// The instruction set in use: the best of the processor, limited by the environment variable ACCELC_CPU (scalar, neon, neondot,
/// neoni8mm, neonbf16, avx2, avx512, avx512vnni, avx512vbmi, avx512bf16, amx). It is CK_AVX512 with VNNI, VBMI, BF16 or AMX, too,
/// and CK_NEON with products of bytes or of bfloat16.
ck_isa ck_current_isa(void);
/// Returns the name that ACCELC_CPU has for a set; NULL for a number that is none.
const char *ck_isa_name(ck_isa isa);
/// For tests: uses at most `isa` (a set that the processor lacks is ignored). Returns the set that is now in use.
ck_isa ck_limit_isa(ck_isa isa);

#endif
