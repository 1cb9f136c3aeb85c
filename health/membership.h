/* Membership: who is a member. A pure machine, one per process; views are numbered by epoch, each is decided by one
 * round of Paxos among the members of the view before it. health/README.md says the protocol and why it is safe.
 *
 *   events    BEGIN, TICK, SUSPECT, WORD, UNREACHABLE, DEPOSITED, JOIN, MESSAGE; each carries the time
 *   actions   drawn with gsrt_membership_poll until it says false, and carried out in that order
 *
 *   JOINING ------------- a decided view names us -------------> MEMBER
 *      |                                                            |
 *      |  a newer incarnation of ours is a member                   |  a decided view does not name us
 *      +----------------------------> LEFT <------------------------+
 *
 *   JOINING  no view, no vote; asks to join
 *   MEMBER   votes in the view; installed once the own keeper holds it
 *   LEFT     says nothing any more; EXIT was ordered
 *
 * Invariants (gsrt_membership_check: those of one machine; the tests check 1 and 2 over all of them):
 *   1. one value per epoch: two machines that install the same epoch install the same members;
 *   2. at most one lineage emits: an unfenced member of an older view is a member of every newer view that has an
 *      unfenced member, and at most one unfenced machine is the coordinator of its own view;
 *   3. epochs never go back, and an installed view names the machine that installed it;
 *   4. who says ACCEPTED or installs has a deposit of that at its keeper;
 *   5. who has promised a ballot of the next view does not confirm contact in this one.
 *
 * Assumptions: clocks run at the same rate within 1 in 256 (their values do not matter); a keeper answers each deposit
 * once, in order, and answers an order to end an incarnation that is dead already with its word; messages may be lost,
 * repeated, delayed and reordered.
 * Memory: about 150 bytes per possible rank and six views. Cost: a step O(ranks), one every contact_ns
 * O(ranks log ranks). Thread: its owner's. Source: Lamport, "Paxos made simple", 2001; leases: Gray and Cheriton 1989.
 * Test: tests/health/membership_test.c; model: docs/models/membership.pml.
 */
#ifndef GSRT_HEALTH_MEMBERSHIP_H
#define GSRT_HEALTH_MEMBERSHIP_H

#include "base/buffer.h"
#include "base/span.h"
#include "mailbox/keepers.h"

/* The members under one epoch. */
typedef struct gsrt_membership_view {
    uint32_t epoch; /* 0: none */
    uint32_t rank_count;
    /* It begins only when those that it leaves out, and may be alive, have stopped emitting. */
    bool is_leased;
    uint32_t incarnations[GSRT_RANK_COUNT_MAX]; /* [rank_count]; GSRT_NOT_A_MEMBER */
} gsrt_membership_view;

/* The member that coordinates and emits: the smallest (incarnation, rank). GSRT_NOT_A_MEMBER: no members. O(ranks). */
uint32_t gsrt_membership_coordinator(const gsrt_membership_view *view);

/* What machines say to each other. `epoch` is the sender's own view, except in DECIDED (the decided one) and JOIN
 * (0).*/
typedef enum gsrt_membership_message_type {
    GSRT_MEMBERSHIP_PREPARE = 1, /* ballot */
    GSRT_MEMBERSHIP_PROMISE,     /* ballot; accepted_ballot and value, when one was accepted */
    GSRT_MEMBERSHIP_REJECT,      /* ballot: the higher one that was promised */
    GSRT_MEMBERSHIP_ACCEPT,      /* ballot, value */
    GSRT_MEMBERSHIP_ACCEPTED,    /* ballot */
    GSRT_MEMBERSHIP_DECIDED,     /* value: what the sender's view is */
    GSRT_MEMBERSHIP_PING,        /* time_ns */
    GSRT_MEMBERSHIP_PONG,        /* time_ns of the ping */
    GSRT_MEMBERSHIP_JOIN,        /* rank, incarnation: who wants to join, not always the sender */
} gsrt_membership_message_type;

