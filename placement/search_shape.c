/* Replicas of one class of engines: how many stages of how many, how the layers are cut, which batch; and the climb
 * that all policies share: one knob after the other, as long as something gets better.
 */
#include "placement/search_impl.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* ---- cutting the layers ---- */

/* Seconds of one layer on one engine at so many rows, links left out: enough to cut by. */
static double layer_seconds(const gsrt__search *s, uint32_t numeric, uint32_t class, const gsrt__layer_work *w,
                            double rows)
{
    double rate = gsrt__rate(s, class, numeric, GSRT_CLASS_MATMUL);
    double bandwidth = s->classes[class].bandwidth;
    const gsrt_demand *demand = &s->problem->demand;
    double context = demand->prompt_tokens.value + demand->output_tokens.value / 2;
    double seen = gsrt__state_positions(w, context);
    double by_rate = rate > 0 ? 2 * rows * (gsrt__row_elements(w) + w->score_elements * seen) / rate : HUGE_VAL;
    double bytes = gsrt__weight_bytes_read(w, rows) + rows * w->state_bytes * seen;
    double by_bytes = bandwidth > 0 ? bytes / bandwidth : HUGE_VAL;
    return by_rate > by_bytes ? by_rate : by_bytes;
}

/* Sums over the layers before l, of one class; [layer_count + 1]. */
static double *sums_of(gsrt__search *s, gsrt_arena *arena, uint32_t numeric, uint32_t class, double rows)
{
    double *sums = gsrt_arena_take(arena, (size_t)s->layer_count + 1, sizeof *sums);
    for (uint32_t l = 0; sums != NULL && l < s->layer_count; l++)
        sums[l + 1] = sums[l] + layer_seconds(s, numeric, class, &s->numerics[numeric].layers[l], rows);
    return sums;
}

/* Bytes of the layers before l, with the state of `sequences`; [layer_count + 1]. */
static double *bytes_of(gsrt__search *s, gsrt_arena *arena, uint32_t numeric, double sequences)
{
    double *sums = gsrt_arena_take(arena, (size_t)s->layer_count + 1, sizeof *sums);
    for (uint32_t l = 0; sums != NULL && l < s->layer_count; l++) {
        const gsrt__layer_work *w = &s->numerics[numeric].layers[l];
        sums[l + 1] =
            sums[l] + gsrt__weight_bytes(w) + sequences * w->state_bytes * gsrt__state_positions(w, s->context_max);
    }
    return sums;
}

/* The best cut of all layers over `slots` in their order, each slot a run (empty ones are dropped): dynamic programming
 * over (slots, layers), O(slots * layers^2). is_sum: the sum of the stages' times is made small, else the longest.
 * out_last [slot_count + 1]: slot i has the layers [out_last[i], out_last[i + 1]). false: the memories do not hold it.
 */
bool gsrt__cut_layers(gsrt__search *s, uint32_t numeric, const gsrt__slot *slots, uint32_t slot_count, double rows,
                      bool is_sum, uint32_t *out_last)
{
    uint32_t n = s->layer_count;
    gsrt_arena arena;
    gsrt_arena_init(&arena, GSRT_DEPLOYMENT_BYTES_MAX);
    double *best = gsrt_arena_take(&arena, ((size_t)slot_count + 1) * (n + 1), sizeof *best);
    uint32_t *from = gsrt_arena_take(&arena, ((size_t)slot_count + 1) * (n + 1), sizeof *from);
    double *bytes = bytes_of(s, &arena, numeric, rows * slot_count);
    bool is_possible = best != NULL && from != NULL && bytes != NULL;
    double *sums = NULL;
    for (uint32_t l = 1; is_possible && l <= n; l++)
        best[l] = HUGE_VAL;
    for (uint32_t i = 0; is_possible && i < slot_count; i++) {
        const gsrt__slot *slot = &slots[i];
        const double *before = &best[(size_t)i * (n + 1)];
        double *now = &best[((size_t)i + 1) * (n + 1)];
        if (i == 0 || slot->class != slots[i - 1].class)
            sums = sums_of(s, &arena, numeric, slot->class, rows);
        if (sums == NULL) {
            is_possible = false;
            break;
        }
        double output = layer_seconds(s, numeric, slot->class, &s->numerics[numeric].output, rows);
        double embed_bytes = gsrt__weight_bytes(&s->numerics[numeric].embed);
        double output_bytes = gsrt__weight_bytes(&s->numerics[numeric].output);
        for (uint32_t l = 0; l <= n; l++) {
            uint32_t *choice = &from[((size_t)i + 1) * (n + 1) + l];
            now[l] = before[l];
            *choice = l;
            for (uint32_t k = l; k-- > 0;) {
                double held = bytes[l] - bytes[k] + (k == 0 ? embed_bytes : 0) + (l == n ? output_bytes : 0);
                if (held > slot->capacity)
                    break; /* more layers hold more */
                double seconds = (sums[l] - sums[k] + (l == n ? output : 0)) / slot->speed + slot->extra_seconds;
                if (seconds >= now[l])
                    break; /* nor are they faster */
                double total = is_sum ? before[k] + seconds : before[k] > seconds ? before[k] : seconds;
                if (total < now[l]) {
                    now[l] = total;
                    *choice = k;
                }
            }
        }
    }
    is_possible = is_possible && best[(size_t)slot_count * (n + 1) + n] < HUGE_VAL;
    for (uint32_t i = slot_count, l = n; is_possible; i--) {
        out_last[i] = l;
        if (i == 0)
            break;
        l = from[(size_t)i * (n + 1) + l];
    }
    gsrt_arena_fini(&arena);
    return is_possible;
}

