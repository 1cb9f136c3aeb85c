/* The file of an incident. Times are milliseconds with three decimals: an incident's are whole microseconds, so nothing
 * is lost (2^60 ns are 2^50 us, and a double holds 2^53).
 *
 * Reading takes what is stored out of the tree, with every range checked, writes that again, and compares: so what
 * follows from the rest (gsrt_incident.h, 3) is checked by the code that computes it. */
#include "health/incident_impl.h"

#include "base/json.h"
#include "base/nearest.h"

#include <math.h>
#include <stdio.h>

/* ---- writing: a failed allocation yields NULL, which the setters pass on ---- */

/* Takes `value`; after a failure *object is NULL. */
static void set(json_t **object, const char *key, json_t *value)
{
    if (*object == NULL) {
        json_decref(value);
        return;
    }
    if (value == NULL || json_object_set_new(*object, key, value) != 0) {
        json_decref(*object);
        *object = NULL;
    }
}

/* Takes `item`; the same for an array. */
static void append(json_t **array, json_t *item)
{
    if (*array == NULL) {
        json_decref(item);
        return;
    }
    if (item == NULL || json_array_append_new(*array, item) != 0) {
        json_decref(*array);
        *array = NULL;
    }
}

static json_t *ms_json(uint64_t ns)
{
    return ns == GSRT_INCIDENT_UNKNOWN_NS ? json_null() : gsrt_json_real((double)(ns / GSRT__INCIDENT_US_NS) / 1000);
}

static json_t *fault_json(const gsrt_incident_fault *fault)
{
    json_t *o = json_object();
    set(&o, "rank", gsrt_json_u64(fault->rank));
    set(&o, "incarnation", gsrt_json_u64(fault->incarnation));
    set(&o, "kind", gsrt_json_text(gsrt_incident_kind_name(gsrt_incident_fault_kind(fault))));
    set(&o, "drill", gsrt_json_text(gsrt_incident_kind_name(fault->drill)));
    set(&o, "detector", gsrt_json_text(gsrt_incident_detector_name(fault->detector)));
    set(&o, "observer", gsrt_json_u64(fault->observer));
    set(&o, "proof", gsrt_json_text(gsrt_incident_proof_name(fault->proof)));
    set(&o, "last", json_boolean(fault->is_last));
    set(&o, "fault_ms", ms_json(fault->fault_ns));
    set(&o, "seen_ms", ms_json(fault->seen_ns));
    set(&o, "for_ms", gsrt_json_u64(fault->for_ms));
    set(&o, "request", gsrt_json_u64(fault->request));
    set(&o, "token", gsrt_json_u64(fault->token));
    set(&o, "view", gsrt_json_u64(fault->view));
    return o;
}

static json_t *rto_json(const gsrt_incident *incident)
{
    json_t *o = json_object();
    for (int phase = 0; phase < GSRT_PHASE_COUNT; phase++) {
        uint64_t ns = phase == GSRT_PHASE_DETECTION ? gsrt_incident_detection_ns(incident) : incident->phase_ns[phase];
        set(&o, gsrt_incident_phase_name((gsrt_incident_phase)phase), ms_json(ns));
    }
    set(&o, "total", ms_json(gsrt_incident_recovery_ns(incident)));
    return o;
}

static json_t *way_json(const gsrt_incident_way *way)
{
    json_t *o = json_object();
    set(&o, "way", gsrt_json_text(gsrt_incident_method_name(way->method)));
    set(&o, "view", gsrt_json_u64(way->view));
    set(&o, "predicted_ms", ms_json(way->predicted_ns));
    set(&o, "chosen", json_boolean(way->is_chosen));
    set(&o, "why", gsrt_json_text(way->why));
    return o;
}

static json_t *entry_json(const gsrt_incident_entry *entry)
{
    json_t *o = json_object();
    set(&o, "t_ms", ms_json(entry->at_ns));
    set(&o, "rank", gsrt_json_u64(entry->rank));
    set(&o, "what", gsrt_json_text(gsrt_incident_event_name(entry->what)));
    set(&o, "detail", gsrt_json_text(entry->detail));
    return o;
}

static json_t *reproduce_json(const gsrt_incident *incident)
{
    gsrt_buffer text;
    json_t *made = NULL;
    gsrt_buffer_init(&text, GSRT_JSON_BYTES_MAX);
    if (gsrt_incident_print_faults(incident, &text) == GSRT_OK)
        made = json_stringn((const char *)text.data, text.len);
    gsrt_buffer_fini(&text);
    return made;
}

