#include "launch/rank_fleet.h"

#include "launch/plain_core.h"

#include "backends/profile.h"
#include "base/json.h"
#include "base/limits.h"
#include "placement/deployment_executable.h"
#include "placement/plan_choices.h"

#include <inttypes.h>
#include <stdlib.h>

enum { NAME_BYTES = 48, FILE_COUNT = 1 };

static const double core_flops[3] = {GSRT_CORE_FLOPS_F32, GSRT_CORE_FLOPS_F16, GSRT_CORE_FLOPS_QUANTISED};

/* ---- ranks that are alike ---- */

static bool is_same_quantity(const gsrt_quantity *a, const gsrt_quantity *b)
{
    return a->is_known == b->is_known && a->value == b->value && a->lo == b->lo && a->hi == b->hi;
}

static bool is_same_device(const gsrt_scenario *scenario, uint32_t rank, uint32_t other_rank)
{
    static const gsrt_scenario_device plain = {0};
    const gsrt_scenario_device *a = gsrt_scenario_device_of(scenario, rank),
                               *b = gsrt_scenario_device_of(scenario, other_rank);
    a = a == NULL ? &plain : a;
    b = b == NULL ? &plain : b;
    if ((a->profile == NULL) != (b->profile == NULL))
        return false;
    if (a->profile != NULL)
        return strcmp(a->profile, b->profile) == 0;
    for (int i = 0; i < 3; i++) {
        if (!is_same_quantity(&a->rates[i], &b->rates[i]))
            return false;
    }
    uint32_t threads_a = a->thread_count > 0 ? a->thread_count : scenario->thread_count;
    uint32_t threads_b = b->thread_count > 0 ? b->thread_count : scenario->thread_count;
    return threads_a == threads_b && is_same_quantity(&a->memory_bandwidth, &b->memory_bandwidth) &&
           is_same_quantity(&a->memory, &b->memory);
}

/* The first rank that is like this one. */
static uint32_t first_alike(const gsrt_scenario *scenario, uint32_t rank)
{
    uint32_t first = 0;
    while (!is_same_device(scenario, first, rank))
        first++;
    return first;
}

static uint32_t count_alike(const gsrt_scenario *scenario, uint32_t rank, uint32_t end)
{
    uint32_t count = 0;
    for (uint32_t other = rank; other < end; other++)
        count += is_same_device(scenario, rank, other);
    return count;
}

/* "rank3", or "ranks0" where others are like it. */
static const char *name_of(uint32_t rank, uint32_t count, char room[NAME_BYTES])
{
    (void)snprintf(room, NAME_BYTES, "rank%s%" PRIu32, count > 1 ? "s" : "", rank);
    return room;
}

/* ---- the inventory ---- */

/* A number with its unit and whose word it is; the shortest text that reads back the same. */
static gsrt_status put_value(gsrt_buffer *out, const char *key, double value, const char *unit, const char *source)
{
    gsrt_status status = gsrt_buffer_print(out, "%s: {value: \"", key);
    if (status == GSRT_OK)
        status = gsrt_json_print_f64(out, value);
    if (status == GSRT_OK)
        status = gsrt_buffer_print(out, " %s\", source: ", unit);
    if (status == GSRT_OK)
        status = gsrt_yaml_print_text(out, source);
    return status == GSRT_OK ? gsrt_buffer_print(out, "}") : status;
}

static gsrt_status put_declared(gsrt_buffer *out, const char *key, const gsrt_quantity *quantity)
{
    gsrt_status status = gsrt_buffer_print(out, "%s: {value: \"", key);
    if (status == GSRT_OK)
        status = gsrt_quantity_print(quantity, out);
    return status == GSRT_OK ? gsrt_buffer_print(out, "\", source: \"declared: fleet.devices\"}") : status;
}

/* The word of a scenario, or the guess. */
static gsrt_status put_cpu_value(gsrt_buffer *out, const char *key, const gsrt_quantity *declared, double guess,
                                 const char *unit)
{
    return declared != NULL && declared->is_known
               ? put_declared(out, key, declared)
               : put_value(out, key, guess, unit, "guess: the twin's model of a core of today");
}

