/* The twin's events, by (time, sequence number): a 4-ary heap by value. Thread: one. Cost: O(log n). */
#ifndef GSRT_ACTORS_EVENTS_H
#define GSRT_ACTORS_EVENTS_H

#include "base/status.h"

#include <stdint.h>

typedef enum gsrt__event_kind {
    GSRT__EVENT_RUN,     /* node `rank` runs a round */
    GSRT__EVENT_ARRIVAL, /* `load`, a parcel, is at node `rank` */
    GSRT__EVENT_ORDER,   /* `load`, an order, is at the keeper of `rank` */
    GSRT__EVENT_DEATH,   /* incarnation `number` of `rank` was killed inside a round */
    GSRT__EVENT_LEAVE,   /* incarnation `number` of `rank` has lost its keeper */
    GSRT__EVENT_WORD,    /* the keeper of `rank` says that `number` is dead */
    GSRT__EVENT_START,   /* the keeper of `rank` starts incarnation `number` */
    GSRT__EVENT_BREAK,   /* the link between `rank` and `peer` has carried nothing for too long; `number`: which link */
    GSRT__EVENT_FAST,    /* `rank` is not slow any more; `number`: since which slowness */
} gsrt__event_kind;

typedef struct gsrt__event {
    uint64_t time_ns, sequence;
    void *load; /* owned by the event */
    uint32_t rank, peer;
    gsrt__event_kind kind;
    uint32_t number;
} gsrt__event;

typedef struct gsrt__events {
    gsrt__event *heap; /* [capacity]; owned */
    uint32_t count, capacity;
    uint64_t sequence;
} gsrt__events;

void gsrt__events_fini(gsrt__events *events); /* loads are the caller's */
/* The sequence number is given here. GSRT_OK | GSRT_ENOMEM. */
GSRT_MUST_CHECK gsrt_status gsrt__events_add(gsrt__events *events, const gsrt__event *event);
/* The earliest, taken out; there must be one. */
gsrt__event gsrt__events_take(gsrt__events *events);

#endif
