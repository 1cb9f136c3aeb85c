/* A node: the actors of one rank, their inboxes, timers, directory, and the loop that runs them.
 *
 * It reaches outside only through its world: a clock and a transport. The real world is the monotonic clock, UCX or
 * in-process queues, and blocking on file descriptors; the twin (actors/twin.h) is an event queue with virtual time.
 * Legal order: create, bind, spawn, step / run, free. Thread: one, except gsrt_node_post_foreign and gsrt_node_wake.
 */
#ifndef GSRT_ACTORS_NODE_H
#define GSRT_ACTORS_NODE_H

#include "actors/actor.h"
#include "base/buffer.h"
#include "mailbox/transport.h"

/* What the node tells the recorder (ckpt/ fulfils it; launch/ joins them); every function may be NULL. now_ns is when
 * the node's round began, to half a microsecond: one reading of the clock serves all that a round does. */
typedef struct gsrt_node_recorder {
    void *arg;
    void (*message)(void *arg, uint64_t now_ns, const gsrt_envelope *envelope, bool is_sent);
    void (*init)(void *arg, uint64_t now_ns, gsrt_address actor, uint64_t id, uint64_t cause, const char *machine,
                 gsrt_span bytes);
    void (*event)(void *arg, uint64_t now_ns, gsrt_address actor, uint64_t id, uint64_t cause, const char *machine,
                  gsrt_span bytes);
    void (*action)(void *arg, uint64_t now_ns, gsrt_address actor, uint64_t id, uint64_t cause, const char *machine,
                   gsrt_span bytes);
    void (*catch_up)(void *arg); /* the node has nothing to do: what was put off can be done now */
} gsrt_node_recorder;

typedef struct gsrt_node_options {
    uint32_t rank, rank_count, incarnation;
    gsrt_transport *transport;       /* taken: freed with the node; NULL: a node alone */
    uint64_t (*clock_ns)(void *arg); /* NULL: CLOCK_MONOTONIC */
    void *clock_arg;
    uint64_t spin_ns;  /* spin this long before blocking; 0: do not */
    uint64_t yield_ns; /* then yield the processor this long before blocking: where ranks outnumber processors it is
                          another rank that gets it, and neither pays for being put to sleep and woken */
    gsrt_node_recorder recorder;
} gsrt_node_options;

/* Owned; GSRT_OK | GSRT_ENOMEM | GSRT_EINVAL. */
GSRT_MUST_CHECK gsrt_status gsrt_node_create(const gsrt_node_options *options, gsrt_node **out);
gsrt_node *gsrt_node_free(gsrt_node *node); /* stops every actor (SHUTDOWN) first */

uint32_t gsrt_node_rank(const gsrt_node *node);
uint32_t gsrt_node_rank_count(const gsrt_node *node);
uint32_t gsrt_node_epoch(const gsrt_node *node);
uint64_t gsrt_node_now_ns(const gsrt_node *node); /* of its world's clock */

/* Start an actor from outside any actor. */
GSRT_MUST_CHECK gsrt_status gsrt_node_spawn(gsrt_node *node, const gsrt_behaviour *behaviour, const void *arg,
                                            gsrt_address *out);
/* Post a message from outside any actor (from = nobody). Node's thread. */
GSRT_MUST_CHECK gsrt_status gsrt_node_post(gsrt_node *node, gsrt_address to, gsrt_kind kind, const void *body,
                                           gsrt_payload *payload);
/* Post a flat body (scalars only) from any thread, and wake the node. Bounded; GSRT_OK | GSRT_EFULL. */
GSRT_MUST_CHECK gsrt_status gsrt_node_post_foreign(gsrt_node *node, gsrt_address to, gsrt_kind kind, const void *body);
/* Make a blocked node look again. Any thread; also safe in a signal handler. */
void gsrt_node_wake(gsrt_node *node);

/* One round: transport, foreign posts, timers due, and messages that were waiting. Never blocks.
 * Returns how much was done; 0: idle. */
uint32_t gsrt_node_step(gsrt_node *node);
/* When the next timer is due; UINT64_MAX: none. */
uint64_t gsrt_node_next_timer_ns(const gsrt_node *node);
/* step until `gsrt_node_finish` was called; block when idle (arm the transport, poll with the wake fd and timers). */
void gsrt_node_run(gsrt_node *node);
/* Make gsrt_node_run return after the current round, once what was posted has left this process (bounded wait). */
void gsrt_node_finish(gsrt_node *node, int exit_code);
int gsrt_node_exit_code(const gsrt_node *node);
bool gsrt_node_is_finished(const gsrt_node *node);

