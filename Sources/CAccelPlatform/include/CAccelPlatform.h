// Functions of the C library and the system that Swift does not import: memory, files and the environment.
#ifndef CACCEL_PLATFORM_H
#define CACCEL_PLATFORM_H

// ---- memory --------------------------------------------------------------------------------------------------

/// Lets the allocator (glibc) return freed blocks of at least `bytes` bytes at once, and keep at most `kept` bytes of smaller
/// ones for reuse. Does nothing with other allocators.
void cp_return_blocks(int bytes, int kept);

// ---- files -----------------------------------------------------------------------------------------------------

/// Lets the system start to write a file's data to the disk, without waiting, if the system supports that.
void cp_start_writing(int descriptor);
/// Opens a file for page-aligned writes that bypass the page cache. Returns -1 with errno if that is not possible.
int cp_open_past_cache(const char *path);
/// Lets further writes use the page cache again, with any size and alignment.
void cp_go_through_cache(int descriptor);
/// Installs a handler for lost pages of mapped files: a thread that reads one writes the address to the pipe and blocks;
/// another thread, at the pipe's other end, has to end the process. Nothing else is safe in such a handler. If the process
/// has not ended after 5 s, it ends with the exit status 4. Returns 0, or -1 with errno.
int cp_report_lost_pages(int descriptor);
/// Returns whether a file's times show writes through shared maps, which file systems in memory do not support. Returns 0 if
/// the system cannot tell.
int cp_notices_maps(const char *path);
/// Returns whether an open file or folder is on a file system of this machine alone, as far as the system knows. Returns 0 for
/// network file systems, and for those that are unknown.
int cp_is_local(int descriptor);

/// Exchanges two paths of one file system atomically. Returns 0, or -1 with errno if that is not possible.
int cp_exchange(const char *left, const char *right);
/// Renames a file or folder to a path that must not exist. Returns 0, or -1 with errno: EEXIST if the path exists, another
/// error if the file system does not support this.
int cp_rename_exclusively(const char *from, const char *to);

// ---- environment -----------------------------------------------------------------------------------------------

/// The lines `NAME=VALUE` of the process's environment, with NULL at the end.
char **cp_environment(void);

#endif
