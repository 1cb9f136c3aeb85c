#include "placement/flow_bound.h"

#include "placement/flow_knapsack.h"

#include <string.h>

/* Prices come from the linear program over contents of layers: y[C] layers have content C, a set of nodes with so many
 * layers each whose throughputs sum to at least F. A node that holds k layers is 1 / k used by each of them:
 *
 *     max sum y[C]   where   sum over C of (1 / k_i in C) * y[C] <= 1 for each node i,   y >= 0
 *
 * Below layer_count, F cannot be reached; and the dual values are prices that prove it. Contents are generated: the
 * knapsack finds the one with the most throughput V for an average layer's price. Either V is below the best bound, and
 * is the new one; or the content belongs into the program. F is always the best bound, so that what was generated stays
 * valid. Nodes that are alike share a row. Source: Gilmore and Gomory 1961; smoothing as Wentges 1997. */

static const double TOLERANCE = 1e-9;

typedef struct price_program {
    gsrt_arena arena;
    const gsrt_flow_instance *instance;
    gsrt_flow_knapsack knapsack;
    uint32_t *rows;   /* [node_count] the row of each node */
    uint32_t *sizes;  /* [row_count] nodes of it */
    uint32_t *counts; /* [node_count] a content */
    uint32_t *prices; /* [node_count] in whole numbers */
    uint32_t row_count;
    double *inverse;      /* [row_count][row_count] of the basis */
    double *values;       /* [row_count] of the basic columns */
    double *costs;        /* [row_count] 1 of a content, 0 of a slack */
    double *duals;        /* [row_count] */
    double *column, *way; /* [row_count] what enters, and in terms of the basis */
    double *best, *mixed; /* [row_count] prices: of the best bound; to be tried */
    gsrt_flow_amount bound;
} price_program;

static bool is_alike(const price_program *p, uint32_t i, uint32_t j)
{
    uint32_t layers = p->instance->nodes[i].layers_max;
    return layers == p->instance->nodes[j].layers_max && memcmp(p->knapsack.throughput[i], p->knapsack.throughput[j],
                                                                ((size_t)layers + 1) * sizeof(gsrt_flow_amount)) == 0;
}

static void find_rows(price_program *p)
{
    for (uint32_t i = 0; i < p->instance->node_count; i++) {
        uint32_t j = 0;
        while (j < i && !is_alike(p, i, j))
            j += 1;
        p->rows[i] = j < i ? p->rows[j] : p->row_count++;
        p->sizes[p->rows[i]] += 1;
    }
}

/* All slack; prices: what each node brings at most, all layers together. */
static void start(price_program *p)
{
    for (uint32_t r = 0; r < p->row_count; r++) {
        p->inverse[(size_t)r * p->row_count + r] = 1.0;
        p->values[r] = (double)p->sizes[r];
    }
    for (uint32_t i = 0; i < p->instance->node_count; i++)
        for (uint32_t k = 1; k <= p->instance->nodes[i].layers_max; k++) {
            double brought = (double)k * gsrt_flow_token_s(p->knapsack.throughput[i][k]);
            if (brought > p->best[p->rows[i]])
                p->best[p->rows[i]] = brought;
        }
}

static gsrt_status init(price_program *p, const gsrt_flow_instance *instance)
{
    uint32_t n = instance->node_count;
    *p = (price_program){.instance = instance, .bound = INT64_MAX};
    gsrt_status status = gsrt_flow_knapsack_init(&p->knapsack, instance);
    if (status != GSRT_OK)
        return status;
    gsrt_arena_init(&p->arena, GSRT_FLOW_BYTES_MAX);
    uint32_t **whole[] = {&p->rows, &p->sizes, &p->counts, &p->prices};
    bool is_there = true;
    for (size_t i = 0; i < sizeof whole / sizeof whole[0]; i++) {
        *whole[i] = gsrt_arena_take(&p->arena, n, sizeof **whole[i]);
        is_there = is_there && *whole[i] != NULL;
    }
    if (is_there)
        find_rows(p);
    double **real[] = {&p->values, &p->costs, &p->duals, &p->column, &p->way, &p->best, &p->mixed};
    for (size_t i = 0; i < sizeof real / sizeof real[0]; i++) {
        *real[i] = gsrt_arena_take(&p->arena, p->row_count, sizeof **real[i]);
        is_there = is_there && *real[i] != NULL;
    }
    p->inverse = gsrt_arena_take(&p->arena, (size_t)p->row_count * p->row_count, sizeof *p->inverse);
    if (!is_there || p->inverse == NULL)
        return GSRT_ENOMEM;
    start(p);
    return GSRT_OK;
}

static void fini(price_program *p)
{
    gsrt_flow_knapsack_fini(&p->knapsack);
    gsrt_arena_fini(&p->arena);
}

static double weight(const price_program *p, const double *prices)
{
    double sum = 0.0;
    for (uint32_t r = 0; r < p->row_count; r++)
        sum += (double)p->sizes[r] * prices[r];
    return sum;
}

