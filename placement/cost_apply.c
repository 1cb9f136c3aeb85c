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

gsrt_quantity gsrt__equation_result(const gsrt_equation *equation, const gsrt_quantity *const *inputs)
{
    gsrt_quantity out = {.dimension = equation->is_of_any_dimension ? inputs[0]->dimension : equation->output,
                         .is_known = true,
                         .confidence = 1,
                         .source = GSRT_SOURCE_DERIVED,
                         .valid_from_day = GSRT_DAY_FIRST,
                         .valid_until_day = GSRT_DAY_LAST};
    double x[GSRT_EQUATION_INPUT_COUNT_MAX];
    for (uint32_t i = 0; i < equation->input_count; i++) {
        const gsrt_quantity *q = inputs[i];
        if (!q->is_known)
            return (gsrt_quantity){0};
        assert(gsrt_dimension_equal(q->dimension, equation->is_of_any_dimension ? out.dimension : equation->inputs[i]));
        x[i] = q->value;
        if (q->confidence < out.confidence)
            out.confidence = q->confidence;
        if (q->valid_from_day > out.valid_from_day)
            out.valid_from_day = q->valid_from_day;
        if (q->valid_until_day < out.valid_until_day)
            out.valid_until_day = q->valid_until_day;
    }
    out.value = out.lo = out.hi = equation->compute(x);
    return out;
}

/* The result with each input moved by down[i] or up[i], whichever moves the result in a direction. */
static double moved(const gsrt_equation *equation, const gsrt_quantity *inputs, const double *down, const double *up,
                    bool is_up)
{
    double x[GSRT_EQUATION_INPUT_COUNT_MAX];
    for (uint32_t i = 0; i < equation->input_count; i++)
        x[i] = (equation->directions[i] > 0) == is_up ? inputs[i].value + up[i] : inputs[i].value - down[i];
    return equation->compute(x);
}

/* Down and up of a result, from each input's. */
static void move(const gsrt_equation *equation, const gsrt_quantity *inputs, const double *down, const double *up,
                 double value, double *out_down, double *out_up)
{
    *out_down = value - moved(equation, inputs, down, up, false);
    *out_up = moved(equation, inputs, down, up, true) - value;
}

gsrt_quantity gsrt_equation_apply(const gsrt_equation *equation, const gsrt_quantity *inputs)
{
    const gsrt_quantity *each[GSRT_EQUATION_INPUT_COUNT_MAX];
    for (uint32_t i = 0; i < equation->input_count; i++)
        each[i] = &inputs[i];
    gsrt_quantity out = gsrt__equation_result(equation, each);
    if (!out.is_known)
        return out;
    double below = out.value * (1 - equation->error_lo), above = out.value * (equation->error_hi - 1);
    below *= below;
    above *= above;
    for (uint32_t i = 0; i < equation->input_count; i++) {
        double down[GSRT_EQUATION_INPUT_COUNT_MAX] = {0}, up[GSRT_EQUATION_INPUT_COUNT_MAX] = {0}, lower, higher;
        down[i] = inputs[i].value - inputs[i].lo;
        up[i] = inputs[i].hi - inputs[i].value;
        if (down[i] == 0 && up[i] == 0)
            continue;
        move(equation, inputs, down, up, out.value, &lower, &higher);
        below += lower * lower;
        above += higher * higher;
    }
    out.lo = out.value - sqrt(below);
    out.hi = out.value + sqrt(above);
    return out;
}
