/* The twin's events, by (time, sequence number): a 4-ary heap by value. Thread: one. Cost: O(log n). */
#ifndef GSRT_ACTORS_EVENTS_H
#define GSRT_ACTORS_EVENTS_H

#include "base/status.h"

#include <stdint.h>

typedef enum gsrt__event_kind {
    GSRT__EVENT_RUN,      /* node `rank` runs a round */
    GSRT__EVENT_ARRIVAL,  /* `letter` is at node `rank` */
    GSRT__EVENT_WRITABLE, /* node `rank` may post to `peer` again */
} gsrt__event_kind;

typedef struct gsrt__event {
    uint64_t time_ns, sequence;
    void *letter; /* of an arrival: owned by the event */
    uint32_t rank, peer;
    gsrt__event_kind kind;
} gsrt__event;

typedef struct gsrt__events {
    gsrt__event *heap; /* [capacity]; owned */
    uint32_t count, capacity;
    uint64_t sequence;
} gsrt__events;

void gsrt__events_fini(gsrt__events *events); /* letters are the caller's */
/* The sequence number is given here. GSRT_OK | GSRT_ENOMEM. */
GSRT_MUST_CHECK gsrt_status gsrt__events_add(gsrt__events *events, const gsrt__event *event);
/* The earliest, taken out; there must be one. */
gsrt__event gsrt__events_take(gsrt__events *events);

#endif
