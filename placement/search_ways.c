/* What the cost model says of every group that engines of one class can form: one engine alone, groups width by width
 * and in every mode, then all that are wider from below (docs/planning.md, "Stages").
 */
#include "placement/search_ways.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* What one engine does of a layer that several would share, as in a way. */
typedef struct shared_work {
    double *prefill, *prefill_apart; /* of one prompt; of as many at once as there are engines */
    double *decode;
} shared_work;

/* ---- what is looked at ---- */

static bool find_kinds(gsrt__ways *x)
{
    const gsrt_cost_profile *profile = x->s->profile;
    const gsrt_region_choice *choices = x->s->numerics[x->numeric].choices;
    for (uint32_t l = 0; l < x->s->layer_count; l++) {
        uint32_t region = profile->region_of_layer[l], k = 0;
        const gsrt_region_choice *a = &choices[region];
        while (k < x->kind_count) {
            const gsrt_region_choice *b = &choices[x->region[k]];
            if (profile->kind_of_region[x->region[k]] == profile->kind_of_region[region] && a->compute == b->compute &&
                a->arithmetic == b->arithmetic && a->weights_are_as_given == b->weights_are_as_given &&
                a->state_is_as_given == b->state_is_as_given && a->weights == b->weights && a->state == b->state)
                break;
            k++;
        }
        if (k == GSRT__KINDS_MAX) {
            x->kind_count = 0;
            return false;
        }
        if (k == x->kind_count) {
            x->region[k] = region;
            x->layer[k] = l;
            x->kind_count++;
        }
        x->count[k]++;
    }
    return x->kind_count > 0;
}

static void find_memory(gsrt__ways *x)
{
    const gsrt__numeric *n = &x->s->numerics[x->numeric];
    for (uint32_t l = 0; l < x->s->layer_count; l++)
        x->state_bytes += n->layers[l].state_bytes * gsrt__state_positions(&n->layers[l], x->s->context_max);
}

/* Up to what all engines of a class keep, and then the largest there is. */
static void find_batches(gsrt__ways *x)
{
    static const double growth = 1.15;
    double largest = gsrt__batch_most(x->s) * gsrt__rows_most(x->s);
    double most = 1, at = 1, state_bytes = fmax(1, x->state_bytes) / gsrt__rows_most(x->s);
    for (uint32_t c = 0; c < x->s->class_count; c++)
        most = fmax(most, gsrt__memory_most(x->s, c) * (double)x->s->classes[c].total / state_bytes);
    while (at < most && at < largest) {
        /* 1.15 to the power of them is more than GSRT__BATCH_MAX, drafts and all */
        assert(x->batch_count < GSRT__BATCHES_MAX - 1);
        x->batches[x->batch_count++] = at;
        at = fmax(at + 1, floor(at * growth));
    }
    x->batches[x->batch_count++] = largest;
}

/* ---- the cost model's answers ---- */

void gsrt__ways_group(gsrt__ways *x, uint32_t data, uint32_t experts, gsrt_collective_algorithm algorithm)
{
    gsrt_deployment_stage *stage = &x->d->pools[0].stages[0];
    stage->data_width = data;
    stage->expert_width = experts;
    stage->context_width = 1;
    stage->algorithm = algorithm;
    stage->overlaps = algorithm != GSRT_ALGORITHM_NONE;
}

void gsrt__ways_members(gsrt__ways *x, uint32_t class, uint32_t width)
{
    x->d->pools[0].stages[0].members[0] = (gsrt_deployment_members){.part = x->s->classes[class].part,
                                                                    .instance_count = width,
                                                                    .block_replicas = 1,
                                                                    .block_stride = width,
                                                                    .share = 1};
}

double gsrt__ways_seen(const gsrt__ways *x, gsrt_phase phase)
{
    return x->request.cached + (phase == GSRT_PHASE_PREFILL ? (x->request.prompt + 1) / 2
                                                            : x->request.prompt + (x->request.output + 1) / 2);
}

/* rows: of all data groups. */
static gsrt__cost_layer layer_of(const gsrt__ways *x, uint32_t kind, gsrt_phase phase, double rows, double sequences)
{
    const gsrt__step step = {
        .phase = phase, .rows = rows, .sequences = sequences, .context = gsrt__ways_seen(x, phase)};
    return gsrt__cost_layer_of(&x->question, x->region[kind], &step);
}

