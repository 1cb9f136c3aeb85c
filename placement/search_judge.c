/* Is a candidate feasible, and how good is it? Everything that is asked of one stands here, in the order in which it is
 * asked: the site's rules, divisibility, context, engines, contract, what the runtime executes, capability, then what
 * the cost model predicts: memory, numbers that nobody stated, power, limits. The definitions are those of
 * docs/planning.md, "What a plan must satisfy"; the checker there shares no code with this.
 *
 * The first failure names the candidate's rejection; the others are counted, because a change is named only where it
 * is the only one that is needed.
 */
#include "placement/deployment_executable.h"
#include "placement/search_impl.h"

#include <assert.h>
#include <math.h>
#include <string.h>

static void fail(gsrt__judgement *j, const char *reason, const char *what, double needed, double available,
                 gsrt_dimension dimension, double change_to)
{
    if (j->failure_count++ > 0) {
        j->change_to = -1;
        return;
    }
    j->reason = reason;
    j->what = what;
    j->needed = needed;
    j->available = available;
    j->dimension = dimension;
    j->change_to = change_to;
}

static void fail_at(gsrt__judgement *j, const char *reason, const char *what, uint32_t pool, uint32_t stage,
                    uint32_t member)
{
    if (j->failure_count == 0) {
        j->pool = pool;
        j->stage = stage;
        j->member = member;
    }
    fail(j, reason, what, 0, 0, (gsrt_dimension){0}, -1);
}

/* ---- what needs no prediction ---- */

/* Does an engine state all rates that a numeric choice asks for? NULL: yes; else what is missing. */
const char *gsrt__incapable(const gsrt__search *s, uint32_t class, uint32_t numeric)
{
    const gsrt_part *part = &s->fleet.parts[s->classes[class].part];
    const gsrt__numeric *n = &s->numerics[numeric];
    if (s->classes[class].bandwidth <= 0)
        return "the bandwidth of its memory";
    for (uint32_t f = 0; f < GSRT_FORMAT_COUNT; f++) {
        bool has_matmul = gsrt_part_rate(part, GSRT_CLASS_MATMUL, (gsrt_format)f).is_known;
        bool has_attention = has_matmul || gsrt_part_rate(part, GSRT_CLASS_ATTENTION, (gsrt_format)f).is_known;
        if ((n->matrix_formats >> f & 1) != 0 && !has_matmul)
            return "a rate of matrices in the format that is computed in";
        if ((n->attention_formats >> f & 1) != 0 && !has_attention)
            return "a rate of attention in the format that is computed in";
    }
    if (!gsrt_part_rate(part, GSRT_CLASS_VECTOR, GSRT_FORMAT_F32).is_known)
        return "a rate of elementwise work in f32";
    return NULL;
}

static void check_members(const gsrt__search *s, const gsrt__sketch *sketch, gsrt__judgement *j)
{
    for (uint32_t p = 0; p < sketch->pool_count; p++) {
        const gsrt__sketch_pool *pool = &sketch->pools[p];
        for (uint32_t i = 0; i < pool->stage_count; i++) {
            const gsrt__sketch_stage *stage = &pool->stages[i];
            uint32_t width = gsrt__stage_width(stage);
            for (uint32_t m = 0; m < stage->member_count; m++) {
                uint32_t c = stage->members[m].class;
                const char *name = s->fleet.parts[s->classes[c].part].name;
                if (s->classes[c].barred != NULL)
                    fail_at(j, s->classes[c].barred, name, p, i, m);
                if (pool->kv_offload > 0 && s->classes[c].far == GSRT_FLEET_NONE)
                    fail_at(j, GSRT_REASON_UNREACHABLE, "a way to a second memory tier", p, i, m);
                else if (pool->kv_offload > 0 && s->classes[c].far_barred != NULL)
                    fail_at(j, s->classes[c].far_barred, s->fleet.parts[s->classes[c].far].name, p, i, m);
                if (gsrt__incapable(s, c, sketch->numeric) != NULL)
                    fail_at(j, s->classes[c].bandwidth > 0 ? GSRT_REASON_CAPABILITY : GSRT_REASON_UNKNOWN,
                            gsrt__incapable(s, c, sketch->numeric), p, i, m);
            }
            bool divides = width % stage->data_width == 0 && width % stage->expert_width == 0;
            uint32_t experts = s->expert_count > 0 ? s->expert_count : 1;
            bool has_parts = divides && width / stage->data_width % stage->context_width == 0;
            bool exchanges = stage->algorithm != GSRT_ALGORITHM_NONE;
            if (exchanges != (width > 1))
                fail_at(j, GSRT_REASON_DIVISIBILITY, "an exchange is for groups, and groups need one", p, i,
                        GSRT_NO_INDEX);
            if (!divides || stage->expert_width > experts || stage->data_width > pool->batch_max)
                fail_at(j, GSRT_REASON_DIVISIBILITY, "data and expert width", p, i, GSRT_NO_INDEX);
            if (!has_parts)
                fail_at(j, GSRT_REASON_DIVISIBILITY, "parts of the context", p, i, GSRT_NO_INDEX);
        }
    }
}

