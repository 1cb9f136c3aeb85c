#include "launch/model_show.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/json.h"
#include "model/config_json.h"
#include "model/import_llama.h"
#include "placement/workload_text.h"
#include "placement/workload_totals.h"

/* All that is shown. */
typedef struct shown {
    const char *file;
    gsrt_workload *workload;
    gsrt_config_report report;
    gsrt_workload_totals totals;
    gsrt_workload_hash hash;
    gsrt_diag missing; /* why it does not run; GSRT_OK: it does */
} shown;

/* ---- reading ---- */

/* The first bytes of the file. A GGUF file is mapped later, not read. */
static gsrt_status read_start(const char *path, size_t bytes_max, gsrt_buffer *out, gsrt_diag *diag)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat info;
    if (fd < 0)
        return gsrt_diag_set(diag, GSRT_EINPUT, path, NULL, "could not open it: %s; give a model file",
                             strerror(errno));
    gsrt_status status = GSRT_OK;
    if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode))
        status = gsrt_diag_set(diag, GSRT_EINPUT, path, NULL, "is no regular file; give a model file");
    while (status == GSRT_OK && out->len < bytes_max) {
        uint8_t *room;
        size_t want = bytes_max - out->len < 65536 ? bytes_max - out->len : 65536;
        status = gsrt_buffer_extend(out, want, &room);
        if (status != GSRT_OK)
            break;
        ssize_t got = read(fd, room, want);
        out->len -= want - (got > 0 ? (size_t)got : 0);
        if (got < 0)
            status = gsrt_diag_set(diag, GSRT_EINPUT, path, NULL, "could not read it: %s; give a model file",
                                   strerror(errno));
        if (got <= 0)
            break;
    }
    (void)close(fd);
    return status;
}

static bool starts_with(const gsrt_buffer *bytes, const char *with)
{
    return bytes->len >= strlen(with) && memcmp(bytes->data, with, strlen(with)) == 0;
}

/* The first byte that is no space: nothing but a JSON object begins with a brace. */
static bool starts_object(const gsrt_buffer *bytes)
{
    size_t at = 0;
    while (at < bytes->len && strchr(" \t\r\n", bytes->data[at]) != NULL && bytes->data[at] != 0)
        at++;
    return at < bytes->len && bytes->data[at] == '{';
}

static gsrt_status open_gguf(shown *s, gsrt_diag *diag)
{
    gsrt_gguf *gguf = NULL;
    gsrt_status status = gsrt_gguf_open(s->file, &gguf, diag);
    if (status == GSRT_OK)
        status = gsrt_import_gguf(gguf, &s->workload, diag);
    gsrt_gguf_free(gguf);
    return status;
}

static gsrt_status open_model(shown *s, gsrt_diag *diag)
{
    gsrt_buffer bytes;
    gsrt_buffer_init(&bytes, GSRT_WORKLOAD_BYTES_MAX + 1);
    gsrt_status status = read_start(s->file, 16, &bytes, diag);
    if (status == GSRT_OK && starts_with(&bytes, "GGUF")) {
        status = open_gguf(s, diag);
    } else if (status == GSRT_OK) {
        gsrt_buffer_reset(&bytes); /* one byte more than may be read is enough to be refused */
        status = read_start(s->file, GSRT_WORKLOAD_BYTES_MAX + 1, &bytes, diag);
        if (status == GSRT_OK && starts_with(&bytes, "gsrt-workload "))
            status = gsrt_workload_read(gsrt_buffer_span(&bytes), s->file, &s->workload, diag);
        else if (status == GSRT_OK && !starts_object(&bytes))
            status =
                gsrt_diag_set(diag, GSRT_EINPUT, s->file, NULL,
                              "is no model: neither a GGUF file, nor a config.json, nor a workload's text; give one "
                              "of them");
        else if (status == GSRT_OK)
            status = gsrt_import_config(gsrt_buffer_span(&bytes), s->file, &s->workload, &s->report, diag);
    }
    gsrt_buffer_fini(&bytes);
    if (status == GSRT_OK)
        status = gsrt_workload_totals_of(s->workload, &s->totals);
    if (status == GSRT_OK)
        status = gsrt_workload_hash_of(s->workload, &s->hash);
    if (status == GSRT_OK)
        s->missing.status = gsrt_workload_executable(s->workload, NULL, &s->missing);
    return status;
}

/* ---- printing ---- */

static gsrt_status print_sums(const shown *s, gsrt_buffer *out)
{
    const gsrt_workload *w = s->workload;
    const gsrt_workload_totals *t = &s->totals;
    gsrt_status status = gsrt_buffer_print(
        out,
        "%s (%s): %" PRIu32 " layers, context %" PRIu32 "\n"
        "parameters   %" PRIu64 " (%.3f B), active %" PRIu64 " (%.3f B), %" PRIu64
        " of them in tables that are looked up\n"
        "weights      %.3f GB\n"
        "state        %" PRIu64 " bytes per position and sequence, %" PRIu64
        " past all windows; %.3f GB at full context\n",
        w->name, w->architecture, w->layer_count, w->context_max, t->parameters, (double)t->parameters / 1e9,
        t->parameters_active, (double)t->parameters_active / 1e9, t->parameters_embedding,
        (double)t->weight_bytes / 1e9, t->state_bytes_per_position, t->state_bytes_per_position_later,
        (double)gsrt_workload_state_bytes(w, w->context_max) / 1e9);
    if (status == GSRT_OK)
        status = gsrt_buffer_print(out, "ops         ");
    for (int i = 0; i < GSRT_OP_CLASS_COUNT && status == GSRT_OK; i++)
        status = gsrt_buffer_print(out, " %" PRIu32 " %s%s", t->op_counts[i], gsrt_op_class_name((gsrt_op_class)i),
                                   i + 1 < GSRT_OP_CLASS_COUNT ? "," : "\n");
    if (status == GSRT_OK)
        status = gsrt_buffer_print(out, "hash         %016" PRIx64 "%016" PRIx64 "\n", s->hash.high, s->hash.low);
    if (status == GSRT_OK)
        status = gsrt_buffer_print(out, "runs         %s%s\n", s->missing.status == GSRT_OK ? "yes" : "no: ",
                                   s->missing.status == GSRT_OK ? "" : s->missing.text);
    return status;
}

