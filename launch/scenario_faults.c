/* The keys of a scenario's faults and of healing. */
#include "base/limits.h"
#include "launch/scenario_impl.h"

#include <inttypes.h>

static const char *const prefer_words[] = {"auto", "in_place", "spare", "reshape"};
static const gsrt_incident_method prefer_methods[] = {0, GSRT_METHOD_IN_PLACE, GSRT_METHOD_SPARE, GSRT_METHOD_RESHAPED};
enum { PREFER_COUNT = sizeof prefer_words / sizeof prefer_words[0] };

const char *gsrt__prefer_word(gsrt_incident_method prefer)
{
    for (size_t i = 1; i < PREFER_COUNT; i++) {
        if (prefer_methods[i] == prefer)
            return prefer_words[i];
    }
    return prefer_words[0];
}

static gsrt_status read_seconds(gsrt_yaml_reader *reader, const gsrt_yaml_node *node, double min, double max,
                                double *out)
{
    const gsrt_yaml_field field = {NULL, GSRT_YAML_FIELD_F64, 0, min, max, NULL, NULL};
    return gsrt_yaml_read_field(reader, node, &field, out);
}

static gsrt_status read_ns(gsrt_yaml_reader *reader, const gsrt_yaml_node *node, double min, double max, uint64_t *out)
{
    double seconds;
    gsrt_status status = read_seconds(reader, node, min, max, &seconds);
    if (status == GSRT_OK)
        *out = (uint64_t)(seconds * 1e9 + 0.5);
    return status;
}

/* ---- when ---- */

static gsrt_status read_at(gsrt_yaml_reader *reader, const gsrt_yaml_node *node, void *object)
{
    gsrt_moment *when = object;
    return read_ns(reader, node, 0, GSRT_FAULT_SECONDS_MAX, &when->at_ns);
}

static const gsrt_yaml_field moment_fields[] = {
    {"request", GSRT_YAML_FIELD_U32, offsetof(gsrt_moment, request), 0, GSRT_REQUEST_COUNT_MAX - 1, NULL, NULL},
    {"token", GSRT_YAML_FIELD_U32, offsetof(gsrt_moment, token), 1, GSRT_CONTEXT_MAX, NULL, NULL},
    {"seconds", GSRT_YAML_FIELD_CALL, 0, 0, 0, read_at, NULL},
    {"view", GSRT_YAML_FIELD_U32, offsetof(gsrt_moment, epoch), 2, GSRT_FAULT_EPOCH_MAX, NULL, NULL},
};

gsrt_status gsrt__scenario_read_moment(gsrt_yaml_reader *reader, const gsrt_yaml_node *node, gsrt_moment *when)
{
    gsrt_status status = GSRT_YAML_READ_FIELDS(reader, node, moment_fields, when);
    if (status != GSRT_OK)
        return status;
    bool has_request = gsrt_yaml_find(node, "request") != NULL, has_token = gsrt_yaml_find(node, "token") != NULL;
    bool has_time = gsrt_yaml_find(node, "seconds") != NULL, has_view = gsrt_yaml_find(node, "view") != NULL;
    bool is_of_token = has_request || has_token;
    if (is_of_token + has_time + has_view == 0)
        return gsrt_yaml_refuse(reader, node, "names no moment; add 'request: R, token: N', 'seconds: S' or 'view: E'");
    if (is_of_token + has_time + has_view > 1)
        return gsrt_yaml_refuse(reader, node, "has both '%s' and '%s'; keep one of them",
                                !is_of_token  ? "seconds"
                                : has_request ? "request"
                                              : "token",
                                is_of_token && has_time ? "seconds" : "view");
    if (is_of_token && !(has_request && has_token))
        return gsrt_yaml_refuse(reader, node, "key '%s' is missing; add '%s'", has_request ? "token" : "request",
                                has_request ? "token: 1" : "request: 0");
    when->kind = is_of_token ? GSRT_MOMENT_TOKEN : has_time ? GSRT_MOMENT_TIME : GSRT_MOMENT_VIEW;
    return GSRT_OK;
}

static gsrt_status read_when(gsrt_yaml_reader *reader, const gsrt_yaml_node *node, void *object)
{
    return gsrt__scenario_read_moment(reader, node, &((gsrt_fault *)object)->when);
}

/* ---- what ---- */

