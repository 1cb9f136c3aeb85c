/* One replica under load: its steps, the prefill of a prompt, the rate at which requests are completed, waiting. */
#include <math.h>
#include <stdio.h>

#include "placement/cost_impl.h"

static double at_least_one(double x)
{
    return x < 1 ? 1 : x;
}

gsrt__request gsrt__request_of(const gsrt_demand *demand)
{
    double share = fmin(fmax(demand->prefix_share, 0), 1), mean = at_least_one(demand->prompt_tokens.value);
    double spread = demand->prompt_tokens.hi - demand->prompt_tokens.lo;
    return (gsrt__request){
        .prompt = at_least_one(ceil(mean * (1 - share))),
        .prompt_most = at_least_one(ceil(fmax(mean, demand->prompt_tokens.hi) * (1 - share))),
        .cached = floor(mean * share),
        .output = at_least_one(demand->output_tokens.value),
        .output_most = at_least_one(fmax(demand->output_tokens.value, demand->output_tokens.hi)),
        .variation = spread * spread / (12 * mean * mean), /* of an even spread */
        .are_equal = spread == 0 && demand->output_tokens.hi == demand->output_tokens.lo,
    };
}

double gsrt__held_most(const gsrt_deployment_pool *pool)
{
    return at_least_one((double)pool->batch_max * pool->stage_count);
}

/* ---- steps ---- */

typedef struct steps {
    gsrt__term all, slowest, transfer, busy; /* through all stages; of one of them; the busiest */
} steps;

static bool is_native(const gsrt__walk *walk)
{
    for (uint32_t i = 0; i < walk->deployment->region_count; i++) {
        if (walk->deployment->choices[i].arithmetic == GSRT_ARITHMETIC_NATIVE)
            return true;
    }
    return false;
}

static gsrt__term host_work(gsrt__walk *walk, double sequences)
{
    return gsrt__derive2(walk, GSRT__EQUATION_SUM, "host's work", gsrt__assume(walk, GSRT__ASSUMPTION_HOST_STEP),
                         gsrt__derive2(walk, GSRT__EQUATION_TIMES, "host's work on sequences",
                                       gsrt__counted(walk, "sequences of a step", sequences, GSRT__PLAIN),
                                       gsrt__assume(walk, GSRT__ASSUMPTION_HOST_SEQUENCE)));
}

double gsrt__host_s(const gsrt_cost_question *question, double sequences)
{
    gsrt__walk walk = {.question = question, .deployment = question->deployment};
    return is_native(&walk) ? host_work(&walk, sequences).quantity.value : 0;
}

static steps step_through(gsrt__walk *walk, uint32_t pool, const gsrt__step *step)
{
    const gsrt_deployment_pool *in = &walk->deployment->pools[pool];
    steps out = {0};
    for (uint32_t s = 0; s < in->stage_count; s++) {
        gsrt__stage_time time = gsrt__stage_step(walk, pool, s, step);
        gsrt__walk_at(walk, "pool %u %s: ", pool, step->name);
        if (s == 0) {
            out = (steps){time.total, time.total, time.transfer, time.busy};
            continue;
        }
        out.all = gsrt__derive2(walk, GSRT__EQUATION_SUM, "all stages", out.all, time.total);
        out.slowest = gsrt__derive2(walk, GSRT__EQUATION_LARGER, "slowest stage", out.slowest, time.total);
        out.transfer = gsrt__derive2(walk, GSRT__EQUATION_SUM, "transfers of all stages", out.transfer, time.transfer);
        out.busy = gsrt__derive2(walk, GSRT__EQUATION_LARGER, "busiest stage", out.busy, time.busy);
    }
    if (is_native(walk)) {
        gsrt__term host = host_work(walk, step->sequences);
        out.all = gsrt__derive2(walk, GSRT__EQUATION_SUM, "step and the host's work", out.all, host);
        out.slowest = gsrt__derive2(walk, GSRT__EQUATION_SUM, "slowest stage and the host's work", out.slowest, host);
    }
    return out;
}

/* ---- load ---- */

