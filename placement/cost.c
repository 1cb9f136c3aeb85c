/* A prediction: the pools under the demand, and every measure of the whole.
 *
 * Pools that do both phases serve whole requests; those that do one serve theirs, and what the slower kind can do is
 * what gets through. Requests are spread in proportion to what a pool can do, so that all are equally busy; where it
 * matters how far they go, so among the pools that are equally far (a circle), and nearer ones are filled first.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "placement/cost_impl.h"
#include "placement/workload_totals.h"

/* How busy nearer pools are made with requests that arrive, while others have room. */
#define NEAR_BUSY_MOST 0.8

/* Pools that are equally far, and what goes there. */
typedef struct circle {
    gsrt__term rate;    /* 1/s: requests that they can do, with as many as they hold */
    gsrt__term arrival; /* 1/s: those that arrive there; unknown: closed */
    double share;       /* of all requests */
} circle;

typedef struct prediction {
    gsrt__walk walk;
    gsrt__request request;
    gsrt__load *loads;     /* [pool_count] */
    gsrt__route *routes;   /* [pool_count] */
    circle *circles;       /* [circle_count] */
    double *rooms, *taken; /* [circle_count]: how much each has room for, and takes */
    uint32_t circle_count;
    gsrt__term rate; /* 1/s: requests that the whole can do */
    gsrt__term values[GSRT_MEASURE_COUNT][GSRT_PERCENTILE_COUNT];
} prediction;

static bool does(const gsrt_deployment_pool *pool, gsrt_phase phase)
{
    return (pool->phases & phase) != 0;
}

static double replicas_that(const prediction *p, gsrt_phase phase, uint32_t in)
{
    const gsrt_deployment *d = p->walk.deployment;
    double count = 0;
    for (uint32_t i = 0; i < d->pool_count; i++)
        count += p->routes[i].circle == in && does(&d->pools[i], phase) ? (double)d->pools[i].replica_count : 0;
    return count;
}

/* ---- rates ---- */

static void add_rate(gsrt__walk *walk, gsrt__term *sum, bool *is_set, gsrt__term rate)
{
    *sum = *is_set ? gsrt__derive2(walk, GSRT__EQUATION_SUM, "requests per second of these pools", *sum, rate) : rate;
    *is_set = true;
}

