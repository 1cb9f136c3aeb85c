/* A drill: for a while it is as if the network between this rank and some others were down. Nothing goes to them (their
 * window counts as full), what comes of them waits, and so does the news that they have died; words about them and
 * orders to their keepers are lost. Every rank does the same with its own side, so that nothing passes either way.
 * What the kernel does about a connection without an answer (ETIMEDOUT) is not part of it.
 */
#include "mailbox/ucx_impl.h"

#include <sys/timerfd.h>
#include <unistd.h>

bool gsrt__ucx_is_cut_off(const gsrt__ucx *ucx, uint32_t rank)
{
    const gsrt__cut_off *cut = &ucx->cut_off;
    return cut->is_on && cut->sides[rank] != cut->sides[ucx->options.rank];
}

gsrt_status gsrt_ucx_cut_off(gsrt_transport *transport, const uint32_t *sides, uint32_t duration_ms)
{
    gsrt__ucx *ucx = gsrt__ucx_of(transport);
    gsrt__cut_off *cut = &ucx->cut_off;
    gsrt_status status = GSRT_OK;
    if (cut->timer == 0) {
        int timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
        if (timer < 0)
            return GSRT_EIO;
        cut->timer = timer;
        status = gsrt_sentinel_watch(ucx->sentinel, timer, UINT32_MAX, false);
    }
    const struct itimerspec at = {
        .it_value = {.tv_sec = duration_ms / 1000, .tv_nsec = (long)(duration_ms % 1000) * 1000000 + 1}};
    if (status != GSRT_OK || timerfd_settime(cut->timer, 0, &at, NULL) != 0)
        return GSRT_EIO;
    memcpy(cut->sides, sides, ucx->options.rank_count * sizeof *sides);
    cut->is_on = true;
    return GSRT_OK;
}

void gsrt__ucx_cut_off_work(gsrt__ucx *ucx)
{
    gsrt__cut_off *cut = &ucx->cut_off;
    uint64_t times;
    if (read(cut->timer, &times, sizeof times) != (ssize_t)sizeof times)
        return;
    cut->is_on = false;
    ucx->has_receipts = true; /* whatever waited */
    for (uint32_t rank = 0; rank < ucx->options.rank_count; rank++) {
        gsrt__peer_state *peer = &ucx->peers[rank];
        if (peer->is_gone_unheard)
            gsrt__ucx_suspect(peer, peer->is_leaving_unheard ? GSRT_ECANCELED : GSRT_EPEER);
        peer->is_gone_unheard = false;
    }
}

void gsrt__ucx_cut_off_close(gsrt__ucx *ucx)
{
    if (ucx->cut_off.timer > 0)
        (void)close(ucx->cut_off.timer);
    ucx->cut_off = (gsrt__cut_off){0};
}
