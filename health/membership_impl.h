/* Inside of the membership machine; for health/membership*.c and its tests.
 *
 * A ballot is (claimed weight of the dead, round, rank), compared as one number:
 *
 *      63        48 47                          16 15         0
 *     +------------+------------------------------+------------+
 *     |   claim    |            round             |    rank    |
 *     +------------+------------------------------+------------+
 */
#ifndef GSRT_HEALTH_MEMBERSHIP_IMPL_H
#define GSRT_HEALTH_MEMBERSHIP_IMPL_H

#include "health/membership.h"

#define GSRT__BALLOT_FINAL UINT64_MAX /* in a deposit: the view was decided */
#define GSRT__ROUND_MAX (UINT32_MAX - 1)

typedef enum gsrt__membership_phase {
    GSRT__MEMBERSHIP_JOINING,
    GSRT__MEMBERSHIP_MEMBER,
    GSRT__MEMBERSHIP_LEFT,
} gsrt__membership_phase;

/* Of our own proposal. */
typedef enum gsrt__membership_stage { GSRT__IDLE, GSRT__PREPARING, GSRT__ACCEPTING } gsrt__membership_stage;

/* A keeper's word, without the members. */
typedef struct gsrt__word_note {
    bool is_known;
    uint32_t incarnation;
    uint32_t epoch; /* of its last deposit */
    uint64_t ballot;
} gsrt__word_note;

typedef struct gsrt__peer {
    gsrt__word_note word;      /* of the member's own incarnation, or of a later one that tells what it deposited */
    gsrt__word_note next_word; /* of the newest other one */
    bool is_joining;
    uint32_t join_incarnation;
    bool is_suspected, is_unreachable;
    uint64_t ask_ns;         /* when the order to end it goes out next, where is_suspected */
    uint64_t unreachable_ns; /* when that was said */
    uint64_t hold_ns;        /* its next incarnation is waited for until then */
    uint64_t contact_ns;     /* contact holds until then; 0: none in this view */
    uint64_t pong_ns;        /* to be echoed */
    uint64_t ping_back_ns;   /* a ping of it is answered with one from then on */
    bool has_voted;          /* in the stage of our proposal */
    uint32_t sends;          /* bits: 1 << gsrt_membership_message_type */
    bool is_to_end;          /* END_WORKER is to be drawn */
    bool is_relayed;         /* its JOIN is to be passed on to the proposer */
} gsrt__peer;

struct gsrt_membership {
    gsrt_membership_options options;
    uint64_t now_ns;
    gsrt__membership_phase phase;
    bool has_begun;

    /* the view */
    gsrt_membership_view view; /* decided */
    gsrt_membership_view installed;
    uint64_t start_ns;     /* it may emit from then on */
    uint64_t installed_ns; /* when */
    uint64_t contact_ns;   /* contact with a quorum holds until then, at least; never later than the truth */

    /* acceptor of the next view */
    uint64_t promised_ballot; /* 0: none */
    uint64_t promised_ns;     /* when the first promise was given */
    uint64_t accepted_ballot; /* 0: none */
    gsrt_membership_view accepted;
    uint64_t accepted_ns; /* when this value was first seen */

    /* the keeper: what it holds, and what it was given and has not confirmed (epoch 0: nothing) */
    uint32_t held_epoch, given_epoch;
    uint64_t held_ballot, given_ballot;

    /* proposer of the next view */
    gsrt__membership_stage stage;
    uint64_t ballot;
    uint64_t seen_ballot; /* the highest of any message about the next view */
    uint64_t best_ballot; /* what the promises told; 0: nothing was accepted */
    gsrt_membership_view best;
    gsrt_membership_view proposal;
    bool is_change_due;
    uint64_t propose_ns;    /* when it is our turn, where a change is due */
    uint64_t not_before_ns; /* another one's proposal is given that long */
    uint64_t retry_ns;

    /* what the words told: the highest (epoch, ballot), past our view */
    uint64_t late_ballot;
    gsrt_membership_view late;

