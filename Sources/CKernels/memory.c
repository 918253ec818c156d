// What the C library does with freed memory.
#include "internal.h"

#if defined(__linux__)
// Of glibc; where another library has none, the address is null.
extern int mallopt(int parameter, int value) __attribute__((weak));
#endif

void ck_return_blocks(int bytes) {
#if defined(__linux__)
    enum { mmap_threshold = -3 };
    if (mallopt) mallopt(mmap_threshold, bytes);
#else
    (void)bytes;
#endif
}
