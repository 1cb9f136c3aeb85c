#include "placement/flow_evaluate.h"

#include <stdlib.h>

#define NO_ARC UINT32_MAX

/* Node i is entered at vertex 2i and left at 2i + 1; so are source and sink (n and n + 1). Arc a's
 * way back is a ^ 1, its capacity what has gone forward. */
typedef struct flow_arc {
    gsrt_flow_amount capacity; /* that is left */
    uint32_t to, next;         /* next: of the same vertex */
} flow_arc;

struct gsrt_flow_evaluator {
    gsrt_arena arena;
    const gsrt_flow_instance *instance;
    flow_arc *arcs;
    uint32_t arc_count, vertex_count;
    uint32_t *heads, *cursors, *levels, *queue; /* [vertex_count] */
    uint32_t *firsts;                           /* [layer_count] a node that begins there */
    uint32_t *others;                           /* [node_count] another that begins where it does */
    uint32_t *path;                             /* [vertex_count] arcs from the source to where the search stands */
};

static uint32_t entry(uint32_t node)
{
    return 2 * node;
}

static uint32_t leaving(uint32_t node)
{
    return 2 * node + 1;
}

gsrt_flow_evaluator *gsrt_flow_evaluator_create(const gsrt_flow_instance *instance)
{
    gsrt_flow_evaluator *e = calloc(1, sizeof *e);
    if (e == NULL)
        return NULL;
    uint32_t ends = instance->node_count + 2;
    size_t arcs = instance->node_count;
    for (size_t i = 0; i < (size_t)ends * ends; i++)
        arcs += instance->links[i] > 0;
    gsrt_arena_init(&e->arena, GSRT_FLOW_BYTES_MAX);
    e->instance = instance;
    e->vertex_count = 2 * ends;
    e->arcs = gsrt_arena_take(&e->arena, 2 * arcs, sizeof *e->arcs);
    e->firsts = gsrt_arena_take(&e->arena, instance->layer_count, sizeof *e->firsts);
    uint32_t **rooms[] = {&e->heads, &e->cursors, &e->levels, &e->queue, &e->path, &e->others};
    bool is_there = e->arcs != NULL && e->firsts != NULL;
    for (size_t i = 0; i < sizeof rooms / sizeof rooms[0]; i++) {
        *rooms[i] = gsrt_arena_take(&e->arena, e->vertex_count, sizeof **rooms[i]);
        is_there = is_there && *rooms[i] != NULL;
    }
    return is_there ? e : gsrt_flow_evaluator_free(e);
}

gsrt_flow_evaluator *gsrt_flow_evaluator_free(gsrt_flow_evaluator *evaluator)
{
    if (evaluator != NULL)
        gsrt_arena_fini(&evaluator->arena);
    free(evaluator);
    return NULL;
}

static void add_arc(gsrt_flow_evaluator *e, uint32_t from, uint32_t to, gsrt_flow_amount capacity)
{
    uint32_t arc = e->arc_count;
    e->arcs[arc] = (flow_arc){.capacity = capacity, .to = to, .next = e->heads[from]};
    e->arcs[arc + 1] = (flow_arc){.capacity = 0, .to = from, .next = e->heads[to]};
    e->heads[from] = arc;
    e->heads[to] = arc + 1;
    e->arc_count += 2;
}

static void add_link(gsrt_flow_evaluator *e, const gsrt_flow_hold *holds, uint32_t from, uint32_t to)
{
    gsrt_flow_amount capacity = gsrt_flow_link(e->instance, from, to);
    if (capacity > 0 && gsrt_flow_follows(e->instance, holds, from, to))
        add_arc(e, leaving(from), entry(to), capacity);
}

/* All nodes that hold something, in lists by their first layer. */
static void list_nodes(gsrt_flow_evaluator *e, const gsrt_flow_hold *holds)
{
    for (uint32_t layer = 0; layer < e->instance->layer_count; layer++)
        e->firsts[layer] = NO_ARC;
    for (uint32_t node = e->instance->node_count; node-- > 0;)
        if (holds[node].count > 0) {
            e->others[node] = e->firsts[holds[node].first];
            e->firsts[holds[node].first] = node;
        }
}

