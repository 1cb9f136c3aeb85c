/* What no deployment of the space can exceed, by the same cost model. The proofs are in docs/planning.md, "Search and
 * bounds"; in short:
 *
 * One token needs work of several categories (products with matrices, attention; of its own step and, in proportion, of
 * the prompt's). Engine i alone would take t[k][i] for all of category k: at least operations / rate, at least bytes /
 * bandwidth, weights shared by the largest batch that all memories together could hold. A deployment divides the work
 * among engines, and an engine does one thing after the other. So for any prices y[k] >= 0 of the categories with sum
 * 1, each engine earns at most v[i] = max over k of y[k] / t[k][i] a second, and one token is worth 1: the throughput
 * is at most the sum of v[i] (linear programming's weak duality). The best of several prices is taken.
 */
#include "placement/search_impl.h"

#include <math.h>
#include <string.h>

/* Of decode steps, then of prefills. Experts apart from other matrices: the model adds their times. */
enum {
    MATRICES = GSRT__BOUND_MATRICES,
    EXPERTS = GSRT__BOUND_EXPERTS,
    ATTENTION = GSRT__BOUND_ATTENTION,
    STREAM = GSRT__BOUND_STREAM,
    DECODE_COUNT = GSRT__BOUND_CATEGORIES,
    CATEGORY_COUNT = 2 * DECODE_COUNT
};

/* Seconds of one engine of each class for all of a category. */
typedef struct work_times {
    double (*seconds)[CATEGORY_COUNT]; /* [class_count]; 0: nothing of it */
    bool *is_usable;                   /* [class_count] */
} work_times;

double gsrt__rate(const gsrt__search *s, uint32_t class, uint32_t numeric, gsrt_rate_class work)
{
    return s->numerics[numeric].rates[(size_t) class * GSRT_CLASS_COUNT + work];
}

/* The fastest format that is computed in: no slower than each. */
static double fastest(const gsrt__search *s, uint32_t class, uint32_t formats, gsrt_rate_class work)
{
    double best = 0;
    for (uint32_t f = 0; f < GSRT_FORMAT_COUNT; f++) {
        if ((formats >> f & 1) == 0)
            continue;
        gsrt_quantity rate = gsrt_cost_rate(&s->fleet, s->classes[class].part, work, (gsrt_format)f, s->problem->mode);
        best = rate.is_known && rate.value > best ? rate.value : best;
    }
    return best;
}

gsrt_status gsrt__rates_find(gsrt__search *s)
{
    for (uint32_t n = 0; n < s->numeric_count; n++) {
        gsrt__numeric *numeric = &s->numerics[n];
        numeric->rates = gsrt_arena_take(&s->arena, (size_t)s->class_count * GSRT_CLASS_COUNT, sizeof(double));
        if (numeric->rates == NULL)
            return GSRT_ENOMEM;
        for (uint32_t c = 0; c < s->class_count; c++) {
            double *to = &numeric->rates[(size_t)c * GSRT_CLASS_COUNT];
            to[GSRT_CLASS_MATMUL] = fastest(s, c, numeric->matrix_formats, GSRT_CLASS_MATMUL);
            to[GSRT_CLASS_ATTENTION] = fastest(s, c, numeric->attention_formats, GSRT_CLASS_ATTENTION);
        }
    }
    return GSRT_OK;
}

double gsrt__rows_most(const gsrt__search *s)
{
    return s->problem->is_for_execution ? 1 : 1 + (double)s->problem->demand.draft_tokens;
}

/* Rows of a step of as many sequences as all memories together could keep, were the weights there once. */
static double batch_at_most(const gsrt__search *s, const gsrt__numeric *n)
{
    double room = -gsrt__weight_bytes(&n->output), each = 0; /* the table of embed may be the same as the output's */
    for (uint32_t l = 0; l < s->layer_count; l++) {
        room -= gsrt__weight_bytes(&n->layers[l]);
        each += n->layers[l].state_bytes * gsrt__state_positions(&n->layers[l], s->context_max);
    }
    for (uint32_t c = 0; c < s->class_count; c++)
        if (s->classes[c].barred == NULL)
            room += s->classes[c].capacity * (double)s->classes[c].total;
    room += gsrt__tiers_together(s);
    double batch = each > 0 ? room / each * gsrt__rows_most(s) : UINT32_MAX;
    return batch < 1 ? 1 : batch > UINT32_MAX ? UINT32_MAX : batch;
}

