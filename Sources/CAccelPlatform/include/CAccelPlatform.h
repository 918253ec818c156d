// What Swift's view of the C library leaves out: requests to the system about memory, files and the environment.
#ifndef CACCEL_PLATFORM_H
#define CACCEL_PLATFORM_H

// ---- memory --------------------------------------------------------------------------------------------------

/// Where the C library would keep freed memory for later (glibc), it gives blocks of so many bytes back at once, and keeps no more
/// than `kept` bytes of smaller ones.
void cp_return_blocks(int bytes, int kept);

// ---- files -----------------------------------------------------------------------------------------------------

/// Lets the system start to bring a file's bytes to the disk, without waiting, where it can be asked to.
void cp_start_writing(int descriptor);
/// Opens a file for writing whole pages from memory on pages, without keeping them in the page cache. Returns -1 with errno where
/// that is not possible.
int cp_open_past_cache(const char *path);
/// From now on what is written to it goes through the page cache again, in any amount.
void cp_go_through_cache(int descriptor);
// From now on a thread that reads what is no longer behind a map writes the address to a pipe, and waits for ever: another thread,
// at the pipe's other end, ends the process. Nothing else is safe to do at such a place. Returns 0, or -1 with errno.
int cp_report_lost_pages(int descriptor);
/// Whether the times of a file tell of writes through shared maps: not on file systems that lie in memory. Returns 0 where the
/// system does not say.
int cp_notices_maps(const char *path);

// Lets two paths of one file system change places in one step. Returns 0, or -1 with errno where that is not possible.
int cp_exchange(const char *left, const char *right);
// Gives a file or folder a name that nothing has. Returns 0, or -1 with errno: EEXIST when something has it, others where the file
// system cannot tell.
int cp_rename_exclusively(const char *from, const char *to);

// ---- environment -----------------------------------------------------------------------------------------------

/// The lines `NAME=VALUE` of the process's environment, with NULL after the last.
char **cp_environment(void);

#endif
