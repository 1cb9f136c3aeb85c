#include "launch/plan_json.h"

#include "base/limits.h"
#include "launch/plan_regions.h"
#include "launch/plan_topology.h"
#include "launch/plan_why.h"
#include "launch/plan_words.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { INFLUENCES_SHOWN = 16, SENTENCES_BYTES_MAX = 16 << 20 };

static gsrt_tree begin(void)
{
    return (gsrt_tree){.value = json_object()};
}

/* Names may be any bytes: they become UTF-8. */
static json_t *text_of(const uint8_t *bytes, size_t len)
{
    char *copy = strndup((const char *)bytes, len);
    json_t *text = copy == NULL ? NULL : gsrt_json_text(copy);
    free(copy);
    return text;
}

/* A line each. */
static json_t *lines(const gsrt_buffer *text)
{
    json_t *all = json_array();
    for (size_t at = 0; at < text->len;) {
        const uint8_t *end = memchr(text->data + at, '\n', text->len - at);
        size_t len = end == NULL ? text->len - at : (size_t)(end - text->data) - at;
        all = gsrt_tree_append(all, text_of(text->data + at, len));
        at += len + 1;
    }
    return all;
}

static json_t *words_of(const gsrt_planning *p, const gsrt_deployment *deployment)
{
    gsrt_buffer text;
    json_t *words = NULL;
    if (deployment == NULL)
        return json_null();
    gsrt_buffer_init(&text, SENTENCES_BYTES_MAX);
    if (gsrt_plan_words_deployment(p, deployment, &text) == GSRT_OK)
        words = text_of(text.data, text.len);
    gsrt_buffer_fini(&text);
    return words;
}

/* ---- the question ---- */

static json_t *workload_json(const gsrt_planning *p)
{
    char hash[40];
    gsrt_tree t = begin();
    (void)snprintf(hash, sizeof hash, "%016" PRIx64 "%016" PRIx64, p->hash.high, p->hash.low);
    gsrt_tree_text(&t, "name", p->workload->name);
    gsrt_tree_text(&t, "architecture", p->workload->architecture);
    gsrt_tree_text(&t, "hash", hash);
    gsrt_tree_u64(&t, "layers", p->workload->layer_count);
    gsrt_tree_u64(&t, "parameters", p->workload->parameter_count);
    gsrt_tree_bool(&t, "has_weights", p->loaded != NULL);
    return t.value;
}

static json_t *fleet_json(const gsrt_planning *p)
{
    uint64_t engines = 0;
    for (uint32_t i = 0; i < p->problem.fleet->part_count; i++) {
        if (p->problem.fleet->parts[i].kind == GSRT_PART_ENGINE)
            engines += p->problem.fleet->parts[i].total;
    }
    char day[12];
    gsrt_tree t = begin();
    gsrt_tree_text(&t, "name", p->problem.fleet->name);
    gsrt_tree_text(&t, "source", p->is_of_ranks ? "ranks" : "inventory");
    gsrt_tree_u64(&t, "engines", engines);
    gsrt_tree_text(&t, "today", p->is_of_ranks ? NULL : gsrt_day_print(p->problem.today, day));
    return t.value;
}

static json_t *measure_json(gsrt_measure measure, gsrt_percentile percentile)
{
    gsrt_tree t = begin();
    gsrt_tree_text(&t, "measure", gsrt_measure_word(measure));
    if (measure <= GSRT_MEASURE_LATENCY)
        gsrt_tree_text(&t, "percentile", gsrt_percentile_word(percentile));
    return t.value;
}

static json_t *objective_json(const gsrt_planning *p)
{
    const gsrt_objective *o = &p->problem.objective;
    gsrt_tree t = {.value = measure_json(o->measure, o->percentile)};
    json_t *limits = json_array();
    for (uint32_t i = 0; i < o->limit_count; i++) {
        gsrt_tree limit = {.value = measure_json(o->limits[i].measure, o->limits[i].percentile)};
        gsrt_tree_set(&limit, "bound", gsrt_tree_quantity(&o->limits[i].bound));
        limits = gsrt_tree_append(limits, limit.value);
    }
    gsrt_tree_set(&t, "limits", limits);
    return t.value;
}

