/* What a step through all layers takes at least, whoever does them. The proof is in docs/planning.md, "Latency"; in
 * short:
 *
 * Stages follow each other, so a step takes at least the sum over layers of what a layer takes in the group of engines
 * that is the fastest for it. A group of n engines, T of which share the attention of a row, does at least 1/T of a
 * layer's attention and 1/n of the rest in its slowest member, and exchanges at least what the smallest such group
 * does.
 */
#include "placement/search_ways.h"

#include <math.h>

/* A step of one data group, and the least seconds of each kind of layer in it; the last: of the output. */
typedef struct steps {
    gsrt__step step;
    double least[GSRT__KINDS_MAX + 1];
} steps;

static uint32_t region_of(const gsrt__ways *x, uint32_t kind)
{
    return kind < x->kind_count ? x->region[kind] : x->s->profile->region_output;
}

/* Layers of a kind, and one output. */
static double count_of(const gsrt__ways *x, uint32_t kind)
{
    return kind < x->kind_count ? x->count[kind] : region_of(x, kind) != GSRT_NO_INDEX ? 1 : 0;
}

static double sum_of(const gsrt__ways *x, const double *each)
{
    double sum = 0;
    for (uint32_t k = 0; k <= x->kind_count; k++)
        sum += each[k] < HUGE_VAL ? count_of(x, k) * each[k] : 0;
    return sum;
}

/* Groups of a class: of `least` to `most` members, `sharers_least` to `sharers_most` of which share a row's attention.
 */
typedef struct groups {
    uint32_t class, least, most;
    gsrt_collective_algorithm algorithm;
    bool are_apart; /* the experts */
    uint32_t sharers_least, sharers_most;
} groups;

/* Set those that exchange least: the fewest members, in data groups with at most the fewest sharers. */
static uint32_t set_smallest(gsrt__ways *x, const groups *g)
{
    uint32_t data = 1;
    while (g->least / data > g->sharers_least)
        data++;
    if (data == 1 && g->sharers_least < g->most)
        data = 2; /* all of those meant here divide rows */
    gsrt__ways_members(x, g->class, g->least);
    gsrt__ways_group(x, data, g->are_apart ? g->least : 1, g->algorithm);
    return data;
}

/* What overlapping leaves of work and exchanges is at least each of two forms, summed over a stage's layers: the one
 * that is more for all of them. */
static void note(gsrt__ways *x, const groups *g, steps *at)
{
    double forms[2][GSRT__KINDS_MAX + 1] = {0}, work[GSRT__KINDS_MAX + 1] = {0};
    bool is_less = false;
    double data = set_smallest(x, g), data_most = (double)g->most / g->sharers_least;
    gsrt__step exchanged = at->step; /* each data group exchanges its rows: those of one, at most */
    exchanged.rows *= fmin(1, data / data_most);
    for (uint32_t k = 0; k <= x->kind_count; k++) {
        if (count_of(x, k) > 0)
            work[k] = gsrt__cost_work_at_least(&x->question, region_of(x, k), &at->step, g->sharers_most, g->most);
        is_less = is_less || work[k] < at->least[k];
    }
    for (uint32_t k = 0; k <= x->kind_count && is_less; k++) {
        if (count_of(x, k) == 0)
            continue;
        gsrt__cost_layer layer = gsrt__cost_layer_of(&x->question, region_of(x, k), &exchanged);
        if (!layer.is_known)
            return; /* what is not known is not proposed */
        forms[0][k] = work[k] + layer.exposed * layer.exchange_s;
        forms[1][k] = layer.exchange_s + layer.exposed * work[k];
    }
    const double *form = forms[sum_of(x, forms[1]) > sum_of(x, forms[0])];
    for (uint32_t k = 0; k <= x->kind_count && is_less; k++)
        at->least[k] = fmin(at->least[k], form[k]);
}

/* All groups that have `least` to `most` members. */
static void note_groups(gsrt__ways *x, groups g, steps *at)
{
    for (uint32_t apart = 0; apart < (x->s->expert_count > 0 && g.most > 1 ? 2u : 1u); apart++) {
        g.are_apart = apart == 1;
        g.sharers_least = g.sharers_most = g.most; /* rows are not divided */
        note(x, &g, at);
        for (uint32_t from = 1, to = 1; from <= g.most / 2; from = to + 1, to = 2 * to) {
            for (uint32_t exact = from; g.least == g.most && exact <= to; exact++) {
                g.sharers_least = g.sharers_most = exact;
                if (g.most % exact == 0 && exact < g.most)
                    note(x, &g, at);
            }
            g.sharers_least = from;
            g.sharers_most = to < g.most / 2 ? to : g.most / 2;
            if (g.least < g.most)
                note(x, &g, at);
        }
    }
}

