/* Receiving. A small message whose turn it is goes straight from UCX's memory to on_receive. Everything else becomes a
 * receipt of its peer, kept by number: those that must be fetched (rendezvous), and those behind them.
 */
#include "mailbox/ucx_impl.h"

#include <assert.h>
#include <stdlib.h>

/* A window of the sender may be open, plus what left at once behind the oldest of it. */
enum { RECEIPT_COUNT_MAX = 2 * GSRT_SENDS_IN_FLIGHT_MAX };

/* What an active message says, before anything of it is believed. */
typedef struct arrival {
    gsrt__link_header link;
    gsrt_span envelope;                   /* there, or... */
    size_t envelope_bytes, payload_bytes; /* ...still to be fetched with the payload */
    const uint8_t *payload;               /* there */
    bool is_rendezvous;
} arrival;

static bool read_split(arrival *a, const void *header, size_t header_bytes, const uint8_t *data, size_t bytes)
{
    gsrt__split_header split;
    if (header_bytes != sizeof split)
        return false;
    memcpy(&split, header, sizeof split);
    if (split.envelope_bytes > bytes || split.envelope_bytes > GSRT_HEADER_BYTES_MAX + GSRT_BODY_BYTES_MAX ||
        split.payload_bytes != bytes - split.envelope_bytes)
        return false;
    a->envelope_bytes = split.envelope_bytes;
    a->payload_bytes = split.payload_bytes;
    if (!a->is_rendezvous) {
        a->envelope = gsrt_span_of(data, split.envelope_bytes);
        a->payload = data + split.envelope_bytes;
    }
    return true;
}

static bool read_arrival(arrival *a, const void *header, size_t header_bytes, const void *data, size_t bytes)
{
    const void *link = header_bytes > 0 ? header : data;
    size_t link_bytes = header_bytes > 0 ? header_bytes : bytes;
    if (link_bytes < sizeof a->link || (header_bytes == 0 && a->is_rendezvous))
        return false;
    memcpy(&a->link, link, sizeof a->link);
    if (a->link.shape == GSRT__LINK_GOODBYE || a->link.shape == GSRT__LINK_ECHO)
        return header_bytes == 0 && bytes == sizeof a->link;
    if (a->link.shape != GSRT__LINK_WHOLE)
        return a->link.shape == GSRT__LINK_SPLIT && header_bytes > 0 &&
               read_split(a, header, header_bytes, data, bytes);
    a->envelope = gsrt_span_of((const uint8_t *)link + sizeof a->link, link_bytes - sizeof a->link);
    a->envelope_bytes = a->envelope.len;
    if (header_bytes > 0) {
        a->payload_bytes = bytes;
        a->payload = a->is_rendezvous ? NULL : data;
    }
    return a->payload_bytes <= GSRT_PAYLOAD_BYTES_MAX;
}

static void hand_over(gsrt__peer_state *peer, gsrt_span bytes, gsrt_payload *payload)
{
    gsrt__ucx *ucx = peer->ucx;
    gsrt_envelope envelope;
    gsrt_envelope_expectation expectation = {.payload_bytes = payload == NULL ? 0 : payload->len};
    if (gsrt_envelope_decode(bytes, &expectation, &envelope) != GSRT_OK) {
        ucx->facts.refused++;
        return;
    }
    envelope.payload = payload;
    ucx->facts.messages_received++;
    ucx->facts.bytes_received += envelope.body.len + expectation.payload_bytes;
    ucx->callbacks++;
    if (ucx->transport->events.on_receive != NULL) /* while this rank leaves, nobody listens */
        ucx->transport->events.on_receive(ucx->transport->events.arg, peer->rank, &envelope);
}

static void receipt_free(gsrt__receipt *receipt)
{
    gsrt_payload_unref(receipt->payload);
    free(receipt);
}

/* Put it where its number belongs. false: that number is there already, or there are too many. */
static bool receipt_file(gsrt__receipt *receipt)
{
    gsrt__peer_state *peer = receipt->peer;
    uint32_t ahead = receipt->number - peer->expected_number;
    gsrt__receipt **link = &peer->receipts;
    if (peer->receipt_count >= RECEIPT_COUNT_MAX)
        return false;
    while (*link != NULL && (*link)->number - peer->expected_number < ahead)
        link = &(*link)->next;
    if (*link != NULL && (*link)->number == receipt->number)
        return false;
    receipt->next = *link;
    *link = receipt;
    peer->receipt_count++;
    return true;
}

