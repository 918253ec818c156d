// File functions that Swift does not import from the C library or the system.
#define _GNU_SOURCE
#include "include/CAccelPlatform.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#if defined(__linux__)
#include <sys/syscall.h>
#include <sys/vfs.h>
#elif defined(__APPLE__)
#include <stdio.h>
#include <sys/mount.h>
#include <sys/param.h>
#endif

void cp_start_writing(int descriptor) {
#if defined(__linux__)
    // SYNC_FILE_RANGE_WRITE of linux/fs.h, of the whole file.
    (void)sync_file_range(descriptor, 0, 0, 2);
#else
    (void)descriptor;
#endif
}

int cp_open_past_cache(const char *path) {
#if defined(O_DIRECT)
    return open(path, O_WRONLY | O_CLOEXEC | O_DIRECT);
#else
    (void)path;
    errno = ENOTSUP;
    return -1;
#endif
}

void cp_go_through_cache(int descriptor) {
#if defined(O_DIRECT)
    (void)fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) & ~O_DIRECT);
#else
    (void)descriptor;
#endif
}

int cp_notices_maps(const char *path) {
#if defined(__linux__)
    struct statfs status;
    if (statfs(path, &status) != 0) { return 0; }
    // TMPFS_MAGIC, RAMFS_MAGIC and HUGETLBFS_MAGIC of linux/magic.h: files in memory are never written back.
    unsigned long type = (unsigned long)status.f_type & 0xFFFFFFFFul;
    return type != 0x01021994ul && type != 0x858458F6ul && type != 0x958458F6ul;
#else
    (void)path;
    return 1;
#endif
}

int cp_is_local(int descriptor) {
#if defined(__linux__)
    struct statfs status;
    if (fstatfs(descriptor, &status) != 0) { return 0; }
    // The magic numbers of linux/magic.h: ext, xfs, btrfs, tmpfs, ramfs, overlayfs, f2fs, bcachefs, msdos, exfat; and of zfs.
    static const unsigned long local[] = {0xEF53, 0x58465342, 0x9123683E, 0x01021994, 0x858458F6, 0x794C7630,
                                          0xF2F52010, 0xCA451A4E, 0x4D44,     0x2011BAB0, 0x2FC12FC1};
    for (unsigned i = 0; i < sizeof local / sizeof *local; i++) {
        if (((unsigned long)status.f_type & 0xFFFFFFFFul) == local[i]) { return 1; }
    }
    return 0;
#elif defined(__APPLE__)
    struct statfs status;
    return fstatfs(descriptor, &status) == 0 && (status.f_flags & MNT_LOCAL) != 0;
#else
    (void)descriptor;
    return 0;
#endif
}

// Renames a path. With `exchange`, the two paths exchange their files; otherwise the call fails if the new path exists.
static int rename_with(const char *from, const char *to, int exchange) {
#if defined(__linux__) && defined(SYS_renameat2)
    // AT_FDCWD of fcntl.h, RENAME_EXCHANGE and RENAME_NOREPLACE of linux/fs.h.
    return (int)syscall(SYS_renameat2, -100, from, -100, to, exchange ? 2 : 1);
#elif defined(__APPLE__)
    return renamex_np(from, to, exchange ? RENAME_SWAP : RENAME_EXCL);
#else
    (void)from;
    (void)to;
    (void)exchange;
    errno = ENOSYS;
    return -1;
#endif
}

int cp_exchange(const char *left, const char *right) { return rename_with(left, right, 1); }

int cp_rename_exclusively(const char *from, const char *to) { return rename_with(from, to, 0); }

static int lost_pages_descriptor = -1;

static void on_lost_page(int number, siginfo_t *information, void *context) {
    (void)number;
    (void)context;
    void *address = information->si_addr;
    if (write(lost_pages_descriptor, &address, sizeof address) < 0) { _exit(4); }
    // The other thread may have stopped at a lost page, too; then nobody ends the process.
    for (unsigned seconds = 5; seconds > 0;) seconds = sleep(seconds);
    static const char message[] = "accelc: error: a mapped file became shorter while it was being read, or cannot be read\n";
    (void)!write(2, message, sizeof message - 1);
    _exit(4);
}

int cp_report_lost_pages(int descriptor) {
    lost_pages_descriptor = descriptor;
    struct sigaction action = {0};
    action.sa_sigaction = on_lost_page;
    action.sa_flags = SA_SIGINFO;
    sigemptyset(&action.sa_mask);
    return sigaction(SIGBUS, &action, NULL);
}
