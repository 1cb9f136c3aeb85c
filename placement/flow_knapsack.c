#include "placement/flow_knapsack.h"

#include <string.h>

enum { WIDTH = GSRT_FLOW_PRICE_MAX + 1 };

static gsrt_flow_amount smaller(gsrt_flow_amount a, gsrt_flow_amount b)
{
    return a < b ? a : b;
}

/* What all links of one end carry together, in or out. */
static gsrt_flow_amount links_of(const gsrt_flow_instance *instance, uint32_t end, bool is_out)
{
    gsrt_flow_amount sum = 0;
    for (uint32_t other = 0; other < instance->node_count + 2; other++)
        sum += is_out ? gsrt_flow_link(instance, end, other) : gsrt_flow_link(instance, other, end);
    return sum;
}

gsrt_status gsrt_flow_knapsack_init(gsrt_flow_knapsack *knapsack, const gsrt_flow_instance *instance)
{
    uint32_t n = instance->node_count;
    *knapsack = (gsrt_flow_knapsack){.instance = instance};
    gsrt_arena_init(&knapsack->arena, GSRT_FLOW_BYTES_MAX);
    knapsack->throughput = gsrt_arena_take(&knapsack->arena, n, sizeof *knapsack->throughput);
    knapsack->best = gsrt_arena_take(&knapsack->arena, WIDTH, sizeof *knapsack->best);
    knapsack->choices = gsrt_arena_take(&knapsack->arena, (size_t)n * WIDTH, sizeof *knapsack->choices);
    bool is_there = knapsack->throughput != NULL && knapsack->best != NULL && knapsack->choices != NULL;
    for (uint32_t i = 0; is_there && i < n; i++) {
        const gsrt_flow_node *node = &instance->nodes[i];
        gsrt_flow_amount *t = gsrt_arena_take(&knapsack->arena, (size_t)node->layers_max + 1, sizeof *t);
        gsrt_flow_amount most = smaller(links_of(instance, i, false), links_of(instance, i, true));
        is_there = t != NULL;
        for (uint32_t k = 1; is_there && k <= node->layers_max; k++)
            t[k] = smaller(node->throughput[k], most);
        knapsack->throughput[i] = t;
    }
    if (!is_there) {
        gsrt_flow_knapsack_fini(knapsack);
        return GSRT_ENOMEM;
    }
    knapsack->link_bound = smaller(links_of(instance, gsrt_flow_source(instance), true),
                                   links_of(instance, gsrt_flow_sink(instance), false));
    return GSRT_OK;
}

void gsrt_flow_knapsack_fini(gsrt_flow_knapsack *knapsack)
{
    gsrt_arena_fini(&knapsack->arena);
}

/* One more node: best[p] becomes the maximum over its choices. From high to low, so that best[p - cost] is still that
 * without the node. A choice that costs no less than another with more throughput is left out. */
static void add_node(gsrt_flow_knapsack *knapsack, uint32_t node, uint32_t node_price, uint32_t price)
{
    const gsrt_flow_amount *t = knapsack->throughput[node];
    uint16_t *choices = &knapsack->choices[(size_t)node * WIDTH];
    uint32_t counts[GSRT_LAYER_COUNT_MAX], count = 0;
    gsrt_flow_amount most = 0;
    for (uint32_t k = knapsack->instance->nodes[node].layers_max; k >= 1; k--)
        if (t[k] > most && node_price / k <= price) {
            most = t[k];
            counts[count++] = k;
        }
    memset(choices, 0, ((size_t)price + 1) * sizeof *choices);
    for (uint32_t p = price + 1; p-- > 0;) {
        gsrt_flow_amount best = knapsack->best[p];
        for (uint32_t c = 0; c < count && node_price / counts[c] <= p; c++) {
            gsrt_flow_amount with = knapsack->best[p - node_price / counts[c]] + t[counts[c]];
            if (with > best) {
                best = with;
                choices[p] = (uint16_t)counts[c];
            }
        }
        knapsack->best[p] = best;
    }
}

gsrt_flow_amount gsrt_flow_knapsack_solve(gsrt_flow_knapsack *knapsack, const uint32_t *prices, uint32_t price,
                                          uint32_t *counts)
{
    memset(knapsack->best, 0, ((size_t)price + 1) * sizeof *knapsack->best);
    for (uint32_t i = 0; i < knapsack->instance->node_count; i++)
        add_node(knapsack, i, prices[i], price);
    uint32_t left = price;
    for (uint32_t i = knapsack->instance->node_count; i-- > 0;) {
        counts[i] = knapsack->choices[(size_t)i * WIDTH + left];
        if (counts[i] > 0)
            left -= prices[i] / counts[i];
    }
    return knapsack->best[price];
}