static void load_prefill(gsrt__walk *walk, uint32_t pool, const gsrt__request *request, gsrt__load *load)
{
    const gsrt_deployment_pool *in = &walk->deployment->pools[pool];
    double groups = in->stages[0].data_width > 1 ? in->stages[0].data_width : 1;
    double chunk = at_least_one(fmin(in->prefill_tokens, request->prompt)), chunks = ceil(request->prompt / chunk);
    chunk = ceil(request->prompt / chunks);
    load->chunks = chunks;
    double room = walk->question->demand->prefills_first ? in->prefill_tokens : in->prefill_tokens - load->held;
    load->together = fmin(load->held, groups * at_least_one(floor(room / request->prompt)));
    gsrt__step step = {.phase = GSRT_PHASE_PREFILL,
                       .name = "prefill",
                       .rows = chunk * groups,
                       .sequences = groups,
                       .context = request->cached + (request->prompt + 1) / 2};
    steps time = step_through(walk, pool, &step);
    const gsrt__term own[] = {time.all, time.slowest, gsrt__counted(walk, "chunks", chunks, GSRT__PLAIN)};
    load->first = gsrt__derive(walk, GSRT__EQUATION_PIPELINE_FILL, "prefill of a prompt", own);
    const gsrt__term most[] = {
        time.all, time.slowest,
        gsrt__counted(walk, "chunks of the longest", chunks * request->prompt_most / request->prompt, GSRT__PLAIN)};
    load->first_most = request->prompt_most > request->prompt
                           ? gsrt__derive(walk, GSRT__EQUATION_PIPELINE_FILL, "prefill of the longest prompt", most)
                           : load->first;
    load->service =
        gsrt__derive2(walk, GSRT__EQUATION_TIMES, "replica's time for a prompt",
                      gsrt__counted(walk, "chunks of each data group", chunks / groups, GSRT__PLAIN), time.slowest);
    load->prefill_step = time.all;
    load->busy[0] = time.busy;
    load->shared = load->service;
    /* waves fill steps, and what decode steps read of the weights is read for prompts, too */
    if (load->together <= groups || (walk->question->demand->prefills_first && !request->are_equal))
        return;
    step.name = "prefill of several";
    step.rows = request->prompt * load->together;
    step.sequences = load->together;
    load->shared = gsrt__derive2(walk, GSRT__EQUATION_QUOTIENT_TIME, "time of each prompt",
                                 step_through(walk, pool, &step).slowest,
                                 gsrt__counted(walk, "prompts of a step", load->together, GSRT__PLAIN));
}

static void load_decode(gsrt__walk *walk, uint32_t pool, const gsrt__request *request, gsrt__load *load)
{
    const gsrt_deployment_pool *in = &walk->deployment->pools[pool];
    double batch = ceil(load->held / in->stage_count), in_flight = ceil(load->held / batch);
    double drafted = in->draft_tokens;
    gsrt__step step = {.phase = GSRT_PHASE_DECODE,
                       .name = "decode",
                       .rows = batch * (1 + drafted),
                       .sequences = batch * (1 + drafted),
                       .context = request->cached + request->prompt + (request->output + 1) / 2};
    steps time = step_through(walk, pool, &step);
    gsrt__term trip = time.all;
    if (in->stage_count > 1) {
        gsrt__term turns = gsrt__derive2(walk, GSRT__EQUATION_TIMES, "steps in flight through the slowest stage",
                                         gsrt__counted(walk, "steps in flight", in_flight, GSRT__PLAIN), time.slowest);
        trip = gsrt__derive2(walk, GSRT__EQUATION_ROUND_TRIP, "between two steps of a sequence", time.all, turns);
    }
    if (drafted > 0)
        trip = gsrt__derive2(walk, GSRT__EQUATION_QUOTIENT_TIME, "time of each accepted token", trip,
                             gsrt__derive2(walk, GSRT__EQUATION_ACCEPTED, "tokens of a step",
                                           gsrt__assume(walk, GSRT__ASSUMPTION_ACCEPTANCE),
                                           gsrt__counted(walk, "drafted tokens", drafted, GSRT__PLAIN)));
    load->trip = trip;
    load->decode_step = time.all;
    load->transfer = time.transfer;
    load->busy[1] = time.busy;
}

/* How long a prompt waits for others. rate: of requests. */
static gsrt__term gathering(gsrt__walk *walk, const gsrt__load *load, gsrt__term rate)
{
    const gsrt__term inputs[] = {
        gsrt__counted(walk, "steps that prompts gather for", walk->question->demand->gather_steps, GSRT__PLAIN),
        load->trip, rate};
    return gsrt__derive(walk, GSRT__EQUATION_GATHERING, "waiting for other prompts", inputs);
}

