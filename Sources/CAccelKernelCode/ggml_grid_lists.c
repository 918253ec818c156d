// The lists of ggml_grid_lists.h: the entries at the smallest distances from each combination of codes, as many distances as ggml takes.
#include "ggml_grid_lists.h"

#include "ggml.h"
#include "ggml_grids.h"

#define IQ2_PLACES 6561
#define IQ3_PLACES 4096
#define MOST_ENTRIES 1024
#define MOST_HALVES 81

/// A grid and its lists.
typedef struct {
    const uint16_t *grid;
    /// Entries, codes of an entry, numbers of a code, bits of a code, and the distances of a list.
    int count, size, base, bits, distances;
    uint32_t *lists;
    uint16_t *entries, *numbers;
    /// The magnitudes of codes, and of all entries.
    uint8_t magnitudes[8], *values;
    grid_lists result;
    /// 0 before the first call, 1 while the lists are made, 2 afterwards.
    int state;
} grid_source;

// `all` is the number of all lists' entries; the last arguments are the magnitudes of codes.
#define GRID(name, NAME, count, size, base, bits, distances, places, all, ...)                                                          \
    static const uint16_t name##_grid[count] = {NAME##_ENTRIES(ENTRY)};                                                                 \
    static uint32_t name##_list[places];                                                                                                \
    static uint16_t name##_entries[all], name##_numbers[places];                                                                        \
    static uint8_t name##_values[count * size];                                                                                         \
    static grid_source name##_source = {name##_grid, count, size, base, bits, distances, name##_list, name##_entries, name##_numbers,   \
                                        {__VA_ARGS__}, name##_values,                                                                   \
                                        {name##_list, name##_entries, name##_numbers, count, name##_values}, 0};
#define ENTRY(entry) entry,
#define IQ2_VALUES IQ2_VALUE(0), IQ2_VALUE(1), IQ2_VALUE(2)
#define EIGHT_VALUES(value) value(0), value(1), value(2), value(3), value(4), value(5), value(6), value(7)

GRID(iq2_xxs, IQ2_XXS, 256, 8, 3, 2, 2, IQ2_PLACES, 113413, IQ2_VALUES)
GRID(iq2_xs, IQ2_XS, 512, 8, 3, 2, 2, IQ2_PLACES, 182233, IQ2_VALUES)
GRID(iq2_s, IQ2_S, 1024, 8, 3, 2, 1, IQ2_PLACES, 45740, IQ2_VALUES)
GRID(iq3_xxs, IQ3_XXS, 256, 4, 8, 3, 2, IQ3_PLACES, 19241, EIGHT_VALUES(IQ3_XXS_VALUE))
GRID(iq3_s, IQ3_S, 512, 4, 8, 3, 3, IQ3_PLACES, 25245, EIGHT_VALUES(IQ3_S_VALUE))

/// The number whose digits are `count` codes of an entry, from code `first` on.
static int place_of(const grid_source *s, int entry, int first, int count) {
    int place = 0;
    for (int i = first + count - 1; i >= first; i--) place = place * s->base + (entry >> s->bits * i & ((1 << s->bits) - 1));
    return place;
}

/// The squared distance of two halves.
static uint8_t distance_of(const grid_source *s, int half, int other) {
    int sum = 0;
    for (int i = 0; i < s->size / 2; i++, half /= s->base, other /= s->base) {
        const int difference = half % s->base - other % s->base;
        sum += difference * difference;
    }
    return (uint8_t)sum;
}

static void make_lists(grid_source *s) {
    // Distances are those of the halves.
    uint8_t between[MOST_HALVES][MOST_HALVES];
    uint8_t low[MOST_ENTRIES], high[MOST_ENTRIES], distance[MOST_ENTRIES];
    int halves = 1, used = 0;
    for (int i = 0; i < s->size / 2; i++) halves *= s->base;
    for (int i = 0; i < halves; i++)
        for (int j = 0; j < halves; j++) between[i][j] = distance_of(s, i, j);
    for (int j = 0; j < s->count; j++) {
        low[j] = (uint8_t)place_of(s, s->grid[j], 0, s->size / 2), high[j] = (uint8_t)place_of(s, s->grid[j], s->size / 2, s->size / 2);
        s->numbers[high[j] * halves + low[j]] = (uint16_t)j;
        for (int i = 0; i < s->size; i++) s->values[i * s->count + j] = s->magnitudes[place_of(s, s->grid[j], i, 1)];
    }
    for (int place = 0; place < halves * halves; place++) {
        const uint8_t *from_low = between[place % halves], *from_high = between[place / halves];
        uint8_t is_found[256] = {0};
        for (int j = 0; j < s->count; j++) distance[j] = (uint8_t)(from_low[low[j]] + from_high[high[j]]), is_found[distance[j]] = 1;
        const int first = used, is_entry = is_found[0];
        for (int d = 0, left = is_entry ? 1 : s->distances; d < 256 && left; d++) {
            if (!is_found[d]) continue;
            left--;
            for (int j = 0; j < s->count; j++)
                if (distance[j] == d) s->entries[used++] = s->grid[j];
        }
        s->lists[place] = (uint32_t)first << 10 | (uint32_t)(used - first) << 1 | (uint32_t)is_entry;
    }
}

static void pause_briefly(void) {
#if CK_X86
    __builtin_ia32_pause();
#elif CK_ARM
    __asm__ volatile("yield");
#endif
}

static const grid_lists *made(grid_source *s) {
    int none = 0;
    if (__atomic_load_n(&s->state, __ATOMIC_ACQUIRE) == 2) return &s->result;
    if (__atomic_compare_exchange_n(&s->state, &none, 1, 0, __ATOMIC_ACQUIRE, __ATOMIC_ACQUIRE)) {
        make_lists(s);
        __atomic_store_n(&s->state, 2, __ATOMIC_RELEASE);
    }
    while (__atomic_load_n(&s->state, __ATOMIC_ACQUIRE) != 2) pause_briefly();
    return &s->result;
}

const grid_lists *ck_grid_lists(ck_ggml_type type) {
    switch (type) {
    case CK_GGML_IQ2_XXS: return made(&iq2_xxs_source);
    case CK_GGML_IQ2_XS: return made(&iq2_xs_source);
    case CK_GGML_IQ2_S: return made(&iq2_s_source);
    case CK_GGML_IQ3_XXS: return made(&iq3_xxs_source);
    default: return made(&iq3_s_source);
    }
}