/* The detector's verdict: `rank` is gone. Calls to it end in DOWN, monitors and links fire, its roles are unbound. */
void gsrt_node_rank_lost(gsrt_node *node, uint32_t rank);
/* Called when the transport suspects a peer; default (NULL): the suspicion is believed (gsrt_node_rank_lost). */
void gsrt_node_on_suspect(gsrt_node *node, void (*on_suspect)(void *arg, uint32_t rank, gsrt_status why), void *arg);

/* A new view: its epoch, larger than the last. Data messages (kinds from START on) of other epochs are refused and
 * counted, waiting ones too; open calls end in DOWN (GSRT_EXIT_EPOCH); all roles are unbound, to be bound anew. */
void gsrt_node_set_epoch(gsrt_node *node, uint32_t epoch);
/* The incarnation of a rank's process in this view; at first that of the node itself. Messages of others are refused.
 * Another one than before implies that the one before is lost (as gsrt_node_rank_lost, but the transport, which has
 * said on_join, is not told); the new one is not. */
void gsrt_node_set_incarnation(gsrt_node *node, uint32_t rank, uint32_t incarnation);
/* Called when the transport has connected with a new incarnation of a peer; default (NULL): it is believed
 * (gsrt_node_set_incarnation). */
void gsrt_node_on_join(gsrt_node *node, void (*on_join)(void *arg, uint32_t rank, uint32_t incarnation), void *arg);

/* Called when the transport has gone deaf (mailbox/transport.h); default (NULL): the node finishes with
 * GSRT_EXIT_AGAIN, because the next incarnation will hear. */
void gsrt_node_on_deaf(gsrt_node *node, void (*on_deaf)(void *arg), void *arg);

/* Who is told of the node's messages, events and actions from now on; at first that of its options. Copied. */
void gsrt_node_set_recorder(gsrt_node *node, const gsrt_node_recorder *recorder);
/* How many times as long modelled work takes here, >= 1: other than 1 only in the twin (gsrt_twin_slow). */
void gsrt_node_set_slowness(gsrt_node *node, double slowness);
double gsrt_node_slowness(const gsrt_node *node);

/* An actor that lived here (or was born here) is on `rank` now: messages for it are forwarded, and their senders' ranks
 * told, until `rank` is lost. The actor must have ended here. GSRT_OK | GSRT_EINVAL | GSRT_ESTATE: it is here |
 * GSRT_ELIMIT | GSRT_ENOMEM. */
GSRT_MUST_CHECK gsrt_status gsrt_node_forward(gsrt_node *node, gsrt_address actor, uint32_t rank);
/* The numbers of its streams with actors of other ranks (msgpack), for gsrt_node_adopt: taken where the actor was,
 * before or after its end there. Appended to `out`. GSRT_OK | GSRT_ENOMEM | GSRT_ELIMIT. Cost: O(streams of the node).
 */
GSRT_MUST_CHECK gsrt_status gsrt_node_pack_streams(const gsrt_node *node, gsrt_address actor, gsrt_buffer *out);
/* Start an actor here under the address that it had elsewhere. `streams` go on where they were (empty: there were
 * none). Messages that overtake others on their way by the old rank are held back until those have come, at most
 * GSRT_HOLD_MS. GSRT_OK | GSRT_EINVAL | GSRT_ESTATE: it is here | GSRT_EDECODE: streams | as gsrt_node_spawn. */
GSRT_MUST_CHECK gsrt_status gsrt_node_adopt(gsrt_node *node, const gsrt_behaviour *behaviour, const void *arg,
                                            gsrt_address address, gsrt_span streams);

typedef struct gsrt_node_facts {
    uint64_t messages_local;    /* sent and replied within the node */
    uint64_t messages_sent;     /* given to the transport */
    uint64_t messages_received; /* got from it */
    uint64_t messages_dropped;  /* to somebody gone or unknown; late replies; a DOWN or EXIT that nobody waits for */
    uint64_t messages_refused;  /* stale, undecodable, duplicate, of a kind that never comes from another rank */
    uint64_t messages_forwarded, messages_held;
    uint64_t inbox_bytes_max; /* most bytes that waited at once, payloads included */
    uint32_t actor_count;
    uint32_t call_count, timer_count, relation_count; /* open now */
} gsrt_node_facts;
void gsrt_node_read_facts(const gsrt_node *node, gsrt_node_facts *out);
const gsrt_transport *gsrt_node_transport(const gsrt_node *node); /* borrowed; NULL: a node alone */
/* All invariants (actors/node_impl.h) hold: for tests, after each step. Cost: O(everything). */
bool gsrt_node_check(const gsrt_node *node);

#endif