/* What overlapping leaves of work and exchanges has two forms, and a step takes at least each of them, summed over its
 * layers; so also each mean of the two. out: the mean that is closest to the larger form for every kind. */
static void blend(const gsrt__ways *x, double forms[2][GSRT__KINDS_MAX], double *out)
{
    enum { STEPS = 16 };
    double best = -1, share = 0;
    for (int i = 0; i <= STEPS; i++) {
        double least = HUGE_VAL, first = (double)i / STEPS;
        for (uint32_t k = 0; k < x->kind_count; k++) {
            double larger = fmax(forms[0][k], forms[1][k]);
            if (larger > 0)
                least = fmin(least, (first * forms[0][k] + (1 - first) * forms[1][k]) / larger);
        }
        share = least >= best ? first : share;
        best = fmax(least, best);
    }
    for (uint32_t k = 0; k < x->kind_count; k++)
        out[k] = share * forms[0][k] + (1 - share) * forms[1][k];
}

/* Seconds that a stage takes for one layer of each kind, such that sums of them are at most what it takes. false:
 * something is not known. */
static bool step_of(const gsrt__ways *x, gsrt_phase phase, double rows, double sequences, double *out)
{
    double forms[2][GSRT__KINDS_MAX];
    double host = gsrt__host_s(&x->question, sequences) / x->s->layer_count;
    for (uint32_t k = 0; k < x->kind_count; k++) {
        gsrt__cost_layer layer = layer_of(x, k, phase, rows, sequences);
        if (!layer.is_known)
            return false;
        forms[0][k] = layer.work_s + layer.exposed * layer.exchange_s;
        forms[1][k] = layer.exchange_s + layer.exposed * layer.work_s;
    }
    blend(x, forms, out);
    for (uint32_t k = 0; k < x->kind_count; k++)
        out[k] += host;
    return true;
}

static gsrt_status room_for_way(gsrt__ways *x, gsrt__way **out)
{
    if (x->way_count == x->way_capacity) {
        uint32_t capacity = x->way_capacity == 0 ? 64 : 2 * x->way_capacity;
        gsrt__way *more = gsrt_arena_take(&x->s->scratch, capacity, sizeof *more);
        if (more == NULL)
            return GSRT_ENOMEM;
        if (x->way_count > 0)
            memcpy(more, x->ways, x->way_count * sizeof *more);
        x->ways = more;
        x->way_capacity = capacity;
    }
    gsrt__way *w = &x->ways[x->way_count];
    w->prefill = gsrt_arena_take(&x->s->scratch, x->kind_count, sizeof(double));
    w->decode = gsrt_arena_take(&x->s->scratch, (size_t)x->kind_count * x->batch_count, sizeof(double));
    if (w->prefill == NULL || w->decode == NULL)
        return GSRT_ENOMEM;
    *out = w;
    return GSRT_OK;
}

/* Ask about the group that is set. Batches that are too small for its data width: never. */
static gsrt_status add_way(gsrt__ways *x, uint32_t class, uint32_t entry, uint32_t data)
{
    gsrt__way *w;
    double n = entry + 1, step[GSRT__KINDS_MAX];
    gsrt_status status = room_for_way(x, &w);
    if (status != GSRT_OK)
        return status;
    w->class = class;
    w->entry = entry;
    if (!step_of(x, GSRT_PHASE_PREFILL, x->request.prompt * data, data, step))
        return GSRT_OK; /* what is not known is not proposed */
    for (uint32_t k = 0; k < x->kind_count; k++)
        w->prefill[k] = n * step[k] / (data * x->request.output);
    for (uint32_t b = 0; b < x->batch_count; b++) {
        if (!step_of(x, GSRT_PHASE_DECODE, x->batches[b], x->batches[b], step))
            return GSRT_OK;
        for (uint32_t k = 0; k < x->kind_count; k++)
            w->decode[(size_t)b * x->kind_count + k] = x->batches[b] < data ? HUGE_VAL : n * step[k] / x->batches[b];
    }
    x->way_count++;
    return GSRT_OK;
}

bool gsrt__ways_admit(const gsrt__ways *x, uint32_t class, uint32_t algorithm)
{
    size_t at = ((size_t)x->numeric * x->s->class_count + class) * GSRT_ALGORITHM_COUNT + algorithm;
    return x->s->admitted[at] == 1;
}

