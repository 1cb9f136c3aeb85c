/* A card: what the others must know of one incarnation of a rank. Thread: any; no state. */
#ifndef GSRT_MAILBOX_CARD_H
#define GSRT_MAILBOX_CARD_H

#include "mailbox/place.h"

enum { GSRT_CARD_BYTES_MAX = 16384, GSRT_INCARNATION_MAX = 255 /* the link header has 8 bits for it */ };

typedef struct gsrt_card {
    uint32_t incarnation;
    gsrt_span address;    /* of its UCX worker, not empty; borrowed */
    gsrt_place place;     /* where it listens; the same for all incarnations */
    uint16_t keeper_port; /* where its keeper listens, on the same host; 0: it has none */
} gsrt_card;

/* Append it. GSRT_OK | GSRT_ENOMEM | GSRT_ELIMIT. */
GSRT_MUST_CHECK gsrt_status gsrt_card_encode(const gsrt_card *card, gsrt_buffer *buffer);
/* GSRT_OK: *out borrows from `bytes` | GSRT_EDECODE. */
GSRT_MUST_CHECK gsrt_status gsrt_card_decode(gsrt_span bytes, gsrt_card *out);

#endif
