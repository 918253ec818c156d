// What the checks of kernels share: the level in use, memory that ends where nobody may read, and numbers chosen at random.
#ifndef KERNELS_CHECK_H
#define KERNELS_CHECK_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../../Sources/CAccelKernelCode/internal.h"
#include "../../Sources/CAccelKernelCode/panels.h"

/// The instruction set in use; check.c sets it.
extern ck_isa level;
/// Checks the products of bfloat16 with a shape: the fixed ones first, and then some that are chosen at random.
/// Returns whether all levels agree.
int bfloat16_agrees(size_t index, const ck_isa *levels, const char *const *names, size_t count);

// ---- memory --------------------------------------------------------------------------------------------------

/// Memory that ends where a page begins that nobody may read: what reads or writes past its end stops the program.
typedef struct {
    char *end;
    size_t size;
} guarded;

/// Returns the last `bytes` of the memory, which hold anything.
static inline void *last(guarded *memory, size_t bytes) {
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    if (bytes > memory->size) {
        if (memory->size) munmap(memory->end - memory->size, memory->size + page);
        memory->size = (2 * bytes + page - 1) / page * page;
        char *start = mmap(NULL, memory->size + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANON, -1, 0);
        memory->end = start + memory->size;
        if (start == MAP_FAILED || mprotect(memory->end, page, PROT_NONE) != 0) {
            perror("kernels: no memory");
            exit(2);
        }
        memset(start, 0xA5, memory->size);
    }
    return memory->end - bytes;
}

// ---- numbers -------------------------------------------------------------------------------------------------

/// check.c sets it for each shape.
extern uint64_t state;

/// SplitMix64.
static inline uint64_t next(void) {
    uint64_t z = state += 0x9E3779B97F4A7C15;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9;
    z = (z ^ z >> 27) * 0x94D049BB133111EB;
    return z ^ z >> 31;
}

static inline size_t from_to(size_t least, size_t most) { return least + next() % (most - least + 1); }
static inline float real(float least, float most) { return least + (float)(next() >> 40) * 0x1p-24f * (most - least); }

#endif