static gsrt_status read_rank(gsrt_yaml_reader *reader, const gsrt_yaml_node *node, gsrt_fault *fault,
                             gsrt_fault_kind kind)
{
    static const gsrt_yaml_field field = {
        NULL, GSRT_YAML_FIELD_U32, offsetof(gsrt_fault, rank), 0, GSRT_RANK_COUNT_MAX - 1, NULL, NULL};
    fault->kind = kind;
    return gsrt_yaml_read_field(reader, node, &field, fault);
}

static gsrt_status read_kill(gsrt_yaml_reader *reader, const gsrt_yaml_node *node, void *object)
{
    return read_rank(reader, node, object, GSRT_FAULT_KILL);
}

static gsrt_status read_stop(gsrt_yaml_reader *reader, const gsrt_yaml_node *node, void *object)
{
    return read_rank(reader, node, object, GSRT_FAULT_STOP);
}

static gsrt_status read_slow(gsrt_yaml_reader *reader, const gsrt_yaml_node *node, void *object)
{
    return read_rank(reader, node, object, GSRT_FAULT_SLOW);
}

static gsrt_status read_corrupt(gsrt_yaml_reader *reader, const gsrt_yaml_node *node, void *object)
{
    return read_rank(reader, node, object, GSRT_FAULT_CORRUPT);
}

/* Of a partition. */
typedef struct group {
    const uint32_t *ranks; /* [count] */
    uint32_t count;
} group;

static gsrt_status read_group(gsrt_yaml_reader *reader, const gsrt_yaml_node *node, void *object)
{
    group *g = object;
    return gsrt_yaml_read_u32s(reader, node, reader->arena, GSRT_RANK_COUNT_MAX - 1, 1, GSRT_RANK_COUNT_MAX, &g->ranks,
                               &g->count);
}

/* Put the ranks of group number `index` of the sequence `node` on side index + 1. */
static gsrt_status take_side(gsrt_yaml_reader *reader, const gsrt_yaml_node *node, const group *g, uint32_t index,
                             uint8_t *sides)
{
    gsrt_status status = GSRT_OK;
    size_t group_mark = gsrt_yaml_path_enter(reader, NULL, index);
    const gsrt_yaml_node *child = node->child_first;
    for (uint32_t i = 0; i < g->count && status == GSRT_OK; i++, child = child->next) {
        uint8_t *side = &sides[g->ranks[i]];
        size_t mark = gsrt_yaml_path_enter(reader, NULL, i);
        if (*side == index + 1)
            status = gsrt_yaml_refuse(reader, child, "rank %" PRIu32 " is named twice; name it once", g->ranks[i]);
        else if (*side != 0)
            status =
                gsrt_yaml_refuse(reader, child, "rank %" PRIu32 " is already in group %d; put each rank on one side",
                                 g->ranks[i], *side - 1);
        gsrt_yaml_path_leave(reader, mark);
        *side = (uint8_t)(index + 1);
    }
    gsrt_yaml_path_leave(reader, group_mark);
    return status;
}

static gsrt_status read_partition(gsrt_yaml_reader *reader, const gsrt_yaml_node *node, void *object)
{
    gsrt_fault *fault = object;
    void *items;
    uint32_t count;
    gsrt_arena *arena = reader->arena;
    gsrt_status status = gsrt_yaml_read_items(reader, node, arena, sizeof(group), 1, GSRT_FAULT_SIDE_COUNT_MAX,
                                              read_group, &items, &count);
    if (status != GSRT_OK)
        return status;
    uint8_t *sides = gsrt_arena_take(arena, GSRT_RANK_COUNT_MAX, sizeof *sides);
    if (sides == NULL)
        return GSRT_ENOMEM;
    const group *groups = items;
    const gsrt_yaml_node *child = node->child_first;
    for (uint32_t i = 0; i < count && status == GSRT_OK; i++, child = child->next)
        status = take_side(reader, child, &groups[i], i, sides);
    fault->kind = GSRT_FAULT_PARTITION;
    fault->sides = sides;
    return status;
}

/* ---- a fault ---- */

static gsrt_status read_duration(gsrt_yaml_reader *reader, const gsrt_yaml_node *node, void *object)
{
    gsrt_fault *fault = object;
    return read_ns(reader, node, 1e-3, GSRT_DRILL_MS_MAX / 1e3, &fault->duration_ns);
}

