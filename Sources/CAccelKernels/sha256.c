// SHA-256 compression (FIPS 180-4, section 6.2.2).
#include "internal.h"

static const uint32_t round_constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

CK_INLINE uint32_t rotate(uint32_t x, int bits) { return x >> bits | x << (32 - bits); }

static void blocks_scalar(uint32_t state[8], const uint8_t *bytes, size_t blocks) {
    for (; blocks; blocks--, bytes += 64) {
        uint32_t w[64];
        for (int i = 0; i < 16; i++)
            w[i] = (uint32_t)bytes[4 * i] << 24 | (uint32_t)bytes[4 * i + 1] << 16 | (uint32_t)bytes[4 * i + 2] << 8 |
                   bytes[4 * i + 3];
        for (int i = 16; i < 64; i++) {
            uint32_t s0 = rotate(w[i - 15], 7) ^ rotate(w[i - 15], 18) ^ w[i - 15] >> 3;
            uint32_t s1 = rotate(w[i - 2], 17) ^ rotate(w[i - 2], 19) ^ w[i - 2] >> 10;
            w[i] = w[i - 16] + s0 + w[i - 7] + s1;
        }
        uint32_t a = state[0], b = state[1], c = state[2], d = state[3];
        uint32_t e = state[4], f = state[5], g = state[6], h = state[7];
        for (int i = 0; i < 64; i++) {
            uint32_t s1 = rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25);
            uint32_t t1 = h + s1 + ((e & f) ^ (~e & g)) + round_constants[i] + w[i];
            uint32_t s0 = rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22);
            uint32_t t2 = s0 + ((a & b) ^ (a & c) ^ (b & c));
            h = g, g = f, f = e, e = d + t1, d = c, c = b, b = a, a = t1 + t2;
        }
        state[0] += a, state[1] += b, state[2] += c, state[3] += d;
        state[4] += e, state[5] += f, state[6] += g, state[7] += h;
    }
}

#if CK_X86

#define SHA_TARGET __attribute__((target("sha,sse4.1,ssse3")))

// The instructions keep the state as (A B E F) and (C D G H).
typedef struct { __m128i abef, cdgh; } sha_state;

SHA_TARGET CK_INLINE sha_state load_state(const uint32_t state[8]) {
    __m128i abcd = _mm_shuffle_epi32(_mm_loadu_si128((const __m128i *)state), 0xB1);
    __m128i efgh = _mm_shuffle_epi32(_mm_loadu_si128((const __m128i *)(state + 4)), 0x1B);
    return (sha_state){_mm_alignr_epi8(abcd, efgh, 8), _mm_blend_epi16(efgh, abcd, 0xF0)};
}

SHA_TARGET CK_INLINE void store_state(sha_state s, uint32_t state[8]) {
    __m128i feba = _mm_shuffle_epi32(s.abef, 0x1B);
    __m128i dchg = _mm_shuffle_epi32(s.cdgh, 0xB1);
    _mm_storeu_si128((__m128i *)state, _mm_blend_epi16(feba, dchg, 0xF0));
    _mm_storeu_si128((__m128i *)(state + 4), _mm_alignr_epi8(dchg, feba, 8));
}

/// Computes rounds 4i to 4i + 3.
SHA_TARGET CK_INLINE void four_rounds(sha_state *s, __m128i w[4], const uint8_t *bytes, int i) {
    const __m128i swap = _mm_set_epi64x(0x0c0d0e0f08090a0bll, 0x0405060700010203ll);
    __m128i message;
    if (i < 4) {
        message = _mm_shuffle_epi8(_mm_loadu_si128((const __m128i *)(bytes + 16 * i)), swap);
    } else {
        __m128i newest = w[(i + 3) & 3];
        __m128i sum = _mm_sha256msg1_epu32(w[i & 3], w[(i + 1) & 3]);
        sum = _mm_add_epi32(sum, _mm_alignr_epi8(newest, w[(i + 2) & 3], 4));
        message = _mm_sha256msg2_epu32(sum, newest);
    }
    w[i & 3] = message;
    __m128i sum = _mm_add_epi32(message, _mm_loadu_si128((const __m128i *)(round_constants + 4 * i)));
    s->cdgh = _mm_sha256rnds2_epu32(s->cdgh, s->abef, sum);
    s->abef = _mm_sha256rnds2_epu32(s->abef, s->cdgh, _mm_shuffle_epi32(sum, 0x0E));
}

