// Products of many rows of codes with one row of x that is rounded to 8 bits: a decode step with int8 activations. The sums
// of a block are whole numbers in eight lanes, which meet the block's scale there. Blocks of even and of odd index have lanes
// of their own, so that no addition waits for the one before it; all sixteen are added at the end of a row.
#include "../CAccelKernels/half.h"
#include "internal.h"

// Without contraction, a * b + c has two roundings on every instruction set, unless the code requests one.
#pragma clang fp contract(off)

CK_INLINE size_t columns_of(const ck_int8_dot *x, size_t block) {
    const size_t left = x->count - block * x->block;
    return left < x->block ? left : x->block;
}

/// The result of a row: its lanes, and what the shifts of its blocks add.
CK_INLINE float total(const ck_int8_dot *x, size_t row, const float lanes[16]) {
    float sum = sum_of_16(lanes);
    if (x->shifts) {
        float shifted[16] = {0};
        for (size_t block = 0; block < x->blocks; block++)
            shifted[block % 16] =
                __builtin_fmaf((float)x->sums[block], x->shifts[row * x->blocks + block], shifted[block % 16]);
        sum += sum_of_16(shifted);
    }
    return sum * x->rounding.scale;
}

CK_INLINE float scale_plain(const ck_int8_dot *x, size_t index) {
    return x->scales ? x->scales[index] : widen_f16(x->scale_halves[index]);
}

/// Adds a block's sums to its lanes.
CK_INLINE void add_block(const ck_int8_dot *x, size_t row, size_t block, const int32_t sums[8], float lanes[16]) {
    for (size_t lane = 0; lane < 8; lane++) {
        float *sum = lanes + block % 2 * 8 + lane;
        *sum = __builtin_fmaf((float)sums[lane], scale_plain(x, row * x->blocks + block), *sum);
    }
}

// ---- codes of one byte: elements 2 * j and 2 * j + 1 of sixteen are in lane j ---------------------------------------

CK_INLINE void add_bytes_plain(const int16_t *steps, const uint8_t *codes, size_t count, uint8_t flipped, uint8_t middle,
                               int32_t *sums) {
    for (size_t i = 0; i < count; i++) sums[i / 2 % 8] += steps[i] * (int8_t)(uint8_t)((codes[i] ^ flipped) - middle);
}

static void bytes_plain(const ck_int8_dot *x, const uint8_t *codes, size_t stride, size_t rows, uint8_t flipped,
                        uint8_t middle, float *target) {
    for (size_t row = 0; row < rows; row++) {
        float lanes[16] = {0};
        for (size_t block = 0; block < x->blocks; block++) {
            const size_t from = block * x->block;
            int32_t sums[8] = {0};
            add_bytes_plain(x->steps + from, codes + row * stride + from, columns_of(x, block), flipped, middle, sums);
            add_block(x, row, block, sums, lanes);
        }
        target[row] = total(x, row, lanes);
    }
}

// ---- codes of four bits: elements 8 * j, 8 * j + 2 ... 8 * j + 6 of 32 are in lane j, those after them in lane j + 4 -----

static void nibbles_plain(const ck_int8_dot *x, const uint8_t *codes, size_t stride, size_t rows, uint8_t flipped,
                          float *target) {
    for (size_t row = 0; row < rows; row++) {
        float lanes[16] = {0};
        for (size_t block = 0; block < x->blocks; block++) {
            const size_t from = block * x->block, count = columns_of(x, block);
            const uint8_t *own = codes + row * stride + from / 2;
            int32_t sums[8] = {0};
            for (size_t i = 0; i < count; i++)
                sums[i % 32 / 8 + i % 2 * 4] += x->steps[from + i] * (((own[i / 2] >> (i % 2 * 4) & 15) ^ flipped) - 8);
            add_block(x, row, block, sums, lanes);
        }
        target[row] = total(x, row, lanes);
    }
}

#if CK_X86

CK_TARGET_AVX2 CK_INLINE __m256 scaled(__m256i sums, const ck_int8_dot *x, size_t index, __m256 lanes) {
    const float scale = x->scales ? x->scales[index] : _cvtsh_ss(x->scale_halves[index]);
    return _mm256_fmadd_ps(_mm256_cvtepi32_ps(sums), _mm256_set1_ps(scale), lanes);
}

