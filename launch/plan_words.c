#include "launch/plan_words.h"

#include "launch/plan_regions.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

enum { STAGES_SHOWN = 6, MEMBERS_SHOWN = 8 };

/* Units for each base unit, the largest first. Three digits are what a prediction is worth. */
static const struct {
    const char *base, *unit;
    double factor;
} units[] = {
    {"s", "d", 86400},
    {"s", "h", 3600},
    {"s", "s", 1},
    {"s", "ms", 1e-3},
    {"s", "us", 1e-6},
    {"s", "ns", 1e-9},
    {"B", "TB", 1e12},
    {"B", "GB", 1e9},
    {"B", "MB", 1e6},
    {"B", "kB", 1e3},
    {"B", "B", 1},
    {"B/s", "TB/s", 1e12},
    {"B/s", "GB/s", 1e9},
    {"B/s", "MB/s", 1e6},
    {"B/s", "kB/s", 1e3},
    {"op", "Top", 1e12},
    {"op", "Gop", 1e9},
    {"op", "Mop", 1e6},
    {"op", "op", 1},
    {"op/s", "Pop/s", 1e15},
    {"op/s", "Top/s", 1e12},
    {"op/s", "Gop/s", 1e9},
    {"op/s", "Mop/s", 1e6},
    {"W", "MW", 1e6},
    {"W", "kW", 1e3},
    {"W", "W", 1},
    {"W", "mW", 1e-3},
    {"J", "kJ", 1e3},
    {"J", "J", 1},
    {"J", "mJ", 1e-3},
    {"J", "uJ", 1e-6},
    {"J/tok", "J/tok", 1},
    {"J/tok", "mJ/tok", 1e-3},
    {"$/tok", "$/Mtok", 1e-6},
    {"$/s", "$/h", 1 / 3600.0},
    {"tok/s", "ktok/s", 1e3},
    {"tok/s", "tok/s", 1},
};

const char *gsrt_plan_value(double value, const char *unit, char room[GSRT_PLAN_WORDS_BYTES])
{
    const char *best = NULL;
    double factor = 1;
    if (!isfinite(value) || (strcmp(unit, "s") == 0 && value >= GSRT_COST_NEVER_S)) {
        (void)snprintf(room, GSRT_PLAN_WORDS_BYTES, "never");
        return room;
    }
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        if (strcmp(units[i].base, unit) != 0)
            continue;
        best = units[i].unit; /* the smallest, where none is small enough */
        factor = units[i].factor;
        if (fabs(value) >= factor)
            break;
    }
    if (value == 0)
        best = NULL;
    if (best == NULL && strcmp(unit, "a plain number") == 0)
        (void)snprintf(room, GSRT_PLAN_WORDS_BYTES, "%.3g", value);
    else if (best == NULL)
        (void)snprintf(room, GSRT_PLAN_WORDS_BYTES, "%.3g %s", value, unit);
    else
        (void)snprintf(room, GSRT_PLAN_WORDS_BYTES, "%.3g %s", value / factor, best);
    return room;
}

const char *gsrt_plan_number(const gsrt_quantity *quantity, char room[GSRT_PLAN_WORDS_BYTES])
{
    char unit[64];
    if (quantity->is_known)
        return gsrt_plan_value(quantity->value, gsrt_dimension_name(quantity->dimension, unit, sizeof unit), room);
    (void)snprintf(room, GSRT_PLAN_WORDS_BYTES, "unknown");
    return room;
}

/* "rank3", "8 x gpu" */
static gsrt_status put_members(const gsrt_planning *p, const gsrt_deployment_members *m, gsrt_buffer *out)
{
    uint64_t first = gsrt_deployment_instance(m, 0);
    if (!p->is_of_ranks) {
        const char *name = p->problem.fleet->parts[m->part].name;
        return m->instance_count == 1 ? gsrt_buffer_print(out, "%s", name)
                                      : gsrt_buffer_print(out, "%" PRIu32 " x %s", m->instance_count, name);
    }
    gsrt_status status = GSRT_OK;
    for (uint32_t i = 0; i < m->instance_count && status == GSRT_OK; i++) {
        uint32_t rank = gsrt_rank_fleet_rank(&p->ranks, m->part, first + i);
        status = rank < p->rank_count ? gsrt_buffer_print(out, "%srank%" PRIu32, i == 0 ? "" : " + ", rank)
                                      : gsrt_buffer_print(out, "%sanother %s", i == 0 ? "" : " + ",
                                                          p->problem.fleet->parts[m->part].name);
    }
    return status;
}

