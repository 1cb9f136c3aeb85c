/* What stages can make at most, exchanges, launches and memory included. The proofs are in docs/planning.md, "Stages";
 * in short:
 *
 * Each layer of a token has a price, all together 1, so a replica that makes R tokens a second earns R. A stage earns
 * by its layers: at most what its engines compute in a second (gsrt__ways), and at most by the layers of which its
 * memories hold the KV of all S batches of b sequences that are under way. With r = R / (S * b) the second limit knows
 * neither R nor S, and stages earn r * b on average, which makes a price of having a stage. If, for every b and r, some
 * such price leaves no stage of n engines of a class more than n * v[class], then no deployment makes more than the sum
 * of all engines' v. The prices are free: they are searched for.
 */
#include "placement/search_ways.h"

#include <math.h>
#include <string.h>

/* Prices of a layer of each kind, of one token: they sum to 1 over all layers. */
typedef struct prices {
    double prefill[GSRT__KINDS_MAX], decode[GSRT__KINDS_MAX];
} prices;

/* ---- at some prices ---- */

/* Engines of one class in groups of `least` to `most`: what each earns a second at most, by its work. */
typedef struct entry {
    double earned, least, most;
} entry;

enum { MIXED = GSRT__ENTRIES, ENTRIES_MAX };

/* What stages can earn with batches up to one: of pools of one kind. */
typedef struct table {
    entry *entries;            /* [class][ENTRIES_MAX] */
    double batch, batch_least; /* sequences of a step: from, to */
    double worth;              /* of a token in such pools */
    double per_byte;           /* value of layers over the bytes that a batch keeps for them, at most */
    double rate_most;          /* value a second of a stage, at most */
} table;

/* What is to be small: what all engines earn together; or the most for what an engine costs a second. */
static double together(const gsrt__ways *x, const double *earned, const double *weight)
{
    double sum = 0;
    for (uint32_t c = 0; c < x->s->class_count; c++) {
        if (weight == NULL)
            sum += earned[c] * (double)x->s->classes[c].total;
        else if (weight[c] >= 0 && earned[c] > sum * weight[c])
            sum = weight[c] > 0 ? earned[c] / weight[c] : HUGE_VAL;
    }
    return sum;
}

/* The most that a layer's price is over its time, over all kinds. */
static double most_per_second(const gsrt__ways *x, const double *a, const double *b, const double *ta, const double *tb)
{
    double most = 0;
    for (uint32_t k = 0; k < x->kind_count; k++) {
        double price = (a != NULL ? a[k] : 0) + (b != NULL ? b[k] : 0);
        double seconds = (a != NULL ? ta[k] : 0) + (b != NULL ? tb[k] : 0);
        if (price > 0 && price > most * seconds)
            most = seconds > 0 ? price / seconds : HUGE_VAL;
    }
    return most;
}

/* What one engine of a class earns by its work alone, whatever of a layer it does: each category has its part of the
 * layer's price, in proportion to what class `reference` needs for it. */
static double earned_by_work(const gsrt__ways *x, uint32_t class, uint32_t reference, uint32_t batch,
                             const double *price)
{
    double most = 0;
    for (uint32_t k = 0; price != NULL && k < x->kind_count; k++) {
        const double *own = gsrt__category_at(x, class, batch, k), *its = gsrt__category_at(x, reference, batch, k);
        double sum = 0;
        for (uint32_t i = 0; i < GSRT__BOUND_CATEGORIES; i++)
            sum += its[i];
        for (uint32_t i = 0; i < GSRT__BOUND_CATEGORIES; i++)
            if (its[i] > 0 && price[k] * its[i] / sum > most * own[i])
                most = price[k] * its[i] / sum / own[i];
    }
    return most;
}

/* Groups of several classes: their exchanges are left out. batch: index; past the last: prompts only. */
static entry mixed_entry(const gsrt__ways *x, uint32_t class, uint32_t reference, uint32_t batch, const double *prefill,
                         const double *decode)
{
    double by_decode = earned_by_work(x, class, reference, batch, decode);
    double by_prefill = earned_by_work(x, class, reference, x->batch_count, prefill);
    return (entry){.earned = by_decode > by_prefill ? by_decode : by_prefill, .least = 2, .most = x->engine_count};
}