static void check_context(const gsrt__search *s, gsrt__judgement *j)
{
    double most = s->problem->workload->context_max;
    if (s->context_max > most)
        fail(j, GSRT_REASON_CONTEXT, "context of the model", s->context_max, most, (gsrt_dimension){.token = 1}, -1);
}

/* ---- the contract, remembered ---- */

static uint64_t hashed(uint64_t hash, uint64_t value)
{
    for (uint32_t i = 0; i < 8; i++)
        hash = (hash ^ (value >> (8 * i) & 0xff)) * 1099511628211u; /* FNV-1a */
    return hash;
}

/* What of a pool a verdict depends on: which kernels and which exchange compute which layers, and whether parts of
 * batches, experts apart, parts of the context and overlap are used at all; not on how many. */
static uint64_t pool_key(const gsrt__search *s, const gsrt__sketch_pool *pool)
{
    uint64_t hash = 14695981039346656037u, last = 0;
    for (uint32_t i = 0; i < pool->stage_count; i++) {
        const gsrt__sketch_stage *stage = &pool->stages[i];
        uint64_t key = hashed(hashed(0, stage->algorithm), gsrt__stage_width(stage) > 1);
        key = hashed(hashed(hashed(key, stage->data_width > 1), stage->expert_width > 1), stage->overlaps);
        key = hashed(key, stage->context_width > 1);
        for (uint32_t m = 0; m < stage->member_count; m++)
            key = hashed(key, s->classes[stage->members[m].class].kernels);
        if (i == 0 || key != last) /* else the same as if both were one stage */
            hash = hashed(hashed(hash, stage->layer_first), key);
        last = key;
    }
    return hash;
}

/* Pools that are alike say the same; their order says nothing. */
static uint64_t verdict_key(const gsrt__search *s, const gsrt__sketch *sketch)
{
    uint64_t keys[GSRT__SKETCH_POOLS], hash = hashed(14695981039346656037u, sketch->numeric);
    uint32_t count = 0;
    bool is_batched = false, is_chunked = false, is_drafted = false, is_offloaded = false;
    for (uint32_t p = 0; p < sketch->pool_count; p++) {
        const gsrt__sketch_pool *pool = &sketch->pools[p];
        uint64_t key = pool_key(s, pool);
        uint32_t at = 0;
        is_batched = is_batched || pool->batch_max > 1;
        is_drafted = is_drafted || pool->draft_tokens > 0;
        is_offloaded = is_offloaded || pool->kv_offload > 0;
        is_chunked = is_chunked || ((pool->phases & GSRT_PHASE_PREFILL) != 0 && pool->prefill_tokens < s->context_max);
        while (at < count && keys[at] < key)
            at++;
        if (at < count && keys[at] == key)
            continue;
        memmove(&keys[at + 1], &keys[at], (count - at) * sizeof *keys);
        keys[at] = key;
        count++;
    }
    for (uint32_t i = 0; i < count; i++)
        hash = hashed(hash, keys[i]);
    return hashed(hashed(hashed(hashed(hash, is_batched), is_chunked), is_drafted), is_offloaded);
}

static void fail_of(gsrt__judgement *j, const gsrt__verdict_memory *v)
{
    if (v->reason == NULL)
        return;
    if (j->failure_count == 0) {
        j->constraint = v->constraint;
        j->change = v->change;
    }
    fail(j, v->reason, "contract", v->needed, v->available, (gsrt_dimension){0}, v->change_to);
}

static const char *kept_text(gsrt__search *s, const char *text)
{
    return text == NULL ? NULL : gsrt_arena_copy_text(&s->arena, text, strlen(text));
}

