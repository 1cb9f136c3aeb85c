#include "launch/rank.h"

#include "actors/courier.h"
#include "placement/scheduler.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

uint32_t gsrt_rank_kv_blocks(const gsrt_scenario *scenario, uint32_t context_max)
{
    uint32_t requests =
        scenario->request_count < scenario->batch_requests ? scenario->request_count : scenario->batch_requests;
    return scenario->kv_block_count > 0 ? scenario->kv_block_count : requests * gsrt_kv_blocks_of(context_max);
}

/* What the scenario says about this rank's device; NULL: nothing. */
static const gsrt_scenario_device *device_of(const gsrt_scenario *scenario, uint32_t rank)
{
    for (uint32_t i = 0; i < scenario->device_count; i++) {
        if (scenario->devices[i].rank == rank)
            return &scenario->devices[i];
    }
    return NULL;
}

/* The twin's model of a device: what its profile declares, or a plain core of today. Invented numbers, said so in
 * docs/scenario.md: 20 GFLOP/s for f32 and f16, 40 for int8, 10 GB/s per core. */
static gsrt_device_model model_of(const gsrt_rank *r, uint32_t threads)
{
    if (r->profile == NULL) {
        double n = threads;
        return (gsrt_device_model){.flops_per_ns = {20 * n, 20 * n, 40 * n}, .bytes_per_ns = 10 * n, .launch_ns = 2000};
    }
    const gsrt_profile_declared *d = gsrt_profile_declared_of(r->profile);
    gsrt_device_model model = {.bytes_per_ns = d->memory_bandwidth.value / 1e9,
                               .launch_ns = (uint64_t)(d->launch_overhead.value * 1e9)};
    for (int i = 0; i < 3; i++)
        model.flops_per_ns[i] = d->peak_flops[i].value / 1e9;
    return model;
}

static gsrt_status create_device(gsrt_rank *r, uint32_t threads, gsrt_diag *diag)
{
    uint32_t rank = gsrt_node_rank(r->node);
    gsrt_device_options options = {.thread_count = threads,
                                   .cpu_first = rank * threads,
                                   .is_bound = r->scenario->is_binding,
                                   .is_packing = r->scenario->is_packing,
                                   .profile = r->profile,
                                   .profile_seed = r->scenario->twin_seed + rank,
                                   .time_scale = r->scenario->time_scale,
                                   .done = gsrt_device_bridge_done,
                                   .done_arg = &r->bridge};
    gsrt_status status = gsrt_isa_detect(&options.isa, diag);
    if (status != GSRT_OK)
        return status;
    if (r->options.is_twin)
        return gsrt_device_create_inline(&options, &r->device, diag);
    return r->profile == NULL ? gsrt_device_create_cpu(&options, &r->device, diag)
                              : gsrt_device_create_profile(&options, &r->device, diag);
}

static gsrt_status start_device(gsrt_rank *r, gsrt_diag *diag)
{
    const gsrt_scenario_device *declared = device_of(r->scenario, gsrt_node_rank(r->node));
    uint32_t threads =
        declared != NULL && declared->thread_count > 0 ? declared->thread_count : r->scenario->thread_count;
    gsrt_status status = GSRT_OK;
    if (declared != NULL && declared->profile != NULL)
        status = gsrt_profile_open(declared->profile, &r->profile, diag);
    if (status == GSRT_OK && (!r->options.is_twin || r->options.is_numeric))
        status = create_device(r, threads, diag);
    if (status != GSRT_OK)
        return status;
    gsrt_device_actor_options actor = {
        .device = r->device, .bridge = &r->bridge, .is_twin = r->options.is_twin, .model = model_of(r, threads)};
    return gsrt_device_actor_start(r->node, &actor);
}