SHA_TARGET CK_INLINE void add_state(sha_state *s, sha_state before) {
    s->abef = _mm_add_epi32(s->abef, before.abef);
    s->cdgh = _mm_add_epi32(s->cdgh, before.cdgh);
}

SHA_TARGET static void blocks_sha(uint32_t state[8], const uint8_t *bytes, size_t blocks) {
    sha_state s = load_state(state);
    for (; blocks; blocks--, bytes += 64) {
        __m128i w[4];
        sha_state before = s;
        prefetch_ahead(bytes);
#pragma clang loop unroll(full)
        for (int i = 0; i < 16; i++) four_rounds(&s, w, bytes, i);
        add_state(&s, before);
    }
    store_state(s, state);
}

// A round waits for the one before it, so two interleaved hashes take little more time than one.
SHA_TARGET static void blocks_sha_two(uint32_t first[8], const uint8_t *bytes, uint32_t second[8],
                                      const uint8_t *other_bytes, size_t blocks) {
    sha_state s = load_state(first), t = load_state(second);
    for (; blocks; blocks--, bytes += 64, other_bytes += 64) {
        __m128i w[4], v[4];
        sha_state before = s, other_before = t;
        prefetch_ahead(bytes), prefetch_ahead(other_bytes);
#pragma clang loop unroll(full)
        for (int i = 0; i < 16; i++) {
            four_rounds(&s, w, bytes, i);
            four_rounds(&t, v, other_bytes, i);
        }
        add_state(&s, before);
        add_state(&t, other_before);
    }
    store_state(s, first);
    store_state(t, second);
}

#elif CK_ARM

__attribute__((target("sha2"))) static void blocks_sha(uint32_t state[8], const uint8_t *bytes, size_t blocks) {
    uint32x4_t abcd = vld1q_u32(state), efgh = vld1q_u32(state + 4);
    for (; blocks; blocks--, bytes += 64) {
        uint32x4_t w[4], abcd_before = abcd, efgh_before = efgh;
#pragma clang loop unroll(full)
        for (int i = 0; i < 16; i++) {
            uint32x4_t message;
            if (i < 4) {
                message = vreinterpretq_u32_u8(vrev32q_u8(vld1q_u8(bytes + 16 * i)));
            } else {
                uint32x4_t sum = vsha256su0q_u32(w[i & 3], w[(i + 1) & 3]);
                message = vsha256su1q_u32(sum, w[(i + 2) & 3], w[(i + 3) & 3]);
            }
            w[i & 3] = message;
            uint32x4_t sum = vaddq_u32(message, vld1q_u32(round_constants + 4 * i));
            uint32x4_t abcd_now = abcd;
            abcd = vsha256hq_u32(abcd, efgh, sum);
            efgh = vsha256h2q_u32(efgh, abcd_now, sum);
        }
        abcd = vaddq_u32(abcd, abcd_before);
        efgh = vaddq_u32(efgh, efgh_before);
    }
    vst1q_u32(state, abcd);
    vst1q_u32(state + 4, efgh);
}

static void blocks_sha_two(uint32_t first[8], const uint8_t *bytes, uint32_t second[8], const uint8_t *other_bytes,
                           size_t blocks) {
    blocks_sha(first, bytes, blocks);
    blocks_sha(second, other_bytes, blocks);
}

#endif

