// Settings of the C library for freed memory.
#include "include/CAccelPlatform.h"

#if defined(__linux__)
// A function of glibc; with other libraries its address is null.
extern int mallopt(int parameter, int value) __attribute__((weak));
#endif

void cp_return_blocks(int bytes, int kept) {
#if defined(__linux__)
    enum { trim_threshold = -1, mmap_threshold = -3 };
    if (mallopt) mallopt(mmap_threshold, bytes), mallopt(trim_threshold, kept);
#else
    (void)bytes, (void)kept;
#endif
}
