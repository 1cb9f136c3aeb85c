/* Sending. Three shapes of an active message, so that the receiver always knows at once whose it is:
 *   small   no header; data = link header, envelope                       (eager: what most messages are)
 *   beside  header = link header, envelope; data = payload                (eager or rendezvous, as UCX likes)
 *   split   header = split header; data = envelope, payload               (large envelopes)
 * and the goodbye: data = link header, nothing else.
 */
#include "mailbox/ucx_impl.h"

#include <assert.h>
#include <stdlib.h>

static gsrt__send *send_take(gsrt__ucx *ucx)
{
    gsrt__send *send = ucx->free_sends;
    if (send != NULL)
        ucx->free_sends = send->next;
    else
        send = malloc(sizeof *send);
    if (send == NULL)
        return NULL;
    send->payload = NULL;
    send->large = NULL;
    send->is_void = false;
    return send;
}

static void send_give(gsrt__ucx *ucx, gsrt__send *send)
{
    gsrt_payload_unref(send->payload);
    free(send->large);
    send->next = ucx->free_sends;
    ucx->free_sends = send;
}

void gsrt__ucx_free_sends(gsrt__ucx *ucx)
{
    for (uint32_t rank = 0; rank < ucx->options.rank_count; rank++)
        for (uint32_t i = 0; i < GSRT_SENDS_IN_FLIGHT_MAX; i++)
            if (ucx->peers[rank].window[i] != NULL)
                send_give(ucx, ucx->peers[rank].window[i]);
    while (ucx->free_sends != NULL) {
        gsrt__send *send = ucx->free_sends;
        ucx->free_sends = send->next;
        free(send);
    }
}

/* UCX has let go of it: its number leaves the window. */
static void send_done(gsrt__send *send)
{
    gsrt__peer_state *peer = send->peer;
    peer->bytes_in_flight -= send->bytes;
    peer->window[send->number % GSRT_SENDS_IN_FLIGHT_MAX] = NULL;
    while (peer->oldest_number != peer->next_number &&
           peer->window[peer->oldest_number % GSRT_SENDS_IN_FLIGHT_MAX] == NULL)
        peer->oldest_number++;
    send_give(peer->ucx, send);
}

static void on_sent(void *request, ucs_status_t status, void *arg)
{
    gsrt__send *send = arg;
    gsrt__peer_state *peer = send->peer;
    ucp_request_free(request);
    peer->ucx->busy_count--;
    if (send->is_void) {
        send_give(peer->ucx, send);
        return;
    }
    if (status != UCS_OK)
        gsrt__ucx_suspect(peer, GSRT_ELINK);
    send_done(send);
}

void gsrt__ucx_void_sends(gsrt__peer_state *peer)
{
    for (uint32_t i = 0; i < GSRT_SENDS_IN_FLIGHT_MAX; i++) {
        if (peer->window[i] != NULL)
            peer->window[i]->is_void = true;
        peer->window[i] = NULL;
    }
    peer->next_number = peer->oldest_number = 0;
    peer->bytes_in_flight = 0;
    peer->posts = peer->flushed_posts = 0;
    if (peer->flush != NULL)
        peer->flush->is_void = true;
    peer->flush = NULL;
}

static bool has_room(const gsrt__peer_state *peer, size_t bytes)
{
    return peer->next_number - peer->oldest_number < GSRT_SENDS_IN_FLIGHT_MAX &&
           (peer->bytes_in_flight == 0 || peer->bytes_in_flight + bytes <= GSRT_SEND_BYTES_IN_FLIGHT_MAX);
}

/* One active message, as send_shape has laid it out. */
typedef struct shape {
    const void *header, *data;
    size_t header_bytes, count;
    ucp_datatype_t type;
    uint32_t flags;
} shape;

static gsrt__link_header link_of(const gsrt__peer_state *peer, gsrt__link_shape link_shape)
{
    const gsrt__ucx *ucx = peer->ucx;
    return (gsrt__link_header){.token = ucx->token,
                               .number = peer->next_number,
                               .rank = (uint16_t)ucx->options.rank,
                               .incarnation = (uint8_t)ucx->options.incarnation,
                               .shape = (uint8_t)link_shape};
}

