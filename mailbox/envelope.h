/* The one envelope that everything travels in.
 *
 * On the wire: a msgpack array of the header's fields in this order, then the body (a msgpack array of the kind's
 * fields in table order), and the payload beside both. See mailbox/codec.h.
 */
#ifndef GSRT_MAILBOX_ENVELOPE_H
#define GSRT_MAILBOX_ENVELOPE_H

#include "mailbox/kinds.h"
#include "mailbox/payload.h"

enum { GSRT_ENVELOPE_VERSION = 1 };

typedef struct gsrt_envelope {
    gsrt_kind kind;
    uint32_t epoch;        /* of the sender's view; stale ones are refused */
    gsrt_address from, to; /* `to` may be a role */
    uint64_t sequence;     /* 1, 2, ... per (from, to): order and at-most-once */
    uint64_t cause;        /* id of the event that made the sender send: (actor, its own counter) */
    uint64_t call;         /* a call: its number, per caller, never 0; a reply: the number of the call; else 0 */
    bool is_reply;
    uint64_t deadline_ns;  /* of the call, in the caller's time left at sending; 0 = none */
    gsrt_span body;        /* encoded (msgpack); borrowed */
    gsrt_payload *payload; /* or NULL */
} gsrt_envelope;

#endif
