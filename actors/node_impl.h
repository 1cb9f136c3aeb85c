/* Inside actors/: what a node and an actor are made of. The parts of the node and their files:
 *
 *   node.c            create, free, facts, check          node_loop.c       step, run, finish, foreign posts
 *   node_actor.c      spawn and end of an actor           node_send.c       send, reply, routes, back pressure
 *   node_deliver.c    from the queue to the actor         node_wire.c       to and from the transport
 *   node_call.c       calls, timers                       node_relation.c   monitors and links
 *   node_directory.c  roles, moved actors                  node_streams.c    their sequences
 *
 * Everything that waits here waits in node->queue, in order; signals (monitors, links, ends) too, so that their order
 * with messages is kept. Numbered invariants, walked by gsrt_node_check:
 *   1  an actor's slot points to it, and (born here) its serial is (generation, slot)
 *   2  an actor's waiting_count is the number of counted records of the queue that are for it
 *   3  every relation is found by its key, and a relation between two actors here has its other end here
 *   4  every open call is in its caller's and (callee here) its callee's list and has its alarm set
 *   5  queue->bytes is the sum over its records
 *   6  the alarms are a heap
 *   7  letters wait only at a peer whose link is there, and are as many as are counted
 */
#ifndef GSRT_ACTORS_NODE_IMPL_H
#define GSRT_ACTORS_NODE_IMPL_H

#include "actors/alarms.h"
#include "actors/courier.h"
#include "actors/list.h"
#include "actors/map.h"
#include "actors/node.h"
#include "actors/queue.h"
#include "actors/slab.h"
#include "base/buffer.h"

#include <pthread.h>
#include <stdatomic.h>

enum {
    GSRT__SLOT_BITS = 20,
    GSRT__GENERATION_MAX = 4095,             /* 12 bits; then the slot is retired, so that a serial never comes back */
    GSRT__DISPATCH_BUDGET = 256,             /* messages per round, then transport and timers are looked at */
    GSRT__SPIN_ROUNDS = 16,                  /* idle rounds per look at the clock: half a microsecond */
    GSRT__SIGNAL_KIND_END = GSRT_KIND_ACK,   /* kinds below are the runtime's: actors cannot send them */
    GSRT__DATA_KIND_FIRST = GSRT_KIND_START, /* kinds from here on belong to an epoch */
    GSRT__FOREIGN_BODY_BYTES = 64,
    GSRT__ACTOR_CLASS_COUNT = 64, /* sizes of actors with free lists, in steps of 64 bytes */
};

typedef enum gsrt__alarm_what { GSRT__ALARM_TIMER, GSRT__ALARM_CALL, GSRT__ALARM_HOLD } gsrt__alarm_what;

struct gsrt_actor {
    gsrt_address address;
    gsrt_node *node;
    const gsrt_behaviour *behaviour;
    uint32_t slot;
    uint32_t waiting_count; /* counted messages in the queue */
    uint32_t exit_reason;
    bool is_ending; /* gsrt_exit was called, or its end is being worked on */
    bool is_trapping;
    bool is_moved_here;    /* born on another rank */
    bool is_in_stop;       /* its stop function runs, or has run */
    gsrt__list relations;  /* gsrt__relation.by_owner */
    gsrt__list timers;     /* gsrt__timer.by_owner */
    gsrt__list calls_made; /* gsrt__call.by_caller */
    gsrt__list calls_got;  /* gsrt__call.by_callee */
    gsrt__list refusals;   /* gsrt__refusal.by_actor: where it waits */
    gsrt__list refused;    /* gsrt__refusal.by_place: who waits for room in its inbox */
    _Alignas(16) uint8_t state[];
};

typedef struct gsrt__slot {
    gsrt_actor *actor; /* NULL: free or retired */
    uint32_t generation;
    uint32_t next_free;   /* slot + 1; 0: none */
    uint64_t event_count; /* of all actors that were here: makes event ids */
} gsrt__slot;

typedef struct gsrt__timer {
    gsrt__slab_item item;
    gsrt__alarm alarm;
    gsrt__list by_owner;
    gsrt_actor *owner;
    uint64_t tag;
    uint64_t cause;
} gsrt__timer;

typedef struct gsrt__call {
    gsrt__slab_item item;
    gsrt__alarm alarm;
    gsrt__list by_caller;        /* unused when the caller is on another rank */
    gsrt__list by_callee;        /* unused when the callee is on another rank */
    gsrt_address caller, callee; /* callee: as resolved; a role when it is resolved elsewhere */
    gsrt_address callee_as_given;
    uint64_t number; /* the caller's */
    uint32_t callee_rank;
    bool is_from_elsewhere;
} gsrt__call;