gsrt__load gsrt__pool_load(gsrt__walk *walk, uint32_t pool, const gsrt__request *request, double held)
{
    const gsrt_deployment_pool *in = &walk->deployment->pools[pool];
    gsrt__load load = {.held_most = gsrt__held_most(in),
                       .does_prefill = (in->phases & GSRT_PHASE_PREFILL) != 0,
                       .does_decode = (in->phases & GSRT_PHASE_DECODE) != 0};
    load.held = at_least_one(ceil(fmin(held, load.held_most)));
    if (load.does_prefill)
        load_prefill(walk, pool, request, &load);
    if (load.does_decode)
        load_decode(walk, pool, request, &load);
    gsrt__walk_at(walk, "pool %u: ", pool);
    if (!load.does_decode) {
        load.rate = gsrt__derive(walk, GSRT__EQUATION_EACH, "prompts of a replica per second", &load.service);
        load.capacity = load.rate;
        return load;
    }
    gsrt__term cycle[] = {gsrt__counted(walk, "sequences under way", load.held, GSRT__PLAIN),
                          load.does_prefill ? load.service : gsrt__counted(walk, "no prefills here", 0, GSRT__SECOND),
                          gsrt__counted(walk, "tokens of a request", request->output, GSRT__PLAIN), load.trip,
                          gsrt__counted(walk, "no waiting", 0, GSRT__SECOND)};
    load.rate = gsrt__derive(walk, GSRT__EQUATION_CLOSED_RATE, "requests of a replica per second", cycle);
    if (load.does_prefill && walk->question->demand->gather_steps > 0) {
        cycle[4] = gathering(walk, &load, load.rate); /* in it nobody computes for who holds the place */
        load.rate = gsrt__derive(walk, GSRT__EQUATION_CLOSED_RATE, "requests per second, waiting included", cycle);
    }
    load.capacity = load.rate;
    return load;
}

/* ---- waiting ---- */

/* Quantiles of an exponential of mean 1, of a normal, and of an even spread. */
static const double exponential[GSRT_PERCENTILE_COUNT] = {0.693147, 2.995732, 4.605170};
static const double normal[GSRT_PERCENTILE_COUNT] = {0, 1.644854, 2.326348};
static const double even[GSRT_PERCENTILE_COUNT] = {0.5, 0.95, 0.99};

double gsrt__percentile_part(gsrt_percentile percentile)
{
    return even[percentile];
}

/* -ln(x), 0 < x <= 1: halvings, and a series of at most 1/3, the same bits everywhere. */
static double minus_ln(double x)
{
    double halvings = 0;
    for (; x < 0.5; x *= 2)
        halvings++;
    double y = (1 - x) / (1 + x), sum = 0, power = y;
    for (double i = 1; i < 32; i += 2, power *= y * y)
        sum += power / i;
    return halvings * 0.69314718055994531 + 2 * sum;
}

gsrt__level gsrt__level_of(gsrt_percentile percentile, double share)
{
    gsrt__level level = {.part = even[percentile], .exponential = exponential[percentile]};
    (void)snprintf(level.name, sizeof level.name, "%s", gsrt_percentile_word(percentile));
    if (share >= 1)
        return level;
    level.part = fmin(even[percentile] / share, 1 - 1e-12);
    level.exponential = minus_ln(1 - level.part);
    (void)snprintf(level.name, sizeof level.name, "p%.6g", 100 * level.part);
    return level;
}

static gsrt__term synchrony(gsrt__walk *walk, const gsrt__request *request)
{
    return gsrt__assume(walk, !request->are_equal                      ? GSRT__ASSUMPTION_SYNCHRONY
                              : walk->question->demand->prefills_first ? GSRT__ASSUMPTION_SYNCHRONY_FIRST
                                                                       : GSRT__ASSUMPTION_SYNCHRONY_EQUAL);
}

/* The prompts that one waits for when n come at once. A step's first tokens come at its end: those of the same step are
 * waited for, too. */
static double wave(const gsrt__load *load, double n, double percentile)
{
    return percentile * (n - 1) + (1 - percentile) * (fmin(load->together, n) - 1);
}

static gsrt__term wait_closed(gsrt__walk *walk, const gsrt__load *load, const gsrt__request *request,
                              const gsrt__level *level)
{
    gsrt__term busy =
        gsrt__derive2(walk, GSRT__EQUATION_UTILISATION, "share of time in prefills", load->rate, load->shared);
    /* a pool that only prefills is asked by all that are present */
    double competing = load->does_decode ? load->held : at_least_one(load->present);
    const gsrt__term inputs[] = {
        gsrt__counted(walk, "others that may prefill", competing - 1, GSRT__PLAIN), load->shared, busy,
        synchrony(walk, request),
        gsrt__counted(walk, "prompts before it in a wave", wave(load, competing, level->part), GSRT__PLAIN)};
    gsrt__term wait = gsrt__derive(walk, GSRT__EQUATION_BURST, "waiting for prefills of others", inputs);
    if (!load->does_decode || load->present <= load->held)
        return wait;
    gsrt__term slot = gsrt__derive2(
        walk, GSRT__EQUATION_LITTLE, "waiting for a place in the batch",
        gsrt__counted(walk, "requests without a place", load->present - load->held, GSRT__PLAIN), load->rate);
    return gsrt__derive2(walk, GSRT__EQUATION_SUM, "waiting", wait, slot);
}