static const gsrt_yaml_field fault_fields[] = {
    {"kill", GSRT_YAML_FIELD_CALL, 0, 0, 0, read_kill, NULL},
    {"stop", GSRT_YAML_FIELD_CALL, 0, 0, 0, read_stop, NULL},
    {"partition", GSRT_YAML_FIELD_CALL, 0, 0, 0, read_partition, NULL},
    {"slow", GSRT_YAML_FIELD_CALL, 0, 0, 0, read_slow, NULL},
    {"corrupt", GSRT_YAML_FIELD_CALL, 0, 0, 0, read_corrupt, NULL},
    {"factor", GSRT_YAML_FIELD_F64, offsetof(gsrt_fault, factor), 1, GSRT_FAULT_FACTOR_MAX, NULL, NULL},
    {"for", GSRT_YAML_FIELD_CALL, 0, 0, 0, read_duration, NULL},
    {"times", GSRT_YAML_FIELD_U32, offsetof(gsrt_fault, times), 1, GSRT_FAULT_TIMES_MAX, NULL, NULL},
    {"when", GSRT_YAML_FIELD_CALL, 0, 0, 0, read_when, "{seconds: 1}"},
};

/* Exactly one of the first keys of fault_fields. */
static gsrt_status check_kind(gsrt_yaml_reader *reader, const gsrt_yaml_node *node)
{
    static const char *const kinds[] = {"kill", "stop", "partition", "slow", "corrupt"};
    const char *first = NULL;
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (gsrt_yaml_find(node, kinds[i]) == NULL)
            continue;
        if (first != NULL)
            return gsrt_yaml_refuse(reader, node, "has both '%s' and '%s'; give each its own item", first, kinds[i]);
        first = kinds[i];
    }
    if (first == NULL)
        return gsrt_yaml_refuse(reader, node,
                                "does nothing; add 'kill: RANK', 'stop: RANK', 'slow: RANK', 'corrupt: RANK' or "
                                "'partition: [[RANK]]'");
    return GSRT_OK;
}

/* Keys that the kind needs, and keys that it has no use for. */
static gsrt_status check_keys(gsrt_yaml_reader *reader, const gsrt_yaml_node *node, gsrt_fault *fault)
{
    bool has_for = gsrt_yaml_find(node, "for") != NULL, has_factor = gsrt_yaml_find(node, "factor") != NULL;
    bool has_times = gsrt_yaml_find(node, "times") != NULL;
    bool is_kill = fault->kind == GSRT_FAULT_KILL, is_slow = fault->kind == GSRT_FAULT_SLOW;
    bool is_corrupt = fault->kind == GSRT_FAULT_CORRUPT;
    if (is_corrupt && has_for)
        return gsrt_yaml_refuse_key(reader, node, "for", "what is damaged stays so; remove it");
    if (is_kill && has_for)
        return gsrt_yaml_refuse_key(reader, node, "for", "a kill is over at once; remove it");
    if (!is_kill && has_times)
        return gsrt_yaml_refuse_key(reader, node, "times",
                                    "only a kill can be done again; remove it, or add another item");
    if (!is_slow && has_factor)
        return gsrt_yaml_refuse_key(reader, node, "factor", "only 'slow' has a factor; remove it");
    if (!is_kill && !is_corrupt && !has_for)
        return gsrt_yaml_refuse(reader, node, "key 'for' is missing; add 'for: SECONDS'");
    if (is_slow && !has_factor)
        return gsrt_yaml_refuse(reader, node, "key 'factor' is missing; add 'factor: 2'");
    if (is_slow && fault->factor <= 1)
        return gsrt_yaml_refuse_key(reader, node, "factor", "must be above 1: how many times longer the rank takes");
    if (is_kill && !has_times)
        fault->times = 1;
    return GSRT_OK;
}

static gsrt_status read_fault(gsrt_yaml_reader *reader, const gsrt_yaml_node *node, void *object)
{
    gsrt_status status = GSRT_YAML_READ_FIELDS(reader, node, fault_fields, object);
    if (status == GSRT_OK)
        status = check_kind(reader, node);
    return status == GSRT_OK ? check_keys(reader, node, object) : status;
}

