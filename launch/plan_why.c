#include "launch/plan_why.h"

#include "launch/plan_regions.h"
#include "launch/plan_words.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TRIES_MAX = 64, TIGHT_PERCENT = 90 };

static const gsrt_quantity *objective_of(const gsrt_planning *p, const gsrt_cost *cost)
{
    const gsrt_objective *o = &p->problem.objective;
    return &cost->values[o->measure][o->percentile];
}

/* How much worse `other` is than `value`: 0.1 for 10 %. */
static double worse_by(gsrt_measure measure, double value, double other)
{
    if (!(value > 0) || !(other > 0))
        return 0;
    return gsrt_measure_is_maximised(measure) ? value / other - 1 : other / value - 1;
}

const char *gsrt_plan_part_name(const gsrt_planning *planning, uint32_t part, uint64_t instance, char room[64])
{
    if (!planning->is_of_ranks || planning->ranks.fleet->parts[part].kind != GSRT_PART_ENGINE)
        return planning->problem.fleet->parts[part].name;
    (void)snprintf(room, 64, "rank%" PRIu32, gsrt_rank_fleet_rank(&planning->ranks, part, instance));
    return room;
}

/* ---- what binds ---- */

/* Of the same name the tightest only: stages that are alike, engines that share a memory. */
static void add_binding(gsrt_plan_binding *out, uint32_t *count, const gsrt_plan_binding *item)
{
    for (uint32_t i = 0; i < *count; i++) {
        if (strcmp(out[i].constraint, item->constraint) != 0)
            continue;
        if (out[i].share >= item->share)
            return;
        memmove(&out[i], &out[i + 1], (--*count - i) * sizeof *out);
        break;
    }
    if (*count == GSRT_PLAN_BINDINGS_MAX && out[*count - 1].share >= item->share)
        return;
    uint32_t at = *count == GSRT_PLAN_BINDINGS_MAX ? *count - 1 : (*count)++;
    for (; at > 0 && out[at - 1].share < item->share; at--)
        out[at] = out[at - 1];
    out[at] = *item;
}

static void add_memories(const gsrt_planning *p, gsrt_plan_binding *out, uint32_t *count)
{
    for (uint32_t i = 0; i < p->cost.memory_count; i++) {
        const gsrt_cost_memory *m = &p->cost.memories[i];
        const gsrt_deployment_members *members = &p->choice->pools[m->pool].stages[m->stage].members[m->member];
        char room[64];
        gsrt_plan_binding item = {.used = gsrt_quantity_add(gsrt_quantity_add(m->weights, m->state), m->buffers),
                                  .available = m->capacity};
        if (!item.used.is_known || !item.available.is_known || !(item.available.lo > 0))
            continue;
        item.share = item.used.value / item.available.lo;
        (void)snprintf(item.constraint, sizeof item.constraint, "memory of %s",
                       gsrt_plan_part_name(p, members->part, gsrt_deployment_instance(members, 0), room));
        add_binding(out, count, &item);
        if (m->far == GSRT_FLEET_NONE || !(m->far_capacity.lo > 0))
            continue;
        item = (gsrt_plan_binding){
            .used = m->far_held, .available = m->far_capacity, .share = m->far_held.value / m->far_capacity.lo};
        (void)snprintf(item.constraint, sizeof item.constraint, "memory of %s", p->problem.fleet->parts[m->far].name);
        add_binding(out, count, &item);
    }
}

static void add_limits(const gsrt_planning *p, gsrt_plan_binding *out, uint32_t *count)
{
    const gsrt_objective *o = &p->problem.objective;
    for (uint32_t i = 0; i < o->limit_count; i++) {
        const gsrt_objective_limit *limit = &o->limits[i];
        gsrt_plan_binding item = {.used = p->cost.values[limit->measure][limit->percentile], .available = limit->bound};
        if (!item.used.is_known || !(item.used.value > 0) || !(item.available.value > 0))
            continue;
        item.share = gsrt_measure_is_maximised(limit->measure) ? item.available.value / item.used.value
                                                               : item.used.value / item.available.value;
        (void)snprintf(item.constraint, sizeof item.constraint, "limit of %s %s", gsrt_measure_word(limit->measure),
                       gsrt_percentile_word(limit->percentile));
        add_binding(out, count, &item);
    }
}

