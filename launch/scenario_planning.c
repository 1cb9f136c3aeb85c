/* What a plan is made for, and how it is looked for: objective, demand, rules, and the keys beside plan.stages. */
#include "base/limits.h"
#include "launch/scenario_impl.h"
#include "placement/search.h"

#include <inttypes.h>
#include <math.h>

static gsrt_scenario_planning *planning_of(const gsrt_yaml_reader *reader)
{
    return &gsrt__scenario_of(reader)->planning;
}

/* ---- quantities ---- */

gsrt_status gsrt__scenario_read_quantity(gsrt_yaml_reader *reader, const gsrt_yaml_node *node, gsrt_dimension dimension,
                                         double min, double max, gsrt_quantity *out)
{
    gsrt_quantity_problem problem;
    gsrt_quantity read;
    char found[GSRT_YAML_FOUND_BYTES_MAX];
    if (node->type != GSRT_YAML_TEXT && node->type != GSRT_YAML_INTEGER && node->type != GSRT_YAML_NUMBER)
        return gsrt_yaml_refuse_as(reader, node, "wrong_type", "must be a quantity with its unit, found %s",
                                   gsrt_yaml_found(node, found, sizeof found));
    if (gsrt_quantity_parse(node->text, dimension, &read, &problem) != GSRT_OK)
        return gsrt_yaml_refuse_as(reader, node, problem.reason, "%s", problem.text);
    if (!(read.lo >= min && read.hi <= max))
        return gsrt_yaml_refuse_as(reader, node, "out_of_range",
                                   "must be between %g and %g in base units, found '%.40s'", min, max, node->text);
    read.source = GSRT_SOURCE_DECLARED;
    read.source_text = "declared: the scenario";
    *out = read;
    return GSRT_OK;
}

/* ---- objective ---- */

static gsrt_status read_measure_word(gsrt_yaml_reader *reader, const gsrt_yaml_node *node, gsrt_measure *out)
{
    const char *words[GSRT_MEASURE_COUNT];
    size_t index;
    for (size_t i = 0; i < GSRT_MEASURE_COUNT; i++)
        words[i] = gsrt_measure_word((gsrt_measure)i);
    gsrt_status status = gsrt_yaml_read_word(reader, node, words, GSRT_MEASURE_COUNT, &index);
    if (status == GSRT_OK)
        *out = (gsrt_measure)index;
    return status;
}

static gsrt_status read_percentile_word(gsrt_yaml_reader *reader, const gsrt_yaml_node *node, gsrt_percentile *out)
{
    const char *words[GSRT_PERCENTILE_COUNT];
    size_t index;
    for (size_t i = 0; i < GSRT_PERCENTILE_COUNT; i++)
        words[i] = gsrt_percentile_word((gsrt_percentile)i);
    gsrt_status status = gsrt_yaml_read_word(reader, node, words, GSRT_PERCENTILE_COUNT, &index);
    if (status == GSRT_OK)
        *out = (gsrt_percentile)index;
    return status;
}

/* A percentile of what has none would be read as something that it is not. */
static gsrt_status check_percentile(gsrt_yaml_reader *reader, const gsrt_yaml_node *node, gsrt_measure measure)
{
    const gsrt_yaml_node *percentile = gsrt_yaml_find(node, "percentile");
    if (percentile == NULL || gsrt__measure_has_percentiles(measure))
        return GSRT_OK;
    size_t mark = gsrt_yaml_path_enter(reader, "percentile", 0);
    gsrt_status status = gsrt_yaml_refuse(reader, percentile, "%s has no percentiles; leave 'percentile' out",
                                          gsrt_measure_word(measure));
    gsrt_yaml_path_leave(reader, mark);
    return status;
}

static gsrt_status read_limit_measure(gsrt_yaml_reader *reader, const gsrt_yaml_node *node, void *object)
{
    return read_measure_word(reader, node, &((gsrt_objective_limit *)object)->measure);
}

static gsrt_status read_limit_percentile(gsrt_yaml_reader *reader, const gsrt_yaml_node *node, void *object)
{
    return read_percentile_word(reader, node, &((gsrt_objective_limit *)object)->percentile);
}