/* What this end of a relation is to its owner. */
typedef enum gsrt__relation_kind {
    GSRT__WATCHES = 1, /* owner gets a DOWN of other */
    GSRT__WATCHED_BY,  /* other gets a DOWN of owner */
    GSRT__LINKED,
} gsrt__relation_kind;

typedef struct gsrt__relation {
    gsrt__slab_item item;
    gsrt__list by_owner;
    gsrt_actor *owner;
    gsrt_address other;
    gsrt_address other_as; /* as the owner wrote it, maybe a role: what its DOWN or EXIT says */
    gsrt_address owner_as; /* as the other wrote it: what the other's record is found by */
    uint32_t kind;
    uint32_t other_rank; /* where other was when this was made */
} gsrt__relation;

typedef struct gsrt__refusal {
    gsrt__slab_item item;
    gsrt__list by_actor, by_place;
    gsrt_actor *actor;
    const gsrt__list *place;
    uint32_t rank; /* what its WRITABLE says */
} gsrt__refusal;

/* A signal or a forwarded message that the peer's window had no room for. */
typedef struct gsrt__pending {
    struct gsrt__pending *next;
    gsrt_envelope envelope; /* payload ref'ed */
    uint8_t body[];
} gsrt__pending;

/* What the courier could not send for lack of room: a copy. */
typedef struct gsrt__letter {
    struct gsrt__letter *next;
    gsrt_kind kind;
    uint32_t epoch; /* of its sender's view */
    gsrt_address from, to;
    uint64_t cause;
    gsrt_payload *payload;      /* a reference, or NULL */
    _Alignas(8) uint8_t body[]; /* flat copy (mailbox/body.h) */
} gsrt__letter;

/* The courier's way to a peer. */
typedef struct gsrt__way {
    gsrt_actor *link;           /* is told when there is room; NULL: none, and nothing waits */
    gsrt_link_facts *facts;     /* borrowed */
    gsrt__letter *first, *last; /* owned */
    uint32_t waiting_count;
} gsrt__way;

typedef struct gsrt__peer {
    bool is_lost;
    uint8_t incarnation;
    uint8_t joined;     /* the incarnation that the transport is connected with, or was last */
    gsrt__list refused; /* gsrt__refusal.by_place */
    gsrt__pending *pending_first, *pending_last;
    size_t pending_bytes;
    gsrt__way way;
} gsrt__peer;

/* A message that came before its turn (its forerunners go by way of another rank). */
typedef struct gsrt__held {
    struct gsrt__held *next; /* of the node, oldest first */
    gsrt_envelope envelope;
    uint32_t peer;
    uint64_t due_ns;
    uint8_t body[];
} gsrt__held;

typedef struct gsrt__foreign {
    gsrt_address to;
    gsrt_kind kind;
    uint8_t body[GSRT__FOREIGN_BODY_BYTES];
} gsrt__foreign;

struct gsrt_node {
    gsrt_node_options options;
    gsrt_transport *transport; /* owned; NULL: alone */
    uint64_t prefix;           /* address >> 32 of every actor born here */
    uint32_t epoch;
    uint64_t cause;    /* id of the event on whose account the node acts now; 0: the outside */
    uint64_t round_ns; /* gsrt__round_now, when is_round_timed */
    bool is_round_timed;
    gsrt_actor *running;

    gsrt__slot *slots; /* [slot_capacity]; owned */
    uint32_t slot_count, slot_capacity, slot_free_first, actor_count;
    void *actor_free[GSRT__ACTOR_CLASS_COUNT]; /* ended actors' memory, by size; linked through their first word */
    void **actor_blocks;                       /* [actor_block_count]; owned: what the sizes are cut from */
    uint32_t actor_block_count, actor_block_capacity;
    size_t actor_block_used;

    gsrt__queue queue;
    uint64_t delivered_count;   /* records taken from the queue */
    gsrt__list refused;         /* who waits for room in the queue */
    gsrt_buffer encode, decode; /* scratch of one message */

    gsrt__alarms alarms;
    gsrt__slab timers, calls, relations, refusals;
    gsrt__map calls_got;    /* (caller elsewhere, number) -> handle of the call */
    gsrt__map relation_map; /* (owner | kind << 56, other) -> handle */
    gsrt__map roles;        /* role -> actor */
    gsrt__map places;       /* address of a moved actor -> rank, or slot when it is here: node_directory.c */
    gsrt__map sent, seen;   /* (from, to) -> last sequence, between ranks */
    uint64_t sent_most;     /* largest sequence ever given */
    uint64_t sent_floor;    /* sent_most when streams were forgotten: where they go on */
    gsrt__held *held_first;
    uint32_t held_count;