/* Formats of a class of weights share its rate: kernels widen what they read. */
static const char *const rate_keys[3][3] = {{"f32", NULL, NULL}, {"f16", "bf16", NULL}, {"i8", "i4", NULL}};

static gsrt_status put_cpu(gsrt_buffer *out, const gsrt_scenario *scenario, const gsrt_scenario_device *device)
{
    uint32_t threads = device != NULL && device->thread_count > 0 ? device->thread_count : scenario->thread_count;
    gsrt_status status = gsrt_buffer_print(out, "    rates:\n      matmul: {");
    for (int c = 0; c < 3; c++) {
        for (int k = 0; k < 3 && rate_keys[c][k] != NULL && status == GSRT_OK; k++) {
            const gsrt_quantity *declared = device == NULL ? NULL : &device->rates[c];
            status = gsrt_buffer_print(out, c + k == 0 ? "" : ", ");
            if (status == GSRT_OK)
                status = put_cpu_value(out, rate_keys[c][k], declared, core_flops[c] * threads, "FLOPS");
        }
    }
    const char *classes[] = {"attention", "vector"};
    for (int i = 0; i < 2 && status == GSRT_OK; i++) {
        status = gsrt_buffer_print(out, "}\n      %s: {", classes[i]);
        if (status == GSRT_OK)
            status =
                put_cpu_value(out, "f32", device == NULL ? NULL : &device->rates[0], core_flops[0] * threads, "FLOPS");
    }
    if (status == GSRT_OK)
        status = gsrt_buffer_print(out, "}\n    ");
    if (status == GSRT_OK)
        status = put_cpu_value(out, "launch_overhead", NULL, GSRT_CORE_LAUNCH_NS / 1e9, "s");
    if (status == GSRT_OK)
        status = gsrt_buffer_print(out, "\n    memory: [{tier: ddr, ");
    if (status == GSRT_OK)
        status = put_cpu_value(out, "capacity", device == NULL ? NULL : &device->memory, GSRT_CORE_MEMORY, "B");
    if (status == GSRT_OK)
        status = gsrt_buffer_print(out, ", ");
    if (status == GSRT_OK)
        status = put_cpu_value(out, "bandwidth", device == NULL ? NULL : &device->memory_bandwidth,
                               GSRT_CORE_BANDWIDTH * threads, "B/s");
    return status == GSRT_OK ? gsrt_buffer_print(out, "}]\n") : status;
}

/* "invented" is a guess; what a profile names otherwise, it declares. */
static gsrt_status put_profile_value(gsrt_buffer *out, const char *key, const gsrt_profile_quantity *quantity,
                                     const char *unit)
{
    char source[GSRT_PROFILE_SOURCE_MAX + 32];
    bool is_invented = strncmp(quantity->source, "invented", 8) == 0;
    (void)snprintf(source, sizeof source, "%s: %s", is_invented ? "guess" : "declared", quantity->source);
    return put_value(out, key, quantity->value, unit, source);
}

static gsrt_status put_profile(gsrt_buffer *out, const gsrt_profile_declared *d)
{
    gsrt_status status = gsrt_buffer_print(out, "    product: ");
    if (status == GSRT_OK)
        status = gsrt_yaml_print_text(out, d->name);
    if (status == GSRT_OK)
        status = gsrt_buffer_print(out, "\n    rates:\n      matmul: {");
    for (int c = 0; c < 3; c++) {
        for (int k = 0; k < 3 && rate_keys[c][k] != NULL && status == GSRT_OK; k++) {
            status = gsrt_buffer_print(out, c + k == 0 ? "" : ", ");
            if (status == GSRT_OK)
                status = put_profile_value(out, rate_keys[c][k], &d->peak_flops[c], "FLOPS");
        }
    }
    const char *classes[] = {"attention", "vector"};
    for (int i = 0; i < 2 && status == GSRT_OK; i++) {
        status = gsrt_buffer_print(out, "}\n      %s: {", classes[i]);
        if (status == GSRT_OK)
            status = put_profile_value(out, "f32", &d->peak_flops[0], "FLOPS");
    }
    const struct {
        const char *before, *key;
        const gsrt_profile_quantity *value;
        const char *unit;
    } rows[] = {{"}\n    ", "launch_overhead", &d->launch_overhead, "s"},
                {"\n    ", "power_idle", &d->power_idle, "W"},
                {"\n    ", "power_max", &d->power_max, "W"},
                {"\n    memory: [{tier: gddr, ", "capacity", &d->memory_bytes, "B"},
                {", ", "bandwidth", &d->memory_bandwidth, "B/s"}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0] && status == GSRT_OK; i++) {
        status = gsrt_buffer_print(out, "%s", rows[i].before);
        if (status == GSRT_OK)
            status = put_profile_value(out, rows[i].key, rows[i].value, rows[i].unit);
    }
    return status == GSRT_OK ? gsrt_buffer_print(out, "}]\n") : status;
}