/* Its dimension follows from the measure, which may stand behind it: read when the mapping was. */
static gsrt_status accept_bound(gsrt_yaml_reader *reader, const gsrt_yaml_node *node, void *object)
{
    (void)reader;
    (void)node;
    (void)object;
    return GSRT_OK;
}

static const gsrt_yaml_field limit_fields[] = {
    {"measure", GSRT_YAML_FIELD_CALL, 0, 0, 0, read_limit_measure, "ttft"},
    {"percentile", GSRT_YAML_FIELD_CALL, 0, 0, 0, read_limit_percentile, NULL},
    {"bound", GSRT_YAML_FIELD_CALL, 0, 0, 0, accept_bound, "\"200 ms\""},
};

static gsrt_status read_limit(gsrt_yaml_reader *reader, const gsrt_yaml_node *node, void *object)
{
    gsrt_objective_limit *limit = object;
    gsrt_status status = GSRT_YAML_READ_FIELDS(reader, node, limit_fields, limit);
    if (status == GSRT_OK)
        status = check_percentile(reader, node, limit->measure);
    if (status != GSRT_OK)
        return status;
    size_t mark = gsrt_yaml_path_enter(reader, "bound", 0);
    status = gsrt__scenario_read_quantity(reader, gsrt_yaml_find(node, "bound"), gsrt_measure_dimension(limit->measure),
                                          0, HUGE_VAL, &limit->bound);
    gsrt_yaml_path_leave(reader, mark);
    return status;
}

static gsrt_status read_limits(gsrt_yaml_reader *reader, const gsrt_yaml_node *node, void *object)
{
    gsrt_objective *objective = object;
    void *items;
    gsrt_status status =
        gsrt_yaml_read_items(reader, node, reader->arena, sizeof *objective->limits, 0, GSRT_OBJECTIVE_LIMIT_COUNT_MAX,
                             read_limit, &items, &objective->limit_count);
    if (status == GSRT_OK && objective->limit_count > 0)
        memcpy(objective->limits, items, objective->limit_count * sizeof *objective->limits);
    return status;
}

static gsrt_status read_objective_measure(gsrt_yaml_reader *reader, const gsrt_yaml_node *node, void *object)
{
    return read_measure_word(reader, node, &((gsrt_objective *)object)->measure);
}

static gsrt_status read_objective_percentile(gsrt_yaml_reader *reader, const gsrt_yaml_node *node, void *object)
{
    return read_percentile_word(reader, node, &((gsrt_objective *)object)->percentile);
}

static const gsrt_yaml_field objective_fields[] = {
    {"measure", GSRT_YAML_FIELD_CALL, 0, 0, 0, read_objective_measure, "latency"},
    {"percentile", GSRT_YAML_FIELD_CALL, 0, 0, 0, read_objective_percentile, NULL},
    {"limits", GSRT_YAML_FIELD_CALL, 0, 0, 0, read_limits, NULL},
};

/* A word alone is the measure. */
gsrt_status gsrt__scenario_read_objective(gsrt_yaml_reader *reader, const gsrt_yaml_node *node, void *object)
{
    (void)object;
    gsrt_objective *objective = &planning_of(reader)->objective;
    if (node->type == GSRT_YAML_TEXT)
        return read_measure_word(reader, node, &objective->measure);
    gsrt_status status = GSRT_YAML_READ_FIELDS(reader, node, objective_fields, objective);
    return status == GSRT_OK ? check_percentile(reader, node, objective->measure) : status;
}

/* ---- demand ---- */

static const gsrt_dimension tokens = {.token = 1};

