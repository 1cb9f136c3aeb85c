/* Every key of a scenario, in tables, here and in launch/scenario_faults.c; docs/scenario.md and
 * docs/schemas/scenario.schema.json say the same, and a test compares them. */
#include "base/limits.h"
#include "launch/scenario_impl.h"
#include "placement/contract.h"
#include "placement/plan_choices.h"

#include <inttypes.h>

/* ---- workload ---- */

static gsrt_status read_prompt_tokens(gsrt_yaml_reader *reader, const gsrt_yaml_node *node, void *object)
{
    gsrt_scenario_request *request = object;
    return gsrt_yaml_read_u32s(reader, node, reader->arena, GSRT_VOCAB_COUNT_MAX - 1, 1, GSRT_CONTEXT_MAX,
                               &request->prompt_tokens, &request->prompt_token_count);
}

static const gsrt_yaml_field request_fields[] = {
    {"prompt", GSRT_YAML_FIELD_TEXT, offsetof(gsrt_scenario_request, prompt), 0, GSRT_PROMPT_BYTES_MAX, NULL, NULL},
    {"prompt_tokens", GSRT_YAML_FIELD_CALL, 0, 0, 0, read_prompt_tokens, NULL},
    {"max_tokens", GSRT_YAML_FIELD_U32, offsetof(gsrt_scenario_request, max_tokens), 1, GSRT_CONTEXT_MAX, NULL, NULL},
    {"temperature", GSRT_YAML_FIELD_F32, offsetof(gsrt_scenario_request, temperature), 0, 100, NULL, NULL},
    {"top_k", GSRT_YAML_FIELD_U32, offsetof(gsrt_scenario_request, top_k), 0, GSRT_VOCAB_COUNT_MAX, NULL, NULL},
    {"top_p", GSRT_YAML_FIELD_F32, offsetof(gsrt_scenario_request, top_p), 1e-6, 1, NULL, NULL},
    {"seed", GSRT_YAML_FIELD_U64, offsetof(gsrt_scenario_request, seed), 0, 0, NULL, NULL},
    {"ignore_eos", GSRT_YAML_FIELD_BOOL, offsetof(gsrt_scenario_request, is_ignoring_eos), 0, 0, NULL, NULL},
};

static gsrt_status read_request(gsrt_yaml_reader *reader, const gsrt_yaml_node *node, void *object)
{
    gsrt_scenario_request *request = object;
    request->max_tokens = GSRT_SCENARIO_MAX_TOKENS_DEFAULT;
    request->top_p = 1;
    request->place = gsrt_arena_copy_text(reader->arena, reader->path, reader->path_len);
    if (request->place == NULL)
        return GSRT_ENOMEM;
    gsrt_status status = GSRT_YAML_READ_FIELDS(reader, node, request_fields, request);
    if (status != GSRT_OK)
        return status;
    if (request->prompt != NULL && request->prompt_tokens != NULL)
        return gsrt_yaml_refuse(reader, node, "has both 'prompt' and 'prompt_tokens'; keep one of them");
    if (request->prompt == NULL && request->prompt_tokens == NULL)
        return gsrt_yaml_refuse(reader, node, "has no prompt; add 'prompt: \"...\"' or 'prompt_tokens: [...]'");
    return GSRT_OK;
}

static gsrt_status read_requests(gsrt_yaml_reader *reader, const gsrt_yaml_node *node, void *object)
{
    gsrt_scenario *scenario = object;
    void *items;
    gsrt_status status = gsrt_yaml_read_items(reader, node, &scenario->arena, sizeof *scenario->requests, 1,
                                              GSRT_REQUEST_COUNT_MAX, read_request, &items, &scenario->request_count);
    if (status == GSRT_OK)
        scenario->requests = items;
    return status;
}

