// Shared by the files of this module and the code of the kernels; not part of the interface.
#ifndef CACCEL_KERNELS_INTERNAL_H
#define CACCEL_KERNELS_INTERNAL_H

#include "include/CAccelKernels.h"

#if defined(__x86_64__)
#define CK_X86 1
#include <immintrin.h>
#elif defined(__aarch64__)
#define CK_ARM 1
#include <arm_neon.h>
#endif

#define CK_TARGET_AVX2 __attribute__((target("avx2,fma,f16c")))
#define CK_TARGET_AVX512 __attribute__((target("avx2,fma,f16c,avx512f,avx512bw,avx512vl,avx512dq")))
#define CK_TARGET_VNNI __attribute__((target("avx2,fma,f16c,avx512f,avx512bw,avx512vl,avx512dq,avx512vnni")))
#define CK_TARGET_BF16 __attribute__((target("avx2,fma,f16c,avx512f,avx512bw,avx512vl,avx512dq,avx512bf16")))
#define CK_TARGET_AMX \
    __attribute__((target("avx2,fma,f16c,avx512f,avx512bw,avx512vl,avx512dq,avx512vnni,amx-tile,amx-int8,amx-bf16")))
#define CK_TARGET_VBMI __attribute__((target("avx2,fma,f16c,avx512f,avx512bw,avx512vl,avx512dq,avx512vbmi")))
#define CK_TARGET_NEON_DOT __attribute__((target("dotprod")))
#define CK_TARGET_NEON_I8MM __attribute__((target("i8mm")))
#define CK_TARGET_NEON_BF16 __attribute__((target("bf16")))
#define CK_INLINE static inline __attribute__((always_inline))

// The compiler turns these into moves or calls; declaring them here keeps libc headers out, so that every
// file compiles for any processor with a bare compiler.
#define ck_copy(target, source, bytes) __builtin_memcpy(target, source, bytes)

/// Prefetches memory 2 KB ahead, which is harmless past the end of a buffer. Without it, loops that do some work for
/// each cache line have too few outstanding reads.
#define prefetch_ahead(p) __builtin_prefetch((const char *)(p) + 2048)

/// Returns whether NEON is in use with its products of bytes.
int ck_has_neon_dot(void);

/// Returns whether NEON is in use with its matrix products of bytes, and with its products of bytes.
int ck_has_neon_i8mm(void);

/// Returns whether NEON is in use with its matrix products of bfloat16.
int ck_has_neon_bf16(void);

/// Returns whether AVX-512 is in use with its products of bytes.
int ck_has_vnni(void);

/// Returns whether AVX-512 is in use with its permutations of bytes.
int ck_has_vbmi(void);

/// Returns whether AVX-512 is in use with its products of bfloat16.
int ck_has_avx512_bf16(void);

/// Returns whether AMX is in use with its products of bytes and of bfloat16, and AVX-512 with its own. The first call on such a
/// processor asks the system for it.
int ck_has_amx(void);

/// Returns whether the processor has SHA-256 instructions and `ck_limit_isa` allows more than scalar kernels.
int ck_has_sha256(void);

#endif