static void check_contract(gsrt__search *s, const gsrt__sketch *sketch, const gsrt_deployment *d, gsrt__judgement *j)
{
    uint64_t key = verdict_key(s, sketch);
    for (uint32_t i = 0; i < s->verdict_count; i++)
        if (s->verdicts[i].key == key) {
            fail_of(j, &s->verdicts[i]);
            return;
        }
    gsrt_verdict verdict;
    gsrt_status status = gsrt_judge_decide(&s->judge, &s->fleet, d, &verdict);
    if (status != GSRT_OK) {
        s->status = status;
        return;
    }
    gsrt__verdict_memory memory = {.key = key};
    if (!verdict.is_kept) {
        gsrt_rejection r = gsrt_verdict_rejection(&verdict);
        memory = (gsrt__verdict_memory){.key = key,
                                        .reason = r.reason,
                                        .constraint = kept_text(s, r.constraint),
                                        .change = kept_text(s, r.change),
                                        .needed = r.needed.value,
                                        .available = r.available.value,
                                        .change_to = r.change_to.is_known ? r.change_to.value : -1};
    }
    gsrt_verdict_fini(&verdict);
    fail_of(j, &memory);
    s->verdicts[s->verdict_count < GSRT__VERDICTS_MAX ? s->verdict_count++ : GSRT__VERDICTS_MAX - 1] = memory;
}

/* ---- what is predicted ---- */

/* Memory part by memory part: what the fullest instance of each holds. A part that several engines share holds the sum
 * of all that reach it, KV that was offloaded to it included. */
static double shared_by(gsrt__search *s, const gsrt__sketch *sketch, const gsrt_deployment *d, const gsrt_cost *cost,
                        uint32_t memory)
{
    const gsrt_part *part = &s->fleet.parts[memory];
    double *held = NULL;
    if (part->total <= 1u << 20)
        held = gsrt_arena_take(&s->scratch, part->total, sizeof *held);
    if (held == NULL)
        return 0;
    double most = 0;
    for (uint32_t e = 0; e < cost->memory_count; e++) {
        const gsrt_cost_memory *m = &cost->memories[e];
        const gsrt_deployment_pool *pool = &d->pools[m->pool];
        const gsrt_deployment_members *members = &pool->stages[m->stage].members[m->member];
        const gsrt__engine_class *class = gsrt__class_at(s, sketch, m);
        bool is_own = class->memory == memory, is_far = gsrt__is_offloaded_to(m, memory);
        uint32_t link = is_far ? class->far_link : GSRT_FLEET_NONE;
        for (uint32_t l = 0; l < s->fleet.link_count && link == GSRT_FLEET_NONE && is_own; l++)
            if (s->fleet.links[l].kind == GSRT_LINK_MEMORY && s->fleet.links[l].from == members->part &&
                s->fleet.links[l].to == memory)
                link = l;
        if (link == GSRT_FLEET_NONE)
            continue;
        double bytes = is_far ? m->offloaded.value : m->weights.value + m->state.value + m->buffers.value;
        for (uint64_t r = 0; r < pool->replica_count; r++)
            for (uint32_t i = 0; i < members->instance_count; i++) {
                uint64_t first;
                uint64_t count = gsrt_fleet_peers(&s->fleet, link, gsrt_deployment_instance(members, r) + i, &first);
                for (uint64_t k = first; k < first + count; k++) {
                    held[k] += bytes / (double)count;
                    most = held[k] > most ? held[k] : most;
                }
            }
    }
    return most;
}

static bool is_shared(const gsrt__search *s, const gsrt_cost *cost, uint32_t memory)
{
    uint64_t engines = 0;
    for (uint32_t e = 0; e < cost->memory_count; e++)
        if (gsrt__is_offloaded_to(&cost->memories[e], memory))
            return true;
    for (uint32_t c = 0; c < s->class_count; c++)
        if (s->classes[c].memory == memory)
            engines += s->classes[c].total;
    return engines > s->fleet.parts[memory].total;
}