static gsrt_status read_tokens(gsrt_yaml_reader *reader, const gsrt_yaml_node *node, double min, gsrt_quantity *out)
{
    if (node->type != GSRT_YAML_INTEGER)
        return gsrt__scenario_read_quantity(reader, node, tokens, min, GSRT_CONTEXT_MAX, out);
    static const gsrt_yaml_field field = {NULL, GSRT_YAML_FIELD_U32, 0, 0, GSRT_CONTEXT_MAX, NULL, NULL};
    uint32_t count;
    gsrt_status status = gsrt_yaml_read_field(reader, node, &field, &count);
    if (status == GSRT_OK && count < min)
        return gsrt_yaml_refuse_as(reader, node, "out_of_range", "must be at least %g, found %" PRIu32, min, count);
    if (status != GSRT_OK)
        return status;
    *out = gsrt_quantity_exact(count, tokens);
    out->source = GSRT_SOURCE_DECLARED;
    out->source_text = "declared: the scenario";
    return GSRT_OK;
}

static gsrt_status read_prompt_tokens(gsrt_yaml_reader *reader, const gsrt_yaml_node *node, void *object)
{
    return read_tokens(reader, node, 1, &((gsrt_demand *)object)->prompt_tokens);
}

static gsrt_status read_output_tokens(gsrt_yaml_reader *reader, const gsrt_yaml_node *node, void *object)
{
    return read_tokens(reader, node, 1, &((gsrt_demand *)object)->output_tokens);
}

/* Open traffic: requests per second. */
static gsrt_status read_arrival(gsrt_yaml_reader *reader, const gsrt_yaml_node *node, void *object)
{
    static const gsrt_yaml_field field = {NULL, GSRT_YAML_FIELD_F64, 0, 1e-9, 1e9, NULL, NULL};
    double rate;
    gsrt_status status = gsrt_yaml_read_field(reader, node, &field, &rate);
    if (status != GSRT_OK)
        return status;
    gsrt_quantity *arrival = &((gsrt_demand *)object)->arrival;
    *arrival = gsrt_quantity_exact(rate, (gsrt_dimension){.second = -1});
    arrival->source = GSRT_SOURCE_DECLARED;
    arrival->source_text = "declared: the scenario";
    return GSRT_OK;
}

static const gsrt_yaml_field demand_fields[] = {
    {"prompt_tokens", GSRT_YAML_FIELD_CALL, 0, 0, 0, read_prompt_tokens, NULL},
    {"output_tokens", GSRT_YAML_FIELD_CALL, 0, 0, 0, read_output_tokens, NULL},
    {"arrival_per_s", GSRT_YAML_FIELD_CALL, 0, 0, 0, read_arrival, NULL},
    {"concurrency", GSRT_YAML_FIELD_U32, offsetof(gsrt_demand, concurrency), 1, 1 << 24, NULL, NULL},
    {"prefix_share", GSRT_YAML_FIELD_F64, offsetof(gsrt_demand, prefix_share), 0, 1, NULL, NULL},
    {"draft_tokens", GSRT_YAML_FIELD_U32, offsetof(gsrt_demand, draft_tokens), 0, GSRT_DRAFT_TOKENS_MAX, NULL, NULL},
    {"prefills_first", GSRT_YAML_FIELD_BOOL, offsetof(gsrt_demand, prefills_first), 0, 0, NULL, NULL},
    {"gather_steps", GSRT_YAML_FIELD_U32, offsetof(gsrt_demand, gather_steps), 0, 1 << 16, NULL, NULL},
    {"kv_offload", GSRT_YAML_FIELD_BOOL, offsetof(gsrt_demand, kv_offload), 0, 0, NULL, NULL},
    {"origin", GSRT_YAML_FIELD_TEXT, offsetof(gsrt_demand, origin), 1, GSRT_FLEET_NAME_BYTES_MAX, NULL, NULL},
    {"context_parallel", GSRT_YAML_FIELD_BOOL, offsetof(gsrt_demand, context_parallel), 0, 0, NULL, NULL},
};

gsrt_status gsrt__scenario_read_demand(gsrt_yaml_reader *reader, const gsrt_yaml_node *node, void *object)
{
    (void)object;
    gsrt_demand *demand = &planning_of(reader)->demand;
    gsrt_status status = GSRT_YAML_READ_FIELDS(reader, node, demand_fields, demand);
    if (status == GSRT_OK && demand->arrival.is_known && demand->concurrency > 0)
        return gsrt_yaml_refuse(reader, node,
                                "has both 'arrival_per_s' and 'concurrency'; requests either arrive (open) or are "
                                "always there (closed): keep one of them");
    return status;
}

