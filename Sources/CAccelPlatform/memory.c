// What the C library does with freed memory.
#include "include/CAccelPlatform.h"

#if defined(__linux__)
// Of glibc; where another library has none, the address is null.
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
