/* The leader's part in snapshots (ckpt/snapshot.h): which one a view begins from, the parts of the one that is being
 * made, its commit, and what the report says of it all. Node's thread; find and part may block as long as the disk
 * does. Legal order: init, find at the beginning of a view, begin and part in any number, fini.
 */
#ifndef GSRT_LAUNCH_SNAPSHOTS_H
#define GSRT_LAUNCH_SNAPSHOTS_H

#include "ckpt/snapshot.h"
#include "launch/report.h"
#include "launch/terminal.h"
#include "mailbox/kinds.h"
#include "placement/plan.h"

enum { GSRT_SNAPSHOTS_REFUSED_MAX = 8 };

typedef struct gsrt_snapshots {
    const char *directory; /* of the run; borrowed; NULL: there are no snapshots */
    gsrt_snapshot_shape shape;
    gsrt_terminal *terminal; /* borrowed */
    gsrt_snapshot *restored; /* what the view began from; owned; NULL: nothing */
    /* the one that is being made; number 0: none */
    gsrt_snapshot_manifest pending; /* its arrays are the two below */
    gsrt_snapshot_request requests[GSRT_BATCH_SEQUENCES_MAX];
    gsrt_snapshot_file *files; /* [pending.file_count]; owned */
    uint32_t durable_count;
    bool has_failed;
    /* for the report */
    gsrt_report_snapshots report;
    gsrt_report_refused refused[GSRT_SNAPSHOTS_REFUSED_MAX];
    char why[GSRT_SNAPSHOTS_REFUSED_MAX][256];
} gsrt_snapshots;

void gsrt_snapshots_init(gsrt_snapshots *snapshots, const char *directory, const gsrt_snapshot_shape *shape,
                         gsrt_terminal *terminal);
void gsrt_snapshots_fini(gsrt_snapshots *snapshots); /* zeroed is fine */

/* A view begins: find the newest snapshot that is sound; what is not is said. is_wanted: there may be one. *out_number:
 * 0: none. *out_next: number of the next one. GSRT_OK | GSRT_ENOMEM. */
GSRT_MUST_CHECK gsrt_status gsrt_snapshots_find(gsrt_snapshots *snapshots, bool is_wanted, uint64_t *out_number,
                                                uint64_t *out_next);
/* Leading blocks of `request` that the view's snapshot holds. */
uint32_t gsrt_snapshots_blocks(const gsrt_snapshots *snapshots, uint32_t request);
/* The view goes on without them. */
void gsrt_snapshots_forget(gsrt_snapshots *snapshots);

/* The scheduler has called for one, on all members of `plan`. While another is being made, this one is left out.
 * GSRT_OK | GSRT_ENOMEM. */
GSRT_MUST_CHECK gsrt_status gsrt_snapshots_begin(gsrt_snapshots *snapshots, const gsrt_msg_snapshot *message,
                                                 const gsrt_plan *plan);
/* A member has made its part durable, or could not. The last one: commit. A snapshot that fails is said, and is no
 * error of the run. */
void gsrt_snapshots_part(gsrt_snapshots *snapshots, const gsrt_msg_snapshot_part *message);

#endif