/* Prices to try: between the duals and the best so far (share 1: the duals). Then the knapsack; out_amount: V. */
static gsrt_flow_amount try_prices(price_program *p, double share)
{
    double ours = weight(p, p->duals), theirs = weight(p, p->best), unit = 0.0;
    if (!(ours > 0.0))
        share = 0.0;
    for (uint32_t r = 0; r < p->row_count; r++)
        p->mixed[r] = (share > 0.0 ? share * p->duals[r] / ours : 0.0) + (1.0 - share) * p->best[r] / theirs;
    unit = (double)GSRT_FLOW_PRICE_MAX * (double)p->instance->layer_count;
    uint64_t sum = 0;
    for (uint32_t i = 0; i < p->instance->node_count; i++) {
        double price = p->mixed[p->rows[i]] * unit;
        p->prices[i] = price > 0.0 ? (uint32_t)price : 0;
        sum += p->prices[i];
    }
    return gsrt_flow_knapsack_solve(&p->knapsack, p->prices, (uint32_t)(sum / p->instance->layer_count), p->counts);
}

static double reduced_cost(price_program *p)
{
    memset(p->column, 0, p->row_count * sizeof *p->column);
    for (uint32_t i = 0; i < p->instance->node_count; i++)
        if (p->counts[i] > 0)
            p->column[p->rows[i]] += 1.0 / (double)p->counts[i];
    double cost = 1.0;
    for (uint32_t r = 0; r < p->row_count; r++)
        cost -= p->duals[r] * p->column[r];
    return cost;
}

/* The column enters the basis. False: numbers have become too bad. */
static bool pivot(price_program *p)
{
    uint32_t m = p->row_count, leaving = m;
    for (uint32_t r = 0; r < m; r++) {
        p->way[r] = 0.0;
        for (uint32_t c = 0; c < m; c++)
            p->way[r] += p->inverse[(size_t)r * m + c] * p->column[c];
        if (p->way[r] > TOLERANCE && (leaving == m || p->values[r] * p->way[leaving] < p->values[leaving] * p->way[r]))
            leaving = r;
    }
    if (leaving == m)
        return false;
    double step = p->values[leaving] / p->way[leaving];
    for (uint32_t c = 0; c < m; c++)
        p->inverse[(size_t)leaving * m + c] /= p->way[leaving];
    for (uint32_t r = 0; r < m; r++) {
        if (r == leaving)
            continue;
        p->values[r] -= step * p->way[r];
        for (uint32_t c = 0; c < m; c++)
            p->inverse[(size_t)r * m + c] -= p->way[r] * p->inverse[(size_t)leaving * m + c];
    }
    p->values[leaving] = step;
    p->costs[leaving] = 1.0;
    for (uint32_t c = 0; c < m; c++) {
        p->duals[c] = 0.0;
        for (uint32_t r = 0; r < m; r++)
            p->duals[c] += p->costs[r] * p->inverse[(size_t)r * m + c];
        if (p->duals[c] < 0.0)
            p->duals[c] = 0.0;
    }
    return true;
}

static gsrt_flow_amount with_links(const price_program *p, gsrt_flow_amount bound)
{
    return bound < p->knapsack.link_bound ? bound : p->knapsack.link_bound;
}

gsrt_status gsrt_flow_bound_find(const gsrt_flow_instance *instance, uint32_t step_count_max, uint32_t *out_prices,
                                 gsrt_flow_amount *out_bound)
{
    price_program p;
    gsrt_status status = init(&p, instance);
    double share = 0.5;
    memset(out_prices, 0, instance->node_count * sizeof *out_prices);
    if (status == GSRT_OK && !(weight(&p, p.best) > 0.0))
        p.bound = 0; /* no node brings anything */
    for (uint32_t step = 0; status == GSRT_OK && p.bound > 0 && step < step_count_max; step++) {
        gsrt_flow_amount amount = try_prices(&p, share);
        if (amount < p.bound) {
            p.bound = amount;
            memcpy(p.best, p.mixed, p.row_count * sizeof *p.best);
            memcpy(out_prices, p.prices, instance->node_count * sizeof *out_prices);
        }
        if (reduced_cost(&p) > TOLERANCE) {
            double layers = 0.0;
            if (!pivot(&p))
                break;
            for (uint32_t r = 0; r < p.row_count; r++)
                layers += p.costs[r] * p.values[r];
            if (layers >= (double)instance->layer_count)
                break; /* as far as the program sees, the bound can be reached */
            share = 0.5;
        } else if (share < 1.0) {
            share = 1.0;
        } else {
            break;
        }
    }
    if (status == GSRT_OK)
        *out_bound = with_links(&p, p.bound);
    fini(&p);
    return status;
}

gsrt_status gsrt_flow_bound_of_prices(const gsrt_flow_instance *instance, const uint32_t *prices,
                                      gsrt_flow_amount *out_bound)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < instance->node_count; i++)
        sum += prices[i];
    if (sum / instance->layer_count > GSRT_FLOW_PRICE_MAX)
        return GSRT_EINVAL;
    price_program p;
    gsrt_status status = init(&p, instance);
    if (status == GSRT_OK)
        *out_bound = with_links(
            &p, gsrt_flow_knapsack_solve(&p.knapsack, prices, (uint32_t)(sum / instance->layer_count), p.counts));
    fini(&p);
    return status;
}

gsrt_flow_amount gsrt_flow_capacity_bound(const gsrt_flow_instance *instance)
{
    gsrt_flow_amount sum = 0;
    for (uint32_t i = 0; i < instance->node_count; i++) {
        gsrt_flow_amount most = 0;
        for (uint32_t k = 1; k <= instance->nodes[i].layers_max; k++) {
            gsrt_flow_amount all = gsrt_flow_throughput(instance, i, k) * k;
            gsrt_flow_amount brought = (all + instance->layer_count - 1) / instance->layer_count;
            if (brought > most)
                most = brought;
        }
        sum += most;
    }
    return sum;
}
