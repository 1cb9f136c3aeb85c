/* The others: learning who they are, joining them, and being joined by their next incarnations. */
#include "mailbox/ucx_impl.h"

#include "mailbox/visit.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>

/* A join whose peers have not all answered goes on in the background after this, when one has. */
enum { JOIN_PATIENCE_MS = 200, JOIN_CALL_MS = 5000 };

/* ---- cards ---- */

/* Copy the card; what was known before is replaced. */
static gsrt_status keep_card(gsrt__peer_state *peer, gsrt_span bytes, gsrt_card *out)
{
    gsrt_card card;
    uint8_t *copy = malloc(bytes.len + 1);
    if (copy == NULL)
        return GSRT_ENOMEM;
    if (bytes.len > 0)
        memcpy(copy, bytes.data, bytes.len);
    gsrt_status status = gsrt_card_decode(gsrt_span_of(copy, bytes.len), &card);
    char *host = status == GSRT_OK ? strdup(card.place.host) : NULL;
    if (host == NULL) {
        free(copy);
        return status == GSRT_OK ? GSRT_ENOMEM : status;
    }
    free(peer->card);
    free(peer->host);
    peer->card = copy;
    peer->card_bytes = bytes.len;
    peer->host = host;
    peer->address = card.address.data;
    peer->incarnation = card.incarnation;
    peer->keeper_port = card.keeper_port;
    *out = card;
    return GSRT_OK;
}

/* Learn all cards; that of this rank is its own, whatever was said. */
static gsrt_status learn(gsrt__ucx *ucx, const gsrt_span *cards, const gsrt_secret *secret, gsrt_diag *diag)
{
    gsrt_span own = gsrt_buffer_span(&ucx->card);
    for (uint32_t rank = 0; rank < ucx->options.rank_count; rank++) {
        gsrt_card card;
        char text[32];
        gsrt_status status = keep_card(&ucx->peers[rank], rank == ucx->options.rank ? own : cards[rank], &card);
        if (status == GSRT_EDECODE) {
            (void)snprintf(text, sizeof text, "rank %u", rank);
            gsrt_diag_set(diag, status, NULL, text, "its card cannot be read; is every rank the same version of gsrt");
        }
        if (status != GSRT_OK)
            return status;
        gsrt_sentinel_expect(ucx->sentinel, rank, card.incarnation, &card.place);
    }
    gsrt_sentinel_introduce(ucx->sentinel, ucx->options.incarnation, own, secret);
    ucx->secret = *secret;
    ucx->token = gsrt_secret_prove(secret, gsrt_span_of_text("gsrt link"));
    return GSRT_OK;
}

/* One descriptor for all: UCX's own is added to the sentinels', once messages are taken. */
static gsrt_status join_descriptors(gsrt__ucx *ucx, gsrt_diag *diag)
{
    int fd;
    ucs_status_t status = ucp_worker_get_efd(ucx->worker, &fd);
    if (status != UCS_OK)
        return gsrt_diag_set(diag, GSRT_EIO, NULL, NULL, "UCX: has no event descriptor: %s", ucs_status_string(status));
    gsrt_status watched = gsrt_sentinel_watch(ucx->sentinel, fd, UINT32_MAX, false);
    return watched == GSRT_OK ? gsrt__ucx_echo_open(ucx) : watched;
}

gsrt_status gsrt_ucx_connect(gsrt_transport *transport, const gsrt_span *cards, const gsrt_secret *secret,
                             uint32_t timeout_ms, gsrt_diag *diag)
{
    gsrt__ucx *ucx = gsrt__ucx_of(transport);
    if (ucx->is_connected)
        return GSRT_ESTATE;
    gsrt_status status = learn(ucx, cards, secret, diag);
    if (status == GSRT_OK)
        status = gsrt_sentinel_connect(ucx->sentinel, timeout_ms, diag);
    if (status == GSRT_OK)
        status = join_descriptors(ucx, diag);
    ucx->is_connected = status == GSRT_OK;
    return status;
}

/* ---- joining ---- */

static uint32_t count_others(const gsrt__ucx *ucx, gsrt__peer_life life)
{
    uint32_t count = 0;
    for (uint32_t rank = 0; rank < ucx->options.rank_count; rank++)
        count += rank != ucx->options.rank && ucx->peers[rank].life == life;
    return count;
}

/* Who was called has not answered yet, or has, and its byte has not come yet. */
static bool is_joining(const gsrt__ucx *ucx)
{
    return gsrt_sentinel_join_count(ucx->sentinel) > 0 || count_others(ucx, GSRT__PEER_GREETED) > 0;
}