static gsrt_status read_synthetic(gsrt_yaml_reader *reader, const gsrt_yaml_node *node, void *object)
{
    gsrt_synthetic *synthetic = gsrt_arena_take(reader->arena, 1, sizeof *synthetic);
    if (synthetic == NULL)
        return GSRT_ENOMEM;
    ((gsrt_scenario *)object)->synthetic = synthetic;
    return gsrt_synthetic_read(reader, node, synthetic);
}

static const gsrt_yaml_field workload_fields[] = {
    {"model", GSRT_YAML_FIELD_PATH, offsetof(gsrt_scenario, model), 0, 0, NULL, NULL},
    {"config", GSRT_YAML_FIELD_PATH, offsetof(gsrt_scenario, config), 0, 0, NULL, NULL},
    {"synthetic", GSRT_YAML_FIELD_CALL, 0, 0, 0, read_synthetic, NULL},
    {"requests", GSRT_YAML_FIELD_CALL, 0, 0, 0, read_requests, NULL},
};

/* A model to run has something to do; one without weights is only planned for. */
static gsrt_status read_workload(gsrt_yaml_reader *reader, const gsrt_yaml_node *node, void *object)
{
    const gsrt_scenario *scenario = object;
    gsrt_status status = GSRT_YAML_READ_FIELDS(reader, node, workload_fields, object);
    int models = (scenario->model != NULL) + (scenario->config != NULL) + (scenario->synthetic != NULL);
    if (status == GSRT_OK && models == 0)
        return gsrt_yaml_refuse_as(reader, node, "missing_key", "key 'model' is missing; add 'model: FILE.gguf'");
    if (status == GSRT_OK && models > 1)
        return gsrt_yaml_refuse(reader, node, "has more than one of 'model', 'config' and 'synthetic'; keep one");
    if (status == GSRT_OK && scenario->model != NULL && scenario->request_count == 0)
        return gsrt_yaml_refuse_as(reader, node, "missing_key",
                                   "key 'requests' is missing; add 'requests: [{prompt: \"...\"}]'");
    return status;
}

/* ---- plan ---- */

static gsrt_plan *plan_of(gsrt_yaml_reader *reader)
{
    return gsrt__scenario_of(reader)->plan;
}

static gsrt_status read_layers(gsrt_yaml_reader *reader, const gsrt_yaml_node *node, void *object)
{
    gsrt_plan_stage *stage = object;
    const uint32_t *ends;
    uint32_t count;
    gsrt_status status =
        gsrt_yaml_read_u32s(reader, node, &plan_of(reader)->arena, GSRT_LAYER_COUNT_MAX - 1, 2, 2, &ends, &count);
    if (status != GSRT_OK)
        return status;
    stage->layer_first = ends[0];
    stage->layer_last = ends[1];
    return GSRT_OK;
}

static gsrt_status read_numbers(gsrt_yaml_reader *reader, const gsrt_yaml_node *node, uint32_t max, uint32_t count_min,
                                uint32_t count_max, uint32_t **out, uint32_t *out_count)
{
    const uint32_t *items;
    gsrt_status status =
        gsrt_yaml_read_u32s(reader, node, &plan_of(reader)->arena, max, count_min, count_max, &items, out_count);
    if (status == GSRT_OK)
        *out = (uint32_t *)(uintptr_t)items; /* the plan's own: it may write them */
    return status;
}

static gsrt_status read_ranks(gsrt_yaml_reader *reader, const gsrt_yaml_node *node, void *object)
{
    gsrt_plan_stage *stage = object;
    return read_numbers(reader, node, GSRT_RANK_COUNT_MAX - 1, 1, GSRT_GROUP_RANKS_MAX, &stage->ranks,
                        &stage->member_count);
}

static gsrt_status read_split(gsrt_yaml_reader *reader, const gsrt_yaml_node *node, void *object)
{
    gsrt_plan_stage *stage = object;
    uint32_t count;
    return read_numbers(reader, node, GSRT_SHARE_MAX, 1, GSRT_GROUP_RANKS_MAX, &stage->shares, &count);
}

