/* A visit: one short TCP conversation, in which both sides prove that they know the job's secret.
 *
 *   host:    nonce -------------------->
 *   caller:  <------ nonce, length, note, proof      over (role, both nonces, note): nothing can be said again later
 *   host:    length, note, proof ------>
 *
 *   caller:  CONNECTING -> READING (nonce) -> WRITING (note) -> READING (answer) -> DONE
 *   host:    WRITING (nonce) -> READING (note) -> HEARD -> gsrt_visit_answer -> WRITING -> DONE
 *
 * A timeless note is one that stays true, so that hearing it again does no harm: its caller does not wait for the
 * nonce, its proof is over zeros instead, and the host is told (gsrt_visit.is_timeless) so that it takes nothing else
 * that way.
 *
 * Never blocks: the owner polls `fd` for gsrt_visit_events, calls gsrt_visit_move, and gives up at `deadline_ms`. A
 * caller tries the addresses of its route one after the other, so `fd` may change in gsrt_visit_move. Exactly the bytes
 * of the conversation are read: the connection can be kept afterwards (gsrt_visit_take).
 * Memory: at most 2 * GSRT_NOTE_BYTES_MAX and some; what an unproven caller sends is kept up to the length that it
 * named. Thread: one at a time.
 */
#ifndef GSRT_MAILBOX_VISIT_H
#define GSRT_MAILBOX_VISIT_H

#include "mailbox/place.h"
#include "mailbox/secret.h"

enum { GSRT_NONCE_BYTES = 16 };

typedef enum gsrt_visit_state {
    GSRT_VISIT_IDLE, /* not begun, or ended by fini */
    GSRT_VISIT_CONNECTING,
    GSRT_VISIT_READING,
    GSRT_VISIT_WRITING,
    GSRT_VISIT_HEARD, /* host: the caller is proven, its note is there */
    GSRT_VISIT_DONE,  /* caller: the host is proven, its answer is there; host: the answer has left */
    GSRT_VISIT_FAILED,
} gsrt_visit_state;

typedef struct gsrt_visit {
    gsrt_visit_state state;
    int fd;
    bool is_caller, is_timeless;
    bool has_nonce, has_spoken;         /* caller: the host's has come; its own note is on its way */
    uint64_t deadline_ms, try_until_ms; /* CLOCK_MONOTONIC; of the whole, of the present address */
    const gsrt_secret *secret;
    uint8_t nonces[2][GSRT_NONCE_BYTES]; /* of the host, of the caller */
    gsrt_route route;
    uint32_t tried_count;
    gsrt_buffer out, in, note; /* note: what a caller says, for the next address too */
    size_t out_at;
} gsrt_visit;

/* CLOCK_MONOTONIC. */
uint64_t gsrt_visit_now_ms(void);

/* Begin as caller. `note` is copied, `secret` borrowed until fini. GSRT_OK, also when the first address fails at once
 * (then GSRT_VISIT_FAILED) | GSRT_ENOMEM | GSRT_ELIMIT. */
GSRT_MUST_CHECK gsrt_status gsrt_visit_call(gsrt_visit *visit, const gsrt_route *route, const gsrt_secret *secret,
                                            gsrt_span note, bool is_timeless, uint64_t deadline_ms);
/* Begin as host. Takes `fd`, a non-blocking connection, also on failure. GSRT_OK | GSRT_ENOMEM | GSRT_EIO. */
GSRT_MUST_CHECK gsrt_status gsrt_visit_receive(gsrt_visit *visit, int fd, const gsrt_secret *secret,
                                               uint64_t deadline_ms);

/* Do what can be done now. */
gsrt_visit_state gsrt_visit_move(gsrt_visit *visit);
/* What to poll for: POLLIN or POLLOUT; 0 when nothing is awaited. */
short gsrt_visit_events(const gsrt_visit *visit);
/* When gsrt_visit_move must be called at the latest. */
uint64_t gsrt_visit_due_ms(const gsrt_visit *visit);

/* HEARD: the caller's note; DONE, caller: the host's answer. Borrowed until answer or fini. */
gsrt_span gsrt_visit_note(const gsrt_visit *visit);
/* HEARD -> WRITING or DONE. GSRT_OK | GSRT_ENOMEM | GSRT_ELIMIT (the visit has FAILED). */
GSRT_MUST_CHECK gsrt_status gsrt_visit_answer(gsrt_visit *visit, gsrt_span note);
/* DONE: the connection, which is the caller's now. */
int gsrt_visit_take(gsrt_visit *visit);
/* Close and free; takes one that has not begun (all zero), too. */
void gsrt_visit_fini(gsrt_visit *visit);

#endif