/* ---- rules ---- */

static gsrt_status read_trust(gsrt_yaml_reader *reader, const gsrt_yaml_node *node, void *object)
{
    const char *words[GSRT_TRUST_COUNT];
    size_t index;
    for (size_t i = 0; i < GSRT_TRUST_COUNT; i++)
        words[i] = gsrt_trust_word((gsrt_trust)i);
    gsrt_status status = gsrt_yaml_read_word(reader, node, words, GSRT_TRUST_COUNT, &index);
    if (status == GSRT_OK)
        ((gsrt_policy_rules *)object)->trust_min = (gsrt_trust)index;
    return status;
}

static gsrt_status read_region(gsrt_yaml_reader *reader, const gsrt_yaml_node *node, void *object)
{
    static const gsrt_yaml_field field = {NULL, GSRT_YAML_FIELD_TEXT, 0, 1, GSRT_FLEET_NAME_BYTES_MAX, NULL, NULL};
    return gsrt_yaml_read_field(reader, node, &field, object);
}

static gsrt_status read_regions(gsrt_yaml_reader *reader, const gsrt_yaml_node *node, void *object)
{
    gsrt_policy_rules *rules = object;
    void *items;
    gsrt_status status = gsrt_yaml_read_items(reader, node, reader->arena, sizeof *rules->regions_allowed, 1,
                                              GSRT_FLEET_PLACES_MAX, read_region, &items, &rules->region_allowed_count);
    if (status == GSRT_OK)
        rules->regions_allowed = items;
    return status;
}

static const gsrt_yaml_field rules_fields[] = {
    {"trust", GSRT_YAML_FIELD_CALL, 0, 0, 0, read_trust, NULL},
    {"regions", GSRT_YAML_FIELD_CALL, 0, 0, 0, read_regions, NULL},
};

gsrt_status gsrt__scenario_read_rules(gsrt_yaml_reader *reader, const gsrt_yaml_node *node, void *object)
{
    (void)object;
    return GSRT_YAML_READ_FIELDS(reader, node, rules_fields, planning_of(reader)->rules);
}

/* ---- plan: auto ---- */

static gsrt_status read_auto(gsrt_yaml_reader *reader, const gsrt_yaml_node *node, void *object)
{
    static const gsrt_yaml_field field = {"auto", GSRT_YAML_FIELD_BOOL, 0, 0, 0, NULL, NULL};
    return gsrt_yaml_read_field(reader, node, &field, &((gsrt_scenario_planning *)object)->is_auto);
}

static gsrt_status read_policy(gsrt_yaml_reader *reader, const gsrt_yaml_node *node, void *object)
{
    const char *words[GSRT_SCENARIO_POLICIES_MAX];
    size_t count = 0, index;
    while (count < GSRT_SCENARIO_POLICIES_MAX && (words[count] = gsrt_search_policy_name(count)) != NULL)
        count++;
    gsrt_status status = gsrt_yaml_read_word(reader, node, words, count, &index);
    if (status == GSRT_OK)
        ((gsrt_scenario_planning *)object)->policy = words[index];
    return status;
}

static const gsrt_yaml_field auto_fields[] = {
    {"auto", GSRT_YAML_FIELD_CALL, 0, 0, 0, read_auto, NULL},
    {"policy", GSRT_YAML_FIELD_CALL, 0, 0, 0, read_policy, NULL},
    {"budget", GSRT_YAML_FIELD_U64, offsetof(gsrt_scenario_planning, budget), 0, 0, NULL, NULL},
    {"seed", GSRT_YAML_FIELD_U64, offsetof(gsrt_scenario_planning, seed), 0, 0, NULL, NULL},
};

/* "auto", or a mapping with one of these keys. */
bool gsrt__scenario_is_auto(const gsrt_yaml_node *node)
{
    if (node->type == GSRT_YAML_TEXT)
        return true;
    for (size_t i = 0; i < sizeof auto_fields / sizeof auto_fields[0]; i++) {
        if (gsrt_yaml_find(node, auto_fields[i].key) != NULL)
            return true;
    }
    return false;
}