static const gsrt_yaml_field stage_fields[] = {
    {"layers", GSRT_YAML_FIELD_CALL, 0, 0, 0, read_layers, "[FIRST, LAST]"},
    {"ranks", GSRT_YAML_FIELD_CALL, 0, 0, 0, read_ranks, "[0]"},
    {"split", GSRT_YAML_FIELD_CALL, 0, 0, 0, read_split, NULL},
};

static gsrt_status read_stage(gsrt_yaml_reader *reader, const gsrt_yaml_node *node, void *object)
{
    gsrt_plan_stage *stage = object;
    gsrt_status status = GSRT_YAML_READ_FIELDS(reader, node, stage_fields, stage);
    if (status != GSRT_OK)
        return status;
    const gsrt_yaml_node *split = gsrt_yaml_find(node, "split");
    if (split != NULL && split->child_count != stage->member_count) {
        size_t mark = gsrt_yaml_path_enter(reader, "split", 0);
        status = gsrt_yaml_refuse(reader, split, "%" PRIu32 " shares for %" PRIu32 " ranks; give one share per rank",
                                  split->child_count, stage->member_count);
        gsrt_yaml_path_leave(reader, mark);
        return status;
    }
    if (split != NULL)
        return GSRT_OK;
    stage->shares = gsrt_arena_take(&plan_of(reader)->arena, stage->member_count, sizeof *stage->shares);
    if (stage->shares == NULL)
        return GSRT_ENOMEM;
    for (uint32_t m = 0; m < stage->member_count; m++)
        stage->shares[m] = 1;
    return GSRT_OK;
}

static gsrt_status read_stages(gsrt_yaml_reader *reader, const gsrt_yaml_node *node, void *object)
{
    gsrt_plan *plan = object;
    void *items;
    gsrt_status status = gsrt_yaml_read_items(reader, node, &plan->arena, sizeof *plan->stages, 1, GSRT_STAGE_COUNT_MAX,
                                              read_stage, &items, &plan->stage_count);
    if (status == GSRT_OK)
        plan->stages = items;
    return status;
}

static gsrt_status read_spares(gsrt_yaml_reader *reader, const gsrt_yaml_node *node, void *object)
{
    gsrt_plan *plan = object;
    return read_numbers(reader, node, GSRT_RANK_COUNT_MAX - 1, 0, GSRT_RANK_COUNT_MAX, &plan->spares,
                        &plan->spare_count);
}

static gsrt_status read_exchange(gsrt_yaml_reader *reader, const gsrt_yaml_node *node, void *object)
{
    gsrt_plan *plan = object;
    static const char *const words[] = {"auto", "gather", "reduce", "scatter"};
    static const gsrt_exchange kinds[] = {GSRT_EXCHANGE_AUTO, GSRT_EXCHANGE_GATHER, GSRT_EXCHANGE_REDUCE,
                                          GSRT_EXCHANGE_SCATTER};
    size_t index;
    gsrt_status status = gsrt_yaml_read_word(reader, node, words, sizeof words / sizeof words[0], &index);
    if (status == GSRT_OK)
        plan->exchange = kinds[index];
    return status;
}

static gsrt_status read_region(gsrt_yaml_reader *reader, const gsrt_yaml_node *node, void *object)
{
    gsrt_plan_narrowed *narrowed = object;
    const char *name;
    static const gsrt_yaml_field text = {NULL, GSRT_YAML_FIELD_TEXT, 0, 1, GSRT_NAME_BYTES_MAX, NULL, NULL};
    gsrt_status status = gsrt_yaml_read_field(reader, node, &text, &name);
    if (status == GSRT_OK && !gsrt_plan_place_named(name, &narrowed->place))
        status = gsrt_yaml_refuse(reader, node,
                                  "'%.64s' is no region; 'embed', 'layer.0', 'layer.1', ..., 'output' are", name);
    return status;
}

