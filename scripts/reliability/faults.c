// Preloaded into a tool: counts the calls by which it changes files below FAULT_ROOT, and disturbs one of them.
//   FAULT_AT=N      the call to disturb, from 1; 0 or none: none
//   FAULT_KIND      kill: the process ends before the call; else the number of the error that the call fails with
//   FAULT_LOG=FILE  gets one line a call: name, path[, second path or number of bytes]
//   FAULT_DATA=DIR  gets the bytes of the Nth call, a write, as file N
//   FAULT_NO_LOCKS  flock always succeeds, as on some network file systems
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define REAL(name) static __typeof__(name) *real = NULL; if (!real) real = (__typeof__(name) *)dlsym(RTLD_NEXT, #name)
static atomic_int calls;

static int is_ours(const char *path) {
    const char *root = getenv("FAULT_ROOT");
    return root && path && strncmp(path, root, strlen(root)) == 0;
}

static const char *path_of(int descriptor, char *buffer) {
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    ssize_t count = readlink(link, buffer, PATH_MAX - 1);
    buffer[count < 0 ? 0 : count] = 0;
    return buffer;
}

// Counts a call. Returns whether it is to fail, with errno set.
static int disturbed(const char *name, const char *path, const char *other, const void *bytes, size_t count) {
    if (!is_ours(path)) return 0;
    int number = ++calls;
    const char *log = getenv("FAULT_LOG"), *data = getenv("FAULT_DATA"), *at = getenv("FAULT_AT"), *kind = getenv("FAULT_KIND");
    if (log) {
        FILE *file = fopen(log, "ae");
        if (file) {
            fprintf(file, "%s\t%s\t", name, path);
            if (other) fprintf(file, "%s\n", other); else fprintf(file, "%zu\n", count);
            fclose(file);
        }
    }
    if (data && bytes) {
        char target[PATH_MAX];
        snprintf(target, sizeof target, "%s/%d", data, number);
        FILE *file = fopen(target, "we");
        if (file) fwrite(bytes, 1, count, file), fclose(file);
    }
    if (!at || !kind || atoi(at) != number) return 0;
    if (strcmp(kind, "kill") == 0) kill(getpid(), SIGKILL);
    errno = atoi(kind);
    return 1;
}

static int opening(const char *path, int flags) {
    return flags & (O_WRONLY | O_RDWR | O_CREAT) ? disturbed("open", path, flags & O_CREAT ? "new" : "old", NULL, 0) : 0;
}

#define OPENING(name)                                                                                             \
    int name(const char *path, int flags, ...) {                                                                 \
        va_list list;                                                                                            \
        va_start(list, flags);                                                                                   \
        int mode = va_arg(list, int);                                                                            \
        va_end(list);                                                                                            \
        REAL(name);                                                                                              \
        return opening(path, flags) ? -1 : real(path, flags, mode);                                              \
    }
OPENING(open)
OPENING(open64)
ssize_t write(int descriptor, const void *bytes, size_t count) {
    REAL(write);
    char path[PATH_MAX];
    return disturbed("write", path_of(descriptor, path), NULL, bytes, count) ? -1 : real(descriptor, bytes, count);
}
int fsync(int descriptor) {
    REAL(fsync);
    char path[PATH_MAX];
    return disturbed("fsync", path_of(descriptor, path), "-", NULL, 0) ? -1 : real(descriptor);
}
int close(int descriptor) {
    REAL(close);
    char path[PATH_MAX];
    int flags = fcntl(descriptor, F_GETFL);
    if (flags < 0 || (flags & O_ACCMODE) == O_RDONLY) return real(descriptor);
    int fails = disturbed("close", path_of(descriptor, path), "-", NULL, 0), number = errno;
    int result = real(descriptor);
    if (fails) errno = number;
    return fails ? -1 : result;
}
int rename(const char *from, const char *to) {
    REAL(rename);
    return disturbed("rename", from, to, NULL, 0) ? -1 : real(from, to);
}
int link(const char *from, const char *to) {
    REAL(link);
    return disturbed("link", from, to, NULL, 0) ? -1 : real(from, to);
}
int unlink(const char *path) {
    REAL(unlink);
    return disturbed("unlink", path, "-", NULL, 0) ? -1 : real(path);
}
int mkdir(const char *path, mode_t mode) {
    REAL(mkdir);
    return disturbed("mkdir", path, "-", NULL, 0) ? -1 : real(path, mode);
}
// renameat2, which the tool calls by its number: a rename that replaces nothing, or an exchange.
long syscall(long number, ...) {
    va_list list;
    va_start(list, number);
    long words[6];
    for (int i = 0; i < 6; i++) words[i] = va_arg(list, long);
    va_end(list);
    REAL(syscall);
    if (number == SYS_renameat2) {
        const char *name = words[4] & 2 ? "exchange" : "rename";
        if (disturbed(name, (const char *)words[1], (const char *)words[3], NULL, 0)) return -1;
    }
    return real(number, words[0], words[1], words[2], words[3], words[4], words[5]);
}
int flock(int descriptor, int operation) {
    REAL(flock);
    return getenv("FAULT_NO_LOCKS") ? 0 : real(descriptor, operation);
}