static gsrt__term wait_open(gsrt__walk *walk, const gsrt__load *load, const gsrt__request *request,
                            const gsrt__level *level)
{
    gsrt__term factor = gsrt__counted(walk, "percentile over mean", level->exponential, GSRT__PLAIN);
    const gsrt__term queue[] = {load->arrival, load->service,
                                gsrt__counted(walk, "variation of prompts", request->variation, GSRT__PLAIN), factor};
    gsrt__term wait = gsrt__derive(walk, GSRT__EQUATION_QUEUE, "waiting for prefills of others", queue);
    if (!load->does_decode)
        return wait;
    gsrt__term held =
        gsrt__derive2(walk, GSRT__EQUATION_LITTLE, "time in the batch when it is full",
                      gsrt__counted(walk, "places in the batch", load->held_most, GSRT__PLAIN), load->capacity);
    const gsrt__term slots[] = {load->arrival, held,
                                gsrt__counted(walk, "places in the batch", load->held_most, GSRT__PLAIN), factor};
    return gsrt__derive2(walk, GSRT__EQUATION_SUM, "waiting", wait,
                         gsrt__derive(walk, GSRT__EQUATION_SLOT_QUEUE, "waiting for a place in the batch", slots));
}

/* A prompt that waits for others, and then for their prefills. rate: of requests. */
static gsrt__term gathered(gsrt__walk *walk, const gsrt__load *load, gsrt__term rate)
{
    gsrt__term count =
        gsrt__counted(walk, "steps that prompts gather for", walk->question->demand->gather_steps, GSRT__PLAIN);
    gsrt__term others = gsrt__derive2(
        walk, GSRT__EQUATION_SMALLER, "others that gather, in one step",
        gsrt__derive2(walk, GSRT__EQUATION_PART, "others that gather", count,
                      gsrt__derive2(walk, GSRT__EQUATION_UTILISATION, "requests of a step", rate, load->trip)),
        gsrt__counted(walk, "others that a step holds", load->together - 1, GSRT__PLAIN));
    return gsrt__derive2(
        walk, GSRT__EQUATION_SUM, "until a batch of prompts is computed", gathering(walk, load, rate),
        gsrt__derive2(walk, GSRT__EQUATION_TIMES, "prefills of those that gathered", others, load->shared));
}

gsrt__term gsrt__first_token(gsrt__walk *walk, uint32_t pool, const gsrt__load *load, const gsrt__request *request,
                             const gsrt__level *level)
{
    bool is_open = load->arrival.quantity.is_known;
    gsrt__walk_at(walk, "pool %u %s: ", pool, level->name);
    gsrt__term wait = is_open ? wait_open(walk, load, request, level) : wait_closed(walk, load, request, level);
    /* a prompt's chunks run in steps in which the others decode, or before them */
    double mixed = walk->question->demand->prefills_first ? 0 : load->chunks;
    if (load->does_decode)
        wait = gsrt__derive2(
            walk, GSRT__EQUATION_SUM, "waiting, steps of others included", wait,
            gsrt__derive2(walk, GSRT__EQUATION_TIMES, "rest of the step under way, and the chunks' steps",
                          gsrt__counted(walk, "steps of others", level->part + mixed, GSRT__PLAIN), load->trip));
    if (load->does_decode && walk->question->demand->gather_steps > 0)
        wait = gsrt__derive2(walk, GSRT__EQUATION_SUM, "waiting, other prompts included", wait,
                             gathered(walk, load, is_open ? load->arrival : load->rate));
    if (is_native(walk))
        wait = gsrt__derive2(walk, GSRT__EQUATION_SUM, "waiting, the server's work included", wait,
                             gsrt__assume(walk, GSRT__ASSUMPTION_HOST_REQUEST));
    return gsrt__derive2(walk, GSRT__EQUATION_SUM, "first token", wait,
                         level->part <= even[GSRT_PERCENTILE_50] ? load->first : load->first_most);
}

gsrt__term gsrt__each_token(gsrt__walk *walk, uint32_t pool, const gsrt__load *load, const gsrt__request *request,
                            gsrt_percentile percentile)
{
    double others = load->held - 1;
    if (!load->does_prefill)
        return load->trip;
    gsrt__walk_at(walk, "pool %u %s: ", pool, gsrt_percentile_word(percentile));
    const gsrt__term inputs[] = {
        load->trip,
        gsrt__counted(walk, "prefills of others", others + normal[percentile] * sqrt(others), GSRT__PLAIN),
        load->shared,
        gsrt__counted(walk, "tokens of a request", request->output, GSRT__PLAIN),
        synchrony(walk, request),
        gsrt__counted(walk, "prefills before it in a wave", wave(load, load->held, 0.5), GSRT__PLAIN)};
    return gsrt__derive(walk, GSRT__EQUATION_STALLED, "time of each token", inputs);
}
