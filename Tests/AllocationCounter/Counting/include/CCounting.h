// Counts what the process asks of the C library while counting is on, on all threads.
#ifndef CCOUNTING_H
#define CCOUNTING_H
#include <stddef.h>

/// Whether this build can count: with glibc, and without a sanitizer that has an allocator of its own.
int counting_is_possible(void);
/// Starts from zero.
void counting_start(void);
void counting_stop(void);
/// Calls of malloc and its relatives, and of mmap.
size_t counting_allocations(void);
/// Calls that take a lock or wait for a condition.
size_t counting_locks(void);
#endif