/* Whether a memory holds what its fullest instance must; at: the entry that says where. */
static void check_held(const gsrt__search *s, uint32_t memory, double most, const gsrt_cost_memory *at,
                       gsrt__judgement *j)
{
    const gsrt_part *part = &s->fleet.parts[memory];
    double fullness = most / part->capacity.lo;
    j->fullness = fullness > j->fullness ? fullness : j->fullness;
    if (most <= part->capacity.lo)
        return;
    if (j->failure_count == 0) {
        j->pool = at->pool;
        j->stage = at->stage;
        j->member = at->member;
    }
    fail(j, GSRT_REASON_MEMORY, part->name, most, part->capacity.lo, (gsrt_dimension){.byte = 1}, most);
}

/* Second tiers that are no engine's own memory here. */
static void check_tiers(gsrt__search *s, const gsrt__sketch *sketch, const gsrt_deployment *d, const gsrt_cost *cost,
                        gsrt__judgement *j)
{
    for (uint32_t memory = 0; memory < s->fleet.part_count; memory++) {
        double most;
        const gsrt_cost_memory *at = gsrt__tier_entry(s, sketch, cost, memory, &most);
        if (at == NULL)
            continue;
        double sum = shared_by(s, sketch, d, cost, memory);
        if (s->fleet.parts[memory].capacity.is_known)
            check_held(s, memory, sum > most ? sum : most, at, j);
        else
            fail_at(j, GSRT_REASON_UNKNOWN, "the capacity of its second memory tier", at->pool, at->stage, at->member);
    }
}

static void check_memory(gsrt__search *s, const gsrt__sketch *sketch, const gsrt_deployment *d, const gsrt_cost *cost,
                         gsrt__judgement *j)
{
    for (uint32_t c = 0; c < s->class_count; c++) {
        const gsrt__engine_class *class = &s->classes[c];
        double most = 0; /* of one instance of the part */
        const gsrt_cost_memory *at = NULL;
        bool is_first = true; /* of the classes that use this memory */
        for (uint32_t e = 0; e < c; e++)
            is_first = is_first && (s->classes[e].memory != class->memory || class->memory == GSRT_FLEET_NONE);
        for (uint32_t e = 0; e < cost->memory_count; e++) {
            const gsrt_cost_memory *m = &cost->memories[e];
            uint32_t of = sketch->pools[m->pool].stages[m->stage].members[m->member].class;
            if (of != c && (class->memory == GSRT_FLEET_NONE || s->classes[of].memory != class->memory))
                continue;
            double bytes = m->weights.value + m->state.value + m->buffers.value;
            if (at == NULL || bytes / s->classes[of].peers > most) {
                most = bytes / s->classes[of].peers;
                at = m;
            }
        }
        if (at == NULL || !is_first)
            continue;
        if (class->memory == GSRT_FLEET_NONE || class->capacity <= 0) {
            fail_at(j, GSRT_REASON_UNKNOWN, "the capacity of its memory", at->pool, at->stage, at->member);
            continue;
        }
        if (is_shared(s, cost, class->memory)) {
            double sum = shared_by(s, sketch, d, cost, class->memory);
            most = sum > most ? sum : most;
        }
        check_held(s, class->memory, most, at, j);
    }
    check_tiers(s, sketch, d, cost, j);
}

/* Watts of all engines used in the fullest instance of a place; negative: some engine's power is not known. */
static double power_in(gsrt__search *s, const gsrt__sketch *sketch, const gsrt_deployment *d, uint32_t place)
{
    uint64_t count = s->fleet.places[place].total;
    double *watts = gsrt_arena_take(&s->scratch, count, sizeof *watts), most = 0;
    if (watts == NULL) {
        s->status = GSRT_ENOMEM;
        return 0;
    }
    for (uint32_t p = 0; p < d->pool_count; p++)
        for (uint32_t i = 0; i < d->pools[p].stage_count; i++)
            for (uint32_t m = 0; m < d->pools[p].stages[i].member_count; m++) {
                const gsrt_deployment_members *members = &d->pools[p].stages[i].members[m];
                const gsrt__engine_class *class = &s->classes[sketch->pools[p].stages[i].members[m].class];
                double cap = d->pools[p].power_cap_w, each = class->power_max;
                if (!gsrt__is_in(&s->fleet, &s->fleet.parts[members->part].within, place))
                    continue;
                if (cap > 0 && (each < 0 || cap < each))
                    each = cap;
                if (each < 0)
                    return -1;
                for (uint64_t r = 0; r < d->pools[p].replica_count; r++) {
                    uint64_t first = gsrt_deployment_instance(members, r);
                    for (uint32_t k = 0; k < members->instance_count; k++) {
                        double *at = &watts[(first + k) * count / class->total];
                        *at += each;
                        most = *at > most ? *at : most;
                    }
                }
            }
    return most;
}

