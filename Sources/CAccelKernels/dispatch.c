// The instruction set of the kernels, detected once and then read on every call.
#include "internal.h"

extern char *getenv(const char *name);

#if CK_X86
#include <cpuid.h>
#elif CK_ARM && defined(__linux__)
extern unsigned long getauxval(unsigned long type);
#elif CK_ARM && defined(__APPLE__)
extern int sysctlbyname(const char *name, void *value, size_t *size, void *new_value, size_t new_size);
#endif

static int is_equal(const char *text, const char *other) {
    while (*text && *text == *other) text++, other++;
    return *text == *other;
}

const char *ck_isa_name(ck_isa isa) {
    static const char *const names[] = {"scalar", "neon", "neondot", "neoni8mm", "neonbf16", "avx2", "avx512", "avx512vnni",
                                        "avx512vbmi", "avx512bf16", "amx"};
    return (unsigned)isa <= CK_AMX ? names[isa] : 0;
}

/// Returns the best instruction set that ACCELC_CPU allows. A value that is no name, or none, allows all.
static ck_isa allowed_isa(void) {
    const char *limit = getenv("ACCELC_CPU");
    for (int isa = CK_SCALAR; limit && isa < CK_AMX; isa++)
        if (is_equal(limit, ck_isa_name((ck_isa)isa))) return (ck_isa)isa;
    return CK_AMX;
}

#if CK_X86 && defined(__linux__)
extern long syscall(long number, ...);

/// Returns whether the processor has AMX with products of bytes and of bfloat16, and the system saves its tiles.
static int found_amx(void) {
    const unsigned tiles = 1u << 24, products = 1u << 25 | 1u << 22, saved = 1u << 17 | 1u << 18;
    unsigned a, b, c, d, low, high;
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || ~d & (tiles | products)) return 0;
    __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return !(~low & saved);
}

/// Asks Linux to let this process use AMX tiles, whose contents need more memory for each thread and for each signal. It rejects
/// if a thread has too small a stack for signals.
static int may_use_amx(void) {
    const long arch_prctl = 158, request_permission = 0x1023, tile_contents = 18;
    return syscall(arch_prctl, request_permission, tile_contents) == 0;
}
#elif CK_X86
static int found_amx(void) { return 0; }
static int may_use_amx(void) { return 0; }
#endif

#if CK_ARM
/// Returns whether there is what Linux has as a bit of AT_HWCAP (16) or AT_HWCAP2 (26), and macOS by a name.
static int found(unsigned long vector, int bit, const char *name) {
#if defined(__linux__)
    (void)name;
    return (getauxval(vector) >> bit & 1) != 0;
#elif defined(__APPLE__)
    int is_found = 0;
    size_t size = sizeof is_found;
    (void)vector, (void)bit;
    return sysctlbyname(name, &is_found, &size, NULL, 0) == 0 && is_found;
#else
    (void)vector, (void)bit, (void)name;
    return 0;
#endif
}

static ck_isa available_neon(void) {
    if (!found(16, 20, "hw.optional.arm.FEAT_DotProd")) return CK_NEON;
    if (!found(26, 13, "hw.optional.arm.FEAT_I8MM")) return CK_NEON_DOT;
    return found(26, 14, "hw.optional.arm.FEAT_BF16") ? CK_NEON_BF16 : CK_NEON_I8MM;
}
#endif

static ck_isa available_isa(void) {
#if CK_X86
    __builtin_cpu_init();
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) return CK_SCALAR;
    unsigned a, b, c = 0, d;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_F16C)) return CK_SCALAR;
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq"))
        return !__builtin_cpu_supports("avx512vnni")   ? CK_AVX512
               : !__builtin_cpu_supports("avx512vbmi") ? CK_AVX512_VNNI
               : !__builtin_cpu_supports("avx512bf16") ? CK_AVX512_VBMI
               : !found_amx()                          ? CK_AVX512_BF16
                                                       : CK_AMX;
    return CK_AVX2;
#elif CK_ARM
    return available_neon();
#else
    return CK_SCALAR;
#endif
}

static int found_sha256(void) {
#if CK_X86
    unsigned a, b = 0, c = 0, d;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_SSE4_1) || !(c & bit_SSSE3)) return 0;
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d)) return 0;
    return (b & bit_SHA) != 0;
#elif CK_ARM && defined(__APPLE__)
    return 1;
#elif CK_ARM && defined(__linux__)
    const unsigned long hwcap = 16, sha2 = 1ul << 6;
    return (getauxval(hwcap) & sha2) != 0;
#else
    return 0;
#endif
}

static ck_isa best_isa(void) {
    ck_isa available = available_isa(), allowed = allowed_isa();
#if CK_X86
    if (allowed < CK_AVX2) allowed = CK_SCALAR;
#endif
    return available < allowed ? available : allowed;
}

// Threads that race to fill these in write the same values.
static int isa_in_use = -1;
static int sha256_found = -1;

/// The set in use, which may be AVX-512 with VNNI, VBMI, BF16 or AMX, or NEON with products of bytes or bfloat16.
static ck_isa detailed_isa(void) {
    int isa = __atomic_load_n(&isa_in_use, __ATOMIC_RELAXED);
    if (isa < 0) {
        isa = best_isa();
        __atomic_store_n(&isa_in_use, isa, __ATOMIC_RELAXED);
    }
    return (ck_isa)isa;
}

ck_isa ck_current_isa(void) {
    const ck_isa isa = detailed_isa();
    return isa > CK_AVX512 ? CK_AVX512 : isa > CK_NEON && isa < CK_AVX2 ? CK_NEON : isa;
}

/// Whether NEON is in use with what comes with `least`.
static int has_neon(ck_isa least) { return detailed_isa() >= least && detailed_isa() < CK_AVX2; }

int ck_has_neon_dot(void) { return has_neon(CK_NEON_DOT); }

int ck_has_neon_i8mm(void) { return has_neon(CK_NEON_I8MM); }

int ck_has_neon_bf16(void) { return has_neon(CK_NEON_BF16); }

int ck_has_vnni(void) { return detailed_isa() >= CK_AVX512_VNNI; }

int ck_has_vbmi(void) { return detailed_isa() >= CK_AVX512_VBMI; }

int ck_has_avx512_bf16(void) { return detailed_isa() >= CK_AVX512_BF16; }

int ck_has_amx(void) {
#if CK_X86
    static int amx_allowed = -1;
    if (detailed_isa() < CK_AMX) return 0;
    int is_allowed = __atomic_load_n(&amx_allowed, __ATOMIC_RELAXED);
    if (is_allowed < 0) {
        is_allowed = may_use_amx();
        __atomic_store_n(&amx_allowed, is_allowed, __ATOMIC_RELAXED);
    }
    return is_allowed;
#else
    return 0;
#endif
}

ck_isa ck_limit_isa(ck_isa limit) {
    int best = best_isa();
    // The sets are ordered within one processor family; NEON on x86-64 and AVX on ARM mean "nothing faster than scalar".
    int isa = best <= (int)limit ? best : (int)limit;
#if CK_X86
    if (isa < CK_AVX2) isa = CK_SCALAR;
#endif
    __atomic_store_n(&isa_in_use, isa, __ATOMIC_RELAXED);
    return (ck_isa)isa;
}

int ck_has_sha256(void) {
    if (ck_current_isa() == CK_SCALAR) return 0;
    int found = __atomic_load_n(&sha256_found, __ATOMIC_RELAXED);
    if (found < 0) {
        found = found_sha256();
        __atomic_store_n(&sha256_found, found, __ATOMIC_RELAXED);
    }
    return found;
}
