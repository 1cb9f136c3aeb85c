/* A ticket: all that a new incarnation needs to join. A worker gives it to its keeper after the wire-up and with each
 * deposit; the keeper hands the last one to the next incarnation, and reads from it whom to tell of a death.
 * It holds the job's secret: it travels over inherited descriptors only. Thread: any; no state.
 */
#ifndef GSRT_MAILBOX_TICKET_H
#define GSRT_MAILBOX_TICKET_H

#include "mailbox/card.h"
#include "mailbox/keepers.h"
#include "mailbox/secret.h"

typedef struct gsrt_ticket {
    gsrt_secret secret;
    uint32_t rank, rank_count, incarnation; /* whose it is: the next incarnation has a higher number */
    gsrt_deposit deposit;                   /* .rank_count: the same */
    gsrt_span blob;                         /* of the application, at most GSRT_BLOB_BYTES_MAX; borrowed */
    gsrt_span *cards;                       /* [rank_count], the latest of each; the array is owned */
} gsrt_ticket;

/* Append it. GSRT_OK | GSRT_ENOMEM | GSRT_ELIMIT. */
GSRT_MUST_CHECK gsrt_status gsrt_ticket_encode(const gsrt_ticket *ticket, gsrt_buffer *buffer);
/* GSRT_OK: every card in it can be decoded; blob and cards borrow from `bytes`; gsrt_ticket_fini it.
 * GSRT_EDECODE | GSRT_ENOMEM. */
GSRT_MUST_CHECK gsrt_status gsrt_ticket_decode(gsrt_span bytes, gsrt_ticket *out);
void gsrt_ticket_fini(gsrt_ticket *ticket);

/* As part of a larger record: one value. */
void gsrt_deposit_pack(gsrt_pack *pack, const gsrt_deposit *deposit);
/* The view that was deposited is later than `epoch`, the last that (rank, incarnation) knows, and does not name it. */
bool gsrt_deposit_leaves_out(const gsrt_deposit *deposit, uint32_t rank, uint32_t incarnation, uint32_t epoch);
void gsrt_deposit_unpack(gsrt_unpack *unpack, gsrt_deposit *out);

#endif