static gsrt__term rate_of_circle(prediction *p, uint32_t in)
{
    const gsrt_deployment *d = p->walk.deployment;
    gsrt__term both = {0}, prefill = {0}, decode = {0};
    bool has_both = false, has_prefill = false, has_decode = false;
    gsrt_quantity unknown = {0};
    for (uint32_t i = 0; i < d->pool_count; i++) {
        if (p->routes[i].circle != in)
            continue;
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

/* What circles can do; the whole: all of them, or those that take anything. */
static void add_circles(prediction *p, bool all)
{
    bool is_set = false;
    for (uint32_t c = 0; c < p->circle_count; c++) {
        p->circles[c].rate = rate_of_circle(p, c);
        if (all || p->taken[c] > 0 || (c + 1 == p->circle_count && !is_set))
            add_rate(&p->walk, &p->rate, &is_set, p->circles[c].rate);
    }
}

/* The pools of a circle, each replica with at most so many requests. */
static void load_circle(prediction *p, uint32_t in, double held_at_most, double activity)
{
    const gsrt_deployment *d = p->walk.deployment;
    for (uint32_t i = 0; i < d->pool_count; i++) {
        if (p->routes[i].circle != in)
            continue;
        p->loads[i] = gsrt__pool_load(&p->walk, i, &p->request, fmin(held_at_most, gsrt__held_most(&d->pools[i])));
        p->loads[i].activity = activity;
    }
}

/* The same with batches as full as `activity` makes them; what it could do when full is remembered. */
static void load_partly(prediction *p, uint32_t in, double activity)
{
    const gsrt_deployment *d = p->walk.deployment;
    for (uint32_t i = 0; i < d->pool_count; i++) {
        gsrt__term capacity = p->loads[i].capacity;
        if (p->routes[i].circle != in)
            continue;
        p->loads[i] = gsrt__pool_load(&p->walk, i, &p->request, activity * gsrt__held_most(&d->pools[i]));
        p->loads[i].activity = activity;
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

/* Open: each replica is as busy as its circle. */
static void let_arrive(prediction *p)
{
    for (uint32_t i = 0; i < p->walk.deployment->pool_count; i++) {
        const circle *c = &p->circles[p->routes[i].circle];
        gsrt__walk_at(&p->walk, "pool %u: ", i);
        p->loads[i].arrival = gsrt__derive2(
            &p->walk, GSRT__EQUATION_RATES, "requests that arrive at a replica",
            gsrt__derive2(&p->walk, GSRT__EQUATION_BUSY, "traffic over what the whole can do", c->arrival, c->rate),
            p->loads[i].capacity);
    }
}

static uint32_t pool_that_only_decodes(const prediction *p, uint32_t in)
{
    uint32_t i = 0;
    while (i < p->walk.deployment->pool_count &&
           (p->routes[i].circle != in || p->loads[i].does_prefill || !p->loads[i].does_decode))
        i++;
    return i;
}

/* From where requests come, through a pool that prefills, to where they wait for the token. */
static gsrt__term first_token(prediction *p, uint32_t pool, const gsrt__level *level)
{
    const gsrt__route *route = &p->routes[pool];
    uint32_t decoder = pool_that_only_decodes(p, route->circle);
    gsrt__term term = gsrt__first_token(&p->walk, pool, &p->loads[pool], &p->request, level);
    gsrt__walk_at(&p->walk, "%s: ", level->name);
    if (!p->loads[pool].does_decode && decoder < p->walk.deployment->pool_count)
        term = gsrt__derive2(&p->walk, GSRT__EQUATION_SUM, "first token, KV handed over", term,
                             move_state(p, pool, decoder));
    return route->is_away
               ? gsrt__derive2(&p->walk, GSRT__EQUATION_SUM, "first token, the way included", term, route->more)
               : term;
}

static void add_slowest(gsrt__walk *walk, gsrt__term *sum, bool *is_set, gsrt__term term)
{
    *sum = *is_set ? gsrt__derive2(walk, GSRT__EQUATION_LARGER, "slowest pool", *sum, term) : term;
    *is_set = true;
}

/* The slowest pool of the nearest circles, up to `last`. */
static gsrt__term first_token_within(prediction *p, uint32_t last, const gsrt__level *level)
{
    gsrt__term slowest = {.node = GSRT_NO_INDEX};
    bool is_set = false;
    for (uint32_t i = 0; i < p->walk.deployment->pool_count; i++) {
        uint32_t in = p->routes[i].circle;
        if (in <= last && p->circles[in].share > 0 && p->loads[i].does_prefill)
            add_slowest(&p->walk, &slowest, &is_set, first_token(p, i, level));
    }
    return slowest;
}

/* No more than so many requests are slower. Those who go to the nearest circles may make up that part by themselves, at
 * a higher percentile of theirs; whatever number of circles tells the least is right, and what is farther has no say in
 * it. */
static gsrt__term first_token_of_all(prediction *p, gsrt_percentile percentile)
{
    gsrt__term least = {.node = GSRT_NO_INDEX};
    bool is_set = false;
    double within = 0;
    uint32_t last = p->circle_count;
    while (last > 1 && !(p->circles[last - 1].share > 0))
        last--;
    for (uint32_t c = 0; c < last; c++) {
        within = c + 1 == last ? 1 : within + p->circles[c].share;
        if (!(within > gsrt__percentile_part(percentile)))
            continue;
        const gsrt__level level = gsrt__level_of(percentile, within);
        gsrt__term term = first_token_within(p, c, &level);
        gsrt__walk_at(&p->walk, "%s: ", gsrt_percentile_word(percentile));
        least =
            is_set ? gsrt__derive2(&p->walk, GSRT__EQUATION_SMALLER, "nearer pools alone, or all", least, term) : term;
        is_set = true;
    }
    return least;
}

static gsrt__term each_token_of_all(prediction *p, gsrt_percentile percentile)
{
    gsrt__term slowest = {.node = GSRT_NO_INDEX};
    bool is_set = false;
    for (uint32_t i = 0; i < p->walk.deployment->pool_count; i++) {
        if (!(p->circles[p->routes[i].circle].share > 0) || !p->loads[i].does_decode)
            continue;
        gsrt__term term = gsrt__each_token(&p->walk, i, &p->loads[i], &p->request, percentile);
        gsrt__walk_at(&p->walk, "%s: ", gsrt_percentile_word(percentile));
        add_slowest(&p->walk, &slowest, &is_set, term);
    }
    return slowest;
}

static void latencies(prediction *p)
{
    for (gsrt_percentile k = 0; k < GSRT_PERCENTILE_COUNT; k++) {
        double tokens = k == GSRT_PERCENTILE_50 ? p->request.output : p->request.output_most;
        gsrt__term first = first_token_of_all(p, k), each = each_token_of_all(p, k);
        gsrt__walk_at(&p->walk, "%s: ", gsrt_percentile_word(k));
        const gsrt__term inputs[] = {first, each, gsrt__counted(&p->walk, "tokens of a request", tokens, GSRT__PLAIN)};
        p->values[GSRT_MEASURE_TTFT][k] = first;
        p->values[GSRT_MEASURE_TPOT][k] = each;
        p->values[GSRT_MEASURE_LATENCY][k] =
            gsrt__derive(&p->walk, GSRT__EQUATION_LATENCY, "to the last token", inputs);
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
    for (uint32_t c = 0; c < p->circle_count; c++)
        load_circle(p, c, INFINITY, 1);
    add_circles(p, true);
    for (uint32_t c = 0; c < p->circle_count; c++)
        p->rooms[c] = p->circles[c].rate.quantity.value;
    gsrt__fill_circles(arrival.quantity.value, NEAR_BUSY_MOST, p->rooms, p->taken, p->circle_count);
    for (uint32_t c = 0; c < p->circle_count; c++) {
        circle *to = &p->circles[c];
        to->share = p->taken[c] / arrival.quantity.value;
        to->arrival =
            p->circle_count == 1
                ? arrival
                : gsrt__derive2(walk, GSRT__EQUATION_RATES, "requests that go there",
                                gsrt__counted(walk, "share of the requests", to->share, GSRT__PLAIN), arrival);
        double activity = to->rate.quantity.is_known ? fmin(1, p->taken[c] / p->rooms[c]) : 1;
        if (activity < 1)
            load_partly(p, c, activity);
    }
    let_arrive(p);
    latencies(p);
    return gsrt__derive2(walk, GSRT__EQUATION_SMALLER, "requests served per second", arrival, p->rate);
}

/* The least time in the system of a request that waits for nobody, in the steps that there are. */
static gsrt__term time_alone(prediction *p)
{
    gsrt__walk *walk = &p->walk;
    gsrt__term first = {.node = GSRT_NO_INDEX}, each = first;
    bool has_first = false, has_each = false;
    for (uint32_t i = 0; i < walk->deployment->pool_count; i++) {
        const gsrt__load *load = &p->loads[i];
        if (!(p->circles[p->routes[i].circle].share > 0))
            continue;
        if (load->does_prefill)
            first = has_first ? gsrt__derive2(walk, GSRT__EQUATION_SMALLER, "fastest prefill", first, load->first)
                              : load->first;
        has_first = has_first || load->does_prefill;
        if (load->does_decode)
            each =
                has_each ? gsrt__derive2(walk, GSRT__EQUATION_SMALLER, "fastest decode", each, load->trip) : load->trip;
        has_each = has_each || load->does_decode;
    }
    const gsrt__term inputs[] = {first, each,
                                 gsrt__counted(walk, "tokens of a request", p->request.output, GSRT__PLAIN)};
    return gsrt__derive(walk, GSRT__EQUATION_LATENCY, "time of a request that waits for nobody", inputs);
}

/* Little's law: so many requests are there, so no more are served than that over the time of each. */
static void serve_those_present(prediction *p, double concurrency)
{
    gsrt__walk *walk = &p->walk;
    gsrt__walk_at(walk, "%s", "");
    p->rate = gsrt__derive2(walk, GSRT__EQUATION_SMALLER, "requests per second, of those that are there", p->rate,
                            gsrt__derive2(walk, GSRT__EQUATION_RATES, "requests that are there, each alone",
                                          gsrt__counted(walk, "requests that are there", concurrency, GSRT__PLAIN),
                                          gsrt__derive(walk, GSRT__EQUATION_EACH, "requests of one that is alone",
                                                       (const gsrt__term[]){time_alone(p)})));
}

/* Requests per second of the pools of a phase. */
static double rate_of_those(const prediction *p, bool does_decode)
{
    double sum = 0;
    for (uint32_t i = 0; i < p->walk.deployment->pool_count; i++) {
        if (does_decode ? p->loads[i].does_decode : p->loads[i].does_prefill)
            sum += p->loads[i].rate.quantity.value * (double)p->walk.deployment->pools[i].replica_count;
    }
    return sum;
}

/* Little's law again, of prefill and decode apart: what pools do not hold waits between them. Where decode is slower,
 * that is after the first token. */
static void wait_between(prediction *p, double concurrency)
{
    gsrt__walk *walk = &p->walk;
    bool is_apart = false;
    for (uint32_t i = 0; i < walk->deployment->pool_count; i++)
        is_apart = is_apart || !p->loads[i].does_decode;
    if (!is_apart)
        return;
    gsrt__walk_at(walk, "%s", "");
    gsrt__term there = gsrt__derive2(walk, GSRT__EQUATION_LITTLE, "time in the system",
                                     gsrt__counted(walk, "requests that are there", concurrency, GSRT__PLAIN), p->rate);
    gsrt__term each = gsrt__derive2(walk, GSRT__EQUATION_QUOTIENT_TIME, "time in the system, of each token", there,
                                    gsrt__counted(walk, "tokens of a request", p->request.output, GSRT__PLAIN));
    bool is_after = rate_of_those(p, true) < rate_of_those(p, false);
    for (gsrt_percentile k = 0; k < GSRT_PERCENTILE_COUNT; k++) {
        p->values[GSRT_MEASURE_LATENCY][k] =
            gsrt__derive2(walk, GSRT__EQUATION_LARGER, "to the last token, waiting between pools included",
                          p->values[GSRT_MEASURE_LATENCY][k], there);
        if (is_after)
            p->values[GSRT_MEASURE_TPOT][k] =
                gsrt__derive2(walk, GSRT__EQUATION_LARGER, "each token, waiting for a place to decode included",
                              p->values[GSRT_MEASURE_TPOT][k], each);
    }
}

/* Closed: as many requests as there are, or as the batches hold. */
static gsrt__term serve_closed(prediction *p)
{
    const gsrt_deployment *d = p->walk.deployment;
    double concurrency = p->walk.question->demand->concurrency;
    for (uint32_t i = 0; i < d->pool_count; i++)
        p->rooms[p->routes[i].circle] += does(&d->pools[i], GSRT_PHASE_DECODE)
                                             ? gsrt__held_most(&d->pools[i]) * (double)d->pools[i].replica_count
                                             : 0;
    double all = 0, rate = 0;
    for (uint32_t c = 0; c < p->circle_count; c++)
        all += p->rooms[c];
    gsrt__fill_circles(concurrency == 0 ? all : concurrency, 1, p->rooms, p->taken, p->circle_count);
    for (uint32_t c = 0; c < p->circle_count; c++) {
        double decoders = fmax(1, replicas_that(p, GSRT_PHASE_DECODE, c));
        load_circle(p, c, concurrency == 0 ? INFINITY : ceil(p->taken[c] / decoders), p->taken[c] > 0 ? 1 : 0);
    }
    for (uint32_t i = 0; i < d->pool_count; i++) {
        uint32_t c = p->routes[i].circle;
        p->loads[i].present = p->taken[c] / fmax(1, replicas_that(p, GSRT_PHASE_PREFILL, c));
    }
    add_circles(p, false);
    for (uint32_t c = 0; c < p->circle_count; c++)
        rate += p->taken[c] > 0 ? p->circles[c].rate.quantity.value : 0;
    for (uint32_t c = 0; c < p->circle_count; c++)
        p->circles[c].share = p->circle_count == 1          ? 1
                              : p->taken[c] > 0 && rate > 0 ? p->circles[c].rate.quantity.value / rate
                                                            : 0;
    if (concurrency > 0)
        serve_those_present(p, concurrency);
    latencies(p);
    if (concurrency > 0)
        wait_between(p, concurrency);
    return p->rate;
}

static void serve(prediction *p)
{
    gsrt__walk *walk = &p->walk;
    gsrt_quantity tokens = gsrt_quantity_exact(p->request.output, GSRT__TOKEN);
    tokens.source = GSRT_SOURCE_DECLARED;
    p->circle_count = gsrt__routes_of(walk, p->routes);
    gsrt__term done = walk->question->demand->arrival.is_known ? serve_open(p) : serve_closed(p);
    gsrt__walk_at(walk, "%s", "");
    gsrt__term throughput = gsrt__derive2(walk, GSRT__EQUATION_TOKENS, "tokens per second", done,
                                          gsrt__input(walk, "demand", "output_tokens", &tokens));
    gsrt__term power, energy, cost, mttf;
    gsrt__upkeep(walk, p->loads, throughput, &power, &energy, &cost, &mttf);
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

/* Of the requests that pass a pool's circle, those that pass the pool: what it can do of what all that do the same can.
 */
static double share_of_pool(const prediction *p, uint32_t pool)
{
    const gsrt_deployment *d = p->walk.deployment;
    double both = 0, one[2] = {0, 0}, own = 0; /* that only prefill; that only decode */
    for (uint32_t i = 0; i < d->pool_count; i++) {
        const gsrt__load *load = &p->loads[i];
        double rate = (double)d->pools[i].replica_count * load->capacity.quantity.value;
        if (p->routes[i].circle != p->routes[pool].circle)
            continue;
        own = i == pool ? rate : own;
        *(load->does_prefill && load->does_decode ? &both : &one[load->does_prefill ? 0 : 1]) += rate;
    }
    const gsrt__load *load = &p->loads[pool];
    double apart = fmin(one[0], one[1]), all = both + apart;
    double same = load->does_prefill && load->does_decode ? 1 : apart / one[load->does_prefill ? 0 : 1];
    return own > 0 && all > 0 ? p->circles[p->routes[pool].circle].share * own * same / all : 0;
}

static gsrt_status give_routes(const prediction *p, gsrt_cost *out)
{
    uint32_t count = p->walk.deployment->pool_count;
    if (p->walk.question->demand->origin == NULL)
        return GSRT_OK;
    out->routes = calloc(count + 1, sizeof *out->routes);
    for (uint32_t i = 0; i < count && out->routes != NULL; i++) {
        const gsrt__route *route = &p->routes[i];
        out->routes[i] =
            (gsrt_cost_route){route->region, route->is_away, share_of_pool(p, i),
                              route->is_away ? route->more.quantity : gsrt_quantity_exact(0, GSRT__SECOND)};
    }
    return out->routes == NULL ? GSRT_ENOMEM : GSRT_OK;
}

static bool take_room(prediction *p)
{
    size_t count = (size_t)p->walk.deployment->pool_count + 1;
    p->loads = calloc(count, sizeof *p->loads);
    p->routes = calloc(count, sizeof *p->routes);
    p->circles = calloc(count, sizeof *p->circles);
    p->rooms = calloc(2 * count, sizeof *p->rooms);
    p->taken = p->rooms == NULL ? NULL : p->rooms + count;
    return p->loads != NULL && p->routes != NULL && p->circles != NULL && p->rooms != NULL;
}

static void give_room_back(prediction *p)
{
    free(p->rooms);
    free(p->circles);
    free(p->routes);
    free(p->loads);
}

static gsrt_status predict_into(prediction *p, gsrt_cost *out)
{
    serve(p);
    gsrt_status status = remember(p, out);
    slowest_steps(p, out);
    for (gsrt_measure m = 0; m <= GSRT_MEASURE_LATENCY; m++)
        raise_percentiles(p, m);
    give(p, out);
    if (status == GSRT_OK)
        status = give_routes(p, out);
    return status == GSRT_OK ? p->walk.status : status;
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
                    .request = gsrt__request_of(question->demand),
                    .rate = {.node = GSRT_NO_INDEX}};
    gsrt_arena spreads;
    gsrt_arena_init(&spreads, GSRT_DERIVATION_BYTES_MAX);
    p.walk.spreads = question->is_plain ? NULL : &spreads;
    gsrt_status status = take_room(&p) ? predict_into(&p, out) : GSRT_ENOMEM;
    give_room_back(&p);
    gsrt_arena_fini(&spreads);
    return status;
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
    free(cost->routes);
    free(cost->memories);
    *cost = (gsrt_cost){0};
}
