#include "health/healer.h"

/* What one row takes, in layers of one rank: each stage waits for the member with the largest share. In units of
 * 1/65536 of a layer, so that it is the same everywhere. */
static uint64_t weight_of(const gsrt_plan *plan)
{
    uint64_t sum = 0;
    for (uint32_t s = 0; s < plan->stage_count; s++) {
        const gsrt_plan_stage *stage = &plan->stages[s];
        uint64_t total = 0, largest = 0;
        for (uint32_t m = 0; m < stage->member_count; m++) {
            total += stage->shares[m];
            largest = stage->shares[m] > largest ? stage->shares[m] : largest;
        }
        sum += (stage->layer_last - stage->layer_first + 1ull) * (largest * 65536 / total);
    }
    return sum;
}

static uint64_t slowed_ns(const gsrt_heal_question *q, const gsrt_plan *plan)
{
    uint64_t before = weight_of(q->full), after = weight_of(plan);
    if (q->step_ns == 0 || after <= before)
        return 0;
    uint64_t extra = q->step_ns * (after - before) / before, slow_ns = q->step_ns + extra;
    uint64_t steps = q->is_last || slow_ns == 0 ? q->steps_left : q->respawn_ns / slow_ns + 1; /* 0: beyond 64 bits */
    return extra * (steps < q->steps_left ? steps : q->steps_left);
}

static gsrt_incident_method cheapest(const gsrt_heal_answer *a)
{
    gsrt_incident_method best = 0;
    for (int m = 1; m < GSRT_HEAL_METHOD_COUNT; m++) {
        if (a->is_possible[m] && (best == 0 || a->loss_ns[m] < a->loss_ns[best]))
            best = (gsrt_incident_method)m;
    }
    return best;
}

gsrt_status gsrt_heal(const gsrt_heal_question *q, gsrt_heal_answer *out)
{
    gsrt_plan *plan;
    gsrt_way way;
    gsrt_heal_answer a = {0};
    gsrt_status status = gsrt_plan_without(q->full, q->is_there, q->rank_count, &plan, &way);
    if (status == GSRT_EINFEASIBLE && q->is_last)
        return status;
    if (status != GSRT_OK && status != GSRT_EINFEASIBLE)
        return status;
    uint64_t once = q->take_ns + q->recompute_ns, at_return = q->is_last ? 0 : once;
    if (status == GSRT_OK && way == GSRT_WAY_SPARE && !q->is_last)
        at_return = q->recompute_ns; /* the role moves back later: its part is taken while tokens go on */
    if (status == GSRT_OK && way == GSRT_WAY_FULL) {
        a.is_possible[GSRT_METHOD_FULL] = true;
        a.loss_ns[GSRT_METHOD_FULL] = once;
    } else if (status == GSRT_OK) {
        gsrt_incident_method method = way == GSRT_WAY_SPARE ? GSRT_METHOD_SPARE : GSRT_METHOD_RESHAPED;
        a.is_possible[method] = true;
        a.loss_ns[method] = once + at_return + (way == GSRT_WAY_RESHAPED ? slowed_ns(q, plan) : 0);
    }
    if (!q->is_last && !a.is_possible[GSRT_METHOD_FULL]) {
        a.is_possible[GSRT_METHOD_IN_PLACE] = true;
        a.loss_ns[GSRT_METHOD_IN_PLACE] = q->respawn_ns + once;
    }
    a.method = q->prefer != 0 && a.is_possible[q->prefer] ? q->prefer : cheapest(&a);
    if (status == GSRT_OK)
        gsrt_plan_free(plan);
    *out = a;
    return GSRT_OK;
}