static void check_power(gsrt__search *s, const gsrt__sketch *sketch, const gsrt_deployment *d, gsrt__judgement *j)
{
    for (uint32_t place = 0; place < s->fleet.place_count; place++) {
        const gsrt_place *at = &s->fleet.places[place], *stated = &s->problem->fleet->places[place];
        bool is_expired = stated->power_budget.is_known != at->power_budget.is_known ||
                          stated->cooling_budget.is_known != at->cooling_budget.is_known;
        if (!stated->power_budget.is_known && !stated->cooling_budget.is_known)
            continue;
        double needed = power_in(s, sketch, d, place);
        if (needed > 0 && is_expired)
            fail(j, GSRT_REASON_UNKNOWN, "the power of a place, on this day", 0, 0, (gsrt_dimension){0}, -1);
        if (needed < 0) {
            fail(j, GSRT_REASON_UNKNOWN, "the power of an engine", 0, 0, (gsrt_dimension){0}, -1);
            continue;
        }
        const gsrt_quantity *budgets[] = {&at->power_budget, &at->cooling_budget};
        for (size_t b = 0; b < 2; b++)
            if (budgets[b]->is_known && needed > budgets[b]->lo) {
                j->near_count++;
                j->violation += budgets[b]->lo > 0 ? needed / budgets[b]->lo - 1 : needed;
                fail(j, GSRT_REASON_POWER, at->name, needed, budgets[b]->lo, gsrt_measure_dimension(GSRT_MEASURE_POWER),
                     needed);
            }
    }
}

/* What a fleet leaves unstated where this measure of a plan is unknown. */
static const char *stated_for(gsrt_measure measure)
{
    switch (measure) {
    case GSRT_MEASURE_COST: return "the price of an engine";
    case GSRT_MEASURE_ENERGY:
    case GSRT_MEASURE_POWER: return "the idle and the full power of an engine";
    case GSRT_MEASURE_MTTF: return "the MTTF of an engine";
    case GSRT_MEASURE_TTFT:
    case GSRT_MEASURE_TPOT:
    case GSRT_MEASURE_LATENCY:
    case GSRT_MEASURE_THROUGHPUT:
    case GSRT_MEASURE_MEMORY:
    case GSRT_MEASURE_COUNT: break;
    }
    return gsrt_measure_word(measure);
}

/* Why nothing is known of a prediction: rates, bandwidths and ways were asked for before. */
static const char *unknown_because(const gsrt__search *s, const gsrt__sketch *sketch)
{
    for (uint32_t p = 0; p < sketch->pool_count; p++)
        for (uint32_t i = 0; i < sketch->pools[p].stage_count; i++)
            for (uint32_t m = 0; m < sketch->pools[p].stages[i].member_count; m++) {
                uint32_t class = sketch->pools[p].stages[i].members[m].class;
                if (!s->fleet.parts[s->classes[class].part].launch_overhead.is_known)
                    return "launch_overhead";
                if (sketch->pools[p].kv_offload > 0 && !s->fleet.parts[s->classes[class].far].bandwidth.is_known)
                    return "the bandwidth of a second memory tier that several share";
            }
    return stated_for(s->problem->objective.measure);
}

/* Ways are asked for last, and only where the answer matters: of what would be admitted, or by one change. */
static void check_ways(gsrt__search *s, const gsrt_deployment *d, gsrt__judgement *j)
{
    bool is_unknown = j->failure_count > 0 && strcmp(j->reason, GSRT_REASON_UNKNOWN) == 0;
    if (j->failure_count > 0 && j->change_to < 0 && !is_unknown)
        return;
    const gsrt__reach_memory *found = gsrt__unjoined(s, d);
    if (found->reason == NULL)
        return;
    if (is_unknown)
        j->failure_count = 0; /* that is why it is unknown */
    j->is_near = false;
    fail_at(j, found->reason, found->what, found->pool, found->stage, found->member);
}

