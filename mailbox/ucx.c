#include "mailbox/ucx_impl.h"

#include <time.h>

/* How long the goodbye of a peer that leaves is waited for: of one that has sent something, of one that has not. */
enum { GOODBYE_MS = 3000, GOODBYE_OF_SILENT_MS = 50 };

/* ---- losing a peer ---- */

static uint64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

void gsrt__ucx_suspect(gsrt__peer_state *peer, gsrt_status why)
{
    if (peer->life != GSRT__PEER_UP)
        return;
    peer->life = GSRT__PEER_SUSPECT;
    peer->why = why;
    if (why == GSRT_ECANCELED) {
        bool is_silent = peer->expected_number == 0 && peer->receipts == NULL;
        peer->patience_until_ms = now_ms() + (is_silent ? GOODBYE_OF_SILENT_MS : GOODBYE_MS);
    }
    peer->ucx->suspect_count++;
    gsrt__ucx_echo_after_death(peer->ucx, peer->rank);
}

static void on_closed(void *request, ucs_status_t status, void *arg)
{
    (void)status;
    ucp_request_free(request);
    ((gsrt__ucx *)arg)->busy_count--;
}

/* Cancels what is being sent and stops what still comes; the callbacks of the former run from progress. */
void gsrt__ucx_close_endpoint(gsrt__ucx *ucx, ucp_ep_h *ep)
{
    const ucp_request_param_t param = {.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS | UCP_OP_ATTR_FIELD_CALLBACK |
                                                       UCP_OP_ATTR_FIELD_USER_DATA,
                                       .flags = UCP_EP_CLOSE_FLAG_FORCE,
                                       .cb.send = on_closed,
                                       .user_data = ucx};
    if (*ep == NULL)
        return;
    ucs_status_ptr_t request = ucp_ep_close_nbx(*ep, &param);
    *ep = NULL;
    if (UCS_PTR_IS_PTR(request))
        ucx->busy_count++;
}

static void bury(gsrt__peer_state *peer)
{
    peer->must_bury = false;
    peer->ucx->burial_count--;
    gsrt__ucx_drop_receipts(peer);
    gsrt__ucx_close_endpoint(peer->ucx, &peer->ep);
}

/* Nothing goes to it and nothing is taken from it any more; what is left of it is buried when no callback of UCX runs.
 */
static void lose(gsrt__peer_state *peer)
{
    gsrt__ucx *ucx = peer->ucx;
    if (peer->life == GSRT__PEER_SUSPECT)
        ucx->suspect_count--;
    if (peer->is_blocked)
        ucx->blocked_count--;
    peer->is_blocked = false;
    peer->life = GSRT__PEER_GONE;
    peer->must_bury = true;
    ucx->burial_count++;
}

static void tell_down(gsrt__peer_state *peer)
{
    gsrt__ucx *ucx = peer->ucx;
    ucx->callbacks++;
    if (ucx->transport->events.on_down != NULL)
        ucx->transport->events.on_down(ucx->transport->events.arg, peer->rank, peer->why);
}

void gsrt__ucx_cut(gsrt_transport *transport, uint32_t rank)
{
    gsrt__ucx *ucx = gsrt__ucx_of(transport);
    if (rank >= ucx->options.rank_count || ucx->peers[rank].life == GSRT__PEER_GONE)
        return;
    gsrt__peer_state *peer = &ucx->peers[rank];
    gsrt_sentinel_drop(ucx->sentinel, rank);
    lose(peer);
    gsrt__ucx_echo_after_death(ucx, rank);
    if (!ucx->is_progressing)
        bury(peer);
}

void gsrt__ucx_replace(gsrt__peer_state *peer)
{
    if (peer->life == GSRT__PEER_UP || peer->life == GSRT__PEER_SUSPECT) {
        if (peer->life == GSRT__PEER_UP)
            peer->why = GSRT_EPEER;
        lose(peer);
        tell_down(peer);
    }
    if (peer->must_bury)
        bury(peer);
    gsrt__ucx_void_sends(peer);
}

/* ---- progress ---- */

enum { NEWS_PER_LOOK = 64 };

static void watch(gsrt__ucx *ucx)
{
    gsrt_sentinel_event event;
    ucx->watch_rounds = 0;
    for (int i = 0; i < NEWS_PER_LOOK && gsrt_sentinel_poll(ucx->sentinel, &event); i++)
        gsrt__ucx_hear(ucx, &event);
    gsrt__ucx_echo_after_silence(ucx);
}