static uint32_t at_most(const gsrt__search *s, uint32_t most, uint32_t runtime)
{
    return s->problem->is_for_execution && runtime > 0 && runtime < most ? runtime : most;
}

uint32_t gsrt__batch_most(const gsrt__search *s)
{
    return at_most(s, s->is_small ? GSRT__BATCH_SMALL_MAX : GSRT__BATCH_MAX, s->problem->batch_max);
}

uint32_t gsrt__chunk_most(const gsrt__search *s)
{
    return at_most(s, GSRT__CHUNK_MAX, s->problem->prefill_tokens_max);
}

uint32_t gsrt__next_chunk(const gsrt__search *s, uint32_t chunk, bool is_more)
{
    uint32_t factor = s->is_small ? 8 : 2, most = gsrt__chunk_most(s), next = GSRT__CHUNK_MIN;
    while (next * factor < chunk)
        next *= factor;
    if (!is_more)
        return next < chunk ? next : chunk;
    while (next <= chunk && next < most)
        next *= factor;
    next = next < most ? next : most;
    return next > chunk ? next : chunk;
}

/* The chunk to begin with: a whole prompt, or a usual one. */
uint32_t gsrt__first_chunk(const gsrt__search *s)
{
    const gsrt_demand *demand = &s->problem->demand;
    double prompt = demand->prompt_tokens.value * (1 - demand->prefix_share);
    uint32_t chunk = GSRT__CHUNK_MIN, most = gsrt__chunk_most(s);
    while (chunk < prompt && chunk < GSRT__CHUNK)
        chunk *= s->is_small ? 8 : 2;
    return chunk < most ? chunk : most;
}

static void set_overlaps(gsrt__sketch *sketch, bool overlaps)
{
    for (uint32_t p = 0; p < sketch->pool_count; p++)
        for (uint32_t i = 0; i < sketch->pools[p].stage_count; i++)
            sketch->pools[p].stages[i].overlaps = overlaps;
}

bool gsrt__is_batch_least(const gsrt__sketch_pool *pool)
{
    uint32_t least = 1;
    for (uint32_t i = 0; i < pool->stage_count; i++)
        least = pool->stages[i].data_width > least ? pool->stages[i].data_width : least;
    return pool->batch_max == least;
}

static bool is_of_contract(const gsrt__judgement *j)
{
    return !j->is_feasible && strncmp(j->reason, "contract", 8) == 0;
}

/* With the context in parts, as evidence may have it, and each way to exchange. */
static bool consider_parts(gsrt__search *s, gsrt__sketch *sketch, gsrt__judgement *out)
{
    bool goes_on = true;
    for (uint32_t p = 0; p < sketch->pool_count; p++)
        (void)gsrt__set_context(&sketch->pools[p], UINT32_MAX);
    for (uint32_t overlaps = 2; goes_on && overlaps-- > 0 && is_of_contract(out);) {
        set_overlaps(sketch, overlaps == 1);
        goes_on = gsrt__consider(s, sketch, out);
    }
    for (uint32_t p = 0; is_of_contract(out) && p < sketch->pool_count; p++)
        (void)gsrt__set_context(&sketch->pools[p], 1);
    return goes_on;
}