void ck_sha256_blocks(uint32_t state[8], const uint8_t *bytes, size_t blocks) {
#if CK_X86 || CK_ARM
    if (ck_has_sha256()) {
        blocks_sha(state, bytes, blocks);
        return;
    }
#endif
    blocks_scalar(state, bytes, blocks);
}

#if CK_X86

#define XOR3(a, b, c) _mm512_ternarylogic_epi32(a, b, c, 0x96)

/// Transposes words and lanes: word[i] of lane l receives the former word[l] of lane i.
CK_TARGET_AVX512 CK_INLINE void transpose_16x16(__m512i word[16]) {
    __m512i pair[16], quad[16];
#pragma clang loop unroll(full)
    for (int i = 0; i < 16; i += 2) {
        pair[i] = _mm512_unpacklo_epi32(word[i], word[i + 1]);
        pair[i + 1] = _mm512_unpackhi_epi32(word[i], word[i + 1]);
    }
#pragma clang loop unroll(full)
    for (int i = 0; i < 16; i += 4)
        for (int k = 0; k < 2; k++) {
            quad[i + 2 * k] = _mm512_unpacklo_epi64(pair[i + k], pair[i + k + 2]);
            quad[i + 2 * k + 1] = _mm512_unpackhi_epi64(pair[i + k], pair[i + k + 2]);
        }
    // The 16-byte part p of quad[4g + c] holds column 4p + c of rows 4g to 4g + 3.
#pragma clang loop unroll(full)
    for (int c = 0; c < 4; c++) {
        __m512i a = _mm512_shuffle_i32x4(quad[c], quad[4 + c], 0x88), b = _mm512_shuffle_i32x4(quad[c], quad[4 + c], 0xDD);
        __m512i d = _mm512_shuffle_i32x4(quad[8 + c], quad[12 + c], 0x88);
        __m512i e = _mm512_shuffle_i32x4(quad[8 + c], quad[12 + c], 0xDD);
        word[c] = _mm512_shuffle_i32x4(a, d, 0x88), word[8 + c] = _mm512_shuffle_i32x4(a, d, 0xDD);
        word[4 + c] = _mm512_shuffle_i32x4(b, e, 0x88), word[12 + c] = _mm512_shuffle_i32x4(b, e, 0xDD);
    }
}

