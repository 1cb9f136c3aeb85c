/* Every key is written, defaults too, so that a run directory says what was done even after a default has changed. */
#include "base/json.h"
#include "base/yaml.h"
#include "launch/scenario_impl.h"
#include "placement/plan_choices.h"
#include "placement/search.h"

#include <inttypes.h>

/* A cursor with a sticky status. */
typedef struct printer {
    gsrt_buffer *out;
    gsrt_status status;
} printer;

static void put(printer *p, const char *text)
{
    if (p->status == GSRT_OK)
        p->status = gsrt_buffer_append(p->out, text, strlen(text));
}

static void put_text(printer *p, const char *before, const char *text)
{
    put(p, before);
    if (p->status == GSRT_OK)
        p->status = gsrt_yaml_print_text(p->out, text);
}

static void put_u64(printer *p, const char *before, uint64_t number)
{
    put(p, before);
    if (p->status == GSRT_OK)
        p->status = gsrt_buffer_print(p->out, "%" PRIu64, number);
}

static void put_real(printer *p, const char *before, double number)
{
    put(p, before);
    if (p->status == GSRT_OK)
        p->status = gsrt_json_print_f64(p->out, number);
}

static void put_f32(printer *p, const char *before, float number)
{
    put(p, before);
    if (p->status == GSRT_OK)
        p->status = gsrt_json_print_f32(p->out, number);
}

static void put_quantity(printer *p, const char *before, const gsrt_quantity *quantity)
{
    put(p, before);
    put(p, "\"");
    if (p->status == GSRT_OK)
        p->status = gsrt_quantity_print(quantity, p->out);
    put(p, "\"");
}

static void put_bool(printer *p, const char *before, bool value)
{
    put(p, before);
    put(p, value ? "true" : "false");
}

static void put_u32s(printer *p, const char *before, const uint32_t *numbers, uint32_t count)
{
    put(p, before);
    put(p, "[");
    for (uint32_t i = 0; i < count; i++)
        put_u64(p, i == 0 ? "" : ", ", numbers[i]);
    put(p, "]");
}

static void put_request(printer *p, const gsrt_scenario_request *request)
{
    if (request->prompt != NULL)
        put_text(p, "    - prompt: ", request->prompt);
    else
        put_u32s(p, "    - prompt_tokens: ", request->prompt_tokens, request->prompt_token_count);
    put_u64(p, "\n      max_tokens: ", request->max_tokens);
    put_f32(p, "\n      temperature: ", request->temperature);
    put_u64(p, "\n      top_k: ", request->top_k);
    put_f32(p, "\n      top_p: ", request->top_p);
    put_u64(p, "\n      seed: ", request->seed);
    put_bool(p, "\n      ignore_eos: ", request->is_ignoring_eos);
    put(p, "\n");
}

static void put_auto(printer *p, const gsrt_scenario_planning *planning)
{
    put(p, "plan: {auto: true, policy: ");
    put(p, planning->policy);
    put_u64(p, ", budget: ", planning->budget);
    put_u64(p, ", seed: ", planning->seed);
    put(p, "}\n");
}

static void put_objective(printer *p, const gsrt_objective *objective)
{
    put(p, "objective:\n  measure: ");
    put(p, gsrt_measure_word(objective->measure));
    if (gsrt__measure_has_percentiles(objective->measure)) {
        put(p, "\n  percentile: ");
        put(p, gsrt_percentile_word(objective->percentile));
    }
    put(p, objective->limit_count == 0 ? "\n  limits: []\n" : "\n  limits:\n");
    for (uint32_t i = 0; i < objective->limit_count; i++) {
        const gsrt_objective_limit *limit = &objective->limits[i];
        put(p, "    - {measure: ");
        put(p, gsrt_measure_word(limit->measure));
        if (gsrt__measure_has_percentiles(limit->measure)) {
            put(p, ", percentile: ");
            put(p, gsrt_percentile_word(limit->percentile));
        }
        put_quantity(p, ", bound: ", &limit->bound);
        put(p, "}\n");
    }
}

