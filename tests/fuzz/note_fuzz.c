/* What other processes may say beside the messages: cards, notes and tickets, as bytes, and a whole conversation of a
 * stranger with a host. Whatever is accepted can be encoded again, and says the same then.
 */
#include "mailbox/channel.h"
#include "mailbox/note.h"
#include "mailbox/visit.h"

#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { RANK_COUNT = 4 };

/* A failed check is a crash, which is what a fuzzer looks for. */
static void must(bool is_true)
{
    if (!is_true)
        abort();
}

static void try_card(gsrt_span bytes)
{
    gsrt_card card, again;
    gsrt_buffer buffer;
    if (gsrt_card_decode(bytes, &card) != GSRT_OK)
        return;
    gsrt_buffer_init(&buffer, 2 * GSRT_CARD_BYTES_MAX);
    must(gsrt_card_encode(&card, &buffer) == GSRT_OK);
    must(gsrt_card_decode(gsrt_buffer_span(&buffer), &again) == GSRT_OK);
    must(again.incarnation == card.incarnation && again.keeper_port == card.keeper_port &&
         gsrt_span_equal(again.address, card.address) && memcmp(&again.place, &card.place, sizeof card.place) == 0);
    gsrt_buffer_fini(&buffer);
}

static void try_note(gsrt_span bytes)
{
    gsrt_keeper_word word, word_again;
    gsrt_note note = {.word = &word}, again = {.word = &word_again};
    gsrt_buffer buffer;
    if (gsrt_note_decode(bytes, RANK_COUNT, &note) != GSRT_OK)
        return;
    must(note.from < RANK_COUNT && note.to < RANK_COUNT && note.incarnation <= GSRT_INCARNATION_MAX);
    gsrt_buffer_init(&buffer, 2 * GSRT_NOTE_BYTES_MAX);
    must(gsrt_note_encode(&note, &buffer) == GSRT_OK);
    must(gsrt_note_decode(gsrt_buffer_span(&buffer), RANK_COUNT, &again) == GSRT_OK);
    must(again.kind == note.kind && again.from == note.from && again.to == note.to && again.order == note.order &&
         again.drill == note.drill && again.duration_ms == note.duration_ms && again.exit_code == note.exit_code &&
         again.welcome == note.welcome && gsrt_span_equal(again.card, note.card));
    if (note.kind == GSRT_NOTE_WORD)
        must(word.rank < RANK_COUNT && word.rank == word_again.rank && word.incarnation == word_again.incarnation &&
             word.deposit.rank_count == RANK_COUNT && word.deposit.epoch == word_again.deposit.epoch &&
             word.deposit.ballot == word_again.deposit.ballot);
    gsrt_buffer_fini(&buffer);
}

static void try_ticket(gsrt_span bytes)
{
    gsrt_ticket ticket, again;
    gsrt_buffer buffer;
    if (gsrt_ticket_decode(bytes, &ticket) != GSRT_OK)
        return;
    must(ticket.rank < ticket.rank_count && ticket.rank_count <= GSRT_RANK_COUNT_MAX);
    gsrt_buffer_init(&buffer, GSRT_TICKET_BYTES_MAX);
    must(gsrt_ticket_encode(&ticket, &buffer) == GSRT_OK);
    must(gsrt_ticket_decode(gsrt_buffer_span(&buffer), &again) == GSRT_OK);
    must(again.rank == ticket.rank && again.rank_count == ticket.rank_count &&
         again.incarnation == ticket.incarnation && gsrt_span_equal(again.blob, ticket.blob) &&
         memcmp(&again.secret, &ticket.secret, sizeof again.secret) == 0 &&
         again.deposit.epoch == ticket.deposit.epoch && again.deposit.ballot == ticket.deposit.ballot &&
         memcmp(again.deposit.incarnations, ticket.deposit.incarnations, sizeof again.deposit.incarnations) == 0);
    gsrt_ticket_fini(&again);
    gsrt_ticket_fini(&ticket);
    gsrt_buffer_fini(&buffer);
}

/* `bytes` come over a socket: of a caller that does not know the secret; and as frames of a channel. */
static void try_socket(gsrt_span bytes)
{
    static const gsrt_secret secret = {{7}};
    int ends[2], channel[2];
    gsrt_visit visit;
    gsrt_channel_reader reader;
    gsrt_channel_frame frame;
    size_t len = bytes.len < 65536 ? bytes.len : 65536;
    must(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends) == 0 &&
         socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, channel) == 0);
    must(send(ends[1], bytes.data, len, MSG_NOSIGNAL) == (ssize_t)len &&
         send(channel[1], bytes.data, len, MSG_NOSIGNAL) == (ssize_t)len);
    close(ends[1]);
    close(channel[1]);
    must(gsrt_visit_receive(&visit, ends[0], &secret, UINT64_MAX) == GSRT_OK);
    must(gsrt_visit_move(&visit) == GSRT_VISIT_FAILED);
    gsrt_visit_fini(&visit);
    gsrt_channel_reader_init(&reader);
    gsrt_status status;
    while ((status = gsrt_channel_read(&reader, channel[0], &frame)) == GSRT_OK)
        must(frame.ticket.len == (frame.type == GSRT_CHANNEL_TICKET ? frame.value : 0));
    must(status != GSRT_EEMPTY);
    gsrt_channel_reader_fini(&reader);
    close(channel[0]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    gsrt_span bytes = gsrt_span_of(data, size);
    try_card(bytes);
    try_note(bytes);
    try_ticket(bytes);
    try_socket(bytes);
    return 0;
}
