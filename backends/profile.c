#include "backends/profile_impl.h"
#include "base/json.h"
#include "base/nearest.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One number of a document. */
typedef struct field {
    const char *key, *unit; /* unit NULL: a plain number without source (the truth) */
    size_t offset;          /* of a gsrt_profile_quantity, or of a double */
    double min, max;
} field;

#define DECLARED(member) offsetof(gsrt_profile_declared, member)
static const field declared_fields[] = {
    {"peak_f32", "FLOP/s", DECLARED(peak_flops[0]), 1e6, 1e18},
    {"peak_f16", "FLOP/s", DECLARED(peak_flops[1]), 1e6, 1e18},
    {"peak_quantised", "FLOP/s", DECLARED(peak_flops[2]), 1e6, 1e18},
    {"memory_bandwidth", "B/s", DECLARED(memory_bandwidth), 1e6, 1e15},
    {"memory", "B", DECLARED(memory_bytes), 1e6, 1e15},
    {"launch_overhead", "s", DECLARED(launch_overhead), 0, 1},
    {"power_idle", "W", DECLARED(power_idle), 0, 1e5},
    {"power_max", "W", DECLARED(power_max), 1e-3, 1e5},
    {"thermal_resistance", "K/W", DECLARED(thermal_resistance), 1e-4, 1e3},
    {"thermal_capacity", "J/K", DECLARED(thermal_capacity), 1e-3, 1e6},
    {"temperature_ambient", "degC", DECLARED(temperature_ambient), -50, 100},
    {"temperature_throttle", "degC", DECLARED(temperature_throttle), 0, 200},
};

#define TRUTH(member) offsetof(gsrt_profile_truth, member)
static const field truth_fields[] = {
    {"efficiency_compute", NULL, TRUTH(efficiency_compute), 1e-3, 1},
    {"efficiency_memory", NULL, TRUTH(efficiency_memory), 1e-3, 1},
    {"rows_half", NULL, TRUTH(rows_half), 0, 1e4},
    {"launch_factor", NULL, TRUTH(launch_factor), 0.1, 100},
    {"noise", NULL, TRUTH(noise), 0, 0.5},
    {"throttle_factor", NULL, TRUTH(throttle_factor), 0.05, 1},
    {"throttle_hysteresis", NULL, TRUTH(throttle_hysteresis), 0, 50},
};
enum { DECLARED_COUNT = sizeof declared_fields / sizeof declared_fields[0] };
enum { TRUTH_COUNT = sizeof truth_fields / sizeof truth_fields[0] };

/* Every key of `object` is one of known[count]; otherwise the error suggests the nearest. */
static gsrt_status check_keys(const json_t *object, const char *const *known, size_t count, const char *file,
                              const char *place, gsrt_diag *diag)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)object, key, value)
    {
        bool is_known = false;
        for (size_t i = 0; i < count; i++)
            is_known = is_known || strcmp(key, known[i]) == 0;
        if (is_known)
            continue;
        const char *nearest = gsrt_nearest(key, known, count);
        if (nearest == NULL)
            return gsrt_diag_set(diag, GSRT_EINPUT, file, place, "unknown key '%.64s'; remove it", key);
        return gsrt_diag_set(diag, GSRT_EINPUT, file, place, "unknown key '%.64s'; did you mean '%s'?", key, nearest);
    }
    return GSRT_OK;
}

/* A JSON number within the field's range. */
static gsrt_status read_number(const json_t *value, const field *f, const char *file, double *out, gsrt_diag *diag)
{
    if (!json_is_number(value))
        return gsrt_diag_set(diag, GSRT_EINPUT, file, f->key, "must be a number");
    double number = json_number_value(value);
    if (!(number >= f->min && number <= f->max))
        return gsrt_diag_set(diag, GSRT_EINPUT, file, f->key, "%g is out of range; it must be from %g to %g%s%s",
                             number, f->min, f->max, f->unit == NULL ? "" : " ", f->unit == NULL ? "" : f->unit);
    *out = number;
    return GSRT_OK;
}