static gsrt_status read_weights(gsrt_yaml_reader *reader, const gsrt_yaml_node *node, void *object)
{
    gsrt_plan_narrowed *narrowed = object;
    const char *words[GSRT_PLAN_NARROW_COUNT];
    size_t index;
    for (size_t i = 0; i < GSRT_PLAN_NARROW_COUNT; i++)
        words[i] = gsrt_dtype_name(gsrt_plan_narrow_formats[i]);
    gsrt_status status = gsrt_yaml_read_word(reader, node, words, GSRT_PLAN_NARROW_COUNT, &index);
    if (status == GSRT_OK)
        narrowed->weights = gsrt_plan_narrow_formats[index];
    return status;
}

static const gsrt_yaml_field narrowed_fields[] = {
    {"region", GSRT_YAML_FIELD_CALL, 0, 0, 0, read_region, "layer.0"},
    {"weights", GSRT_YAML_FIELD_CALL, 0, 0, 0, read_weights, "q8_0"},
};

static gsrt_status read_narrowed_region(gsrt_yaml_reader *reader, const gsrt_yaml_node *node, void *object)
{
    return GSRT_YAML_READ_FIELDS(reader, node, narrowed_fields, object);
}

static gsrt_status read_narrowed(gsrt_yaml_reader *reader, const gsrt_yaml_node *node, void *object)
{
    gsrt_plan *plan = object;
    void *items;
    uint32_t count;
    gsrt_status status = gsrt_yaml_read_items(reader, node, &plan->arena, sizeof *plan->narrowed, 0,
                                              GSRT_PLAN_PLACE_COUNT, read_narrowed_region, &items, &count);
    return status == GSRT_OK ? gsrt_plan_narrow(plan, items, count) : status;
}

static const gsrt_yaml_field plan_fields[] = {
    {"stages", GSRT_YAML_FIELD_CALL, 0, 0, 0, read_stages, "[{layers: [FIRST, LAST], ranks: [0]}]"},
    {"spares", GSRT_YAML_FIELD_CALL, 0, 0, 0, read_spares, NULL},
    {"exchange", GSRT_YAML_FIELD_CALL, 0, 0, 0, read_exchange, NULL},
    {"narrowed", GSRT_YAML_FIELD_CALL, 0, 0, 0, read_narrowed, NULL},
};

static gsrt_status read_plan(gsrt_yaml_reader *reader, const gsrt_yaml_node *node, void *object)
{
    gsrt_scenario *scenario = object;
    if (gsrt__scenario_is_auto(node))
        return gsrt__scenario_read_auto(reader, node);
    scenario->plan = gsrt_plan_create(0);
    return scenario->plan == NULL ? GSRT_ENOMEM : GSRT_YAML_READ_FIELDS(reader, node, plan_fields, scenario->plan);
}

/* ---- contract, verify, output ---- */

static gsrt_status read_contract(gsrt_yaml_reader *reader, const gsrt_yaml_node *node, void *object)
{
    return gsrt_contract_read(reader, node, &((gsrt_scenario *)object)->asked);
}

static gsrt_status read_verify(gsrt_yaml_reader *reader, const gsrt_yaml_node *node, void *object)
{
    gsrt_scenario *scenario = object;
    static const char *const words[] = {"none", "reference"};
    size_t index;
    gsrt_status status = gsrt_yaml_read_word(reader, node, words, sizeof words / sizeof words[0], &index);
    if (status == GSRT_OK)
        scenario->is_verifying = index == 1;
    return status;
}

static const gsrt_yaml_field output_fields[] = {
    {"logits", GSRT_YAML_FIELD_TEXT, offsetof(gsrt_scenario, logits_file), 1, GSRT_PATH_BYTES_MAX, NULL, NULL},
};

static gsrt_status read_output(gsrt_yaml_reader *reader, const gsrt_yaml_node *node, void *object)
{
    return GSRT_YAML_READ_FIELDS(reader, node, output_fields, object);
}

/* ---- runtime, fleet, twin ---- */

