/* A prediction: the pools under the demand, and every measure of the whole.
 *
 * Pools that do both phases serve whole requests; those that do one serve theirs, and what the slower kind can do is
 * what gets through. Requests are spread in proportion to what a pool can do, so that all are equally busy.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "placement/cost_impl.h"
#include "placement/workload_totals.h"

typedef struct prediction {
    gsrt__walk walk;
    gsrt__request request;
    gsrt__load *loads; /* [pool_count] */
    gsrt__term rate;   /* 1/s: requests that the whole can do */
    gsrt__term values[GSRT_MEASURE_COUNT][GSRT_PERCENTILE_COUNT];
    double activity; /* share of the time in which the whole is busy */
} prediction;

static bool does(const gsrt_deployment_pool *pool, gsrt_phase phase)
{
    return (pool->phases & phase) != 0;
}

static double replicas_that(const gsrt_deployment *d, gsrt_phase phase)
{
    double count = 0;
    for (uint32_t p = 0; p < d->pool_count; p++)
        count += does(&d->pools[p], phase) ? (double)d->pools[p].replica_count : 0;
    return count;
}

/* ---- rates ---- */

static void add_rate(gsrt__walk *walk, gsrt__term *sum, bool *is_set, gsrt__term rate)
{
    *sum = *is_set ? gsrt__derive2(walk, GSRT__EQUATION_SUM, "requests per second of these pools", *sum, rate) : rate;
    *is_set = true;
}

static gsrt__term whole_rate(prediction *p)
{
    const gsrt_deployment *d = p->walk.deployment;
    gsrt__term both = {0}, prefill = {0}, decode = {0};
    bool has_both = false, has_prefill = false, has_decode = false;
    gsrt_quantity unknown = {0};
    for (uint32_t i = 0; i < d->pool_count; i++) {
        gsrt__walk_at(&p->walk, "pool %u: ", i);
        gsrt__term rate = gsrt__derive2(
            &p->walk, GSRT__EQUATION_RATES, "requests per second",
            gsrt__counted(&p->walk, "replicas", (double)d->pools[i].replica_count, GSRT__PLAIN), p->loads[i].rate);
        if (p->loads[i].does_prefill && p->loads[i].does_decode)
            add_rate(&p->walk, &both, &has_both, rate);
        else if (p->loads[i].does_prefill)
            add_rate(&p->walk, &prefill, &has_prefill, rate);
        else
            add_rate(&p->walk, &decode, &has_decode, rate);
    }
    gsrt__walk_at(&p->walk, "%s", "");
    if (has_prefill && has_decode) {
        gsrt__term chain =
            gsrt__derive2(&p->walk, GSRT__EQUATION_SMALLER, "what both phases get through", prefill, decode);
        add_rate(&p->walk, &both, &has_both, chain);
    }
    return has_both ? both : gsrt__input(&p->walk, NULL, "a phase that no pool does", &unknown);
}

/* held_share: of what each replica holds at most. */
static void load_pools(prediction *p, double held_share, double held_at_most)
{
    const gsrt_deployment *d = p->walk.deployment;
    for (uint32_t i = 0; i < d->pool_count; i++)
        p->loads[i] =
            gsrt__pool_load(&p->walk, i, &p->request, fmin(held_at_most, held_share * gsrt__held_most(&d->pools[i])));
}

/* The same with batches as full as `activity` makes them; what it could do when full is remembered. */
static void load_partly(prediction *p)
{
    for (uint32_t i = 0; i < p->walk.deployment->pool_count; i++) {
        gsrt__term capacity = p->loads[i].capacity;
        p->loads[i] =
            gsrt__pool_load(&p->walk, i, &p->request, p->activity * gsrt__held_most(&p->walk.deployment->pools[i]));
        p->loads[i].capacity = capacity;
    }
}

/* ---- between pools ---- */

/* The KV of a prompt, from where it was made to where it is used; each member of a stage sends its part. */
static gsrt__term move_state(prediction *p, uint32_t from_pool, uint32_t to_pool)
{
    const gsrt_deployment *d = p->walk.deployment;
    const gsrt_deployment_stage *from = &d->pools[from_pool].stages[0], *to = &d->pools[to_pool].stages[0];
    double positions = p->request.cached + p->request.prompt;
    double bytes = (double)gsrt_workload_state_bytes(p->walk.workload, (uint32_t)fmin(positions, GSRT_CONTEXT_MAX));
    double senders = gsrt_deployment_stage_width(from);
    gsrt__reach reach = gsrt__reach_between(&p->walk, from->members[0].part, from->members[0].instance_first,
                                            to->members[0].part, to->members[0].instance_first, (uint64_t)senders);
    const gsrt__term inputs[] = {gsrt__counted(&p->walk, "messages", 1, GSRT__PLAIN), reach.latency,
                                 gsrt__counted(&p->walk, "KV of a prompt, of each member",
                                               bytes / (senders * d->pools[from_pool].stage_count), GSRT__BYTE),
                                 reach.bandwidth, gsrt__assume(&p->walk, GSRT__ASSUMPTION_LINK_SHARE)};
    return gsrt__derive(&p->walk, GSRT__EQUATION_SEND, "KV from pool to pool", inputs);
}