/* What is not stated follows from the requests, and stays so. */
static void put_demand(printer *p, const gsrt_demand *demand)
{
    put_real(p, "demand:\n  prefix_share: ", demand->prefix_share);
    if (demand->prompt_tokens.is_known)
        put_quantity(p, "\n  prompt_tokens: ", &demand->prompt_tokens);
    if (demand->output_tokens.is_known)
        put_quantity(p, "\n  output_tokens: ", &demand->output_tokens);
    if (demand->arrival.is_known)
        put_real(p, "\n  arrival_per_s: ", demand->arrival.value);
    if (demand->concurrency > 0)
        put_u64(p, "\n  concurrency: ", demand->concurrency);
    if (demand->draft_tokens > 0)
        put_u64(p, "\n  draft_tokens: ", demand->draft_tokens);
    if (demand->prefills_first)
        put(p, "\n  prefills_first: true");
    if (demand->gather_steps > 0)
        put_u64(p, "\n  gather_steps: ", demand->gather_steps);
    if (demand->kv_offload)
        put(p, "\n  kv_offload: true");
    if (demand->origin != NULL)
        put_text(p, "\n  origin: ", demand->origin);
    if (demand->context_parallel)
        put(p, "\n  context_parallel: true");
    put(p, "\n");
}

static void put_rules(printer *p, const gsrt_policy_rules *rules)
{
    put(p, "rules: {trust: ");
    put(p, gsrt_trust_word(rules->trust_min));
    for (uint32_t i = 0; i < rules->region_allowed_count; i++)
        put_text(p, i == 0 ? ", regions: [" : ", ", rules->regions_allowed[i]);
    put(p, rules->region_allowed_count > 0 ? "]}\n" : "}\n");
}

static void put_workload(printer *p, const gsrt_scenario *scenario)
{
    put(p, "\nworkload:\n");
    if (scenario->model != NULL)
        put_text(p, "  model: ", scenario->model);
    if (scenario->config != NULL)
        put_text(p, "  config: ", scenario->config);
    if (scenario->synthetic != NULL) {
        put(p, "  synthetic: ");
        if (p->status == GSRT_OK)
            p->status = gsrt_synthetic_print(scenario->synthetic, p->out);
    }
    put(p, scenario->request_count > 0 ? "\n  requests:\n" : "\n");
    for (uint32_t i = 0; i < scenario->request_count; i++)
        put_request(p, &scenario->requests[i]);
}

static void put_plan(printer *p, const gsrt_plan *plan)
{
    put(p, "plan:\n  stages:\n");
    for (uint32_t s = 0; s < plan->stage_count; s++) {
        const gsrt_plan_stage *stage = &plan->stages[s];
        put_u64(p, "    - {layers: [", stage->layer_first);
        put_u64(p, ", ", stage->layer_last);
        put_u32s(p, "], ranks: ", stage->ranks, stage->member_count);
        put_u32s(p, ", split: ", stage->shares, stage->member_count);
        put(p, "}\n");
    }
    put_u32s(p, "  spares: ", plan->spares, plan->spare_count);
    put(p, "\n  exchange: ");
    put(p, gsrt_exchange_name(plan->exchange));
    put(p, plan->narrowed_count == 0 ? "\n  narrowed: []\n" : "\n  narrowed:\n");
    for (uint32_t i = 0; i < plan->narrowed_count; i++) {
        char room[GSRT_PLAN_PLACE_NAME_BYTES];
        put(p, "    - {region: ");
        put(p, gsrt_plan_place_name(plan->narrowed[i].place, room));
        put(p, ", weights: ");
        put(p, gsrt_dtype_name(plan->narrowed[i].weights));
        put(p, "}\n");
    }
}

