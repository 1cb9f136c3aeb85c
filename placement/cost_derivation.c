/* The reasoning, step by step, and what in it matters: the graph is evaluated again with one thing moved. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "placement/cost_impl.h"

void gsrt_derivation_init(gsrt_derivation *why)
{
    *why = (gsrt_derivation){0};
    gsrt_arena_init(&why->arena, GSRT_DERIVATION_BYTES_MAX);
}

void gsrt_derivation_fini(gsrt_derivation *why)
{
    gsrt_arena_fini(&why->arena);
    free(why->nodes);
    *why = (gsrt_derivation){0};
}

void gsrt__walk_at(gsrt__walk *walk, const char *format, ...)
{
    va_list list;
    if (walk->why == NULL)
        return;
    va_start(list, format);
    (void)vsnprintf(walk->prefix, sizeof walk->prefix, format, list);
    va_end(list);
}

static uint32_t record(gsrt__walk *walk, const char *before, const char *name, const gsrt_cost_node *node)
{
    gsrt_derivation *why = walk->why;
    char full[256];
    if (walk->status != GSRT_OK)
        return GSRT_NO_INDEX;
    if (why->count == why->capacity) {
        uint32_t capacity = why->capacity == 0 ? 256 : 2 * why->capacity;
        gsrt_cost_node *nodes = realloc(why->nodes, capacity * sizeof *nodes);
        if (nodes == NULL) {
            walk->status = GSRT_ENOMEM;
            return GSRT_NO_INDEX;
        }
        why->nodes = nodes;
        why->capacity = capacity;
    }
    (void)snprintf(full, sizeof full, "%s%s", before, name);
    gsrt_cost_node *added = &why->nodes[why->count];
    *added = *node;
    added->name = gsrt_arena_copy_text(&why->arena, full, strlen(full));
    if (added->name == NULL) {
        walk->status = GSRT_ENOMEM;
        return GSRT_NO_INDEX;
    }
    return why->count++;
}

gsrt__term gsrt__derive(gsrt__walk *walk, gsrt__equation_id id, const char *name, const gsrt__term *inputs)
{
    const gsrt_equation *equation = &gsrt__equations[id];
    const gsrt_quantity *values[GSRT_EQUATION_INPUT_COUNT_MAX];
    for (uint32_t i = 0; i < equation->input_count; i++)
        values[i] = &inputs[i].quantity;
    gsrt__term term = {.quantity = gsrt__equation_result(equation, values), .node = GSRT_NO_INDEX};
    term.spread = gsrt__spread_of(walk, id, inputs, &term.quantity);
    if (walk->why == NULL)
        return term;
    gsrt_cost_node node = {.equation = equation->name, .value = term.quantity};
    for (uint32_t i = 0; i < GSRT_EQUATION_INPUT_COUNT_MAX; i++)
        node.inputs[i] = i < equation->input_count ? inputs[i].node : GSRT_NO_INDEX;
    term.node = record(walk, walk->prefix, name, &node);
    return term;
}

gsrt__term gsrt__derive2(gsrt__walk *walk, gsrt__equation_id id, const char *name, gsrt__term a, gsrt__term b)
{
    const gsrt__term inputs[] = {a, b};
    return gsrt__derive(walk, id, name, inputs);
}

static gsrt__cause cause_of_stated(gsrt_dimension dimension)
{
    if (gsrt_dimension_equal(dimension, GSRT__OP_RATE))
        return GSRT__CAUSE_STATED_RATES;
    if (gsrt_dimension_equal(dimension, GSRT__BYTE_RATE))
        return GSRT__CAUSE_STATED_BANDWIDTHS;
    return gsrt_dimension_equal(dimension, GSRT__SECOND) ? GSRT__CAUSE_STATED_TIMES : GSRT__CAUSE_STATED_REST;
}

static gsrt__term input_by(gsrt__walk *walk, gsrt__cause cause, const char *of, const char *name,
                           const gsrt_quantity *quantity)
{
    int32_t today = walk->question->today;
    gsrt__term term = {.quantity = *quantity, .node = GSRT_NO_INDEX};
    char before[128];
    if (today != 0 && !gsrt_quantity_is_valid_on(quantity, today))
        term.quantity = (gsrt_quantity){0};
    term.spread = gsrt__spread_by(walk, cause, &term.quantity);
    if (walk->why == NULL)
        return term;
    (void)snprintf(before, sizeof before, "%s%s", of == NULL ? walk->prefix : of, of == NULL ? "" : ": ");
    size_t len = strlen(before);
    for (uint32_t i = 0; i < walk->why->count; i++) {
        const gsrt_cost_node *node = &walk->why->nodes[i];
        if (node->equation == NULL && strncmp(node->name, before, len) == 0 && strcmp(node->name + len, name) == 0 &&
            node->value.value == term.quantity.value && node->value.hi == term.quantity.hi) {
            term.node = i;
            return term;
        }
    }
    gsrt_cost_node node = {.value = term.quantity};
    memset(node.inputs, 0xff, sizeof node.inputs);
    term.node = record(walk, before, name, &node);
    return term;
}

gsrt__term gsrt__input(gsrt__walk *walk, const char *of, const char *name, const gsrt_quantity *quantity)
{
    gsrt__cause cause = walk->spreads == NULL ? GSRT__CAUSE_STATED_REST : cause_of_stated(quantity->dimension);
    return input_by(walk, cause, of, name, quantity);
}

gsrt__term gsrt__counted(gsrt__walk *walk, const char *name, double value, gsrt_dimension dimension)
{
    gsrt_quantity quantity = gsrt_quantity_exact(value, dimension);
    quantity.source = GSRT_SOURCE_DERIVED;
    quantity.source_text = "counted: workload, deployment and demand";
    return gsrt__input(walk, NULL, name, &quantity);
}

gsrt__term gsrt__assume(gsrt__walk *walk, gsrt__assumption_id id)
{
    gsrt_quantity quantity = gsrt__assumed(id);
    return input_by(walk, GSRT__CAUSE_ASSUMED + (gsrt__cause)id, "assumed", gsrt__assumptions[id].name, &quantity);
}

/* ---- influence ---- */