/* ---- latencies ---- */

static void worst(prediction *p, gsrt_measure measure, gsrt_percentile percentile, bool *is_set, gsrt__term term)
{
    gsrt__term *value = &p->values[measure][percentile];
    *value = is_set[percentile] ? gsrt__derive2(&p->walk, GSRT__EQUATION_LARGER, "slowest pool", *value, term) : term;
    is_set[percentile] = true;
}

static uint32_t pool_that_only_decodes(const prediction *p)
{
    uint32_t i = 0;
    while (i < p->walk.deployment->pool_count && (p->loads[i].does_prefill || !p->loads[i].does_decode))
        i++;
    return i;
}

static void latencies(prediction *p, gsrt__term arrival, double present)
{
    gsrt__walk *walk = &p->walk;
    const gsrt_deployment *d = walk->deployment;
    bool has_first[GSRT_PERCENTILE_COUNT] = {0}, has_each[GSRT_PERCENTILE_COUNT] = {0};
    uint32_t decoder = pool_that_only_decodes(p);
    for (uint32_t i = 0; i < d->pool_count; i++) {
        const gsrt__load *load = &p->loads[i];
        gsrt__term own = arrival;
        if (arrival.quantity.is_known) {
            /* as busy as the whole: this replica's part of the traffic */
            gsrt__walk_at(walk, "pool %u: ", i);
            own = gsrt__derive2(
                walk, GSRT__EQUATION_RATES, "requests that arrive at a replica",
                gsrt__derive2(walk, GSRT__EQUATION_BUSY, "traffic over what the whole can do", arrival, p->rate),
                load->capacity);
        }
        gsrt__waiting waiting = gsrt__wait(walk, i, load, &p->request, own, present);
        bool hands_over = load->does_prefill && !load->does_decode && decoder < d->pool_count;
        for (gsrt_percentile k = 0; k < GSRT_PERCENTILE_COUNT; k++) {
            gsrt__walk_at(walk, "%s: ", gsrt_percentile_word(k));
            if (load->does_prefill)
                worst(p, GSRT_MEASURE_TTFT, k, has_first,
                      hands_over ? gsrt__derive2(walk, GSRT__EQUATION_SUM, "first token, KV handed over",
                                                 waiting.ttft[k], move_state(p, i, decoder))
                                 : waiting.ttft[k]);
            if (load->does_decode)
                worst(p, GSRT_MEASURE_TPOT, k, has_each, waiting.tpot[k]);
        }
    }
    for (gsrt_percentile k = 0; k < GSRT_PERCENTILE_COUNT; k++) {
        gsrt__walk_at(walk, "%s: ", gsrt_percentile_word(k));
        double tokens = k == GSRT_PERCENTILE_50 ? p->request.output : p->request.output_most;
        const gsrt__term inputs[] = {p->values[GSRT_MEASURE_TTFT][k], p->values[GSRT_MEASURE_TPOT][k],
                                     gsrt__counted(walk, "tokens of a request", tokens, GSRT__PLAIN)};
        p->values[GSRT_MEASURE_LATENCY][k] = gsrt__derive(walk, GSRT__EQUATION_LATENCY, "to the last token", inputs);
    }
}

/* ---- demand ---- */

static void for_all_percentiles(prediction *p, gsrt_measure measure, gsrt__term term)
{
    for (gsrt_percentile k = 0; k < GSRT_PERCENTILE_COUNT; k++)
        p->values[measure][k] = term;
}

/* Open: the batches fill as the traffic demands. */
static gsrt__term serve_open(prediction *p)
{
    gsrt__walk *walk = &p->walk;
    gsrt__term arrival = gsrt__input(walk, "demand", "arrival", &walk->question->demand->arrival);
    load_pools(p, 1, INFINITY);
    p->rate = whole_rate(p);
    if (p->rate.quantity.is_known)
        p->activity = fmin(1, arrival.quantity.value / p->rate.quantity.value);
    if (p->activity < 1)
        load_partly(p);
    latencies(p, arrival, 0);
    return gsrt__derive2(walk, GSRT__EQUATION_SMALLER, "requests served per second", arrival, p->rate);
}

