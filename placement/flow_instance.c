#include "placement/flow_instance.h"

#include <stdlib.h>
#include <string.h>

/* 1024 nodes of 2^52 each, and as much again on the way, fit 63 bits. */
static const double UNITS_PER_TOKEN_S = 1048576.0;
static const double TOKEN_S_MAX = 4294967296.0;

double gsrt_flow_token_s(gsrt_flow_amount amount)
{
    return (double)amount / UNITS_PER_TOKEN_S;
}

gsrt_flow_amount gsrt_flow_amount_of(double token_s)
{
    if (!(token_s >= 0.0))
        return -1;
    return (gsrt_flow_amount)((token_s < TOKEN_S_MAX ? token_s : TOKEN_S_MAX) * UNITS_PER_TOKEN_S + 0.5);
}

gsrt_flow_instance *gsrt_flow_instance_create(uint32_t node_count, uint32_t layer_count, bool is_partial)
{
    gsrt_flow_instance *instance = calloc(1, sizeof *instance);
    if (instance == NULL)
        return NULL;
    gsrt_arena_init(&instance->arena, GSRT_FLOW_BYTES_MAX);
    size_t ends = (size_t)node_count + 2;
    instance->nodes = gsrt_arena_take(&instance->arena, node_count, sizeof *instance->nodes);
    instance->links = gsrt_arena_take(&instance->arena, ends * ends, sizeof *instance->links);
    instance->node_count = node_count;
    instance->layer_count = layer_count;
    instance->is_partial = is_partial;
    if (node_count > GSRT_FLOW_NODE_COUNT_MAX || instance->nodes == NULL || instance->links == NULL)
        return gsrt_flow_instance_free(instance);
    return instance;
}

gsrt_flow_instance *gsrt_flow_instance_free(gsrt_flow_instance *instance)
{
    if (instance != NULL)
        gsrt_arena_fini(&instance->arena);
    free(instance);
    return NULL;
}

gsrt_status gsrt_flow_instance_set_node(gsrt_flow_instance *instance, uint32_t node, const double *token_s,
                                        uint32_t layers_max)
{
    if (layers_max < 1)
        return GSRT_EINVAL;
    if (layers_max > instance->layer_count)
        layers_max = instance->layer_count;
    gsrt_flow_amount *throughput = gsrt_arena_take(&instance->arena, (size_t)layers_max + 1, sizeof *throughput);
    if (throughput == NULL)
        return GSRT_ENOMEM;
    for (uint32_t k = 1; k <= layers_max; k++) {
        throughput[k] = gsrt_flow_amount_of(token_s[k - 1]);
        if (throughput[k] < 0)
            return GSRT_EINVAL;
    }
    instance->nodes[node] = (gsrt_flow_node){.throughput = throughput, .layers_max = layers_max};
    return GSRT_OK;
}

gsrt_status gsrt_flow_instance_set_link(gsrt_flow_instance *instance, uint32_t from, uint32_t to, double token_s)
{
    gsrt_flow_amount amount = gsrt_flow_amount_of(token_s);
    if (amount < 0)
        return GSRT_EINVAL;
    instance->links[(size_t)from * (instance->node_count + 2) + to] = amount;
    return GSRT_OK;
}

uint32_t gsrt_flow_source(const gsrt_flow_instance *instance)
{
    return instance->node_count;
}

uint32_t gsrt_flow_sink(const gsrt_flow_instance *instance)
{
    return instance->node_count + 1;
}

bool gsrt_flow_follows(const gsrt_flow_instance *instance, const gsrt_flow_hold *holds, uint32_t from, uint32_t to)
{
    uint32_t source = gsrt_flow_source(instance), sink = gsrt_flow_sink(instance);
    if (from == sink || to == source || (from == source && to == sink))
        return false;
    if (from == source)
        return holds[to].count > 0 && holds[to].first == 0;
    uint32_t end = holds[from].first + holds[from].count;
    if (holds[from].count == 0)
        return false;
    if (to == sink)
        return end == instance->layer_count;
    uint32_t first = holds[to].first;
    if (instance->is_partial)
        return first <= end && end < first + holds[to].count;
    return holds[to].count > 0 && first == end;
}

bool gsrt_flow_holds_check(const gsrt_flow_instance *instance, const gsrt_flow_hold *holds)
{
    for (uint32_t node = 0; node < instance->node_count; node++) {
        if (instance->nodes[node].throughput == NULL || holds[node].count > instance->nodes[node].layers_max)
            return false;
        if (holds[node].count > 0 && holds[node].first > instance->layer_count - holds[node].count)
            return false;
    }
    return true;
}