static const gsrt_yaml_field runtime_fields[] = {
    {"threads", GSRT_YAML_FIELD_U32, offsetof(gsrt_scenario, thread_count), 1, GSRT_THREAD_COUNT_MAX, NULL, NULL},
    {"prefill_chunk", GSRT_YAML_FIELD_U32, offsetof(gsrt_scenario, prefill_chunk), 1, GSRT_BATCH_ROWS_MAX, NULL, NULL},
    {"batch", GSRT_YAML_FIELD_U32, offsetof(gsrt_scenario, batch_requests), 1, GSRT_BATCH_SEQUENCES_MAX, NULL, NULL},
    {"kv_blocks", GSRT_YAML_FIELD_U32, offsetof(gsrt_scenario, kv_block_count), 0, GSRT_KV_BLOCK_COUNT_MAX, NULL, NULL},
    {"prefix_reuse", GSRT_YAML_FIELD_BOOL, offsetof(gsrt_scenario, is_reusing_prefixes), 0, 0, NULL, NULL},
    {"snapshot_tokens", GSRT_YAML_FIELD_U32, offsetof(gsrt_scenario, snapshot_tokens), 0, GSRT_CONTEXT_MAX, NULL, NULL},
    {"kv_replicas", GSRT_YAML_FIELD_BOOL, offsetof(gsrt_scenario, is_replicating), 0, 0, NULL, NULL},
    {"packing", GSRT_YAML_FIELD_BOOL, offsetof(gsrt_scenario, is_packing), 0, 0, NULL, NULL},
    {"binding", GSRT_YAML_FIELD_BOOL, offsetof(gsrt_scenario, is_binding), 0, 0, NULL, NULL},
    {"spin_us", GSRT_YAML_FIELD_I32, offsetof(gsrt_scenario, spin_us), -1, GSRT_SPIN_US_MAX, NULL, NULL},
};

static gsrt_status read_runtime(gsrt_yaml_reader *reader, const gsrt_yaml_node *node, void *object)
{
    return GSRT_YAML_READ_FIELDS(reader, node, runtime_fields, object);
}

static const gsrt_yaml_field device_fields[] = {
    {"rank", GSRT_YAML_FIELD_U32, offsetof(gsrt_scenario_device, rank), 0, GSRT_RANK_COUNT_MAX - 1, NULL, "0"},
    {"profile", GSRT_YAML_FIELD_PATH, offsetof(gsrt_scenario_device, profile), 0, 0, NULL, NULL},
    {"threads", GSRT_YAML_FIELD_U32, offsetof(gsrt_scenario_device, thread_count), 1, GSRT_THREAD_COUNT_MAX, NULL,
     NULL},
    {"declares", GSRT_YAML_FIELD_CALL, 0, 0, 0, gsrt__scenario_read_declares, NULL},
};

static gsrt_status read_device(gsrt_yaml_reader *reader, const gsrt_yaml_node *node, void *object)
{
    const gsrt_scenario_device *device = object;
    gsrt_status status = GSRT_YAML_READ_FIELDS(reader, node, device_fields, object);
    if (status == GSRT_OK && device->profile != NULL && gsrt_yaml_find(node, "declares") != NULL)
        return gsrt_yaml_refuse(reader, node, "its profile declares what it can do; leave 'declares' out");
    return status;
}

static gsrt_status read_devices(gsrt_yaml_reader *reader, const gsrt_yaml_node *node, void *object)
{
    gsrt_scenario *scenario = object;
    void *items;
    gsrt_status status = gsrt_yaml_read_items(reader, node, &scenario->arena, sizeof *scenario->devices, 0,
                                              GSRT_RANK_COUNT_MAX, read_device, &items, &scenario->device_count);
    if (status != GSRT_OK)
        return status;
    scenario->devices = items;
    bool is_named[GSRT_RANK_COUNT_MAX] = {false};
    const gsrt_yaml_node *child = node->child_first;
    for (uint32_t i = 0; i < scenario->device_count; i++, child = child->next) {
        uint32_t rank = scenario->devices[i].rank;
        size_t mark = gsrt_yaml_path_enter(reader, NULL, i);
        if (is_named[rank])
            return gsrt_yaml_refuse(reader, child, "rank %" PRIu32 " already has a device; give each rank one", rank);
        gsrt_yaml_path_leave(reader, mark);
        is_named[rank] = true;
    }
    return GSRT_OK;
}

