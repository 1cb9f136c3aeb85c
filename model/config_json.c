#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/config_impl.h"
#include "placement/workload_totals.h"

enum { NOTES_BYTES_MAX = 64 << 10, SHAPE_BYTES_MAX = 1 << 20 };

void gsrt_config_report_init(gsrt_config_report *report)
{
    *report = (gsrt_config_report){0};
    gsrt_buffer_init(&report->notes, NOTES_BYTES_MAX);
}

void gsrt_config_report_fini(gsrt_config_report *report)
{
    gsrt_buffer_fini(&report->notes);
}

/* ---- names ---- */

/* The model's name: of the file, without its folder, its organisation ("meta-llama--") and what says that it is a
 * config; of its folder where nothing is left. */
static void name_of_file(const char *file, char out[GSRT_NAME_BYTES_MAX])
{
    static const char *const endings[] = {".json", "config", "_", "_", "."};
    const char *slash = strrchr(file, '/'), *start = slash == NULL ? file : slash + 1;
    (void)snprintf(out, GSRT_NAME_BYTES_MAX, "%s", start);
    for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++) {
        size_t len = strlen(out), ending = strlen(endings[i]);
        if (len >= ending && strcmp(out + len - ending, endings[i]) == 0)
            out[len - ending] = 0;
    }
    if (out[0] == 0 && slash != NULL && slash > file) {
        const char *folder = slash;
        while (folder > file && folder[-1] != '/')
            folder--;
        (void)snprintf(out, GSRT_NAME_BYTES_MAX, "%.*s", (int)(slash - folder), folder);
    }
    const char *organisation = strstr(out, "--");
    if (organisation != NULL)
        memmove(out, organisation + 2, strlen(organisation + 2) + 1);
    if (out[0] == 0)
        (void)snprintf(out, GSRT_NAME_BYTES_MAX, "unnamed");
}

/* What a name says of parameters: "8B", "0.6b", "235B-A22B", "8x7B". */
typedef struct stated {
    double total, active; /* 0: nothing */
    double copies;        /* 8 of "8x7B": the total is above one copy and below all; else 1 */
    double total_step;    /* one of the last digit */
    double active_step;
} stated;

/* "235B" at `at`: its number, and one of its last digit. false: no number of parameters starts here. */
static bool parse_count(const char *at, double *out, double *step, const char **end)
{
    char *after;
    if (!isdigit((unsigned char)*at))
        return false;
    double number = strtod(at, &after);
    const char *point = memchr(at, '.', (size_t)(after - at));
    double unit = *after == 'B' || *after == 'b' ? 1e9 : *after == 'M' || *after == 'm' ? 1e6 : 0;
    if (unit == 0 || isalnum((unsigned char)after[1]) || !(number > 0) || number > 1e6)
        return false;
    *out = number * unit;
    *step = unit;
    for (ptrdiff_t digits = point == NULL ? 0 : after - point - 1; digits > 0; digits--)
        *step /= 10;
    *end = after + 1;
    return true;
}

static stated read_name(const char *name)
{
    stated s = {.copies = 1};
    for (const char *at = name; *at != 0;) {
        bool is_active = *at == 'A' || *at == 'a', is_start = at == name || !isalnum((unsigned char)at[-1]);
        double number, step, copies;
        char *by;
        const char *end;
        if (!is_start || (at > name && at[-1] == '.' && at - 1 > name && isdigit((unsigned char)at[-2]))) {
            at++;
        } else if (is_active && s.active == 0 && parse_count(at + 1, &number, &step, &end)) {
            s.active = number;
            s.active_step = step;
            at = end;
        } else if (s.total == 0 && parse_count(at, &number, &step, &end)) {
            s.total = number;
            s.total_step = step;
            at = end;
        } else if (s.total == 0 && isdigit((unsigned char)*at) && (copies = strtod(at, &by)) >= 1 && *by == 'x' &&
                   parse_count(by + 1, &number, &step, &end)) {
            s.total = number;
            s.total_step = step;
            s.copies = copies;
            at = end;
        } else {
            at++;
        }
    }
    return s;
}

/* Names round, and some leave the tables out: anything from all but the tables, less a tenth, to all, and a tenth. */
static bool is_near(double named, double step, double low, double high)
{
    double room = fmax(0.1 * named, 0.5 * step);
    return named >= low - room && named <= high + room;
}

