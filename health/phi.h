/* Who is suspected to be dead, from when it was last heard: the phi accrual failure detector, watched by a doubt about
 * the observer itself.
 *
 * Source: Hayashibara, Defago, Yared, Katayama, "The phi accrual failure detector", SRDS 2004: phi is -log10 of the
 * probability that a heartbeat comes even later than now, if intervals are normal with the mean and deviation of the
 * last ones. The normal distribution by the logistic approximation of Bowling, Khasawneh, Kaewkuekool, Cho, "A logistic
 * approximation to the cumulative normal distribution", JIEM 2009. The observer's doubt: Dadgar, Phillips, Currey,
 * "Lifeguard: local health awareness for more accurate failure detection", DSN-W 2018 (local health multiplier).
 *
 * A pure machine: time comes with the events, arithmetic is in integers (the same bits on every machine), memory is
 * allocated by create only. It only suspects: membership decides.
 *
 * Invariants (gsrt_phi_check):
 *   1  phi of a peer does not fall while it is silent (unless the observer's doubt rises), and is least when it is
 * heard 2  time in which the observer itself did not run (its timer was late) counts as nobody's silence 3  a peer is
 * suspected at most once until it is heard, and trusted again at most once for each suspicion
 *
 * Legal order: create; step, poll until it says false, step, ...; free. Thread: one. Cost: HEARD O(window), TICK
 * O(peers). Memory: 600 bytes per peer. Test: tests/health/phi_test.c.
 */
#ifndef GSRT_HEALTH_PHI_H
#define GSRT_HEALTH_PHI_H

#include "base/status.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    GSRT_PHI_WINDOW_MAX = 128, /* intervals kept of one peer */
    GSRT_PHI_DOUBT_MAX = 8,    /* Lifeguard's ceiling: silence is then worth a ninth */
    GSRT_PHI_INTERVAL_MS_MAX = 4000,
    GSRT_PHI_PAUSE_MS_MAX = 2 * GSRT_PHI_INTERVAL_MS_MAX,
};

/* 0: the default. */
typedef struct gsrt_phi_options {
    uint64_t interval_ns;        /* between heartbeats, as agreed; 100 us .. 4 s; no default */
    uint32_t threshold_milli;    /* suspected from this phi on, in thousandths, at most 20000; 8000: one in 10^8 */
    uint32_t window;             /* intervals kept, at most GSRT_PHI_WINDOW_MAX; 64 */
    uint64_t deviation_floor_ns; /* however regular it was, some is allowed; a quarter of the interval; at most 4 s */
    uint64_t pause_ns;           /* allowed on top of the mean; one interval; at most 8 s */
    uint64_t late_ns;            /* the observer's timer may fire this much late without a doubt; half an interval */
} gsrt_phi_options;

typedef enum gsrt_phi_event_kind {
    GSRT_PHI_WATCH,   /* peer: from now on; as if it had been heard now, with nothing known of it */
    GSRT_PHI_UNWATCH, /* peer: not any more */
    GSRT_PHI_HEARD,   /* peer: a heartbeat of it came */
    GSRT_PHI_TICK,    /* the observer's own timer has fired: look at everybody; the next is due at next_ns */
} gsrt_phi_event_kind;

typedef struct gsrt_phi_event {
    gsrt_phi_event_kind kind;
    uint32_t peer;
    uint64_t now_ns;  /* never less than in the event before */
    uint64_t next_ns; /* TICK */
} gsrt_phi_event;

typedef enum gsrt_phi_action_kind {
    GSRT_PHI_SUSPECT, /* peer */
    GSRT_PHI_TRUST,   /* peer: it was suspected and has been heard */
} gsrt_phi_action_kind;

typedef struct gsrt_phi_action {
    gsrt_phi_action_kind kind;
    uint32_t peer;
    uint32_t phi_milli; /* SUSPECT: at that moment */
} gsrt_phi_action;

typedef struct gsrt_phi gsrt_phi;

/* For peers 0 .. peer_count - 1, none watched. Owned; GSRT_OK | GSRT_EINVAL | GSRT_ENOMEM. */
GSRT_MUST_CHECK gsrt_status gsrt_phi_create(const gsrt_phi_options *options, uint32_t peer_count, gsrt_phi **out);
gsrt_phi *gsrt_phi_free(gsrt_phi *phi);

/* Unknown peers, and HEARD of one that is not watched, change nothing. */
void gsrt_phi_step(gsrt_phi *phi, const gsrt_phi_event *event);
/* The next action, in the order of peers; false: none is left. */
bool gsrt_phi_poll(gsrt_phi *phi, gsrt_phi_action *out);

/* Its phi in thousandths; 0: not watched. Monotone in now_ns. */
uint32_t gsrt_phi_milli(const gsrt_phi *phi, uint32_t peer, uint64_t now_ns);
/* The silence after which a tick suspects it, by what is known now; UINT64_MAX: not watched. Cost: O(log). */
uint64_t gsrt_phi_bound_ns(const gsrt_phi *phi, uint32_t peer);
/* The observer's doubt about itself, 0 .. GSRT_PHI_DOUBT_MAX: silence is divided by it + 1. */
uint32_t gsrt_phi_doubt(const gsrt_phi *phi);
bool gsrt_phi_check(const gsrt_phi *phi); /* all invariants hold: for tests */

#endif