static json_t *demand_json(const gsrt_demand *demand)
{
    gsrt_tree t = begin();
    gsrt_tree_set(&t, "prompt_tokens", gsrt_tree_quantity(&demand->prompt_tokens));
    gsrt_tree_set(&t, "output_tokens", gsrt_tree_quantity(&demand->output_tokens));
    gsrt_tree_set(&t, "arrival_per_s", demand->arrival.is_known ? gsrt_json_real(demand->arrival.value) : json_null());
    gsrt_tree_u64(&t, "concurrency", demand->concurrency);
    gsrt_tree_real(&t, "prefix_share", demand->prefix_share);
    gsrt_tree_u64(&t, "draft_tokens", demand->draft_tokens);
    gsrt_tree_bool(&t, "prefills_first", demand->prefills_first);
    gsrt_tree_u64(&t, "gather_steps", demand->gather_steps);
    gsrt_tree_bool(&t, "kv_offload", demand->kv_offload);
    gsrt_tree_text(&t, "origin", demand->origin);
    gsrt_tree_bool(&t, "context_parallel", demand->context_parallel);
    return t.value;
}

static json_t *contract_json(const gsrt_contract *contract)
{
    json_t *rules = json_array();
    for (uint32_t i = 0; i < contract->rule_count; i++) {
        const gsrt_contract_rule *rule = &contract->rules[i];
        gsrt_tree t = begin();
        gsrt_tree_text(&t, "regions", rule->glob);
        gsrt_tree_text(&t, "kind", gsrt_contract_kind_word(rule->kind));
        if (rule->bound > 0)
            gsrt_tree_real(&t, "bound", rule->bound);
        rules = gsrt_tree_append(rules, t.value);
    }
    return rules;
}

/* ---- the choice ---- */

static json_t *members_json(const gsrt_planning *p, const gsrt_deployment_members *m)
{
    gsrt_tree t = begin();
    gsrt_tree_text(&t, "part", p->problem.fleet->parts[m->part].name);
    gsrt_tree_u64(&t, "first", m->instance_first);
    gsrt_tree_u64(&t, "count", m->instance_count);
    gsrt_tree_u64(&t, "block_replicas", m->block_replicas);
    gsrt_tree_u64(&t, "block_stride", m->block_stride);
    gsrt_tree_u64(&t, "share", m->share);
    if (p->is_of_ranks) {
        json_t *ranks = json_array();
        for (uint32_t i = 0; i < m->instance_count; i++)
            ranks =
                gsrt_tree_append(ranks, gsrt_json_u64(gsrt_rank_fleet_rank(&p->ranks, m->part, m->instance_first + i)));
        gsrt_tree_set(&t, "ranks", ranks);
    }
    return t.value;
}

static json_t *stage_json(const gsrt_planning *p, const gsrt_deployment_stage *stage)
{
    gsrt_tree t = begin();
    json_t *members = json_array();
    for (uint32_t m = 0; m < stage->member_count; m++)
        members = gsrt_tree_append(members, members_json(p, &stage->members[m]));
    gsrt_tree_set(&t, "layers",
                  gsrt_tree_append(gsrt_tree_append(json_array(), gsrt_json_u64(stage->layer_first)),
                                   gsrt_json_u64(stage->layer_last)));
    gsrt_tree_set(&t, "members", members);
    gsrt_tree_u64(&t, "data_width", stage->data_width);
    gsrt_tree_u64(&t, "expert_width", stage->expert_width);
    gsrt_tree_u64(&t, "context_width", stage->context_width);
    gsrt_tree_text(&t, "algorithm", gsrt_collective_algorithm_name(stage->algorithm));
    gsrt_tree_u64(&t, "chunk_bytes", stage->collective_chunk_bytes);
    gsrt_tree_bool(&t, "overlaps", stage->overlaps);
    return t.value;
}

static json_t *phases_json(uint32_t phases)
{
    json_t *all = json_array();
    if ((phases & GSRT_PHASE_PREFILL) != 0)
        all = gsrt_tree_append(all, json_string("prefill"));
    if ((phases & GSRT_PHASE_DECODE) != 0)
        all = gsrt_tree_append(all, json_string("decode"));
    return all;
}

