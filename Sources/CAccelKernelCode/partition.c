// Optimal partitions of sorted weighted points into runs, with a penalty for each run: the inner loop of exact k-means.
//
// The same float64 operations in the same order on every instruction set (contraction is off, ties go to the lowest
// index), so results are bit-equal.
#include "internal.h"

#pragma clang fp contract(off)

typedef double f8 __attribute__((ext_vector_type(8)));
typedef double f8u __attribute__((ext_vector_type(8), aligned(8)));
typedef int64_t i8 __attribute__((ext_vector_type(8)));

// Macros, because a function that returns such a vector has another calling convention on each instruction set.
#define load(p) (*(const f8u *)(p))
#define select_i(mask, a, b) (((mask) & (a)) | (~(mask) & (b)))
#define select_f(mask, a, b) ((f8)select_i(mask, (i8)(a), (i8)(b)))

typedef struct {
    const double *w, *s1, *s2;  // sums of weight, weight * x, weight * x^2 over the points before a position
    double *f, *g;              // cost of the best partition of the points before a position; the same less s2
    int32_t *previous;          // start of its last run
    const double *reciprocal;   // reciprocal[d] = 1 / (w[i + d] - w[i]) if that is the same for all i; else NULL
    double penalty;
    size_t count;               // number of points
} state;

/// Returns g[j] less the energy that one run from j to i explains. Adding s2[i] gives the cost of ending a run at i.
CK_INLINE double candidate(const state *t, int even, size_t i, size_t j) {
    double d = t->s1[i] - t->s1[j];
    return t->g[j] - (even ? d * d * t->reciprocal[i - j] : d * d / (t->w[i] - t->w[j]));
}

/// Returns the best j of low...high for one i; the lowest of equal ones.
CK_INLINE size_t best_previous(const state *t, int even, size_t i, size_t low, size_t high, double *value) {
    const i8 lanes = {0, 1, 2, 3, 4, 5, 6, 7};
    size_t j = low;
    double best = 0;
    size_t at = low;
    int found = 0;
    if (high - low >= 15) {
#define explained(d, j) (even ? d * d * load(t->reciprocal + (i - j) - 7).s76543210 : d * d / (weight - load(t->w + j)))
        f8 sum = t->s1[i], weight = t->w[i], least;
        i8 index = lanes + (int64_t)low, where = index;
        {
            f8 d = sum - load(t->s1 + j);
            least = load(t->g + j) - explained(d, j);
        }
        for (j += 8, index += 8; j + 7 <= high; j += 8, index += 8) {
            f8 d = sum - load(t->s1 + j);
            f8 v = load(t->g + j) - explained(d, j);
            i8 less = v < least;
            least = select_f(less, v, least);
            where = select_i(less, index, where);
        }
#undef explained
        best = least[0], at = (size_t)where[0], found = 1;
        for (int lane = 1; lane < 8; lane++)
            if (least[lane] < best || (least[lane] == best && (size_t)where[lane] < at))
                best = least[lane], at = (size_t)where[lane];
    }
    for (; j <= high; j++) {
        double v = candidate(t, even, i, j);
        if (!found || v < best) best = v, at = j, found = 1;
    }
    *value = best;
    return at;
}

/// Finds the best j of low...high for up to eight neighbouring i at once. i + 7 has to be a position too.
CK_INLINE void best_previous_eight(const state *t, int even, size_t i, size_t count, size_t low, size_t high) {
#define explained(d, j) (even ? d * d * load(t->reciprocal + (i - j)) : d * d / (weight - t->w[j]))
    f8 sum = load(t->s1 + i), weight = load(t->w + i), least;
    i8 where = (int64_t)low;
    {
        f8 d = sum - t->s1[low];
        least = t->g[low] - explained(d, low);
    }
    for (size_t j = low + 1; j <= high; j++) {
        f8 d = sum - t->s1[j];
        f8 v = t->g[j] - explained(d, j);
        i8 less = v < least;
        least = select_f(less, v, least);
        where = select_i(less, (i8)(int64_t)j, where);
    }
#undef explained
    f8 cost = least + load(t->s2 + i) + t->penalty;
    for (size_t lane = 0; lane < count; lane++)
        t->f[i + lane] = cost[lane], t->previous[i + lane] = (int32_t)where[lane];
}

/// Fills all i of first...last by divide and conquer: their best j are in low...high, and ascend with i.
CK_INLINE void fill(const state *t, int even, size_t first, size_t last, size_t low, size_t high) {
    struct { size_t first, last, low, high; } stack[64];
    int depth = 0;
    for (;;) {
        while (first <= last) {
            if (last - first <= 7 && first + 7 <= t->count) {
                best_previous_eight(t, even, first, last - first + 1, low, high);
                break;
            }
            size_t middle = first + (last - first) / 2;
            double value;
            size_t at = best_previous(t, even, middle, low, high, &value);
            t->f[middle] = value + t->s2[middle] + t->penalty;
            t->previous[middle] = (int32_t)at;
            if (middle < last) stack[depth].first = middle + 1, stack[depth].last = last, stack[depth].low = at, stack[depth].high = high, depth++;
            if (middle == first) break;
            last = middle - 1, high = at;
        }
        if (!depth) return;
        depth--;
        first = stack[depth].first, last = stack[depth].last, low = stack[depth].low, high = stack[depth].high;
    }
}

CK_INLINE void pass(const state *t, int even, size_t n) {
    t->f[0] = 0, t->g[0] = -t->s2[0], t->previous[0] = 0;
    size_t start = 0, block = 64;
    while (start < n) {
        size_t low = (size_t)t->previous[start];
        // The cost never falls from one position to the next. So if ending the block costs no more than one additional
        // run after `start`, no run that starts inside the block can end in it at a lower cost, and `low`...`start` are
        // all the candidates. A block of one position is always valid.
        for (;;) {
            size_t end = n - start > block ? start + block : n;
            double value;
            size_t at = best_previous(t, even, end, low, start, &value);
            double cost = value + t->s2[end] + t->penalty;
            if (end > start + 1 && cost > t->f[start] + t->penalty) {
                block = (end - start) / 2;
                continue;
            }
            t->f[end] = cost;
            t->previous[end] = (int32_t)at;
            if (end > start + 1) fill(t, even, start + 1, end - 1, low, at);
            for (size_t i = start + 1; i <= end; i++) t->g[i] = t->f[i] - t->s2[i];
            start = end;
            break;
        }
        // A third of a run is short enough to pass this test, and long enough to share the scan over `low`...`start`.
        size_t run = (start - (size_t)t->previous[start]) / 3;
        block = run < 16 ? 16 : run;
    }
}

#define BOTH_PASSES(t, n)                 \
    if ((t)->reciprocal) pass(t, 1, n); \
    else pass(t, 0, n)

static void pass_scalar(const state *t, size_t n) { BOTH_PASSES(t, n); }
#if CK_X86
CK_TARGET_AVX2 static void pass_avx2(const state *t, size_t n) { BOTH_PASSES(t, n); }
CK_TARGET_AVX512 static void pass_avx512(const state *t, size_t n) { BOTH_PASSES(t, n); }
#endif

void ck_partition(const double *w, const double *s1, const double *s2, const double *reciprocal, size_t n,
                  double penalty, double *f, double *g, int32_t *previous) {
    state t = {w, s1, s2, f, g, previous, reciprocal, penalty, n};
    switch (ck_current_isa()) {
#if CK_X86
    case CK_AVX512: pass_avx512(&t, n); return;
    case CK_AVX2: pass_avx2(&t, n); return;
#endif
    default: pass_scalar(&t, n); return;
    }
}
