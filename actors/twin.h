/* The twin: a whole cluster in one process, in virtual time, deterministic from a seed.
 *
 * Nodes are ordinary gsrt_nodes whose clock and transport belong to the twin. Events (arrivals, runs of a node) go in
 * the order of (time, sequence number); nothing depends on the real clock. Links: bytes / bandwidth, one message after
 * the other per directed pair, plus latency; bytes are those of the real encoding (header, body, payload). Order per
 * pair is kept, whatever the jitter. Payloads travel by reference. At most GSRT_TWIN_WINDOW messages of a pair are on
 * their way or not yet taken by the receiver, then posts are refused as in the real world.
 * Thread: one. Memory: what is under way, plus 56 bytes per pair of ranks that exchanged a message.
 *
 * What is modelled of faults (each drawn from the seed, so that a run repeats):
 *
 *   death      What had left the sender is delivered up to a drawn point, the rest is lost: a prefix per pair, because
 * a transport keeps order. Nothing of the dead speaks: no DOWN, no stop message. Its peers' transports say
 *              on_down(EPEER) after detect_ns, and after what was delivered; its keeper says its word after word_ns.
 *   leaving    (its keeper died, or it wants to start again): all that was posted is delivered, then
 *              on_down(ECANCELED).
 *   start      The next incarnation greets every rank: a living one says on_join and answers, and then the newcomer
 *              says on_join for it; for a dead one it says on_down(EPEER). Until then posts between them are
 * GSRT_ELINK. cut        What was under way to the peer is void, and it hears on_down(EPEER). partition  Messages wait
 * for its end (they are sent again, as TCP does); keepers' words and orders do not. When it lasts link_timeout_ns both
 * sides say on_down(ELINK), and nothing passes between these incarnations again. loss       A transport promises order
 * and at most once, so a lost packet shows as a delay: retransmit_ns, doubled each time it is lost again, and the
 * messages behind it wait; past link_timeout_ns as on_down(ELINK). duplicates Take bandwidth; the transport drops them.
 * Reordering is between pairs only, by jitter and delays. stop       The node does not run; what it had posted still
 * leaves; its timers fire late.
 */
#ifndef GSRT_ACTORS_TWIN_H
#define GSRT_ACTORS_TWIN_H

#include "actors/node.h"
#include "base/disk.h"
#include "mailbox/keepers.h"

enum {
    GSRT_TWIN_WINDOW = 1024,   /* messages of one directed pair: a transport's window and its queue */
    GSRT_TWIN_RESTART_MAX = 64 /* restarts of one rank within its window at most */
};

typedef struct gsrt_twin gsrt_twin;

typedef struct gsrt_twin_link {
    uint64_t latency_ns;
    double bytes_per_ns; /* bandwidth; > 0 */
} gsrt_twin_link;

/* Shares are of messages, in [0, 1]. */
typedef struct gsrt_twin_link_faults {
    double loss, duplication, delay; /* shares */
    uint64_t retransmit_ns;          /* until a lost one is sent again; doubled each further time */
    uint64_t delay_ns;               /* a delayed one takes up to this much longer */
} gsrt_twin_link_faults;

/* How faults and recovery take their time; 0: the default. */
typedef struct gsrt_twin_recovery {
    uint64_t detect_ns;         /* from a death to its peers' on_down: a sentinel; 1 ms */
    uint64_t word_ns;           /* from a death to the keeper's word, which then takes the link's latency; 1 ms */
    uint64_t keeper_ns;         /* one way between a worker and its own keeper; 20 us */
    uint64_t unreachable_ns;    /* an order without an answer; 200 ms */
    uint64_t restart_ns;        /* from a death to its next incarnation; 20 ms, never before the word */
    uint64_t link_timeout_ns;   /* a link that carries nothing is broken; 2 s; UINT64_MAX: never */
    uint32_t restart_max;       /* within restart_window_ns; 0: never started again */
    uint64_t restart_window_ns; /* 60 s */
    int again_exit_code; /* a node that finishes with it leaves, and its keeper starts the next one; 0: none does */
    void *arg;
    /* The node of (rank, incarnation) was destroyed just now: free what belonged to it. was_killed: it
     * could not do anything any more; else it left. NULL: nothing does. */
    void (*on_dead)(void *arg, uint32_t rank, uint32_t incarnation, bool was_killed);
    /* Put its actors on the node of the next incarnation. An error: it dies at once. NULL: never started again. */
    gsrt_status (*on_start)(void *arg, gsrt_node *node, uint32_t rank, uint32_t incarnation);
} gsrt_twin_recovery;