/* Closed: as many requests as there are, or as the batches hold. */
static gsrt__term serve_closed(prediction *p)
{
    const gsrt_deployment *d = p->walk.deployment;
    double concurrency = p->walk.question->demand->concurrency, decoders = replicas_that(d, GSRT_PHASE_DECODE);
    gsrt__term nobody = {.node = GSRT_NO_INDEX};
    load_pools(p, 1, concurrency == 0 ? INFINITY : ceil(concurrency / fmax(1, decoders)));
    p->rate = whole_rate(p);
    for (uint32_t i = 0; concurrency == 0 && i < d->pool_count; i++)
        concurrency += p->loads[i].does_decode ? gsrt__held_most(&d->pools[i]) * (double)d->pools[i].replica_count : 0;
    latencies(p, nobody, concurrency / fmax(1, replicas_that(d, GSRT_PHASE_PREFILL)));
    return p->rate;
}

static void serve(prediction *p)
{
    gsrt__walk *walk = &p->walk;
    gsrt_quantity tokens = gsrt_quantity_exact(p->request.output, GSRT__TOKEN);
    tokens.source = GSRT_SOURCE_DECLARED;
    p->activity = 1;
    gsrt__term done = walk->question->demand->arrival.is_known ? serve_open(p) : serve_closed(p);
    gsrt__walk_at(walk, "%s", "");
    gsrt__term throughput = gsrt__derive2(walk, GSRT__EQUATION_TOKENS, "tokens per second", done,
                                          gsrt__input(walk, "demand", "output_tokens", &tokens));
    gsrt__term power, energy, cost, mttf;
    gsrt__upkeep(walk, p->loads, p->activity, throughput, &power, &energy, &cost, &mttf);
    for_all_percentiles(p, GSRT_MEASURE_THROUGHPUT, throughput);
    for_all_percentiles(p, GSRT_MEASURE_POWER, power);
    for_all_percentiles(p, GSRT_MEASURE_ENERGY, energy);
    for_all_percentiles(p, GSRT_MEASURE_COST, cost);
    for_all_percentiles(p, GSRT_MEASURE_MTTF, mttf);
}

/* ---- memory ---- */

static uint32_t entry_count(const gsrt_deployment *d)
{
    uint32_t count = 0;
    for (uint32_t p = 0; p < d->pool_count; p++) {
        for (uint32_t s = 0; s < d->pools[p].stage_count; s++)
            count += d->pools[p].stages[s].member_count;
    }
    return count;
}

/* How full the memory of an entry is; what several of its engines share, they fill together. */
static gsrt__term fill_level(prediction *p, const gsrt_cost_memory *memory)
{
    gsrt__walk *walk = &p->walk;
    const gsrt_deployment_members *members =
        &walk->deployment->pools[memory->pool].stages[memory->stage].members[memory->member];
    double sharers = fmin((double)walk->profile->engines[members->part].sharers, members->instance_count);
    gsrt__walk_at(walk, "pool %u stage %u member %u: ", memory->pool, memory->stage, memory->member);
    double scale = fmax(1, sharers);
    gsrt__term weights = gsrt__counted(walk, "weights", memory->weights.value * scale, GSRT__BYTE);
    gsrt__term state = gsrt__counted(walk, "KV", memory->state.value * scale, GSRT__BYTE);
    gsrt__term buffers = gsrt__counted(walk, "buffers", memory->buffers.value * scale, GSRT__BYTE);
    gsrt__term all = gsrt__derive2(walk, GSRT__EQUATION_SUM, "weights and KV", weights, state);
    all = gsrt__derive2(walk, GSRT__EQUATION_SUM, "memory needed", all, buffers);
    return gsrt__derive2(
        walk, GSRT__EQUATION_FILL_LEVEL, "fill level of the memory", all,
        gsrt__input(walk, walk->fleet->parts[members->part].name, "memory capacity", &memory->capacity));
}

static gsrt_status remember(prediction *p, gsrt_cost *out)
{
    const gsrt_deployment *d = p->walk.deployment;
    gsrt_cost_memory *memories = calloc(entry_count(d) + 1, sizeof *memories);
    gsrt__term fullest = {0};
    uint32_t used = 0;
    if (memories == NULL)
        return GSRT_ENOMEM;
    for (uint32_t i = 0; i < d->pool_count; i++) {
        for (uint32_t s = 0; s < d->pools[i].stage_count; s++) {
            for (uint32_t m = 0; m < d->pools[i].stages[s].member_count; m++, used++) {
                gsrt__stage_memory(&p->walk, i, s, m, &memories[used]);
                gsrt__term level = fill_level(p, &memories[used]);
                fullest = used == 0 ? level
                                    : gsrt__derive2(&p->walk, GSRT__EQUATION_LARGER, "fullest memory", fullest, level);
            }
        }
    }
    for (uint32_t i = 0; i < used; i++) {
        if (memories[i].far != GSRT_FLEET_NONE)
            fullest = gsrt__derive2(&p->walk, GSRT__EQUATION_LARGER, "fullest memory", fullest,
                                    gsrt__offload_fill(&p->walk, memories, used, &memories[i]));
    }
    for_all_percentiles(p, GSRT_MEASURE_MEMORY, fullest);
    out->memories = memories;
    out->memory_count = used;
    return GSRT_OK;
}