static json_t *incident_json(const gsrt_incident *incident)
{
    json_t *faults = json_array(), *ways = json_array(), *timeline = json_array(), *o = json_object();
    for (uint32_t i = 0; i < incident->fault_count; i++)
        append(&faults, fault_json(&incident->faults[i]));
    for (uint32_t i = 0; i < incident->way_count; i++)
        append(&ways, way_json(&incident->ways[i]));
    for (uint32_t i = 0; i < incident->entry_count; i++)
        append(&timeline, entry_json(&incident->timeline[i]));
    set(&o, "schema", json_string(GSRT_INCIDENT_SCHEMA));
    set(&o, "incident", gsrt_json_u64(incident->number));
    set(&o, "kind", gsrt_json_text(gsrt_incident_kind_name(gsrt_incident_kind_of(incident))));
    set(&o, "state", gsrt_json_text(gsrt_incident_state_name(incident->state)));
    set(&o, "method", gsrt_json_text(gsrt_incident_method_name(incident->method)));
    set(&o, "faults", faults);
    set(&o, "rpo_tokens", gsrt_json_u64(incident->lost_tokens));
    set(&o, "rto_ms", rto_json(incident));
    set(&o, "return_ms", ms_json(incident->return_ns == 0 ? GSRT_INCIDENT_UNKNOWN_NS : incident->return_ns));
    set(&o, "recomputed_tokens", gsrt_json_u64(incident->recomputed_tokens));
    set(&o, "lost_rows", gsrt_json_u64(incident->lost_rows));
    set(&o, "checked", json_boolean(incident->is_checked));
    set(&o, "restored", json_boolean(incident->is_restored));
    set(&o, "alternatives", ways);
    set(&o, "alternatives_left_out", gsrt_json_u64(incident->ways_left_out));
    set(&o, "timeline", timeline);
    set(&o, "timeline_left_out", gsrt_json_u64(incident->entries_left_out));
    set(&o, "reproduce", reproduce_json(incident));
    return o;
}

gsrt_status gsrt_incident_write(const gsrt_incident *incident, gsrt_buffer *out)
{
    json_t *tree = incident_json(incident);
    if (tree == NULL)
        return GSRT_ENOMEM;
    gsrt_status status = gsrt_json_print(tree, false, out);
    json_decref(tree);
    return status;
}

/* ---- reading ---- */

enum { NO_INDEX = GSRT_INCIDENT_ENTRIES_MAX + GSRT_RANK_COUNT_MAX };

/* The first error stays, and every read after it gives 0. */
typedef struct reader {
    const char *file;
    gsrt_diag *diag;
    gsrt_status status;
    const char *list; /* where the object is: list[index], list itself (NO_INDEX), or NULL: at the root */
    uint32_t index;
} reader;

static void refuse(reader *r, const char *key, const char *what)
{
    char place[128];
    if (r->status != GSRT_OK)
        return;
    if (r->list != NULL && r->index != NO_INDEX)
        (void)snprintf(place, sizeof place, "%s[%u].%.64s", r->list, (unsigned)r->index, key);
    else if (r->list != NULL)
        (void)snprintf(place, sizeof place, "%s.%.64s", r->list, key);
    else
        (void)snprintf(place, sizeof place, "%.64s", key);
    r->status = gsrt_diag_set(r->diag, GSRT_EINPUT, r->file, place, "%s", what);
}

static const json_t *get(reader *r, const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    if (value == NULL)
        refuse(r, key, "is missing");
    return value;
}

static uint64_t get_u64(reader *r, const json_t *object, const char *key, uint64_t min, uint64_t max)
{
    const json_t *value = get(r, object, key);
    json_int_t number = json_integer_value(value);
    char what[96];
    if (r->status == GSRT_OK && json_is_integer(value) && number >= 0 && (uint64_t)number >= min &&
        (uint64_t)number <= max)
        return (uint64_t)number;
    (void)snprintf(what, sizeof what, "must be an integer from %llu to %llu", (unsigned long long)min,
                   (unsigned long long)max);
    refuse(r, key, what);
    return 0;
}

static uint32_t get_u32(reader *r, const json_t *object, const char *key, uint32_t max)
{
    return (uint32_t)get_u64(r, object, key, 0, max);
}

static bool get_bool(reader *r, const json_t *object, const char *key)
{
    const json_t *value = get(r, object, key);
    if (r->status == GSRT_OK && !json_is_boolean(value))
        refuse(r, key, "must be true or false");
    return json_is_true(value);
}