gsrt_status gsrt__scenario_read_faults(gsrt_yaml_reader *reader, const gsrt_yaml_node *node, void *object)
{
    gsrt_scenario *scenario = object;
    void *items;
    gsrt_status status = gsrt_yaml_read_items(reader, node, &scenario->arena, sizeof *scenario->faults, 0,
                                              GSRT_FAULT_COUNT_MAX, read_fault, &items, &scenario->fault_count);
    if (status == GSRT_OK)
        scenario->faults = items;
    return status;
}

/* Is there such a request, and can it have so many tokens? */
static gsrt_status check_token(gsrt_yaml_reader *reader, const gsrt_yaml_node *node, const gsrt_moment *when)
{
    const gsrt_scenario *scenario = gsrt__scenario_of(reader);
    bool is_known = when->request < scenario->request_count;
    if (is_known && when->token <= scenario->requests[when->request].max_tokens)
        return GSRT_OK;
    if (is_known)
        return gsrt_yaml_refuse_key(reader, node, "token", "%s has at most %" PRIu32 " tokens; name one of them",
                                    scenario->requests[when->request].place,
                                    scenario->requests[when->request].max_tokens);
    return gsrt_yaml_refuse_key(reader, node, "request", "there is no request %" PRIu32 "; the last one is %" PRIu32,
                                when->request, scenario->request_count - 1);
}

gsrt_status gsrt__scenario_check_moment(gsrt_yaml_reader *reader, const gsrt_yaml_node *node, const gsrt_moment *when)
{
    size_t mark = gsrt_yaml_path_enter(reader, "when", 0);
    gsrt_status status =
        when->kind == GSRT_MOMENT_TOKEN ? check_token(reader, gsrt_yaml_find(node, "when"), when) : GSRT_OK;
    gsrt_yaml_path_leave(reader, mark);
    return status;
}

gsrt_status gsrt__scenario_check_faults(gsrt_yaml_reader *reader, const gsrt_yaml_node *root)
{
    const gsrt_yaml_node *list = gsrt_yaml_find(root, "faults");
    gsrt_status status = GSRT_OK;
    size_t mark = gsrt_yaml_path_enter(reader, "faults", 0);
    const gsrt_yaml_node *child = list == NULL ? NULL : list->child_first;
    for (uint32_t i = 0; child != NULL && status == GSRT_OK; i++, child = child->next) {
        size_t item_mark = gsrt_yaml_path_enter(reader, NULL, i);
        status = gsrt__scenario_check_moment(reader, child, &gsrt__scenario_of(reader)->faults[i].when);
        gsrt_yaml_path_leave(reader, item_mark);
    }
    gsrt_yaml_path_leave(reader, mark);
    return status;
}

/* ---- healing ---- */

static gsrt_status read_window(gsrt_yaml_reader *reader, const gsrt_yaml_node *node, void *object)
{
    gsrt_scenario *scenario = object;
    double seconds;
    gsrt_status status = read_seconds(reader, node, 1e-3, GSRT_RANK_RESTART_WINDOW_S_MAX, &seconds);
    if (status == GSRT_OK)
        scenario->restart_window_ms = (uint32_t)(seconds * 1e3 + 0.5);
    return status;
}

static gsrt_status read_prefer(gsrt_yaml_reader *reader, const gsrt_yaml_node *node, void *object)
{
    gsrt_scenario *scenario = object;
    size_t index;
    gsrt_status status = gsrt_yaml_read_word(reader, node, prefer_words, PREFER_COUNT, &index);
    if (status == GSRT_OK)
        scenario->prefer = prefer_methods[index];
    return status;
}

static const gsrt_yaml_field healing_fields[] = {
    {"restarts", GSRT_YAML_FIELD_U32, offsetof(gsrt_scenario, restart_max), 0, GSRT_RANK_RESTART_COUNT_MAX, NULL, NULL},
    {"restart_window_s", GSRT_YAML_FIELD_CALL, 0, 0, 0, read_window, NULL},
    {"prefer", GSRT_YAML_FIELD_CALL, 0, 0, 0, read_prefer, NULL},
    {"contact_ms", GSRT_YAML_FIELD_U32, offsetof(gsrt_scenario, contact_ms), GSRT_CONTACT_MS_MIN, GSRT_CONTACT_MS_MAX,
     NULL, NULL},
};

gsrt_status gsrt__scenario_read_healing(gsrt_yaml_reader *reader, const gsrt_yaml_node *node, void *object)
{
    return GSRT_YAML_READ_FIELDS(reader, node, healing_fields, object);
}