gsrt_status gsrt__scenario_read_auto(gsrt_yaml_reader *reader, const gsrt_yaml_node *node)
{
    gsrt_scenario_planning *planning = planning_of(reader);
    static const char *const words[] = {"auto"};
    size_t index;
    planning->is_auto = true;
    if (node->type == GSRT_YAML_TEXT)
        return gsrt_yaml_read_word(reader, node, words, 1, &index);
    gsrt_status status = GSRT_YAML_READ_FIELDS(reader, node, auto_fields, planning);
    if (status == GSRT_OK && !planning->is_auto)
        return gsrt_yaml_refuse(reader, node, "has no stages, and 'auto: false'; add 'stages' or 'auto: true'");
    if (status == GSRT_OK && planning->budget == 0)
        return gsrt_yaml_refuse(reader, gsrt_yaml_find(node, "budget"), "a budget of 0 finds nothing; give at least 1");
    return status;
}

gsrt_status gsrt__scenario_planning_init(gsrt_scenario *scenario)
{
    scenario->planning = (gsrt_scenario_planning){.policy = "dp",
                                                  .budget = GSRT_SCENARIO_BUDGET_DEFAULT,
                                                  .seed = 1,
                                                  .objective = {.measure = GSRT_MEASURE_LATENCY}};
    scenario->planning.rules = gsrt_arena_take(&scenario->arena, 1, sizeof *scenario->planning.rules);
    return scenario->planning.rules == NULL ? GSRT_ENOMEM : GSRT_OK;
}

/* ---- what a plan takes a CPU to be ---- */

static gsrt_status read_rate(gsrt_yaml_reader *reader, const gsrt_yaml_node *node, gsrt_quantity *out)
{
    return gsrt__scenario_read_quantity(reader, node, (gsrt_dimension){.op = 1, .second = -1}, 1e6, 1e18, out);
}

static gsrt_status read_rate_f32(gsrt_yaml_reader *reader, const gsrt_yaml_node *node, void *object)
{
    return read_rate(reader, node, &((gsrt_scenario_device *)object)->rates[0]);
}

static gsrt_status read_rate_f16(gsrt_yaml_reader *reader, const gsrt_yaml_node *node, void *object)
{
    return read_rate(reader, node, &((gsrt_scenario_device *)object)->rates[1]);
}

static gsrt_status read_rate_quantised(gsrt_yaml_reader *reader, const gsrt_yaml_node *node, void *object)
{
    return read_rate(reader, node, &((gsrt_scenario_device *)object)->rates[2]);
}

static gsrt_status read_bandwidth(gsrt_yaml_reader *reader, const gsrt_yaml_node *node, void *object)
{
    return gsrt__scenario_read_quantity(reader, node, (gsrt_dimension){.byte = 1, .second = -1}, 1e6, 1e16,
                                        &((gsrt_scenario_device *)object)->memory_bandwidth);
}

static gsrt_status read_memory(gsrt_yaml_reader *reader, const gsrt_yaml_node *node, void *object)
{
    return gsrt__scenario_read_quantity(reader, node, (gsrt_dimension){.byte = 1}, 1 << 20, 1e16,
                                        &((gsrt_scenario_device *)object)->memory);
}

static const gsrt_yaml_field declares_fields[] = {
    {"f32", GSRT_YAML_FIELD_CALL, 0, 0, 0, read_rate_f32, NULL},
    {"f16", GSRT_YAML_FIELD_CALL, 0, 0, 0, read_rate_f16, NULL},
    {"quantised", GSRT_YAML_FIELD_CALL, 0, 0, 0, read_rate_quantised, NULL},
    {"bandwidth", GSRT_YAML_FIELD_CALL, 0, 0, 0, read_bandwidth, NULL},
    {"memory", GSRT_YAML_FIELD_CALL, 0, 0, 0, read_memory, NULL},
};

gsrt_status gsrt__scenario_read_declares(gsrt_yaml_reader *reader, const gsrt_yaml_node *node, void *object)
{
    return GSRT_YAML_READ_FIELDS(reader, node, declares_fields, object);
}