/* All ways of a class to decode in batches up to x->batches[batch], with prefills between or without (NULL). */
static void entries_of(const gsrt__ways *x, uint32_t class, uint32_t reference, uint32_t batch, const double *prefill,
                       const double *decode, entry *out)
{
    const gsrt__engine_class *c = &x->s->classes[class];
    memset(out, 0, ENTRIES_MAX * sizeof *out);
    for (uint32_t i = 0; i < GSRT__WIDTHS; i++)
        out[i].least = out[i].most = i + 1;
    for (uint32_t i = 0; i < GSRT__WIDES; i++) {
        out[GSRT__WIDTHS + i].least = (double)gsrt__wide_from(c, i);
        out[GSRT__WIDTHS + i].most = (double)gsrt__wide_from(c, i + 1) - 1;
    }
    for (uint32_t i = 0; i < x->way_count; i++) {
        const gsrt__way *w = &x->ways[i];
        const double *seconds = &w->decode[(size_t)batch * x->kind_count];
        if (w->class != class || seconds[0] == HUGE_VAL)
            continue;
        double earned = most_per_second(x, prefill, decode, w->prefill, seconds);
        out[w->entry].earned = earned > out[w->entry].earned ? earned : out[w->entry].earned;
    }
    if (x->is_mixed[class])
        out[MIXED] = mixed_entry(x, class, reference, batch, prefill, decode);
}

static void fill_table(const gsrt__ways *x, uint32_t reference, uint32_t batch, const double *prefill,
                       const double *decode, table *out)
{
    const gsrt__numeric *n = &x->s->numerics[x->numeric];
    out->batch = x->batches[batch];
    out->batch_least = batch == 0 ? 1 : x->batches[batch - 1] + 1;
    out->worth = out->per_byte = out->rate_most = 0;
    for (uint32_t k = 0; k < x->kind_count; k++) {
        const gsrt__layer_work *layer = &n->layers[x->layer[k]];
        double price = decode[k] + (prefill != NULL ? prefill[k] : 0);
        double kept = layer->state_bytes * gsrt__state_positions(layer, x->s->context_max) / gsrt__rows_most(x->s) +
                      gsrt__weight_bytes(layer) / (x->s->layer_count * out->batch);
        out->worth += x->count[k] * price;
        out->per_byte = fmax(out->per_byte, price / kept);
    }
    for (uint32_t c = 0; c < x->s->class_count; c++) {
        entry *entries = &out->entries[(size_t)c * ENTRIES_MAX];
        if (x->is_usable[c])
            entries_of(x, c, reference, batch, prefill, decode, entries);
        for (uint32_t i = 0; x->is_usable[c] && i < ENTRIES_MAX; i++)
            if (entries[i].earned > 0)
                out->rate_most = fmax(out->rate_most, entries[i].earned * entries[i].most);
    }
}

#define R_STEP 1.02 /* an r stands for all down to the next */

/* What an engine of a class earns at most, where a replica of S stages of batches b makes R = r * S * b tokens a
 * second: its work and its memory's part of the KV limit what its stage is worth, and stages are worth r * b * worth on
 * average, which `turn` (any number up to 1) makes a price for having a stage. */
static double most_of(const table *t, uint32_t class, double capacity, double r, double turn)
{
    double most = 0;
    for (uint32_t i = 0; i < ENTRIES_MAX; i++) {
        const entry *e = &t->entries[(size_t) class * ENTRIES_MAX + i];
        bool is_mixed = i == MIXED;
        double kept = is_mixed ? HUGE_VAL : r * capacity * t->per_byte;
        double own = e->earned < kept ? e->earned : kept;
        double average = turn > 0 ? r * t->batch / e->least : r / R_STEP * t->batch_least / e->most;
        double value = (1 - turn) * own + turn * average * t->worth;
        if (e->earned > 0 && value > most)
            most = value;
    }
    return most;
}