uint32_t gsrt_plan_bindings(const gsrt_planning *planning, gsrt_plan_binding out[GSRT_PLAN_BINDINGS_MAX])
{
    uint32_t count = 0;
    add_memories(planning, out, &count);
    add_limits(planning, out, &count);
    return count;
}

static gsrt_status say_bindings(const gsrt_planning *p, gsrt_buffer *out)
{
    gsrt_plan_binding bindings[GSRT_PLAN_BINDINGS_MAX];
    char used[GSRT_PLAN_WORDS_BYTES], available[GSRT_PLAN_WORDS_BYTES];
    uint32_t count = gsrt_plan_bindings(p, bindings);
    if (count == 0)
        return GSRT_OK;
    const gsrt_plan_binding *b = &bindings[0];
    bool is_tight = b->share * 100 >= TIGHT_PERCENT;
    return gsrt_buffer_print(out, "%s is the %s: %s of %s (%.3g %%)\n", b->constraint,
                             is_tight ? "constraint that binds" : "tightest constraint, and does not bind",
                             gsrt_plan_number(&b->used, used), gsrt_plan_number(&b->available, available),
                             b->share * 100);
}

/* ---- what the objective is made of ---- */

/* What the model preferred, and its rehearsal did not; the first of them; NULL: there is none. */
static const gsrt_rival *rehearsed_rival(const gsrt_planning *p)
{
    for (uint32_t i = 0; i < p->result->rival_count; i++) {
        if (strcmp(p->result->rivals[i].rejection.reason, GSRT_REASON_REHEARSED) == 0)
            return &p->result->rivals[i];
    }
    return NULL;
}

static gsrt_status say_objective(const gsrt_planning *p, gsrt_buffer *out)
{
    const gsrt_objective *o = &p->problem.objective;
    char value[GSRT_PLAN_WORDS_BYTES], bound_text[GSRT_PLAN_WORDS_BYTES];
    gsrt_quantity bound = gsrt_quantity_exact(p->result->bound, gsrt_measure_dimension(o->measure));
    bool has_percentile = o->measure <= GSRT_MEASURE_LATENCY;
    bool is_best = rehearsed_rival(p) == NULL;
    gsrt_status status = gsrt_buffer_print(
        out, "it has the %s %s%s%s of all plans that were %s: %s",
        gsrt_measure_is_maximised(o->measure) ? "highest" : "lowest", gsrt_measure_word(o->measure),
        has_percentile ? " " : "", has_percentile ? gsrt_percentile_word(o->percentile) : "",
        is_best ? "evaluated" : "rehearsed; predicted of it", gsrt_plan_number(objective_of(p, &p->cost), value));
    if (status != GSRT_OK)
        return status;
    if (p->result->is_complete && is_best)
        return gsrt_buffer_print(out, "; the whole space was searched, so it is the optimum by this model\n");
    return gsrt_buffer_print(out, "; by the same model none can be better than %s (%s; gap %.3g %%)\n",
                             gsrt_plan_number(&bound, bound_text), p->result->bound_reason, p->result->gap * 100);
}

static gsrt_status say_terms(const gsrt_planning *p, gsrt_buffer *out)
{
    const gsrt_cost *c = &p->cost;
    char first[GSRT_PLAN_WORDS_BYTES], each[GSRT_PLAN_WORDS_BYTES], step[GSRT_PLAN_WORDS_BYTES];
    gsrt_status status =
        gsrt_buffer_print(out, "its first token comes after %s, each further one after %s; a decode step takes %s",
                          gsrt_plan_number(&c->values[GSRT_MEASURE_TTFT][GSRT_PERCENTILE_50], first),
                          gsrt_plan_number(&c->values[GSRT_MEASURE_TPOT][GSRT_PERCENTILE_50], each),
                          gsrt_plan_number(&c->decode_step, step));
    if (status == GSRT_OK && c->transfer_share.is_known)
        status = gsrt_buffer_print(out, ", %.3g %% of it on links", c->transfer_share.value * 100);
    return status == GSRT_OK ? gsrt_buffer_print(out, "\n") : status;
}