gsrt_status gsrt_plan_words_members(const gsrt_planning *planning, const gsrt_deployment_stage *stage, gsrt_buffer *out)
{
    gsrt_status status = GSRT_OK;
    bool is_even = true;
    for (uint32_t m = 0; m < stage->member_count && status == GSRT_OK; m++) {
        is_even &= stage->members[m].share == stage->members[0].share;
        if (m == MEMBERS_SHOWN)
            return gsrt_buffer_print(out, " + %" PRIu32 " more", stage->member_count - m);
        status = gsrt_buffer_print(out, m == 0 ? "" : " + ");
        if (status == GSRT_OK)
            status = put_members(planning, &stage->members[m], out);
    }
    if (status != GSRT_OK || gsrt_deployment_stage_width(stage) == 1)
        return status;
    status = gsrt_buffer_print(out, " (");
    for (uint32_t m = 0; m < stage->member_count && status == GSRT_OK && !is_even; m++)
        status = gsrt_buffer_print(out, "%s%" PRIu32, m == 0 ? "" : ":", stage->members[m].share);
    if (status == GSRT_OK && stage->data_width > 1)
        status = gsrt_buffer_print(out, "%sdata %" PRIu32, is_even ? "" : ", ", stage->data_width);
    if (status == GSRT_OK && stage->expert_width > 1)
        status = gsrt_buffer_print(out, "%sexperts %" PRIu32, is_even && stage->data_width <= 1 ? "" : ", ",
                                   stage->expert_width);
    bool is_bare = is_even && stage->data_width <= 1 && stage->expert_width <= 1;
    if (status == GSRT_OK && stage->context_width > 1)
        status = gsrt_buffer_print(out, "%scontext %" PRIu32, is_bare ? "" : ", ", stage->context_width);
    is_bare = is_bare && stage->context_width <= 1;
    return status == GSRT_OK
               ? gsrt_buffer_print(out, "%s%s)", is_bare ? "" : ", ", gsrt_collective_algorithm_name(stage->algorithm))
               : status;
}

/* ", kv 1/4 in node.ddr": of the first engine of each stage. */
static gsrt_status put_offload(const gsrt_planning *p, const gsrt_deployment_pool *pool, gsrt_buffer *out)
{
    static const char *const shares[] = {"", "kv 1/4", "kv 1/2", "kv 3/4", "kv"};
    static_assert(sizeof shares / sizeof shares[0] == GSRT_KV_OFFLOAD_PARTS + 1, "a word for each share");
    uint32_t before = GSRT_FLEET_NONE;
    gsrt_status status = gsrt_buffer_print(out, ", %s in", shares[pool->kv_offload]);
    for (uint32_t s = 0; s < pool->stage_count && s < STAGES_SHOWN && status == GSRT_OK; s++) {
        uint32_t far = gsrt_cost_second_tier(p->problem.fleet, pool->stages[s].members[0].part);
        if (s == 0 || far != before)
            status = gsrt_buffer_print(out, "%s %s", s == 0 ? "" : ",",
                                       far == GSRT_FLEET_NONE ? "nothing" : p->problem.fleet->parts[far].name);
        before = far;
    }
    return status;
}

static gsrt_status put_pool(const gsrt_planning *p, const gsrt_deployment_pool *pool, gsrt_buffer *out)
{
    gsrt_status status = GSRT_OK;
    if (pool->phases == GSRT_PHASE_PREFILL || pool->phases == GSRT_PHASE_DECODE)
        status = gsrt_buffer_print(out, pool->phases == GSRT_PHASE_PREFILL ? "prefill: " : "decode: ");
    if (status == GSRT_OK && pool->replica_count > 1)
        status = gsrt_buffer_print(out, "%" PRIu64 " replicas of ", pool->replica_count);
    for (uint32_t s = 0; s < pool->stage_count && status == GSRT_OK; s++) {
        const gsrt_deployment_stage *stage = &pool->stages[s];
        if (s == STAGES_SHOWN && pool->stage_count > STAGES_SHOWN + 1) {
            status = gsrt_buffer_print(out, "; %" PRIu32 " more stages", pool->stage_count - s);
            break;
        }
        status = gsrt_buffer_print(out, "%slayers %" PRIu32 "-%" PRIu32 " on ", s == 0 ? "" : "; ", stage->layer_first,
                                   stage->layer_last);
        if (status == GSRT_OK)
            status = gsrt_plan_words_members(p, stage, out);
    }
    if (status == GSRT_OK)
        status = gsrt_buffer_print(out, "; batch %" PRIu32, pool->batch_max);
    if (status == GSRT_OK && pool->draft_tokens > 0)
        status = gsrt_buffer_print(out, ", %" PRIu32 " tokens drafted", pool->draft_tokens);
    if (status == GSRT_OK && pool->kv_offload > 0)
        status = put_offload(p, pool, out);
    return status == GSRT_OK ? gsrt_plan_regions_words(p, pool, out) : status;
}

gsrt_status gsrt_plan_words_deployment(const gsrt_planning *planning, const gsrt_deployment *deployment,
                                       gsrt_buffer *out)
{
    gsrt_status status = GSRT_OK;
    for (uint32_t i = 0; i < deployment->pool_count && status == GSRT_OK; i++) {
        status = gsrt_buffer_print(out, i == 0 ? "" : " | ");
        if (status == GSRT_OK)
            status = put_pool(planning, &deployment->pools[i], out);
    }
    return status;
}

gsrt_status gsrt_plan_words_copy(const gsrt_planning *planning, const gsrt_deployment *deployment, char **out)
{
    gsrt_buffer words;
    gsrt_buffer_init(&words, GSRT_TEXT_BYTES_MAX);
    gsrt_status status = gsrt_plan_words_deployment(planning, deployment, &words);
    if (status == GSRT_OK)
        status = gsrt_buffer_append(&words, "", 1);
    if (status == GSRT_OK) {
        *out = strdup((const char *)words.data);
        status = *out == NULL ? GSRT_ENOMEM : GSRT_OK;
    }
    gsrt_buffer_fini(&words);
    return status;
}
