/* The collector's inside: health/incidents.c has the way back, health/incidents_fault.c what is lost and who is there.
 */
#ifndef GSRT_HEALTH_INCIDENTS_IMPL_H
#define GSRT_HEALTH_INCIDENTS_IMPL_H

#include "health/incident_impl.h"
#include "health/incidents.h"

enum { GSRT__INCIDENT_NONE = -1 };

typedef struct gsrt__incident_slot {
    gsrt_incident *incident; /* owned */
    bool is_changed, is_end_told;
    uint8_t is_fault_told[GSRT_RANK_COUNT_MAX];
} gsrt__incident_slot;

struct gsrt_incidents {
    gsrt__incident_slot **slots; /* [count], owned; numbers ascending */
    uint32_t count, capacity;
    int64_t open, returning; /* indices; GSRT__INCIDENT_NONE. Not both. */
    bool has_news;
    uint64_t now_ns, since_ns; /* since: the phase of the open one, or the return, has gone on */
    gsrt_incident_phase phase; /* of the open one */
    bool has_view;             /* a view has begun since it was opened */
    bool has_return_started;
    uint32_t epoch, members[GSRT_RANK_COUNT_MAX];         /* of the last VIEW; epoch 0: none yet */
    uint32_t joined[GSRT_RANK_COUNT_MAX];                 /* incarnation that joined last; 0: none */
    uint32_t request_count, request, token;               /* emitted last */
    uint32_t *emitted;                                    /* [request_count] tokens; owned */
    gsrt_incident_event abandoned;                        /* before anybody had seen a fault; rows 0: none */
    gsrt_incident_event drills[GSRT_INCIDENT_DRILLS_MAX]; /* ordered and not seen yet, oldest first */
    uint32_t drill_count;
};

/* Put in by its number; the incident is taken on GSRT_OK. GSRT_ENOMEM | GSRT_ELIMIT. */
GSRT_MUST_CHECK gsrt_status gsrt__incidents_put(gsrt_incidents *c, gsrt_incident *incident, uint32_t *out_index);

/* The one that what happens belongs to: open or returning; NULL. */
gsrt__incident_slot *gsrt__incidents_target(gsrt_incidents *c);

/* An entry of the timeline; s NULL: nothing. Errors as gsrt__incident_add_entry. */
GSRT_MUST_CHECK gsrt_status gsrt__incidents_note(gsrt_incidents *c, gsrt__incident_slot *s,
                                                 const gsrt_incident_event *e, const char *format, ...)
    GSRT_PRINTF(4, 5);

/* What has passed since the last change belongs to `phase`; then `next` goes on. Of the open one. */
void gsrt__incidents_account(gsrt_incidents *c, gsrt_incident_phase phase, gsrt_incident_phase next);

/* The events of health/incidents_fault.c. Errors as gsrt_incidents_step. */
void gsrt__incidents_drill(gsrt_incidents *c, const gsrt_incident_event *e);
GSRT_MUST_CHECK gsrt_status gsrt__incidents_suspected(gsrt_incidents *c, const gsrt_incident_event *e);
GSRT_MUST_CHECK gsrt_status gsrt__incidents_word(gsrt_incidents *c, const gsrt_incident_event *e);
GSRT_MUST_CHECK gsrt_status gsrt__incidents_unreachable(gsrt_incidents *c, const gsrt_incident_event *e);
GSRT_MUST_CHECK gsrt_status gsrt__incidents_joined(gsrt_incidents *c, const gsrt_incident_event *e);
GSRT_MUST_CHECK gsrt_status gsrt__incidents_view(gsrt_incidents *c, const gsrt_incident_event *e);

#endif