/* ---- one engine's seconds by category: no group of several classes takes less ---- */

double *gsrt__category_at(const gsrt__ways *x, uint32_t class, uint32_t batch, uint32_t kind)
{
    return &x->categories[(((size_t) class * (x->batch_count + 1) + batch) * x->kind_count + kind) *
                          GSRT__BOUND_CATEGORIES];
}

static gsrt_status find_categories(gsrt__ways *x)
{
    gsrt__search *s = x->s;
    size_t count = (size_t)s->class_count * (x->batch_count + 1) * x->kind_count * GSRT__BOUND_CATEGORIES;
    x->categories = gsrt_arena_take(&s->scratch, count, sizeof *x->categories);
    if (x->categories == NULL)
        return GSRT_ENOMEM;
    for (uint32_t c = 0; c < s->class_count; c++)
        for (uint32_t k = 0; x->is_usable[c] && k < x->kind_count; k++) {
            const gsrt__layer_work *work = &s->numerics[x->numeric].layers[x->layer[k]];
            for (uint32_t b = 0; b < x->batch_count; b++)
                gsrt__bound_seconds(s, x->numeric, c, work, x->batches[b], gsrt__category_at(x, c, b, k));
            gsrt__bound_seconds(s, x->numeric, c, work, 0, gsrt__category_at(x, c, x->batch_count, k));
            for (uint32_t i = 0; i < GSRT__BOUND_CATEGORIES; i++)
                gsrt__category_at(x, c, x->batch_count, k)[i] *= x->request.prompt / x->request.output;
        }
    return GSRT_OK;
}

/* ---- groups of one class ---- */

/* Of the engine that is set, alone; most: how many engines there are. */
static gsrt_status find_shared(gsrt__ways *x, double most, shared_work *out)
{
    out->prefill = gsrt_arena_take(&x->s->scratch, x->kind_count, sizeof(double));
    out->decode = gsrt_arena_take(&x->s->scratch, (size_t)x->kind_count * x->batch_count, sizeof(double));
    out->prefill_apart = gsrt_arena_take(&x->s->scratch, x->kind_count, sizeof(double));
    if (out->prefill == NULL || out->prefill_apart == NULL || out->decode == NULL)
        return GSRT_ENOMEM;
    for (uint32_t k = 0; k < x->kind_count; k++) {
        gsrt__cost_layer layer = layer_of(x, k, GSRT_PHASE_PREFILL, x->request.prompt, 1);
        out->prefill[k] = (layer.work_s - layer.fixed_s) / x->request.output;
        layer = layer_of(x, k, GSRT_PHASE_PREFILL, x->request.prompt * most, most);
        out->prefill_apart[k] = (layer.work_s - layer.fixed_s) / (most * x->request.output);
        for (uint32_t b = 0; b < x->batch_count; b++) {
            layer = layer_of(x, k, GSRT_PHASE_DECODE, x->batches[b], x->batches[b]);
            out->decode[(size_t)b * x->kind_count + k] = (layer.work_s - layer.fixed_s) / x->batches[b];
        }
    }
    return GSRT_OK;
}

/* Engine-seconds of a layer of each kind in such a group: exchanges, and what each member does, of the group that is
 * set, a second of a step being `scale` engine-seconds of a token; and shared work, with `fuller` times its experts
 * more. false: something is not known. */
static bool wide_step(const gsrt__ways *x, gsrt_phase phase, double rows, double sequences, double scale, double fuller,
                      const double *categories, const double *shared, double *out)
{
    double forms[2][GSRT__KINDS_MAX];
    double host = scale * gsrt__host_s(&x->question, sequences) / x->s->layer_count;
    for (uint32_t k = 0; k < x->kind_count; k++) {
        gsrt__cost_layer layer = layer_of(x, k, phase, rows, sequences);
        double experts = categories[k * GSRT__BOUND_CATEGORIES + GSRT__BOUND_EXPERTS];
        double work = shared[k] + scale * layer.fixed_s + fuller * experts;
        if (!layer.is_known)
            return false;
        forms[0][k] = work + layer.exposed * scale * layer.exchange_s;
        forms[1][k] = scale * layer.exchange_s + layer.exposed * work;
    }
    blend(x, forms, out);
    for (uint32_t k = 0; k < x->kind_count; k++)
        out[k] += host;
    return true;
}

