/* The twin: a whole cluster in one process, in virtual time, deterministic from a seed.
 *
 * Nodes are ordinary gsrt_nodes whose clock and transport belong to the twin. Events (arrivals, timers) are run in the
 * order of (time, sequence number); nothing depends on the real clock. Links: latency plus bytes / bandwidth, one after
 * the other per directed pair. Thread: one.
 */
#ifndef GSRT_ACTORS_TWIN_H
#define GSRT_ACTORS_TWIN_H

#include "actors/node.h"

typedef struct gsrt_twin gsrt_twin;

typedef struct gsrt_twin_link {
    uint64_t latency_ns;
    double bytes_per_ns; /* bandwidth; > 0 */
} gsrt_twin_link;

typedef struct gsrt_twin_options {
    uint32_t rank_count;
    uint64_t seed;                       /* jitter and, later, faults */
    gsrt_twin_link link;                 /* of every pair; see gsrt_twin_set_link */
    double jitter;                       /* latency is multiplied by 1 + jitter * u, u in [0, 1) drawn from the seed */
    uint64_t message_ns;                 /* time an actor spends per message; default 0 */
    const gsrt_node_recorder *recorders; /* [rank_count] or NULL; copied */
} gsrt_twin_options;

GSRT_MUST_CHECK gsrt_status gsrt_twin_create(const gsrt_twin_options *options, gsrt_twin **out);
gsrt_twin *gsrt_twin_free(gsrt_twin *twin);                /* frees its nodes */
gsrt_node *gsrt_twin_node(gsrt_twin *twin, uint32_t rank); /* borrowed */
void gsrt_twin_set_link(gsrt_twin *twin, uint32_t from, uint32_t to, const gsrt_twin_link *link);
uint64_t gsrt_twin_now_ns(const gsrt_twin *twin);

/* Run until no event is left, every node has finished, `until_ns` is reached, or event_count_max events have run.
 * GSRT_OK: every node finished | GSRT_EEMPTY: nothing left to do, some node unfinished (a deadlock) |
 * GSRT_ETIMEDOUT: until_ns | GSRT_ELIMIT: event_count_max. */
gsrt_status gsrt_twin_run(gsrt_twin *twin, uint64_t until_ns, uint64_t event_count_max);
uint64_t gsrt_twin_event_count(const gsrt_twin *twin);

#endif