static const gsrt_yaml_field fleet_fields[] = {
    {"devices", GSRT_YAML_FIELD_CALL, 0, 0, 0, read_devices, NULL},
    {"inventory", GSRT_YAML_FIELD_PATH, offsetof(gsrt_scenario, planning.inventory), 0, 0, NULL, NULL},
    {"time_scale", GSRT_YAML_FIELD_F64, offsetof(gsrt_scenario, time_scale), 1e-6, 1e6, NULL, NULL},
};

static gsrt_status read_fleet(gsrt_yaml_reader *reader, const gsrt_yaml_node *node, void *object)
{
    const gsrt_scenario *scenario = object;
    gsrt_status status = GSRT_YAML_READ_FIELDS(reader, node, fleet_fields, object);
    if (status == GSRT_OK && scenario->planning.inventory != NULL && scenario->device_count > 0)
        return gsrt_yaml_refuse(reader, node,
                                "has both 'devices' and 'inventory'; the ranks of a run have devices, an inventory is "
                                "planned for: keep one of them");
    return status;
}

static const gsrt_yaml_field link_fields[] = {
    {"latency_us", GSRT_YAML_FIELD_F64, offsetof(gsrt_scenario_link, latency_us), 0, 1e9, NULL, NULL},
    {"bandwidth_gbps", GSRT_YAML_FIELD_F64, offsetof(gsrt_scenario_link, bandwidth_gbps), 1e-6, 1e6, NULL, NULL},
};

static gsrt_status read_link(gsrt_yaml_reader *reader, const gsrt_yaml_node *node, void *object)
{
    gsrt_scenario *scenario = object;
    return GSRT_YAML_READ_FIELDS(reader, node, link_fields, &scenario->link);
}

static const gsrt_yaml_field twin_fields[] = {
    {"ranks", GSRT_YAML_FIELD_U32, offsetof(gsrt_scenario, twin_rank_count), 1, GSRT_RANK_COUNT_MAX, NULL, NULL},
    {"seed", GSRT_YAML_FIELD_U64, offsetof(gsrt_scenario, twin_seed), 0, 0, NULL, NULL},
    {"numerics", GSRT_YAML_FIELD_BOOL, offsetof(gsrt_scenario, is_numeric_in_twin), 0, 0, NULL, NULL},
    {"link", GSRT_YAML_FIELD_CALL, 0, 0, 0, read_link, NULL},
};

static gsrt_status read_twin(gsrt_yaml_reader *reader, const gsrt_yaml_node *node, void *object)
{
    return GSRT_YAML_READ_FIELDS(reader, node, twin_fields, object);
}

/* ---- root ---- */

/* First of all: another version may mean anything by its keys. */
static gsrt_status check_version(gsrt_yaml_reader *reader, const gsrt_yaml_node *root)
{
    const gsrt_yaml_node *version = gsrt_yaml_find(root, "gsrt");
    if (version == NULL)
        return GSRT_OK; /* its absence is reported with the other required keys */
    char found[GSRT_YAML_FOUND_BYTES_MAX];
    size_t mark = gsrt_yaml_path_enter(reader, "gsrt", 0);
    gsrt_status status = GSRT_OK;
    if (version->type != GSRT_YAML_INTEGER)
        status = gsrt_yaml_refuse(reader, version, "must be the version of the format, 1, found %s",
                                  gsrt_yaml_found(version, found, sizeof found));
    else if (strcmp(version->text, "1") != 0)
        status = gsrt_yaml_refuse(reader, version,
                                  "version %.20s of the scenario format is not supported; this is GSRT " GSRT_VERSION
                                  ", which reads version 1",
                                  version->text);
    gsrt_yaml_path_leave(reader, mark);
    return status;
}

