/* A region moves to another rank while requests are open: who has its KV, and when steps may go on.
 *
 *   STAYING --move--> AHEAD        steps go on; blocks that are whole are copied meanwhile: they do not change any more
 *           --copied--> HOLDING    no new step; those in flight come back
 *           --tokens--> COPYING    none is in flight: what has been computed since is copied, half blocks too, when the
 *                                  region has ended its last step: its answer may have come from others
 *           --copied--> HANDED_OVER    the gateway tells everybody who the region is now
 *           --resume--> STAYING
 *
 * A moment is chosen at which no prompt is being computed: a step in flight is short then. A copied block stays so
 * until it is taken for something else (gsrt_block_pool_take): whole blocks are not written. Blocks of the prefix table
 * are copied too, whoever needs them next. Blocks that a snapshot is to be restored into are not known to the new
 * region, which has no snapshot: the move stays AHEAD until every such request has been admitted.
 */
#include "placement/scheduler_impl.h"

#include <string.h>

bool gsrt_scheduler_is_held(const gsrt_scheduler *scheduler)
{
    return scheduler->move.phase >= HOLDING;
}

gsrt_status gsrt_scheduler_move(gsrt_scheduler *scheduler, const gsrt_msg_move *what)
{
    move *m = &scheduler->move;
    if (m->phase != STAYING)
        return GSRT_EINVAL;
    memset(m->is_copied, 0, scheduler->options.block_count * sizeof *m->is_copied);
    *m = (move){.phase = AHEAD, .what = *what, .is_copied = m->is_copied};
    return GSRT_OK;
}

gsrt_status gsrt_scheduler_copied(gsrt_scheduler *scheduler, const gsrt_msg_copied *copied)
{
    if (!scheduler->move.is_out)
        return GSRT_EINVAL;
    scheduler->move.is_out = false;
    scheduler->move.copied_bytes += copied->bytes;
    return GSRT_OK;
}

gsrt_status gsrt_scheduler_resume(gsrt_scheduler *scheduler)
{
    if (scheduler->move.phase != HANDED_OVER || !scheduler->move.is_said)
        return GSRT_EINVAL;
    scheduler->move.phase = STAYING;
    return GSRT_OK;
}

/* A prompt is being computed, or a request is still to be restored. */
static bool is_busy(const gsrt_scheduler *scheduler)
{
    for (uint32_t i = scheduler->live_first; i < scheduler->request_count; i++) {
        const request *r = scheduler->requests[i];
        if (r->state == PREFILL || (r->state == WAITING && r->restored > 0))
            return true;
    }
    return false;
}

static void list_block(gsrt_scheduler *scheduler, uint32_t block)
{
    draft *d = &scheduler->draft;
    if (scheduler->move.is_copied[block] || d->block_total == sizeof d->blocks / sizeof d->blocks[0])
        return;
    scheduler->move.is_copied[block] = true;
    d->blocks[d->block_total++] = block;
}

/* What is there and not copied, as far as one message holds it; while steps go on, only what they do not write. */
static uint32_t list_blocks(gsrt_scheduler *scheduler, bool is_held)
{
    scheduler->draft.block_total = 0;
    for (uint32_t i = scheduler->live_first; i < scheduler->request_count; i++) {
        const request *r = scheduler->requests[i];
        uint32_t count = is_held ? gsrt_kv_blocks_of(r->computed) : r->computed / GSRT_KV_BLOCK_POSITIONS;
        for (uint32_t b = 0; b < count && (r->state == PREFILL || r->state == DECODE); b++)
            list_block(scheduler, r->blocks[b]);
    }
    for (uint32_t block = 0; block < scheduler->options.block_count; block++) {
        if (gsrt_block_pool_is_noted(scheduler->pool, block))
            list_block(scheduler, block);
    }
    return scheduler->draft.block_total;
}

static bool draw_copy(gsrt_scheduler *scheduler, bool is_held, gsrt_scheduler_action *out)
{
    move *m = &scheduler->move;
    uint32_t count = list_blocks(scheduler, is_held);
    if (count == 0 && (!is_held || m->is_settled))
        return false;
    m->is_out = true;
    m->is_settled = is_held;
    m->copied_count += count;
    out->kind = GSRT_KIND_COPY;
    out->copy = (gsrt_msg_copy){.stage = m->what.stage,
                                .member = m->what.member,
                                .region = m->what.region,
                                .is_held = is_held,
                                .blocks = scheduler->draft.blocks,
                                .blocks_count = count};
    return true;
}

static bool draw_handover(gsrt_scheduler *scheduler, gsrt_scheduler_action *out)
{
    move *m = &scheduler->move;
    m->is_said = true;
    out->kind = GSRT_KIND_HANDOVER;
    out->handover = (gsrt_msg_handover){
        .stage = m->what.stage, .member = m->what.member, .block_count = m->copied_count, .bytes = m->copied_bytes};
    return true;
}

bool gsrt__scheduler_poll_move(gsrt_scheduler *scheduler, gsrt_scheduler_action *out)
{
    move *m = &scheduler->move;
    if (m->phase == STAYING || m->is_out || m->is_said)
        return false;
    if (m->phase == AHEAD && is_busy(scheduler)) {
        m->is_ahead_done = false; /* there will be more that is whole */
        return false;
    }
    if (m->phase == AHEAD && !m->is_ahead_done && draw_copy(scheduler, false, out)) {
        /* a full message: there may be more; else what comes meanwhile is little */
        m->is_ahead_done = out->copy.blocks_count < sizeof scheduler->draft.blocks / sizeof(uint32_t);
        return true;
    }
    if (m->phase == AHEAD)
        m->phase = HOLDING;
    if (m->phase == HOLDING && scheduler->flight_count == 0)
        m->phase = COPYING;
    if (m->phase != COPYING)
        return false;
    if (draw_copy(scheduler, true, out))
        return true;
    m->phase = HANDED_OVER;
    return draw_handover(scheduler, out);
}
