#include "launch/eras.h"

#include "launch/json_tree.h"
#include "placement/contract.h"
#include "placement/plan_choices.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define SCHEMA "gsrt-narrowed/1"

static void era_fini(gsrt_era *era)
{
    free(era->narrowed);
    free(era->first);
    *era = (gsrt_era){0};
}

static gsrt_status era_init(gsrt_era *era, const gsrt_plan_narrowed *narrowed, uint32_t narrowed_count,
                            uint32_t request_count)
{
    *era = (gsrt_era){.narrowed = calloc((size_t)narrowed_count + 1, sizeof *era->narrowed),
                      .narrowed_count = narrowed_count,
                      .first = calloc((size_t)request_count + 1, sizeof *era->first)};
    if (era->narrowed == NULL || era->first == NULL) {
        era_fini(era);
        return GSRT_ENOMEM;
    }
    if (narrowed_count > 0)
        memcpy(era->narrowed, narrowed, narrowed_count * sizeof *narrowed);
    return GSRT_OK;
}

gsrt_status gsrt_eras_init(gsrt_eras *eras, const gsrt_plan *plan, uint32_t request_count)
{
    *eras = (gsrt_eras){.request_count = request_count};
    gsrt_status status = era_init(&eras->items[0], plan->narrowed, plan->narrowed_count, request_count);
    if (status == GSRT_OK) {
        eras->items[0].has_begun = true;
        eras->count = 1;
    }
    return status;
}

void gsrt_eras_fini(gsrt_eras *eras)
{
    while (eras->count > 0)
        era_fini(&eras->items[--eras->count]);
}

gsrt_status gsrt_eras_add(gsrt_eras *eras, uint32_t view, const gsrt_violation_seen *why, const gsrt_plan *plan)
{
    if (eras->count == GSRT_ERA_COUNT_MAX)
        return GSRT_ELIMIT;
    gsrt_era *era = &eras->items[eras->count];
    gsrt_status status = era_init(era, plan->narrowed, plan->narrowed_count, eras->request_count);
    if (status != GSRT_OK)
        return status;
    era->view = view;
    era->why = *why;
    eras->count++;
    return GSRT_OK;
}

void gsrt_eras_begin(gsrt_eras *eras, const uint32_t *token_counts)
{
    gsrt_era *last = &eras->items[eras->count - 1];
    memcpy(last->first, token_counts, eras->request_count * sizeof *token_counts);
    last->has_begun = true;
}

const gsrt_era *gsrt_eras_last(const gsrt_eras *eras)
{
    return &eras->items[eras->count - 1];
}

uint32_t gsrt_eras_of(const gsrt_eras *eras, uint32_t request, uint32_t index)
{
    uint32_t at = eras->count - 1;
    while (at > 0 && (!eras->items[at].has_begun || index < eras->items[at].first[request]))
        at--;
    return at;
}

/* ---- narrowed.json ---- */

json_t *gsrt_narrowed_json(const gsrt_plan_narrowed *narrowed, uint32_t count)
{
    json_t *all = json_array();
    for (uint32_t i = 0; i < count; i++) {
        char room[GSRT_PLAN_PLACE_NAME_BYTES];
        gsrt_tree o = {.value = json_object()};
        gsrt_tree_text(&o, "region", gsrt_plan_place_name(narrowed[i].place, room));
        gsrt_tree_text(&o, "weights", gsrt_dtype_name(narrowed[i].weights));
        all = gsrt_tree_append(all, o.value);
    }
    return all;
}

json_t *gsrt_era_json(const gsrt_era *era, const char *narrowed)
{
    gsrt_tree o = {.value = json_object()};
    gsrt_tree_u64(&o, "view", era->view);
    gsrt_tree_text(&o, "statistic", era->why.statistic);
    gsrt_tree_real(&o, "seen", era->why.seen);
    gsrt_tree_real(&o, "bound", era->why.bound);
    gsrt_tree_u64(&o, "request", era->why.request);
    gsrt_tree_u64(&o, "position", era->why.position);
    gsrt_tree_set(&o, narrowed, gsrt_narrowed_json(era->narrowed, era->narrowed_count));
    return o.value;
}

static json_t *era_json(const gsrt_era *era, uint32_t request_count)
{
    gsrt_tree o = {.value = gsrt_era_json(era, "narrowed")};
    json_t *first = era->has_begun ? json_array() : json_null();
    for (uint32_t i = 0; i < request_count && era->has_begun; i++)
        first = gsrt_tree_append(first, gsrt_json_u64(era->first[i]));
    gsrt_tree_set(&o, "first", first);
    return o.value;
}

gsrt_status gsrt_eras_print(const gsrt_eras *eras, gsrt_buffer *out)
{
    gsrt_tree o = {.value = json_object()};
    json_t *all = json_array();
    for (uint32_t i = 1; i < eras->count; i++)
        all = gsrt_tree_append(all, era_json(&eras->items[i], eras->request_count));
    gsrt_tree_text(&o, "schema", SCHEMA);
    gsrt_tree_set(&o, "eras", all);
    gsrt_status status = gsrt_json_print(o.value, false, out);
    json_decref(o.value);
    return status;
}