typedef struct gsrt_membership_message {
    gsrt_membership_message_type type;
    uint32_t from_rank, from_incarnation;
    uint32_t rank, incarnation; /* JOIN; else 0 */
    uint32_t epoch;
    uint64_t ballot;
    uint64_t accepted_ballot;
    uint64_t time_ns;
    gsrt_membership_view value; /* epoch 0: none, and then the incarnations are unspecified */
} gsrt_membership_message;

/* Whether these types carry a value: PROMISE (may), ACCEPT, DECIDED. */
bool gsrt_membership_message_has_value(const gsrt_membership_message *message);
/* Limits and agreement of the fields, of bytes from outside. GSRT_OK | GSRT_EINVAL. */
GSRT_MUST_CHECK gsrt_status gsrt_membership_message_validate(const gsrt_membership_message *message,
                                                             uint32_t rank_count);

typedef enum gsrt_membership_event_kind {
    GSRT_MEMBERSHIP_BEGIN = 1,   /* once, first */
    GSRT_MEMBERSHIP_TICK,        /* the time of the last TIMER has come; more of them do no harm */
    GSRT_MEMBERSHIP_SUSPECT,     /* rank, incarnation: a detector finds it silent or broken */
    GSRT_MEMBERSHIP_WORD,        /* word; join_wait_ns: how long its next incarnation is waited for (0: not) */
    GSRT_MEMBERSHIP_UNREACHABLE, /* rank, incarnation: its keeper does not answer the order to end it */
    GSRT_MEMBERSHIP_DEPOSITED,   /* epoch: the own keeper holds the last DEPOSIT */
    GSRT_MEMBERSHIP_JOIN_ASKED,  /* rank, incarnation: a new incarnation has connected */
    GSRT_MEMBERSHIP_MESSAGE,     /* message */
} gsrt_membership_event_kind;

typedef struct gsrt_membership_event {
    gsrt_membership_event_kind kind;
    uint64_t now_ns;
    uint32_t rank, incarnation;
    uint32_t epoch;
    uint64_t join_wait_ns;
    union {
        gsrt_keeper_word word;
        gsrt_membership_message message;
    };
} gsrt_membership_event;

/* Why nothing may be emitted. */
typedef enum gsrt_membership_fence {
    GSRT_FENCE_NONE,
    GSRT_FENCE_NO_VIEW,     /* it has not been admitted yet */
    GSRT_FENCE_CHANGING,    /* a view was decided; its deposit, or the first contact in it, is on the way */
    GSRT_FENCE_LEASE,       /* the view waits until those it leaves out have stopped */
    GSRT_FENCE_NO_QUORUM,   /* no contact with a quorum of the view for lease_ns */
    GSRT_FENCE_UNREACHABLE, /* the same, and keepers that could make it certain cannot be reached */
    GSRT_FENCE_LEFT,        /* a later view does not name it */
} gsrt_membership_fence;
/* One line for a person; static, never NULL. */
const char *gsrt_membership_fence_text(gsrt_membership_fence fence);

typedef enum gsrt_membership_action_kind {
    GSRT_MEMBERSHIP_FENCE = 1,  /* fence: emit nothing from now on. Again when only the reason changed. */
    GSRT_MEMBERSHIP_END_WORKER, /* rank, incarnation: have its keeper end it */
    GSRT_MEMBERSHIP_DEPOSIT,    /* deposit: have the own keeper hold it; answer with DEPOSITED */
    GSRT_MEMBERSHIP_SEND,       /* message, to `rank` */
    GSRT_MEMBERSHIP_INSTALL,    /* view: it is in force; epochs rise from one to the next */
    GSRT_MEMBERSHIP_UNFENCE,    /* emitting is allowed */
    GSRT_MEMBERSHIP_EXIT,       /* end this process; its keeper starts the next incarnation */
    GSRT_MEMBERSHIP_TIMER,      /* at_ns: TICK then; it replaces the timer before it */
} gsrt_membership_action_kind;

