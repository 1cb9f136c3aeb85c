/* One rank's part of a run: its device, the part that it plays in the plan of the view, its links, and the root actor
 * that starts them anew in each view.
 *
 *   VIEW (membership)      the old view's actors are ended, the device runs out of jobs: DRAIN -> DRAINED
 *   -> PRESENT to the leader's root; the leader's root waits for all members, and asks them again with a PRESENT of
 *      its own; then it has its gateway started
 *   START (gateway)        the plan of the view: take a part (narrow it on a thread of its own -> NARROWED), start its
 *                          region; GATHER the KV that is restored from other ranks' replicas -> GATHERED -> READY
 *   ROLES                  who plays which role; from here on the token's way (model/, placement/)
 *   ASK_FACTS, END         the end of a run
 *
 * The same in both worlds. In the twin the device computes inline (numerics on) or not at all (off), and its time is
 * the model's. Legal order: start, run the node, free the node, stop.
 */
#ifndef GSRT_LAUNCH_RANK_H
#define GSRT_LAUNCH_RANK_H

#include "ckpt/holdings.h"
#include "ckpt/replica_actor.h"
#include "collectives/link_actor.h"
#include "launch/part.h"
#include "launch/rank_device.h"
#include "mailbox/keepers.h"
#include "model/region_actor.h"

#include <pthread.h>

typedef struct gsrt_rank gsrt_rank;

typedef struct gsrt_rank_options {
    bool is_twin;
    bool is_numeric;           /* twin: compute the numbers */
    uint64_t load_ns;          /* what loading the model took, for the report */
    gsrt_keepers *keepers;     /* told when the run is over; NULL: there are none */
    gsrt_span known_directory; /* of the run, when an earlier incarnation knew it */
    /* the run directory exists: open this rank's own files there; once; NULL: nothing to do */
    gsrt_status (*on_start)(void *arg, const char *directory, gsrt_diag *diag);
    /* this rank leads the view, and every member is present: start the gateway; *out its address */
    gsrt_status (*on_lead)(void *arg, gsrt_rank *rank, gsrt_address *out, gsrt_diag *diag);
    /* a drill: have nothing pass between this rank and those on other sides [rank_count]; NULL: it is not done */
    void (*on_cut_off)(void *arg, const uint32_t *sides, uint32_t duration_ms);
    void *arg; /* of all */
} gsrt_rank_options;

struct gsrt_rank {
    gsrt_rank_options options;
    const gsrt_scenario *scenario; /* borrowed, like the two below */
    const gsrt_loaded *loaded;
    gsrt_node *node;
    gsrt_diag *diag; /* why it ended; borrowed */
    gsrt_address root;
    char directory[4097]; /* of the run; empty: not known yet */
    bool has_files;       /* on_start was called */
    /* the view */
    uint32_t epoch, leader;
    uint32_t *incarnations;  /* [rank_count] of the members, GSRT_NOT_A_MEMBER of the others */
    uint32_t *present_epoch; /* [rank_count] the latest view that each rank has begun, as far as it said so here */
    uint64_t drain_call;     /* 0: none is open */
    uint64_t gather_call;    /* likewise */
    bool is_starting;        /* START has come, and has not been answered */
    uint32_t second_place;   /* of START, like the next: where this rank's KV goes a second time */
    uint32_t *transfers;     /* [transfers_count]; owned */
    uint32_t transfers_count;
    gsrt_address starter;      /* who is told READY then */
    gsrt_address gateway;      /* on the leader, while it runs */
    gsrt_address *link_actors; /* [rank_count] */
    /* what it plays in it */
    gsrt_plan *plan; /* owned; NULL: no START yet */
    bool has_role;
    uint32_t stage, member;
    gsrt_address region;
    gsrt_parts parts;
    gsrt_part *part; /* NULL: no role */
    gsrt_part *raw;  /* that the thread is narrowing, whatever the view; NULL: none */
    pthread_t narrower;
    atomic_bool is_stopping; /* it need not go on */
    /* what stays */
    gsrt_rank_device device;
    gsrt_region_facts region_facts;
    gsrt_snapshot *snapshot; /* what the view begins from; owned; NULL: nothing */
    gsrt_link_facts *links;  /* [rank_count] */
    gsrt_snapshot_shape shape;
    gsrt_replica *replica; /* NULL, like the next two: the scenario wants none */
    gsrt_address replica_actor;
    gsrt_holdings *holdings; /* on the leader: what the members said that their replicas hold */
    uint64_t gathered_bytes;
};

/* Start the root actor on `node`. It waits for a VIEW. On error what was started is undone by gsrt_rank_stop.
 * GSRT_OK | GSRT_ENOMEM | as gsrt_node_spawn. */
GSRT_MUST_CHECK gsrt_status gsrt_rank_start(gsrt_rank *rank, gsrt_node *node, const gsrt_scenario *scenario,
                                            const gsrt_loaded *loaded, const gsrt_rank_options *options,
                                            gsrt_diag *diag);
/* After the node was freed. */
void gsrt_rank_stop(gsrt_rank *rank);

/* `rank` is a member of the view. */
bool gsrt_rank_is_member(const gsrt_rank *rank, uint32_t other);
/* The rank's own account. Texts are borrowed from the rank. */
void gsrt_rank_read_facts(const gsrt_rank *rank, gsrt_msg_facts *out);
/* A drill: tell every member, and this rank itself, to cut off those on other sides [rank_count]. */
void gsrt_rank_cut_off(const gsrt_rank *rank, const uint32_t *sides, uint32_t duration_ms);
/* A drill: have what `rank` has narrowed damaged; nothing to do where that is nothing, or no member. */
void gsrt_rank_corrupt(const gsrt_rank *r, uint32_t rank);
/* Tell every other member that the run is over. Node's thread, outside any actor or inside. */
void gsrt_rank_end_all(const gsrt_rank *rank, uint32_t exit_code);

#endif
