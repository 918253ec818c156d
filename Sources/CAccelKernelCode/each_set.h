// Includes BODY once for each instruction set that `CK_CHOOSE` knows, with NAME(x), TARGET, which the body undefines, and SET_BYTES, the
// bytes of a vector register.

#define NAME(x) x##_plain
#define TARGET
#define SET_BYTES 16
#include BODY
#undef SET_BYTES

#if CK_X86

#define NAME(x) x##_avx2
#define TARGET CK_TARGET_AVX2
#define SET_BYTES 32
#include BODY
#undef SET_BYTES

#define NAME(x) x##_avx512
#define TARGET CK_TARGET_AVX512
#define SET_BYTES 64
#include BODY
#undef SET_BYTES

#endif

#undef BODY