typedef struct cone {
    const gsrt_derivation *why;
    uint8_t *is_in; /* [count] */
    double *values; /* [count] */
    uint32_t target;
} cone;

static void mark(cone *c)
{
    c->is_in[c->target] = 1;
    for (uint32_t i = c->target + 1; i-- > 0;) {
        const gsrt_cost_node *node = &c->why->nodes[i];
        for (uint32_t k = 0; c->is_in[i] && k < GSRT_EQUATION_INPUT_COUNT_MAX; k++) {
            if (node->inputs[k] != GSRT_NO_INDEX)
                c->is_in[node->inputs[k]] = 1;
        }
    }
}

/* The target's value, all inputs at theirs, but `moved` at `at`, and the results of `equation` times `factor`. */
static double evaluate(cone *c, uint32_t moved, double at, const char *equation, double factor)
{
    for (uint32_t i = 0; i <= c->target; i++) {
        const gsrt_cost_node *node = &c->why->nodes[i];
        double x[GSRT_EQUATION_INPUT_COUNT_MAX] = {0};
        if (!c->is_in[i])
            continue;
        if (node->equation == NULL) {
            c->values[i] = i == moved ? at : node->value.value;
            continue;
        }
        const gsrt_equation *used = gsrt_equation_named(node->equation);
        for (uint32_t k = 0; k < used->input_count; k++)
            x[k] = c->values[node->inputs[k]];
        c->values[i] = used->compute(x) * (equation != NULL && strcmp(equation, node->equation) == 0 ? factor : 1);
    }
    return c->values[c->target];
}

static int by_influence(const void *left, const void *right)
{
    const gsrt_influence *a = left, *b = right;
    if (a->width != b->width)
        return a->width < b->width ? 1 : -1;
    if (a->node != b->node)
        return a->node < b->node ? -1 : 1;
    return strcmp(a->equation == NULL ? "" : a->equation, b->equation == NULL ? "" : b->equation);
}

static bool is_debt(const gsrt_quantity *quantity)
{
    return !quantity->is_known || quantity->source == GSRT_SOURCE_NONE || quantity->source == GSRT_SOURCE_GUESS;
}

/* An input's or an equation's; false: it has no part in the cone. */
static bool influence_of(cone *c, uint32_t index, gsrt_influence *out)
{
    bool is_known = c->why->nodes[c->target].value.is_known;
    if (index <= c->target) {
        const gsrt_cost_node *node = &c->why->nodes[index];
        if (!c->is_in[index] || node->equation != NULL)
            return false;
        *out = (gsrt_influence){.node = index, .is_debt = is_debt(&node->value)};
        if (!node->value.is_known)
            out->width = HUGE_VAL; /* there is no result without it */
        if (is_known && node->value.lo < node->value.hi)
            out->width =
                fabs(evaluate(c, index, node->value.hi, NULL, 1) - evaluate(c, index, node->value.lo, NULL, 1));
        return true;
    }
    const gsrt_equation *equation = gsrt_equation_at(index - c->target - 1);
    bool is_used = false;
    for (uint32_t i = 0; i <= c->target && !is_used; i++)
        is_used =
            c->is_in[i] && c->why->nodes[i].equation != NULL && strcmp(c->why->nodes[i].equation, equation->name) == 0;
    if (!is_used || equation->error_lo == equation->error_hi)
        return false;
    *out = (gsrt_influence){
        .node = GSRT_NO_INDEX, .equation = equation->name, .is_debt = equation->error_source <= GSRT_SOURCE_GUESS};
    if (is_known)
        out->width = fabs(evaluate(c, GSRT_NO_INDEX, 0, equation->name, equation->error_hi) -
                          evaluate(c, GSRT_NO_INDEX, 0, equation->name, equation->error_lo));
    return true;
}

size_t gsrt_derivation_influences(const gsrt_derivation *why, uint32_t node, gsrt_influence *out, size_t room,
                                  bool *out_failed)
{
    size_t count = 0, candidates = (size_t)node + 1 + GSRT__EQUATION_COUNT;
    cone c = {why, calloc((size_t)node + 1, 1), calloc((size_t)node + 1, sizeof(double)), node};
    gsrt_influence *all = calloc(candidates, sizeof *all);
    *out_failed = c.is_in == NULL || c.values == NULL || all == NULL;
    if (!*out_failed) {
        mark(&c);
        for (uint32_t i = 0; i < candidates; i++)
            count += influence_of(&c, i, &all[count]) ? 1 : 0;
        qsort(all, count, sizeof *all, by_influence);
        if (count > 0)
            memcpy(out, all, (count < room ? count : room) * sizeof *all);
    }
    free(c.is_in);
    free(c.values);
    free(all);
    return count;
}
