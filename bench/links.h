/* A node between others, under mpirun, with everything that a run has around it: UCX, envelopes, the directory
 * (receivers are named by role), link actors, the recorder. Every rank spins, unless there are more ranks than
 * processing units: then it yields, as in a run.
 * Legal order: open, start, gsrt_node_run, close. Any error ends the process with 2. Thread: the node's.
 */
#ifndef GSRT_BENCH_LINKS_H
#define GSRT_BENCH_LINKS_H

#include "base/limits.h"
#include "ckpt/recorder.h"
#include "collectives/link_actor.h"
#include "collectives/reduction.h"
#include "launch/wireup.h"

enum { GSRT_LINKS_BATCHES = 9 };
#define GSRT_LINKS_LAST UINT64_MAX /* number of the PING that ends a game */

typedef struct gsrt_links {
    gsrt_wireup wireup;
    gsrt_node *node;
    gsrt_recorder *recorder;
    uint64_t count, value_count; /* per batch; of the vector */
    gsrt_reduction_way way;
    double batch_us[GSRT_LINKS_BATCHES];
    gsrt_link_facts links[GSRT_GROUP_RANKS_MAX];
} gsrt_links;

/* End the process when `status` says so. `diag` may be NULL. */
void gsrt_links_must(gsrt_status status, const char *what, const gsrt_diag *diag);
/* That of rank `rank`'s first actor. */
gsrt_address gsrt_links_role(uint32_t rank);
/* Wire up and create the node; a trace is written below `directory`, NULL: none. */
void gsrt_links_open(gsrt_links *b, const char *directory);
/* Start the link actors, then one actor (of its init: a pointer to `b`), and bind its role on every rank: every rank
 * starts the same in the same order, so that its own serial is that of the others too. */
void gsrt_links_start(gsrt_links *b, const gsrt_behaviour *behaviour);
void gsrt_links_close(gsrt_links *b);

/* links_migration.c: the subcommand. Returns the exit code. */
int gsrt_links_migration(gsrt_links *b, const char *move_count);

#endif
