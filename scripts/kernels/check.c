// Compares the products of int8 activations on each instruction set with the scalar form, for fixed shapes and for shapes
// chosen at random: the same bits are demanded. check_bfloat16.c does so for those of bfloat16. scripts/kernels.sh builds and runs
// it. This file takes the place of dispatch.c, so that a form is called whether the processor has its instructions or they are
// emulated.
// usage: check SHAPES SEED
#include <signal.h>

#include "check.h"

#if CK_X86
unsigned long emulated_calls[EMULATED_KINDS];
int emulated_tiles_in_use;
static const ck_isa levels[] = {CK_SCALAR, CK_AVX2, CK_AVX512, CK_AVX512_VNNI, CK_AVX512_BF16, CK_AMX};
static const char *const names[] = {"scalar", "avx2", "avx512", "avx512vnni", "avx512bf16", "amx"};
#else
static const ck_isa levels[] = {CK_SCALAR, CK_NEON, CK_NEON_DOT, CK_NEON_I8MM, CK_NEON_BF16};
static const char *const names[] = {"scalar", "neon", "neondot", "neoni8mm", "neonbf16"};
#endif
enum { LEVELS = sizeof levels / sizeof levels[0] };

// ---- dispatch ------------------------------------------------------------------------------------------------

ck_isa level;

static int has_neon(ck_isa least) { return level >= least && level < CK_AVX2; }

ck_isa ck_current_isa(void) { return level > CK_AVX512 ? CK_AVX512 : has_neon(CK_NEON) ? CK_NEON : level; }
int ck_has_neon_dot(void) { return has_neon(CK_NEON_DOT); }
int ck_has_neon_i8mm(void) { return has_neon(CK_NEON_I8MM); }
int ck_has_neon_bf16(void) { return has_neon(CK_NEON_BF16); }
int ck_has_vnni(void) { return level >= CK_AVX512_VNNI; }
int ck_has_avx512_bf16(void) { return level >= CK_AVX512_BF16; }
int ck_has_amx(void) { return level >= CK_AMX; }

uint64_t state;

// ---- shapes --------------------------------------------------------------------------------------------------

typedef struct {
    size_t rows, depth, columns, block;
    /// Rows of x before the first of the product, and columns of c after the last.
    size_t first, gap;
    int bits;
    uint8_t flipped, middle;
    int is_shifted, has_bias;
    /// Rows of x share a range.
    int has_range;
    /// Sums are as large as they can be.
    int is_extreme;
} shape;

static const size_t fixed[][4] = {
    // Rows of x, columns, rows of weights, block.
    {1, 1, 1, 1},        {2, 7, 5, 7},          {3, 16, 33, 16},      {6, 48, 64, 16},       {7, 130, 40, 32},
    {13, 96, 31, 64},    {14, 64, 32, 64},      {15, 257, 65, 257},   {16, 1, 1, 1},         {16, 64, 32, 64},
    {16, 63, 31, 63},    {17, 65, 33, 65},      {31, 67, 32, 4},      {32, 128, 64, 64},     {32, 61, 32, 61},
    {33, 4, 64, 4},      {47, 100, 32, 96},     {48, 140, 30, 68},    {64, 384, 96, 384},    {128, 34, 33, 34},
    {130, 60, 40, 20},   {144, 200, 32, 128},   {161, 96, 64, 32},    {290, 70, 7, 32},      {16, 65536, 17, 65536},
    {18, 65700, 1, 65536}, {3, 65636, 33, 65536},
};
enum { FIXED = sizeof fixed / sizeof fixed[0] };