static gsrt_status print_page(const shown *s, const gsrt_options *options, gsrt_buffer *out)
{
    gsrt_status status = print_sums(s, out);
    if (status == GSRT_OK && !options->is_quiet)
        status = gsrt_buffer_append(out, s->report.notes.data, s->report.notes.len);
    return status == GSRT_OK && options->verbosity > 0 ? gsrt_workload_print(s->workload, out) : status;
}

static json_t *stated_json(double stated)
{
    return stated > 0 ? gsrt_json_real(stated) : json_null();
}

static json_t *notes_json(const gsrt_buffer *notes)
{
    json_t *all = json_array();
    for (size_t at = 0; at < notes->len;) {
        const uint8_t *end = memchr(notes->data + at, '\n', notes->len - at);
        size_t len = end == NULL ? notes->len - at : (size_t)(end - notes->data) - at;
        char line[512];
        (void)snprintf(line, sizeof line, "%.*s", (int)(len < sizeof line ? len : sizeof line - 1), notes->data + at);
        (void)json_array_append_new(all, gsrt_json_text(line));
        at += len + 1;
    }
    return all;
}

static json_t *ops_json(const gsrt_workload_totals *totals)
{
    json_t *all = json_object();
    for (int i = 0; i < GSRT_OP_CLASS_COUNT; i++)
        (void)json_object_set_new(all, gsrt_op_class_name((gsrt_op_class)i), gsrt_json_u64(totals->op_counts[i]));
    return all;
}

/* NULL: no memory. */
static json_t *model_json(const shown *s)
{
    const gsrt_workload *w = s->workload;
    const gsrt_workload_totals *t = &s->totals;
    char hash[40];
    (void)snprintf(hash, sizeof hash, "%016" PRIx64 "%016" PRIx64, s->hash.high, s->hash.low);
    json_t *parameters =
        json_pack("{s:o, s:o, s:o, s:o, s:o, s:b}", "total", gsrt_json_u64(t->parameters), "active",
                  gsrt_json_u64(t->parameters_active), "embedding", gsrt_json_u64(t->parameters_embedding), "stated",
                  stated_json(s->report.stated_parameters), "stated_active", stated_json(s->report.stated_active),
                  "is_contradicted", s->report.is_contradicted);
    return json_pack("{s:s, s:o, s:o, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:b, s:o, s:o}", "schema", "gsrt-model/1",
                     "name", gsrt_json_text(w->name), "architecture", gsrt_json_text(w->architecture), "hash", hash,
                     "layers", gsrt_json_u64(w->layer_count), "context", gsrt_json_u64(w->context_max), "parameters",
                     parameters, "weight_bytes", gsrt_json_u64(t->weight_bytes), "state_bytes_per_position",
                     gsrt_json_u64(t->state_bytes_per_position), "state_bytes_per_position_later",
                     gsrt_json_u64(t->state_bytes_per_position_later), "ops", ops_json(t), "runs",
                     s->missing.status == GSRT_OK, "missing",
                     s->missing.status == GSRT_OK ? json_null() : gsrt_json_text(s->missing.text), "notes",
                     notes_json(&s->report.notes));
}

static gsrt_status print(const shown *s, const gsrt_options *options)
{
    gsrt_buffer text;
    gsrt_buffer_init(&text, GSRT_REPORT_BYTES_MAX);
    json_t *object = options->is_json ? model_json(s) : NULL;
    gsrt_status status = !options->is_json ? print_page(s, options, &text)
                         : object == NULL  ? GSRT_ENOMEM
                                           : gsrt_json_print(object, false, &text);
    json_decref(object);
    if (status == GSRT_OK && fwrite(text.data, 1, text.len, stdout) != text.len)
        status = GSRT_EIO;
    gsrt_buffer_fini(&text);
    return status;
}

int gsrt_model_show(const gsrt_options *options)
{
    shown s = {.file = options->model};
    gsrt_diag diag = {0};
    gsrt_config_report_init(&s.report);
    gsrt_status status = open_model(&s, &diag);
    if (status == GSRT_OK)
        status = print(&s, options);
    if (status != GSRT_OK)
        (void)fprintf(stderr, "gsrt: error: %s\n", diag.status == GSRT_OK ? gsrt_status_text(status) : diag.text);
    gsrt_config_report_fini(&s.report);
    gsrt_workload_free(s.workload);
    return gsrt_exit_code(status);
}
