// Products of many rows of codes with one row of x that is rounded to 8 bits: a decode step with int8 activations. The sums
// of a block are whole numbers in eight lanes, which meet the block's scale there. Blocks of even and of odd index have lanes
// of their own, so that no addition waits for the one before it; all sixteen are added at the end of a row.
#include "internal.h"

// Without contraction, a * b + c has two roundings on every instruction set, unless the code requests one.
#pragma clang fp contract(off)

CK_INLINE size_t columns_of(const ck_int8_dot *x, size_t block) {
    const size_t left = x->count - block * x->block;
    return left < x->block ? left : x->block;
}

/// The result of a row: its lanes, which are overwritten, and what the shifts of its blocks add.
CK_INLINE float total(const ck_int8_dot *x, size_t row, float lanes[16]) {
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

/// Adds a block's sums to its lanes.
CK_INLINE void add_block(const ck_int8_dot *x, size_t row, size_t block, const int32_t sums[8], float lanes[16]) {
    for (size_t lane = 0; lane < 8; lane++) {
        float *sum = lanes + block % 2 * 8 + lane;
        *sum = __builtin_fmaf((float)sums[lane], x->scales[row * x->blocks + block], *sum);
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

CK_TARGET_AVX2 CK_INLINE __m256 scaled(__m256i sums, float scale, __m256 lanes) {
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
        const float *scales = x->scales + row * x->blocks;
        __m256 sum = _mm256_setzero_ps(), other = sum;
        for (size_t block = 0; block < x->blocks; block++) {
            const size_t from = block * x->block, count = columns_of(x, block);
            // A block of constant size needs no rest.
            const __m256 next =
                scaled(count == 32 ? sums_of_bytes(x->steps + from, own + from, 32, flipped, middle)
                                   : sums_of_bytes(x->steps + from, own + from, count, flipped, middle),
                       scales[block], sum);
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
           scales[index], sum)
    for (size_t row = 0; row < rows; row++) {
        const uint8_t *own = codes + row * stride;
        const float *scales = x->scales + row * x->blocks;
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
    if (ck_current_isa() >= CK_AVX2) return nibbles_avx2(x, codes, stride, rows, flipped, target);
#endif
    nibbles_plain(x, codes, stride, rows, flipped, target);
}