static gsrt_status accept(gsrt_yaml_reader *reader, const gsrt_yaml_node *node, void *object)
{
    (void)reader;
    (void)node;
    (void)object;
    return GSRT_OK;
}

/* It names the run directory: one path component that needs no quoting. */
static gsrt_status read_name(gsrt_yaml_reader *reader, const gsrt_yaml_node *node, void *object)
{
    gsrt_scenario *scenario = object;
    static const gsrt_yaml_field text = {"name", GSRT_YAML_FIELD_TEXT, offsetof(gsrt_scenario, name), 1, 64, NULL,
                                         NULL};
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.";
    gsrt_status status = gsrt_yaml_read_field(reader, node, &text, scenario);
    if (status != GSRT_OK)
        return status;
    if (scenario->name[strspn(scenario->name, letters)] != 0 || scenario->name[0] == '.' || scenario->name[0] == '-')
        return gsrt_yaml_refuse(reader, node,
                                "'%.64s' cannot name a directory; use letters, digits, '_', '-' and '.', and "
                                "begin with a letter or digit",
                                scenario->name);
    return GSRT_OK;
}

static const gsrt_yaml_field root_fields[] = {
    {"gsrt", GSRT_YAML_FIELD_CALL, 0, 0, 0, accept, "1"},
    {"name", GSRT_YAML_FIELD_CALL, 0, 0, 0, read_name, "NAME"},
    {"workload", GSRT_YAML_FIELD_CALL, 0, 0, 0, read_workload, "{model: FILE.gguf, requests: [{prompt: \"...\"}]}"},
    {"contract", GSRT_YAML_FIELD_CALL, 0, 0, 0, read_contract, NULL},
    {"evidence", GSRT_YAML_FIELD_PATH, offsetof(gsrt_scenario, planning.evidence), 0, 0, NULL, NULL},
    {"objective", GSRT_YAML_FIELD_CALL, 0, 0, 0, gsrt__scenario_read_objective, NULL},
    {"demand", GSRT_YAML_FIELD_CALL, 0, 0, 0, gsrt__scenario_read_demand, NULL},
    {"rules", GSRT_YAML_FIELD_CALL, 0, 0, 0, gsrt__scenario_read_rules, NULL},
    {"plan", GSRT_YAML_FIELD_CALL, 0, 0, 0, read_plan, "auto"},
    {"verify", GSRT_YAML_FIELD_CALL, 0, 0, 0, read_verify, NULL},
    {"watch", GSRT_YAML_FIELD_U32, offsetof(gsrt_scenario, watch), 0, GSRT_REQUEST_COUNT_MAX, NULL, NULL},
    {"output", GSRT_YAML_FIELD_CALL, 0, 0, 0, read_output, NULL},
    {"faults", GSRT_YAML_FIELD_CALL, 0, 0, 0, gsrt__scenario_read_faults, NULL},
    {"moves", GSRT_YAML_FIELD_CALL, 0, 0, 0, gsrt__scenario_read_moves, NULL},
    {"healing", GSRT_YAML_FIELD_CALL, 0, 0, 0, gsrt__scenario_read_healing, NULL},
    {"runtime", GSRT_YAML_FIELD_CALL, 0, 0, 0, read_runtime, NULL},
    {"fleet", GSRT_YAML_FIELD_CALL, 0, 0, 0, read_fleet, NULL},
    {"twin", GSRT_YAML_FIELD_CALL, 0, 0, 0, read_twin, NULL},
};

gsrt_status gsrt__scenario_read_root(gsrt_yaml_reader *reader, const gsrt_yaml_node *root)
{
    gsrt_status status = check_version(reader, root);
    if (status == GSRT_OK)
        status = GSRT_YAML_READ_FIELDS(reader, root, root_fields, gsrt__scenario_of(reader));
    return status == GSRT_OK ? gsrt__scenario_check_faults(reader, root) : status;
}