static gsrt_status put_part(gsrt_buffer *out, const gsrt_scenario *scenario, uint32_t rank, uint32_t count,
                            gsrt_diag *diag)
{
    char name[NAME_BYTES];
    const gsrt_scenario_device *device = gsrt_scenario_device_of(scenario, rank);
    gsrt_profile *profile = NULL;
    gsrt_status status = GSRT_OK;
    if (device != NULL && device->profile != NULL)
        status = gsrt_profile_open(device->profile, &profile, diag);
    if (status == GSRT_EIO) /* the user named it */
        status = GSRT_EINPUT;
    if (status == GSRT_OK)
        status = gsrt_buffer_print(out,
                                   "  - name: %s\n    kind: engine\n    count: %" PRIu32
                                   "\n    software: {" GSRT_CANONICAL_SOFTWARE ": \"1\"}\n",
                                   name_of(rank, count, name), count);
    if (status == GSRT_OK)
        status = profile == NULL ? put_cpu(out, scenario, device) : put_profile(out, gsrt_profile_declared_of(profile));
    (void)gsrt_profile_free(profile);
    return status;
}

/* Half of the way to the switch, so that a whole one has the latency of twin.link. */
static gsrt_status put_link(gsrt_buffer *out, const gsrt_scenario *scenario, uint32_t rank, uint32_t count)
{
    char name[NAME_BYTES];
    const char *source = "declared: twin.link";
    double latency_s = scenario->link.latency_us / 2e6;
    gsrt_status status =
        gsrt_buffer_print(out, "  - {from: %s, to: network, kind: network, both: true, ", name_of(rank, count, name));
    if (status == GSRT_OK)
        status = put_value(out, "bandwidth", scenario->link.bandwidth_gbps * 1e9 / 8, "B/s", source);
    if (status == GSRT_OK)
        status = gsrt_buffer_print(out, ", ");
    if (status == GSRT_OK) /* an inventory knows no link without any; a tenth of a nanosecond is none */
        status = put_value(out, "latency", latency_s < 1e-10 ? 1e-10 : latency_s, "s", source);
    return status == GSRT_OK ? gsrt_buffer_print(out, "}\n") : status;
}

static gsrt_status put_inventory(gsrt_buffer *out, const gsrt_scenario *scenario, uint32_t rank_count, gsrt_diag *diag)
{
    gsrt_status status = gsrt_buffer_print(out, "gsrt_fleet: 1\nname: ranks\nparts:\n");
    for (uint32_t rank = 0; rank < rank_count && status == GSRT_OK; rank++) {
        if (first_alike(scenario, rank) == rank)
            status = put_part(out, scenario, rank, count_alike(scenario, rank, rank_count), diag);
    }
    if (status == GSRT_OK)
        status = gsrt_buffer_print(out, "  - {name: network, kind: switch}\nlinks:\n");
    for (uint32_t rank = 0; rank < rank_count && status == GSRT_OK; rank++) {
        if (first_alike(scenario, rank) == rank)
            status = put_link(out, scenario, rank, count_alike(scenario, rank, rank_count));
    }
    return status;
}

/* ---- ranks and instances ---- */

