#include "mailbox/card.h"

enum { VERSION = 2, FIELD_COUNT = 4 + GSRT_PLACE_FIELD_COUNT };

gsrt_status gsrt_card_encode(const gsrt_card *card, gsrt_buffer *buffer)
{
    gsrt_pack pack;
    gsrt_pack_init(&pack, buffer);
    gsrt_pack_array(&pack, FIELD_COUNT);
    gsrt_pack_uint(&pack, VERSION);
    gsrt_pack_uint(&pack, card->incarnation);
    gsrt_pack_bin(&pack, card->address);
    gsrt_place_pack(&pack, &card->place);
    gsrt_pack_uint(&pack, card->keeper_port);
    return gsrt_pack_end(&pack);
}

gsrt_status gsrt_card_decode(gsrt_span bytes, gsrt_card *out)
{
    gsrt_unpack unpack;
    gsrt_card card;
    gsrt_unpack_init(&unpack, bytes);
    gsrt_unpack_record(&unpack, FIELD_COUNT);
    uint64_t version = gsrt_unpack_uint(&unpack, UINT32_MAX);
    card.incarnation = (uint32_t)gsrt_unpack_uint(&unpack, GSRT_INCARNATION_MAX);
    card.address = gsrt_unpack_bin(&unpack, GSRT_CARD_BYTES_MAX);
    gsrt_place_unpack(&unpack, &card.place);
    card.keeper_port = (uint16_t)gsrt_unpack_uint(&unpack, UINT16_MAX);
    if (gsrt_unpack_end(&unpack) != GSRT_OK || version != VERSION || card.address.len == 0 ||
        bytes.len > GSRT_CARD_BYTES_MAX)
        return GSRT_EDECODE;
    *out = card;
    return GSRT_OK;
}
