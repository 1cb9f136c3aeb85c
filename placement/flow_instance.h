/* A flow instance: which layers should each node hold, so that the most tokens per second flow through all layers?
 *
 * Nodes hold one run of layers each. A node that holds k layers passes throughput[k] token/s at most, whatever the
 * tokens do in it; links carry so many token/s. Tokens start at the source, visit nodes whose layers follow each other,
 * and end at the sink. From node i to node j they may go
 *   exact     when j's layers begin where i's end
 *   partial   when j holds the layer after i's last one (it computes only the layers that are still to be done)
 * From the source to nodes that hold layer 0 first, to the sink from nodes that hold the last layer.
 * This is the problem of Helix (Mei et al., ASPLOS 2025), with a link as its LP has it.
 *
 * Amounts are whole multiples of 2^-20 token/s: set once from doubles, then all arithmetic on them is exact, so that
 * a score can equal a bound. Built by one caller, then only read. Pure. Thread: reading from any.
 */
#ifndef GSRT_PLACEMENT_FLOW_INSTANCE_H
#define GSRT_PLACEMENT_FLOW_INSTANCE_H

#include "base/arena.h"
#include "base/limits.h"
#include "base/status.h"

#include <stdbool.h>
#include <stdint.h>

typedef int64_t gsrt_flow_amount; /* 2^-20 token/s */

typedef struct gsrt_flow_node {
    gsrt_flow_amount *throughput; /* [layers_max + 1]: when it holds so many layers; [0] is 0 */
    uint32_t layers_max;          /* >= 1, at most the instance's layer_count */
} gsrt_flow_node;

typedef struct gsrt_flow_instance {
    gsrt_arena arena;
    gsrt_flow_node *nodes;
    gsrt_flow_amount *links; /* [node_count + 2][node_count + 2], from and to; 0: no link. Source: node_count; sink:
                                node_count + 1 */
    uint32_t node_count, layer_count;
    bool is_partial;
} gsrt_flow_instance;

/* What a node holds: layers [first, first + count); count 0: nothing. */
typedef struct gsrt_flow_hold {
    uint32_t first, count;
} gsrt_flow_hold;

/* An instance without links whose nodes hold nothing yet. 1 <= node_count <= GSRT_FLOW_NODE_COUNT_MAX, 1 <= layer_count
 * <= GSRT_LAYER_COUNT_MAX. Owned; NULL: no memory. */
gsrt_flow_instance *gsrt_flow_instance_create(uint32_t node_count, uint32_t layer_count, bool is_partial);
gsrt_flow_instance *gsrt_flow_instance_free(gsrt_flow_instance *instance);

/* token_s [layers_max]: of 1, 2, ... layers; finite, >= 0, copied. Once per node.
 * GSRT_OK | GSRT_EINVAL: no layers, or a value that is no throughput | GSRT_ENOMEM. */
GSRT_MUST_CHECK gsrt_status gsrt_flow_instance_set_node(gsrt_flow_instance *instance, uint32_t node,
                                                        const double *token_s, uint32_t layers_max);
/* A directed link; node_count is the source, node_count + 1 the sink. GSRT_OK | GSRT_EINVAL: not a throughput. */
GSRT_MUST_CHECK gsrt_status gsrt_flow_instance_set_link(gsrt_flow_instance *instance, uint32_t from, uint32_t to,
                                                        double token_s);

uint32_t gsrt_flow_source(const gsrt_flow_instance *instance);
uint32_t gsrt_flow_sink(const gsrt_flow_instance *instance);
static inline gsrt_flow_amount gsrt_flow_link(const gsrt_flow_instance *instance, uint32_t from, uint32_t to)
{
    return instance->links[(size_t)from * (instance->node_count + 2) + to];
}
/* Of a node that holds `count` layers; 0 when it cannot. */
static inline gsrt_flow_amount gsrt_flow_throughput(const gsrt_flow_instance *instance, uint32_t node, uint32_t count)
{
    const gsrt_flow_node *n = &instance->nodes[node];
    return count <= n->layers_max ? n->throughput[count] : 0;
}
/* May tokens go from the one to the other, as far as layers are concerned? Either may be source or sink. */
bool gsrt_flow_follows(const gsrt_flow_instance *instance, const gsrt_flow_hold *holds, uint32_t from, uint32_t to);
/* Every node is set, each hold lies within the layers and is one that the node can. */
bool gsrt_flow_holds_check(const gsrt_flow_instance *instance, const gsrt_flow_hold *holds);

double gsrt_flow_token_s(gsrt_flow_amount amount);    /* exact below 2^33 token/s */
gsrt_flow_amount gsrt_flow_amount_of(double token_s); /* to nearest, 2^32 token/s at most; -1: no throughput */

#endif