/* ---- the whole ---- */

static void slowest_steps(prediction *p, gsrt_cost *out)
{
    const gsrt__load *decode = NULL, *prefill = NULL;
    for (uint32_t i = 0; i < p->walk.deployment->pool_count; i++) {
        const gsrt__load *load = &p->loads[i];
        if (load->does_decode &&
            (decode == NULL || load->decode_step.quantity.value > decode->decode_step.quantity.value))
            decode = load;
        if (load->does_prefill &&
            (prefill == NULL || load->prefill_step.quantity.value > prefill->prefill_step.quantity.value))
            prefill = load;
    }
    if (prefill != NULL)
        out->prefill_step = prefill->prefill_step.quantity;
    if (decode == NULL)
        return;
    gsrt__walk_at(&p->walk, "%s", "");
    out->decode_step = decode->decode_step.quantity;
    out->transfer_share = gsrt__derive2(&p->walk, GSRT__EQUATION_RATIO, "share of a decode step on links",
                                        decode->transfer, decode->decode_step)
                              .quantity;
}

/* A percentile is at least every lower one, so both ends of its interval are at least that one's. Squares of what
 * causes do need not be: where several causes can do no more, a larger value leaves them less. */
static void raise_percentiles(prediction *p, gsrt_measure measure)
{
    for (gsrt_percentile k = 1; k < GSRT_PERCENTILE_COUNT; k++) {
        const gsrt_quantity *lower = &p->values[measure][k - 1].quantity;
        gsrt_quantity *own = &p->values[measure][k].quantity;
        if (!lower->is_known || !own->is_known)
            continue;
        own->lo = fmax(own->lo, lower->lo);
        own->hi = fmax(own->hi, lower->hi);
        if (p->walk.why != NULL && p->walk.status == GSRT_OK)
            p->walk.why->nodes[p->values[measure][k].node].value = *own;
    }
}

static void give(const prediction *p, gsrt_cost *out)
{
    for (gsrt_measure m = 0; m < GSRT_MEASURE_COUNT; m++) {
        for (gsrt_percentile k = 0; k < GSRT_PERCENTILE_COUNT; k++) {
            out->values[m][k] = p->values[m][k].quantity;
            out->nodes[m][k] = p->walk.why == NULL ? GSRT_NO_INDEX : p->values[m][k].node;
        }
    }
}

static gsrt_status predict(const gsrt_cost_question *question, const gsrt_cost_profile *profile, gsrt_derivation *why,
                           gsrt_cost *out)
{
    prediction p = {.walk = {.question = question,
                             .profile = profile,
                             .workload = question->workload,
                             .fleet = question->fleet,
                             .deployment = question->deployment,
                             .why = why},
                    .request = gsrt__request_of(question->demand)};
    gsrt_arena spreads;
    p.loads = calloc(question->deployment->pool_count + 1, sizeof *p.loads);
    if (p.loads == NULL)
        return GSRT_ENOMEM;
    gsrt_arena_init(&spreads, GSRT_DERIVATION_BYTES_MAX);
    p.walk.spreads = question->is_plain ? NULL : &spreads;
    serve(&p);
    gsrt_status status = remember(&p, out);
    slowest_steps(&p, out);
    for (gsrt_measure m = 0; m <= GSRT_MEASURE_LATENCY; m++)
        raise_percentiles(&p, m);
    give(&p, out);
    gsrt_arena_fini(&spreads);
    free(p.loads);
    return status == GSRT_OK ? p.walk.status : status;
}

gsrt_status gsrt_cost_predict(const gsrt_cost_question *question, gsrt_derivation *why, gsrt_cost *out)
{
    gsrt_cost_profile *own = NULL;
    gsrt_cost cost = {0};
    if (question->profile == NULL)
        own = gsrt_cost_profile_create(question->workload, question->fleet);
    const gsrt_cost_profile *profile = question->profile != NULL ? question->profile : own;
    gsrt_status status = profile == NULL ? GSRT_ENOMEM : predict(question, profile, why, &cost);
    (void)gsrt_cost_profile_free(own);
    if (status == GSRT_OK)
        *out = cost;
    else
        gsrt_cost_fini(&cost);
    return status;
}

void gsrt_cost_fini(gsrt_cost *cost)
{
    free(cost->memories);
    *cost = (gsrt_cost){0};
}
