/* The leader's part in replicas (ckpt/replica.h): whose second place is where, what a view restores from them, who
 * gives whom the cells for that, and what the report says of it. Node's thread. Legal order: init, begin at the
 * beginning of a view and then restore for its open requests, fini.
 */
#ifndef GSRT_LAUNCH_REPLICAS_H
#define GSRT_LAUNCH_REPLICAS_H

#include "ckpt/holdings.h"
#include "launch/report.h"
#include "placement/second_place.h"

typedef struct gsrt_replicas {
    bool is_on;
    const gsrt_workload *workload; /* borrowed, like the next */
    const char *const *hosts;      /* [rank_count]; NULL: unknown */
    uint32_t rank_count;
    /* the view */
    const gsrt_holdings *holdings; /* borrowed while its requests are restored */
    const gsrt_plan *plan;         /* borrowed likewise */
    bool is_there[GSRT_RANK_COUNT_MAX];
    uint32_t second_places[GSRT_RANK_COUNT_MAX]; /* as gsrt_plan_second_places */
    gsrt_buffer transfers;                       /* of gsrt_transfer */
    uint32_t restored[GSRT_REQUEST_COUNT_MAX];   /* leading blocks of each request that are restored from them */
    gsrt_report_replicas report;
} gsrt_replicas;

void gsrt_replicas_init(gsrt_replicas *replicas, bool is_on, const gsrt_workload *workload, const char *const *hosts,
                        uint32_t rank_count);
void gsrt_replicas_fini(gsrt_replicas *replicas); /* zeroed is fine */

/* A view begins, in which the members hold what `holdings` says (NULL: nothing). */
void gsrt_replicas_begin(gsrt_replicas *replicas, const gsrt_plan *plan, const gsrt_holdings *holdings,
                         const bool *is_there);
/* Within the view, roles are moved: whoever takes one has its second place as `plan` will be. */
void gsrt_replicas_place(gsrt_replicas *replicas, const gsrt_plan *plan);
/* Of an open request, at most block_max blocks can be used: if the replicas have more than `other`, which are to be had
 * without them, all that lack them are given them. *out: blocks that are restored from replicas, 0 or more than other.
 * GSRT_OK | GSRT_ENOMEM. */
GSRT_MUST_CHECK gsrt_status gsrt_replicas_restore(gsrt_replicas *replicas, uint32_t request, uint32_t block_max,
                                                  uint32_t other, uint32_t *out);

#endif