/* Operations and bytes of the categories, for one token whose step has `rows` rows. */
static void decode_amounts(const gsrt__search *s, const gsrt__layer_work *w, double rows, double *operations,
                           double *bytes)
{
    const gsrt_demand *demand = &s->problem->demand;
    double seen = gsrt__state_positions(w, demand->prompt_tokens.value + demand->output_tokens.value / 2);
    operations[MATRICES] += 2 * w->matrix_elements;
    bytes[MATRICES] += w->matrix_bytes / rows;
    operations[EXPERTS] += 2 * w->chosen_count * w->expert_elements;
    bytes[EXPERTS] += (gsrt__weight_bytes_read(w, rows) - w->matrix_bytes) / rows;
    operations[ATTENTION] += 2 * w->score_elements * seen;
    bytes[ATTENTION] += w->state_bytes * seen;
    bytes[STREAM] += w->elementwise_elements * w->activation_bytes;
}

/* Of so many tokens of prompts. */
static void prefill_amounts(const gsrt__search *s, const gsrt__layer_work *w, double prompts, double *operations,
                            double *bytes)
{
    double seen = gsrt__state_positions(w, s->problem->demand.prompt_tokens.value / 2);
    operations[MATRICES] += 2 * w->matrix_elements * prompts;
    operations[EXPERTS] += 2 * w->chosen_count * w->expert_elements * prompts;
    operations[ATTENTION] += 2 * w->prefill_score_elements * seen * prompts;
    bytes[STREAM] += w->elementwise_elements * w->activation_bytes * prompts;
}

static double bandwidth_of(const gsrt__search *s, uint32_t class)
{
    gsrt_quantity stated = gsrt_cost_bandwidth(s->profile, s->classes[class].part, s->problem->mode);
    return stated.is_known ? stated.value : 0;
}

static double seconds_of(const gsrt__search *s, uint32_t numeric, uint32_t class, uint32_t category, double operations,
                         double bytes, double bandwidth)
{
    gsrt_rate_class work = category == ATTENTION ? GSRT_CLASS_ATTENTION : GSRT_CLASS_MATMUL;
    return fmax(operations / gsrt__rate(s, class, numeric, work), bytes / bandwidth);
}

void gsrt__bound_seconds(const gsrt__search *s, uint32_t numeric, uint32_t class, const gsrt__layer_work *work,
                         double rows, double out[GSRT__BOUND_CATEGORIES])
{
    double operations[DECODE_COUNT] = {0}, bytes[DECODE_COUNT] = {0};
    if (rows > 0)
        decode_amounts(s, work, rows, operations, bytes);
    else
        prefill_amounts(s, work, 1, operations, bytes);
    for (uint32_t k = 0; k < DECODE_COUNT; k++)
        out[k] = seconds_of(s, numeric, class, k, operations[k], bytes[k], bandwidth_of(s, class));
}

/* Times of every class for `tokens` tokens of decode steps of `rows` rows, and `prompts` tokens of prompts. */
static void times_of(const gsrt__search *s, uint32_t numeric, double rows, double tokens, double prompts,
                     work_times *out)
{
    const gsrt__numeric *n = &s->numerics[numeric];
    double operations[CATEGORY_COUNT] = {0}, bytes[CATEGORY_COUNT] = {0};
    for (uint32_t l = 0; l < s->layer_count; l++) {
        decode_amounts(s, &n->layers[l], rows, operations, bytes);
        prefill_amounts(s, &n->layers[l], prompts, &operations[DECODE_COUNT], &bytes[DECODE_COUNT]);
    }
    decode_amounts(s, &n->output, rows, operations, bytes);
    for (uint32_t c = 0; c < s->class_count; c++) {
        double rate = gsrt__rate(s, c, numeric, GSRT_CLASS_MATMUL);
        double attention = gsrt__rate(s, c, numeric, GSRT_CLASS_ATTENTION);
        double bandwidth = bandwidth_of(s, c);
        out->is_usable[c] = s->classes[c].barred == NULL && gsrt__incapable(s, c, numeric) == NULL && bandwidth > 0 &&
                            rate > 0 && attention > 0;
        for (uint32_t k = 0; out->is_usable[c] && k < CATEGORY_COUNT; k++)
            out->seconds[c][k] = (k < DECODE_COUNT ? tokens : 1) *
                                 seconds_of(s, numeric, c, k % DECODE_COUNT, operations[k], bytes[k], bandwidth);
    }
}