typedef struct gsrt_membership_action {
    gsrt_membership_action_kind kind;
    uint32_t rank, incarnation;
    uint64_t at_ns;
    gsrt_membership_fence fence;
    union {
        gsrt_deposit deposit;
        gsrt_membership_message message;
        gsrt_membership_view view;
    };
} gsrt_membership_action;

typedef struct gsrt_membership_options {
    uint32_t rank, incarnation;
    uint32_t rank_count;   /* 1..GSRT_RANK_COUNT_MAX */
    uint64_t lease_ns;     /* who had no contact with a quorum for that long, stops emitting */
    uint64_t detection_ns; /* between two orders to end a worker; what the higher ranks wait with theirs */
    uint64_t retry_ns;     /* until an unanswered message is sent again */
    uint64_t takeover_ns;  /* without a decision, the next rank proposes after that; several retries */
    uint64_t contact_ns;   /* between two pings; a fraction of lease_ns */
    const uint32_t *first; /* [rank_count] incarnations of view 1, GSRT_NOT_A_MEMBER; NULL: all 0. Copied. */
} gsrt_membership_options;

typedef struct gsrt_membership gsrt_membership;

/* Owned. A machine that view 1 does not name begins as a joiner.
 * GSRT_OK | GSRT_EINVAL (counts, a time of 0 or past GSRT_TIMEOUT_NS_MAX) | GSRT_ENOMEM. */
GSRT_MUST_CHECK gsrt_status gsrt_membership_create(const gsrt_membership_options *options, gsrt_membership **out);
gsrt_membership *gsrt_membership_free(gsrt_membership *machine);

/* One event. Times never go back: an earlier one counts as the last. Events that make no sense now change nothing.
 * GSRT_OK | GSRT_EINVAL: ranks or a message past the limits; nothing has changed. */
GSRT_MUST_CHECK gsrt_status gsrt_membership_step(gsrt_membership *machine, const gsrt_membership_event *event);
/* The next action; false: none until the next event. Draw all before the next event. */
bool gsrt_membership_poll(gsrt_membership *machine, gsrt_membership_action *out);

/* Whether something may be emitted at this time; ask right before it, since a timer may come late. O(1). */
gsrt_membership_fence gsrt_membership_fenced(const gsrt_membership *machine, uint64_t now_ns);
/* The view that was installed last; epoch 0: none. Borrowed until the next step. */
const gsrt_membership_view *gsrt_membership_installed(const gsrt_membership *machine);
/* Invariants 3 to 5; true when they hold. For tests. O(ranks). */
bool gsrt_membership_check(const gsrt_membership *machine);

/* ---- for trace and replay: one msgpack value each (health/membership_codec.c) ---- */

/* Append it. GSRT_OK | GSRT_ENOMEM | GSRT_ELIMIT. */
GSRT_MUST_CHECK gsrt_status gsrt_membership_options_encode(const gsrt_membership_options *options, gsrt_buffer *buffer);
GSRT_MUST_CHECK gsrt_status gsrt_membership_event_encode(const gsrt_membership_event *event, gsrt_buffer *buffer);
GSRT_MUST_CHECK gsrt_status gsrt_membership_action_encode(const gsrt_membership_action *action, gsrt_buffer *buffer);
/* Fields that the kind does not have are 0. GSRT_OK | GSRT_EDECODE. */
GSRT_MUST_CHECK gsrt_status gsrt_membership_event_decode(gsrt_span bytes, gsrt_membership_event *out);
GSRT_MUST_CHECK gsrt_status gsrt_membership_action_decode(gsrt_span bytes, gsrt_membership_action *out);
/* first: room for out->first [GSRT_RANK_COUNT_MAX]. GSRT_OK | GSRT_EDECODE. */
GSRT_MUST_CHECK gsrt_status gsrt_membership_options_decode(gsrt_span bytes, uint32_t *first,
                                                           gsrt_membership_options *out);
/* "send"; static; NULL for no kind. */
const char *gsrt_membership_action_name(gsrt_membership_action_kind kind);

#endif