static json_t *pool_json(const gsrt_planning *p, const gsrt_deployment_pool *pool)
{
    gsrt_tree t = begin();
    json_t *stages = json_array();
    for (uint32_t s = 0; s < pool->stage_count; s++)
        stages = gsrt_tree_append(stages, stage_json(p, &pool->stages[s]));
    gsrt_tree_set(&t, "phases", phases_json(pool->phases));
    gsrt_tree_u64(&t, "replicas", pool->replica_count);
    gsrt_tree_set(&t, "stages", stages);
    gsrt_tree_u64(&t, "batch_max", pool->batch_max);
    gsrt_tree_u64(&t, "prefill_tokens", pool->prefill_tokens);
    gsrt_tree_set(&t, "power_cap_w", pool->power_cap_w > 0 ? gsrt_json_real(pool->power_cap_w) : json_null());
    gsrt_tree_u64(&t, "draft_tokens", pool->draft_tokens);
    gsrt_tree_real(&t, "kv_offload", (double)pool->kv_offload / GSRT_KV_OFFLOAD_PARTS);
    return t.value;
}

static bool is_same_choice(const gsrt_region_choice *a, const gsrt_region_choice *b)
{
    return a->weights_are_as_given == b->weights_are_as_given && a->state_is_as_given == b->state_is_as_given &&
           (a->weights_are_as_given || a->weights == b->weights) && (a->state_is_as_given || a->state == b->state) &&
           a->compute == b->compute && a->arithmetic == b->arithmetic;
}

/* Runs of regions that are computed in the same way. */
static json_t *regions_json(const gsrt_planning *p)
{
    json_t *all = json_array();
    for (uint32_t i = 0, end; i < p->choice->region_count; i = end) {
        const gsrt_region_choice *c = &p->choice->choices[i];
        for (end = i + 1; end < p->choice->region_count && is_same_choice(c, &p->choice->choices[end]);)
            end++;
        gsrt_tree t = begin();
        gsrt_tree_text(&t, "first", p->workload->regions[i].name);
        gsrt_tree_text(&t, "last", p->workload->regions[end - 1].name);
        gsrt_tree_text(&t, "weights", c->weights_are_as_given ? "as given" : gsrt_dtype_name(c->weights));
        gsrt_tree_text(&t, "state", c->state_is_as_given ? "as given" : gsrt_dtype_name(c->state));
        gsrt_tree_text(&t, "compute", gsrt_format_word(c->compute));
        gsrt_tree_text(&t, "arithmetic", gsrt_arithmetic_name(c->arithmetic));
        all = gsrt_tree_append(all, t.value);
    }
    return all;
}

static json_t *choice_json(const gsrt_planning *p)
{
    gsrt_tree t = begin();
    json_t *pools = json_array();
    for (uint32_t i = 0; i < p->choice->pool_count; i++)
        pools = gsrt_tree_append(pools, pool_json(p, &p->choice->pools[i]));
    gsrt_tree_set(&t, "words", words_of(p, p->choice));
    gsrt_tree_u64(&t, "engines", gsrt_deployment_engine_count(p->choice));
    gsrt_tree_u64(&t, "context", p->choice->context_max);
    gsrt_tree_set(&t, "pools", pools);
    gsrt_tree_set(&t, "regions", regions_json(p));
    return t.value;
}

/* ---- predictions ---- */

/* The inputs, and the equations' own errors, that it rests on: the most influential first. */
static json_t *influences_json(const gsrt_planning *p, uint32_t node, uint64_t *out_count)
{
    gsrt_influence items[INFLUENCES_SHOWN];
    bool has_failed = false;
    *out_count = 0;
    if (node == GSRT_NO_INDEX)
        return json_array();
    size_t count = gsrt_derivation_influences(&p->why, node, items, INFLUENCES_SHOWN, &has_failed);
    if (has_failed)
        return NULL;
    *out_count = count;
    json_t *all = json_array();
    for (size_t i = 0; i < count && i < INFLUENCES_SHOWN; i++) {
        const gsrt_influence *item = &items[i];
        bool is_input = item->node != GSRT_NO_INDEX;
        gsrt_tree t = begin();
        gsrt_tree_text(&t, "what", is_input ? p->why.nodes[item->node].name : item->equation);
        gsrt_tree_text(&t, "kind", is_input ? "input" : "equation");
        gsrt_tree_set(&t, "value", is_input ? gsrt_tree_quantity(&p->why.nodes[item->node].value) : json_null());
        gsrt_tree_real(&t, "width", item->width);
        gsrt_tree_bool(&t, "debt", item->is_debt);
        all = gsrt_tree_append(all, t.value);
    }
    return all;
}

