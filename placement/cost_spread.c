/* Intervals by cause. A cause (a share that is assumed, the error of an equation, what is stated of bandwidths) moves
 * everything that rests on it together: it is propagated by itself through all equations, in line. Causes know nothing
 * of each other: what each does to a result is added in squares. So terms of a sum that rest on the same share err
 * together, and a launch and a product do not.
 */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "placement/cost_impl.h"

static_assert(GSRT__CAUSE_COUNT <= 32, "a bit for each cause");

/* Of equations that have an error of their own. */
static const gsrt__cause errors[GSRT__EQUATION_COUNT] = {
    [GSRT__EQUATION_ROOFLINE] = GSRT__CAUSE_ROOFLINE,
    [GSRT__EQUATION_THROTTLE] = GSRT__CAUSE_ROOFLINE,
    [GSRT__EQUATION_STREAM] = GSRT__CAUSE_STREAM,
    [GSRT__EQUATION_SEND] = GSRT__CAUSE_EXCHANGES,
    [GSRT__EQUATION_GATHER] = GSRT__CAUSE_EXCHANGES,
    [GSRT__EQUATION_SUBTREES] = GSRT__CAUSE_EXCHANGES,
    [GSRT__EQUATION_RING] = GSRT__CAUSE_EXCHANGES,
    [GSRT__EQUATION_TREE] = GSRT__CAUSE_EXCHANGES,
    [GSRT__EQUATION_SWITCH] = GSRT__CAUSE_EXCHANGES,
    [GSRT__EQUATION_ALL_TO_ALL] = GSRT__CAUSE_EXCHANGES,
    [GSRT__EQUATION_STALLED] = GSRT__CAUSE_WAITING,
    [GSRT__EQUATION_BURST] = GSRT__CAUSE_WAITING,
    [GSRT__EQUATION_QUEUE] = GSRT__CAUSE_WAITING,
    [GSRT__EQUATION_SLOT_QUEUE] = GSRT__CAUSE_WAITING,
    [GSRT__EQUATION_THERE_AND_BACK] = GSRT__CAUSE_EXCHANGES,
    [GSRT__EQUATION_BUSY_POWER] = GSRT__CAUSE_UPKEEP,
    [GSRT__EQUATION_FAILURES] = GSRT__CAUSE_UPKEEP,
    [GSRT__EQUATION_OWN_FAILURES] = GSRT__CAUSE_UPKEEP,
};

/* Sets lo and hi from what the causes do. */
static void close_interval(const gsrt__spread *spread, gsrt_quantity *q)
{
    double below = 0, above = 0;
    for (uint32_t c = 0; c < GSRT__CAUSE_COUNT; c++) {
        if ((spread->causes >> c & 1) == 0)
            continue;
        below += spread->below[c] * spread->below[c];
        above += spread->above[c] * spread->above[c];
    }
    q->lo = fmax(spread->least, q->value - sqrt(below));
    q->hi = fmin(spread->most, q->value + sqrt(above));
}

static gsrt__spread *take(gsrt__walk *walk)
{
    gsrt__spread *spread = gsrt_arena_take(walk->spreads, 1, sizeof *spread);
    if (spread == NULL)
        walk->status = GSRT_ENOMEM;
    return spread;
}

const gsrt__spread *gsrt__spread_by(gsrt__walk *walk, gsrt__cause cause, gsrt_quantity *quantity)
{
    if (walk->spreads == NULL) {
        quantity->lo = quantity->hi = quantity->value;
        return NULL;
    }
    if (!quantity->is_known || quantity->lo == quantity->hi)
        return NULL;
    gsrt__spread *spread = take(walk);
    if (spread == NULL)
        return NULL;
    spread->causes = 1u << cause;
    spread->least = quantity->lo;
    spread->most = quantity->hi;
    spread->below[cause] = quantity->value - quantity->lo;
    spread->above[cause] = quantity->hi - quantity->value;
    return spread;
}

/* What the equation gives with each input at one end: of a cause (NULL: of everything at once). */
static double at_ends(const gsrt_equation *equation, const gsrt__term *inputs, const gsrt__cause *cause, bool is_up)
{
    double x[GSRT_EQUATION_INPUT_COUNT_MAX];
    for (uint32_t i = 0; i < equation->input_count; i++) {
        const gsrt__spread *spread = inputs[i].spread;
        bool rises = (equation->directions[i] > 0) == is_up;
        x[i] = inputs[i].quantity.value;
        if (spread == NULL)
            continue;
        if (cause == NULL)
            x[i] = rises ? spread->most : spread->least;
        else
            x[i] += rises ? spread->above[*cause] : -spread->below[*cause];
    }
    return equation->compute(x);
}

const gsrt__spread *gsrt__spread_of(gsrt__walk *walk, gsrt__equation_id id, const gsrt__term *inputs,
                                    gsrt_quantity *result)
{
    if (walk->spreads == NULL)
        return NULL;
    const gsrt_equation *equation = &gsrt__equations[id];
    bool errs = equation->error_lo != equation->error_hi;
    uint32_t causes = errs ? 1u << errors[id] : 0;
    for (uint32_t i = 0; i < equation->input_count; i++)
        causes |= inputs[i].spread == NULL ? 0 : inputs[i].spread->causes;
    if (!result->is_known || causes == 0)
        return NULL;
    gsrt__spread *spread = take(walk);
    if (spread == NULL)
        return NULL;
    spread->causes = causes;
    for (gsrt__cause c = 0; c < GSRT__CAUSE_COUNT; c++) {
        if ((causes >> c & 1) == 0)
            continue;
        double low = at_ends(equation, inputs, &c, false), high = at_ends(equation, inputs, &c, true);
        if (errs && c == errors[id]) {
            low *= equation->error_lo;
            high *= equation->error_hi;
        }
        spread->below[c] = result->value - low;
        spread->above[c] = high - result->value;
    }
    spread->least = at_ends(equation, inputs, NULL, false) * equation->error_lo;
    spread->most = at_ends(equation, inputs, NULL, true) * equation->error_hi;
    close_interval(spread, result);
    return spread;
}