static gsrt_status index_ranks(const gsrt_scenario *scenario, gsrt_rank_fleet *r)
{
    r->parts = calloc(r->rank_count, sizeof *r->parts);
    r->instances = calloc(r->rank_count, sizeof *r->instances);
    if (r->parts == NULL || r->instances == NULL)
        return GSRT_ENOMEM;
    for (uint32_t rank = 0; rank < r->rank_count; rank++) {
        char name[NAME_BYTES];
        uint32_t first = first_alike(scenario, rank), count = count_alike(scenario, first, r->rank_count);
        r->parts[rank] = gsrt_fleet_part_named(r->fleet, name_of(first, count, name));
        r->instances[rank] = count_alike(scenario, first, rank);
    }
    return GSRT_OK;
}

static gsrt_status read_inventory(gsrt_span text, const char *file, gsrt_fleet **out, gsrt_diag *diag)
{
    gsrt_yaml *yaml = NULL;
    gsrt_findings findings;
    gsrt_findings_init(&findings);
    gsrt_status status = gsrt_yaml_parse(text, file, &yaml, diag);
    if (status == GSRT_OK)
        status = gsrt_fleet_read(yaml, NULL, 0, &findings, out);
    if (findings.error_count > 0) /* a declared number that no machine can have */
        status = gsrt_diag_set(diag, GSRT_EINPUT, file, "fleet.devices", "%s; declare what the device can do",
                               findings.items[0].what);
    if (status == GSRT_EINPUT && findings.error_count > 0)
        *out = gsrt_fleet_free(*out);
    (void)gsrt_yaml_free(yaml);
    gsrt_findings_fini(&findings);
    return status;
}

gsrt_status gsrt_rank_fleet_open(const gsrt_scenario *scenario, uint32_t rank_count, gsrt_rank_fleet *out,
                                 gsrt_diag *diag)
{
    gsrt_buffer text;
    *out = (gsrt_rank_fleet){.rank_count = rank_count};
    gsrt_buffer_init(&text, GSRT_SCENARIO_BYTES_MAX);
    gsrt_status status = put_inventory(&text, scenario, rank_count, diag);
    if (status == GSRT_OK)
        status = read_inventory(gsrt_buffer_span(&text), scenario->file, &out->fleet, diag);
    gsrt_buffer_fini(&text);
    return status == GSRT_OK ? index_ranks(scenario, out) : status;
}

void gsrt_rank_fleet_fini(gsrt_rank_fleet *ranks)
{
    (void)gsrt_fleet_free(ranks->fleet);
    free(ranks->parts);
    free(ranks->instances);
    *ranks = (gsrt_rank_fleet){0};
}

uint32_t gsrt_rank_fleet_rank(const gsrt_rank_fleet *ranks, uint32_t part, uint64_t instance)
{
    uint32_t rank = 0;
    while (rank < ranks->rank_count && (ranks->parts[rank] != part || ranks->instances[rank] != instance))
        rank++;
    return rank;
}

/* ---- a deployment, and the plan that executes it ---- */

static gsrt_status fill_stage(const gsrt_rank_fleet *ranks, const gsrt_deployment_stage *from, gsrt_plan *plan,
                              gsrt_plan_stage *stage, bool *has_role)
{
    stage->layer_first = from->layer_first;
    stage->layer_last = from->layer_last;
    stage->member_count = gsrt_deployment_stage_width(from);
    stage->ranks = gsrt_arena_take(&plan->arena, stage->member_count, sizeof *stage->ranks);
    stage->shares = gsrt_arena_take(&plan->arena, stage->member_count, sizeof *stage->shares);
    if (stage->ranks == NULL || stage->shares == NULL)
        return GSRT_ENOMEM;
    uint32_t at = 0;
    for (uint32_t m = 0; m < from->member_count; m++) {
        const gsrt_deployment_members *members = &from->members[m];
        uint64_t first = gsrt_deployment_instance(members, 0);
        for (uint32_t i = 0; i < members->instance_count; i++, at++) {
            stage->ranks[at] = gsrt_rank_fleet_rank(ranks, members->part, first + i);
            stage->shares[at] = members->share;
            has_role[stage->ranks[at]] = true;
        }
    }
    return GSRT_OK;
}