static json_t *prediction_json(const gsrt_planning *p, gsrt_measure measure, gsrt_percentile percentile)
{
    const gsrt_quantity *value = &p->cost.values[measure][percentile];
    uint64_t count;
    gsrt_tree t = {.value = measure_json(measure, percentile)};
    gsrt_tree_set(&t, "value", gsrt_tree_quantity(value));
    json_t *influences = influences_json(p, p->cost.nodes[measure][percentile], &count);
    gsrt_tree_u64(&t, "rests_on", count);
    gsrt_tree_set(&t, "influences", influences);
    return t.value;
}

static json_t *predictions_json(const gsrt_planning *p)
{
    json_t *all = json_array();
    for (int m = 0; m < GSRT_MEASURE_COUNT; m++) {
        int percentiles = (gsrt_measure)m <= GSRT_MEASURE_LATENCY ? GSRT_PERCENTILE_COUNT : 1;
        for (int q = 0; q < percentiles; q++)
            all = gsrt_tree_append(all, prediction_json(p, (gsrt_measure)m, (gsrt_percentile)q));
    }
    return all;
}

/* Where requests are served, the region that they come from first. */
static json_t *served_json(const gsrt_planning *p)
{
    gsrt_plan_region region;
    json_t *all = json_array();
    for (uint32_t i = 0; gsrt_plan_region_at(p, &p->cost, i, &region); i++) {
        gsrt_tree t = begin();
        gsrt_tree_text(&t, "region", region.name);
        gsrt_tree_bool(&t, "origin", region.is_origin);
        gsrt_tree_bool(&t, "enters", region.is_entered);
        gsrt_tree_real(&t, "share", region.share);
        gsrt_tree_set(&t, "more", gsrt_tree_quantity(&region.more));
        all = gsrt_tree_append(all, t.value);
    }
    return all;
}

/* What lies in the second memory tier. */
static json_t *offloaded_json(const gsrt_planning *p, const gsrt_cost_memory *m)
{
    gsrt_tree t = begin();
    gsrt_tree_text(&t, "to", p->problem.fleet->parts[m->far].name);
    gsrt_tree_set(&t, "state", gsrt_tree_quantity(&m->offloaded));
    gsrt_tree_set(&t, "held", gsrt_tree_quantity(&m->far_held));
    gsrt_tree_set(&t, "capacity", gsrt_tree_quantity(&m->far_capacity));
    return t.value;
}

static json_t *memories_json(const gsrt_planning *p)
{
    json_t *all = json_array();
    for (uint32_t i = 0; i < p->cost.memory_count; i++) {
        const gsrt_cost_memory *m = &p->cost.memories[i];
        const gsrt_deployment_members *members = &p->choice->pools[m->pool].stages[m->stage].members[m->member];
        gsrt_quantity peak = gsrt_quantity_add(gsrt_quantity_add(m->weights, m->state), m->buffers);
        char room[64];
        gsrt_tree t = begin();
        gsrt_tree_text(&t, "of", gsrt_plan_part_name(p, members->part, gsrt_deployment_instance(members, 0), room));
        gsrt_tree_u64(&t, "pool", m->pool);
        gsrt_tree_u64(&t, "stage", m->stage);
        gsrt_tree_u64(&t, "member", m->member);
        gsrt_tree_set(&t, "weights", gsrt_tree_quantity(&m->weights));
        gsrt_tree_set(&t, "state", gsrt_tree_quantity(&m->state));
        gsrt_tree_set(&t, "buffers", gsrt_tree_quantity(&m->buffers));
        gsrt_tree_set(&t, "peak", gsrt_tree_quantity(&peak));
        gsrt_tree_set(&t, "capacity", gsrt_tree_quantity(&m->capacity));
        if (m->far != GSRT_FLEET_NONE)
            gsrt_tree_set(&t, "offloaded", offloaded_json(p, m));
        all = gsrt_tree_append(all, t.value);
    }
    return all;
}