static void check_predictions(gsrt__search *s, const gsrt__sketch *sketch, const gsrt_cost *cost, gsrt__judgement *j)
{
    const gsrt_objective *o = &s->problem->objective;
    j->objective = cost->values[o->measure][o->percentile];
    const gsrt_quantity *first = &cost->values[GSRT_MEASURE_TTFT][GSRT_PERCENTILE_50];
    bool is_never = first->is_known && first->value >= GSRT_COST_NEVER_S;
    if (!j->objective.is_known || !cost->values[GSRT_MEASURE_THROUGHPUT][0].is_known) {
        fail(j, GSRT_REASON_UNKNOWN, unknown_because(s, sketch), 0, 0, (gsrt_dimension){0}, -1);
    } else if (is_never) {
        fail(j, GSRT_REASON_LIMIT, "the traffic that this can serve", 0, 0, (gsrt_dimension){0}, -1);
        double asked = s->problem->demand.arrival.value * s->problem->demand.output_tokens.value;
        j->near_count++; /* what is too much for one class, or region, may be served by several */
        j->violation += fmax(0, asked / cost->values[GSRT_MEASURE_THROUGHPUT][0].value - 1);
    }
    for (uint32_t i = 0; i < o->limit_count; i++) {
        const gsrt_objective_limit *limit = &o->limits[i];
        const gsrt_quantity *value = &cost->values[limit->measure][limit->percentile];
        const char *word = gsrt_measure_word(limit->measure);
        if (!value->is_known) {
            fail(j, GSRT_REASON_UNKNOWN, stated_for(limit->measure), 0, 0, (gsrt_dimension){0}, -1);
            continue;
        }
        bool is_kept = gsrt_measure_is_maximised(limit->measure) ? value->value >= limit->bound.value
                                                                 : value->value <= limit->bound.value;
        if (!is_kept) {
            double wanted = limit->bound.value,
                   ratio = value->value > wanted ? value->value / wanted : wanted / value->value;
            j->near_count++;
            j->violation += ratio - 1;
            fail(j, GSRT_REASON_LIMIT, word, value->value, limit->bound.value, limit->bound.dimension, value->value);
        }
    }
    j->is_near = j->near_count > 0 && j->near_count == j->failure_count;
    j->score = gsrt_measure_is_maximised(o->measure) ? j->objective.value : -j->objective.value;
}

/* ---- all of it ---- */

static gsrt_cost_question question_about(const gsrt__search *s, const gsrt_deployment *d, bool is_plain)
{
    return (gsrt_cost_question){.workload = s->problem->workload,
                                .fleet = &s->fleet,
                                .deployment = d,
                                .demand = &s->problem->demand,
                                .mode = s->problem->mode,
                                .today = s->problem->today,
                                .profile = s->profile,
                                .memo = is_plain ? s->memo : NULL,
                                .is_plain = is_plain};
}

gsrt_quantity gsrt__objective_of(gsrt__search *s, const gsrt_deployment *d)
{
    const gsrt_objective *o = &s->problem->objective;
    const gsrt_cost_question question = question_about(s, d, false);
    gsrt_cost cost;
    gsrt_status status = gsrt_cost_predict(&question, NULL, &cost);
    if (status != GSRT_OK) {
        s->status = status;
        return (gsrt_quantity){0};
    }
    gsrt_quantity objective = cost.values[o->measure][o->percentile];
    gsrt_cost_fini(&cost);
    return objective;
}

static void judge_deployed(gsrt__search *s, const gsrt__sketch *sketch, const gsrt_deployment *d, gsrt__judgement *j)
{
    gsrt_diag missing = {0};
    check_contract(s, sketch, d, j);
    if (s->problem->is_for_execution && gsrt_deployment_executable(d, s->problem->workload, &missing) != GSRT_OK) {
        if (j->failure_count == 0)
            j->constraint = kept_text(s, missing.text);
        fail(j, GSRT_REASON_NOT_EXECUTABLE, "runtime", 0, 0, (gsrt_dimension){0}, -1);
    }
    if (j->failure_count > 0 && j->change_to < 0)
        return;
    gsrt_cost cost;
    const gsrt_cost_question question = question_about(s, d, true);
    s->evaluation_count++;
    gsrt_status status = gsrt_cost_predict(&question, NULL, &cost);
    if (status != GSRT_OK) {
        s->status = status;
        return;
    }
    gsrt_arena_init(&s->scratch, GSRT_DEPLOYMENT_BYTES_MAX);
    j->engine_count = gsrt_deployment_engine_count(d);
    check_memory(s, sketch, d, &cost, j);
    check_power(s, sketch, d, j);
    check_predictions(s, sketch, &cost, j);
    check_ways(s, d, j);
    gsrt_arena_fini(&s->scratch);
    gsrt_cost_fini(&cost);
}

