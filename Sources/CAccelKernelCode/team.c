// The threads that execute runs. One pool serves the process. A run claims some of its helpers, wakes each once, and
// shares the pieces of its calls with them by atomic counters. Once the helpers exist, no lock is taken and nothing is
// allocated.
//
// Nobody waits for a late helper: it takes part in a call only if it joins before the caller has closed the call.
#include "CAccelKernels.h"
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#if defined(__linux__)
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>
#elif defined(__APPLE__)
#include <os/os_sync_wait_on_address.h>
#endif

enum { most_helpers = 255, spins_before_yield = 256, spins_before_nap = 4096, spins_before_sleep = 2048 };

// The low bits of a helper's bell are its state. The other bits count its claims, so that a team that releases a helper
// cannot mistake another team's call for its own.
enum { idle = 0, claimed = 1, called = 2, working = 3, state_mask = 3, next_claim = 4 };

typedef struct {
    _Alignas(64) _Atomic uint32_t bell;
    ck_team *team;
    size_t worker;
} helper;

static helper helpers[most_helpers];
// The number of helpers whose threads exist.
static _Atomic size_t helper_count;

// The state of a call: a number that changes from call to call, whether helpers may join, and how many are inside.
#define INSIDE_MASK 0xffffull
#define IS_OPEN 0x10000ull
#define NEXT_CALL 0x20000ull

// The pieces that a worker takes first: those that follow each other read memory that follows each other.
typedef struct {
    _Alignas(64) _Atomic size_t next;
    size_t end;
} share;

struct ck_team {
    _Alignas(64) _Atomic uint64_t call;
    _Alignas(64) size_t workers;
    ck_piece body;
    void *context;
    _Atomic int is_running;
    // 1 while the caller sleeps until the last helper has left a call.
    _Atomic uint32_t is_waiting;
    // The number of claimed helpers that have not left.
    _Atomic size_t claims;
    size_t threads;
    size_t claimed_count;
    struct { size_t index; uint32_t bell; } claimed[most_helpers];
    size_t wakes;
    // One for each thread.
    share shares[];
};

static inline void pause_briefly(void) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

static inline void relax(unsigned *spins) {
    if (++*spins % spins_before_yield == 0) {
        sched_yield();
    } else {
        pause_briefly();
    }
}

// A helper spins between two calls. If the next call is late (the caller has lost its processor, or works alone), the
// helper naps, so that it does not take time from threads with work; nobody has to wake it.
static inline void relax_between_calls(unsigned *spins) {
    if (*spins < spins_before_nap) {
        relax(spins);
        return;
    }
    struct timespec nap = {0, 30000};
    nanosleep(&nap, NULL);
}

static void wait_while(_Atomic uint32_t *bell, uint32_t value) {
#if defined(__linux__)
    syscall(SYS_futex, bell, FUTEX_WAIT_PRIVATE, value, NULL, NULL, 0);
#elif defined(__APPLE__)
    os_sync_wait_on_address(bell, value, sizeof(*bell), OS_SYNC_WAIT_ON_ADDRESS_NONE);
#else
    struct timespec pause = {0, 50000};
    nanosleep(&pause, NULL);
#endif
}

