#include "placement/fallback.h"

#include <stdlib.h>
#include <string.h>

const char *gsrt_way_name(gsrt_way way)
{
    switch (way) {
    case GSRT_WAY_FULL: return "full";
    case GSRT_WAY_SPARE: return "spare";
    case GSRT_WAY_RESHAPED: return "reshaped";
    }
    return "?";
}

/* Who has which role: the full plan, with the missing replaced or taken out. A stage whose member_count is 0 is gone.
 */
typedef struct draft {
    gsrt_plan_carrier roles;
    bool is_idle[GSRT_RANK_COUNT_MAX]; /* there, and without a role */
    gsrt_way way;
} draft;

static uint32_t take_idle(draft *d, const gsrt_plan *full, uint32_t rank_count)
{
    for (uint32_t i = 0; i < full->spare_count; i++) {
        uint32_t rank = full->spares[i];
        if (rank < rank_count && d->is_idle[rank]) {
            d->is_idle[rank] = false;
            return rank;
        }
    }
    for (uint32_t rank = 0; rank < rank_count; rank++) {
        if (d->is_idle[rank]) {
            d->is_idle[rank] = false;
            return rank;
        }
    }
    return UINT32_MAX;
}

static void find_idle(draft *d, const gsrt_plan *full, const bool *is_there, uint32_t rank_count)
{
    uint32_t stage, member;
    for (uint32_t rank = 0; rank < rank_count; rank++)
        d->is_idle[rank] = is_there[rank] && !gsrt_plan_role_of(full, rank, &stage, &member);
}

/* One group; its roles are appended to those of the groups before. */
static void draft_group(draft *d, const gsrt_plan *full, uint32_t s, const bool *is_there, uint32_t rank_count)
{
    const gsrt_plan_stage *stage = &full->stages[s];
    gsrt_plan_carrier *roles = &d->roles;
    uint32_t first = roles->role_count;
    uint64_t share_total = 0;
    for (uint32_t m = 0; m < stage->member_count; m++) {
        uint32_t rank = stage->ranks[m];
        if (!is_there[rank]) {
            rank = take_idle(d, full, rank_count);
            gsrt_way way = rank == UINT32_MAX ? GSRT_WAY_RESHAPED : GSRT_WAY_SPARE;
            d->way = way > d->way ? way : d->way;
        }
        if (rank == UINT32_MAX)
            continue;
        roles->ranks[roles->role_count] = rank;
        roles->shares[roles->role_count++] = stage->shares[m];
        share_total += stage->shares[m];
    }
    for (uint32_t i = first; i < roles->role_count && share_total == 0; i++)
        roles->shares[i] = 1; /* only those with nothing to do are left */
    roles->layers[2 * s] = stage->layer_first;
    roles->layers[2 * s + 1] = stage->layer_last;
    roles->member_counts[s] = roles->role_count - first;
}

/* Layers of stages without a member go to the stage before, or to the first that is left. */
static void close_gaps(gsrt_plan_carrier *roles, uint32_t stage_count)
{
    uint32_t kept = 0, next_layer = 0;
    for (uint32_t s = 0; s < stage_count; s++) {
        uint32_t last = roles->layers[2 * s + 1];
        if (roles->member_counts[s] > 0) {
            roles->member_counts[kept] = roles->member_counts[s];
            roles->layers[2 * kept] = next_layer;
            kept++;
        } else if (kept == 0) {
            continue; /* the first that is left begins at layer 0 */
        }
        roles->layers[2 * kept - 1] = last;
        next_layer = last + 1;
    }
    roles->stage_count = kept;
}

static void pack_narrowed(const gsrt_plan *plan, gsrt_plan_carrier *out)
{
    out->narrowed_count = plan->narrowed_count;
    for (uint32_t i = 0; i < plan->narrowed_count; i++) {
        out->narrowed[2 * i] = plan->narrowed[i].place;
        out->narrowed[2 * i + 1] = (uint32_t)plan->narrowed[i].weights;
    }
}

gsrt_status gsrt_plan_without(const gsrt_plan *full, const bool *is_there, uint32_t rank_count, gsrt_plan **out,
                              gsrt_way *out_way)
{
    draft d = {.way = GSRT_WAY_FULL, .roles.exchange = (uint32_t)full->exchange};
    find_idle(&d, full, is_there, rank_count);
    for (uint32_t s = 0; s < full->stage_count; s++)
        draft_group(&d, full, s, is_there, rank_count);
    if (d.roles.role_count == 0)
        return GSRT_EINFEASIBLE;
    close_gaps(&d.roles, full->stage_count);
    pack_narrowed(full, &d.roles);
    for (uint32_t rank = 0; rank < rank_count; rank++) {
        if (d.is_idle[rank])
            d.roles.spares[d.roles.spare_count++] = rank;
    }
    gsrt_status status = gsrt_plan_unpack(&d.roles, out);
    if (status == GSRT_OK)
        *out_way = d.way;
    return status;
}

bool gsrt_plan_has_layout_of(const gsrt_plan *a, const gsrt_plan *b)
{
    if (a->stage_count != b->stage_count || a->exchange != b->exchange || a->narrowed_count != b->narrowed_count)
        return false;
    for (uint32_t i = 0; i < a->narrowed_count; i++) {
        if (a->narrowed[i].place != b->narrowed[i].place || a->narrowed[i].weights != b->narrowed[i].weights)
            return false;
    }
    for (uint32_t s = 0; s < a->stage_count; s++) {
        const gsrt_plan_stage *x = &a->stages[s], *y = &b->stages[s];
        if (x->layer_first != y->layer_first || x->layer_last != y->layer_last || x->member_count != y->member_count ||
            memcmp(x->shares, y->shares, x->member_count * sizeof *x->shares) != 0)
            return false;
    }
    return true;
}

