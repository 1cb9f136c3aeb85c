/* The scheduler: admits requests, owns the KV block numbers, forms the steps (continuous batching, chunked prefill,
 * prefix reuse), and turns sampled tokens into answers.
 *
 * A pure machine: no clock, no I/O; the same events in the same order give the same actions. The actor beside it
 * (placement/scheduler_actor.h) feeds events and carries out actions.
 *
 *   events    submit (a request), tokens (a step has come back from the last stage); of a region that moves to another
 *             rank: move, copied, resume (placement/scheduler_move.c)
 *   actions   STEP and RESTORE (to every region), TOKEN and FINISHED (to the gateway), SNAPSHOT (to both), drawn with
 *             gsrt_scheduler_poll until empty; COPY (to the region that moves), HANDOVER (to the gateway)
 *
 * A request:  WAITING -> PREFILL -> DECODE -> FINISHED
 *   WAITING   nothing is reserved
 *   PREFILL   all its KV blocks are reserved; the prompt, and tokens of its answer that were known at submission (after
 *             a restart), are being computed; a known token is drawn and emitted again, for whoever compares. Positions
 *             that somebody holds (a replica, a snapshot) are restored instead: RESTORE comes before its first STEP,
 * and the tokens that follow from them are not drawn again DECODE    the next row is its newest token; at most one row
 * in flight
 *
 * Invariants (gsrt_scheduler_check):
 *   1. a block is free (in the order of its last use), or referenced by >= 1 requests, never both;
 *   2. a request's blocks cover prompt + max_tokens from admission to its end;
 *   3. a block that is in the prefix table holds exactly the tokens noted with it, all computed;
 *   4. at most `window` steps are in flight; they come back in order.
 * Cost: a step O(rows + requests). Memory O(requests * context + blocks).
 */
#ifndef GSRT_PLACEMENT_SCHEDULER_H
#define GSRT_PLACEMENT_SCHEDULER_H

#include "base/diag.h"
#include "mailbox/kinds.h"

typedef struct gsrt_scheduler gsrt_scheduler;

typedef struct gsrt_scheduler_options {
    uint32_t prefill_chunk;  /* most prompt rows of one step, 1..GSRT_BATCH_ROWS_MAX */
    uint32_t batch_requests; /* most requests admitted at once, 1..GSRT_BATCH_SEQUENCES_MAX */
    uint32_t block_count;    /* KV blocks of every region */
    uint32_t window;         /* most steps in flight: the number of stages */
    uint32_t context_max;    /* positions of one request */
    bool is_reusing_prefixes;
    uint32_t snapshot_tokens; /* a SNAPSHOT after so many new tokens; 0: none */
    uint64_t snapshot_first;  /* number of the first one */
    const uint32_t *stops;    /* [stop_count] tokens that end an answer; copied */
    uint32_t stop_count;
} gsrt_scheduler_options;

enum { GSRT_SCHEDULER_STOPS_MAX = 16 };

/* How a request ended. */
typedef enum gsrt_finish {
    GSRT_FINISH_STOP = 1,   /* an end token was drawn */
    GSRT_FINISH_LENGTH = 2, /* max_tokens */
    GSRT_FINISH_REFUSED = 3 /* it can never fit: context or KV blocks */
} gsrt_finish;
const char *gsrt_finish_name(gsrt_finish finish);

typedef struct gsrt_scheduler_action {
    gsrt_kind kind; /* GSRT_KIND_ STEP | RESTORE | TOKEN | FINISHED | SNAPSHOT | COPY | HANDOVER */
    union {
        gsrt_msg_step step; /* arrays borrowed until the next poll or event, as those of the next three */
        gsrt_msg_restore restore;
        gsrt_msg_snapshot snapshot;
        gsrt_msg_copy copy;
        gsrt_msg_handover handover;
        gsrt_msg_token token;
        gsrt_msg_finished finished;
    };
} gsrt_scheduler_action;

/* Owned; GSRT_OK | GSRT_EINVAL | GSRT_ENOMEM. */
GSRT_MUST_CHECK gsrt_status gsrt_scheduler_create(const gsrt_scheduler_options *options, gsrt_scheduler **out);
gsrt_scheduler *gsrt_scheduler_free(gsrt_scheduler *scheduler);

/* Event: a request; copied. GSRT_OK | GSRT_EINVAL (number taken, empty prompt, known tokens after the end of an answer,
 * restored positions that are no whole blocks, or leave nothing to compute) | GSRT_ENOMEM. */
GSRT_MUST_CHECK gsrt_status gsrt_scheduler_submit(gsrt_scheduler *scheduler, const gsrt_msg_submit *submit);
/* Event: a step came back. GSRT_OK | GSRT_EINVAL (not the oldest step in flight, or a wrong number of entries). */
GSRT_MUST_CHECK gsrt_status gsrt_scheduler_tokens(gsrt_scheduler *scheduler, const gsrt_msg_tokens *tokens);
/* Event: a region is to move. GSRT_OK | GSRT_EINVAL: one moves already. */
GSRT_MUST_CHECK gsrt_status gsrt_scheduler_move(gsrt_scheduler *scheduler, const gsrt_msg_move *what);
/* Event: the last COPY is done. GSRT_OK | GSRT_EINVAL: there is none. */
GSRT_MUST_CHECK gsrt_status gsrt_scheduler_copied(gsrt_scheduler *scheduler, const gsrt_msg_copied *copied);
/* Event: everybody knows the new region. GSRT_OK | GSRT_EINVAL: there was no HANDOVER. */
GSRT_MUST_CHECK gsrt_status gsrt_scheduler_resume(gsrt_scheduler *scheduler);
/* Any of these events, by its kind; body: as the table says. GSRT_EINVAL: the kind is none of them, too. */
bool gsrt_scheduler_is_event(gsrt_kind kind);
GSRT_MUST_CHECK gsrt_status gsrt_scheduler_step(gsrt_scheduler *scheduler, gsrt_kind kind, const void *body);
/* A move holds the steps. */
bool gsrt_scheduler_is_held(const gsrt_scheduler *scheduler);
/* The next action; false: none until the next event. */
bool gsrt_scheduler_poll(gsrt_scheduler *scheduler, gsrt_scheduler_action *out);

/* KV blocks that cover `position_count` positions. */
uint32_t gsrt_kv_blocks_of(uint32_t position_count);
/* All invariants; true when they hold. For tests. */
bool gsrt_scheduler_check(const gsrt_scheduler *scheduler);

#endif