/* Milliseconds to whole microseconds, in ns. */
static uint64_t get_ns(reader *r, const json_t *object, const char *key, bool is_optional)
{
    const json_t *value = get(r, object, key);
    if (is_optional && json_is_null(value))
        return GSRT_INCIDENT_UNKNOWN_NS;
    double ms = json_number_value(value);
    if (r->status == GSRT_OK && json_is_number(value) && ms >= 0 && ms <= (double)(GSRT__INCIDENT_NS_MAX / 1000000))
        return (uint64_t)llround(ms * 1000) * GSRT__INCIDENT_US_NS;
    refuse(r, key, is_optional ? "must be milliseconds, not negative, or null" : "must be milliseconds, not negative");
    return 0;
}

/* 0 for null, where that is allowed. `name_of` is one of the functions of incident.h, by number. */
static unsigned get_name(reader *r, const json_t *object, const char *key, const char *(*name_of)(unsigned),
                         bool is_optional)
{
    const json_t *value = get(r, object, key);
    if (is_optional && json_is_null(value))
        return 0;
    for (unsigned i = 1; json_is_string(value) && name_of(i) != NULL; i++) {
        if (strcmp(json_string_value(value), name_of(i)) == 0)
            return i;
    }
    char what[256];
    int len = snprintf(what, sizeof what, "must be one of");
    for (unsigned i = 1; name_of(i) != NULL && len > 0 && (size_t)len < sizeof what; i++)
        len += snprintf(what + len, sizeof what - (size_t)len, "%s %s", i == 1 ? "" : ",", name_of(i));
    refuse(r, key, what);
    return 0;
}

#define NAME_OF(noun, type)                                                                                            \
    static const char *noun##_name(unsigned number)                                                                    \
    {                                                                                                                  \
        return gsrt_incident_##noun##_name((type)number);                                                              \
    }
NAME_OF(kind, gsrt_incident_kind)
NAME_OF(detector, gsrt_incident_detector)
NAME_OF(proof, gsrt_incident_proof)
NAME_OF(method, gsrt_incident_method)
NAME_OF(state, gsrt_incident_state)
NAME_OF(event, gsrt_incident_event_kind)

static void get_text(reader *r, const json_t *object, const char *key, char out[GSRT_INCIDENT_TEXT_BYTES])
{
    const json_t *value = get(r, object, key);
    gsrt__incident_text(out, json_string_value(value));
    if (r->status == GSRT_OK && (!json_is_string(value) || json_string_length(value) != strlen(out) ||
                                 strcmp(json_string_value(value), out) != 0))
        refuse(r, key, "must be printable ASCII of less than 160 bytes");
}

_Static_assert(GSRT_INCIDENT_TEXT_BYTES == 160, "the error above says so");

/* An array of at most `max` objects. */
static uint32_t get_count(reader *r, const json_t *object, const char *key, uint32_t max)
{
    const json_t *array = get(r, object, key);
    if (r->status == GSRT_OK && !json_is_array(array))
        refuse(r, key, "must be a list");
    size_t count = json_array_size(array);
    for (size_t i = 0; i < count && r->status == GSRT_OK; i++) {
        if (!json_is_object(json_array_get(array, i)))
            refuse(r, key, "must hold objects only");
    }
    if (r->status == GSRT_OK && count > max)
        refuse(r, key, "has too many items");
    return r->status == GSRT_OK ? (uint32_t)count : 0;
}

static const json_t *item(reader *r, const json_t *root, const char *list, uint32_t index)
{
    r->list = list;
    r->index = index;
    return json_array_get(json_object_get(root, list), index);
}

