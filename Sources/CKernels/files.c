// What Swift's view of the C library leaves out.
#include "internal.h"

#include <errno.h>

#if defined(__linux__)
#include <sys/syscall.h>
extern long syscall(long number, ...);
extern int sync_file_range(int descriptor, int64_t offset, int64_t count, unsigned flags);
#elif defined(__APPLE__)
#include <stdio.h>
#endif

void ck_start_writing(int descriptor) {
#if defined(__linux__)
    // SYNC_FILE_RANGE_WRITE of linux/fs.h, of the whole file.
    (void)sync_file_range(descriptor, 0, 0, 2);
#else
    (void)descriptor;
#endif
}

int ck_exchange(const char *left, const char *right) {
#if defined(__linux__) && defined(SYS_renameat2)
    // AT_FDCWD of fcntl.h and RENAME_EXCHANGE of linux/fs.h.
    return (int)syscall(SYS_renameat2, -100, left, -100, right, 2);
#elif defined(__APPLE__)
    return renamex_np(left, right, RENAME_SWAP);
#else
    (void)left;
    (void)right;
    errno = ENOSYS;
    return -1;
#endif
}