/* ---- the closest rival ---- */

/* "throughput 12 % better", for each measure that differs. */
static gsrt_status say_differences(const gsrt_planning *p, const gsrt_cost *rival, gsrt_buffer *out)
{
    bool is_first = true;
    gsrt_status status = GSRT_OK;
    for (int m = 0; m < GSRT_MEASURE_COUNT && status == GSRT_OK; m++) {
        const gsrt_quantity *mine = &p->cost.values[m][p->problem.objective.percentile];
        const gsrt_quantity *its = &rival->values[m][p->problem.objective.percentile];
        if ((gsrt_measure)m == GSRT_MEASURE_MEMORY || !mine->is_known || !its->is_known)
            continue;
        double change = mine->value > 0 ? its->value / mine->value - 1 : 0;
        if (fabs(change) < 0.01)
            continue;
        bool is_better = gsrt_measure_is_maximised((gsrt_measure)m) == (change > 0);
        status = gsrt_buffer_print(out, "%s%s %.3g %% %s", is_first ? ": " : ", ", gsrt_measure_word((gsrt_measure)m),
                                   fabs(change) * 100, is_better ? "better" : "worse");
        is_first = false;
    }
    return status;
}

static const gsrt_rival *closest_rival(const gsrt_planning *p)
{
    const gsrt_rival *best = NULL;
    for (uint32_t i = 0; i < p->result->rival_count; i++) {
        const gsrt_rival *rival = &p->result->rivals[i];
        bool is_worse = rival->deployment != NULL && strcmp(rival->rejection.reason, GSRT_REASON_WORSE) == 0 &&
                        rival->objective.is_known;
        double gain =
            best == NULL ? 0 : worse_by(p->problem.objective.measure, rival->objective.value, best->objective.value);
        if (is_worse && (best == NULL || gain > 0))
            best = rival;
    }
    return best;
}

static gsrt_status say_rival(const gsrt_planning *p, gsrt_buffer *out)
{
    const gsrt_rival *rival = closest_rival(p);
    gsrt_cost cost;
    if (rival == NULL)
        return GSRT_OK;
    gsrt_status status = gsrt_planning_predict(p, rival->deployment, NULL, &cost);
    if (status != GSRT_OK)
        return status;
    status = gsrt_buffer_print(out, "the closest rival, ");
    if (status == GSRT_OK)
        status = gsrt_plan_words_deployment(p, rival->deployment, out);
    if (status == GSRT_OK)
        status = gsrt_buffer_print(out, ", has %s",
                                   worse_by(p->problem.objective.measure, objective_of(p, &p->cost)->value,
                                            objective_of(p, &cost)->value) < 0.01
                                       ? "nearly the same figures"
                                       : "other figures");
    if (status == GSRT_OK)
        status = say_differences(p, &cost, out);
    gsrt_cost_fini(&cost);
    return status == GSRT_OK
               ? gsrt_buffer_print(out, "; %s is what was asked for\n", gsrt_measure_word(p->problem.objective.measure))
               : status;
}

static gsrt_status say_rehearsed(const gsrt_planning *p, gsrt_buffer *out)
{
    char mine[GSRT_PLAN_WORDS_BYTES], its[GSRT_PLAN_WORDS_BYTES];
    const gsrt_rival *rival = rehearsed_rival(p);
    gsrt_status status = rival == NULL ? GSRT_OK : gsrt_plan_words_deployment(p, rival->deployment, out);
    if (rival == NULL || status != GSRT_OK)
        return status;
    const gsrt_rejection *r = &rival->rejection;
    status = gsrt_buffer_print(out, ", was predicted to be better; %s", r->constraint);
    if (status == GSRT_OK && r->available.is_known)
        status = gsrt_buffer_print(out, ": %s instead of %s", gsrt_plan_number(&r->available, its),
                                   gsrt_plan_number(&r->needed, mine));
    return status == GSRT_OK ? gsrt_buffer_print(out, "\n") : status;
}