static void read_fault(reader *r, const json_t *o, gsrt_incident *incident)
{
    gsrt_incident_fault fault = {
        .rank = get_u32(r, o, "rank", GSRT_RANK_COUNT_MAX - 1),
        .incarnation = get_u32(r, o, "incarnation", UINT32_MAX - 1),
        .drill = (gsrt_incident_kind)get_name(r, o, "drill", kind_name, true),
        .detector = (gsrt_incident_detector)get_name(r, o, "detector", detector_name, false),
        .observer = get_u32(r, o, "observer", GSRT_RANK_COUNT_MAX - 1),
        .proof = (gsrt_incident_proof)get_name(r, o, "proof", proof_name, false),
        .is_last = get_bool(r, o, "last"),
        .fault_ns = get_ns(r, o, "fault_ms", true),
        .seen_ns = get_ns(r, o, "seen_ms", false),
        .for_ms = get_u32(r, o, "for_ms", UINT32_MAX),
        .request = get_u32(r, o, "request", GSRT_REQUEST_COUNT_MAX - 1),
        .token = get_u32(r, o, "token", GSRT_CONTEXT_MAX),
        .view = get_u32(r, o, "view", UINT32_MAX),
    };
    if (fault.fault_ns != GSRT_INCIDENT_UNKNOWN_NS && fault.fault_ns > fault.seen_ns)
        refuse(r, "seen_ms", "is before the fault");
    if (r->index > 0 && fault.seen_ns < incident->faults[r->index - 1].seen_ns)
        refuse(r, "seen_ms", "is before that of the fault before it");
    if (gsrt__incident_find(incident, fault.rank, fault.incarnation) != NULL)
        refuse(r, "rank", "is here a second time, with the same incarnation");
    if (r->status == GSRT_OK)
        r->status = gsrt__incident_add_fault(incident, &fault, NULL);
}

static void read_way(reader *r, const json_t *o, gsrt_incident *incident)
{
    gsrt_incident_way way = {
        .method = (gsrt_incident_method)get_name(r, o, "way", method_name, false),
        .view = get_u32(r, o, "view", UINT32_MAX),
        .predicted_ns = get_ns(r, o, "predicted_ms", true),
        .is_chosen = get_bool(r, o, "chosen"),
    };
    get_text(r, o, "why", way.why);
    if (r->status == GSRT_OK)
        r->status = gsrt__incident_add_way(incident, &way);
}

static void read_entry(reader *r, const json_t *o, gsrt_incident *incident)
{
    gsrt_incident_entry entry = {
        .at_ns = get_ns(r, o, "t_ms", false),
        .rank = get_u32(r, o, "rank", GSRT_RANK_COUNT_MAX - 1),
        .what = (gsrt_incident_event_kind)get_name(r, o, "what", event_name, false),
    };
    get_text(r, o, "detail", entry.detail);
    if (r->index > 0 && entry.at_ns < incident->timeline[r->index - 1].at_ns)
        refuse(r, "t_ms", "is before that of the entry before it");
    if (r->status == GSRT_OK)
        r->status = gsrt__incident_add_entry(incident, &entry);
}

static void read_lists(reader *r, const json_t *root, gsrt_incident *incident)
{
    uint32_t fault_count = get_count(r, root, "faults", GSRT_RANK_COUNT_MAX);
    uint32_t way_count = get_count(r, root, "alternatives", GSRT_INCIDENT_WAYS_MAX);
    uint32_t entry_count = get_count(r, root, "timeline", GSRT_INCIDENT_ENTRIES_MAX);
    if (fault_count == 0)
        refuse(r, "faults", "must name at least one");
    for (uint32_t i = 0; i < fault_count && r->status == GSRT_OK; i++)
        read_fault(r, item(r, root, "faults", i), incident);
    for (uint32_t i = 0; i < way_count && r->status == GSRT_OK; i++)
        read_way(r, item(r, root, "alternatives", i), incident);
    for (uint32_t i = 0; i < entry_count && r->status == GSRT_OK; i++)
        read_entry(r, item(r, root, "timeline", i), incident);
    r->list = NULL;
}

/* After the faults. The detection is null, which counts as 0, exactly when the first fault's instant is not known. */
static void read_phases(reader *r, const json_t *root, gsrt_incident *incident)
{
    const json_t *rto = get(r, root, "rto_ms");
    if (r->status == GSRT_OK && !json_is_object(rto))
        refuse(r, "rto_ms", "must be an object");
    r->list = "rto_ms";
    r->index = NO_INDEX;
    for (int phase = 0; phase < GSRT_PHASE_COUNT; phase++) {
        const char *name = gsrt_incident_phase_name((gsrt_incident_phase)phase);
        uint64_t ns = get_ns(r, rto, name, phase == GSRT_PHASE_DETECTION);
        incident->phase_ns[phase] = ns == GSRT_INCIDENT_UNKNOWN_NS ? 0 : ns;
    }
    if (r->status == GSRT_OK) {
        const gsrt_incident_fault *first = &incident->faults[0];
        uint64_t wanted_ns = first->fault_ns == GSRT_INCIDENT_UNKNOWN_NS ? 0 : first->seen_ns - first->fault_ns;
        if (incident->phase_ns[GSRT_PHASE_DETECTION] != wanted_ns)
            refuse(r, "detection", "is not the time from the first fault to the first sight of it");
    }
    r->list = NULL;
}