typedef struct gsrt_twin_options {
    uint32_t rank_count;
    uint64_t seed;                       /* jitter, and everything that is left open about a fault */
    gsrt_twin_link link;                 /* of every pair; see gsrt_twin_set_link */
    double jitter;                       /* latency is multiplied by 1 + jitter * u, u in [0, 1) drawn from the seed */
    uint64_t message_ns;                 /* time a node spends per message; default 0 */
    const gsrt_node_recorder *recorders; /* [rank_count] of incarnation 0, or NULL; copied */
    gsrt_twin_recovery recovery;
} gsrt_twin_options;

/* Owned; GSRT_OK | GSRT_EINVAL | GSRT_ENOMEM. */
GSRT_MUST_CHECK gsrt_status gsrt_twin_create(const gsrt_twin_options *options, gsrt_twin **out);
gsrt_twin *gsrt_twin_free(gsrt_twin *twin);                /* frees its nodes; on_dead is not called */
gsrt_node *gsrt_twin_node(gsrt_twin *twin, uint32_t rank); /* borrowed until it dies; NULL: dead, or no such rank */
/* What the worker of `rank`, whichever incarnation, uses to talk to the keepers; to be listened to by each incarnation
 * anew. Borrowed; NULL: no such rank. */
gsrt_keepers *gsrt_twin_keepers(gsrt_twin *twin, uint32_t rank);
/* The disk of `rank`, which outlives its incarnations. When one is killed, what it had not synced is dropped or torn,
 * and until the next one starts everything is GSRT_EIO. Borrowed; NULL: no such rank | no memory. */
gsrt_disk *gsrt_twin_disk_of(gsrt_twin *twin, uint32_t rank);
/* Messages posted from now on; ranks that do not exist and a bandwidth that is not > 0 are ignored. */
void gsrt_twin_set_link(gsrt_twin *twin, uint32_t from, uint32_t to, const gsrt_twin_link *link);
/* The same. GSRT_OK | GSRT_EINVAL | GSRT_ENOMEM. Memory: 40 bytes per pair of ranks from the first call on. */
GSRT_MUST_CHECK gsrt_status gsrt_twin_set_link_faults(gsrt_twin *twin, uint32_t from, uint32_t to,
                                                      const gsrt_twin_link_faults *faults);
uint64_t gsrt_twin_now_ns(const gsrt_twin *twin);

/* Faults, now. Between runs of the twin, or from inside a node: then a kill takes effect when that node's round ends
 * (its rank posts nothing any more at once). Of a rank that is dead or finished: nothing. */
void gsrt_twin_kill(gsrt_twin *twin, uint32_t rank);
void gsrt_twin_kill_keeper(gsrt_twin *twin, uint32_t rank); /* its worker leaves keeper_ns later */
/* Durations: UINT64_MAX: for good. A later one that ends earlier does not shorten the one before. */
void gsrt_twin_stop(gsrt_twin *twin, uint32_t rank, uint64_t duration_ns);
/* Ranks whose numbers in sides[rank_count] differ do not reach each other. */
void gsrt_twin_partition(gsrt_twin *twin, const uint8_t *sides, uint64_t duration_ns);
/* Messages, transfers from it, and its devices (gsrt_node_slowness) take `factor` times as long, >= 1; replaces the one
 * before. */
void gsrt_twin_slow(gsrt_twin *twin, uint32_t rank, double factor, uint64_t duration_ns);

/* Run until no event is left, every rank is done, `until_ns` is reached, or event_count_max events have run. A rank is
 * done when its node has finished, or is dead and will not be started again.
 * GSRT_OK: every rank is done | GSRT_EEMPTY: nothing left to do, some rank is not done (a deadlock; it is until_ns
 * then, unless that is UINT64_MAX) | GSRT_ETIMEDOUT: until_ns | GSRT_ELIMIT: event_count_max | GSRT_ENOMEM. May be
 * called again to go on. */
gsrt_status gsrt_twin_run(gsrt_twin *twin, uint64_t until_ns, uint64_t event_count_max);
uint64_t gsrt_twin_event_count(const gsrt_twin *twin);
uint32_t gsrt_twin_waiting_max(const gsrt_twin *twin); /* most events that waited at once: what it has grown to */
/* A hash of all arrivals, deaths and starts so far: when, where, what, in order. Two runs that differ anywhere differ
 * here. */
uint64_t gsrt_twin_digest(const gsrt_twin *twin);

#endif