static bool read_u32(const json_t *object, const char *key, uint32_t *out)
{
    const json_t *value = json_object_get(object, key);
    json_int_t number = json_is_integer(value) ? json_integer_value(value) : -1;
    *out = number >= 0 && number <= UINT32_MAX ? (uint32_t)number : 0;
    return number >= 0 && number <= UINT32_MAX;
}

static bool read_real(const json_t *object, const char *key, double *out)
{
    const json_t *value = json_object_get(object, key);
    *out = json_is_number(value) ? json_number_value(value) : 0;
    return json_is_number(value);
}

static bool read_statistic(const json_t *object, const char **out)
{
    const char *word = json_string_value(json_object_get(object, "statistic"));
    for (int kind = 0; word != NULL && kind < GSRT_CONTRACT_KIND_COUNT; kind++) {
        if (strcmp(gsrt_contract_kind_word((gsrt_contract_kind)kind), word) == 0) {
            *out = gsrt_contract_kind_word((gsrt_contract_kind)kind);
            return true;
        }
    }
    return false;
}

static bool read_narrowed(const json_t *all, gsrt_plan_narrowed *out)
{
    for (size_t i = 0; i < json_array_size(all); i++) {
        const char *region = json_string_value(json_object_get(json_array_get(all, i), "region"));
        const char *weights = json_string_value(json_object_get(json_array_get(all, i), "weights"));
        bool is_known = false;
        if (region == NULL || weights == NULL || !gsrt_plan_place_named(region, &out[i].place))
            return false;
        for (size_t d = 0; d < GSRT_PLAN_NARROW_COUNT; d++) {
            if (strcmp(weights, gsrt_dtype_name(gsrt_plan_narrow_formats[d])) != 0)
                continue;
            out[i].weights = gsrt_plan_narrow_formats[d];
            is_known = true;
        }
        if (!is_known || (i > 0 && out[i].place <= out[i - 1].place))
            return false;
    }
    return true;
}

static bool read_first(const json_t *value, gsrt_era *era, uint32_t request_count)
{
    era->has_begun = json_is_array(value);
    if (json_is_null(value))
        return true;
    if (!era->has_begun || json_array_size(value) != request_count)
        return false;
    for (uint32_t i = 0; i < request_count; i++) {
        json_int_t number = json_integer_value(json_array_get(value, i));
        if (!json_is_integer(json_array_get(value, i)) || number < 0 || number > GSRT_CONTEXT_MAX)
            return false;
        era->first[i] = (uint32_t)number;
    }
    return true;
}

static gsrt_status read_era(const json_t *object, uint32_t request_count, gsrt_era *out)
{
    gsrt_plan_narrowed narrowed[GSRT_PLAN_PLACE_COUNT];
    const json_t *all = json_object_get(object, "narrowed");
    gsrt_era read = {0};
    bool is_sound = json_is_array(all) && json_array_size(all) <= GSRT_PLAN_PLACE_COUNT &&
                    read_narrowed(all, narrowed) && read_u32(object, "view", &read.view) &&
                    read_statistic(object, &read.why.statistic) && read_real(object, "seen", &read.why.seen) &&
                    read_real(object, "bound", &read.why.bound) && read_u32(object, "request", &read.why.request) &&
                    read_u32(object, "position", &read.why.position);
    if (!is_sound)
        return GSRT_EINPUT;
    gsrt_status status = era_init(out, narrowed, (uint32_t)json_array_size(all), request_count);
    if (status != GSRT_OK)
        return status;
    out->view = read.view;
    out->why = read.why;
    if (read_first(json_object_get(object, "first"), out, request_count))
        return GSRT_OK;
    era_fini(out);
    return GSRT_EINPUT;
}

gsrt_status gsrt_eras_read(gsrt_eras *eras, gsrt_span json, const char *file, gsrt_diag *diag)
{
    json_t *tree;
    gsrt_era read[GSRT_ERA_COUNT_MAX] = {{0}};
    gsrt_status status = gsrt_json_parse(json, file, &tree, diag);
    if (status != GSRT_OK)
        return status;
    const char *schema = json_string_value(json_object_get(tree, "schema"));
    const json_t *all = json_object_get(tree, "eras");
    uint32_t count = 1;
    if (schema == NULL || strcmp(schema, SCHEMA) != 0 || !json_is_array(all) ||
        json_array_size(all) >= GSRT_ERA_COUNT_MAX)
        status = GSRT_EINPUT;
    for (size_t i = 0; status == GSRT_OK && i < json_array_size(all); i++) {
        status = read_era(json_array_get(all, i), eras->request_count, &read[count]);
        count += status == GSRT_OK ? 1 : 0;
    }
    json_decref(tree);
    if (status != GSRT_OK) {
        while (count > 1)
            era_fini(&read[--count]);
        return status == GSRT_EINPUT
                   ? gsrt_diag_set(diag, status, file, NULL, "is not what a leader of this run writes")
                   : status;
    }
    while (eras->count > 1)
        era_fini(&eras->items[--eras->count]);
    memcpy(&eras->items[1], &read[1], (count - 1) * sizeof *read);
    eras->count = count;
    return GSRT_OK;
}