    gsrt__peer *peers; /* [rank_count]; owned */
    void (*on_suspect)(void *arg, uint32_t rank, gsrt_status why);
    void *on_suspect_arg;
    void (*on_join)(void *arg, uint32_t rank, uint32_t incarnation);
    void *on_join_arg;
    void (*on_deaf)(void *arg);
    void *on_deaf_arg;
    double slowness;

    pthread_mutex_t foreign_lock;
    gsrt__foreign *foreign;       /* [GSRT_FOREIGN_COUNT_MAX]; guarded by foreign_lock */
    gsrt__foreign *foreign_taken; /* the node's half of the double buffer */
    atomic_uint foreign_count;    /* written under foreign_lock; read without it to see whether to take it */
    int wake_fd;

    atomic_int exit_code;
    atomic_bool is_finished;
    bool is_freeing;
    gsrt_node_facts facts;
};

/* ---- the parts, as each other sees them ---- */

static inline uint64_t gsrt__now(const gsrt_node *node)
{
    return node->options.clock_ns(node->options.clock_arg);
}
/* The time of this round, for what does not need it finer (alarms, the trace): read once per round. */
static inline uint64_t gsrt__round_now(gsrt_node *node)
{
    if (!node->is_round_timed)
        node->round_ns = gsrt__now(node);
    node->is_round_timed = true;
    return node->round_ns;
}
static inline bool gsrt__is_signal(gsrt_kind kind)
{
    return (unsigned)kind < GSRT__SIGNAL_KIND_END;
}

/* node_actor.c */
gsrt_actor *gsrt__actor_find_moved(const gsrt_node *node, gsrt_address address); /* slow path of the next */
static inline gsrt_actor *gsrt__actor_find(const gsrt_node *node, gsrt_address address)
{
    if (address >> 32 == node->prefix) {
        uint32_t slot = (uint32_t)address & ((1u << GSRT__SLOT_BITS) - 1);
        if (slot < node->slot_count) {
            gsrt_actor *actor = node->slots[slot].actor;
            if (actor != NULL && actor->address == address)
                return actor;
        }
    }
    return node->places.count == 0 ? NULL : gsrt__actor_find_moved(node, address);
}
/* `address` NOBODY: a new one of this node. */
GSRT_MUST_CHECK gsrt_status gsrt__actor_start(gsrt_node *node, const gsrt_behaviour *behaviour, const void *arg,
                                              gsrt_address address, gsrt_address *out);
/* stop(), then everything that the others were promised. The memory is free afterwards. */
void gsrt__actor_end(gsrt_actor *actor, uint32_t reason);

/* node_send.c */
typedef struct gsrt__post {
    gsrt_kind kind;
    gsrt_address from, to;
    uint64_t call;
    uint64_t timeout_ns; /* of a call */
    bool is_reply;
    const void *body;
    gsrt_payload *payload;
} gsrt__post;
typedef enum gsrt__route_kind { GSRT__ROUTE_HERE, GSRT__ROUTE_RANK, GSRT__ROUTE_NOWHERE } gsrt__route_kind;
typedef struct gsrt__route {
    gsrt__route_kind kind;
    uint32_t rank;
    gsrt_address to; /* roles resolved where this node can */
    gsrt_actor *actor;
} gsrt__route;
gsrt__route gsrt__route_of(const gsrt_node *node, gsrt_address to);
/* The kind may be sent by actors, and the body is sound. GSRT_OK | GSRT_EINVAL. */
GSRT_MUST_CHECK gsrt_status gsrt__send_check(gsrt_kind kind, const void *body);
/* With back pressure: `self` (NULL: the outside) is noted when refused. GSRT_OK | GSRT_EFULL | GSRT_ENOMEM, and for a
 * rank GSRT_ELINK | GSRT_EINVAL. */
GSRT_MUST_CHECK gsrt_status gsrt__send_here(gsrt_actor *self, gsrt_node *node, gsrt_actor *to, const gsrt__post *post);
GSRT_MUST_CHECK gsrt_status gsrt__send_to_rank(gsrt_actor *self, gsrt_node *node, uint32_t rank,
                                               const gsrt__post *post);
/* What gsrt_send does, for any sender; `self` (NULL: the outside) is noted when refused. */
GSRT_MUST_CHECK gsrt_status gsrt__send_anywhere(gsrt_actor *self, gsrt_node *node, const gsrt__post *given);
/* Append to the queue; no limit is looked at. GSRT_OK | GSRT_ENOMEM. The body has been checked. */
GSRT_MUST_CHECK gsrt_status gsrt__enqueue(gsrt_node *node, gsrt_actor *to, const gsrt__post *post, uint32_t flags);
/* A signal or an answer of the runtime itself: never refused for lack of room; lost (and counted) without memory.
 * GSRT_OK | GSRT_ENOACTOR: `to` is nowhere | GSRT_ELINK: its rank is lost. */