/* What an engine earns a second at these prices. */
static double earned(const double prices[CATEGORY_COUNT], const double seconds[CATEGORY_COUNT])
{
    double most = 0;
    for (uint32_t k = 0; k < CATEGORY_COUNT; k++)
        if (prices[k] > 0 && prices[k] > most * seconds[k])
            most = seconds[k] > 0 ? prices[k] / seconds[k] : 0; /* what takes no time has no price */
    return most;
}

/* Prices in proportion to what an engine needs: exact where all engines are alike. */
static bool prices_of(const double seconds[CATEGORY_COUNT], double out[CATEGORY_COUNT])
{
    double sum = 0;
    for (uint32_t k = 0; k < CATEGORY_COUNT; k++)
        sum += seconds[k];
    for (uint32_t k = 0; k < CATEGORY_COUNT; k++)
        out[k] = sum > 0 ? seconds[k] / sum : 0;
    return sum > 0;
}

/* Units of work a second of all engines together, at most. weight: NULL; or what each engine costs a second, and then
 * the most units per cost. */
static double rate_at_most(const gsrt__search *s, const work_times *times, const double *weight)
{
    double least = HUGE_VAL;
    for (uint32_t p = 0; p < s->class_count; p++) {
        double prices[CATEGORY_COUNT], sum = 0, best = 0;
        if (!times->is_usable[p] || !prices_of(times->seconds[p], prices))
            continue;
        for (uint32_t c = 0; c < s->class_count; c++) {
            if (!times->is_usable[c] || (weight != NULL && weight[c] < 0))
                continue;
            double v = earned(prices, times->seconds[c]);
            sum += v * (double)s->classes[c].total;
            if (weight != NULL && v > best * weight[c])
                best = weight[c] > 0 ? v / weight[c] : HUGE_VAL;
        }
        double bound = weight == NULL ? sum : best;
        least = bound < least ? bound : least;
    }
    return least == HUGE_VAL ? 0 : least;
}

/* ---- measure by measure ---- */

typedef struct bound {
    double value;
    const char *reason;
} bound;

static double prompts_per_token(const gsrt_demand *demand)
{
    return demand->prompt_tokens.value * (1 - demand->prefix_share) / demand->output_tokens.value;
}

static const char by_stages[] =
    "all engines in groups that exchange, launch and keep in memory what the cost model says";

static bound throughput_bound(gsrt__search *s, uint32_t numeric, work_times *times, gsrt_status *status)
{
    const gsrt_demand *demand = &s->problem->demand;
    times_of(s, numeric, batch_at_most(s, &s->numerics[numeric]), 1, prompts_per_token(demand), times);
    bound b = {rate_at_most(s, times, NULL),
               "all engines at the rates of the cost model, weights shared by the largest "
               "batch that the memories hold, no time for links"};
    double wanted = demand->arrival.is_known ? demand->arrival.value * demand->output_tokens.value : HUGE_VAL, stages;
    *status = gsrt__bound_by_stages(s, numeric, NULL, &stages);
    if (stages < b.value)
        b = (bound){stages, by_stages};
    if (wanted < b.value)
        b = (bound){wanted, "the tokens that are asked for"};
    return b;
}

