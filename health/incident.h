/* An incident: the causal record of one fault, or of several that overlapped: what was seen when and by whom, what was
 * considered, checked and done, and what it cost. incidents/NUMBER.json (docs/schemas/incident.schema.json).
 *
 * Plain data. health/incidents.h fills it on the coordinator; here are its names, what follows from it, and its file:
 * written with gsrt_incident_write, read back with gsrt_incident_read by a coordinator that takes over.
 *
 * Invariants, which the reader checks:
 *   1. there is a fault; faults stand in the order in which they were seen, and (rank, incarnation) is unique;
 *   2. the timeline ascends;
 *   3. the kind, the total, the detection and `reproduce` follow from the rest: they are computed, never stored;
 *   4. all times are whole microseconds of the run's clock.
 * Memory: at most 300 KiB. Thread: its owner's.
 */
#ifndef GSRT_HEALTH_INCIDENT_H
#define GSRT_HEALTH_INCIDENT_H

#include "base/buffer.h"
#include "base/diag.h"
#include "base/limits.h"

#define GSRT_INCIDENT_SCHEMA "gsrt-incident/1"
#define GSRT_INCIDENT_UNKNOWN_NS UINT64_MAX

/* What became of a rank. In the order of a table of names; 0: none, whose name is NULL. So all enums here. */
typedef enum gsrt_incident_kind {
    GSRT_INCIDENT_KILLED = 1, /* its process died, and nobody in the run had asked for that */
    GSRT_INCIDENT_STOPPED,    /* it was silent, and its keeper ended it */
    GSRT_INCIDENT_LEFT,       /* it said so itself: its keeper is gone */
    GSRT_INCIDENT_LINK,       /* a connection to it broke, and its keeper ended it */
    GSRT_INCIDENT_PARTITION,  /* neither it nor its keeper answers: a lost host or network */
    GSRT_INCIDENT_UNKNOWN,    /* the view does not name it any more; nothing says why */
    GSRT_INCIDENT_VIOLATED,   /* what it computed left the contract's budget, and its keeper ended it */
} gsrt_incident_kind;
const char *gsrt_incident_kind_name(gsrt_incident_kind kind); /* "killed"; static; NULL: none or no such kind */

/* Who noticed it first. */
typedef enum gsrt_incident_detector {
    GSRT_DETECTOR_SENTINEL = 1, /* the tcp connection that dies with the process */
    GSRT_DETECTOR_LINK,         /* UCX reported an error */
    GSRT_DETECTOR_SILENCE,      /* heartbeats or an answer did not come in time */
    GSRT_DETECTOR_MESSAGE,      /* it said itself that it leaves */
    GSRT_DETECTOR_KEEPER,       /* its keeper, by word or by not answering */
    GSRT_DETECTOR_VIEW,         /* nobody: the view left it out */
    GSRT_DETECTOR_WATCH,        /* a plain pass over weights as given (launch/watch.h) */
} gsrt_incident_detector;
const char *gsrt_incident_detector_name(gsrt_incident_detector detector);

/* What made it certain. In the order of certainty. */
typedef enum gsrt_incident_proof {
    GSRT_PROOF_SUSPICION = 1, /* nothing yet */
    GSRT_PROOF_LEFT_OUT,      /* the view does not name it any more */
    GSRT_PROOF_UNREACHABLE,   /* its keeper does not answer */
    GSRT_PROOF_ENDED,         /* its keeper's word: ended by order */
    GSRT_PROOF_DIED,          /* its keeper's word: died by itself */
} gsrt_incident_proof;
const char *gsrt_incident_proof_name(gsrt_incident_proof proof);

/* How the run went on. */
typedef enum gsrt_incident_method {
    GSRT_METHOD_IN_PLACE = 1, /* the next incarnation of the lost rank took its role */
    GSRT_METHOD_SPARE,        /* others took the roles of the missing */
    GSRT_METHOD_RESHAPED,     /* the survivors divided the work anew */
    GSRT_METHOD_FULL,         /* the missing had no role: the full plan */
} gsrt_incident_method;
const char *gsrt_incident_method_name(gsrt_incident_method method);

typedef enum gsrt_incident_state {
    GSRT_INCIDENT_OPEN = 1,
    GSRT_INCIDENT_RECOVERED,  /* a new token was emitted */
    GSRT_INCIDENT_NOT_NEEDED, /* every answer was complete before it had recovered */
    GSRT_INCIDENT_FAILED,     /* the run ended without */
} gsrt_incident_state;
const char *gsrt_incident_state_name(gsrt_incident_state state);

/* The parts of the time to recovery, in their order. After a further fault they begin again; the times add up. */
typedef enum gsrt_incident_phase {
    GSRT_PHASE_DETECTION,   /* fault -> seen; 0 when the instant of the first fault is not known */
    GSRT_PHASE_AGREEMENT,   /* seen -> view */
    GSRT_PHASE_RESTART,     /* view -> START sent: all are present; also the wait for a process before the view */
    GSRT_PHASE_RESTORING,   /* START sent -> all are ready */
    GSRT_PHASE_FIRST_TOKEN, /* ready -> first new token */
    GSRT_PHASE_COUNT,
} gsrt_incident_phase;
const char *gsrt_incident_phase_name(gsrt_incident_phase phase);