/* Small and beside: link header and envelope in the slot. */
static gsrt_status shape_small(gsrt__send *send, const gsrt_envelope *envelope, shape *out)
{
    gsrt__link_header link = link_of(send->peer, GSRT__LINK_WHOLE);
    size_t len;
    memcpy(send->small, &link, sizeof link);
    gsrt_status status =
        gsrt_envelope_encode(envelope, send->small + sizeof link, sizeof send->small - sizeof link, &len);
    if (status != GSRT_OK)
        return status;
    len += sizeof link;
    if (envelope->payload == NULL)
        *out =
            (shape){.data = send->small, .count = len, .type = ucp_dt_make_contig(1), .flags = UCP_AM_SEND_FLAG_EAGER};
    else
        *out = (shape){.header = send->small,
                       .header_bytes = len,
                       .data = envelope->payload->data,
                       .count = envelope->payload->len,
                       .type = ucp_dt_make_contig(1)};
    return GSRT_OK;
}

static gsrt_status shape_split(gsrt__send *send, const gsrt_envelope *envelope, shape *out)
{
    gsrt__split_header header = {.link = link_of(send->peer, GSRT__LINK_SPLIT)};
    size_t capacity = GSRT_HEADER_BYTES_MAX + envelope->body.len, len;
    send->large = malloc(sizeof header + capacity);
    if (send->large == NULL)
        return GSRT_ENOMEM;
    gsrt_status status = gsrt_envelope_encode(envelope, send->large + sizeof header, capacity, &len);
    if (status != GSRT_OK)
        return status;
    header.envelope_bytes = (uint32_t)len;
    header.payload_bytes = envelope->payload == NULL ? 0 : (uint32_t)envelope->payload->len;
    memcpy(send->large, &header, sizeof header);
    *out = (shape){.header = send->large, .header_bytes = sizeof header};
    if (header.payload_bytes == 0) {
        out->data = send->large + sizeof header;
        out->count = len;
        out->type = ucp_dt_make_contig(1);
        return GSRT_OK;
    }
    send->pieces[0] = (ucp_dt_iov_t){.buffer = send->large + sizeof header, .length = len};
    send->pieces[1] = (ucp_dt_iov_t){.buffer = envelope->payload->data, .length = envelope->payload->len};
    out->data = send->pieces;
    out->count = 2;
    out->type = ucp_dt_make_iov();
    return GSRT_OK;
}

static gsrt_status start(gsrt__send *send, const shape *s)
{
    gsrt__peer_state *peer = send->peer;
    const ucp_request_param_t param = {
        .op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA | UCP_OP_ATTR_FIELD_DATATYPE |
                        UCP_OP_ATTR_FIELD_FLAGS,
        .flags = s->flags,
        .cb.send = on_sent,
        .datatype = s->type,
        .user_data = send,
    };
    ucs_status_ptr_t request =
        ucp_am_send_nbx(peer->ep, GSRT__UCX_AM_ID, s->header, s->header_bytes, s->data, s->count, &param);
    if (UCS_PTR_IS_ERR(request))
        return GSRT_ELINK;
    peer->posts++;
    peer->next_number++;
    if (request == NULL) { /* it has left already */
        if (peer->oldest_number == send->number)
            peer->oldest_number++;
        send_give(peer->ucx, send);
        return GSRT_OK;
    }
    peer->ucx->busy_count++;
    peer->bytes_in_flight += send->bytes;
    peer->window[send->number % GSRT_SENDS_IN_FLIGHT_MAX] = send;
    return GSRT_OK;
}

gsrt_status gsrt__ucx_post(gsrt_transport *transport, uint32_t rank, const gsrt_envelope *envelope)
{
    gsrt__ucx *ucx = gsrt__ucx_of(transport);
    if (rank >= ucx->options.rank_count || ucx->peers[rank].life != GSRT__PEER_UP || !ucx->is_connected)
        return GSRT_ELINK;
    gsrt__peer_state *peer = &ucx->peers[rank];
    size_t bytes = GSRT_HEADER_BYTES_MAX + envelope->body.len;
    bool is_small = bytes + sizeof(gsrt__link_header) <= GSRT__UCX_SMALL_BYTES;
    if (envelope->payload != NULL)
        bytes += envelope->payload->len;
    if (!has_room(peer, bytes) || gsrt__ucx_is_cut_off(ucx, rank)) {
        ucx->blocked_count += !peer->is_blocked;
        peer->is_blocked = true;
        return GSRT_EFULL;
    }
    gsrt_status status = peer->ep == NULL ? gsrt__ucx_endpoint(peer) : GSRT_OK;
    if (status != GSRT_OK)
        return status;
    gsrt__send *send = send_take(ucx);
    if (send == NULL)
        return GSRT_ENOMEM;
    send->peer = peer;
    send->number = peer->next_number;
    send->bytes = bytes;
    shape s = {0};
    status = is_small ? shape_small(send, envelope, &s) : shape_split(send, envelope, &s);
    if (status == GSRT_OK) {
        send->payload = gsrt_payload_ref(envelope->payload);
        status = start(send, &s);
        if (status == GSRT_ELINK)
            gsrt__ucx_suspect(peer, GSRT_ELINK);
    }
    if (status != GSRT_OK) {
        send_give(ucx, send);
        return status;
    }
    ucx->facts.messages_sent++;
    ucx->facts.bytes_sent += bytes - GSRT_HEADER_BYTES_MAX;
    return GSRT_OK;
}

