#include "mailbox/note.h"

enum { VERSION = 1, COMMON_FIELD_COUNT = 4 };

/* Values after the common ones; 0: no such kind. */
static uint32_t field_count(gsrt_note_kind kind)
{
    switch (kind) {
    case GSRT_NOTE_HELLO: return 2;
    case GSRT_NOTE_WELCOME: return 3;
    case GSRT_NOTE_WORD: return 5;
    case GSRT_NOTE_ORDER: return 8;
    case GSRT_NOTE_HEARD: return 1;
    }
    return 0;
}

static void pack_word(gsrt_pack *pack, const gsrt_keeper_word *word)
{
    gsrt_pack_uint(pack, word->rank);
    gsrt_pack_uint(pack, word->incarnation);
    gsrt_pack_bool(pack, word->is_last);
    gsrt_pack_bool(pack, word->was_ordered);
    gsrt_deposit_pack(pack, &word->deposit);
}

gsrt_status gsrt_note_encode(const gsrt_note *note, gsrt_buffer *buffer)
{
    gsrt_pack pack;
    gsrt_pack_init(&pack, buffer);
    gsrt_pack_array(&pack, COMMON_FIELD_COUNT + field_count(note->kind));
    gsrt_pack_uint(&pack, VERSION);
    gsrt_pack_uint(&pack, note->kind);
    gsrt_pack_uint(&pack, note->from);
    gsrt_pack_uint(&pack, note->to);
    switch (note->kind) {
    case GSRT_NOTE_HELLO:
        gsrt_pack_uint(&pack, note->incarnation);
        gsrt_pack_bin(&pack, note->card);
        break;
    case GSRT_NOTE_WELCOME:
        gsrt_pack_uint(&pack, note->incarnation);
        gsrt_pack_uint(&pack, note->welcome);
        gsrt_pack_bin(&pack, note->card);
        break;
    case GSRT_NOTE_WORD: pack_word(&pack, note->word); break;
    case GSRT_NOTE_ORDER:
        gsrt_pack_uint(&pack, note->order);
        gsrt_pack_uint(&pack, note->incarnation);
        gsrt_pack_uint(&pack, note->asker);
        gsrt_pack_uint(&pack, note->epoch);
        gsrt_pack_uint(&pack, note->drill);
        gsrt_pack_uint(&pack, note->duration_ms);
        gsrt_pack_uint(&pack, note->factor_milli);
        gsrt_pack_uint(&pack, note->exit_code);
        break;
    case GSRT_NOTE_HEARD: gsrt_pack_uint(&pack, note->incarnation); break;
    }
    return gsrt_pack_end(&pack);
}

static void unpack_card(gsrt_unpack *unpack, gsrt_note *note)
{
    gsrt_card card;
    note->card = gsrt_unpack_bin(unpack, GSRT_CARD_BYTES_MAX);
    bool is_needed = note->kind == GSRT_NOTE_HELLO || note->welcome == GSRT_WELCOME_GOOD;
    if (is_needed ? gsrt_card_decode(note->card, &card) != GSRT_OK || card.incarnation != note->incarnation
                  : note->card.len != 0)
        gsrt_unpack_fail(unpack);
}

static void unpack_word(gsrt_unpack *unpack, uint32_t rank_count, gsrt_keeper_word *out)
{
    gsrt_keeper_word word;
    word.rank = (uint32_t)gsrt_unpack_uint(unpack, rank_count - 1);
    word.incarnation = (uint32_t)gsrt_unpack_uint(unpack, GSRT_INCARNATION_MAX);
    word.is_last = gsrt_unpack_bool(unpack);
    word.was_ordered = gsrt_unpack_bool(unpack);
    gsrt_deposit_unpack(unpack, &word.deposit);
    if (word.deposit.rank_count != rank_count)
        gsrt_unpack_fail(unpack);
    if (out != NULL)
        *out = word;
}

static void unpack_order(gsrt_unpack *unpack, gsrt_note *note)
{
    note->order = (gsrt_order)gsrt_unpack_uint(unpack, GSRT_ORDER_FINISHED);
    note->incarnation = (uint32_t)gsrt_unpack_uint(unpack, GSRT_INCARNATION_MAX);
    note->asker = (uint32_t)gsrt_unpack_uint(unpack, GSRT_INCARNATION_MAX);
    note->epoch = (uint32_t)gsrt_unpack_uint(unpack, UINT32_MAX);
    note->drill = (gsrt_drill)gsrt_unpack_uint(unpack, GSRT_DRILL_SLOW);
    note->duration_ms = (uint32_t)gsrt_unpack_uint(unpack, GSRT_DRILL_MS_MAX);
    note->factor_milli = (uint32_t)gsrt_unpack_uint(unpack, GSRT_DRILL_FACTOR_MAX);
    note->exit_code = (uint32_t)gsrt_unpack_uint(unpack, UINT8_MAX);
    if ((note->drill == GSRT_DRILL_SLOW) != (note->factor_milli > 1000))
        gsrt_unpack_fail(unpack);
    if (note->order < GSRT_ORDER_END || (note->order == GSRT_ORDER_DRILL) != (note->drill >= GSRT_DRILL_KILL))
        gsrt_unpack_fail(unpack);
}

gsrt_status gsrt_note_decode(gsrt_span bytes, uint32_t rank_count, gsrt_note *out)
{
    gsrt_unpack unpack;
    gsrt_note note = {0};
    gsrt_unpack_init(&unpack, bytes);
    uint32_t count = gsrt_unpack_array(&unpack, UINT8_MAX);
    uint64_t version = gsrt_unpack_uint(&unpack, UINT32_MAX);
    note.kind = (gsrt_note_kind)gsrt_unpack_uint(&unpack, GSRT_NOTE_HEARD);
    note.from = (uint32_t)gsrt_unpack_uint(&unpack, rank_count - 1);
    note.to = (uint32_t)gsrt_unpack_uint(&unpack, rank_count - 1);
    uint32_t fields = field_count(note.kind);
    if (!gsrt_unpack_is_ok(&unpack) || version != VERSION || fields == 0 || count != COMMON_FIELD_COUNT + fields)
        return GSRT_EDECODE;
    switch (note.kind) {
    case GSRT_NOTE_HELLO:
        note.incarnation = (uint32_t)gsrt_unpack_uint(&unpack, GSRT_INCARNATION_MAX);
        unpack_card(&unpack, &note);
        break;
    case GSRT_NOTE_WELCOME:
        note.incarnation = (uint32_t)gsrt_unpack_uint(&unpack, GSRT_INCARNATION_MAX);
        note.welcome = (gsrt_welcome)gsrt_unpack_uint(&unpack, GSRT_WELCOME_BUSY);
        unpack_card(&unpack, &note);
        break;
    case GSRT_NOTE_WORD:
        unpack_word(&unpack, rank_count, out->word);
        note.word = out->word;
        break;
    case GSRT_NOTE_ORDER: unpack_order(&unpack, &note); break;
    case GSRT_NOTE_HEARD: note.incarnation = (uint32_t)gsrt_unpack_uint(&unpack, GSRT_INCARNATION_MAX); break;
    }
    if (gsrt_unpack_end(&unpack) != GSRT_OK)
        return GSRT_EDECODE;
    *out = note;
    return GSRT_OK;
}