static shape shape_at(size_t index) {
    shape s = {.first = from_to(0, 2), .gap = from_to(0, 3), .is_shifted = (int)from_to(0, 1)};
    s.bits = from_to(0, 1) ? 8 : (int)from_to(2, 4);
    // Codes in two's complement, biased codes, and bytes of both kinds.
    const int is_biased = (int)from_to(0, 1);
    s.middle = is_biased || s.bits < 8 ? (uint8_t)(1 << (s.bits - 1)) : 0;
    s.flipped = !is_biased && s.bits < 8 ? s.middle : 0;
    s.has_range = from_to(0, 7) == 0;
    s.has_bias = (int)from_to(0, 1);
    if (index < FIXED) {
        s.rows = fixed[index][0], s.depth = fixed[index][1], s.columns = fixed[index][2], s.block = fixed[index][3];
        s.is_extreme = 1;
        return s;
    }
    s.is_extreme = from_to(0, 15) == 0;
    s.rows = from_to(0, 1) ? from_to(1, 40) : from_to(16, 140);
    s.depth = from_to(0, 3) ? from_to(1, 200) : from_to(1, 700);
    s.columns = from_to(1, 70);
    s.block = s.depth;
    if (from_to(0, 2)) s.block = from_to(0, 1) ? (size_t)16 << from_to(0, 3) : 4 * from_to(1, 40);
    if (s.block > s.depth) s.block = s.depth;
    return s;
}

// ---- the check -----------------------------------------------------------------------------------------------

/// Rounds rows of x on the level in use.
static void round_rows(const shape *s, const float *x, guarded memory[4], ck_rounded_rows *rows) {
    const size_t count = s->first + s->rows, stride = ck_step_stride(s->depth);
    const size_t blocks = (s->depth + s->block - 1) / s->block;
    int16_t *steps = last(memory, count * stride * sizeof *steps);
    uint8_t *step_codes = last(memory + 1, count * stride);
    ck_rounding *roundings = last(memory + 2, count * sizeof *roundings);
    int32_t *sums = last(memory + 3, count * blocks * sizeof *sums);
    const ck_rounding range = {.scale = 0.01f, .lowest = -90};
    for (size_t row = 0; row < count; row++) {
        ck_round_row(x + row * s->depth, s->depth, s->has_range ? &range : 0, steps + row * stride, roundings + row);
        ck_sum_steps(steps + row * stride, s->depth, s->block, sums + row * blocks);
        ck_step_codes(steps + row * stride, s->depth, roundings[row], step_codes + row * stride);
    }
    *rows = (ck_rounded_rows){steps, step_codes, stride, roundings, s->is_shifted ? sums : 0};
}

/// Panels of the codes in one of the two layouts.
static ck_int8_panels panels(const shape *s, const uint8_t *codes, int has_quads, guarded memory[2], const float *scales,
                             const float *shifts) {
    const size_t bytes = ck_int8_panel_bytes(s->depth), blocks = (s->depth + s->block - 1) / s->block;
    const size_t count = (s->columns + PANEL_WIDTH - 1) / PANEL_WIDTH;
    int8_t *packed = last(memory, count * bytes);
    int32_t *code_sums = last(memory + 1, count * PANEL_WIDTH * blocks * sizeof *code_sums);
    const ck_int8_panels result = {packed, scales, shifts, s->depth, s->block, blocks, s->bits, has_quads, code_sums};
    for (size_t panel = 0; panel < count; panel++) {
        const size_t row = panel * PANEL_WIDTH, left = s->columns - row;
        ck_pack_int8_panel(codes + row * s->depth, s->depth, left < PANEL_WIDTH ? left : PANEL_WIDTH, s->flipped, s->middle,
                           &result, packed + panel * bytes, code_sums + row * blocks);
    }
    return result;
}