/* Where there is no room, the peer's patience ends it. */
void gsrt__ucx_say_goodbye(gsrt__ucx *ucx)
{
    for (uint32_t rank = 0; rank < ucx->options.rank_count; rank++) {
        gsrt__peer_state *peer = &ucx->peers[rank];
        bool can_be_told = peer->life == GSRT__PEER_UP && peer->posts > 0 &&
                           has_room(peer, sizeof(gsrt__link_header)) && !gsrt__ucx_is_cut_off(ucx, rank);
        gsrt__send *send = can_be_told ? send_take(ucx) : NULL;
        if (send == NULL)
            continue;
        gsrt__link_header link = link_of(peer, GSRT__LINK_GOODBYE);
        memcpy(send->small, &link, sizeof link);
        send->peer = peer;
        send->number = peer->next_number;
        send->bytes = sizeof link;
        shape s = {
            .data = send->small, .count = sizeof link, .type = ucp_dt_make_contig(1), .flags = UCP_AM_SEND_FLAG_EAGER};
        if (start(send, &s) != GSRT_OK)
            send_give(ucx, send);
    }
}

/* Half a window of room, so that a blocked sender is not woken for every message. */
void gsrt__ucx_tell_writable(gsrt__ucx *ucx)
{
    for (uint32_t rank = 0; rank < ucx->options.rank_count && ucx->blocked_count > 0; rank++) {
        gsrt__peer_state *peer = &ucx->peers[rank];
        if (!peer->is_blocked || peer->life != GSRT__PEER_UP || gsrt__ucx_is_cut_off(ucx, rank) ||
            peer->next_number - peer->oldest_number > GSRT_SENDS_IN_FLIGHT_MAX / 2 ||
            peer->bytes_in_flight > GSRT_SEND_BYTES_IN_FLIGHT_MAX / 2)
            continue;
        peer->is_blocked = false;
        ucx->blocked_count--;
        ucx->callbacks++;
        if (ucx->transport->events.on_writable != NULL)
            ucx->transport->events.on_writable(ucx->transport->events.arg, rank);
    }
}

/* ---- flushing: a completed send may still lie in a buffer of UCX ---- */

static void on_flushed(void *request, ucs_status_t status, void *arg)
{
    gsrt__flush *flush = arg;
    gsrt__peer_state *peer = flush->peer;
    ucp_request_free(request);
    peer->ucx->busy_count--;
    if (!flush->is_void) {
        peer->flush = NULL;
        if (status == UCS_OK)
            peer->flushed_posts = flush->posts;
        else
            gsrt__ucx_suspect(peer, GSRT_ELINK);
    }
    free(flush);
}

static bool is_peer_flushed(gsrt__peer_state *peer)
{
    if (peer->life != GSRT__PEER_UP || peer->flushed_posts == peer->posts)
        return true;
    /* UCX's own flush does not wait for a rendezvous that the receiver has not answered yet: the window does */
    if (peer->flush != NULL || peer->oldest_number != peer->next_number)
        return false;
    gsrt__flush *flush = malloc(sizeof *flush);
    if (flush == NULL)
        return false;
    *flush = (gsrt__flush){.peer = peer, .posts = peer->posts};
    const ucp_request_param_t param = {.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA,
                                       .cb.send = on_flushed,
                                       .user_data = flush};
    ucs_status_ptr_t request = ucp_ep_flush_nbx(peer->ep, &param);
    if (UCS_PTR_IS_PTR(request)) {
        peer->ucx->busy_count++;
        peer->flush = flush;
        return false;
    }
    free(flush);
    if (request == NULL)
        peer->flushed_posts = peer->posts;
    else
        gsrt__ucx_suspect(peer, GSRT_ELINK);
    return request == NULL;
}

bool gsrt__ucx_is_flushed(const gsrt_transport *transport)
{
    gsrt__ucx *ucx = gsrt__ucx_of(transport);
    bool is_flushed = true;
    for (uint32_t rank = 0; rank < ucx->options.rank_count; rank++)
        is_flushed = is_peer_flushed(&ucx->peers[rank]) && is_flushed;
    return is_flushed;
}