static json_t *bindings_json(const gsrt_planning *p)
{
    gsrt_plan_binding bindings[GSRT_PLAN_BINDINGS_MAX];
    uint32_t count = gsrt_plan_bindings(p, bindings);
    json_t *all = json_array();
    for (uint32_t i = 0; i < count; i++) {
        gsrt_tree t = begin();
        gsrt_tree_text(&t, "constraint", bindings[i].constraint);
        gsrt_tree_set(&t, "used", gsrt_tree_quantity(&bindings[i].used));
        gsrt_tree_set(&t, "available", gsrt_tree_quantity(&bindings[i].available));
        gsrt_tree_real(&t, "share", bindings[i].share);
        all = gsrt_tree_append(all, t.value);
    }
    return all;
}

/* ---- proofs, assumptions ---- */

/* Each transformation once, with the regions in which it is made. */
static json_t *proofs_json(const gsrt_planning *p)
{
    const gsrt_verdict *v = &p->verdict;
    json_t *all = json_array();
    for (uint32_t i = 0; i < v->transformation_count; i++) {
        const gsrt_transformation *first = &v->transformations[i];
        uint32_t before = 0, regions = 0;
        for (uint32_t j = 0; j < v->transformation_count; j++) {
            bool is_same = strcmp(v->transformations[j].name, first->name) == 0;
            before += is_same && j < i;
            regions += is_same;
        }
        if (before > 0)
            continue;
        const gsrt_transformation_facts *facts = gsrt_transformation_of(first->kind);
        const char *region = p->workload->regions[first->region].name;
        bool is_asked = !first->is_proved &&
                        gsrt_contract_rule_for(p->problem.contract, region)->kind == GSRT_CONTRACT_DETERMINISTIC;
        gsrt_tree t = begin();
        gsrt_tree_text(&t, "transformation", first->name);
        gsrt_tree_text(&t, "effect", gsrt_effect_class_word(first->effect));
        gsrt_tree_u64(&t, "regions", regions);
        gsrt_tree_text(&t, "admitted_by", first->is_proved ? "construction" : is_asked ? "contract" : "evidence");
        gsrt_tree_text(&t, "because",
                       first->is_proved ? facts->because
                       : is_asked       ? "the rule asks for the same answer each time, not for that of wider formats"
                                        : facts->obligation);
        all = gsrt_tree_append(all, t.value);
    }
    return all;
}

static json_t *assumptions_json(const gsrt_planning *p)
{
    json_t *all = lines(&p->config.notes);
    if (p->is_of_ranks)
        all = gsrt_tree_append(
            all, json_string("the ranks are the fleet: what a CPU can do is declared by the scenario, or guessed as in "
                             "the twin; links are those of twin.link, one between any two ranks"));
    all = gsrt_tree_append(all, json_string(p->problem.mode == GSRT_COST_SOURCED
                                                ? "sourced figures only: nothing was calibrated on this fleet"
                                                : "calibrated figures"));
    all =
        gsrt_tree_append(all, json_string("all requests are like the demand; what is predicted of one holds for all"));
    return all;
}

/* Inputs that nobody sourced, by what the objective owes to them. */
static json_t *debt_json(const gsrt_planning *p)
{
    const gsrt_objective *o = &p->problem.objective;
    uint32_t node = p->cost.nodes[o->measure][o->percentile];
    bool has_failed = false;
    json_t *all = json_array();
    if (node == GSRT_NO_INDEX)
        return all;
    size_t room = p->why.count + 64;
    gsrt_influence *items = calloc(room, sizeof *items);
    size_t count = items == NULL ? 0 : gsrt_derivation_influences(&p->why, node, items, room, &has_failed);
    for (size_t i = 0; i < count && i < room; i++) {
        if (!items[i].is_debt || items[i].node == GSRT_NO_INDEX)
            continue;
        gsrt_tree t = begin();
        gsrt_tree_text(&t, "what", p->why.nodes[items[i].node].name);
        gsrt_tree_set(&t, "value", gsrt_tree_quantity(&p->why.nodes[items[i].node].value));
        gsrt_tree_real(&t, "width", items[i].width);
        all = gsrt_tree_append(all, t.value);
    }
    bool is_out_of_memory = items == NULL || has_failed;
    free(items);
    if (is_out_of_memory) {
        json_decref(all);
        return NULL;
    }
    return all;
}

