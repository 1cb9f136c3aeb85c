/* The witness of one seed: it stands at the sink, sees each token of whoever leads, and knows what the answer is.
 *
 * Invariants of a run, whatever fails (numbers for tests and reports):
 *   1. a sink takes each (request, index) once, in order, across all leaders;
 *   2. the bits are those of the run without faults, which the reference pass has confirmed;
 *   3. nothing is emitted by a rank that is fenced, before its view has begun, or after a later view has emitted;
 *   4. within one view a step has one output: no (request, index) comes twice;
 *   5. one epoch has one view: whoever decides or installs it, has the same members;
 *   6. who has accepted a view says so to whoever proposes one of the same epoch later;
 *   7. a view change voids what was sent in the view before: data messages come to actors in the view they were sent
 * in. The first breach is kept as text. Thread: its owner's. Memory: 16 bytes per token of the answer, 4 KiB per view.
 */
#ifndef GSRT_LAUNCH_CAMPAIGN_WITNESS_H
#define GSRT_LAUNCH_CAMPAIGN_WITNESS_H

#include "launch/seat.h"

/* What the answers are, taken from a run without faults. */
typedef struct gsrt_campaign_answers {
    uint32_t request_count;
    struct gsrt_campaign_answer {
        uint32_t *tokens; /* [token_count]; owned */
        uint64_t *hashes; /* [token_count][2]; owned */
        uint32_t token_count, finish;
    } * items; /* [request_count]; owned */
} gsrt_campaign_answers;

/* Copies. GSRT_OK | GSRT_ENOMEM. In any case: fini. */
GSRT_MUST_CHECK gsrt_status gsrt_campaign_answers_init(gsrt_campaign_answers *answers, const gsrt_answers *from);
void gsrt_campaign_answers_fini(gsrt_campaign_answers *answers);

typedef struct gsrt_witness {
    const gsrt_campaign_answers *expected; /* borrowed */
    uint32_t *next;                        /* [request_count] */
    uint32_t **epochs;                     /* [request_count][token_count]: the view that computed it last */
    uint32_t epoch;                        /* the latest view that emitted */
    uint64_t taken_count;                  /* tokens that the sink has taken */
    gsrt_membership_view *views;           /* [view_count] as they were first decided or installed; owned */
    uint32_t view_count;
    struct gsrt_witness_vote {       /* what each rank deposited last of what it has accepted */
        uint32_t incarnation, epoch; /* epoch: that of the view proposed; 0: nothing */
        uint64_t ballot;
    } votes[GSRT_RANK_COUNT_MAX];
    char breach[240]; /* the first; empty: none */
} gsrt_witness;

/* GSRT_OK | GSRT_ENOMEM. In any case: fini. */
GSRT_MUST_CHECK gsrt_status gsrt_witness_init(gsrt_witness *witness, const gsrt_campaign_answers *expected);
void gsrt_witness_fini(gsrt_witness *witness);

/* A breach that was found by another; the first one stays. */
void gsrt_witness_note(gsrt_witness *witness, const char *format, ...) GSRT_PRINTF(2, 3);
/* As gsrt_answers.on_token, of this seat. */
void gsrt_witness_token(gsrt_witness *witness, const gsrt_seat *seat, const gsrt_msg_token *token, bool is_new);
/* As gsrt_twin_watch.on_membership and on_message. */
void gsrt_witness_membership(gsrt_witness *witness, const gsrt_seat *seat, const gsrt_membership_action *action);
void gsrt_witness_message(gsrt_witness *witness, const gsrt_seat *seat, const gsrt_envelope *envelope);
/* The run says that it is complete: every answer is, here, in the leader's hands, and in its file `tokens.jsonl`. */
void gsrt_witness_complete(gsrt_witness *witness, gsrt_seat *leader);

#endif
