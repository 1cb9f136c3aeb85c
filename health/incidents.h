/* The incidents of a run: a pure collector on the coordinator. It is fed with what happens, in the order in which that
 * became known, and makes incidents of it (health/incident.h). No clock, no I/O.
 *
 *            first sight of a fault            first new token after a START; every answer complete; run ended
 *   (none) ------------------------> OPEN -----------------------------------------------------------> closed
 *                                    |  ^                                                                |
 *                                    +--+ a further fault: agreement begins again                        |
 *                                                                                                        v
 *                                            closed again at the first new token <-- RETURNING <-- a lost rank joins
 *
 *   OPEN       takes everything that happens; at most one is open: faults with no new token between them are one
 * incident RETURNING  a recovered one, whose rank comes back: the pause that this costs is its cost
 *
 * A drill is no incident yet: tokens that leave before anybody has seen it belong to the run as it was. It gives the
 * instant of the fault to the first sight of its rank. Tokens before the START do not close an incident either.
 * What is said of a fault of a closed incident (another observer, a late word) goes into that one's timeline.
 *
 *   legal order  create; adopt, emitted: of an earlier coordinator; step any number of times, poll after each; free
 *   invariants   gsrt_incidents_check: numbers ascend, at most one is open, phases add up (tests call it after each
 * step) cost         a step O(incidents * faults), O(1) for a TOKEN while nothing is open; thread: its owner's test
 * tests/health/incident_test.c
 */
#ifndef GSRT_HEALTH_INCIDENTS_H
#define GSRT_HEALTH_INCIDENTS_H

#include "health/incident.h"
#include "mailbox/keepers.h"

/* Everything that an event does not have is 0. */
typedef struct gsrt_incident_event {
    gsrt_incident_event_kind kind;
    uint64_t at_ns;    /* of the run's clock; an earlier one than the last counts as the last */
    uint32_t observer; /* rank that saw or did it */
    /* SUSPECTED, WORD, UNREACHABLE, JOINED: both. DRILL: rank, or GSRT_NOT_A_MEMBER for a partition. */
    uint32_t rank, incarnation;
    gsrt_incident_kind drill;        /* DRILL: KILLED, STOPPED, PARTITION or VIOLATED */
    uint32_t for_ms;                 /* DRILL: how long; 0: for ever */
    gsrt_incident_detector detector; /* SUSPECTED */
    bool is_last, was_ordered;       /* WORD: as in gsrt_keeper_word */
    /* VIEW: epoch and the members before it and in it, [rank_count], GSRT_NOT_A_MEMBER; borrowed for the call.
     * CONSIDERED, STARTED: epoch. */
    uint32_t epoch, rank_count;
    const uint32_t *before, *after;
    gsrt_incident_method method; /* CONSIDERED: method, predicted_ns (GSRT_INCIDENT_UNKNOWN_NS), is_chosen, text */
    uint64_t predicted_ns;
    bool is_chosen;
    const char *text; /* SUSPECTED: what was seen, or NULL. CONSIDERED: as gsrt_incident_way.why; CHECKED: what was
                         checked, as "contract bitwise" */
    uint64_t rows;    /* ABANDONED: of the step that will be run again */
    bool is_idle;     /* READY: no request is open, so that no token will come: the incident ends here */
    /* TOKEN: the request's tokens that are emitted with this one (from 1), and how many of its tokens had to be
     * computed again for it. Every token is an event. RESTORED: the token computed again. DRILL: where it was ordered;
     * token 0: where the run is. */
    uint32_t request, token;
    uint64_t recomputed;
    bool is_complete; /* FINISHED: every request has its answer */
} gsrt_incident_event;

typedef enum gsrt_incident_news_kind {
    GSRT_INCIDENT_NEWS_FAULT = 1, /* faults[fault] has happened for certain; once each */
    GSRT_INCIDENT_NEWS_ENDED,     /* it is not open any more; once each */
    GSRT_INCIDENT_NEWS_CHANGED,   /* its file is to be written again */
} gsrt_incident_news_kind;

typedef struct gsrt_incident_news {
    gsrt_incident_news_kind kind;
    const gsrt_incident *incident; /* borrowed until the next step */
    uint32_t fault;
} gsrt_incident_news;

typedef struct gsrt_incidents gsrt_incidents;

/* Owned. request_count: 0..GSRT_REQUEST_COUNT_MAX. NULL: no memory, or past the limit. */
gsrt_incidents *gsrt_incidents_create(uint32_t request_count);
gsrt_incidents *gsrt_incidents_free(gsrt_incidents *incidents);

/* An incident of an earlier coordinator, taken on GSRT_OK: numbers go on after it, and one that is open goes on, since
 * the loss of that coordinator belongs to it. Any order. GSRT_OK | GSRT_EINVAL: its number is there, or a second one is
 * open | GSRT_ENOMEM | GSRT_ELIMIT. */
GSRT_MUST_CHECK gsrt_status gsrt_incidents_adopt(gsrt_incidents *incidents, gsrt_incident *incident);
/* Under earlier coordinators `token_count` tokens of `request` were emitted: without it the next token looks as if
 * those were lost. Before a token of this one; fewer than are known change nothing. GSRT_OK | GSRT_EINVAL: no such
 * request. */
GSRT_MUST_CHECK gsrt_status gsrt_incidents_emitted(gsrt_incidents *incidents, uint32_t request, uint32_t token_count);

/* One event. GSRT_OK | GSRT_EINVAL: something is past the limits, nothing has changed | GSRT_ENOMEM, GSRT_ELIMIT (of
 * incidents, or of faults of one): a part of the event is missing in the record. */
GSRT_MUST_CHECK gsrt_status gsrt_incidents_step(gsrt_incidents *incidents, const gsrt_incident_event *event);
/* What there is to tell, faults before ends before changes; false: no more until the next step. */
bool gsrt_incidents_poll(gsrt_incidents *incidents, gsrt_incident_news *out);

uint32_t gsrt_incidents_count(const gsrt_incidents *incidents);
/* In the order of their numbers; borrowed until the next step. index < count. */
const gsrt_incident *gsrt_incidents_at(const gsrt_incidents *incidents, uint32_t index);
bool gsrt_incidents_check(const gsrt_incidents *incidents);

#endif
