/* What a supervisor decides: a pure machine. No clock, no I/O: time comes with the events, actions are carried out by
 * actors/supervisor.c, one at a time, and their outcome comes back as an event.
 *
 *                  BEGIN                       all are up
 *   (fresh) ----------------> MENDING <-----------------------> UP
 *                                |      a child ended, budget left  |
 *      budget spent, or refused  |                                  | budget spent, or END
 *                                v                                  v
 *                              ENDING ---- last child has ended ----> GONE
 *
 *   MENDING  first stops, last child first, what the strategy wants stopped; then starts, first child first, what is
 * down ENDING   stops all, last child first
 *
 * Restart intensity: more than restart_max restarts within window_ns of world time spend the budget; then the
 * supervisor gives up, and its own parent decides. Source: Erlang/OTP, supervisor. Test:
 * tests/actors/supervisor_test.c.
 */
#ifndef GSRT_ACTORS_SUPERVISOR_MACHINE_H
#define GSRT_ACTORS_SUPERVISOR_MACHINE_H

#include "base/buffer.h"
#include "base/span.h"
#include "base/status.h"

enum { GSRT_CHILD_COUNT_MAX = 64, GSRT_RESTART_COUNT_MAX = 64 };

/* Who is restarted with a child that has ended. */
typedef enum gsrt_supervise_strategy {
    GSRT_ONE_FOR_ONE,  /* only it */
    GSRT_REST_FOR_ONE, /* it and those after it: they may depend on it */
    GSRT_ONE_FOR_ALL,  /* all */
} gsrt_supervise_strategy;

/* Whether a child that has ended is restarted. */
typedef enum gsrt_supervise_when {
    GSRT_PERMANENT, /* always */
    GSRT_TRANSIENT, /* only when it ended abnormally */
    GSRT_TEMPORARY, /* never */
} gsrt_supervise_when;

typedef struct gsrt_supervisor_plan {
    gsrt_supervise_strategy strategy;
    uint32_t restart_max; /* at most GSRT_RESTART_COUNT_MAX */
    uint64_t window_ns;
    uint32_t child_count;
    gsrt_supervise_when when[GSRT_CHILD_COUNT_MAX];
} gsrt_supervisor_plan;

typedef enum gsrt_supervisor_phase {
    GSRT_SUPERVISOR_FRESH,
    GSRT_SUPERVISOR_MENDING,
    GSRT_SUPERVISOR_UP,
    GSRT_SUPERVISOR_ENDING,
    GSRT_SUPERVISOR_GONE,
} gsrt_supervisor_phase;

typedef struct gsrt_supervisor_machine {
    gsrt_supervisor_plan plan;
    gsrt_supervisor_phase phase;
    bool is_up[GSRT_CHILD_COUNT_MAX];
    bool is_wanted[GSRT_CHILD_COUNT_MAX];         /* to be started when down */
    bool is_condemned[GSRT_CHILD_COUNT_MAX];      /* up, and to be stopped */
    bool is_given_up;                             /* why it ends: the budget, not END */
    uint32_t waits_for;                           /* child + 1 whose start or stop was ordered last; 0: none */
    uint64_t restarts_ns[GSRT_RESTART_COUNT_MAX]; /* times of the last restarts, a ring */
    uint32_t restart_count;                       /* ever */
} gsrt_supervisor_machine;

typedef enum gsrt_supervisor_event_kind {
    GSRT_SUPERVISOR_BEGIN,
    GSRT_SUPERVISOR_STARTED, /* child */
    GSRT_SUPERVISOR_FAILED,  /* child: its start; counts as its end */
    GSRT_SUPERVISOR_REFUSED, /* child: no checked plan to restart it into; gives up */
    GSRT_SUPERVISOR_ENDED,   /* child, is_abnormal */
    GSRT_SUPERVISOR_END,     /* stop all */
} gsrt_supervisor_event_kind;

typedef struct gsrt_supervisor_event {
    gsrt_supervisor_event_kind kind;
    uint32_t child;
    bool is_abnormal;
    uint64_t now_ns;
} gsrt_supervisor_event;

typedef enum gsrt_supervisor_action_kind {
    GSRT_SUPERVISOR_WAIT,    /* nothing to do */
    GSRT_SUPERVISOR_START,   /* child; answer with STARTED, FAILED or REFUSED */
    GSRT_SUPERVISOR_RESTART, /* the same, for a child that was up before: ask whether it may be */
    GSRT_SUPERVISOR_STOP,    /* child; answer with ENDED */
    GSRT_SUPERVISOR_LEAVE,   /* all have ended: is_given_up says why */
} gsrt_supervisor_action_kind;

typedef struct gsrt_supervisor_action {
    gsrt_supervisor_action_kind kind;
    uint32_t child;
} gsrt_supervisor_action;

/* GSRT_OK | GSRT_EINVAL: counts past their limits, an unknown strategy. */
GSRT_MUST_CHECK gsrt_status gsrt_supervisor_machine_init(gsrt_supervisor_machine *machine,
                                                         const gsrt_supervisor_plan *plan);
/* One event, one action. Events that make no sense now (a child that is not up has ended) change nothing. O(children).
 */
gsrt_supervisor_action gsrt_supervisor_machine_step(gsrt_supervisor_machine *machine,
                                                    const gsrt_supervisor_event *event);

/* ---- for trace and replay: one msgpack value each (actors/supervisor_codec.c) ---- */

/* Append it. GSRT_OK | GSRT_ENOMEM | GSRT_ELIMIT. */
GSRT_MUST_CHECK gsrt_status gsrt_supervisor_plan_encode(const gsrt_supervisor_plan *plan, gsrt_buffer *buffer);
GSRT_MUST_CHECK gsrt_status gsrt_supervisor_event_encode(const gsrt_supervisor_event *event, gsrt_buffer *buffer);
GSRT_MUST_CHECK gsrt_status gsrt_supervisor_action_encode(const gsrt_supervisor_action *action, gsrt_buffer *buffer);
/* GSRT_OK | GSRT_EDECODE. */
GSRT_MUST_CHECK gsrt_status gsrt_supervisor_plan_decode(gsrt_span bytes, gsrt_supervisor_plan *out);
GSRT_MUST_CHECK gsrt_status gsrt_supervisor_event_decode(gsrt_span bytes, gsrt_supervisor_event *out);

#endif