static gsrt_status start_region(gsrt_rank *r)
{
    const gsrt_workload *w = r->loaded->workload;
    uint32_t blocks = gsrt_rank_kv_blocks(r->scenario, w->context_max);
    gsrt_status status =
        gsrt_lower(r->loaded->weights, r->scenario->plan, r->stage, r->member, w->context_max, &r->lowered);
    if (status != GSRT_OK)
        return status;
    if (r->device != NULL) {
        r->kv = gsrt_kv_create(r->lowered->kv_layer_count, r->lowered->kv_head_count, w->head_dim, blocks);
        r->workspace = gsrt_workspace_create(&r->lowered->program, GSRT_BATCH_ROWS_MAX);
        if (r->kv == NULL || r->workspace == NULL)
            return GSRT_ENOMEM;
    }
    for (uint32_t i = 0; i < r->lowered->matrix_count && r->device != NULL && r->scenario->is_packing; i++) {
        status = gsrt_device_pack(r->device, r->lowered->matrices[i]);
        if (status != GSRT_OK && status != GSRT_EUNSUPPORTED)
            return status;
    }
    gsrt_region_options options = {.lowered = r->lowered,
                                   .plan = r->scenario->plan,
                                   .stage = r->stage,
                                   .member = r->member,
                                   .weights = r->loaded->weights,
                                   .kv = r->kv,
                                   .workspace = r->workspace,
                                   .rows_max = GSRT_BATCH_ROWS_MAX,
                                   .vocab_count = w->vocab_count,
                                   .facts = &r->region_facts};
    return gsrt_region_actor_start(r->node, &options, &r->region);
}

gsrt_status gsrt_rank_start(gsrt_rank *r, gsrt_node *node, const gsrt_scenario *scenario, const gsrt_loaded *loaded,
                            const gsrt_rank_options *options, gsrt_diag *diag)
{
    uint32_t rank = gsrt_node_rank(node), rank_count = gsrt_node_rank_count(node);
    *r = (gsrt_rank){.options = *options, .scenario = scenario, .loaded = loaded, .node = node};
    r->links = calloc(rank_count, sizeof *r->links);
    if (r->links == NULL)
        return GSRT_ENOMEM;
    gsrt_status status = GSRT_OK;
    for (uint32_t peer = 0; peer < rank_count && status == GSRT_OK; peer++) {
        if (peer != rank)
            status = gsrt_link_actor_start(node, peer, &r->links[peer]);
    }
    r->has_role = gsrt_plan_role_of(scenario->plan, rank, &r->stage, &r->member);
    if (status == GSRT_OK && r->has_role)
        status = start_device(r, diag);
    if (status == GSRT_OK && r->has_role)
        status = start_region(r);
    return gsrt_diag_set(status == GSRT_OK ? NULL : diag, status, scenario->file, NULL,
                         "rank %u cannot start its part: %s", rank, gsrt_status_text(status));
}

void gsrt_rank_stop(gsrt_rank *r)
{
    r->device = gsrt_device_free(r->device);
    for (uint32_t i = 0; r->lowered != NULL && i < r->lowered->matrix_count; i++)
        gsrt_matrix_unpack(r->lowered->matrices[i]);
    r->workspace = gsrt_workspace_free(r->workspace);
    r->kv = gsrt_kv_free(r->kv);
    r->lowered = gsrt_lowered_free(r->lowered);
    r->profile = gsrt_profile_free(r->profile);
    free(r->links);
    r->links = NULL;
}

void gsrt_rank_read_facts(const gsrt_rank *r, gsrt_msg_facts *out)
{
    gsrt_node_facts node;
    gsrt_device_facts device = {.kind = "none", .name = "none"};
    gsrt_node_read_facts(r->node, &node);
    if (r->device != NULL)
        gsrt_device_read_facts(r->device, &device);
    const gsrt_region_facts *region = &r->region_facts;
    bool is_real = !r->options.is_twin; /* in the twin nothing of this process and its clock may show */
    *out = (gsrt_msg_facts){.rank = gsrt_node_rank(r->node),
                            .pid = is_real ? (uint64_t)getpid() : 0,
                            .has_role = r->has_role,
                            .stage = r->stage,
                            .member = r->member,
                            .isa = gsrt_span_of_text(r->device == NULL ? "none" : gsrt_isa_name(device.isa)),
                            .threads = device.thread_count,
                            .weight_touched = gsrt_weights_touched_bytes(r->loaded->weights),
                            .weight_share = r->lowered == NULL ? 0 : r->lowered->share_bytes,
                            .weight_copies = r->lowered == NULL ? 0 : r->lowered->copy_bytes,
                            .rows_max = region->rows_max,
                            .rows = region->rows,
                            .steps = region->steps,
                            .gathered = region->gathered_bytes,
                            .reduced = region->reduced_bytes,
                            .packed = device.packed_bytes,
                            .pack_ns = is_real ? device.pack_ns : 0,
                            .load_ns = r->options.load_ns,
                            .messages_sent = node.messages_sent,
                            .messages_received = node.messages_received,
                            .backend_kind = gsrt_span_of_text(device.kind),
                            .backend_name = gsrt_span_of_text(device.name),
                            .is_simulated = device.is_simulated || !is_real,
                            .busy_ns = is_real ? device.busy_ns : region->busy_ns,
                            .energy_j = r->profile == NULL ? -1 : device.energy_j,
                            .temperature_c = device.temperature_c};
}