/* ---- the fastest engine that is not used ---- */

static bool uses(const gsrt_deployment *d, uint32_t part)
{
    for (uint32_t i = 0; i < d->pool_count; i++) {
        for (uint32_t s = 0; s < d->pools[i].stage_count; s++) {
            const gsrt_deployment_stage *stage = &d->pools[i].stages[s];
            for (uint32_t m = 0; m < stage->member_count; m++) {
                if (stage->members[m].part == part)
                    return true;
            }
        }
    }
    return false;
}

static uint32_t fastest_engine(const gsrt_planning *p)
{
    const gsrt_fleet *fleet = p->problem.fleet;
    gsrt_format format = p->choice->choices[p->choice->region_count / 2].compute;
    uint32_t best = GSRT_FLEET_NONE;
    double best_rate = 0;
    for (uint32_t i = 0; i < fleet->part_count; i++) {
        gsrt_quantity rate = {0};
        if (fleet->parts[i].kind == GSRT_PART_ENGINE)
            rate = gsrt_cost_rate(fleet, i, GSRT_CLASS_MATMUL, format, p->problem.mode);
        if (rate.is_known && rate.value > best_rate) {
            best = i;
            best_rate = rate.value;
        }
    }
    return best;
}

/* The choice, with the first `layers` layers taken over by the first instance of `part`; NULL: no memory. */
static gsrt_deployment *with_engine(const gsrt_planning *p, uint32_t part, uint32_t layers)
{
    const gsrt_deployment_pool *from = &p->choice->pools[0];
    gsrt_deployment *d = gsrt_deployment_create(p->workload, 1);
    if (d == NULL)
        return NULL;
    uint32_t dropped = 0;
    while (dropped < from->stage_count && from->stages[dropped].layer_last < layers)
        dropped++;
    uint32_t count = from->stage_count - dropped + 1;
    memcpy(d->choices, p->choice->choices, d->region_count * sizeof *d->choices);
    d->context_max = p->choice->context_max;
    gsrt_deployment_stage *stages = NULL;
    if (gsrt_deployment_add_stages(d, 0, count) != GSRT_OK || gsrt_deployment_add_members(d, 0, 0, 1) != GSRT_OK)
        return gsrt_deployment_free(d);
    stages = d->pools[0].stages;
    gsrt_deployment_pool pool = *from;
    pool.stages = stages;
    pool.stage_count = count;
    pool.replica_count = 1;
    pool.phases = GSRT_PHASE_PREFILL | GSRT_PHASE_DECODE;
    d->pools[0] = pool;
    stages[0] = (gsrt_deployment_stage){.layer_last = layers - 1,
                                        .members = stages[0].members,
                                        .member_count = 1,
                                        .data_width = 1,
                                        .expert_width = 1,
                                        .context_width = 1};
    stages[0].members[0] =
        (gsrt_deployment_members){.part = part, .instance_count = 1, .block_replicas = 1, .share = 1};
    for (uint32_t s = 1; s < count; s++) {
        const gsrt_deployment_stage *source = &from->stages[dropped + s - 1];
        stages[s] = *source;
        stages[s].layer_first = source->layer_first < layers ? layers : source->layer_first;
        if (gsrt_deployment_add_members(d, 0, s, source->member_count) != GSRT_OK)
            return gsrt_deployment_free(d);
        memcpy(stages[s].members, source->members, source->member_count * sizeof *source->members);
    }
    return d;
}

/* A try with that engine: the best that keeps every rule, or the first rule that is broken. */
typedef struct trial {
    gsrt_deployment *best;
    gsrt_quantity objective;
    char broken[200];
} trial;

