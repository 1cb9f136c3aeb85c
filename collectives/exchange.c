#include "collectives/exchange.h"

#include <stdlib.h>

/* Early pieces are few: each member can be ahead by the exchanges of one step at most. A list is enough. */
typedef struct piece {
    struct piece *next;
    uint64_t step;
    uint32_t exchange, member;
    gsrt_payload *payload;
} piece;

struct gsrt_exchange_store {
    uint32_t member_count, piece_count;
    piece *pieces;
};

enum { EARLY_PIECES_MAX = GSRT_GROUP_RANKS_MAX * GSRT_STAGE_COUNT_MAX };

/* One hop between two ranks costs about as much as this many bytes: 20 us at 5 GB/s. */
enum { ALPHA_BYTES = 100000 };

gsrt_exchange_store *gsrt_exchange_store_create(uint32_t member_count)
{
    gsrt_exchange_store *store = calloc(1, sizeof *store);
    if (store != NULL)
        store->member_count = member_count;
    return store;
}

gsrt_exchange_store *gsrt_exchange_store_free(gsrt_exchange_store *store)
{
    if (store != NULL) {
        while (store->pieces != NULL) {
            piece *next = store->pieces->next;
            gsrt_payload_unref(store->pieces->payload);
            free(store->pieces);
            store->pieces = next;
        }
        free(store);
    }
    return NULL;
}

gsrt_payload *gsrt_exchange_store_get(const gsrt_exchange_store *store, uint64_t step, uint32_t exchange,
                                      uint32_t member)
{
    for (const piece *p = store->pieces; p != NULL; p = p->next) {
        if (p->step == step && p->exchange == exchange && p->member == member)
            return p->payload;
    }
    return NULL;
}

gsrt_status gsrt_exchange_store_put(gsrt_exchange_store *store, uint64_t step, uint32_t exchange, uint32_t member,
                                    gsrt_payload *payload)
{
    if (member >= store->member_count || payload == NULL ||
        gsrt_exchange_store_get(store, step, exchange, member) != NULL)
        return GSRT_EINVAL;
    if (store->piece_count == EARLY_PIECES_MAX)
        return GSRT_ELIMIT;
    piece *p = malloc(sizeof *p);
    if (p == NULL)
        return GSRT_ENOMEM;
    *p = (piece){.next = store->pieces,
                 .step = step,
                 .exchange = exchange,
                 .member = member,
                 .payload = gsrt_payload_ref(payload)};
    store->pieces = p;
    store->piece_count += 1;
    return GSRT_OK;
}

bool gsrt_exchange_store_has(const gsrt_exchange_store *store, uint64_t step, uint32_t exchange, uint64_t needed)
{
    for (uint32_t member = 0; member < store->member_count; member++) {
        if ((needed >> member & 1u) != 0 && gsrt_exchange_store_get(store, step, exchange, member) == NULL)
            return false;
    }
    return true;
}

void gsrt_exchange_store_drop(gsrt_exchange_store *store, uint64_t step, uint32_t exchange)
{
    piece **at = &store->pieces;
    while (*at != NULL) {
        piece *p = *at;
        if (p->step == step && p->exchange == exchange) {
            *at = p->next;
            gsrt_payload_unref(p->payload);
            free(p);
            store->piece_count -= 1;
        } else {
            at = &p->next;
        }
    }
}

uint32_t gsrt_exchange_store_count(const gsrt_exchange_store *store)
{
    return store->piece_count;
}

uint64_t gsrt_exchange_cost_bytes(uint32_t hop_count, uint64_t bytes)
{
    return (uint64_t)hop_count * ALPHA_BYTES + bytes;
}
