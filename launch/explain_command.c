#include "launch/explain_command.h"

#include "base/limits.h"
#include "base/nearest.h"
#include "launch/plan_json.h"
#include "launch/plan_print.h"
#include "launch/read_file.h"
#include "launch/report.h"
#include "launch/run_directory.h"

#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>

enum { WORDS_MAX = 32 };

static const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text == NULL ? "none" : text;
}

/* ---- the plan ---- */

/* plan.json of a planner is the plan; that of a run has it beside what its ranks do. */
static gsrt_status find_planned(json_t *root, const char *file, const json_t **out, gsrt_diag *diag)
{
    const char *schema = text_of(root, "schema");
    const json_t *planned = strcmp(schema, GSRT_PLANNED_SCHEMA) == 0 ? root : json_object_get(root, "planned");
    if (strcmp(schema, GSRT_PLANNED_SCHEMA) != 0 && strcmp(schema, GSRT_PLAN_SCHEMA) != 0)
        return gsrt_diag_set(diag, GSRT_EINPUT, file, "schema",
                             "is no plan; give a plan.json, or the directory of a run or of 'gsrt plan -o'");
    if (!json_is_object(planned))
        return gsrt_diag_set(
            diag, GSRT_EINPUT, file, NULL,
            "this plan was written, not looked for: nothing was predicted; run it with 'plan: auto', or "
            "see 'gsrt plan'");
    *out = planned;
    return GSRT_OK;
}

static gsrt_status read_json(const char *path, json_t **out, gsrt_diag *diag)
{
    gsrt_buffer text;
    gsrt_buffer_init(&text, GSRT_JSON_BYTES_MAX);
    gsrt_status status =
        gsrt_read_file(path, "give a plan.json, or the directory of a run or of 'gsrt plan -o'", &text, diag);
    if (status == GSRT_OK)
        status = gsrt_json_parse(gsrt_buffer_span(&text), path, out, diag);
    gsrt_buffer_fini(&text);
    return status;
}

/* ---- decisions after launch ---- */

static gsrt_status print_alternatives(const json_t *incident, gsrt_buffer *out)
{
    const json_t *list = json_object_get(incident, "alternatives");
    gsrt_status status = GSRT_OK;
    for (size_t i = 0; i < json_array_size(list) && status == GSRT_OK; i++) {
        const json_t *way = json_array_get(list, i);
        const json_t *predicted = json_object_get(way, "predicted_ms");
        status =
            gsrt_buffer_print(out, "    %s %s", json_is_true(json_object_get(way, "chosen")) ? "chosen  " : "rejected",
                              text_of(way, "way"));
        if (status == GSRT_OK && json_is_number(predicted))
            status = gsrt_buffer_print(out, ", predicted %.3g ms", json_number_value(predicted));
        if (status == GSRT_OK)
            status = gsrt_buffer_print(out, ": %s\n", text_of(way, "why"));
    }
    return status;
}

static gsrt_status print_incident(const json_t *incident, gsrt_buffer *out)
{
    const json_t *total = json_object_get(json_object_get(incident, "rto_ms"), "total");
    gsrt_status status =
        gsrt_buffer_print(out, "  incident %" JSON_INTEGER_FORMAT ": %s, %s by %s",
                          json_integer_value(json_object_get(incident, "incident")), text_of(incident, "kind"),
                          text_of(incident, "state"), text_of(incident, "method"));
    if (status == GSRT_OK && json_is_number(total))
        status = gsrt_buffer_print(out, " after %.3g ms", json_number_value(total));
    if (status == GSRT_OK)
        status = gsrt_buffer_append(out, "\n", 1);
    return status == GSRT_OK ? print_alternatives(incident, out) : status;
}