static gsrt_status try_one(const gsrt_planning *p, gsrt_deployment *d, trial *t)
{
    gsrt_cost cost;
    gsrt_violations violations;
    gsrt_status status = gsrt_planning_predict(p, d, NULL, &cost);
    if (status != GSRT_OK) {
        (void)gsrt_deployment_free(d);
        return status;
    }
    status = gsrt_deployment_check(&p->problem, d, &cost, &violations);
    gsrt_quantity objective = *objective_of(p, &cost);
    gsrt_cost_fini(&cost);
    if (status != GSRT_OK) {
        (void)gsrt_deployment_free(d);
        return status;
    }
    bool is_better =
        violations.count == 0 && objective.is_known &&
        (t->best == NULL || worse_by(p->problem.objective.measure, objective.value, t->objective.value) > 0);
    if (violations.count > 0)
        (void)snprintf(t->broken, sizeof t->broken, "%s (%s)", violations.items[0].constraint,
                       violations.items[0].reason);
    gsrt_violations_fini(&violations);
    if (is_better) {
        (void)gsrt_deployment_free(t->best);
        t->best = d;
        t->objective = objective;
        t->objective.source_text = NULL;
    } else {
        (void)gsrt_deployment_free(d);
    }
    return GSRT_OK;
}

static gsrt_status try_rivals(const gsrt_planning *p, uint32_t part, trial *t)
{
    gsrt_status status = GSRT_OK;
    for (uint32_t i = 0; i < p->result->rival_count && status == GSRT_OK; i++) {
        const gsrt_rival *rival = &p->result->rivals[i];
        if (rival->deployment == NULL || strcmp(rival->rejection.reason, GSRT_REASON_WORSE) != 0 ||
            !uses(rival->deployment, part))
            continue;
        gsrt_deployment *copy = gsrt_deployment_copy(rival->deployment);
        status = copy == NULL ? GSRT_ENOMEM : try_one(p, copy, t);
    }
    return status;
}

static gsrt_status say_left_out(const gsrt_planning *p, gsrt_buffer *out)
{
    uint32_t part = fastest_engine(p), layers = p->workload->layer_count;
    trial t = {0};
    char name[64], value[GSRT_PLAN_WORDS_BYTES], mine[GSRT_PLAN_WORDS_BYTES];
    if (part == GSRT_FLEET_NONE || uses(p->choice, part))
        return GSRT_OK;
    gsrt_status status = try_rivals(p, part, &t);
    uint32_t step = layers / TRIES_MAX + 1;
    for (uint32_t k = layers; k >= 1 && status == GSRT_OK; k = k > step ? k - step : 0) {
        gsrt_deployment *d = with_engine(p, part, k);
        status = d == NULL ? GSRT_ENOMEM : try_one(p, d, &t);
    }
    if (status == GSRT_OK)
        status = gsrt_buffer_print(
            out, "%s is the fastest engine, and is left out: ", gsrt_plan_part_name(p, part, 0, name));
    if (status == GSRT_OK && t.best == NULL)
        status = gsrt_buffer_print(out, "no plan with it keeps the rules; %s\n", t.broken);
    if (status == GSRT_OK && t.best != NULL) {
        status =
            gsrt_buffer_print(out, "with it, the best that was found has %s %s instead of %s: ",
                              gsrt_measure_word(p->problem.objective.measure), gsrt_plan_number(&t.objective, value),
                              gsrt_plan_number(objective_of(p, &p->cost), mine));
        if (status == GSRT_OK)
            status = gsrt_plan_words_deployment(p, t.best, out);
        if (status == GSRT_OK)
            status = gsrt_buffer_print(out, "\n");
    }
    (void)gsrt_deployment_free(t.best);
    return status;
}

gsrt_status gsrt_plan_why(const gsrt_planning *planning, gsrt_buffer *out)
{
    static gsrt_status (*const sayings[])(const gsrt_planning *, gsrt_buffer *) = {
        say_objective, say_terms, gsrt_plan_regions_say, say_bindings, say_rehearsed, say_rival, say_left_out};
    gsrt_status status = GSRT_OK;
    for (size_t i = 0; i < sizeof sayings / sizeof sayings[0] && status == GSRT_OK; i++)
        status = sayings[i](planning, out);
    return status;
}