static void wake(_Atomic uint32_t *bell) {
#if defined(__linux__)
    syscall(SYS_futex, bell, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
#elif defined(__APPLE__)
    os_sync_wake_by_address_any(bell, sizeof(*bell), OS_SYNC_WAKE_BY_ADDRESS_NONE);
#else
    (void)bell;
#endif
}

// Takes the pieces of the worker's share, and then those that are left of the others' shares.
static void take_pieces(ck_team *team, size_t worker) {
    for (size_t i = 0; i < team->workers; i++) {
        share *own = &team->shares[(worker + i) % team->workers];
        while (atomic_load_explicit(&own->next, memory_order_relaxed) < own->end) {
            size_t piece = atomic_fetch_add_explicit(&own->next, 1, memory_order_relaxed);
            if (piece < own->end) team->body(team->context, piece, worker);
        }
    }
}

static void take_part(ck_team *team, size_t worker) {
    uint64_t last = 0;
    unsigned spins = 0;
    while (atomic_load_explicit(&team->is_running, memory_order_acquire)) {
        uint64_t call = atomic_load_explicit(&team->call, memory_order_acquire);
        if (!(call & IS_OPEN) || call / NEXT_CALL == last) {
            relax_between_calls(&spins);
            continue;
        }
        if (!atomic_compare_exchange_weak_explicit(&team->call, &call, call + 1, memory_order_acquire, memory_order_relaxed))
            continue;
        last = call / NEXT_CALL;
        take_pieces(team, worker);
        uint64_t before = atomic_fetch_sub(&team->call, 1);
        if ((before & INSIDE_MASK) == 1 && atomic_exchange(&team->is_waiting, 0)) wake(&team->is_waiting);
        spins = 0;
    }
}

static void *help(void *argument) {
    helper *self = argument;
    while (1) {
        uint32_t bell = atomic_load_explicit(&self->bell, memory_order_acquire);
        if ((bell & state_mask) != called) {
            wait_while(&self->bell, bell);
            continue;
        }
        uint32_t claim = bell & ~(uint32_t)state_mask;
        if (!atomic_compare_exchange_strong_explicit(&self->bell, &bell, claim | working, memory_order_acquire, memory_order_relaxed))
            continue;
        ck_team *team = self->team;
        take_part(team, self->worker);
        atomic_store_explicit(&self->bell, claim | idle, memory_order_release);
        atomic_fetch_sub_explicit(&team->claims, 1, memory_order_release);
    }
    return NULL;
}

// Held while helpers are made, by one thread at a time; a run never takes it.
static pthread_mutex_t making = PTHREAD_MUTEX_INITIALIZER;

// Makes helpers up to `count`. A thread that cannot be created is not an error: there is one helper fewer.
static void make_helpers(size_t count) {
    if (count > most_helpers) count = most_helpers;
    if (atomic_load_explicit(&helper_count, memory_order_acquire) >= count) return;
    pthread_mutex_lock(&making);
    size_t made = atomic_load_explicit(&helper_count, memory_order_relaxed);
    while (made < count) {
        pthread_attr_t attributes;
        pthread_attr_init(&attributes);
        pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
        pthread_attr_setstacksize(&attributes, (size_t)8 << 20);
        pthread_t thread;
        int failed = pthread_create(&thread, &attributes, help, &helpers[made]);
        pthread_attr_destroy(&attributes);
        if (failed) break;
        atomic_store_explicit(&helper_count, ++made, memory_order_release);
    }
    pthread_mutex_unlock(&making);
}

ck_team *ck_team_make(size_t threads) {
    ck_team *team = NULL;
    if (threads < 1) threads = 1;
    if (threads > most_helpers) threads = most_helpers;
    if (posix_memalign((void **)&team, 64, sizeof(ck_team) + threads * sizeof(share))) return NULL;
    *team = (ck_team){.threads = threads};
    make_helpers(team->threads - 1);
    return team;
}

void ck_team_free(ck_team *team) { free(team); }

static void claim_helpers(ck_team *team) {
    size_t count = atomic_load_explicit(&helper_count, memory_order_acquire);
    atomic_store_explicit(&team->is_running, 1, memory_order_relaxed);
    for (size_t i = 0; i < count && team->claimed_count + 1 < team->threads; i++) {
        uint32_t bell = atomic_load_explicit(&helpers[i].bell, memory_order_relaxed);
        if ((bell & state_mask) != idle) continue;
        uint32_t claim = bell + next_claim;
        if (!atomic_compare_exchange_strong_explicit(&helpers[i].bell, &bell, claim | claimed, memory_order_acquire, memory_order_relaxed))
            continue;
        helpers[i].team = team;
        team->claimed[team->claimed_count].index = i;
        team->claimed[team->claimed_count].bell = claim | called;
        helpers[i].worker = ++team->claimed_count;
        atomic_fetch_add_explicit(&team->claims, 1, memory_order_relaxed);
        atomic_store_explicit(&helpers[i].bell, claim | called, memory_order_release);
        wake(&helpers[i].bell);
    }
    if (team->claimed_count > 0) team->wakes++;
}

void ck_team_run(ck_team *team, size_t pieces, ck_piece body, void *context) {
    if (pieces > 1 && team->threads > 1 && !atomic_load_explicit(&team->is_running, memory_order_relaxed)) claim_helpers(team);
    if (pieces <= 1 || team->claimed_count == 0) {
        for (size_t piece = 0; piece < pieces; piece++) body(context, piece, 0);
        return;
    }
    team->workers = team->claimed_count + 1;
    for (size_t worker = 0; worker < team->workers; worker++) {
        atomic_store_explicit(&team->shares[worker].next, pieces * worker / team->workers, memory_order_relaxed);
        team->shares[worker].end = pieces * (worker + 1) / team->workers;
    }
    team->body = body;
    team->context = context;
    uint64_t call = atomic_load_explicit(&team->call, memory_order_relaxed);
    atomic_store_explicit(&team->call, (call / NEXT_CALL + 1) * NEXT_CALL | IS_OPEN, memory_order_release);
    take_pieces(team, 0);
    atomic_fetch_and_explicit(&team->call, ~IS_OPEN, memory_order_relaxed);
    unsigned spins = 0;
    while (atomic_load(&team->call) & INSIDE_MASK) {
        if (spins < spins_before_sleep) {
            spins++;
            pause_briefly();
            continue;
        }
        // A helper has lost its processor, or has a long piece.
        atomic_store(&team->is_waiting, 1);
        if (atomic_load(&team->call) & INSIDE_MASK) wait_while(&team->is_waiting, 1);
    }
    atomic_store_explicit(&team->is_waiting, 0, memory_order_relaxed);
}

void ck_team_rest(ck_team *team) {
    if (!atomic_load_explicit(&team->is_running, memory_order_relaxed)) return;
    atomic_store_explicit(&team->is_running, 0, memory_order_release);
    for (size_t i = 0; i < team->claimed_count; i++) {
        // A helper that has not begun is released at once; it finds nothing to do when it wakes up.
        _Atomic uint32_t *bell = &helpers[team->claimed[i].index].bell;
        uint32_t call = team->claimed[i].bell;
        if (atomic_compare_exchange_strong_explicit(bell, &call, (call & ~(uint32_t)state_mask) | idle, memory_order_relaxed, memory_order_relaxed))
            atomic_fetch_sub_explicit(&team->claims, 1, memory_order_relaxed);
    }
    unsigned spins = 0;
    while (atomic_load_explicit(&team->claims, memory_order_acquire)) relax(&spins);
    team->claimed_count = 0;
}

size_t ck_team_wakes(const ck_team *team) { return team->wakes; }
