/* The keepers, real kind: deposits go to the own keeper through the channel, as part of a ticket that has everybody's
 * latest card; orders go to keepers over TCP, as calls of the sentinel; words come in through its listener.
 */
#include "mailbox/ucx_impl.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

enum { CHANNEL_NONE = -1, CHANNEL_LOST = -2, CHANNEL_TAG = 1, END_MS = 200, ORDER_MS = 1000, NOTHING_TO_SAY = -1 };

static gsrt__ucx_keepers *keepers_of(gsrt_keepers *keepers)
{
    return (gsrt__ucx_keepers *)(void *)keepers;
}

/* ---- to the own keeper ---- */

static void lose_channel(gsrt__ucx_keepers *k)
{
    if (k->channel >= 0)
        close(k->channel);
    k->channel = CHANNEL_LOST;
}

/* The next frame to be written. false: there is none. */
static bool take_next(gsrt__ucx_keepers *k)
{
    gsrt_buffer_reset(&k->leaving);
    k->leaving_at = 0;
    if (k->next.len > 0) {
        gsrt_buffer empty = k->leaving;
        k->leaving = k->next;
        k->next = empty;
        return true;
    }
    if (k->finished_code == NOTHING_TO_SAY)
        return false;
    uint8_t head[GSRT_CHANNEL_HEAD_BYTES];
    gsrt_channel_write_head(head, GSRT_CHANNEL_FINISHED, (uint32_t)k->finished_code);
    k->finished_code = NOTHING_TO_SAY;
    return gsrt_buffer_append(&k->leaving, head, sizeof head) == GSRT_OK;
}

static void pump(gsrt__ucx_keepers *k)
{
    while (k->channel >= 0 && (k->leaving_at < k->leaving.len || take_next(k))) {
        ssize_t n = send(k->channel, k->leaving.data + k->leaving_at, k->leaving.len - k->leaving_at,
                         MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n > 0)
            k->leaving_at += (size_t)n;
        else if (n < 0 && errno == EAGAIN)
            break;
        else if (n == 0 || errno != EINTR)
            lose_channel(k);
    }
    bool is_writing = k->leaving_at < k->leaving.len;
    if (k->channel >= 0 && is_writing != k->is_writing &&
        gsrt_sentinel_watch(k->ucx->sentinel, k->channel, CHANNEL_TAG, is_writing) == GSRT_OK)
        k->is_writing = is_writing;
}

static gsrt_status write_ticket(gsrt__ucx_keepers *k)
{
    gsrt__ucx *ucx = k->ucx;
    gsrt_span *cards = calloc(ucx->options.rank_count, sizeof *cards);
    if (cards == NULL)
        return GSRT_ENOMEM;
    for (uint32_t rank = 0; rank < ucx->options.rank_count; rank++)
        cards[rank] = gsrt_span_of(ucx->peers[rank].card, ucx->peers[rank].card_bytes);
    const gsrt_ticket ticket = {.secret = ucx->secret,
                                .rank = ucx->options.rank,
                                .rank_count = ucx->options.rank_count,
                                .incarnation = ucx->options.incarnation,
                                .deposit = k->deposit,
                                .blob = gsrt_buffer_span(&k->blob),
                                .cards = cards};
    uint8_t head[GSRT_CHANNEL_HEAD_BYTES] = {0};
    gsrt_buffer_reset(&k->next);
    gsrt_status status = gsrt_buffer_append(&k->next, head, sizeof head);
    if (status == GSRT_OK)
        status = gsrt_ticket_encode(&ticket, &k->next);
    free(cards);
    if (status != GSRT_OK) {
        gsrt_buffer_reset(&k->next);
        return status;
    }
    gsrt_channel_write_head(k->next.data, GSRT_CHANNEL_TICKET, (uint32_t)(k->next.len - sizeof head));
    return GSRT_OK;
}

gsrt_status gsrt_ucx_give_ticket(gsrt_transport *transport, int channel, gsrt_span blob, const gsrt_deposit *deposit)
{
    gsrt__ucx_keepers *k = &gsrt__ucx_of(transport)->keepers;
    if (!k->ucx->is_connected)
        return GSRT_ESTATE;
    gsrt_buffer_reset(&k->blob);
    gsrt_status status = gsrt_buffer_append(&k->blob, blob.data, blob.len);
    if (status == GSRT_OK && k->deposit.epoch == 0 && deposit->rank_count == k->ucx->options.rank_count)
        k->deposit = *deposit;
    if (status != GSRT_OK || (channel < 0 && k->channel < 0))
        return status;
    status = write_ticket(k);
    if (status == GSRT_OK && channel >= 0) {
        status = gsrt_sentinel_watch(k->ucx->sentinel, channel, CHANNEL_TAG, false);
        if (status == GSRT_OK)
            k->channel = channel;
    }
    if (status == GSRT_OK)
        pump(k);
    return status;
}