/* A receipt of what arrived; NULL: no memory. */
static gsrt__receipt *receipt_create(gsrt__peer_state *peer, const arrival *a)
{
    gsrt__receipt *receipt = calloc(1, sizeof *receipt + a->envelope_bytes);
    if (receipt == NULL)
        return NULL;
    receipt->peer = peer;
    receipt->number = a->link.number;
    receipt->envelope_bytes = a->envelope_bytes;
    if (a->envelope.len > 0)
        memcpy(receipt->envelope, a->envelope.data, a->envelope.len);
    if (a->payload_bytes > 0) {
        receipt->payload = gsrt_payload_create(a->payload_bytes);
        if (receipt->payload == NULL) {
            free(receipt);
            return NULL;
        }
        if (a->payload != NULL)
            memcpy(receipt->payload->data, a->payload, a->payload_bytes);
    }
    receipt->is_complete = !a->is_rendezvous;
    receipt->is_goodbye = a->link.shape == GSRT__LINK_GOODBYE;
    return receipt;
}

/* Large ones are fetched later, from progress: their memory is bounded there. */
static void defer(gsrt__ucx *ucx, gsrt__receipt *receipt, void *descriptor, size_t bytes)
{
    receipt->descriptor = descriptor;
    receipt->bytes = bytes;
    if (ucx->deferred == NULL)
        ucx->deferred_end = &ucx->deferred;
    *ucx->deferred_end = receipt;
    ucx->deferred_end = &receipt->next_deferred;
}

ucs_status_t gsrt__ucx_on_message(void *arg, const void *header, size_t header_bytes, void *data, size_t bytes,
                                  const ucp_am_recv_param_t *param)
{
    gsrt__ucx *ucx = arg;
    ucx->echo.arrivals++;
    arrival a = {.is_rendezvous = (param->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) != 0};
    if (!read_arrival(&a, header, header_bytes, data, bytes) || a.link.token != ucx->token || !ucx->is_connected ||
        a.link.rank >= ucx->options.rank_count || a.link.incarnation != (uint8_t)ucx->peers[a.link.rank].incarnation ||
        ucx->peers[a.link.rank].life == GSRT__PEER_GONE) {
        ucx->facts.refused++;
        return UCS_OK;
    }
    if (a.link.shape == GSRT__LINK_ECHO) {
        gsrt__ucx_echo_hear(ucx, &a.link);
        return UCS_OK;
    }
    gsrt__peer_state *peer = &ucx->peers[a.link.rank];
    if (peer->life == GSRT__PEER_GREETED)
        gsrt__ucx_admit(peer);
    bool is_its_turn = a.link.number == peer->expected_number && !gsrt__ucx_is_cut_off(ucx, peer->rank);
    if (is_its_turn && !a.is_rendezvous && a.payload_bytes == 0) {
        peer->expected_number++;
        if (a.link.shape == GSRT__LINK_GOODBYE)
            peer->has_said_goodbye = true;
        else
            hand_over(peer, a.envelope, NULL);
        return UCS_OK;
    }
    gsrt__receipt *receipt = receipt_create(peer, &a);
    if (receipt == NULL || !receipt_file(receipt)) {
        /* a number twice, far too many, or no memory: this link cannot go on */
        if (receipt != NULL)
            receipt_free(receipt);
        ucx->facts.refused++;
        gsrt__ucx_suspect(peer, GSRT_ELINK);
        return UCS_OK;
    }
    ucx->has_receipts = true;
    if (!a.is_rendezvous)
        return UCS_OK;
    defer(ucx, receipt, data, bytes);
    return UCS_INPROGRESS;
}

/* ---- fetching ---- */

static void fetched(gsrt__receipt *receipt, bool is_good)
{
    gsrt__ucx *ucx = receipt->peer->ucx;
    ucx->fetching_bytes -= receipt->bytes;
    receipt->is_fetching = false;
    receipt->is_complete = is_good;
    if (receipt->is_orphan) {
        ucx->orphan_count--;
        receipt_free(receipt);
        return;
    }
    ucx->has_receipts = true;
    if (!is_good)
        gsrt__ucx_suspect(receipt->peer, GSRT_ELINK);
}

