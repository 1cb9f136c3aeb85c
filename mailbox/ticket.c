#include "mailbox/ticket.h"

#include <stdlib.h>

enum { VERSION = 1, FIELD_COUNT = 8, DEPOSIT_FIELD_COUNT = 3 };

void gsrt_deposit_pack(gsrt_pack *pack, const gsrt_deposit *deposit)
{
    gsrt_pack_array(pack, DEPOSIT_FIELD_COUNT);
    gsrt_pack_uint(pack, deposit->epoch);
    gsrt_pack_uint(pack, deposit->ballot);
    gsrt_pack_array(pack, deposit->rank_count);
    for (uint32_t rank = 0; rank < deposit->rank_count; rank++)
        gsrt_pack_uint(pack, deposit->incarnations[rank]);
}

void gsrt_deposit_unpack(gsrt_unpack *unpack, gsrt_deposit *out)
{
    *out = (gsrt_deposit){0};
    gsrt_unpack_record(unpack, DEPOSIT_FIELD_COUNT);
    out->epoch = (uint32_t)gsrt_unpack_uint(unpack, UINT32_MAX);
    out->ballot = gsrt_unpack_uint(unpack, UINT64_MAX);
    out->rank_count = gsrt_unpack_array(unpack, GSRT_RANK_COUNT_MAX);
    for (uint32_t rank = 0; rank < out->rank_count; rank++) {
        out->incarnations[rank] = (uint32_t)gsrt_unpack_uint(unpack, UINT32_MAX);
        if (out->incarnations[rank] > GSRT_INCARNATION_MAX && out->incarnations[rank] != GSRT_NOT_A_MEMBER)
            gsrt_unpack_fail(unpack);
    }
}

bool gsrt_deposit_leaves_out(const gsrt_deposit *deposit, uint32_t rank, uint32_t incarnation, uint32_t epoch)
{
    return rank < deposit->rank_count && deposit->epoch > epoch && deposit->incarnations[rank] != incarnation;
}

gsrt_status gsrt_ticket_encode(const gsrt_ticket *ticket, gsrt_buffer *buffer)
{
    gsrt_pack pack;
    gsrt_pack_init(&pack, buffer);
    gsrt_pack_array(&pack, FIELD_COUNT);
    gsrt_pack_uint(&pack, VERSION);
    gsrt_pack_bin(&pack, gsrt_span_of(ticket->secret.bytes, sizeof ticket->secret.bytes));
    gsrt_pack_uint(&pack, ticket->rank);
    gsrt_pack_uint(&pack, ticket->rank_count);
    gsrt_pack_uint(&pack, ticket->incarnation);
    gsrt_deposit_pack(&pack, &ticket->deposit);
    gsrt_pack_bin(&pack, ticket->blob);
    gsrt_pack_array(&pack, ticket->rank_count);
    for (uint32_t rank = 0; rank < ticket->rank_count; rank++)
        gsrt_pack_bin(&pack, ticket->cards[rank]);
    return gsrt_pack_end(&pack);
}

static bool are_cards_good(gsrt_unpack *unpack, gsrt_ticket *ticket)
{
    gsrt_card card;
    ticket->cards = calloc(ticket->rank_count, sizeof *ticket->cards);
    for (uint32_t rank = 0; rank < ticket->rank_count && ticket->cards != NULL; rank++) {
        ticket->cards[rank] = gsrt_unpack_bin(unpack, GSRT_CARD_BYTES_MAX);
        if (gsrt_card_decode(ticket->cards[rank], &card) != GSRT_OK)
            return false;
    }
    return ticket->cards != NULL;
}

gsrt_status gsrt_ticket_decode(gsrt_span bytes, gsrt_ticket *out)
{
    gsrt_unpack unpack;
    gsrt_ticket ticket = {0};
    gsrt_unpack_init(&unpack, bytes);
    gsrt_unpack_record(&unpack, FIELD_COUNT);
    uint64_t version = gsrt_unpack_uint(&unpack, UINT32_MAX);
    gsrt_span secret = gsrt_unpack_bin(&unpack, sizeof ticket.secret.bytes);
    ticket.rank = (uint32_t)gsrt_unpack_uint(&unpack, GSRT_RANK_COUNT_MAX);
    ticket.rank_count = (uint32_t)gsrt_unpack_uint(&unpack, GSRT_RANK_COUNT_MAX);
    ticket.incarnation = (uint32_t)gsrt_unpack_uint(&unpack, GSRT_INCARNATION_MAX);
    gsrt_deposit_unpack(&unpack, &ticket.deposit);
    ticket.blob = gsrt_unpack_bin(&unpack, GSRT_BLOB_BYTES_MAX);
    uint32_t card_count = gsrt_unpack_array(&unpack, GSRT_RANK_COUNT_MAX);
    if (!gsrt_unpack_is_ok(&unpack) || version != VERSION || secret.len != sizeof ticket.secret.bytes ||
        ticket.rank >= ticket.rank_count || card_count != ticket.rank_count ||
        ticket.deposit.rank_count != ticket.rank_count)
        return GSRT_EDECODE;
    memcpy(ticket.secret.bytes, secret.data, secret.len);
    if (!are_cards_good(&unpack, &ticket) || gsrt_unpack_end(&unpack) != GSRT_OK) {
        gsrt_status status = ticket.cards == NULL ? GSRT_ENOMEM : GSRT_EDECODE;
        gsrt_ticket_fini(&ticket);
        return status;
    }
    *out = ticket;
    return GSRT_OK;
}

void gsrt_ticket_fini(gsrt_ticket *ticket)
{
    free(ticket->cards);
    *ticket = (gsrt_ticket){0};
}