static void deposit(gsrt_keepers *keepers, const gsrt_deposit *deposit)
{
    gsrt__ucx_keepers *k = keepers_of(keepers);
    assert(deposit->rank_count == k->ucx->options.rank_count);
    k->deposit = *deposit;
    k->must_tell_deposited = k->channel == CHANNEL_NONE;
    /* without memory it is as if the keeper did not answer: the view is not acknowledged */
    if (k->channel >= 0 && write_ticket(k) == GSRT_OK)
        pump(k);
}

void gsrt__ucx_keepers_tell(gsrt__ucx *ucx)
{
    gsrt__ucx_keepers *k = &ucx->keepers;
    k->must_tell_deposited = false;
    ucx->callbacks++;
    if (k->base.events.on_deposited != NULL)
        k->base.events.on_deposited(k->base.events.arg, k->deposit.epoch);
}

static void hear_channel(gsrt__ucx_keepers *k)
{
    gsrt_channel_frame frame;
    gsrt_status status = GSRT_EEMPTY;
    while (k->channel >= 0 && (status = gsrt_channel_read(&k->reader, k->channel, &frame)) == GSRT_OK) {
        if (frame.type != GSRT_CHANNEL_DEPOSITED || frame.value == 0)
            continue;
        k->ucx->callbacks++;
        if (k->base.events.on_deposited != NULL)
            k->base.events.on_deposited(k->base.events.arg, frame.value);
    }
    if (status != GSRT_EEMPTY)
        lose_channel(k); /* the pipe beside it says so too, and ends this process */
    pump(k);
}

/* ---- orders ---- */

/* What a call's end must know again. */
static uint32_t tag_of(gsrt_order order, uint32_t rank, uint32_t incarnation)
{
    return (uint32_t)order << 24 | rank << 8 | incarnation;
}

static void give_order(gsrt__ucx_keepers *k, uint32_t rank, const gsrt_note *order, uint32_t timeout_ms)
{
    gsrt__ucx *ucx = k->ucx;
    gsrt_note note = *order;
    gsrt_buffer bytes;
    if (rank >= ucx->options.rank_count || !ucx->is_connected)
        return;
    note.kind = GSRT_NOTE_ORDER;
    note.from = ucx->options.rank;
    note.to = rank;
    gsrt_buffer_init(&bytes, GSRT_NOTE_BYTES_MAX);
    gsrt_status status = gsrt_note_encode(&note, &bytes);
    /* port 0, without a keeper: nobody listens there */
    uint16_t port = gsrt__ucx_is_cut_off(ucx, rank) ? 0 : ucx->peers[rank].keeper_port;
    if (status == GSRT_OK)
        status = gsrt_sentinel_call(ucx->sentinel, rank, port, gsrt_buffer_span(&bytes), timeout_ms,
                                    tag_of(note.order, rank, note.incarnation));
    k->order_count += status == GSRT_OK;
    gsrt_buffer_fini(&bytes);
}

static void end_worker(gsrt_keepers *keepers, uint32_t rank, uint32_t incarnation)
{
    gsrt__ucx_keepers *k = keepers_of(keepers);
    const gsrt_note order = {.order = GSRT_ORDER_END,
                             .incarnation = incarnation,
                             .asker = k->ucx->options.incarnation,
                             .epoch = k->deposit.epoch};
    give_order(k, rank, &order, END_MS);
}

static void drill(gsrt_keepers *keepers, uint32_t rank, gsrt_drill what, uint32_t duration_ms)
{
    const gsrt_note order = {.order = GSRT_ORDER_DRILL,
                             .drill = what,
                             .duration_ms = duration_ms < GSRT_DRILL_MS_MAX ? duration_ms : GSRT_DRILL_MS_MAX};
    give_order(keepers_of(keepers), rank, &order, ORDER_MS);
}

