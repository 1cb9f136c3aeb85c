/* One exchange inside a group: each member contributes a piece of columns, and whoever needs the whole waits for all.
 *
 * Serves both ways of splitting a product (DESIGN.md section 7): gathering inputs or outputs (a piece is a run of
 * columns), and finishing a sum over K (a piece is the member's whole subtrees). What differs is only what the columns
 * mean; the bits are the same for any arrival order, because every piece has its own place.
 *
 * A pure machine. Life: begin -> arrive for each member with columns -> is_complete -> begin the next. Pieces of a
 * later exchange or step may arrive early (another member is faster by at most one exchange per hop); the owner keeps
 * them (gsrt_exchange_store) until it begins that exchange.
 */
#ifndef GSRT_COLLECTIVES_EXCHANGE_H
#define GSRT_COLLECTIVES_EXCHANGE_H

#include "base/limits.h"
#include "base/status.h"
#include "mailbox/payload.h"

typedef struct gsrt_exchange_store gsrt_exchange_store;

/* Holds early pieces of one region; owned; NULL: no memory. */
gsrt_exchange_store *gsrt_exchange_store_create(uint32_t member_count);
gsrt_exchange_store *gsrt_exchange_store_free(gsrt_exchange_store *store); /* unrefs what it holds */

/* A piece of (step, exchange) from `member`; the payload is ref'ed.
 * GSRT_OK | GSRT_EINVAL: no such member, or it was there already | GSRT_ENOMEM | GSRT_ELIMIT: too many early pieces. */
GSRT_MUST_CHECK gsrt_status gsrt_exchange_store_put(gsrt_exchange_store *store, uint64_t step, uint32_t exchange,
                                                    uint32_t member, gsrt_payload *payload);
/* The piece of `member`, or NULL: not here yet. Borrowed until dropped. */
gsrt_payload *gsrt_exchange_store_get(const gsrt_exchange_store *store, uint64_t step, uint32_t exchange,
                                      uint32_t member);
/* All members whose bit is set in `needed` have a piece. */
bool gsrt_exchange_store_has(const gsrt_exchange_store *store, uint64_t step, uint32_t exchange, uint64_t needed);
/* Forget every piece of (step, exchange). */
void gsrt_exchange_store_drop(gsrt_exchange_store *store, uint64_t step, uint32_t exchange);
uint32_t gsrt_exchange_store_count(const gsrt_exchange_store *store);

/* What an exchange costs, by the alpha-beta rule, in bytes that could be sent in its time: hops one after the other,
 * and the bytes that one member receives. Only comparisons mean anything. */
uint64_t gsrt_exchange_cost_bytes(uint32_t hop_count, uint64_t bytes);

#endif