bool gsrt_plan_is_equal(const gsrt_plan *a, const gsrt_plan *b)
{
    if (!gsrt_plan_has_layout_of(a, b))
        return false;
    for (uint32_t s = 0; s < a->stage_count; s++) {
        size_t bytes = a->stages[s].member_count * sizeof *a->stages[s].ranks;
        if (memcmp(a->stages[s].ranks, b->stages[s].ranks, bytes) != 0)
            return false;
    }
    return true;
}

void gsrt_plan_pack(const gsrt_plan *plan, gsrt_plan_carrier *out)
{
    out->stage_count = plan->stage_count;
    out->role_count = 0;
    out->exchange = (uint32_t)plan->exchange;
    for (uint32_t s = 0; s < plan->stage_count; s++) {
        const gsrt_plan_stage *stage = &plan->stages[s];
        out->layers[2 * s] = stage->layer_first;
        out->layers[2 * s + 1] = stage->layer_last;
        out->member_counts[s] = stage->member_count;
        memcpy(out->ranks + out->role_count, stage->ranks, stage->member_count * sizeof *out->ranks);
        memcpy(out->shares + out->role_count, stage->shares, stage->member_count * sizeof *out->shares);
        out->role_count += stage->member_count;
    }
    pack_narrowed(plan, out);
    out->spare_count = plan->spare_count;
    if (plan->spare_count > 0)
        memcpy(out->spares, plan->spares, plan->spare_count * sizeof *out->spares);
}

static gsrt_status unpack_stage(gsrt_plan *plan, const gsrt_plan_carrier *carrier, uint32_t s, uint32_t *role)
{
    gsrt_plan_stage *stage = &plan->stages[s];
    uint32_t count = carrier->member_counts[s];
    if (count == 0 || count > GSRT_GROUP_RANKS_MAX || count > carrier->role_count - *role)
        return GSRT_EDECODE;
    stage->layer_first = carrier->layers[2 * s];
    stage->layer_last = carrier->layers[2 * s + 1];
    stage->member_count = count;
    stage->ranks = gsrt_arena_take(&plan->arena, count, sizeof *stage->ranks);
    stage->shares = gsrt_arena_take(&plan->arena, count, sizeof *stage->shares);
    if (stage->ranks == NULL || stage->shares == NULL)
        return GSRT_ENOMEM;
    memcpy(stage->ranks, carrier->ranks + *role, count * sizeof *stage->ranks);
    memcpy(stage->shares, carrier->shares + *role, count * sizeof *stage->shares);
    *role += count;
    return GSRT_OK;
}

static gsrt_status unpack_narrowed(gsrt_plan *plan, const gsrt_plan_carrier *carrier)
{
    gsrt_plan_narrowed narrowed[GSRT_PLAN_PLACE_COUNT];
    for (uint32_t i = 0; i < carrier->narrowed_count; i++)
        narrowed[i] = (gsrt_plan_narrowed){.place = carrier->narrowed[2 * i],
                                           .weights = (gsrt_dtype)carrier->narrowed[2 * i + 1]};
    return gsrt_plan_narrow(plan, narrowed, carrier->narrowed_count);
}

gsrt_status gsrt_plan_unpack(const gsrt_plan_carrier *carrier, gsrt_plan **out)
{
    if (carrier->stage_count == 0 || carrier->stage_count > GSRT_STAGE_COUNT_MAX ||
        carrier->role_count > GSRT_RANK_COUNT_MAX || carrier->spare_count > GSRT_RANK_COUNT_MAX ||
        carrier->narrowed_count > GSRT_PLAN_PLACE_COUNT || carrier->exchange > GSRT_EXCHANGE_SCATTER)
        return GSRT_EDECODE;
    gsrt_plan *plan = gsrt_plan_create(carrier->stage_count);
    if (plan == NULL)
        return GSRT_ENOMEM;
    plan->exchange = (gsrt_exchange)carrier->exchange;
    uint32_t role = 0;
    gsrt_status status = GSRT_OK;
    for (uint32_t s = 0; s < carrier->stage_count && status == GSRT_OK; s++)
        status = unpack_stage(plan, carrier, s, &role);
    if (status == GSRT_OK && role != carrier->role_count)
        status = GSRT_EDECODE;
    if (status == GSRT_OK)
        status = unpack_narrowed(plan, carrier);
    if (status == GSRT_OK && carrier->spare_count > 0) {
        plan->spares = gsrt_arena_take(&plan->arena, carrier->spare_count, sizeof *plan->spares);
        status = plan->spares == NULL ? GSRT_ENOMEM : GSRT_OK;
        plan->spare_count = carrier->spare_count;
    }
    if (status != GSRT_OK) {
        gsrt_plan_free(plan);
        return status;
    }
    if (carrier->spare_count > 0)
        memcpy(plan->spares, carrier->spares, carrier->spare_count * sizeof *plan->spares);
    *out = plan;
    return GSRT_OK;
}

gsrt_status gsrt_plan_copy(const gsrt_plan *plan, gsrt_plan **out)
{
    gsrt_plan_carrier *carrier = malloc(sizeof *carrier);
    if (carrier == NULL)
        return GSRT_ENOMEM;
    gsrt_plan_pack(plan, carrier);
    gsrt_status status = gsrt_plan_unpack(carrier, out);
    free(carrier);
    return status;
}