CK_TARGET_AVX2 CK_INLINE __m256i add_16_bytes(__m256i sums, const int16_t *steps, const uint8_t *codes, __m128i flipped,
                                              __m128i middle) {
    const __m128i own = _mm_sub_epi8(_mm_xor_si128(_mm_loadu_si128((const __m128i *)codes), flipped), middle);
    return _mm256_add_epi32(
        sums, _mm256_madd_epi16(_mm256_cvtepi8_epi16(own), _mm256_loadu_si256((const __m256i *)steps)));
}

CK_TARGET_AVX2 CK_INLINE __m256i sums_of_bytes(const int16_t *steps, const uint8_t *codes, size_t count, uint8_t flipped,
                                               uint8_t middle) {
    const __m128i flip = _mm_set1_epi8((char)flipped), less = _mm_set1_epi8((char)middle);
    __m256i first = _mm256_setzero_si256(), second = first;
    size_t i = 0;
    for (; i + 32 <= count; i += 32) {
        prefetch_codes(codes + i);
        first = add_16_bytes(first, steps + i, codes + i, flip, less);
        second = add_16_bytes(second, steps + i + 16, codes + i + 16, flip, less);
    }
    if (i + 16 <= count) first = add_16_bytes(first, steps + i, codes + i, flip, less), i += 16;
    first = _mm256_add_epi32(first, second);
    if (i == count) return first;
    int32_t rest[8] = {0};
    add_bytes_plain(steps + i, codes + i, count - i, flipped, middle, rest);
    return _mm256_add_epi32(first, _mm256_loadu_si256((const __m256i *)rest));
}

CK_TARGET_AVX2 static void bytes_avx2(const ck_int8_dot *x, const uint8_t *codes, size_t stride, size_t rows, uint8_t flipped,
                                      uint8_t middle, float *target) {
    for (size_t row = 0; row < rows; row++) {
        const uint8_t *own = codes + row * stride;
        __m256 sum = _mm256_setzero_ps(), other = sum;
        for (size_t block = 0; block < x->blocks; block++) {
            const size_t from = block * x->block, count = columns_of(x, block);
            // A block of constant size needs no rest.
            const __m256 next =
                scaled(count == 32 ? sums_of_bytes(x->steps + from, own + from, 32, flipped, middle)
                                   : sums_of_bytes(x->steps + from, own + from, count, flipped, middle),
                       x, row * x->blocks + block, sum);
            sum = other, other = next;
        }
        const int is_odd = x->blocks % 2;
        float lanes[16];
        _mm256_storeu_ps(lanes, is_odd ? other : sum);
        _mm256_storeu_ps(lanes + 8, is_odd ? sum : other);
        target[row] = total(x, row, lanes);
    }
}

/// Steps less the lowest, and less the lowest step, are bytes without a sign, as this product wants one factor to be: the
/// difference of their two products has the products of the steps themselves.
CK_TARGET_AVX2 CK_INLINE __m256i add_32_nibbles(__m256i sums, const uint8_t *steps, const uint8_t *codes, __m256i lowest,
                                                __m256i flipped) {
    const __m256i both = _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)codes));
    // Low nibbles in the lower half, high ones in the upper.
    const __m256i nibbles = _mm256_and_si256(_mm256_srlv_epi32(both, _mm256_setr_epi32(0, 0, 0, 0, 4, 4, 4, 4)),
                                             _mm256_set1_epi8(15));
    const __m256i own = _mm256_sub_epi8(_mm256_xor_si256(nibbles, flipped), _mm256_set1_epi8(8));
    const __m256i products = _mm256_sub_epi16(_mm256_maddubs_epi16(_mm256_loadu_si256((const __m256i *)steps), own),
                                              _mm256_maddubs_epi16(lowest, own));
    return _mm256_add_epi32(sums, _mm256_madd_epi16(products, _mm256_set1_epi16(1)));
}