gsrt_status gsrt_ucx_join(gsrt_transport *transport, const gsrt_span *cards, const gsrt_secret *secret,
                          uint32_t timeout_ms, gsrt_diag *diag)
{
    gsrt__ucx *ucx = gsrt__ucx_of(transport);
    if (ucx->is_connected)
        return GSRT_ESTATE;
    gsrt_status status = learn(ucx, cards, secret, diag);
    for (uint32_t rank = 0; rank < ucx->options.rank_count; rank++)
        if (rank != ucx->options.rank)
            ucx->peers[rank].life = GSRT__PEER_GONE;
    uint32_t call_ms = timeout_ms > JOIN_CALL_MS ? timeout_ms : JOIN_CALL_MS;
    uint64_t start_ms = gsrt_visit_now_ms();
    if (status == GSRT_OK)
        status = gsrt_sentinel_join(ucx->sentinel, call_ms);
    while (status == GSRT_OK && is_joining(ucx) && !ucx->is_refused) {
        gsrt_sentinel_event event;
        if (gsrt_sentinel_poll(ucx->sentinel, &event)) {
            gsrt__ucx_hear(ucx, &event);
            continue;
        }
        uint64_t passed_ms = gsrt_visit_now_ms() - start_ms;
        uint32_t limit_ms =
            count_others(ucx, GSRT__PEER_UP) > 0 && JOIN_PATIENCE_MS < timeout_ms ? JOIN_PATIENCE_MS : timeout_ms;
        if (passed_ms >= limit_ms)
            break;
        struct pollfd one = {.fd = gsrt_sentinel_fd(ucx->sentinel), .events = POLLIN};
        (void)poll(&one, 1, (int)(limit_ms - passed_ms));
    }
    if (status == GSRT_OK && ucx->is_refused)
        return gsrt_diag_set(diag, GSRT_ESTALE, NULL, NULL,
                             "incarnation %u of rank %u cannot join: a later one is known", ucx->options.incarnation,
                             ucx->options.rank);
    if (status == GSRT_OK && ucx->options.rank_count > 1 && count_others(ucx, GSRT__PEER_UP) == 0)
        return gsrt_diag_set(diag, GSRT_ETIMEDOUT, NULL, NULL,
                             "incarnation %u of rank %u could not join: no rank has answered within %u ms",
                             ucx->options.incarnation, ucx->options.rank, timeout_ms);
    if (status == GSRT_OK)
        status = join_descriptors(ucx, diag);
    ucx->is_connected = status == GSRT_OK;
    return status;
}

/* ---- being joined ---- */

static void set_news(gsrt__peer_state *peer, gsrt__peer_news news)
{
    peer->ucx->news_count += (uint32_t)(news != GSRT__NEWS_NONE) - (uint32_t)(peer->news != GSRT__NEWS_NONE);
    peer->news = news;
}

/* Its incarnation before is gone, if that was not known yet; link numbers start anew. */
void gsrt__ucx_meet(gsrt__peer_state *peer, uint32_t incarnation, gsrt_span bytes)
{
    gsrt_card card;
    peer->is_gone_unheard = false;
    gsrt__ucx_replace(peer);
    set_news(peer, GSRT__NEWS_NONE);
    if (keep_card(peer, bytes, &card) != GSRT_OK || card.incarnation != incarnation) {
        gsrt_sentinel_drop(peer->ucx->sentinel, peer->rank);
        return;
    }
    peer->life = GSRT__PEER_GREETED;
}

void gsrt__ucx_admit(gsrt__peer_state *peer)
{
    if (peer->life != GSRT__PEER_GREETED)
        return;
    gsrt_sentinel_confirm(peer->ucx->sentinel, peer->rank);
    peer->life = GSRT__PEER_UP;
    set_news(peer, GSRT__NEWS_JOINED);
    if (peer->ucx->is_progressing)
        gsrt__ucx_tell_news(peer->ucx);
}

void gsrt__ucx_tell_news(gsrt__ucx *ucx)
{
    const gsrt_transport_events *events = &ucx->transport->events;
    for (uint32_t rank = 0; rank < ucx->options.rank_count && ucx->news_count > 0; rank++) {
        gsrt__peer_state *peer = &ucx->peers[rank];
        gsrt__peer_news news = peer->news;
        set_news(peer, GSRT__NEWS_NONE);
        ucx->callbacks += news != GSRT__NEWS_NONE;
        bool is_there = peer->life == GSRT__PEER_UP || peer->life == GSRT__PEER_SUSPECT; /* on_down is still to come */
        if (news == GSRT__NEWS_JOINED && is_there && events->on_join != NULL)
            events->on_join(events->arg, rank, peer->incarnation);
        else if (news == GSRT__NEWS_UNREACHABLE && !is_there && events->on_down != NULL)
            events->on_down(events->arg, rank, GSRT_EPEER);
    }
}

void gsrt__ucx_hear(gsrt__ucx *ucx, const gsrt_sentinel_event *event)
{
    gsrt__peer_state *peer = &ucx->peers[event->peer];
    switch (event->kind) {
    case GSRT_SENTINEL_MET: gsrt__ucx_meet(peer, event->incarnation, event->card); break;
    case GSRT_SENTINEL_JOINED: gsrt__ucx_admit(peer); break;
    case GSRT_SENTINEL_GONE:
        if (peer->life == GSRT__PEER_GREETED)
            peer->life = GSRT__PEER_GONE; /* nobody has heard of it yet */
        peer->is_gone_unheard = gsrt__ucx_is_cut_off(ucx, peer->rank);
        peer->is_leaving_unheard = event->is_leaving;
        if (peer->is_gone_unheard)
            break;
        gsrt__ucx_suspect(peer, event->is_leaving ? GSRT_ECANCELED : GSRT_EPEER);
        break;
    case GSRT_SENTINEL_REFUSED:
        ucx->is_refused = true;
        set_news(peer, GSRT__NEWS_UNREACHABLE);
        break;
    case GSRT_SENTINEL_UNREACHABLE: set_news(peer, GSRT__NEWS_UNREACHABLE); break;
    case GSRT_SENTINEL_WORD:
    case GSRT_SENTINEL_ANSWERED:
    case GSRT_SENTINEL_SILENT:
    case GSRT_SENTINEL_READY: gsrt__ucx_keepers_hear(ucx, event); break;
    }
}