/* What is earned at least as `least` says. out [class]. */
static double at_turn(const gsrt__ways *x, const table *t, double r, double turn, const double *least,
                      const double *weight, double *out)
{
    for (uint32_t c = 0; c < x->s->class_count; c++) {
        double most = x->is_usable[c] ? most_of(t, c, gsrt__memory_most(x->s, c), r, turn) : 0;
        out[c] = most > least[c] ? most : least[c];
    }
    return together(x, out, weight);
}

/* The turn with which the least is earned: the sum is convex in it. *turn: where to begin. */
static double best_turn(const gsrt__ways *x, const table *t, double r, const double *least, const double *weight,
                        double *out, double *turn)
{
    enum { STEPS = 20 };
    double floor = together(x, least, weight), left = -8, right = 1, best = *turn;
    double lowest = at_turn(x, t, r, best, least, weight, out);
    for (int i = 0; i < STEPS && lowest > floor; i++) {
        double a = left + (right - left) * 0.382, b = left + (right - left) * 0.618;
        double at_a = at_turn(x, t, r, a, least, weight, out), at_b = at_turn(x, t, r, b, least, weight, out);
        double lower = at_a < at_b ? at_a : at_b;
        if (lower < lowest) {
            lowest = lower;
            best = at_a < at_b ? a : b;
        }
        if (at_a < at_b)
            right = b;
        else
            left = a;
    }
    *turn = best;
    return at_turn(x, t, r, best, least, weight, out);
}

/* Raise least[class] to what is earned in all replicas of such a table. out: scratch. false: no use, it passes `most`.
 */
static bool raise_to(const gsrt__ways *x, const table *t, const double *weight, double most, double *least, double *out)
{
    enum { STEPS = 1200 };
    double turn = 0, r = t->worth > 0 ? t->rate_most / (t->batch_least * t->worth) : 0, sum = 0;
    for (uint32_t steps = 0; r > 0; steps++, r /= R_STEP) {
        bool is_last = steps == STEPS; /* a turn of 1 holds for all smaller ones at once */
        sum = is_last ? at_turn(x, t, r, 1, least, weight, out) : best_turn(x, t, r, least, weight, out, &turn);
        memcpy(least, out, x->s->class_count * sizeof *least);
        if (sum >= most)
            return false;
        if (is_last || at_turn(x, t, r, 0, least, weight, out) <= sum)
            break; /* smaller ones earn less */
    }
    return true;
}

/* What is earned at prices of layers; HUGE_VAL: at least `most`. room: [class] twice. */
static double earned_at(const gsrt__ways *x, const prices *y, uint32_t reference, const double *weight, double most,
                        double *room, table *t)
{
    uint32_t count = x->s->class_count;
    double *least = room, *out = room + count;
    memset(least, 0, count * sizeof *least);
    for (uint32_t i = 0; i < x->way_count; i++) { /* prompts only */
        const gsrt__way *w = &x->ways[i];
        double one = most_per_second(x, y->prefill, NULL, w->prefill, NULL);
        least[w->class] = one > least[w->class] ? one : least[w->class];
    }
    for (uint32_t c = 0; c < count; c++) {
        if (x->is_usable[c] && x->is_mixed[c])
            least[c] = fmax(least[c], mixed_entry(x, c, reference, x->batch_count, y->prefill, NULL).earned);
    }
    for (uint32_t b = x->batch_count; b-- > 0;)
        for (int apart = 0; apart < 2; apart++) {
            fill_table(x, reference, b, apart ? NULL : y->prefill, y->decode, t);
            if (!raise_to(x, t, weight, most, least, out))
                return HUGE_VAL;
        }
    return together(x, least, weight);
}

/* ---- prices of layers ---- */

static void normalise(const gsrt__ways *x, prices *y)
{
    double sum = 0;
    for (uint32_t k = 0; k < x->kind_count; k++)
        sum += x->count[k] * (y->prefill[k] + y->decode[k]);
    for (uint32_t k = 0; k < x->kind_count; k++) {
        y->prefill[k] /= sum;
        y->decode[k] /= sum;
    }
}