static gsrt_status compare(const gsrt_workload *w, const char *name, gsrt_config_report *report)
{
    gsrt_workload_totals totals;
    gsrt_status status = gsrt_workload_totals_of(w, &totals);
    if (status != GSRT_OK)
        return status;
    stated s = read_name(name);
    double tables = (double)w->vocab_count * w->dim * (w->output_is_tied ? 1 : 2);
    double all = (double)totals.parameters, active = (double)totals.parameters_active;
    report->stated_parameters = s.copies > 1 ? 0 : s.total;
    report->stated_active = s.active;
    bool is_total_right = s.copies > 1 ? all > s.total && all < s.total * s.copies * 1.1
                                       : is_near(s.total, s.total_step, all - tables, all);
    if (s.total > 0 && !is_total_right) {
        report->is_contradicted = true;
        status =
            gsrt_buffer_print(&report->notes,
                              "contradiction: the name '%s' states %.4g B parameters, the keys of the file amount to "
                              "%.4g B; take the config.json from its maker again\n",
                              name, s.total * s.copies / 1e9, all / 1e9);
    }
    if (status == GSRT_OK && s.active > 0 && !is_near(s.active, s.active_step, active - tables, active)) {
        report->is_contradicted = true;
        status = gsrt_buffer_print(&report->notes,
                                   "contradiction: the name '%s' states %.4g B active parameters, the keys of the file "
                                   "amount to %.4g B; take the config.json from its maker again\n",
                                   name, s.active / 1e9, active / 1e9);
    }
    return status;
}

/* A name that speaks of narrow weights over a file that does not: their description lies in another file. */
static gsrt_status note_format(const gsrt_workload *w, const char *name, gsrt_config_report *report)
{
    static const char *const words[] = {"FP8", "fp8", "FP4", "fp4", "AWQ", "GPTQ", "Int4", "Int8", "int4", "int8"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (strstr(name, words[i]) != NULL)
            return gsrt_buffer_print(
                &report->notes,
                "formats: the name '%s' speaks of %s, but there is no quantization_config; the weights "
                "are taken as %s\n",
                name, words[i], gsrt_dtype_name(w->tensors[w->ops[0].tensor].dtype));
    }
    return GSRT_OK;
}

/* ---- import ---- */

static gsrt_status import_root(const gsrt__keys *root, gsrt_workload *w, gsrt_config_report *report)
{
    char name[GSRT_NAME_BYTES_MAX];
    const char *path = NULL;
    gsrt__shape *shape = calloc(1, sizeof *shape);
    gsrt_arena arena;
    gsrt_arena_init(&arena, SHAPE_BYTES_MAX);
    gsrt_status status = shape == NULL ? GSRT_ENOMEM : gsrt__config_shape(root, &arena, shape, &report->notes);
    if (status == GSRT_OK)
        status = gsrt__key_text(root, "_name_or_path", NULL, &path);
    if (status == GSRT_OK) {
        name_of_file(root->file, name);
        if (path != NULL && read_name(name).total == 0 && read_name(path).total > 0)
            (void)snprintf(name, sizeof name, "%s", strrchr(path, '/') == NULL ? path : strrchr(path, '/') + 1);
        w->name = gsrt_arena_copy_text(&w->arena, name, strlen(name));
        w->architecture = gsrt_arena_copy_text(&w->arena, shape->architecture, strlen(shape->architecture));
        status = w->name == NULL || w->architecture == NULL ? GSRT_ENOMEM
                                                            : gsrt__config_build(shape, root->file, w, root->diag);
    }
    if (status == GSRT_OK && shape->formats.quantised == shape->formats.plain)
        status = note_format(w, name, report);
    if (status == GSRT_OK)
        status = compare(w, name, report);
    gsrt_arena_fini(&arena);
    free(shape);
    return status;
}

gsrt_status gsrt_import_config(gsrt_span json, const char *file, gsrt_workload **out, gsrt_config_report *report,
                               gsrt_diag *diag)
{
    json_t *object = NULL;
    gsrt_workload *workload = gsrt_workload_create();
    gsrt_status status = workload == NULL ? GSRT_ENOMEM : gsrt_json_parse(json, file, &object, diag);
    if (status == GSRT_OK && !json_is_object(object))
        status = gsrt_diag_set(diag, GSRT_EINPUT, file, "line 1", "is no object; give a config.json of a model");
    if (status == GSRT_OK)
        status =
            import_root(&(gsrt__keys){.file = file, .diag = diag, .object = object, .prefix = ""}, workload, report);
    if (status != GSRT_OK && status != GSRT_EINPUT) /* no memory, or notes without end */
        status = gsrt_diag_set(diag, GSRT_ENOMEM, file, NULL, "no memory for the workload; give a smaller model");
    json_decref(object);
    if (status == GSRT_OK)
        *out = workload;
    else
        gsrt_workload_free(workload);
    return status;
}
