/* The keepers of a job, as a worker sees them. Each worker has one: the process that started it, outlives it, knows for
 * certain when it has died, and starts its next incarnation. Two kinds: processes (launch/), and the twin's
 * (actors/twin).
 *
 * A worker deposits each view with its own keeper before it acknowledges it; the keeper's word of its death carries the
 * last deposit to every worker that can be reached. Orders are best effort and may be repeated: their outcome is a
 * word, or `on_unreachable`. A keeper does not end a worker that runs for one that its worker's last deposit has left
 * out: after a partition both sides would be in a hurry to end the other's. It does after GSRT_KEEPER_REFUSES_MS,
 * because that view may never have been decided. Thread: the node's; callbacks run inside the transport's progress.
 */
#ifndef GSRT_MAILBOX_KEEPERS_H
#define GSRT_MAILBOX_KEEPERS_H

#include "base/limits.h"
#include "base/status.h"

#include <stdbool.h>
#include <stdint.h>

#define GSRT_NOT_A_MEMBER UINT32_MAX
#define GSRT_KEEPER_REFUSES_MS 2000

/* Exit codes of a worker, for its keeper; not codes that users see. */
enum {
    GSRT_EXIT_AGAIN = 86,    /* it cannot go on and wants its next incarnation */
    GSRT_EXIT_GIVEN_UP = 87, /* nor would its next incarnation: there is no quorum */
};

/* What a keeper holds for its worker: the last view that the worker knew. */
typedef struct gsrt_deposit {
    uint32_t epoch; /* 0: none was made */
    uint32_t rank_count;
    uint64_t ballot; /* of the acknowledgement; health/membership.h gives it meaning, a keeper only returns it */
    uint32_t incarnations[GSRT_RANK_COUNT_MAX]; /* [rank_count] of the members; GSRT_NOT_A_MEMBER */
} gsrt_deposit;

/* A keeper's word: this worker is dead. */
typedef struct gsrt_keeper_word {
    uint32_t rank, incarnation;
    bool is_last;         /* its budget is spent: no next incarnation comes */
    bool was_ordered;     /* it was ended by an order, not by itself */
    gsrt_deposit deposit; /* its last one */
} gsrt_keeper_word;

typedef struct gsrt_keepers gsrt_keepers;

typedef struct gsrt_keepers_events {
    void *arg;
    void (*on_word)(void *arg, const gsrt_keeper_word *word); /* borrowed for the call; may come more than once */
    void (*on_deposited)(void *arg, uint32_t epoch);          /* the own keeper holds it */
    /* The keeper of `rank` does not answer the order to end (rank, incarnation). */
    void (*on_unreachable)(void *arg, uint32_t rank, uint32_t incarnation);
} gsrt_keepers_events;

/* What a drill does to a worker, carried out by its keeper from outside. */
typedef enum gsrt_drill {
    GSRT_DRILL_KILL = 1, /* SIGKILL */
    GSRT_DRILL_STOP = 2, /* SIGSTOP, and SIGCONT after duration_ms */
    GSRT_DRILL_SLOW = 3, /* SIGSTOP and SIGCONT in turns for duration_ms, so that it runs a part of the time only */
} gsrt_drill;

typedef struct gsrt_keepers_ops {
    /* Have the own keeper hold it; on_deposited follows. Copied. */
    void (*deposit)(gsrt_keepers *keepers, const gsrt_deposit *deposit);
    /* Have the keeper of `rank` end that incarnation (SIGKILL: stopped ones too). */
    void (*end_worker)(gsrt_keepers *keepers, uint32_t rank, uint32_t incarnation);
    /* Have the keeper of `rank` do this to its worker, whichever incarnation it is. For fault drills. */
    void (*drill)(gsrt_keepers *keepers, uint32_t rank, gsrt_drill what, uint32_t duration_ms);
    /* GSRT_DRILL_SLOW: its work takes factor_milli / 1000 times as long, at least 1001. NULL: this world has no such
     * drill. */
    void (*slow)(gsrt_keepers *keepers, uint32_t rank, uint32_t factor_milli, uint32_t duration_ms);
    /* The run is over, with this exit code: tell every keeper, so that those without a worker end too. */
    void (*finished)(gsrt_keepers *keepers, uint32_t exit_code);
} gsrt_keepers_ops;

struct gsrt_keepers {
    const gsrt_keepers_ops *ops;
    gsrt_keepers_events events; /* set by gsrt_keepers_listen before the first progress */
};

static inline void gsrt_keepers_listen(gsrt_keepers *keepers, const gsrt_keepers_events *events)
{
    keepers->events = *events;
}

#endif