/* In proportion to what engines of a class need in their best way. */
static bool prices_by(const gsrt__ways *x, uint32_t class, prices *out)
{
    double best = HUGE_VAL;
    for (uint32_t i = 0; i < x->way_count; i++) {
        const gsrt__way *w = &x->ways[i];
        for (uint32_t b = 0; b + 1 < x->batch_count && w->class == class && w->entry < GSRT__WIDTHS; b++) {
            double seconds = 0;
            const double *decode = &w->decode[(size_t)b * x->kind_count];
            for (uint32_t k = 0; k < x->kind_count; k++)
                seconds += x->count[k] * (w->prefill[k] + decode[k]);
            if (seconds >= best || x->batches[b] * x->state_bytes > x->s->classes[class].capacity * (w->entry + 1))
                continue;
            best = seconds;
            memcpy(out->prefill, w->prefill, x->kind_count * sizeof *out->prefill);
            memcpy(out->decode, decode, x->kind_count * sizeof *out->decode);
        }
    }
    if (best < HUGE_VAL)
        normalise(x, out);
    return best < HUGE_VAL;
}

/* Prompts, or layers of a kind, so many times as dear as before. */
static void scale_one(const gsrt__ways *x, uint32_t which, double factor, prices *y)
{
    for (uint32_t k = 0; k < x->kind_count; k++) {
        if (which == x->kind_count || which == k)
            y->prefill[k] *= factor;
        if (which == k)
            y->decode[k] *= factor;
    }
    normalise(x, y);
}

typedef struct attempt {
    prices y;
    uint32_t reference;
    double earned;
} attempt;

/* One price after the other, up or down, as long as less is earned. */
static void improve(const gsrt__ways *x, const double *weight, attempt *best, double *room, table *t)
{
    static const double factors[] = {1.3, 1 / 1.3, 1.1, 1 / 1.1};
    enum { TRIES = 24 };
    uint32_t coordinates = x->kind_count == 1 ? 1 : x->kind_count + 1, since = 0;
    for (uint32_t i = 0, tries = 0; since < coordinates * 4 && tries < TRIES; i++) {
        attempt next = *best;
        scale_one(x, x->kind_count - i / 4 % coordinates, factors[i % 4], &next.y);
        for (bool is_better = true; is_better && tries < TRIES; tries++) { /* further in this direction */
            next.earned = earned_at(x, &next.y, next.reference, weight, best->earned, room, t);
            is_better = next.earned < best->earned * 0.999;
            since = is_better ? 0 : since + 1;
            if (is_better)
                *best = next;
            scale_one(x, x->kind_count - i / 4 % coordinates, factors[i % 4], &next.y);
        }
    }
}

static gsrt_status bound_earned(gsrt__search *s, const gsrt__ways *x, const double *weight, double *out)
{
    double *room = gsrt_arena_take(&s->scratch, 2 * (size_t)s->class_count, sizeof *room);
    table t = {.entries = gsrt_arena_take(&s->scratch, (size_t)s->class_count * ENTRIES_MAX, sizeof *t.entries)};
    attempt best = {.earned = HUGE_VAL};
    if (room == NULL || t.entries == NULL)
        return GSRT_ENOMEM;
    for (uint32_t c = 0; c < s->class_count; c++) {
        attempt next = {.reference = c};
        if (!x->is_usable[c] || !prices_by(x, c, &next.y))
            continue;
        next.earned = earned_at(x, &next.y, c, weight, best.earned, room, &t);
        best = next.earned < best.earned ? next : best;
    }
    if (best.earned < HUGE_VAL && !s->is_small)
        improve(x, weight, &best, room, &t);
    *out = best.earned;
    return GSRT_OK;
}

gsrt_status gsrt__bound_by_stages(gsrt__search *s, uint32_t numeric, const double *weight, double *out)
{
    gsrt__ways x;
    *out = HUGE_VAL;
    gsrt_arena_init(&s->scratch, GSRT_SEARCH_BYTES_MAX);
    gsrt_status status = gsrt__ways_begin(s, numeric, &x);
    bool has_kinds = status == GSRT_OK && x.kind_count > 0;
    if (has_kinds)
        status = gsrt__ways_find(&x);
    if (has_kinds && status == GSRT_OK)
        status = bound_earned(s, &x, weight, out);
    gsrt__ways_fini(&x);
    gsrt_arena_fini(&s->scratch);
    return status;
}