/* ---- the root actor ---- */

gsrt_status gsrt_rank_watch(const gsrt_rank *r, gsrt_actor *self)
{
    if (!r->has_role)
        return GSRT_OK;
    gsrt_address device =
        gsrt_role_resolve(r->node, gsrt_address_of_role(GSRT_ROLE_DEVICE, 0, gsrt_node_rank(r->node)));
    gsrt_status status = gsrt_monitor(self, device);
    return status == GSRT_OK ? gsrt_monitor(self, r->region) : status;
}

/* START: open what this rank writes, then say that it is ready, or why it cannot be. */
static gsrt_status answer_start(gsrt_actor *self, const gsrt_rank *r, const gsrt_msg_start *start)
{
    char directory[4097];
    gsrt_diag diag = {0};
    gsrt_status status = GSRT_OK;
    memcpy(directory, start->directory.data, start->directory.len);
    directory[start->directory.len] = 0;
    if (r->options.on_start != NULL)
        status = r->options.on_start(r->options.on_start_arg, directory, &diag);
    gsrt_msg_ready ready = {.rank = gsrt_node_rank(r->node),
                            .region = r->region,
                            .exit_code = status == GSRT_OK ? 0 : 5,
                            .why = gsrt_span_of_text(diag.text)};
    return gsrt_send(self, gsrt_address_of_role(GSRT_ROLE_NODE, 0, 0), GSRT_KIND_READY, &ready, NULL);
}

static gsrt_status init(gsrt_actor *self, void *state, const void *arg)
{
    gsrt_rank *r = *(gsrt_rank *const *)arg;
    *(gsrt_rank **)state = r;
    return gsrt_rank_watch(r, self);
}

static void receive(gsrt_actor *self, void *state, const gsrt_message *message)
{
    gsrt_rank *r = *(gsrt_rank **)state;
    if (message->kind == GSRT_KIND_START) {
        if (answer_start(self, r, message->body) != GSRT_OK)
            gsrt_node_finish(r->node, 5);
    } else if (message->kind == GSRT_KIND_ROLES) {
        const gsrt_msg_roles *roles = message->body;
        for (uint32_t i = 0; i < roles->roles_count && i < roles->actors_count; i++) {
            if (gsrt_role_bind(r->node, roles->roles[i], roles->actors[i]) != GSRT_OK)
                gsrt_node_finish(r->node, 5);
        }
    } else if (message->kind == GSRT_KIND_ASK_FACTS) {
        gsrt_msg_facts facts;
        gsrt_rank_read_facts(r, &facts);
        if (gsrt_send(self, message->from, GSRT_KIND_FACTS, &facts, NULL) != GSRT_OK)
            gsrt_node_finish(r->node, 5);
    } else if (message->kind == GSRT_KIND_DOWN) {
        gsrt_node_finish(r->node, 5); /* node 0 sees this rank leave, and ends the run */
    } else if (message->kind == GSRT_KIND_STOP) {
        gsrt_node_finish(r->node, (int)((const gsrt_msg_stop *)message->body)->exit_code);
    }
}

static const gsrt_behaviour root_behaviour = {
    .name = "node", .state_bytes = sizeof(gsrt_rank *), .init = init, .receive = receive};

gsrt_status gsrt_rank_root_start(gsrt_rank *r)
{
    gsrt_address address;
    gsrt_status status = gsrt_node_spawn(r->node, &root_behaviour, &r, &address);
    if (status != GSRT_OK)
        return status;
    return gsrt_role_bind(r->node, gsrt_address_of_role(GSRT_ROLE_NODE, 0, gsrt_node_rank(r->node)), address);
}