/// Computes sixteen hashes, one in each lane: nearly twice as fast as two at a time with SHA instructions.
CK_TARGET_AVX512 static void blocks_sixteen(uint32_t states[16][8], const uint8_t *const bytes[16], size_t blocks) {
    uint32_t lanes[8][16];
    for (int i = 0; i < 8; i++)
        for (int lane = 0; lane < 16; lane++) lanes[i][lane] = states[lane][i];
    __m512i a = _mm512_loadu_si512(lanes[0]), b = _mm512_loadu_si512(lanes[1]), c = _mm512_loadu_si512(lanes[2]);
    __m512i d = _mm512_loadu_si512(lanes[3]), e = _mm512_loadu_si512(lanes[4]), f = _mm512_loadu_si512(lanes[5]);
    __m512i g = _mm512_loadu_si512(lanes[6]), h = _mm512_loadu_si512(lanes[7]);
    const __m512i swap = _mm512_broadcast_i32x4(_mm_set_epi64x(0x0c0d0e0f08090a0bll, 0x0405060700010203ll));
    for (size_t offset = 0; offset < 64 * blocks; offset += 64) {
        __m512i w[16];
#pragma clang loop unroll(full)
        for (int lane = 0; lane < 16; lane++) {
            w[lane] = _mm512_shuffle_epi8(_mm512_loadu_si512(bytes[lane] + offset), swap);
            __builtin_prefetch(bytes[lane] + offset + 1024);
        }
        transpose_16x16(w);
        const __m512i before[8] = {a, b, c, d, e, f, g, h};
#pragma clang loop unroll(full)
        for (int i = 0; i < 64; i++) {
            if (i >= 16) {
                __m512i x = w[(i + 1) & 15], y = w[(i + 14) & 15];
                __m512i s0 = XOR3(_mm512_ror_epi32(x, 7), _mm512_ror_epi32(x, 18), _mm512_srli_epi32(x, 3));
                __m512i s1 = XOR3(_mm512_ror_epi32(y, 17), _mm512_ror_epi32(y, 19), _mm512_srli_epi32(y, 10));
                w[i & 15] = _mm512_add_epi32(_mm512_add_epi32(w[i & 15], s0), _mm512_add_epi32(w[(i + 9) & 15], s1));
            }
            __m512i s1 = XOR3(_mm512_ror_epi32(e, 6), _mm512_ror_epi32(e, 11), _mm512_ror_epi32(e, 25));
            __m512i chosen = _mm512_ternarylogic_epi32(e, f, g, 0xCA);
            __m512i constant = _mm512_set1_epi32((int)round_constants[i]);
            __m512i t1 = _mm512_add_epi32(_mm512_add_epi32(h, _mm512_add_epi32(w[i & 15], constant)), _mm512_add_epi32(s1, chosen));
            __m512i s0 = XOR3(_mm512_ror_epi32(a, 2), _mm512_ror_epi32(a, 13), _mm512_ror_epi32(a, 22));
            __m512i t2 = _mm512_add_epi32(s0, _mm512_ternarylogic_epi32(a, b, c, 0xE8));
            h = g, g = f, f = e, e = _mm512_add_epi32(d, t1), d = c, c = b, b = a, a = _mm512_add_epi32(t1, t2);
        }
        a = _mm512_add_epi32(a, before[0]), b = _mm512_add_epi32(b, before[1]), c = _mm512_add_epi32(c, before[2]);
        d = _mm512_add_epi32(d, before[3]), e = _mm512_add_epi32(e, before[4]), f = _mm512_add_epi32(f, before[5]);
        g = _mm512_add_epi32(g, before[6]), h = _mm512_add_epi32(h, before[7]);
    }
    const __m512i after[8] = {a, b, c, d, e, f, g, h};
    for (int i = 0; i < 8; i++) {
        _mm512_storeu_si512(lanes[i], after[i]);
        for (int lane = 0; lane < 16; lane++) states[lane][i] = lanes[i][lane];
    }
}

/// The number of hashes from which sixteen lanes are faster than pairs, although some lanes are unused.
enum { fewest_lanes = 10 };

static void blocks_up_to_sixteen(uint32_t *states, const uint8_t *const *bytes, size_t hashes, size_t blocks) {
    uint32_t lanes[16][8];
    const uint8_t *sources[16];
    for (size_t lane = 0; lane < 16; lane++) {
        ck_copy(lanes[lane], states + (lane < hashes ? 8 * lane : 0), sizeof lanes[lane]);
        sources[lane] = bytes[lane < hashes ? lane : 0];
    }
    blocks_sixteen(lanes, sources, blocks);
    ck_copy(states, lanes, hashes * sizeof lanes[0]);
}

#endif

void ck_sha256_blocks_many(uint32_t *states, const uint8_t *const *bytes, size_t hashes, size_t blocks) {
    size_t i = 0;
#if CK_X86
    while (ck_current_isa() == CK_AVX512 && hashes - i >= fewest_lanes) {
        size_t lanes = hashes - i < 16 ? hashes - i : 16;
        blocks_up_to_sixteen(states + 8 * i, bytes + i, lanes, blocks);
        i += lanes;
    }
#endif
#if CK_X86 || CK_ARM
    if (ck_has_sha256())
        for (; i + 2 <= hashes; i += 2) blocks_sha_two(states + 8 * i, bytes[i], states + 8 * (i + 1), bytes[i + 1], blocks);
#endif
    for (; i < hashes; i++) ck_sha256_blocks(states + 8 * i, bytes[i], blocks);
}