/* A peer that leaves said so over the sentinel, which may overtake what it had sent: that UCX has nothing more does not
 * mean that all is here. In shared memory another sender, taken off its processor between reserving its place in our
 * queue and filling it, hides everything behind it. The goodbye is behind all that the peer had sent. */
static bool is_awaited(const gsrt__peer_state *peer)
{
    return peer->why == GSRT_ECANCELED && !peer->has_said_goodbye && now_ms() < peer->patience_until_ms;
}

static void bury_all(gsrt__ucx *ucx)
{
    for (uint32_t rank = 0; rank < ucx->options.rank_count && ucx->burial_count > 0; rank++)
        if (ucx->peers[rank].must_bury)
            bury(&ucx->peers[rank]);
}

/* UCX has nothing more from them. */
static void lose_suspects(gsrt__ucx *ucx)
{
    for (uint32_t rank = 0; rank < ucx->options.rank_count && ucx->suspect_count > 0; rank++) {
        gsrt__peer_state *peer = &ucx->peers[rank];
        if (peer->life != GSRT__PEER_SUSPECT || is_awaited(peer))
            continue;
        gsrt_sentinel_drop(ucx->sentinel, rank);
        lose(peer);
        tell_down(peer);
    }
}

uint32_t gsrt__ucx_progress(gsrt_transport *transport)
{
    gsrt__ucx *ucx = gsrt__ucx_of(transport);
    uint64_t before = ucx->callbacks;
    unsigned moved = 0;
    ucx->is_progressing = true;
    if (ucx->news_count > 0) /* who has joined, before what it says */
        gsrt__ucx_tell_news(ucx);
    for (int round = 0; round < GSRT__UCX_ROUNDS_MAX; round++) {
        moved = ucp_worker_progress(ucx->worker);
        if (moved == 0 || ucx->callbacks != before) /* what has come is more urgent than what may come */
            break;
    }
    ucx->watch_rounds += ucx->callbacks != before ? GSRT__UCX_WATCH_BUSY : 1;
    if (ucx->watch_rounds >= GSRT__UCX_WATCH_PERIOD)
        watch(ucx);
    if (ucx->news_count > 0)
        gsrt__ucx_tell_news(ucx);
    if (ucx->keepers.must_tell_deposited)
        gsrt__ucx_keepers_tell(ucx);
    if (ucx->deferred != NULL)
        gsrt__ucx_fetch_deferred(ucx);
    if (ucx->has_receipts)
        gsrt__ucx_deliver_receipts(ucx);
    if (ucx->blocked_count > 0)
        gsrt__ucx_tell_writable(ucx);
    if (ucx->suspect_count > 0 && moved == 0)
        lose_suspects(ucx);
    if (ucx->cut_off.is_on)
        gsrt__ucx_cut_off_work(ucx);
    if (ucx->echo.is_wanted || ucx->echo.is_out)
        gsrt__ucx_echo_work(ucx);
    ucx->is_progressing = false;
    if (ucx->burial_count > 0)
        bury_all(ucx);
    return (uint32_t)(ucx->callbacks - before);
}

static gsrt_status ucx_arm(gsrt_transport *transport, int *out_fd)
{
    gsrt__ucx *ucx = gsrt__ucx_of(transport);
    ucx->watch_rounds = GSRT__UCX_WATCH_PERIOD; /* whatever wakes us: the next progress looks at the sentinels */
    if (ucx->suspect_count > 0 || ucx->burial_count > 0 || ucx->has_receipts || ucx->news_count > 0 ||
        ucx->keepers.must_tell_deposited || ucx->echo.is_wanted)
        return GSRT_ESTATE;
    if (ucp_worker_arm(ucx->worker) != UCS_OK)
        return GSRT_ESTATE;
    *out_fd = gsrt_sentinel_fd(ucx->sentinel);
    return GSRT_OK;
}

static void ucx_read_facts(const gsrt_transport *transport, gsrt_transport_facts *out)
{
    const gsrt__ucx *ucx = gsrt__ucx_of(transport);
    *out = ucx->facts;
    out->refused += gsrt_sentinel_refused_count(ucx->sentinel);
}

const gsrt_transport_ops gsrt__ucx_ops = {
    .post = gsrt__ucx_post,
    .progress = gsrt__ucx_progress,
    .arm = ucx_arm,
    .cut = gsrt__ucx_cut,
    .is_flushed = gsrt__ucx_is_flushed,
    .read_facts = ucx_read_facts,
    .free = gsrt__ucx_free,
};
