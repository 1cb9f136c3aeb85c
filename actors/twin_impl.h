/* Inside the twin: what it is made of. Its parts and their files:
 *
 *   twin.c          create, free, the loop            twin_link.c      the transport, links and their faults
 *   twin_life.c     deaths, starts, stops             twin_keepers.c   the keepers
 *   twin_disk.c     the disks
 *
 * A *parcel* is what arrives at a node: a message, or a signal of its transport or of the keepers. It waits in the
 * node's basket until the node's round takes it, so that callbacks run inside progress. A *connection* is a pair of
 * incarnations: parcels of another one than that of now are void.
 */
#ifndef GSRT_ACTORS_TWIN_IMPL_H
#define GSRT_ACTORS_TWIN_IMPL_H

#include "actors/events.h"
#include "actors/node_impl.h"
#include "actors/twin.h"
#include "actors/twin_disk.h"
#include "base/random.h"

typedef enum gsrt__parcel_kind {
    GSRT__PARCEL_MESSAGE,
    GSRT__PARCEL_WRITABLE,
    GSRT__PARCEL_DOWN,     /* incarnation from_incarnation of from_rank: why */
    GSRT__PARCEL_GREETING, /* of incarnation from_incarnation of from_rank */
    GSRT__PARCEL_WORD,
    GSRT__PARCEL_DEPOSITED,   /* number: the epoch */
    GSRT__PARCEL_UNREACHABLE, /* the keeper of from_rank, asked to end from_incarnation */
} gsrt__parcel_kind;

#define GSRT__INCARNATION_ANY UINT32_MAX

/* A word on its way to many. */
typedef struct gsrt__shared_word {
    uint32_t references;
    gsrt_keeper_word word;
} gsrt__shared_word;

typedef struct gsrt__parcel {
    struct gsrt__parcel *next; /* in the receiver's basket */
    gsrt__parcel_kind kind;
    bool is_by_link; /* waits for the end of a partition; false: it comes from this rank's own system */
    bool is_void;    /* was lost with its sender */
    uint32_t from_rank, from_incarnation, to_incarnation;
    uint32_t number;
    gsrt_status why;
    uint64_t left_ns;        /* when its last byte was on the wire */
    gsrt__shared_word *word; /* counted */
    gsrt_envelope envelope;
    uint32_t bytes; /* on the wire, without the payload */
    uint8_t body[];
} gsrt__parcel;

/* What a rank's transport thinks of a peer. */
typedef enum gsrt__pair_state {
    GSRT__PAIR_OPEN,
    GSRT__PAIR_FRESH,  /* this incarnation has not been answered yet */
    GSRT__PAIR_CLOSED, /* cut by this rank, or told to it as down */
} gsrt__pair_state;

/* A directed pair of ranks. */
typedef struct gsrt__pair {
    gsrt_twin_link link; /* bytes_per_ns 0: as every pair's */
    uint64_t link_free_ns, last_arrival_ns;
    uint64_t blocked_from_ns, blocked_until_ns; /* by a partition */
    uint32_t post_count;                        /* makes draws differ */
    uint16_t in_flight;                         /* posted in this connection, and not taken by the receiver */
    uint8_t to_incarnation;                     /* whom the sender is connected with */
    uint8_t state : 2;                          /* gsrt__pair_state */
    uint8_t is_refused : 1;                     /* a post found the window full: owes a WRITABLE */
    uint8_t is_broken : 1;                      /* messages of this connection are void */
} gsrt__pair;
_Static_assert(sizeof(gsrt__pair) == 56, "there is one for each two ranks");

typedef enum gsrt__order_kind {
    GSRT__ORDER_DEPOSIT,
    GSRT__ORDER_END,
    GSRT__ORDER_DRILL,
    GSRT__ORDER_FINISHED,
} gsrt__order_kind;

/* What is said to a keeper. */
typedef struct gsrt__order {
    gsrt__order_kind kind;
    bool is_void; /* was lost with its sender */
    uint32_t from_rank, from_incarnation;
    uint32_t incarnation; /* END */
    uint32_t epoch;       /* END: the last view that its sender deposited */
    gsrt_drill drill;
    uint32_t duration_ms;
    uint64_t asked_ns;
    gsrt_deposit deposit[]; /* DEPOSIT: one */
} gsrt__order;

typedef struct gsrt__twin_keeper {
    gsrt_keepers base; /* first: its worker's door to the keepers */
    gsrt_twin *twin;
    uint32_t rank;
    bool is_dead, is_spent, is_finished; /* no next incarnation comes */
    bool was_ordered;                    /* the last death */
    bool has_word;                       /* last_word was said */
    uint64_t died_ns;
    uint64_t refused_ns;                         /* when it first refused to end this incarnation; 0: never */
    gsrt_deposit *deposit;                       /* the last; owned; NULL: none was made */
    gsrt_keeper_word *last_word;                 /* owned; NULL: no death yet */
    uint64_t restarts_ns[GSRT_TWIN_RESTART_MAX]; /* a ring */
    uint32_t restart_count;                      /* ever */
} gsrt__twin_keeper;