/* ---- fallbacks, the rejected, the search ---- */

/* As a report says it. */
static const char *world_of(bool is_live)
{
    return is_live ? "real" : "twin";
}

/* A finalist that was run. */
static json_t *finalist_json(const gsrt_rehearsed *r)
{
    gsrt_tree t = begin();
    gsrt_tree_text(&t, "plan", r->words);
    gsrt_tree_bool(&t, "chosen", r->is_chosen);
    gsrt_tree_set(&t, "predicted", gsrt_tree_quantity(&r->predicted));
    gsrt_tree_set(&t, "observed", r->observed < 0 ? json_null() : gsrt_json_real(r->observed));
    gsrt_tree_set(&t, "within",
                  r->observed < 0 || !r->predicted.is_known
                      ? json_null()
                      : json_boolean(r->observed >= r->predicted.lo && r->observed <= r->predicted.hi));
    gsrt_tree_text(&t, "misses_limit", r->misses_limit ? r->missed : NULL);
    gsrt_tree_u64(&t, "exit", (uint64_t)r->exit_code);
    gsrt_tree_bool(&t, "verified", r->is_verified);
    gsrt_tree_text(&t, "world", world_of(r->is_live));
    gsrt_tree_text(&t, "run", r->run);
    return t.value;
}

static json_t *rehearsal_json(const gsrt_rehearsal *rehearsal)
{
    json_t *all = json_array();
    for (uint32_t i = 0; i < rehearsal->finalist_count; i++)
        all = gsrt_tree_append(all, finalist_json(&rehearsal->finalists[i]));
    return all;
}

static json_t *loss_json(const gsrt_plan_fallback *f)
{
    gsrt_tree t = begin();
    gsrt_tree_u64(&t, "exit", (uint64_t)f->exit_code);
    gsrt_tree_bool(&t, "verified", f->is_verified);
    gsrt_tree_text(&t, "method", f->method);
    gsrt_tree_set(&t, "detected_ms", f->detected_ms < 0 ? json_null() : gsrt_json_real(f->detected_ms));
    gsrt_tree_set(&t, "recovered_ms", f->recovered_ms < 0 ? json_null() : gsrt_json_real(f->recovered_ms));
    gsrt_tree_text(&t, "world", world_of(f->is_live));
    gsrt_tree_text(&t, "run", f->run);
    return t.value;
}

static json_t *fallbacks_json(const gsrt_plan_fallbacks *fallbacks)
{
    json_t *all = json_array();
    for (uint32_t i = 0; i < fallbacks->count; i++) {
        const gsrt_plan_fallback *f = &fallbacks->items[i];
        gsrt_tree t = begin();
        gsrt_tree_text(&t, "without", f->domain);
        gsrt_tree_bool(&t, "protected", f->is_protected);
        gsrt_tree_text(&t, "way", f->way);
        gsrt_tree_text(&t, "plan", f->words);
        gsrt_tree_set(&t, "objective", gsrt_tree_quantity(&f->objective));
        gsrt_tree_bool(&t, "misses_limits", f->misses_limits);
        gsrt_tree_text(&t, "why", f->why[0] == 0 ? NULL : f->why);
        if (f->is_rehearsed)
            gsrt_tree_set(&t, "rehearsed", loss_json(f));
        all = gsrt_tree_append(all, t.value);
    }
    return all;
}

static json_t *rejected_json(const gsrt_planning *p)
{
    json_t *all = json_array();
    for (uint32_t i = 0; i < p->result->rival_count; i++) {
        const gsrt_rival *rival = &p->result->rivals[i];
        const gsrt_rejection *r = &rival->rejection;
        gsrt_tree t = begin();
        gsrt_tree_text(&t, "reason", r->reason);
        gsrt_tree_set(&t, "plan", words_of(p, rival->deployment));
        gsrt_tree_text(&t, "constraint", r->constraint);
        gsrt_tree_set(&t, "needed", gsrt_tree_quantity(&r->needed));
        gsrt_tree_set(&t, "available", gsrt_tree_quantity(&r->available));
        gsrt_tree_text(&t, "change", r->change);
        gsrt_tree_set(&t, "change_to", gsrt_tree_quantity(&r->change_to));
        gsrt_tree_set(&t, "objective", gsrt_tree_quantity(&rival->objective));
        all = gsrt_tree_append(all, t.value);
    }
    return all;
}