CK_TARGET_AVX2 CK_INLINE __m256i sums_of_nibbles(const uint8_t *steps, const uint8_t *codes, size_t count, __m256i lowest,
                                                 __m256i flipped) {
    __m256i first = _mm256_setzero_si256(), second = first;
    size_t i = 0;
    for (; i + 64 <= count; i += 64) {
        prefetch_codes(codes + i / 2);
        first = add_32_nibbles(first, steps + i, codes + i / 2, lowest, flipped);
        second = add_32_nibbles(second, steps + i + 32, codes + i / 2 + 16, lowest, flipped);
    }
    if (i + 32 <= count) first = add_32_nibbles(first, steps + i, codes + i / 2, lowest, flipped), i += 32;
    if (i < count) {
        // The end of the row: the steps that follow are 0.
        uint8_t rest[16] = {0};
        ck_copy(rest, codes + i / 2, (count - i + 1) / 2);
        first = add_32_nibbles(first, steps + i, rest, lowest, flipped);
    }
    return _mm256_add_epi32(first, second);
}

/// - Parameter block: the columns of a block if they are constant, else 0.
CK_TARGET_AVX2 CK_INLINE void nibble_rows(const ck_int8_dot *x, const uint8_t *codes, size_t stride, size_t rows,
                                          __m256i flipped, float *target, const size_t block) {
    const __m256i lowest = _mm256_set1_epi8((char)-x->rounding.lowest);
    const size_t size = block ? block : x->block, whole = x->count / size;
#define BLOCK(index, columns, sum)                                                                              \
    scaled(sums_of_nibbles(x->step_codes + (index) * size, own + (index) * size / 2, columns, lowest, flipped), \
           x, first + (index), sum)
    for (size_t row = 0; row < rows; row++) {
        const uint8_t *own = codes + row * stride;
        const size_t first = row * x->blocks;
        __m256 even = _mm256_setzero_ps(), odd = even;
        size_t index = 0;
        for (; index + 2 <= whole; index += 2) {
            if (block == 32) prefetch_codes(own + index * size / 2);
            even = BLOCK(index, size, even);
            odd = BLOCK(index + 1, size, odd);
        }
        if (index < whole) even = BLOCK(index, size, even), index++;
        if (index < x->blocks) {
            const size_t rest = x->count - index * size;
            if (index % 2) odd = BLOCK(index, rest, odd);
            else even = BLOCK(index, rest, even);
        }
        float lanes[16];
        _mm256_storeu_ps(lanes, even);
        _mm256_storeu_ps(lanes + 8, odd);
        target[row] = total(x, row, lanes);
    }
#undef BLOCK
}

CK_TARGET_AVX2 static void nibbles_avx2(const ck_int8_dot *x, const uint8_t *codes, size_t stride, size_t rows,
                                        uint8_t flipped, float *target) {
    const __m256i flip = _mm256_set1_epi8((char)flipped);
    switch (x->block) {
    case 32: return nibble_rows(x, codes, stride, rows, flip, target, 32);
    case 64: return nibble_rows(x, codes, stride, rows, flip, target, 64);
    default: return nibble_rows(x, codes, stride, rows, flip, target, 0);
    }
}

/// The entries of 64 codes of four bits: for each of two pieces of 32, the low ones of 16 bytes and then the high ones.
CK_TARGET_VNNI CK_INLINE __m512i entries_of_64(__m256i codes, __m512i entries) {
    // Each 16 bytes twice, the second time shifted by four bits.
    const __m512i twice = _mm512_permutexvar_epi64(_mm512_setr_epi64(0, 1, 0, 1, 2, 3, 2, 3), _mm512_castsi256_si512(codes));
    const __m512i shifted = _mm512_srlv_epi64(twice, _mm512_setr_epi64(0, 0, 4, 4, 0, 0, 4, 4));
    return _mm512_shuffle_epi8(entries, _mm512_and_si512(shifted, _mm512_set1_epi8(15)));
}

/// The sums of 64 products of steps, which are codes and the lowest step.
CK_TARGET_VNNI CK_INLINE __m512i sums_of_64(const uint8_t *steps, __m256i codes, __m512i entries, __m512i lowest) {
    const __m512i own = entries_of_64(codes, entries), none = _mm512_setzero_si512();
    return _mm512_sub_epi32(_mm512_dpbusd_epi32(none, _mm512_loadu_si512(steps), own), _mm512_dpbusd_epi32(none, lowest, own));
}

