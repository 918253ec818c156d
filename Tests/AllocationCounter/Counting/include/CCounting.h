// Counts allocations and locks of the C library on all threads while counting is on.
#ifndef CCOUNTING_H
#define CCOUNTING_H
#include <stddef.h>

/// Returns whether this build can count: with glibc, and without a sanitizer that has its own allocator.
int counting_is_possible(void);
/// Sets the counters to zero and starts counting.
void counting_start(void);
void counting_stop(void);
/// Returns the number of calls of malloc and its relatives, and of mmap.
size_t counting_allocations(void);
/// Returns the number of calls that take a lock or wait for a condition.
size_t counting_locks(void);
#endif