/* Are there fewer engines than are wanted, however they are laid out? */
static bool exceeds_fleet(const gsrt__search *s, const gsrt__sketch *sketch)
{
    for (uint32_t c = 0; c < s->class_count; c++) {
        uint64_t wanted = 0;
        for (uint32_t p = 0; p < sketch->pool_count; p++)
            for (uint32_t i = 0; i < sketch->pools[p].stage_count; i++)
                for (uint32_t m = 0; m < sketch->pools[p].stages[i].member_count; m++)
                    if (sketch->pools[p].stages[i].members[m].class == c)
                        wanted += sketch->pools[p].replica_count * sketch->pools[p].stages[i].members[m].count;
        if (wanted > s->classes[c].total)
            return true;
    }
    return false;
}

static void judge(gsrt__search *s, const gsrt__sketch *sketch, gsrt__judgement *j)
{
    *j = (gsrt__judgement){.pool = GSRT_NO_INDEX, .stage = GSRT_NO_INDEX, .member = GSRT_NO_INDEX, .change_to = -1};
    if (!s->is_executable) {
        j->constraint = s->not_executable;
        fail(j, GSRT_REASON_NOT_EXECUTABLE, "runtime", 0, 0, (gsrt_dimension){0}, -1);
    }
    check_members(s, sketch, j);
    check_context(s, j);
    if (j->failure_count > 0)
        return; /* no number changes that */
    gsrt_deployment *d = NULL;
    uint32_t full;
    s->status = gsrt__sketch_deploy(s, sketch, &d, &full);
    if (s->status == GSRT_OK && full != GSRT_NO_INDEX) {
        fail_at(j, GSRT_REASON_ENGINES, "engines", full, GSRT_NO_INDEX, GSRT_NO_INDEX);
        j->is_hidden = !exceeds_fleet(s, sketch);
    } else if (s->status == GSRT_OK)
        judge_deployed(s, sketch, d, j);
    (void)gsrt_deployment_free(d);
    j->is_feasible = j->failure_count == 0 && s->status == GSRT_OK;
}

void gsrt__judge_contract(gsrt__search *s, const gsrt__sketch *sketch, gsrt__judgement *out)
{
    *out = (gsrt__judgement){.pool = GSRT_NO_INDEX, .stage = GSRT_NO_INDEX, .member = GSRT_NO_INDEX, .change_to = -1};
    gsrt_deployment *d = NULL;
    uint32_t full;
    s->status = gsrt__sketch_deploy(s, sketch, &d, &full);
    if (s->status == GSRT_OK)
        check_contract(s, sketch, d, out);
    (void)gsrt_deployment_free(d);
}

bool gsrt__is_better(const gsrt__judgement *a, const gsrt__judgement *b)
{
    if (a->is_feasible != b->is_feasible)
        return a->is_feasible;
    if (!a->is_feasible)
        return a->is_near && (!b->is_near || a->violation < b->violation);
    if (a->score != b->score)
        return a->score > b->score;
    return a->engine_count < b->engine_count;
}

bool gsrt__consider(gsrt__search *s, const gsrt__sketch *sketch, gsrt__judgement *out)
{
    uint64_t budget = s->has_best && !s->is_probing ? s->options->budget : s->budget_now;
    if (s->evaluation_count >= budget || s->status != GSRT_OK)
        return false;
    judge(s, sketch, out);
    if (s->status != GSRT_OK)
        return false;
    if (out->is_near && !s->is_probing && !s->has_best && (!s->has_near || gsrt__is_better(out, &s->near_judgement))) {
        gsrt__sketch_copy(&s->near, sketch);
        s->near_judgement = *out;
        s->has_near = true;
    }
    if (out->is_feasible && (!s->has_best || gsrt__is_better(out, &s->best_judgement))) {
        if (s->has_best)
            gsrt__rival_note(s, &s->best, &s->best_judgement);
        gsrt__sketch_copy(&s->best, sketch);
        s->best_judgement = *out;
        s->has_best = true;
    } else if (!out->is_hidden) {
        gsrt__rival_note(s, sketch, out);
    }
    return true;
}