static json_t *search_json(const gsrt_planning *p)
{
    const gsrt_search_result *r = p->result;
    gsrt_tree t = begin();
    gsrt_tree_text(&t, "policy", p->scenario->planning.policy);
    gsrt_tree_u64(&t, "budget", p->scenario->planning.budget);
    gsrt_tree_u64(&t, "seed", p->scenario->planning.seed);
    gsrt_tree_u64(&t, "evaluations", r->evaluation_count);
    gsrt_tree_bool(&t, "complete", r->is_complete);
    gsrt_tree_real(&t, "bound", r->bound);
    gsrt_tree_text(&t, "bound_reason", r->bound_reason);
    gsrt_tree_real(&t, "gap", r->gap);
    return t.value;
}

/* What an explainer has written, a line each; NULL: it could not. */
static json_t *written(const gsrt_planning *p, gsrt_status (*write)(const gsrt_planning *, gsrt_buffer *))
{
    gsrt_buffer text;
    gsrt_buffer_init(&text, SENTENCES_BYTES_MAX);
    json_t *all = write(p, &text) == GSRT_OK ? lines(&text) : NULL;
    gsrt_buffer_fini(&text);
    return all;
}

static void set_choice(const gsrt_planning *p, const gsrt_plan_fallbacks *fallbacks, gsrt_tree *t)
{
    gsrt_diag missing = {0};
    gsrt_tree_set(t, "choice", choice_json(p));
    gsrt_tree_set(t, "why", written(p, gsrt_plan_why));
    gsrt_tree_set(t, "predictions", predictions_json(p));
    if (p->problem.demand.origin != NULL)
        gsrt_tree_set(t, "served", served_json(p));
    gsrt_tree_set(t, "memory", memories_json(p));
    gsrt_tree_set(t, "binding", bindings_json(p));
    gsrt_tree_set(t, "proofs", proofs_json(p));
    gsrt_tree_set(t, "debt", debt_json(p));
    gsrt_tree_set(t, "fallbacks", fallbacks_json(fallbacks));
    if (fallbacks->left_out > 0)
        gsrt_tree_u64(t, "fallbacks_left_out", fallbacks->left_out);
    gsrt_status status = gsrt_planning_executable(p, &missing);
    gsrt_tree_bool(t, "executable", status == GSRT_OK);
    gsrt_tree_text(t, "missing", status == GSRT_OK ? NULL : missing.text);
}

json_t *gsrt_plan_json(const gsrt_planning *planning, const gsrt_plan_fallbacks *fallbacks,
                       const gsrt_rehearsal *rehearsal)
{
    const gsrt_planning *p = planning;
    gsrt_tree t = begin();
    gsrt_tree_text(&t, "schema", GSRT_PLANNED_SCHEMA);
    gsrt_tree_text(&t, "name", p->scenario->name);
    gsrt_tree_bool(&t, "feasible", p->has_choice);
    gsrt_tree_set(&t, "workload", workload_json(p));
    gsrt_tree_set(&t, "fleet", fleet_json(p));
    gsrt_tree_set(&t, "objective", objective_json(p));
    gsrt_tree_set(&t, "demand", demand_json(&p->problem.demand));
    gsrt_tree_set(&t, "contract", contract_json(p->problem.contract));
    if (p->has_choice)
        set_choice(p, fallbacks, &t);
    if (rehearsal != NULL && rehearsal->finalist_count > 0)
        gsrt_tree_set(&t, "rehearsal", rehearsal_json(rehearsal));
    gsrt_tree_set(&t, "topology", written(p, gsrt_plan_topology));
    gsrt_tree_set(&t, "assumptions", assumptions_json(p));
    gsrt_tree_set(&t, "rejected", rejected_json(p));
    gsrt_tree_set(&t, "search", search_json(p));
    return t.value;
}