/* What stands in the timeline. These are the events of health/incidents.h. */
typedef enum gsrt_incident_event_kind {
    GSRT_INCIDENT_DRILL = 1,
    GSRT_INCIDENT_SUSPECTED,
    GSRT_INCIDENT_WORD,
    GSRT_INCIDENT_UNREACHABLE,
    GSRT_INCIDENT_JOINED,
    GSRT_INCIDENT_VIEW,
    GSRT_INCIDENT_CONSIDERED,
    GSRT_INCIDENT_CHECKED,
    GSRT_INCIDENT_ABANDONED,
    GSRT_INCIDENT_STARTED,
    GSRT_INCIDENT_READY,
    GSRT_INCIDENT_RESTORED,
    GSRT_INCIDENT_TOKEN,
    GSRT_INCIDENT_FINISHED,
} gsrt_incident_event_kind;
const char *gsrt_incident_event_name(gsrt_incident_event_kind kind);

typedef struct gsrt_incident_fault {
    uint32_t rank, incarnation;
    gsrt_incident_kind drill; /* what the scenario had ordered; 0: it did not */
    gsrt_incident_detector detector;
    gsrt_incident_proof proof;
    bool is_last;            /* its keeper starts no next incarnation */
    uint32_t observer;       /* rank that saw it first */
    uint64_t fault_ns;       /* GSRT_INCIDENT_UNKNOWN_NS: nobody knows */
    uint64_t seen_ns;        /* >= fault_ns where that is known */
    uint32_t for_ms;         /* how long a drill lasts; 0: not known, or for ever */
    uint32_t request, token; /* where the run was: tokens of that request emitted; 0: none at all */
    uint32_t view;           /* 0: the run was under way; else within a recovery, after this view had begun */
} gsrt_incident_fault;

typedef struct gsrt_incident_way {
    gsrt_incident_method method;
    uint32_t view;
    uint64_t predicted_ns; /* GSRT_INCIDENT_UNKNOWN_NS */
    bool is_chosen;
    char why[GSRT_INCIDENT_TEXT_BYTES]; /* chosen: what was done, as "spare rank 3 took stage 0 member 1"; else why not
                                         */
} gsrt_incident_way;

typedef struct gsrt_incident_entry {
    uint64_t at_ns;
    uint32_t rank; /* that saw it */
    gsrt_incident_event_kind what;
    char detail[GSRT_INCIDENT_TEXT_BYTES]; /* printable ASCII, so all texts here */
} gsrt_incident_entry;

typedef struct gsrt_incident {
    uint32_t number; /* from 1 */
    gsrt_incident_state state;
    gsrt_incident_method method; /* 0: none was chosen */
    gsrt_incident_fault *faults; /* [fault_count], owned; at most GSRT_RANK_COUNT_MAX */
    uint32_t fault_count;
    uint64_t phase_ns[GSRT_PHASE_COUNT];
    uint64_t return_ns;   /* from a lost rank's joining again, after the recovery, to the first token with it; 0 */
    uint64_t lost_tokens; /* emitted tokens that were emitted again, or skipped: the RPO, 0 by construction */
    uint64_t recomputed_tokens; /* computed again to go on, the return included */
    uint64_t lost_rows;         /* of abandoned steps */
    bool is_checked;            /* the plan of the method has passed the check of the contract */
    bool is_restored;           /* the first token computed again was the one that had been emitted */
    gsrt_incident_way *ways;    /* [way_count], owned; in the order in which they were considered */
    uint32_t way_count, ways_left_out;
    gsrt_incident_entry *timeline; /* [entry_count], owned */
    uint32_t entry_count, entries_left_out;
} gsrt_incident;

/* Accepts NULL; returns NULL. */
gsrt_incident *gsrt_incident_free(gsrt_incident *incident);

/* ---- what follows from it ---- */

/* Of one fault: the drill's, or what the evidence says. Never 0. O(1). */
gsrt_incident_kind gsrt_incident_fault_kind(const gsrt_incident_fault *fault);
/* Of its first fault; the others followed. */
gsrt_incident_kind gsrt_incident_kind_of(const gsrt_incident *incident);
/* GSRT_INCIDENT_UNKNOWN_NS when the instant of the first fault is not known. */
uint64_t gsrt_incident_detection_ns(const gsrt_incident *incident);
/* First fault (or, when that is not known, the first sight of it) to the first new token; GSRT_INCIDENT_UNKNOWN_NS
 * when it has not recovered. */
uint64_t gsrt_incident_recovery_ns(const gsrt_incident *incident);
/* Its ranks, each once, in the order of the faults; how many. out[GSRT_RANK_COUNT_MAX]. */
uint32_t gsrt_incident_ranks(const gsrt_incident *incident, uint32_t *out);
/* The way that was chosen for `method`; NULL: none. Borrowed. */
const gsrt_incident_way *gsrt_incident_chosen(const gsrt_incident *incident);
/* Append the smallest scenario that has these faults again: the key `faults:` with a line for each of them (one for a
 * partition), as YAML to append to a scenario. Errors as gsrt_buffer_append. */
GSRT_MUST_CHECK gsrt_status gsrt_incident_print_faults(const gsrt_incident *incident, gsrt_buffer *out);

/* ---- its file ---- */

/* Append the JSON. The same incident gives the same bytes. GSRT_OK | GSRT_ENOMEM | GSRT_ELIMIT. */
GSRT_MUST_CHECK gsrt_status gsrt_incident_write(const gsrt_incident *incident, gsrt_buffer *out);
/* Read bytes from outside; `file` names them in *diag. What is accepted is written as it was read, but for white space.
 * *out owned. GSRT_OK | GSRT_EINPUT | GSRT_ENOMEM. */
GSRT_MUST_CHECK gsrt_status gsrt_incident_read(gsrt_span bytes, const char *file, gsrt_incident **out, gsrt_diag *diag);

#endif