static void build(gsrt_flow_evaluator *e, const gsrt_flow_hold *holds)
{
    const gsrt_flow_instance *instance = e->instance;
    uint32_t source = gsrt_flow_source(instance);
    e->arc_count = 0;
    for (uint32_t v = 0; v < e->vertex_count; v++)
        e->heads[v] = NO_ARC;
    list_nodes(e, holds);
    for (uint32_t to = e->firsts[0]; to != NO_ARC; to = e->others[to])
        add_link(e, holds, source, to);
    for (uint32_t from = 0; from < instance->node_count; from++) {
        if (holds[from].count == 0)
            continue;
        add_arc(e, entry(from), leaving(from), gsrt_flow_throughput(instance, from, holds[from].count));
        uint32_t end = holds[from].first + holds[from].count;
        if (end == instance->layer_count)
            add_link(e, holds, from, gsrt_flow_sink(instance));
        else /* with partial inference, to those that begin earlier, too */
            for (uint32_t first = instance->is_partial ? 0 : end; first <= end; first++)
                for (uint32_t to = e->firsts[first]; to != NO_ARC; to = e->others[to])
                    add_link(e, holds, from, to);
    }
}

/* Distances from the source over what is left; false: the sink is out of reach. */
static bool find_levels(gsrt_flow_evaluator *e, uint32_t source, uint32_t sink)
{
    for (uint32_t v = 0; v < e->vertex_count; v++)
        e->levels[v] = UINT32_MAX;
    uint32_t read = 0, written = 0;
    e->levels[source] = 0;
    e->queue[written++] = source;
    while (read < written && e->levels[sink] == UINT32_MAX) {
        uint32_t v = e->queue[read++];
        for (uint32_t a = e->heads[v]; a != NO_ARC; a = e->arcs[a].next)
            if (e->arcs[a].capacity > 0 && e->levels[e->arcs[a].to] == UINT32_MAX) {
                e->levels[e->arcs[a].to] = e->levels[v] + 1;
                e->queue[written++] = e->arcs[a].to;
            }
    }
    return e->levels[sink] != UINT32_MAX;
}

/* One more path, forward by levels; what it carries, 0: there is none. */
static gsrt_flow_amount augment(gsrt_flow_evaluator *e, uint32_t source, uint32_t sink)
{
    uint32_t v = source, depth = 0;
    while (v != sink) {
        uint32_t a = e->cursors[v];
        while (a != NO_ARC && (e->arcs[a].capacity == 0 || e->levels[e->arcs[a].to] != e->levels[v] + 1))
            a = e->arcs[a].next;
        e->cursors[v] = a;
        if (a != NO_ARC) {
            e->path[depth++] = a;
            v = e->arcs[a].to;
        } else if (depth == 0) {
            return 0;
        } else { /* a dead end: the arc that led here is used up */
            a = e->path[--depth];
            v = e->arcs[a ^ 1].to;
            e->cursors[v] = e->arcs[a].next;
        }
    }
    gsrt_flow_amount amount = INT64_MAX;
    for (uint32_t i = 0; i < depth; i++)
        if (e->arcs[e->path[i]].capacity < amount)
            amount = e->arcs[e->path[i]].capacity;
    for (uint32_t i = 0; i < depth; i++) {
        e->arcs[e->path[i]].capacity -= amount;
        e->arcs[e->path[i] ^ 1].capacity += amount;
    }
    return amount;
}

gsrt_flow_amount gsrt_flow_evaluate(gsrt_flow_evaluator *evaluator, const gsrt_flow_hold *holds)
{
    uint32_t source = leaving(gsrt_flow_source(evaluator->instance)), sink = entry(gsrt_flow_sink(evaluator->instance));
    gsrt_flow_amount total = 0;
    build(evaluator, holds);
    while (find_levels(evaluator, source, sink)) {
        for (uint32_t v = 0; v < evaluator->vertex_count; v++)
            evaluator->cursors[v] = evaluator->heads[v];
        gsrt_flow_amount amount;
        while ((amount = augment(evaluator, source, sink)) > 0)
            total += amount;
    }
    return total;
}

gsrt_flow_amount gsrt_flow_routed(const gsrt_flow_evaluator *evaluator, uint32_t from, uint32_t to)
{
    for (uint32_t a = evaluator->heads[leaving(from)]; a != NO_ARC; a = evaluator->arcs[a].next)
        if ((a & 1) == 0 && evaluator->arcs[a].to == entry(to))
            return evaluator->arcs[a ^ 1].capacity;
    return 0;
}
