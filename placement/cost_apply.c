/* From inputs to a result with its interval: how every equation of the registry is applied. */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "placement/cost_impl.h"

double gsrt__power(double x, uint64_t exponent)
{
    double result = 1;
    for (; exponent > 0; exponent >>= 1) {
        if (exponent & 1)
            result *= x;
        x *= x;
    }
    return result;
}

const gsrt_equation *gsrt_equation_at(size_t index)
{
    return index < GSRT__EQUATION_COUNT ? &gsrt__equations[index] : NULL;
}

const gsrt_equation *gsrt_equation_named(const char *name)
{
    for (size_t i = 0; i < GSRT__EQUATION_COUNT; i++) {
        if (strcmp(gsrt__equations[i].name, name) == 0)
            return &gsrt__equations[i];
    }
    return NULL;
}

/* The square of how far one input, at that end of its interval which moves the result in a direction, moves it. */
static double moved_squared(const gsrt_equation *equation, const gsrt_quantity *inputs, double *x, uint32_t i,
                            double value, bool up)
{
    double at = x[i];
    x[i] = (equation->directions[i] > 0) == up ? inputs[i].hi : inputs[i].lo;
    double moved = x[i] == at ? 0 : equation->compute(x) - value;
    x[i] = at;
    return moved * moved;
}

/* Inputs of one equation are different things, which err independently: what each does to the result is added in
 * squares, and so is the equation's own error. Terms of a sum rest on the same things: they are added as they are. */
static void set_interval(const gsrt_equation *equation, const gsrt_quantity *inputs, double *x, gsrt_quantity *out)
{
    double value = out->value, below = value * (1 - equation->error_lo), above = value * (equation->error_hi - 1);
    below *= below;
    above *= above;
    for (uint32_t i = 0; i < equation->input_count; i++) {
        below += moved_squared(equation, inputs, x, i, value, false);
        above += moved_squared(equation, inputs, x, i, value, true);
    }
    out->lo = value - sqrt(below);
    out->hi = value + sqrt(above);
}

gsrt_quantity gsrt_equation_apply(const gsrt_equation *equation, const gsrt_quantity *inputs)
{
    gsrt_quantity out = {.dimension = equation->is_of_any_dimension ? inputs[0].dimension : equation->output,
                         .is_known = true,
                         .confidence = 1,
                         .source = GSRT_SOURCE_DERIVED,
                         .valid_from_day = GSRT_DAY_FIRST,
                         .valid_until_day = GSRT_DAY_LAST};
    double low[GSRT_EQUATION_INPUT_COUNT_MAX], middle[GSRT_EQUATION_INPUT_COUNT_MAX],
        high[GSRT_EQUATION_INPUT_COUNT_MAX];
    for (uint32_t i = 0; i < equation->input_count; i++) {
        const gsrt_quantity *q = &inputs[i];
        if (!q->is_known)
            return (gsrt_quantity){0};
        assert(gsrt_dimension_equal(q->dimension, equation->is_of_any_dimension ? out.dimension : equation->inputs[i]));
        bool rises = equation->directions[i] > 0;
        low[i] = rises ? q->lo : q->hi;
        middle[i] = q->value;
        high[i] = rises ? q->hi : q->lo;
        out.confidence = fmin(out.confidence, q->confidence);
        if (q->valid_from_day > out.valid_from_day)
            out.valid_from_day = q->valid_from_day;
        if (q->valid_until_day < out.valid_until_day)
            out.valid_until_day = q->valid_until_day;
    }
    out.value = equation->compute(middle);
    if (equation->are_independent)
        set_interval(equation, inputs, middle, &out);
    double lowest = equation->compute(low) * equation->error_lo, highest = equation->compute(high) * equation->error_hi;
    out.lo = equation->are_independent ? fmax(out.lo, lowest) : lowest;
    out.hi = equation->are_independent ? fmin(out.hi, highest) : highest;
    return out;
}