/* Each incident of a run: what was considered, and what was taken. */
static gsrt_status print_decisions(const char *path, gsrt_buffer *out, gsrt_diag *diag)
{
    gsrt_run_directory *directory = NULL;
    gsrt_buffer text;
    char name[64];
    gsrt_buffer_init(&text, GSRT_INCIDENT_FILE_BYTES_MAX);
    gsrt_status status = gsrt_run_directory_open(path, &directory, diag);
    if (status == GSRT_OK)
        status = gsrt_buffer_print(out, "decided after launch\n");
    uint32_t number = 1;
    for (; number <= GSRT_INCIDENT_COUNT_MAX && status == GSRT_OK; number++) {
        json_t *incident = NULL;
        (void)snprintf(name, sizeof name, "incidents/%" PRIu32 ".json", number);
        gsrt_buffer_reset(&text);
        status = gsrt_run_directory_read(directory, name, &text, diag);
        if (status == GSRT_OK)
            status = gsrt_json_parse(gsrt_buffer_span(&text), name, &incident, diag);
        if (status == GSRT_OK)
            status = print_incident(incident, out);
        json_decref(incident);
    }
    if (status == GSRT_ENOTFOUND)
        status = number > 2 ? GSRT_OK : gsrt_buffer_print(out, "  nothing: no incident\n");
    gsrt_buffer_fini(&text);
    (void)gsrt_run_directory_free(directory);
    return status;
}

/* ---- the command ---- */

static gsrt_status refuse_what(const char *what, gsrt_diag *diag)
{
    const char *words[WORDS_MAX] = {"decisions"};
    size_t count = 1;
    for (size_t i = 0; gsrt_plan_section_name(i) != NULL && count < WORDS_MAX; i++)
        words[count++] = gsrt_plan_section_name(i);
    for (int m = 0; m < GSRT_MEASURE_COUNT && count < WORDS_MAX; m++)
        words[count++] = gsrt_measure_word((gsrt_measure)m);
    const char *nearest = gsrt_nearest(what, words, count);
    if (nearest != NULL)
        return gsrt_diag_set(diag, GSRT_EINVAL, NULL, NULL, "'%.60s' is not in this plan; did you mean '%s'?", what,
                             nearest);
    gsrt_buffer sections;
    gsrt_buffer_init(&sections, GSRT_DIAG_TEXT_MAX);
    gsrt_status status = GSRT_OK;
    for (size_t i = 0; gsrt_plan_section_name(i) != NULL && status == GSRT_OK; i++)
        status = gsrt_buffer_print(&sections, "%s, ", gsrt_plan_section_name(i));
    if (status == GSRT_OK)
        status = gsrt_diag_set(diag, GSRT_EINVAL, NULL, NULL,
                               "'%.60s' is not in this plan; ask for %.*sdecisions, or a prediction such as ttft.p99",
                               what, (int)sections.len, (const char *)sections.data);
    gsrt_buffer_fini(&sections);
    return status;
}

static gsrt_status explain(const gsrt_options *options, gsrt_buffer *out, gsrt_diag *diag)
{
    char path[GSRT_PATH_BYTES_MAX + 1];
    struct stat facts;
    json_t *root = NULL;
    const json_t *planned = NULL;
    bool is_directory = stat(options->plan, &facts) == 0 && S_ISDIR(facts.st_mode);
    bool is_about_decisions = options->what != NULL && strcmp(options->what, "decisions") == 0;
    if (is_about_decisions && is_directory)
        return print_decisions(options->plan, out, diag);
    (void)snprintf(path, sizeof path, "%s%s", options->plan, is_directory ? "/plan.json" : "");
    gsrt_status status = read_json(path, &root, diag);
    if (status == GSRT_OK)
        status = find_planned(root, path, &planned, diag);
    if (status == GSRT_OK && options->is_json)
        status = gsrt_json_print(planned, false, out);
    else if (status == GSRT_OK && options->what == NULL)
        status = gsrt_plan_print_page(planned, options->verbosity > 0, out);
    else if (status == GSRT_OK)
        status = gsrt_plan_print_section(planned, options->what, out);
    if (status == GSRT_ENOTFOUND)
        status = refuse_what(options->what, diag);
    bool is_run = status == GSRT_OK && is_directory && planned != root && options->what == NULL && !options->is_json;
    if (is_run)
        status = print_decisions(options->plan, out, diag);
    json_decref(root);
    return status;
}

int gsrt_explain_command(const gsrt_options *options)
{
    gsrt_buffer out;
    gsrt_diag diag = {0};
    gsrt_buffer_init(&out, GSRT_REPORT_BYTES_MAX);
    gsrt_status status = explain(options, &out, &diag);
    if (status == GSRT_OK && fwrite(out.data, 1, out.len, stdout) != out.len)
        status = GSRT_EIO;
    if (status != GSRT_OK)
        (void)fprintf(stderr, "gsrt: error: %s\n", diag.status == GSRT_OK ? gsrt_status_text(status) : diag.text);
    gsrt_buffer_fini(&out);
    return gsrt_exit_code(status);
}