typedef struct gsrt__twin_node {
    gsrt_transport transport; /* first: the node's transport is this struct */
    gsrt_twin *twin;
    gsrt_node *node; /* owned; NULL: dead */
    uint32_t rank, incarnation;
    bool is_dying;          /* killed inside a round: posts nothing any more */
    uint64_t busy_until_ns; /* it works on a message until then */
    uint64_t stopped_until_ns;
    uint64_t run_at_ns; /* of the RUN that counts; UINT64_MAX: none */
    double slowness;    /* >= 1 */
    uint32_t slow_number;
    uint32_t draw_count; /* makes the draws of its deaths differ */
    gsrt__parcel *basket_first, *basket_last;
    gsrt_transport_facts facts;
    gsrt__twin_keeper keeper;
    gsrt_twin_disk *disk; /* owned; NULL: not asked for */
} gsrt__twin_node;

struct gsrt_twin {
    gsrt_twin_options options;
    gsrt__twin_node *nodes;             /* [rank_count]; owned */
    gsrt__pair *pairs;                  /* [rank_count from][rank_count to]; owned */
    gsrt_twin_link_faults *link_faults; /* the same; owned; NULL: none were set */
    gsrt__events events;
    uint64_t now_ns, event_count, digest;
    uint32_t waiting_max;
    bool is_out_of_memory;
    bool is_inside; /* a node, or a callback of the owner, runs */
};

typedef enum gsrt__death { GSRT__DEATH_KILLED, GSRT__DEATH_ORDERED, GSRT__DEATH_LEFT } gsrt__death;

/* Draws for different purposes are independent. */
typedef enum gsrt__draw {
    GSRT__DRAW_JITTER, /* 0: as before there were others */
    GSRT__DRAW_LOSS,
    GSRT__DRAW_DUPLICATE,
    GSRT__DRAW_DELAY,
    GSRT__DRAW_WIRE,
    GSRT__DRAW_DEPOSIT,
} gsrt__draw;

static inline double gsrt__twin_draw(const gsrt_twin *twin, gsrt__draw purpose, uint32_t from, uint32_t to,
                                     uint64_t counter)
{
    return gsrt_random_f64(twin->options.seed, (uint64_t)purpose << 48 | (uint64_t)from << 32 | to, counter);
}

static inline gsrt__pair *gsrt__pair_of(const gsrt_twin *twin, uint32_t from, uint32_t to)
{
    return &twin->pairs[(size_t)from * twin->options.rank_count + to];
}

static inline const gsrt_twin_link *gsrt__link_of(const gsrt_twin *twin, const gsrt__pair *pair)
{
    return pair->link.bytes_per_ns > 0 ? &pair->link : &twin->options.link;
}

static inline uint64_t gsrt__later(uint64_t time_ns, uint64_t by_ns)
{
    return by_ns > UINT64_MAX - time_ns ? UINT64_MAX : time_ns + by_ns;
}

static inline bool gsrt__is_alive(const gsrt__twin_node *self) /* and not finished */
{
    return self->node != NULL && !self->is_dying && !gsrt_node_is_finished(self->node);
}

/* twin.c. Events at UINT64_MAX never come and are not planned. */
void gsrt__twin_plan(gsrt_twin *twin, const gsrt__event *event);
void gsrt__twin_plan_run(gsrt__twin_node *self, uint64_t time_ns);
void gsrt__twin_plan_next(gsrt__twin_node *self);
void gsrt__twin_note(gsrt_twin *twin, uint64_t value);
/* A node for `self->incarnation`. */
GSRT_MUST_CHECK gsrt_status gsrt__twin_node_make(gsrt__twin_node *self);

/* twin_link.c */
extern const gsrt_transport_ops gsrt__twin_transport_ops;
void gsrt__parcel_free(gsrt__parcel *parcel);
/* Plan the arrival of a signal, no earlier than `time_ns`; by link also not before what was posted there already. NULL:
 * never, or the twin is out of memory | borrowed until the next call: its fields may still be set. */
gsrt__parcel *gsrt__twin_signal(gsrt_twin *twin, gsrt__parcel_kind kind, uint32_t from, uint32_t to, bool is_by_link,
                                uint64_t time_ns);
void gsrt__twin_arrive(gsrt_twin *twin, uint32_t rank, gsrt__parcel *parcel);
/* Both sides learn that the link has failed. */
void gsrt__twin_break(gsrt_twin *twin, uint32_t a, uint32_t b, uint32_t connection);
/* Names the connection of two ranks, for gsrt__twin_break. */
uint32_t gsrt__twin_connection(const gsrt_twin *twin, uint32_t a, uint32_t b);

/* twin_life.c */
void gsrt__twin_die(gsrt__twin_node *self, gsrt__death how);
void gsrt__twin_leave(gsrt__twin_node *self, uint32_t incarnation);
void gsrt__twin_start(gsrt__twin_node *self, uint32_t incarnation);
void gsrt__twin_run_node(gsrt__twin_node *self);
void gsrt__twin_look_at(gsrt__twin_node *self); /* it may have something to do, or want to start again */

/* twin_keepers.c */
extern const gsrt_keepers_ops gsrt__twin_keepers_ops;
void gsrt__keeper_died(gsrt__twin_node *self, gsrt__death how); /* the worker */
void gsrt__keeper_say_word(gsrt__twin_node *self, uint32_t incarnation);
void gsrt__keeper_carry_out(gsrt__twin_node *self, gsrt__order *order); /* taken */
bool gsrt__keeper_is_over(const gsrt__twin_keeper *keeper);             /* no next incarnation comes */
void gsrt__keeper_fini(gsrt__twin_keeper *keeper);
/* Of what `self` had said to its keeper, only a drawn part has come through. */
void gsrt__keeper_lose_deposits(gsrt__twin_node *self);
void gsrt__shared_word_unref(gsrt__shared_word *word);

#endif
