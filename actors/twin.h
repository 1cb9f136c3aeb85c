/* The twin: a whole cluster in one process, in virtual time, deterministic from a seed.
 *
 * Nodes are ordinary gsrt_nodes whose clock and transport belong to the twin. Events (arrivals, runs of a node) go in
 * the order of (time, sequence number); nothing depends on the real clock. Links: bytes / bandwidth, one message after
 * the other per directed pair, plus latency; bytes are those of the real encoding (header, body, payload). Order per
 * pair is kept, whatever the jitter. Payloads travel by reference. At most GSRT_TWIN_WINDOW messages of a pair are on
 * their way or not yet taken by the receiver, then posts are refused as in the real world.
 * Thread: one. Memory: what is under way, plus 48 bytes per pair of ranks that exchanged a message.
 */
#ifndef GSRT_ACTORS_TWIN_H
#define GSRT_ACTORS_TWIN_H

#include "actors/node.h"

enum { GSRT_TWIN_WINDOW = 1024 }; /* messages of one directed pair: a transport's window and its queue */

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
    uint64_t message_ns;                 /* time a node spends per message; default 0 */
    const gsrt_node_recorder *recorders; /* [rank_count] or NULL; copied */
} gsrt_twin_options;

/* Owned; GSRT_OK | GSRT_EINVAL | GSRT_ENOMEM. */
GSRT_MUST_CHECK gsrt_status gsrt_twin_create(const gsrt_twin_options *options, gsrt_twin **out);
gsrt_twin *gsrt_twin_free(gsrt_twin *twin);                /* frees its nodes */
gsrt_node *gsrt_twin_node(gsrt_twin *twin, uint32_t rank); /* borrowed; NULL: no such rank */
/* Messages posted from now on; ranks that do not exist and a bandwidth that is not > 0 are ignored. */
void gsrt_twin_set_link(gsrt_twin *twin, uint32_t from, uint32_t to, const gsrt_twin_link *link);
uint64_t gsrt_twin_now_ns(const gsrt_twin *twin);

/* Run until no event is left, every node has finished, `until_ns` is reached, or event_count_max events have run.
 * GSRT_OK: every node finished | GSRT_EEMPTY: nothing left to do, some node unfinished (a deadlock) |
 * GSRT_ETIMEDOUT: until_ns | GSRT_ELIMIT: event_count_max | GSRT_ENOMEM. May be called again to go on. */
gsrt_status gsrt_twin_run(gsrt_twin *twin, uint64_t until_ns, uint64_t event_count_max);
uint64_t gsrt_twin_event_count(const gsrt_twin *twin);
/* A hash of all arrivals so far: when, where, what, in order. Two runs that differ anywhere differ here. */
uint64_t gsrt_twin_digest(const gsrt_twin *twin);

#endif
