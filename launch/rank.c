#include "launch/rank.h"

#include "actors/courier.h"
#include "placement/scheduler.h"

#include <stdlib.h>

uint32_t gsrt_rank_kv_blocks(const gsrt_scenario *scenario, uint32_t context_max)
{
    uint32_t requests =
        scenario->request_count < scenario->batch_requests ? scenario->request_count : scenario->batch_requests;
    return scenario->kv_block_count > 0 ? scenario->kv_block_count : requests * gsrt_kv_blocks_of(context_max);
}

static uint32_t threads_of(const gsrt_scenario *scenario, uint32_t rank)
{
    for (uint32_t i = 0; i < scenario->device_count; i++) {
        if (scenario->devices[i].rank == rank && scenario->devices[i].thread_count > 0)
            return scenario->devices[i].thread_count;
    }
    return scenario->thread_count;
}

static gsrt_status start_device(gsrt_rank *r, gsrt_diag *diag)
{
    uint32_t rank = gsrt_node_rank(r->node), threads = threads_of(r->scenario, rank);
    gsrt_device_options options = {.thread_count = threads,
                                   .cpu_first = rank * threads,
                                   .is_bound = r->scenario->is_binding,
                                   .is_packing = r->scenario->is_packing,
                                   .done = gsrt_device_bridge_done,
                                   .done_arg = &r->bridge};
    gsrt_status status = gsrt_isa_detect(&options.isa, diag);
    if (status == GSRT_OK)
        status = gsrt_device_create_cpu(&options, &r->device, diag);
    if (status != GSRT_OK)
        return status;
    gsrt_device_actor_options actor = {.device = r->device, .bridge = &r->bridge};
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
    r->kv = gsrt_kv_create(r->lowered->kv_layer_count, r->lowered->kv_head_count, w->head_dim, blocks);
    r->workspace = gsrt_workspace_create(&r->lowered->program, GSRT_BATCH_ROWS_MAX);
    if (r->kv == NULL || r->workspace == NULL)
        return GSRT_ENOMEM;
    for (uint32_t i = 0; i < r->lowered->matrix_count && r->scenario->is_packing && status == GSRT_OK; i++)
        status = gsrt_device_pack(r->device, r->lowered->matrices[i]);
    if (status != GSRT_OK && status != GSRT_EUNSUPPORTED)
        return status;
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
                            gsrt_diag *diag)
{
    uint32_t rank = gsrt_node_rank(node), rank_count = gsrt_node_rank_count(node);
    *r = (gsrt_rank){.scenario = scenario, .loaded = loaded, .node = node};
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
    free(r->links);
    r->links = NULL;
}

/* ---- the root actor ---- */

static void say_ready(gsrt_actor *self, const gsrt_rank *r)
{
    gsrt_msg_ready ready = {.rank = gsrt_node_rank(r->node), .region = r->region};
    if (gsrt_send(self, gsrt_address_of_role(GSRT_ROLE_NODE, 0, 0), GSRT_KIND_READY, &ready, NULL) != GSRT_OK)
        gsrt_node_finish(r->node, 5);
}

static gsrt_status init(gsrt_actor *self, void *state, const void *arg)
{
    gsrt_rank *r = *(gsrt_rank *const *)arg;
    *(gsrt_rank **)state = r;
    if (gsrt_node_rank(r->node) != 0)
        say_ready(self, r);
    return GSRT_OK;
}

static void receive(gsrt_actor *self, void *state, const gsrt_message *message)
{
    gsrt_rank *r = *(gsrt_rank **)state;
    (void)self;
    if (message->kind == GSRT_KIND_ROLES) {
        const gsrt_msg_roles *roles = message->body;
        for (uint32_t i = 0; i < roles->roles_count && i < roles->actors_count; i++) {
            if (gsrt_role_bind(r->node, roles->roles[i], roles->actors[i]) != GSRT_OK)
                gsrt_node_finish(r->node, 5);
        }
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