    uint64_t ping_ns;
    uint64_t again_ns;   /* where orders to end go to one after the other: the next one, at the earliest */
    uint32_t again_rank; /* the last one */

    /* to be drawn */
    bool is_fence_due, is_deposit_due, is_install_due, is_exit_due, is_timer_due;
    gsrt_membership_fence fence; /* what was said last */
    uint64_t timer_ns;
    uint32_t cursor; /* ranks before it have nothing to be drawn */

    gsrt__peer peers[GSRT_RANK_COUNT_MAX];
};

/* membership_view.c: views and weights. Every member weighs 2, the lowest rank 3: of two halves, one is heavier. */
void gsrt__view_copy(gsrt_membership_view *to, const gsrt_membership_view *from);
bool gsrt__view_equal(const gsrt_membership_view *a, const gsrt_membership_view *b); /* members only */
bool gsrt__view_valid(const gsrt_membership_view *view, uint32_t rank_count);
bool gsrt__is_member(const gsrt_membership_view *view, uint32_t rank, uint32_t incarnation);
uint32_t gsrt__lowest(const gsrt_membership_view *view);
uint32_t gsrt__weight_all(const gsrt_membership *machine);
bool gsrt__is_dead(const gsrt_membership *machine, uint32_t rank);
bool gsrt__has_testament(const gsrt_membership *machine, uint32_t rank);
uint32_t gsrt__weight_testaments(const gsrt_membership *machine);
uint32_t gsrt__position(const gsrt_membership *machine, uint32_t rank);

static inline uint64_t gsrt__ballot(uint32_t claim, uint32_t round, uint32_t rank)
{
    return (uint64_t)claim << 48 | (uint64_t)round << 16 | rank;
}

static inline uint32_t gsrt__ballot_claim(uint64_t ballot)
{
    return (uint32_t)(ballot >> 48);
}

static inline uint32_t gsrt__ballot_round(uint64_t ballot)
{
    return (uint32_t)(ballot >> 16);
}

static inline uint32_t gsrt__ballot_rank(uint64_t ballot)
{
    return (uint32_t)(ballot & UINT16_MAX);
}

/* membership_vote.c: Paxos for the next view. */
void gsrt__vote_prepare(gsrt_membership *machine, const gsrt_membership_message *message);
void gsrt__vote_promise(gsrt_membership *machine, const gsrt_membership_message *message);
void gsrt__vote_reject(gsrt_membership *machine, const gsrt_membership_message *message);
void gsrt__vote_accept(gsrt_membership *machine, const gsrt_membership_message *message);
void gsrt__vote_accepted(gsrt_membership *machine, const gsrt_membership_message *message);
void gsrt__vote_deposited(gsrt_membership *machine); /* the accepted value is held by the keeper */
void gsrt__vote_words(gsrt_membership *machine);     /* a death became certain */
void gsrt__vote_advance(gsrt_membership *machine);   /* what is due now: propose, send again */
/* Those that are not suspected, and testaments, are enough to decide the next view. */
bool gsrt__vote_is_feasible(const gsrt_membership *machine);
uint64_t gsrt__vote_timer(const gsrt_membership *machine); /* when something is due; UINT64_MAX: never */

/* membership.c */
void gsrt__adopt(gsrt_membership *machine, const gsrt_membership_view *view);
void gsrt__send(gsrt_membership *machine, uint32_t rank, gsrt_membership_message_type type);

/* membership_contact.c: the lease. */
void gsrt__contact_reset(gsrt_membership *machine); /* a new view */
void gsrt__contact_pong(gsrt_membership *machine, const gsrt_membership_message *message);
void gsrt__contact_advance(gsrt_membership *machine); /* pings, fences */
uint64_t gsrt__contact_timer(const gsrt_membership *machine);
uint64_t gsrt__contact_start(const gsrt_membership *machine, bool is_leased, uint64_t seen_ns);

#endif
