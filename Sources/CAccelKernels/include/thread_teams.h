// Threads; CAccelKernels.h includes it.
#ifndef CKERNELS_THREAD_TEAMS_H
#define CKERNELS_THREAD_TEAMS_H

#include <stddef.h>

/// The threads of one run: the caller, and helpers from a pool of the process.
typedef struct ck_team ck_team;
/// A piece of work. `worker` is below the team's number of threads; concurrent pieces have different workers.
typedef void (*ck_piece)(void *context, size_t piece, size_t worker);

/// Makes a team of at most `threads` (1 to 255), and new helpers if the pool has too few; helpers last as long as the process.
/// Returns NULL if memory does not suffice.
ck_team *ck_team_make(size_t threads);
void ck_team_free(ck_team *team);
/// Calls `body` once for each piece. The first call with several pieces after a rest wakes the helpers that no other team
/// has; until the next rest they wait for calls without sleeping. Takes no lock and allocates nothing.
void ck_team_run(ck_team *team, size_t pieces, ck_piece body, void *context);
/// Lets the helpers sleep. Has to be called before the team is freed.
void ck_team_rest(ck_team *team);
/// The number of times that the team has woken helpers.
size_t ck_team_wakes(const ck_team *team);

#endif
