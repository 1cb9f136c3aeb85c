/* Actors: the unit of everything that runs.
 *
 * An actor is a behaviour (table of functions) and a state (bytes). It runs on its node's thread, one message at a
 * time, never blocks, and reaches everything outside itself through its node. Long work goes to a device and comes back
 * as a message.
 *
 * Promises: per (sender, receiver) messages arrive in order, each at most once. A call ends in exactly one reply or
 * one DOWN (carrying the call's number), within its time. Messages to an actor that is gone are dropped; monitors and
 * links tell.
 *
 * Thread: all functions here run on the node's thread, inside a behaviour's function (`self` is the running actor).
 */
#ifndef GSRT_ACTORS_ACTOR_H
#define GSRT_ACTORS_ACTOR_H

#include "base/status.h"
#include "mailbox/envelope.h"

typedef struct gsrt_actor gsrt_actor; /* the running actor, as its own functions see it */
typedef struct gsrt_node gsrt_node;

typedef struct gsrt_message {
    gsrt_kind kind;
    gsrt_address from;
    uint64_t call; /* a call: answer with gsrt_reply; a reply or a DOWN of a call: the number gsrt_call gave */
    bool is_reply;
    uint64_t cause; /* id of this delivery's cause, for traces */
    uint32_t epoch;
    const void *body;      /* the decoded struct gsrt_msg_<kind>; borrowed until receive returns */
    gsrt_payload *payload; /* borrowed until receive returns: ref it to keep it; or NULL */
} gsrt_message;

typedef struct gsrt_behaviour {
    const char *name;                                                    /* "region" */
    size_t state_bytes;                                                  /* zeroed before init */
    gsrt_status (*init)(gsrt_actor *self, void *state, const void *arg); /* may be NULL; an error: spawn fails */
    void (*receive)(gsrt_actor *self, void *state, const gsrt_message *message);
    void (*stop)(gsrt_actor *self, void *state, uint32_t reason); /* free what the state owns; may be NULL */
} gsrt_behaviour;

/* Reasons of an end. */
enum {
    GSRT_EXIT_NORMAL = 0,
    GSRT_EXIT_SHUTDOWN = 1,  /* its supervisor or node stops */
    GSRT_EXIT_CRASH = 2,     /* it gave up (gsrt_exit) */
    GSRT_EXIT_TIMEOUT = 3,   /* DOWN of a call: no reply in time */
    GSRT_EXIT_NO_ACTOR = 4,  /* DOWN: there was nobody */
    GSRT_EXIT_RANK_LOST = 5, /* DOWN: its rank is gone */
    GSRT_EXIT_EPOCH = 6,     /* DOWN: a view change voided it */
    GSRT_EXIT_REFUSED = 7,   /* DOWN of a call: not decodable there, or too many calls open */
};

gsrt_address gsrt_self(const gsrt_actor *self);
gsrt_node *gsrt_node_of(const gsrt_actor *self);
/* Time of this world in ns, from an arbitrary start; constant during one receive in the twin. */
uint64_t gsrt_now_ns(const gsrt_actor *self);

/* Start an actor on this node; `self` is its parent (not linked). *out its address. GSRT_OK | GSRT_ENOMEM |
 * GSRT_ELIMIT | init's error. */
GSRT_MUST_CHECK gsrt_status gsrt_spawn(gsrt_actor *self, const gsrt_behaviour *behaviour, const void *arg,
                                       gsrt_address *out);

/* Post a message; `body` is the kind's struct, copied; payload (or NULL) is ref'ed.
 * GSRT_OK | GSRT_EFULL: back pressure, a WRITABLE message comes when it is worth trying again | GSRT_EINVAL: a field
 * past its limit. To somebody gone or unknown: GSRT_OK, dropped and counted. */
GSRT_MUST_CHECK gsrt_status gsrt_send(gsrt_actor *self, gsrt_address to, gsrt_kind kind, const void *body,
                                      gsrt_payload *payload);

/* A request: exactly one reply, or one DOWN with this call's number, within timeout_ns. *out_call its number. */
GSRT_MUST_CHECK gsrt_status gsrt_call(gsrt_actor *self, gsrt_address to, gsrt_kind kind, const void *body,
                                      gsrt_payload *payload, uint64_t timeout_ns, uint64_t *out_call);
/* Answer a call. May be done later: keep `from` and `call`. */
GSRT_MUST_CHECK gsrt_status gsrt_reply(gsrt_actor *self, gsrt_address to, uint64_t call, gsrt_kind kind,
                                       const void *body, gsrt_payload *payload);

/* A TIMER message with `tag` after delay_ns. *out_timer (may be NULL) names it for cancelling. */
GSRT_MUST_CHECK gsrt_status gsrt_timer_start(gsrt_actor *self, uint64_t delay_ns, uint64_t tag, uint64_t *out_timer);
void gsrt_timer_cancel(gsrt_actor *self, uint64_t timer); /* after it no TIMER of it arrives */

/* One DOWN with subject = `other` when it ends (at once if it is gone). */
GSRT_MUST_CHECK gsrt_status gsrt_monitor(gsrt_actor *self, gsrt_address other);
void gsrt_unmonitor(gsrt_actor *self, gsrt_address other);
/* Whoever of the two ends abnormally ends the other with it, unless that one traps exits: then it gets an EXIT. */
GSRT_MUST_CHECK gsrt_status gsrt_link(gsrt_actor *self, gsrt_address other);
void gsrt_unlink(gsrt_actor *self, gsrt_address other);
void gsrt_trap_exits(gsrt_actor *self, bool is_trapping);

/* End this actor after the running function returns. */
void gsrt_exit(gsrt_actor *self, uint32_t reason);
/* End another one (asynchronous, from any rank). */
GSRT_MUST_CHECK gsrt_status gsrt_kill(gsrt_actor *self, gsrt_address other, uint32_t reason);

/* The directory: who plays a role in this epoch. Each node is told the same by whoever places actors. */
GSRT_MUST_CHECK gsrt_status gsrt_role_bind(gsrt_node *node, gsrt_address role, gsrt_address actor);
/* GSRT_NOBODY when unbound. */
gsrt_address gsrt_role_resolve(const gsrt_node *node, gsrt_address role);

/* Note in the trace that a pure machine of this actor begins, with all that is needed to create it anew; then its
 * events and actions, before they are carried out: after each event all actions that it led to. `bytes` is msgpack. */
void gsrt_record_init(gsrt_actor *self, const char *machine, gsrt_span bytes);
void gsrt_record_event(gsrt_actor *self, const char *machine, gsrt_span bytes);
void gsrt_record_action(gsrt_actor *self, const char *machine, gsrt_span bytes);

#endif