/* As many engine-seconds as every group that has at least the `n` engines of the one that is set: what they
 * share is at least what one engine has to do, with experts apart as much as the fullest group does; n times the rest
 * grows with n. */
static gsrt_status add_wide(gsrt__ways *x, uint32_t class, uint32_t entry, const shared_work *shared, uint32_t n,
                            uint32_t data)
{
    bool is_apart = x->d->pools[0].stages[0].expert_width > 1;
    double fuller = is_apart ? gsrt__assumed(GSRT__ASSUMPTION_EXPERT_IMBALANCE).value - 1 : 0;
    gsrt__way *w;
    gsrt_status status = room_for_way(x, &w);
    if (status != GSRT_OK)
        return status;
    w->class = class;
    w->entry = entry;
    bool is_known = wide_step(x, GSRT_PHASE_PREFILL, x->request.prompt * data, data, n / (data * x->request.output),
                              fuller, gsrt__category_at(x, class, x->batch_count, 0),
                              data > 1 ? shared->prefill_apart : shared->prefill, w->prefill);
    for (uint32_t b = 0; b < x->batch_count && is_known; b++) {
        size_t at = (size_t)b * x->kind_count;
        is_known = wide_step(x, GSRT_PHASE_DECODE, x->batches[b], x->batches[b], n / x->batches[b], fuller,
                             gsrt__category_at(x, class, b, 0), &shared->decode[at], &w->decode[at]);
    }
    x->way_count += is_known ? 1 : 0;
    return GSRT_OK;
}

uint64_t gsrt__wide_from(const gsrt__engine_class *class, uint32_t wide)
{
    uint64_t place = class->levels[0] > GSRT__WIDTHS ? class->levels[0] : GSRT__WIDTHS, from = GSRT__WIDTHS + 1;
    if (wide > 0)
        from = (place << (wide - 1)) + 1;
    return wide == GSRT__WIDES || from > class->total ? class->total + 1 : from;
}

/* With the context in each number of parts that those who share a row's attention can divide it into. */
static gsrt_status find_parts(gsrt__ways *x, uint32_t class, uint32_t width, uint32_t data)
{
    gsrt_status status = GSRT_OK;
    uint32_t most = gsrt__may_divide_context(x->s) ? width / data : 1;
    for (uint32_t parts = 1; parts <= most && status == GSRT_OK; parts++) {
        x->d->pools[0].stages[0].context_width = parts;
        if (width / data % parts == 0)
            status = add_way(x, class, width - 1, data);
    }
    return status;
}

/* All modes of groups of one width. */
static gsrt_status find_width(gsrt__ways *x, uint32_t class, uint32_t width, uint32_t algorithm)
{
    gsrt_status status = GSRT_OK;
    gsrt__ways_members(x, class, width);
    for (uint32_t data = 1; data <= width; data++)
        for (uint32_t experts = 1; experts <= width && status == GSRT_OK; experts++) {
            if (width % data != 0 || width % experts != 0 || (experts > 1 && experts > x->s->expert_count))
                continue;
            gsrt__ways_group(x, data, experts, (gsrt_collective_algorithm)algorithm);
            status = find_parts(x, class, width, data);
        }
    return status;
}

/* Of wide ones those modes that exchange least: data or experts on all members, or on none. There may be fewer experts
 * than members: only what is exchanged, and what each member does by itself, is asked for. */
static gsrt_status find_wide(gsrt__ways *x, uint32_t class, const shared_work *shared, uint32_t wide,
                             uint32_t algorithm)
{
    uint32_t width = (uint32_t)gsrt__wide_from(&x->s->classes[class], wide);
    gsrt_status status = GSRT_OK;
    gsrt__ways_members(x, class, width);
    for (uint32_t mode = 0; mode < 4 && status == GSRT_OK; mode++) {
        uint32_t data = (mode & 1) != 0 ? width : 1, experts = (mode & 2) != 0 ? width : 1;
        if (experts > 1 && x->s->expert_count == 0)
            continue;
        gsrt__ways_group(x, data, experts, (gsrt_collective_algorithm)algorithm);
        status = add_wide(x, class, GSRT__WIDTHS + wide, shared, width, data);
    }
    return status;
}