/* The ranks of each side in their order: the same sides, whoever wrote them in another. */
static void put_sides(printer *p, const uint8_t *sides)
{
    uint32_t side_count = 0;
    for (uint32_t rank = 0; rank < GSRT_RANK_COUNT_MAX; rank++)
        side_count = sides[rank] > side_count ? sides[rank] : side_count;
    for (uint32_t side = 1; side <= side_count; side++) {
        uint32_t ranks[GSRT_RANK_COUNT_MAX], count = 0;
        for (uint32_t rank = 0; rank < GSRT_RANK_COUNT_MAX; rank++) {
            if (sides[rank] == side)
                ranks[count++] = rank;
        }
        put_u32s(p, side == 1 ? "[" : ", ", ranks, count);
    }
    put(p, "]");
}

/* The last key of a fault or a move, and its end. */
static void put_moment(printer *p, const gsrt_moment *when)
{
    switch (when->kind) {
    case GSRT_MOMENT_TOKEN:
        put_u64(p, ", when: {request: ", when->request);
        put_u64(p, ", token: ", when->token);
        break;
    case GSRT_MOMENT_TIME: put_real(p, ", when: {seconds: ", (double)when->at_ns / 1e9); break;
    case GSRT_MOMENT_VIEW: put_u64(p, ", when: {view: ", when->epoch); break;
    }
    put(p, "}}\n");
}

static void put_fault(printer *p, const gsrt_fault *fault)
{
    put(p, "  - {");
    put(p, gsrt_fault_kind_name(fault->kind));
    if (fault->kind == GSRT_FAULT_PARTITION) {
        put(p, ": ");
        put_sides(p, fault->sides);
    } else {
        put_u64(p, ": ", fault->rank);
    }
    if (fault->kind == GSRT_FAULT_SLOW)
        put_real(p, ", factor: ", fault->factor);
    if (fault->kind == GSRT_FAULT_KILL)
        put_u64(p, ", times: ", fault->times);
    else if (fault->kind != GSRT_FAULT_CORRUPT)
        put_real(p, ", for: ", (double)fault->duration_ns / 1e9);
    put_moment(p, &fault->when);
}

static void put_move(printer *p, const gsrt_scenario_move *move)
{
    put_u64(p, "  - {stage: ", move->stage);
    put_u64(p, ", member: ", move->member);
    put_u64(p, ", to: ", move->to);
    put_moment(p, &move->when);
}

static void put_faults(printer *p, const gsrt_scenario *scenario)
{
    put(p, scenario->fault_count == 0 ? "faults: []\n" : "faults:\n");
    for (uint32_t i = 0; i < scenario->fault_count; i++)
        put_fault(p, &scenario->faults[i]);
    put(p, scenario->move_count == 0 ? "moves: []\n" : "moves:\n");
    for (uint32_t i = 0; i < scenario->move_count; i++)
        put_move(p, &scenario->moves[i]);
    put_u64(p, "healing:\n  restarts: ", scenario->restart_max);
    put_real(p, "\n  restart_window_s: ", scenario->restart_window_ms / 1e3);
    put(p, "\n  prefer: ");
    put(p, gsrt__prefer_word(scenario->prefer));
    put_u64(p, "\n  contact_ms: ", scenario->contact_ms);
    put(p, "\n");
}

static void put_runtime(printer *p, const gsrt_scenario *scenario)
{
    put_u64(p, "runtime:\n  threads: ", scenario->thread_count);
    put_u64(p, "\n  prefill_chunk: ", scenario->prefill_chunk);
    put_u64(p, "\n  batch: ", scenario->batch_requests);
    put_u64(p, "\n  kv_blocks: ", scenario->kv_block_count);
    put_bool(p, "\n  prefix_reuse: ", scenario->is_reusing_prefixes);
    put_u64(p, "\n  snapshot_tokens: ", scenario->snapshot_tokens);
    put_bool(p, "\n  kv_replicas: ", scenario->is_replicating);
    put_bool(p, "\n  packing: ", scenario->is_packing);
    put_bool(p, "\n  binding: ", scenario->is_binding);
    put(p, "\n  spin_us: ");
    if (p->status == GSRT_OK)
        p->status = gsrt_buffer_print(p->out, "%" PRId32 "\n", scenario->spin_us);
}