static gsrt_exchange exchange_of(const gsrt_deployment_pool *pool)
{
    bool has_gather = false, has_subtrees = false;
    for (uint32_t s = 0; s < pool->stage_count; s++) {
        has_gather |= pool->stages[s].algorithm == GSRT_ALGORITHM_GATHER;
        has_subtrees |= pool->stages[s].algorithm == GSRT_ALGORITHM_SUBTREES;
    }
    return has_gather == has_subtrees ? GSRT_EXCHANGE_AUTO : has_gather ? GSRT_EXCHANGE_GATHER : GSRT_EXCHANGE_REDUCE;
}

gsrt_status gsrt_rank_fleet_plan(const gsrt_rank_fleet *ranks, const gsrt_workload *workload,
                                 const gsrt_deployment *deployment, gsrt_plan **out, gsrt_diag *diag)
{
    gsrt_status status = gsrt_deployment_executable(deployment, workload, diag);
    if (status != GSRT_OK)
        return status;
    const gsrt_deployment_pool *pool = &deployment->pools[0];
    bool has_role[GSRT_RANK_COUNT_MAX + 1] = {false};
    gsrt_plan *plan = gsrt_plan_create(pool->stage_count);
    if (plan == NULL)
        return GSRT_ENOMEM;
    for (uint32_t s = 0; s < pool->stage_count && status == GSRT_OK; s++)
        status = fill_stage(ranks, &pool->stages[s], plan, &plan->stages[s], has_role);
    plan->exchange = exchange_of(pool);
    if (status == GSRT_OK)
        status = gsrt_plan_take_choices(plan, workload, deployment->choices);
    plan->spares = gsrt_arena_take(&plan->arena, ranks->rank_count, sizeof *plan->spares);
    if (status == GSRT_OK && plan->spares == NULL)
        status = GSRT_ENOMEM;
    for (uint32_t rank = 0; rank < ranks->rank_count && status == GSRT_OK; rank++) {
        if (!has_role[rank])
            plan->spares[plan->spare_count++] = rank;
    }
    if (status == GSRT_OK)
        *out = plan;
    else
        (void)gsrt_plan_free(plan);
    return status;
}

static gsrt_collective_algorithm algorithm_of(const gsrt_plan *plan, const gsrt_plan_stage *stage)
{
    if (stage->member_count == 1)
        return GSRT_ALGORITHM_NONE;
    return plan->exchange == GSRT_EXCHANGE_GATHER ? GSRT_ALGORITHM_GATHER : GSRT_ALGORITHM_SUBTREES;
}

gsrt_deployment *gsrt_rank_fleet_deployment(const gsrt_rank_fleet *ranks, const gsrt_workload *workload,
                                            const gsrt_plan *plan, uint32_t batch_max, uint32_t prefill_tokens,
                                            uint32_t context_max)
{
    gsrt_deployment *d = gsrt_deployment_create(workload, 1);
    gsrt_status status = d == NULL ? GSRT_ENOMEM : gsrt_deployment_add_stages(d, 0, plan->stage_count);
    for (uint32_t s = 0; s < plan->stage_count && status == GSRT_OK; s++) {
        const gsrt_plan_stage *from = &plan->stages[s];
        gsrt_deployment_stage *stage = &d->pools[0].stages[s];
        *stage = (gsrt_deployment_stage){.layer_first = from->layer_first,
                                         .layer_last = from->layer_last,
                                         .data_width = 1,
                                         .expert_width = 1,
                                         .context_width = 1,
                                         .algorithm = algorithm_of(plan, from)};
        status = gsrt_deployment_add_members(d, 0, s, from->member_count);
        for (uint32_t m = 0; m < from->member_count && status == GSRT_OK; m++)
            stage->members[m] = (gsrt_deployment_members){.part = ranks->parts[from->ranks[m]],
                                                          .instance_first = ranks->instances[from->ranks[m]],
                                                          .instance_count = 1,
                                                          .block_replicas = 1,
                                                          .share = from->shares[m]};
    }
    if (status != GSRT_OK)
        return gsrt_deployment_free(d);
    gsrt_plan_choices(plan, workload, d->choices);
    gsrt_deployment_pool *pool = &d->pools[0];
    pool->phases = GSRT_PHASE_PREFILL | GSRT_PHASE_DECODE;
    pool->replica_count = 1;
    pool->batch_max = batch_max;
    pool->prefill_tokens = prefill_tokens;
    d->context_max = context_max;
    return d;
}
