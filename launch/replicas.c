#include "launch/replicas.h"

#include <string.h>

void gsrt_replicas_init(gsrt_replicas *r, bool is_on, const gsrt_workload *workload, const char *const *hosts,
                        uint32_t rank_count)
{
    *r = (gsrt_replicas){.is_on = is_on, .workload = workload, .hosts = hosts, .rank_count = rank_count};
    gsrt_buffer_init(&r->transfers, SIZE_MAX / 2);
}

void gsrt_replicas_fini(gsrt_replicas *r)
{
    gsrt_buffer_fini(&r->transfers);
}

void gsrt_replicas_place(gsrt_replicas *r, const gsrt_plan *plan)
{
    if (r->is_on)
        gsrt_plan_second_places(plan, r->hosts, r->is_there, r->rank_count, r->second_places);
}

void gsrt_replicas_begin(gsrt_replicas *r, const gsrt_plan *plan, const gsrt_holdings *holdings, const bool *is_there)
{
    r->plan = plan;
    r->holdings = holdings;
    gsrt_buffer_reset(&r->transfers);
    memset(r->restored, 0, sizeof r->restored);
    memcpy(r->is_there, is_there, r->rank_count * sizeof *is_there);
    gsrt_replicas_place(r, plan);
}

/* Everybody with a role takes what it lacks of the request. */
static gsrt_status draw(gsrt_replicas *r, uint32_t request, uint32_t block_count)
{
    gsrt_status status = GSRT_OK;
    for (uint32_t s = 0; s < r->plan->stage_count; s++) {
        for (uint32_t m = 0; m < r->plan->stages[s].member_count && status == GSRT_OK; m++) {
            gsrt_plan_kv kv = gsrt_plan_kv_of(r->plan, r->workload, s, m);
            gsrt_holdings_need need = {.to = r->plan->stages[s].ranks[m],
                                       .request = request,
                                       .block_count = block_count,
                                       .layer_first = kv.layer_first,
                                       .layer_count = kv.layer_count,
                                       .head_first = kv.head_first,
                                       .head_count = kv.head_count};
            status = gsrt_holdings_draw(r->holdings, &need, r->is_there, &r->transfers);
        }
    }
    return status;
}

gsrt_status gsrt_replicas_restore(gsrt_replicas *r, uint32_t request, uint32_t block_max, uint32_t other, uint32_t *out)
{
    uint32_t held = r->is_on && r->holdings != NULL ? gsrt_holdings_blocks(r->holdings, request, r->is_there) : 0;
    uint32_t block_count = held < block_max ? held : block_max;
    size_t before = r->transfers.len;
    *out = 0;
    if (block_count <= other)
        return GSRT_OK;
    gsrt_status status = draw(r, request, block_count);
    if (status != GSRT_OK)
        return status;
    if (r->transfers.len > GSRT_BODY_BYTES_MAX / 8 * sizeof(uint32_t)) {
        r->transfers.len = before; /* more than a START holds: computed again */
        return GSRT_OK;
    }
    r->restored[request] = *out = block_count;
    return GSRT_OK;
}