static void put_declares(printer *p, const gsrt_scenario_device *device)
{
    const struct {
        const char *key;
        const gsrt_quantity *value;
    } rows[] = {{"f32: ", &device->rates[0]},
                {"f16: ", &device->rates[1]},
                {"quantised: ", &device->rates[2]},
                {"bandwidth: ", &device->memory_bandwidth},
                {"memory: ", &device->memory}};
    bool is_first = true;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (!rows[i].value->is_known)
            continue;
        put(p, is_first ? "\n      declares: {" : ", ");
        put_quantity(p, rows[i].key, rows[i].value);
        is_first = false;
    }
    put(p, is_first ? "" : "}");
}

static void put_fleet(printer *p, const gsrt_scenario *scenario)
{
    if (scenario->planning.inventory != NULL)
        put_text(p, "fleet:\n  inventory: ", scenario->planning.inventory);
    else
        put(p, scenario->device_count == 0 ? "fleet:\n  devices: []" : "fleet:\n  devices:");
    put(p, "\n");
    for (uint32_t i = 0; i < scenario->device_count; i++) {
        const gsrt_scenario_device *device = &scenario->devices[i];
        put_u64(p, "    - rank: ", device->rank);
        if (device->profile != NULL)
            put_text(p, "\n      profile: ", device->profile);
        if (device->thread_count != 0)
            put_u64(p, "\n      threads: ", device->thread_count);
        put_declares(p, device);
        put(p, "\n");
    }
    put_real(p, "  time_scale: ", scenario->time_scale);
    put(p, "\n");
}

static void put_twin(printer *p, const gsrt_scenario *scenario)
{
    put_u64(p, "twin:\n  ranks: ", scenario->twin_rank_count);
    put_u64(p, "\n  seed: ", scenario->twin_seed);
    put_bool(p, "\n  numerics: ", scenario->is_numeric_in_twin);
    put_real(p, "\n  link: {latency_us: ", scenario->link.latency_us);
    put_real(p, ", bandwidth_gbps: ", scenario->link.bandwidth_gbps);
    put(p, "}\n");
}

gsrt_status gsrt_scenario_print(const gsrt_scenario *scenario, gsrt_buffer *out)
{
    size_t start = out->len;
    printer p = {.out = out};
    put_text(&p, "gsrt: 1\nname: ", scenario->name);
    put_workload(&p, scenario);
    put(&p, "contract: ");
    if (p.status == GSRT_OK)
        p.status = gsrt_contract_print(scenario->asked, out);
    put(&p, "\n");
    if (scenario->planning.evidence != NULL)
        put_text(&p, "evidence: ", scenario->planning.evidence);
    put(&p, scenario->planning.evidence != NULL ? "\n" : "");
    put_objective(&p, &scenario->planning.objective);
    put_demand(&p, &scenario->planning.demand);
    put_rules(&p, scenario->planning.rules);
    if (scenario->plan == NULL)
        put_auto(&p, &scenario->planning);
    else
        put_plan(&p, scenario->plan);
    put(&p, scenario->is_verifying ? "verify: reference\n" : "verify: none\n");
    put_u64(&p, "watch: ", scenario->watch);
    put(&p, "\n");
    if (scenario->logits_file != NULL) {
        put_text(&p, "output: {logits: ", scenario->logits_file);
        put(&p, "}\n");
    }
    put_faults(&p, scenario);
    put_runtime(&p, scenario);
    put_fleet(&p, scenario);
    put_twin(&p, scenario);
    if (p.status != GSRT_OK)
        out->len = start;
    return p.status;
}