static void read_root(reader *r, const json_t *root, gsrt_incident *incident)
{
    incident->number = (uint32_t)get_u64(r, root, "incident", 1, GSRT_INCIDENT_COUNT_MAX);
    incident->state = (gsrt_incident_state)get_name(r, root, "state", state_name, false);
    incident->method = (gsrt_incident_method)get_name(r, root, "method", method_name, true);
    incident->lost_tokens = get_u64(r, root, "rpo_tokens", 0, GSRT__INCIDENT_TOTAL_MAX);
    uint64_t return_ns = get_ns(r, root, "return_ms", true);
    incident->return_ns = return_ns == GSRT_INCIDENT_UNKNOWN_NS ? 0 : return_ns;
    incident->recomputed_tokens = get_u64(r, root, "recomputed_tokens", 0, GSRT__INCIDENT_TOTAL_MAX);
    incident->lost_rows = get_u64(r, root, "lost_rows", 0, GSRT__INCIDENT_TOTAL_MAX);
    incident->is_checked = get_bool(r, root, "checked");
    incident->is_restored = get_bool(r, root, "restored");
    incident->ways_left_out = get_u32(r, root, "alternatives_left_out", UINT32_MAX);
    incident->entries_left_out = get_u32(r, root, "timeline_left_out", UINT32_MAX);
    read_lists(r, root, incident);
    read_phases(r, root, incident);
}

/* Write it again and compare: a key that nobody knows, or a value that does not follow from the others, is found here.
 */
static void compare(reader *r, const json_t *root, const gsrt_incident *incident)
{
    static const char *const parts[] = {
        "schema",    "incident",          "kind",     "state",        "method",
        "faults",    "rpo_tokens",        "rto_ms",   "return_ms",    "recomputed_tokens",
        "lost_rows", "checked",           "restored", "alternatives", "alternatives_left_out",
        "timeline",  "timeline_left_out", "reproduce"};
    gsrt_buffer text;
    json_t *again = NULL;
    const char *key;
    json_t *value;
    gsrt_buffer_init(&text, GSRT_JSON_BYTES_MAX);
    r->status = gsrt_incident_write(incident, &text);
    if (r->status == GSRT_OK)
        r->status = gsrt_json_parse(gsrt_buffer_span(&text), r->file, &again, r->diag);
    gsrt_buffer_fini(&text);
    json_object_foreach((json_t *)(uintptr_t)root, key, value)
    {
        const json_t *other = json_object_get(again, key);
        const char *nearest = gsrt_nearest(key, parts, sizeof parts / sizeof parts[0]);
        if (r->status == GSRT_OK && other == NULL)
            r->status = gsrt_diag_set(r->diag, GSRT_EINPUT, r->file, NULL, "unknown key '%.64s'; %s%s%s", key,
                                      nearest == NULL ? "remove it" : "did you mean '", nearest == NULL ? "" : nearest,
                                      nearest == NULL ? "" : "'?");
        if (r->status == GSRT_OK && !json_equal(value, other))
            refuse(r, key,
                   "does not follow from the rest of the file, or has a key that is not known; use the file as "
                   "it was written");
    }
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        (void)get(r, root, parts[i]);
    json_decref(again);
}

gsrt_status gsrt_incident_read(gsrt_span bytes, const char *file, gsrt_incident **out, gsrt_diag *diag)
{
    reader r = {.file = file, .diag = diag};
    json_t *root;
    gsrt_status status = gsrt_json_parse(bytes, file, &root, diag);
    if (status != GSRT_OK)
        return status;
    const char *schema = json_string_value(json_object_get(root, "schema"));
    gsrt_incident *incident = gsrt__incident_create(0);
    if (incident == NULL)
        r.status = GSRT_ENOMEM;
    else if (schema == NULL || strcmp(schema, GSRT_INCIDENT_SCHEMA) != 0)
        refuse(&r, "schema", "must be \"" GSRT_INCIDENT_SCHEMA "\"");
    else
        read_root(&r, root, incident);
    if (r.status == GSRT_OK)
        compare(&r, root, incident);
    json_decref(root);
    if (r.status != GSRT_OK) {
        (void)gsrt_incident_free(incident);
        return r.status;
    }
    *out = incident;
    return GSRT_OK;
}