static void note_class(gsrt__ways *x, uint32_t class, steps *at)
{
    const gsrt__engine_class *c = &x->s->classes[class];
    note_groups(x, (groups){.class = class, .least = 1, .most = 1, .algorithm = GSRT_ALGORITHM_NONE}, at);
    for (uint32_t a = GSRT_ALGORITHM_NONE + 1; a < GSRT_ALGORITHM_COUNT; a++) {
        groups g = {.class = class, .algorithm = (gsrt_collective_algorithm)a};
        if (!gsrt__ways_admit(x, class, a))
            continue;
        for (g.least = 2; g.least <= GSRT__WIDTHS && g.least <= c->total; g.least++) {
            g.most = g.least;
            note_groups(x, g, at);
        }
        for (uint32_t i = 0; i < GSRT__WIDES; i++) {
            g.least = (uint32_t)gsrt__wide_from(c, i);
            g.most = (uint32_t)gsrt__wide_from(c, i + 1) - 1;
            if (g.least <= g.most)
                note_groups(x, g, at);
        }
    }
}

/* Groups of several classes: some member has at least the mean, of each category at least what the fastest class takes
 * for its part. Exchanges are left out. */
static void note_mixed(gsrt__ways *x, steps *at)
{
    double members = fmin(x->engine_count, GSRT__SHARERS_MAX);
    bool is_any = false;
    for (uint32_t c = 0; c < x->s->class_count; c++)
        is_any = is_any || x->is_mixed[c];
    for (uint32_t k = 0; is_any && k <= x->kind_count; k++) {
        double fixed = HUGE_VAL, least[GSRT__BOUND_CATEGORIES] = {HUGE_VAL, HUGE_VAL, HUGE_VAL, HUGE_VAL}, sum = 0;
        for (uint32_t c = 0; c < x->s->class_count; c++) {
            double each[GSRT__BOUND_CATEGORIES];
            if (!x->is_mixed[c] || k == x->kind_count)
                continue;
            bool is_decode = at->step.phase == GSRT_PHASE_DECODE;
            gsrt__bound_seconds(x->s, x->numeric, c, &x->s->numerics[x->numeric].layers[x->layer[k]], is_decode ? 1 : 0,
                                each);
            for (uint32_t i = 0; i < GSRT__BOUND_CATEGORIES; i++)
                least[i] = fmin(least[i], each[i] * at->step.rows);
            gsrt__ways_members(x, c, 1);
            gsrt__ways_group(x, 1, 1, GSRT_ALGORITHM_NONE);
            fixed = fmin(fixed, gsrt__cost_layer_of(&x->question, x->region[k], &at->step).fixed_s);
        }
        for (uint32_t i = 0; i < GSRT__BOUND_CATEGORIES && k < x->kind_count; i++)
            sum += i == GSRT__BOUND_STREAM ? 0 : least[i] / members; /* of which `fixed` has a part already */
        at->least[k] = fmin(at->least[k], k < x->kind_count ? fixed + sum : 0);
    }
}

/* Seconds of all layers in a step of so many rows of one data group, at least. */
static double least_of(gsrt__ways *x, gsrt_phase phase, double rows)
{
    steps at = {.step = {.phase = phase, .rows = rows, .sequences = 1, .context = gsrt__ways_seen(x, phase)}};
    for (uint32_t k = 0; k <= x->kind_count; k++)
        at.least[k] = HUGE_VAL;
    for (uint32_t c = 0; c < x->s->class_count; c++)
        if (x->is_usable[c])
            note_class(x, c, &at);
    note_mixed(x, &at);
    return sum_of(x, at.least);
}

/* A prompt in chunks of the lattice: the first passes all stages, of which there are at most so many as layers, and the
 * others follow through the slowest. */
static double prefill_of(gsrt__ways *x)
{
    double least = HUGE_VAL, prompt = x->request.prompt, host = gsrt__host_s(&x->question, 1);
    double stages = fmin(x->s->layer_count, GSRT__SKETCH_STAGES);
    uint32_t next = gsrt__chunk_most(x->s), chunk = 0;
    for (next = next < GSRT__CHUNK_MIN ? next : GSRT__CHUNK_MIN; chunk == 0 || (next != chunk && chunk < prompt);) {
        chunk = next;
        next = gsrt__next_chunk(x->s, chunk, true);
        double chunks = ceil(prompt / fmin(chunk, prompt)),
               layers = least_of(x, GSRT_PHASE_PREFILL, ceil(prompt / chunks));
        least = fmin(least, layers * (1 + (chunks - 1) / stages) + chunks * host);
    }
    return least;
}

gsrt_status gsrt__bound_of_steps(gsrt__search *s, uint32_t numeric, double *out_decode, double *out_prefill)
{
    gsrt__ways x;
    gsrt_arena_init(&s->scratch, GSRT_SEARCH_BYTES_MAX);
    gsrt_status status = gsrt__ways_begin(s, numeric, &x);
    *out_decode = *out_prefill = 0;
    if (status == GSRT_OK && x.kind_count > 0) {
        *out_decode = least_of(&x, GSRT_PHASE_DECODE, 1) + gsrt__host_s(&x.question, 1);
        *out_prefill = prefill_of(&x);
    }
    gsrt__ways_fini(&x);
    gsrt_arena_fini(&s->scratch);
    return status;
}