static gsrt_status find_group(gsrt__ways *x, uint32_t class, const shared_work *shared, uint32_t algorithm)
{
    const gsrt__engine_class *c = &x->s->classes[class];
    gsrt_status status = GSRT_OK;
    for (uint32_t width = 2; width <= GSRT__WIDTHS && width <= c->total && status == GSRT_OK; width++)
        status = find_width(x, class, width, algorithm);
    for (uint32_t i = 0; i < GSRT__WIDES && status == GSRT_OK; i++)
        if (gsrt__wide_from(c, i) < gsrt__wide_from(c, i + 1))
            status = find_wide(x, class, shared, i, algorithm);
    return status;
}

static gsrt_status find_ways(gsrt__ways *x)
{
    gsrt_status status = GSRT_OK;
    for (uint32_t c = 0; c < x->s->class_count && status == GSRT_OK; c++) {
        uint32_t before = x->way_count;
        shared_work shared = {0};
        if (!x->is_usable[c])
            continue;
        gsrt__ways_members(x, c, 1);
        gsrt__ways_group(x, 1, 1, GSRT_ALGORITHM_NONE);
        status = add_way(x, c, 0, 1);
        x->is_usable[c] = x->way_count > before;
        if (status == GSRT_OK && x->is_usable[c])
            status = find_shared(x, (double)x->s->classes[c].total, &shared);
        for (uint32_t a = GSRT_ALGORITHM_NONE + 1; a < GSRT_ALGORITHM_COUNT && x->is_usable[c]; a++)
            if (gsrt__ways_admit(x, c, a) && status == GSRT_OK)
                status = find_group(x, c, &shared, a);
    }
    return status;
}

/* ---- all of them ---- */

/* Which classes may share a stage with another. */
static void find_mixed(gsrt__ways *x)
{
    for (uint32_t c = 0; c < x->s->class_count; c++) {
        x->engine_count += (double)x->s->classes[c].total;
        for (uint32_t other = 0; other < x->s->class_count; other++)
            x->is_mixed[c] = x->is_mixed[c] ||
                             (other != c && x->is_usable[c] && x->is_usable[other] && gsrt__may_share(x->s, other, c));
    }
}

gsrt_status gsrt__ways_begin(gsrt__search *s, uint32_t numeric, gsrt__ways *out)
{
    gsrt__ways *x = out;
    const gsrt_search_problem *q = s->problem;
    *x = (gsrt__ways){.s = s, .numeric = numeric};
    if (!find_kinds(x))
        return GSRT_OK;
    x->is_usable = gsrt_arena_take(&s->scratch, s->class_count, sizeof *x->is_usable);
    x->is_mixed = gsrt_arena_take(&s->scratch, s->class_count, sizeof *x->is_mixed);
    x->d = gsrt_deployment_create(q->workload, 1);
    if (x->is_usable == NULL || x->is_mixed == NULL || x->d == NULL ||
        gsrt_deployment_add_stages(x->d, 0, 1) != GSRT_OK || gsrt_deployment_add_members(x->d, 0, 0, 1) != GSRT_OK)
        return GSRT_ENOMEM;
    memcpy(x->d->choices, s->numerics[numeric].choices, x->d->region_count * sizeof *x->d->choices);
    x->d->context_max = s->context_max;
    x->d->pools[0].phases = GSRT_PHASE_PREFILL | GSRT_PHASE_DECODE;
    x->d->pools[0].replica_count = 1;
    x->d->pools[0].stages[0].layer_last = s->layer_count - 1;
    x->question = (gsrt_cost_question){.workload = q->workload,
                                       .fleet = &s->fleet,
                                       .deployment = x->d,
                                       .demand = &q->demand,
                                       .mode = q->mode,
                                       .today = q->today,
                                       .profile = s->profile,
                                       .memo = s->memo,
                                       .is_plain = true};
    x->request = gsrt__request_of(&q->demand);
    for (uint32_t c = 0; c < s->class_count; c++)
        x->is_usable[c] = s->classes[c].barred == NULL && gsrt__incapable(s, c, numeric) == NULL;
    find_mixed(x);
    return GSRT_OK;
}

gsrt_status gsrt__ways_find(gsrt__ways *x)
{
    find_memory(x);
    find_batches(x);
    gsrt_status status = find_categories(x);
    return status == GSRT_OK ? find_ways(x) : status;
}

void gsrt__ways_fini(gsrt__ways *x)
{
    x->d = gsrt_deployment_free(x->d);
}