/* {"value": 1, "unit": "W", "source": "..."} */
static gsrt_status read_quantity(const json_t *value, const field *f, const char *file, gsrt_profile_quantity *out,
                                 gsrt_diag *diag)
{
    static const char *const keys[] = {"value", "unit", "source"};
    if (!json_is_object(value))
        return gsrt_diag_set(diag, GSRT_EINPUT, file, f->key,
                             "must be {\"value\": number, \"unit\": \"%s\", \"source\": text}", f->unit);
    gsrt_status status = check_keys(value, keys, 3, file, f->key, diag);
    if (status != GSRT_OK)
        return status;
    const char *unit = json_string_value(json_object_get(value, "unit"));
    const char *source = json_string_value(json_object_get(value, "source"));
    if (unit == NULL || strcmp(unit, f->unit) != 0)
        return gsrt_diag_set(diag, GSRT_EINPUT, file, f->key, "the unit must be \"%s\"", f->unit);
    if (source == NULL || source[0] == '\0' || strlen(source) >= GSRT_PROFILE_SOURCE_MAX)
        return gsrt_diag_set(diag, GSRT_EINPUT, file, f->key,
                             "needs a source of 1 to %d bytes; say \"invented\" where it has none",
                             GSRT_PROFILE_SOURCE_MAX - 1);
    memcpy(out->source, source, strlen(source) + 1);
    return read_number(json_object_get(value, "value"), f, file, &out->value, diag);
}

/* All fields, each exactly once, into the struct at `out`. */
static gsrt_status read_fields(const json_t *object, const field *fields, size_t count, const char *file, void *out,
                               gsrt_diag *diag)
{
    for (size_t i = 0; i < count; i++) {
        const json_t *value = json_object_get(object, fields[i].key);
        void *to = (uint8_t *)out + fields[i].offset;
        if (value == NULL)
            return gsrt_diag_set(diag, GSRT_EINPUT, file, fields[i].key, "is missing");
        gsrt_status status = fields[i].unit == NULL ? read_number(value, &fields[i], file, to, diag)
                                                    : read_quantity(value, &fields[i], file, to, diag);
        if (status != GSRT_OK)
            return status;
    }
    return GSRT_OK;
}

/* Parse a document whose key `version_key` is 1. *out owned. */
static gsrt_status parse_versioned(gsrt_span bytes, const char *file, const char *version_key, json_t **out,
                                   gsrt_diag *diag)
{
    json_t *root;
    gsrt_status status = gsrt_json_parse(bytes, file, &root, diag);
    if (status != GSRT_OK)
        return status;
    if (!json_is_object(root) || json_integer_value(json_object_get(root, version_key)) != 1) {
        json_decref(root);
        return gsrt_diag_set(diag, GSRT_EINPUT, file, NULL, "must be an object with \"%s\": 1", version_key);
    }
    *out = root;
    return GSRT_OK;
}

static gsrt_status read_declared(const json_t *root, const char *file, gsrt_profile_declared *out,
                                 char out_truth_name[256], gsrt_diag *diag)
{
    static const char *const keys[] = {"gsrt_profile", "name", "description", "declared", "truth"};
    const char *known[DECLARED_COUNT];
    gsrt_status status = check_keys(root, keys, 5, file, "profile", diag);
    if (status != GSRT_OK)
        return status;
    const char *name = json_string_value(json_object_get(root, "name"));
    const char *truth = json_string_value(json_object_get(root, "truth"));
    const json_t *declared = json_object_get(root, "declared");
    if (name == NULL || name[0] == '\0' || strlen(name) >= GSRT_PROFILE_NAME_MAX)
        return gsrt_diag_set(diag, GSRT_EINPUT, file, "name", "must be text of 1 to %d bytes",
                             GSRT_PROFILE_NAME_MAX - 1);
    if (truth == NULL || truth[0] == '\0' || strlen(truth) >= 256 || strchr(truth, '/') != NULL)
        return gsrt_diag_set(diag, GSRT_EINPUT, file, "truth", "must be the name of a file in the same folder");
    if (!json_is_object(declared))
        return gsrt_diag_set(diag, GSRT_EINPUT, file, "declared", "must be an object");
    for (size_t i = 0; i < DECLARED_COUNT; i++)
        known[i] = declared_fields[i].key;
    status = check_keys(declared, known, DECLARED_COUNT, file, "declared", diag);
    if (status == GSRT_OK)
        status = read_fields(declared, declared_fields, DECLARED_COUNT, file, out, diag);
    if (status != GSRT_OK)
        return status;
    if (out->power_max.value < out->power_idle.value)
        return gsrt_diag_set(diag, GSRT_EINPUT, file, "power_max", "is below power_idle");
    if (out->temperature_throttle.value <= out->temperature_ambient.value)
        return gsrt_diag_set(diag, GSRT_EINPUT, file, "temperature_throttle", "is not above temperature_ambient");
    memcpy(out->name, name, strlen(name) + 1);
    memcpy(out_truth_name, truth, strlen(truth) + 1);
    return GSRT_OK;
}