static void slow(gsrt_keepers *keepers, uint32_t rank, uint32_t factor_milli, uint32_t duration_ms)
{
    const gsrt_note order = {.order = GSRT_ORDER_DRILL,
                             .drill = GSRT_DRILL_SLOW,
                             .duration_ms = duration_ms < GSRT_DRILL_MS_MAX ? duration_ms : GSRT_DRILL_MS_MAX,
                             .factor_milli = factor_milli};
    if (factor_milli > 1000 && factor_milli <= GSRT_DRILL_FACTOR_MAX)
        give_order(keepers_of(keepers), rank, &order, ORDER_MS);
}

static void finished(gsrt_keepers *keepers, uint32_t exit_code)
{
    gsrt__ucx_keepers *k = keepers_of(keepers);
    const gsrt_note order = {.order = GSRT_ORDER_FINISHED, .exit_code = exit_code & 0xff};
    for (uint32_t rank = 0; rank < k->ucx->options.rank_count; rank++)
        if (rank != k->ucx->options.rank && k->ucx->peers[rank].keeper_port != 0)
            give_order(k, rank, &order, ORDER_MS);
    k->finished_code = (int)(exit_code & 0xff);
    pump(k);
}

static void hear_word(gsrt__ucx_keepers *k, const gsrt_keeper_word *word)
{
    if (gsrt__ucx_is_cut_off(k->ucx, word->rank))
        return;
    k->ucx->callbacks++;
    if (k->base.events.on_word != NULL)
        k->base.events.on_word(k->base.events.arg, word);
}

/* A keeper's answer to an order: heard, or its word about a worker that is dead already. */
static void hear_answer(gsrt__ucx_keepers *k, gsrt_span bytes)
{
    gsrt_keeper_word word;
    gsrt_note note = {.word = &word};
    if (gsrt_note_decode(bytes, k->ucx->options.rank_count, &note) == GSRT_OK && note.kind == GSRT_NOTE_WORD)
        hear_word(k, &word);
}

static void hear_silence(gsrt__ucx_keepers *k, uint32_t tag)
{
    if (tag >> 24 != GSRT_ORDER_END)
        return;
    k->ucx->callbacks++;
    if (k->base.events.on_unreachable != NULL)
        k->base.events.on_unreachable(k->base.events.arg, tag >> 8 & 0xffff, tag & 0xff);
}

void gsrt__ucx_keepers_hear(gsrt__ucx *ucx, const gsrt_sentinel_event *event)
{
    gsrt__ucx_keepers *k = &ucx->keepers;
    if (event->kind == GSRT_SENTINEL_WORD) {
        hear_word(k, event->word);
    } else if (event->kind == GSRT_SENTINEL_READY) {
        hear_channel(k);
    } else if (event->kind == GSRT_SENTINEL_ANSWERED) {
        k->order_count--;
        hear_answer(k, event->note);
    } else if (event->kind == GSRT_SENTINEL_SILENT) {
        k->order_count--;
        hear_silence(k, event->tag);
    }
}

/* ---- opening and closing ---- */

static const gsrt_keepers_ops keepers_ops = {
    .deposit = deposit,
    .end_worker = end_worker,
    .drill = drill,
    .slow = slow,
    .finished = finished,
};

void gsrt__ucx_keepers_init(gsrt__ucx *ucx)
{
    gsrt__ucx_keepers *k = &ucx->keepers;
    *k = (gsrt__ucx_keepers){.base.ops = &keepers_ops,
                             .ucx = ucx,
                             .channel = CHANNEL_NONE,
                             .deposit.rank_count = ucx->options.rank_count,
                             .finished_code = NOTHING_TO_SAY};
    for (uint32_t rank = 0; rank < ucx->options.rank_count; rank++)
        k->deposit.incarnations[rank] = GSRT_NOT_A_MEMBER;
    gsrt_buffer_init(&k->leaving, GSRT_TICKET_BYTES_MAX);
    gsrt_buffer_init(&k->next, GSRT_TICKET_BYTES_MAX);
    gsrt_buffer_init(&k->blob, GSRT_BLOB_BYTES_MAX);
    gsrt_channel_reader_init(&k->reader);
}

void gsrt__ucx_keepers_fini(gsrt__ucx *ucx)
{
    gsrt__ucx_keepers *k = &ucx->keepers;
    pump(k);
    lose_channel(k);
    gsrt_buffer_fini(&k->leaving);
    gsrt_buffer_fini(&k->next);
    gsrt_buffer_fini(&k->blob);
    gsrt_channel_reader_fini(&k->reader);
}

gsrt_keepers *gsrt_ucx_keepers(gsrt_transport *transport)
{
    return &gsrt__ucx_of(transport)->keepers.base;
}
