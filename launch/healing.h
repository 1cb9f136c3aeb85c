/* What a seat knows of faults and recoveries: the faults that the scenario asks for (and when its moves are due,
 * launch/moves.h), the incidents as they happen, and
 * what the healer needs to predict which way back costs least (health/faults.h, incidents.h, healer.h).
 *
 * Every rank keeps what it sees from one view to the next; the leader makes incidents of it, writes incidents/N.json,
 * and says so on the terminal. A rank that comes to lead takes up the incidents of the leader before.
 * Node's thread. Legal order: init; member and gateway events in any number; snapshot; fini.
 */
#ifndef GSRT_LAUNCH_HEALING_H
#define GSRT_LAUNCH_HEALING_H

#include "health/healer.h"
#include "health/incidents.h"
#include "health/member_actor.h"
#include "launch/outcome.h"

struct gsrt__seen; /* an event that was kept */

typedef struct gsrt_healing_options {
    const gsrt_scenario *scenario; /* borrowed, like all below */
    gsrt_node *node;
    gsrt_outcome *outcome;
    gsrt_member *member;
    gsrt_keepers *keepers; /* carry out kills and stops; NULL: there are none */
    void *arg;
    /* Carry out a fault that keepers cannot; NULL: this world has no way to. */
    void (*do_fault)(void *arg, const gsrt_fault *fault);
} gsrt_healing_options;

typedef struct gsrt_healing {
    gsrt_healing_options options;
    gsrt_faults *faults;       /* on the leader; NULL: none are asked for */
    gsrt_incidents *incidents; /* on the leader */
    struct gsrt__seen *seen;   /* since the last view, where another rank leads; owned list, newest first */
    uint32_t seen_count;
    const gsrt_plan *full;  /* the scenario's; on the leader with what has been moved; borrowed */
    uint64_t begin_ns;      /* when this rank's first view began */
    uint32_t *before;       /* [rank_count] of the view before that; owned */
    uint32_t *incarnations; /* [rank_count] of the view that it has; GSRT_NOT_A_MEMBER */
    uint32_t epoch;
    uint64_t word_ns[GSRT_RANK_COUNT_MAX]; /* when each rank's last death was learnt; 0: never */
    uint64_t respawn_ns;                   /* predicted; corrected by what is seen */
    uint64_t started_ns, take_ns;          /* START sent; START to READY, last time */
    uint64_t first_token_ns;               /* of the view */
    uint32_t view_tokens;                  /* emitted in it */
    bool has_restored;
    char violation[GSRT_INCIDENT_TEXT_BYTES]; /* what the watch has seen last; empty: nothing */
    bool is_finishing;                        /* nobody else will report */
} gsrt_healing;

/* GSRT_OK | GSRT_ENOMEM. In any case gsrt_healing_fini. */
GSRT_MUST_CHECK gsrt_status gsrt_healing_init(gsrt_healing *healing, const gsrt_healing_options *options);
void gsrt_healing_fini(gsrt_healing *healing);

/* Hooks of the member actor (health/member_actor.h), `self`; `arg` is the healing. The healer is asked in the first. */
uint64_t gsrt_healing_join_wait_ns(gsrt_healing *healing, gsrt_actor *self, const gsrt_keeper_word *word);
void gsrt_healing_on_event(void *arg, const gsrt_membership_event *event);
void gsrt_healing_on_action(void *arg, const gsrt_membership_action *action, uint64_t now_ns);

/* ---- from the gateway, on the leader ---- */

/* This rank leads the view that has begun, with this plan, made of the outcome's (launch/moves.h), which is open.
 * GSRT_OK | GSRT_ENOMEM | GSRT_EINPUT: incidents of an earlier leader. */
GSRT_MUST_CHECK gsrt_status gsrt_healing_lead(gsrt_healing *healing, const gsrt_plan *plan, gsrt_way way,
                                              gsrt_diag *diag);
void gsrt_healing_ready(gsrt_healing *healing);
/* So many tokens of `request` had been emitted when this view began to emit, by whoever led before. */
void gsrt_healing_known(gsrt_healing *healing, uint32_t request, uint32_t token_count);
/* One was emitted; known: how many of its request's tokens had been emitted when this view began; spared: how many of
 * these a snapshot has spared computing again. */
void gsrt_healing_token(gsrt_healing *healing, uint32_t request, uint32_t token_count, uint32_t known, uint32_t spared);
/* One that was known came out again, with the same bits. */
void gsrt_healing_restored(gsrt_healing *healing, uint32_t request, uint32_t token_count);
/* The watch has seen a budget exceeded: end a rank that computes with narrowed weights, so that a view begins with
 * `plan`, which narrows what is left; another one than this where there is another. */
void gsrt_healing_violated(gsrt_healing *healing, const gsrt_plan *plan, const gsrt_violation_seen *seen);
/* Whatever is due by time: faults are done, moves wait for gsrt_moves_begin, as after all of the above. Returns when to
 * ask again; UINT64_MAX: not. */
uint64_t gsrt_healing_look(gsrt_healing *healing);
/* The run is over, with every answer or without. */
void gsrt_healing_finished(gsrt_healing *healing, bool is_complete);

#endif