/// The next scales, sixteen or fewer, and zeros.
CK_TARGET_VNNI CK_INLINE __m512 scales_of_16(const ck_int8_dot *x, size_t first, size_t count) {
    const __mmask16 mask = count < 16 ? (__mmask16)((1u << count) - 1) : (__mmask16)~0u;
    if (x->scales) return _mm512_maskz_loadu_ps(mask, x->scales + first);
    return _mm512_cvtph_ps(_mm256_maskz_loadu_epi16(mask, x->scale_halves + first));
}

/// Blocks of 32 columns: those of even index in the low lanes and of odd index in the high ones.
CK_TARGET_VNNI static void nibbles_vnni(const ck_int8_dot *x, const uint8_t *codes, size_t stride, size_t rows,
                                        uint8_t flipped, float *target) {
    const __m512i lowest = _mm512_set1_epi8((char)-x->rounding.lowest);
    const __m128i steps = _mm_setr_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    const __m512i entries = _mm512_broadcast_i32x4(
        _mm_sub_epi8(_mm_xor_si128(steps, _mm_set1_epi8((char)flipped)), _mm_set1_epi8(8)));
    const __m512i first_pair = _mm512_setr_epi32(0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1);
    for (size_t row = 0; row < rows; row++) {
        const uint8_t *own = codes + row * stride;
        __m512 sum = _mm512_setzero_ps();
        size_t block = 0;
        // Sixteen blocks at a time, whose scales are in one vector.
        for (; 32 * (block + 16) <= x->count; block += 16) {
            const __m512 scales = scales_of_16(x, row * x->blocks + block, 16);
            UNROLLED for (size_t pair = 0; pair < 8; pair++) {
                const uint8_t *const from = own + 16 * block + 32 * pair;
                if (pair % 2 == 0) prefetch_codes(from);
                const __m512i sums =
                    sums_of_64(x->step_codes + 32 * block + 64 * pair, _mm256_loadu_si256((const __m256i *)from), entries, lowest);
                const __m512i lanes = _mm512_add_epi32(first_pair, _mm512_set1_epi32((int)(2 * pair)));
                sum = _mm512_fmadd_ps(_mm512_cvtepi32_ps(sums), _mm512_permutexvar_ps(lanes, scales), sum);
            }
        }
        const __m512 scales = scales_of_16(x, row * x->blocks + block, x->blocks - block);
        for (__m512i lanes = first_pair; block < x->blocks; block += 2) {
            // Codes past the end of the row are not read. The steps there are 0, but for a second block that is not there: its
            // lanes have the scale 0.
            const size_t left = (x->count - 32 * block + 1) / 2;
            const __mmask32 mask = left < 32 ? (1u << left) - 1 : ~0u;
            const uint8_t *const step_codes = x->step_codes + 32 * block;
            const __m512i sums =
                sums_of_64(step_codes, _mm256_maskz_loadu_epi8(mask, own + 16 * block), entries, lowest);
            sum = _mm512_fmadd_ps(_mm512_cvtepi32_ps(sums), _mm512_permutexvar_ps(lanes, scales), sum);
            lanes = _mm512_add_epi32(lanes, _mm512_set1_epi32(2));
        }
        float lanes[16];
        _mm512_storeu_ps(lanes, sum);
        target[row] = total(x, row, lanes);
    }
}

#endif

void ck_dot_int8_bytes(const ck_int8_dot *x, const uint8_t *codes, size_t stride, size_t rows, uint8_t flipped,
                       uint8_t middle, float *target) {
#if CK_X86
    if (ck_current_isa() >= CK_AVX2) return bytes_avx2(x, codes, stride, rows, flipped, middle, target);
#endif
    bytes_plain(x, codes, stride, rows, flipped, middle, target);
}

void ck_dot_int8_nibbles(const ck_int8_dot *x, const uint8_t *codes, size_t stride, size_t rows, int is_biased, float *target) {
    const uint8_t flipped = is_biased ? 0 : 8;
#if CK_X86
    if (ck_has_vnni() && x->block == 32) return nibbles_vnni(x, codes, stride, rows, flipped, target);
    if (ck_current_isa() >= CK_AVX2) return nibbles_avx2(x, codes, stride, rows, flipped, target);
#endif
    nibbles_plain(x, codes, stride, rows, flipped, target);
}