/* Seconds of one request at least: of its first token, and of each later one. */
static bound latency_bound(gsrt__search *s, uint32_t numeric, work_times *times, gsrt_measure measure,
                           gsrt_status *status)
{
    const gsrt_demand *demand = &s->problem->demand;
    double first = 0, later = 0, decode = 0, prefill = 0;
    *status = gsrt__bound_of_steps(s, numeric, &decode, &prefill);
    const char *reason = "one request alone on all engines at once, no time for links";
    if (measure != GSRT_MEASURE_TPOT) {
        times_of(s, numeric, 1, 0, demand->prompt_tokens.lo * (1 - demand->prefix_share), times);
        double rate = rate_at_most(s, times, NULL);
        first = fmax(rate > 0 ? 1 / rate : 0, prefill);
    }
    if (measure != GSRT_MEASURE_TTFT) {
        times_of(s, numeric, 1, 1, 0, times);
        double rate = rate_at_most(s, times, NULL);
        later = rate > 0 ? 1 / rate : HUGE_VAL;
        if (decode > later) {
            later = decode;
            reason = "each layer in the group that is fastest for one row";
        }
        later = later / gsrt__rows_most(s) * (measure == GSRT_MEASURE_TPOT ? 1 : demand->output_tokens.value - 1);
    }
    return (bound){first + later, reason};
}

static bound per_token_bound(gsrt__search *s, uint32_t numeric, work_times *times, double *weight, gsrt_status *status)
{
    const gsrt_demand *demand = &s->problem->demand;
    bool is_cost = s->problem->objective.measure == GSRT_MEASURE_COST;
    for (uint32_t c = 0; c < s->class_count; c++) {
        const gsrt_quantity *idle = &s->fleet.parts[s->classes[c].part].power_idle;
        weight[c] = is_cost ? s->classes[c].price : idle->is_known ? idle->value : -1;
    }
    times_of(s, numeric, batch_at_most(s, &s->numerics[numeric]), 1, prompts_per_token(demand), times);
    double rate = rate_at_most(s, times, weight), stages;
    *status = gsrt__bound_by_stages(s, numeric, weight, &stages);
    if (stages > 0 && stages < rate)
        return (bound){1 / stages, by_stages};
    return (bound){rate > 0 ? 1 / rate : 0,
                   is_cost ? "the engine that does most for its price, always busy, no time for links"
                           : "the engine that does most for its idle power, always busy"};
}

static bound bound_of(gsrt__search *s, uint32_t numeric, work_times *times, double *weight, gsrt_status *status)
{
    gsrt_measure measure = s->problem->objective.measure;
    switch (measure) {
    case GSRT_MEASURE_THROUGHPUT: return throughput_bound(s, numeric, times, status);
    case GSRT_MEASURE_TTFT:
    case GSRT_MEASURE_TPOT:
    case GSRT_MEASURE_LATENCY: return latency_bound(s, numeric, times, measure, status);
    case GSRT_MEASURE_COST:
    case GSRT_MEASURE_ENERGY: return per_token_bound(s, numeric, times, weight, status);
    case GSRT_MEASURE_MTTF: return (bound){HUGE_VAL, "none is known for this measure"};
    case GSRT_MEASURE_POWER:
    case GSRT_MEASURE_MEMORY:
    case GSRT_MEASURE_COUNT: break;
    }
    return (bound){0, "none is known for this measure, but that it is not negative"};
}

gsrt_status gsrt__bound(gsrt__search *s, double *out_value, const char **out_reason)
{
    work_times times = {.seconds = gsrt_arena_take(&s->arena, s->class_count, sizeof *times.seconds),
                        .is_usable = gsrt_arena_take(&s->arena, s->class_count, sizeof *times.is_usable)};
    double *weight = gsrt_arena_take(&s->arena, s->class_count, sizeof *weight);
    if (times.seconds == NULL || times.is_usable == NULL || weight == NULL)
        return GSRT_ENOMEM;
    bool is_maximised = gsrt_measure_is_maximised(s->problem->objective.measure), has_one = false;
    for (uint32_t n = 0; n < s->numeric_count; n++) {
        if (s->numerics[n].is_refused)
            continue;
        gsrt_status status = GSRT_OK;
        bound b = bound_of(s, n, &times, weight, &status);
        if (status != GSRT_OK)
            return status;
        if (!has_one || (is_maximised ? b.value > *out_value : b.value < *out_value)) {
            *out_value = b.value;
            *out_reason = b.reason;
        }
        has_one = true;
    }
    return GSRT_OK;
}
