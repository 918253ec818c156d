// Includes BODY once for each instruction set that `CK_CHOOSE` knows, which defines NAME(x) and TARGET. The body undefines both.

#define NAME(x) x##_plain
#define TARGET
#include BODY

#if CK_X86

#define NAME(x) x##_avx2
#define TARGET CK_TARGET_AVX2
#include BODY

#define NAME(x) x##_avx512
#define TARGET CK_TARGET_AVX512
#include BODY

#endif

#undef BODY