gsrt_status gsrt__profile_parse(gsrt_span bytes, const char *file, gsrt_profile_declared *out, char out_truth_name[256],
                                gsrt_diag *diag)
{
    json_t *root;
    gsrt_profile_declared declared = {0};
    gsrt_status status = parse_versioned(bytes, file, "gsrt_profile", &root, diag);
    if (status != GSRT_OK)
        return status;
    status = read_declared(root, file, &declared, out_truth_name, diag);
    json_decref(root);
    if (status == GSRT_OK)
        *out = declared;
    return status;
}

gsrt_status gsrt__profile_parse_truth(gsrt_span bytes, const char *file, gsrt_profile_truth *out, gsrt_diag *diag)
{
    json_t *root;
    gsrt_profile_truth truth = {0};
    gsrt_status status = parse_versioned(bytes, file, "gsrt_profile_truth", &root, diag);
    if (status != GSRT_OK)
        return status;
    const char *known[TRUTH_COUNT + 1] = {"gsrt_profile_truth"};
    for (size_t i = 0; i < TRUTH_COUNT; i++)
        known[i + 1] = truth_fields[i].key;
    status = check_keys(root, known, TRUTH_COUNT + 1, file, "truth", diag);
    if (status == GSRT_OK)
        status = read_fields(root, truth_fields, TRUTH_COUNT, file, &truth, diag);
    json_decref(root);
    if (status == GSRT_OK)
        *out = truth;
    return status;
}

/* ---- files ---- */

/* The whole file, at most GSRT_PROFILE_BYTES_MAX; bytes [GSRT_PROFILE_BYTES_MAX + 1]. */
static gsrt_status read_file(const char *path, char *bytes, size_t *out_len, gsrt_diag *diag)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL)
        return gsrt_diag_set(diag, GSRT_EIO, path, NULL, "could not open the file: %s", strerror(errno));
    size_t len = fread(bytes, 1, GSRT_PROFILE_BYTES_MAX + 1, file);
    bool has_failed = ferror(file) != 0;
    fclose(file);
    if (has_failed)
        return gsrt_diag_set(diag, GSRT_EIO, path, NULL, "could not read the file");
    if (len > GSRT_PROFILE_BYTES_MAX)
        return gsrt_diag_set(diag, GSRT_EINPUT, path, NULL, "is longer than %d bytes; that is no profile",
                             GSRT_PROFILE_BYTES_MAX);
    *out_len = len;
    return GSRT_OK;
}

/* The truth's path: the folder of `path` and `name`. */
static gsrt_status read_truth(const char *path, const char *name, char *bytes, gsrt_profile_truth *out, gsrt_diag *diag)
{
    char truth_path[4096];
    size_t len;
    const char *slash = strrchr(path, '/');
    int folder_len = slash == NULL ? 0 : (int)(slash - path + 1);
    if (snprintf(truth_path, sizeof truth_path, "%.*s%s", folder_len, path, name) >= (int)sizeof truth_path)
        return gsrt_diag_set(diag, GSRT_EINPUT, path, "truth", "the path is too long");
    gsrt_status status = read_file(truth_path, bytes, &len, diag);
    if (status != GSRT_OK)
        return status;
    return gsrt__profile_parse_truth(gsrt_span_of(bytes, len), truth_path, out, diag);
}

gsrt_status gsrt_profile_open(const char *path, gsrt_profile **out, gsrt_diag *diag)
{
    char truth_name[256];
    size_t len;
    char *bytes = malloc(GSRT_PROFILE_BYTES_MAX + 1);
    gsrt_profile *profile = calloc(1, sizeof *profile);
    gsrt_status status = GSRT_OK;
    if (bytes == NULL || profile == NULL)
        status = gsrt_diag_set(diag, GSRT_ENOMEM, path, NULL, "out of memory");
    if (status == GSRT_OK)
        status = read_file(path, bytes, &len, diag);
    if (status == GSRT_OK)
        status = gsrt__profile_parse(gsrt_span_of(bytes, len), path, &profile->declared, truth_name, diag);
    if (status == GSRT_OK)
        status = read_truth(path, truth_name, bytes, &profile->truth, diag);
    free(bytes);
    if (status != GSRT_OK) {
        free(profile);
        return status;
    }
    *out = profile;
    return GSRT_OK;
}

gsrt_profile *gsrt_profile_free(gsrt_profile *profile)
{
    free(profile);
    return NULL;
}

const gsrt_profile_declared *gsrt_profile_declared_of(const gsrt_profile *profile)
{
    return &profile->declared;
}