/// Returns whether all levels give the scalar form's bits, in both layouts.
static int agrees(const shape *s) {
    static guarded memory[15];
    const size_t count = (s->columns + PANEL_WIDTH - 1) / PANEL_WIDTH, blocks = (s->depth + s->block - 1) / s->block;
    const size_t numbers = count * PANEL_WIDTH * blocks, elements = (s->first + s->rows) * s->depth;
    const size_t width = s->columns + s->gap, bytes = s->rows * width * sizeof(float);
    float *x = last(memory, elements * sizeof *x);
    for (size_t i = 0; i < elements; i++) x[i] = s->is_extreme ? 3 : real(-1, 3);
    uint8_t *codes = last(memory + 1, s->columns * s->depth);
    // The lowest code is that whose products are largest.
    const uint8_t mask = (uint8_t)((1 << s->bits) - 1), lowest = s->flipped ^ (uint8_t)(s->middle - (1 << (s->bits - 1)));
    for (size_t i = 0; i < s->columns * s->depth; i++) codes[i] = s->is_extreme ? lowest : (uint8_t)next() & mask;
    float *scales = last(memory + 2, numbers * sizeof *scales), *shifts = last(memory + 3, numbers * sizeof *shifts);
    for (size_t i = 0; i < numbers; i++) scales[i] = real(0.5f, 2), shifts[i] = real(-1, 1);

    float *bias = last(memory + 14, s->columns * sizeof *bias);
    for (size_t i = 0; i < s->columns; i++) bias[i] = real(-9, 9);

    ck_rounded_rows known = {0}, rows;
    float *expected = last(memory + 4, bytes), *c = last(memory + 5, bytes);
    int is_equal = 1;
    for (int index = 0; index < LEVELS; index++) {
        level = levels[index];
        round_rows(s, x, memory + (index == 0 ? 6 : 10), index == 0 ? &known : &rows);
        if (index != 0) {
            const size_t total = s->first + s->rows;
            if (memcmp(rows.steps, known.steps, total * known.stride * sizeof *known.steps)
                || memcmp(rows.step_codes, known.step_codes, total * known.stride)
                || memcmp(rows.roundings, known.roundings, total * sizeof *known.roundings)) {
                printf("kernels: rounded rows differ with %s\n", names[index]);
                is_equal = 0;
            }
        }
        for (int has_quads = 0; has_quads < 2; has_quads++) {
            static guarded packed[2];
            if (has_quads && blocks > 1 && s->block % 4) continue;
            const ck_int8_panels w = panels(s, codes, has_quads, packed, scales, s->is_shifted ? shifts : 0);
            float *target = index == 0 && !has_quads ? expected : c;
            for (size_t i = 0; i < s->rows * width; i++) target[i] = -7;
            ck_gemm_int8(&known, s->first, s->rows, &w, s->has_bias ? bias : 0, s->columns, target, width);
#if CK_X86
            if (emulated_tiles_in_use) printf("kernels: tiles were not released\n"), is_equal = 0;
#endif
            if (!memcmp(target, expected, bytes)) continue;
            printf("kernels: products with %s differ with %s\n", has_quads ? "quads" : "pairs", names[index]);
            is_equal = 0;
        }
    }
    for (size_t row = 0; row < s->rows; row++)
        for (size_t column = s->columns; column < width; column++) is_equal &= expected[row * width + column] == -7;
    return is_equal;
}

static size_t index_in_work;
static uint64_t seed;

static void print(const char *what) {
    state = seed + index_in_work * 0x9E3779B9;
    const shape s = shape_at(index_in_work);
    printf("kernels: shape %zu of seed %llu %s: %zu x %zu by %zu, blocks of %zu, %d bits, %s\n", index_in_work,
           (unsigned long long)seed, what, s.rows, s.depth, s.columns, s.block, s.bits, s.is_shifted ? "shifts" : "no shifts");
}

static void stop(int number) {
    print(number == SIGABRT ? "raises a fault" : "reads or writes past an operand");
    fflush(stdout);
    _exit(1);
}

int main(int count, char **arguments) {
    const size_t shapes = FIXED + (count > 1 ? strtoul(arguments[1], 0, 10) : 0);
    seed = count > 2 ? strtoull(arguments[2], 0, 10) : 1;
    signal(SIGSEGV, stop);
    signal(SIGBUS, stop);
    signal(SIGABRT, stop);
#if CK_X86
    __builtin_cpu_init();
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) {
        printf("kernels: this processor lacks AVX2, for which the emulation is compiled: not checked\n");
        return 0;
    }
#endif
    size_t differ = 0;
    for (size_t index = 0; index < shapes; index++) {
        index_in_work = index;
        state = seed + index * 0x9E3779B9;
        const shape s = shape_at(index);
        if (agrees(&s) & bfloat16_agrees(index, levels, names, LEVELS)) continue;
        print("differs");
        if (++differ == 10) break;
    }
#if CK_X86
    for (int kind = 0; kind < EMULATED_KINDS; kind++)
        if (!emulated_calls[kind]) differ++, printf("kernels: no emulated instruction of kind %d was called\n", kind);
#endif
    if (differ) return 1;
    printf("kernels: %zu shapes give the same bits, and those of bfloat16 as close ones, with", shapes);
    for (int index = 0; index < LEVELS; index++) printf(" %s", names[index]);
    printf("\n");
    return 0;
}
