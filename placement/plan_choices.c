#include "placement/plan_choices.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "placement/contract.h"

static const char layer_prefix[] = "layer.";

uint32_t gsrt_plan_place_of(const gsrt_workload *workload, uint32_t region)
{
    uint32_t layer = workload->regions[region].layer;
    return layer != GSRT_NO_INDEX ? GSRT_PLAN_LAYER + layer : region == 0 ? GSRT_PLAN_EMBED : GSRT_PLAN_OUTPUT;
}

const char *gsrt_plan_place_name(uint32_t place, char room[GSRT_PLAN_PLACE_NAME_BYTES])
{
    if (place == GSRT_PLAN_EMBED || place == GSRT_PLAN_OUTPUT)
        return place == GSRT_PLAN_EMBED ? "embed" : "output";
    (void)snprintf(room, GSRT_PLAN_PLACE_NAME_BYTES, "%s%" PRIu32, layer_prefix, place - GSRT_PLAN_LAYER);
    return room;
}

/* Digits without a leading zero, so that a region has one name. */
static bool layer_of(const char *digits, uint32_t *out)
{
    uint32_t layer = 0;
    if (digits[0] == 0 || (digits[0] == '0' && digits[1] != 0))
        return false;
    for (; *digits != 0; digits++) {
        if (*digits < '0' || *digits > '9' || layer >= GSRT_LAYER_COUNT_MAX)
            return false;
        layer = 10 * layer + (uint32_t)(*digits - '0');
    }
    *out = layer;
    return layer < GSRT_LAYER_COUNT_MAX;
}

bool gsrt_plan_place_named(const char *name, uint32_t *out)
{
    uint32_t layer;
    if (strcmp(name, "embed") == 0 || strcmp(name, "output") == 0) {
        *out = name[0] == 'e' ? GSRT_PLAN_EMBED : GSRT_PLAN_OUTPUT;
        return true;
    }
    if (strncmp(name, layer_prefix, strlen(layer_prefix)) != 0 || !layer_of(name + strlen(layer_prefix), &layer))
        return false;
    *out = GSRT_PLAN_LAYER + layer;
    return true;
}

void gsrt_plan_choices(const gsrt_plan *plan, const gsrt_workload *workload, gsrt_region_choice *choices)
{
    for (uint32_t r = 0; r < workload->region_count; r++) {
        gsrt_region_choice *choice = &choices[r];
        uint32_t place = gsrt_plan_place_of(workload, r);
        *choice = (gsrt_region_choice){.weights_are_as_given = true, .state_is_as_given = true};
        for (uint32_t i = 0; i < plan->narrowed_count; i++) {
            if (plan->narrowed[i].place != place)
                continue;
            choice->weights_are_as_given = false;
            choice->weights = plan->narrowed[i].weights;
        }
        choice->compute = gsrt_region_compute(workload, r, choice);
    }
}

gsrt_status gsrt_plan_take_choices(gsrt_plan *plan, const gsrt_workload *workload, const gsrt_region_choice *choices)
{
    gsrt_plan_narrowed narrowed[GSRT_PLAN_PLACE_COUNT];
    uint32_t count = 0;
    for (uint32_t r = 0; r < workload->region_count && count < GSRT_PLAN_PLACE_COUNT; r++) {
        if (!choices[r].weights_are_as_given)
            narrowed[count++] =
                (gsrt_plan_narrowed){.place = gsrt_plan_place_of(workload, r), .weights = choices[r].weights};
    }
    return gsrt_plan_narrow(plan, narrowed, count);
}
