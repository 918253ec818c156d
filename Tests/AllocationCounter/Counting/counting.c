// The symbols of the executable precede those of the libraries that it loads, so that calls reach these functions
// instead.
#define _GNU_SOURCE
#include "CCounting.h"
#include <stdatomic.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define IS_SANITIZED 1
#endif
#endif

static atomic_size_t allocations, locks;
static atomic_int is_counting;

#include <stdlib.h>

// If ACCELC_STOP_AT is in the environment, the process stops at the first counted call, so that a debugger shows its
// location.
static int stops_at_first;

// Sanitizers replace the functions that are counted, so that none calls it there.
__attribute__((unused)) static inline void count(atomic_size_t *counter) {
    if (!atomic_load_explicit(&is_counting, memory_order_relaxed)) return;
    atomic_fetch_add_explicit(counter, 1, memory_order_relaxed);
    if (stops_at_first) {
        atomic_store(&is_counting, 0);
        __builtin_trap();
    }
}

void counting_start(void) {
    stops_at_first = getenv("ACCELC_STOP_AT") != NULL;
    atomic_store(&allocations, 0);
    atomic_store(&locks, 0);
    atomic_store(&is_counting, 1);
}
void counting_stop(void) { atomic_store(&is_counting, 0); }
size_t counting_allocations(void) { return atomic_load(&allocations); }
size_t counting_locks(void) { return atomic_load(&locks); }

#if defined(__GLIBC__) && !defined(IS_SANITIZED)
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

int counting_is_possible(void) { return 1; }

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *block, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);

void *malloc(size_t size) { return count(&allocations), __libc_malloc(size); }
void *calloc(size_t number, size_t size) { return count(&allocations), __libc_calloc(number, size); }
void *realloc(void *block, size_t size) { return count(&allocations), __libc_realloc(block, size); }
void *memalign(size_t alignment, size_t size) { return count(&allocations), __libc_memalign(alignment, size); }
void *aligned_alloc(size_t alignment, size_t size) { return count(&allocations), __libc_memalign(alignment, size); }
int posix_memalign(void **block, size_t alignment, size_t size) {
    count(&allocations);
    *block = __libc_memalign(alignment, size);
    return *block ? 0 : ENOMEM;
}
void *mmap(void *address, size_t size, int protection, int flags, int file, off_t offset) {
    count(&allocations);
    return (void *)syscall(SYS_mmap, address, size, protection, flags, file, offset);
}

// Declares `function`, the library's own function of a name, which the call continues with, and counts a lock.
#define NEXT(name, type)                                                                          \
    static _Atomic(type) next;                                                                    \
    type function = atomic_load_explicit(&next, memory_order_relaxed);                            \
    if (!function) {                                                                              \
        function = (type)dlsym(RTLD_NEXT, name);                                                  \
        atomic_store_explicit(&next, function, memory_order_relaxed);                             \
    }                                                                                             \
    count(&locks)

typedef int (*mutex_function)(pthread_mutex_t *);
typedef int (*rwlock_function)(pthread_rwlock_t *);
typedef int (*wait_function)(pthread_cond_t *, pthread_mutex_t *);

int pthread_mutex_lock(pthread_mutex_t *mutex) {
    NEXT("pthread_mutex_lock", mutex_function);
    return function(mutex);
}
int pthread_mutex_trylock(pthread_mutex_t *mutex) {
    NEXT("pthread_mutex_trylock", mutex_function);
    return function(mutex);
}
int pthread_rwlock_rdlock(pthread_rwlock_t *lock) {
    NEXT("pthread_rwlock_rdlock", rwlock_function);
    return function(lock);
}
int pthread_rwlock_wrlock(pthread_rwlock_t *lock) {
    NEXT("pthread_rwlock_wrlock", rwlock_function);
    return function(lock);
}
int pthread_cond_wait(pthread_cond_t *condition, pthread_mutex_t *mutex) {
    NEXT("pthread_cond_wait", wait_function);
    return function(condition, mutex);
}
#else
int counting_is_possible(void) { return 0; }
#endif