static void on_fetched(void *request, ucs_status_t status, size_t length, void *arg)
{
    gsrt__receipt *receipt = arg;
    ucp_request_free(request);
    fetched(receipt, status == UCS_OK && length == receipt->bytes);
}

static void fetch(gsrt__ucx *ucx, gsrt__receipt *receipt)
{
    ucp_request_param_t param = {.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA |
                                                 UCP_OP_ATTR_FIELD_DATATYPE,
                                 .cb.recv_am = on_fetched,
                                 .datatype = ucp_dt_make_contig(1),
                                 .user_data = receipt};
    void *buffer;
    size_t count = receipt->bytes;
    size_t payload_bytes = receipt->payload == NULL ? 0 : receipt->payload->len;
    if (payload_bytes == receipt->bytes) {
        buffer = receipt->payload->data;
    } else if (payload_bytes == 0) {
        buffer = receipt->envelope;
    } else {
        receipt->pieces[0] = (ucp_dt_iov_t){.buffer = receipt->envelope, .length = receipt->envelope_bytes};
        receipt->pieces[1] = (ucp_dt_iov_t){.buffer = receipt->payload->data, .length = payload_bytes};
        buffer = receipt->pieces;
        count = 2;
        param.datatype = ucp_dt_make_iov();
    }
    receipt->is_fetching = true;
    ucx->fetching_bytes += receipt->bytes;
    void *descriptor = receipt->descriptor;
    receipt->descriptor = NULL;
    ucs_status_ptr_t request = ucp_am_recv_data_nbx(ucx->worker, descriptor, buffer, count, &param);
    if (!UCS_PTR_IS_PTR(request))
        fetched(receipt, request == NULL);
}

void gsrt__ucx_fetch_deferred(gsrt__ucx *ucx)
{
    while (ucx->deferred != NULL && (ucx->fetching_bytes == 0 ||
                                     ucx->fetching_bytes + ucx->deferred->bytes <= GSRT_RECEIVE_BYTES_IN_FLIGHT_MAX)) {
        gsrt__receipt *receipt = ucx->deferred;
        ucx->deferred = receipt->next_deferred;
        receipt->next_deferred = NULL;
        fetch(ucx, receipt);
    }
}

/* ---- delivering ---- */

static void deliver_of(gsrt__peer_state *peer)
{
    if (gsrt__ucx_is_cut_off(peer->ucx, peer->rank))
        return;
    while (peer->receipts != NULL && peer->receipts->number == peer->expected_number && peer->receipts->is_complete &&
           peer->life != GSRT__PEER_GONE) {
        gsrt__receipt *receipt = peer->receipts;
        peer->receipts = receipt->next;
        peer->receipt_count--;
        peer->expected_number++;
        if (receipt->is_goodbye)
            peer->has_said_goodbye = true;
        else
            hand_over(peer, gsrt_span_of(receipt->envelope, receipt->envelope_bytes), receipt->payload);
        receipt_free(receipt);
    }
}

void gsrt__ucx_deliver_receipts(gsrt__ucx *ucx)
{
    if (!ucx->has_receipts)
        return;
    ucx->has_receipts = false;
    for (uint32_t rank = 0; rank < ucx->options.rank_count; rank++)
        deliver_of(&ucx->peers[rank]);
}

/* The peer is gone: forget what it had sent. What UCX is still writing to lives on until UCX says so. */
void gsrt__ucx_drop_receipts(gsrt__peer_state *peer)
{
    gsrt__ucx *ucx = peer->ucx;
    for (gsrt__receipt **link = &ucx->deferred; *link != NULL;) {
        gsrt__receipt *receipt = *link;
        if (receipt->peer != peer) {
            link = &receipt->next_deferred;
            continue;
        }
        *link = receipt->next_deferred;
        if (ucx->deferred_end == &receipt->next_deferred)
            ucx->deferred_end = link;
        ucp_am_data_release(ucx->worker, receipt->descriptor);
        receipt->descriptor = NULL;
    }
    while (peer->receipts != NULL) {
        gsrt__receipt *receipt = peer->receipts;
        peer->receipts = receipt->next;
        if (receipt->is_fetching) {
            receipt->is_orphan = true;
            ucx->orphan_count++;
        } else {
            receipt_free(receipt);
        }
    }
    peer->receipt_count = 0;
    peer->expected_number = 0;
    peer->has_said_goodbye = false;
}
