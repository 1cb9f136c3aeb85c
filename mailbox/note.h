/* Notes: what processes of a job say to each other over TCP, beside the messages: one note goes, one comes back
 * (mailbox/visit.h proves both). Thread: any; no state.
 *
 *   who calls           whom                 note     answer
 *   a worker            a worker's listener  HELLO    WELCOME: it may stay connected; or why not
 *   a keeper            a worker's listener  WORD     HEARD
 *   a worker            a keeper             ORDER    HEARD, or WORD: that worker is dead already
 */
#ifndef GSRT_MAILBOX_NOTE_H
#define GSRT_MAILBOX_NOTE_H

#include "mailbox/ticket.h"

typedef enum gsrt_note_kind {
    GSRT_NOTE_HELLO = 1,
    GSRT_NOTE_WELCOME,
    GSRT_NOTE_WORD,
    GSRT_NOTE_ORDER,
    GSRT_NOTE_HEARD,
} gsrt_note_kind;

/* How a HELLO was taken. */
typedef enum gsrt_welcome {
    GSRT_WELCOME_GOOD = 0,
    GSRT_WELCOME_STALE, /* a later incarnation of the caller is known: the caller is to end */
    GSRT_WELCOME_BUSY,  /* both call each other, and the other call wins */
} gsrt_welcome;

typedef enum gsrt_order {
    GSRT_ORDER_END = 1,  /* SIGKILL that incarnation */
    GSRT_ORDER_DRILL,    /* do `drill` to the worker, whichever incarnation it is */
    GSRT_ORDER_FINISHED, /* the run is over, with exit_code */
} gsrt_order;

typedef struct gsrt_note {
    gsrt_note_kind kind;
    uint32_t from, to;      /* ranks: a note that was meant for another is refused */
    uint32_t incarnation;   /* of the worker that says HELLO, WELCOME; that is to END */
    gsrt_welcome welcome;   /* WELCOME */
    gsrt_span card;         /* HELLO, and a good WELCOME: that incarnation's; can be decoded; borrowed */
    gsrt_order order;       /* ORDER */
    uint32_t asker, epoch;  /* END: the incarnation that asks, and the last view that it knows */
    gsrt_drill drill;       /* DRILL */
    uint32_t duration_ms;   /* DRILL: how long it stays stopped or slow, at most GSRT_DRILL_MS_MAX */
    uint32_t factor_milli;  /* a slow DRILL: how many thousand times as long it takes, 1001 to GSRT_DRILL_FACTOR_MAX */
    uint32_t exit_code;     /* FINISHED, at most 255 */
    gsrt_keeper_word *word; /* WORD: on the way in, where to put it (NULL: it is only checked) */
} gsrt_note;

/* Append it. GSRT_OK | GSRT_ENOMEM | GSRT_ELIMIT. */
GSRT_MUST_CHECK gsrt_status gsrt_note_encode(const gsrt_note *note, gsrt_buffer *buffer);
/* rank_count: of the job, for checking. out->word is read, see there. GSRT_OK | GSRT_EDECODE. */
GSRT_MUST_CHECK gsrt_status gsrt_note_decode(gsrt_span bytes, uint32_t rank_count, gsrt_note *out);

#endif