gsrt_status gsrt__signal(gsrt_node *node, const gsrt__post *post, uint32_t flags);
void gsrt__signal_down(gsrt_node *node, gsrt_address to, gsrt_address subject, uint64_t call, uint32_t reason);
/* `self` (may be NULL) waits at `place`: it gets one WRITABLE of `rank`, with all that wait there. */
void gsrt__refused_add(gsrt_actor *self, gsrt__list *place, uint32_t rank);
void gsrt__refused_wake(gsrt_node *node, gsrt__list *place);
void gsrt__refusals_drop(gsrt_actor *actor); /* it waits nowhere any more */

/* node_wire.c */
/* GSRT_OK | GSRT_EFULL | GSRT_ELINK: the rank is lost | GSRT_EINVAL | GSRT_ELIMIT | GSRT_ENOMEM. */
GSRT_MUST_CHECK gsrt_status gsrt__wire_post(gsrt_node *node, uint32_t rank, const gsrt__post *post);
/* As above, but waits here when the peer's window is full. GSRT_OK | GSRT_ELINK. */
gsrt_status gsrt__wire_post_signal(gsrt_node *node, uint32_t rank, const gsrt__post *post);
void gsrt__wire_listen(gsrt_node *node);
void gsrt__wire_release_held(gsrt_node *node, uint64_t now_ns); /* those that have waited long enough */
void gsrt__wire_drop_held(gsrt_node *node);
void gsrt__wire_drop_pending(gsrt_node *node, uint32_t rank);
bool gsrt__wire_is_flushed(const gsrt_node *node);

/* courier.c */
void gsrt__courier_drop(gsrt_node *node, uint32_t rank); /* the letters that wait for it */

/* node_loop.c */
#define GSRT__EXIT_CODE_NONE INT32_MIN /* gsrt_node_finish has not been called */
/* A round that delivers at most message_count_max messages; returns how much was done. */
uint32_t gsrt__node_round(gsrt_node *node, uint32_t message_count_max);

/* node_deliver.c */
void gsrt__deliver_first(gsrt_node *node); /* the oldest record of the queue */

/* node_streams.c */
/* Take over what gsrt_node_pack_streams wrote. GSRT_OK | GSRT_EDECODE | GSRT_ENOMEM | GSRT_ELIMIT. */
GSRT_MUST_CHECK gsrt_status gsrt__streams_unpack(gsrt_node *node, gsrt_address actor, gsrt_span streams);

/* node_call.c */
void gsrt__alarm_ring(gsrt_node *node, gsrt__alarm *alarm); /* it is due and has been cancelled */
void gsrt__timer_drop(gsrt_node *node, gsrt__timer *timer);
/* The call is answered or void: forget it. */
void gsrt__call_close(gsrt_node *node, gsrt__call *call);
/* It ends in a DOWN to its caller. */
void gsrt__call_fail(gsrt_node *node, gsrt__call *call, uint32_t reason);
/* The open call `number` that `caller`, here, has made; NULL: none. */
gsrt__call *gsrt__call_find_made(const gsrt_node *node, gsrt_address caller, uint64_t number);
gsrt__call *gsrt__call_find_got(const gsrt_node *node, gsrt_address caller, uint64_t number);
/* A call of another rank has come for `callee`. GSRT_OK | GSRT_ELIMIT | GSRT_ENOMEM. */
GSRT_MUST_CHECK gsrt_status gsrt__call_note_got(gsrt_node *node, gsrt_actor *callee, gsrt_address caller,
                                                uint64_t number, uint64_t timeout_ns);

/* node_relation.c */
gsrt__relation *gsrt__relation_find(const gsrt_node *node, gsrt_address owner, gsrt__relation_kind kind,
                                    gsrt_address other);
void gsrt__relation_drop(gsrt_node *node, gsrt__relation *relation);
void gsrt__relations_end(gsrt_actor *actor, uint32_t reason);
void gsrt__relations_rank_lost(gsrt_node *node, uint32_t rank);
/* A MONITOR, UNMONITOR, LINK or UNLINK signal for `actor` (NULL: it is gone). */
void gsrt__relation_signal(gsrt_node *node, gsrt_actor *actor, const gsrt__record *record, const void *body);

/* node_directory.c. A value of places: the rank, or GSRT__PLACE_HERE and the slot; GSRT__PLACE_SURE: told by whoever
 * moved it, not learnt. */
#define GSRT__PLACE_HERE (1ull << 40)
#define GSRT__PLACE_SURE (1ull << 41)
void gsrt__directory_rank_lost(gsrt_node *node, uint32_t rank);
bool gsrt__place_rank(const gsrt_node *node, gsrt_address address,
                      uint32_t *out_rank); /* moved away, as far as known */
void gsrt__place_learn(gsrt_node *node, gsrt_address address, uint32_t rank);

#endif