bool gsrt__consider_smaller(gsrt__search *s, gsrt__sketch *sketch, gsrt__judgement *out)
{
    set_overlaps(sketch, !s->problem->is_for_execution);
    bool goes_on = gsrt__consider(s, sketch, out);
    if (goes_on && is_of_contract(out)) {
        set_overlaps(sketch, false); /* evidence may be without it */
        goes_on = gsrt__consider(s, sketch, out);
    }
    if (goes_on && is_of_contract(out) && gsrt__may_divide_context(s))
        goes_on = consider_parts(s, sketch, out);
    while (goes_on && !out->is_feasible && strcmp(out->reason, GSRT_REASON_MEMORY) == 0) {
        bool is_smaller = false;
        for (uint32_t p = 0; p < sketch->pool_count; p++) {
            uint32_t next = gsrt__next_chunk(s, sketch->pools[p].prefill_tokens, false);
            is_smaller = is_smaller || next < sketch->pools[p].prefill_tokens;
            sketch->pools[p].prefill_tokens = next;
        }
        if (!is_smaller && !gsrt__context_more(s, sketch) && !gsrt__offload_more(s, sketch))
            break;
        goes_on = gsrt__consider(s, sketch, out);
    }
    return goes_on;
}

/* ---- one class ---- */

/* Stages of one class: width engines each, layers cut evenly by time. */
bool gsrt__shape_pool(gsrt__search *s, uint32_t numeric, const gsrt__shape *shape, gsrt__sketch_pool *out)
{
    if (shape->stage_count > GSRT__SKETCH_STAGES || shape->stage_count > s->layer_count)
        return false;
    gsrt__slot slots[GSRT__SKETCH_STAGES];
    uint32_t last[GSRT__SKETCH_STAGES + 1];
    for (uint32_t i = 0; i < shape->stage_count; i++)
        slots[i] = (gsrt__slot){
            .class = shape->class, .speed = shape->width, .capacity = s->classes[shape->class].capacity * shape->width};
    if (!gsrt__cut_layers(s, numeric, slots, shape->stage_count, 1, false, last)) {
        for (uint32_t i = 0; i <= shape->stage_count; i++) /* it does not fit: cut evenly, to say by how much */
            last[i] = (uint32_t)((uint64_t)s->layer_count * i / shape->stage_count);
    }
    out->phases = GSRT_PHASE_PREFILL | GSRT_PHASE_DECODE;
    out->replica_count = 1;
    out->batch_max = 1;
    out->prefill_tokens = gsrt__first_chunk(s);
    out->power_cap_w = 0;
    out->draft_tokens = 0;
    out->kv_offload = 0;
    out->stage_count = 0;
    for (uint32_t i = 0; i < shape->stage_count; i++) {
        if (last[i] == last[i + 1])
            continue;
        out->stages[out->stage_count++] = (gsrt__sketch_stage){.members = {{shape->class, shape->width, 1}},
                                                               .member_count = 1,
                                                               .layer_first = last[i],
                                                               .layer_last = last[i + 1] - 1,
                                                               .data_width = 1,
                                                               .expert_width = 1,
                                                               .context_width = 1,
                                                               .algorithm = shape->algorithm,
                                                               .overlaps = false};
    }
    (void)gsrt__set_mode(s, out, shape->mode);
    return true;
}

/* The best batch: doubled until it does not fit or gets much worse, then between. */
bool gsrt__fit_batch(gsrt__search *s, gsrt__sketch *sketch, uint32_t pool, gsrt__judgement *out)
{
    gsrt__sketch_pool *p = &sketch->pools[pool];
    gsrt__judgement j;
    if (!gsrt__consider_smaller(s, sketch, out))
        return false;
    if (!out->is_feasible && p->batch_max == 1 && is_of_contract(out)) {
        p->batch_max = gsrt__batch_on_lattice(s, 2); /* evidence may be of batches only */
        if (!gsrt__consider(s, sketch, out))
            return false;
    }
    if (!out->is_feasible && strcmp(out->reason, GSRT_REASON_LIMIT) != 0)
        return true;
    uint32_t best = p->batch_max, low = best, high = 0; /* low fits its memory, high does not; 0: not known */
    for (;;) {
        uint32_t next = gsrt__batch_on_lattice(s, high == 0 ? (uint64_t)low * 2 : low + ((uint64_t)high - low) / 2);
        if (next == low || (high != 0 && next >= high))
            break;
        p->batch_max = next;
        if (!gsrt__consider(s, sketch, &j))
            break;
        bool fits = j.is_feasible || strcmp(j.reason, GSRT_REASON_MEMORY) != 0;
        if (fits && gsrt__is_better(&j, out)) {
            *out = j;
            best = next;
        } else if (fits && high == 0 && next / 8 > best) {
            break; /* larger batches have become worse and worse */
        }
        if (fits)
            low = next;
        else
            high = next;
    }
    p->batch_max = best;
    return true;
}
