/* Inside of the sentinel; only mailbox/sentinel*.c include it. */
#ifndef GSRT_MAILBOX_SENTINEL_IMPL_H
#define GSRT_MAILBOX_SENTINEL_IMPL_H

#include "mailbox/sentinel.h"
#include "mailbox/visit.h"

/* What an epoll entry is: the upper half of its data; the lower half is an index. */
typedef enum gsrt__sentinel_entry {
    GSRT__ENTRY_PEER,
    GSRT__ENTRY_GUEST,
    GSRT__ENTRY_CALL,
    GSRT__ENTRY_WATCHED,
    GSRT__ENTRY_LISTENER,
    GSRT__ENTRY_TIMER,
} gsrt__sentinel_entry;

typedef struct gsrt__sentinel_peer {
    int fd;                  /* -1: none */
    bool is_leaving;         /* it said so */
    bool is_unconfirmed;     /* it called, and has not said yet that it has the answer */
    bool is_join_due;        /* JOINED is to be told */
    bool has_met;            /* since this rank began */
    uint32_t met, known;     /* incarnations: met last; a lower bound of what may come */
    struct gsrt__call *call; /* the join under way */
    gsrt_place place;
} gsrt__sentinel_peer;

/* A call under way: a join, or a note of the owner. */
typedef struct gsrt__call {
    gsrt_visit visit;
    bool is_join;
    uint32_t index, peer, tag;
    uint64_t deadline_ms;
    uint64_t rest_until_ms; /* a join that was told BUSY tries again then; 0: it is not resting */
} gsrt__call;

struct gsrt_sentinel {
    uint32_t rank, rank_count, incarnation;
    int listener, epoll, timer;
    bool is_full; /* the listener is not looked at */
    gsrt_place place;
    gsrt_secret secret;
    gsrt_span card; /* borrowed */
    uint32_t peer_count, join_count, join_due_count, guest_count, call_count;
    uint64_t refused;
    gsrt__sentinel_peer *peers; /* [rank_count] */
    gsrt__call **calls;         /* [2 * rank_count]; NULL: free */
    gsrt_buffer scratch;
    gsrt_buffer lent; /* card or note of the last event */
    gsrt_keeper_word word;
    uint64_t timer_ms; /* what the timer is set to; UINT64_MAX: nothing */
    uint64_t guest_since_ms[GSRT_GUEST_COUNT_MAX];
    gsrt_welcome guest_welcome[GSRT_GUEST_COUNT_MAX]; /* what a hello was answered */
    gsrt_visit guests[GSRT_GUEST_COUNT_MAX];
};

/* Register `fd`, or change what it is. */
bool gsrt__sentinel_enter(gsrt_sentinel *s, int fd, uint32_t events, gsrt__sentinel_entry entry, uint32_t index);
/* Keep a proven connection as that of `peer`. */
bool gsrt__sentinel_adopt(gsrt_sentinel *s, uint32_t peer, uint32_t incarnation, int fd);

/* sentinel_visits.c; true: *out is an event */
bool gsrt__sentinel_accept(gsrt_sentinel *s, gsrt_sentinel_event *out);
bool gsrt__sentinel_guest(gsrt_sentinel *s, uint32_t index, gsrt_sentinel_event *out);
bool gsrt__sentinel_call_moved(gsrt_sentinel *s, uint32_t index, gsrt_sentinel_event *out);
bool gsrt__sentinel_due(gsrt_sentinel *s, gsrt_sentinel_event *out); /* what is due by the clock */
void gsrt__sentinel_set_timer(gsrt_sentinel *s);
void gsrt__sentinel_end_call(gsrt_sentinel *s, gsrt__call *call);
GSRT_MUST_CHECK gsrt_status gsrt__sentinel_begin_join(gsrt_sentinel *s, uint32_t peer, uint64_t deadline_ms);

#endif
