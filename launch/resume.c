#include "launch/resume.h"

#include "base/json.h"
#include "base/limits.h"
#include "placement/fallback.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

enum { SMALL_FILE_BYTES_MAX = 256, HEAD_BYTES = 1 << 20, SAMPLE_BYTES = 4096, SAMPLE_COUNT = 256 };

/* ---- may it be gone on with ---- */

static gsrt_status check_report(gsrt_span bytes, const char *path, gsrt_diag *diag)
{
    json_t *report;
    gsrt_status status = gsrt_json_parse(bytes, path, &report, diag);
    if (status != GSRT_OK)
        return status;
    const json_t *code = json_object_get(report, "exit");
    json_int_t exit_code = json_is_integer(code) ? json_integer_value(code) : -1;
    json_decref(report);
    if (exit_code == 0)
        return gsrt_diag_set(diag, GSRT_EINPUT, path, "report.json",
                             "this run is complete; there is nothing to resume");
    if (exit_code == 4)
        return gsrt_diag_set(diag, GSRT_EINPUT, path, "report.json",
                             "this run violated its contract, and going on would not change that; start a new one");
    return GSRT_OK;
}

gsrt_status gsrt_resume_check(const char *path, gsrt_diag *diag)
{
    gsrt_run_directory *directory;
    gsrt_buffer bytes;
    gsrt_status status = gsrt_run_directory_open(path, &directory, diag);
    if (status != GSRT_OK)
        return status;
    gsrt_buffer_init(&bytes, SIZE_MAX / 2);
    status = gsrt_run_directory_read(directory, "scenario.yaml", &bytes, diag);
    if (status == GSRT_ENOTFOUND)
        status = gsrt_diag_set(diag, GSRT_EINPUT, path, NULL,
                               "is no run directory: it has no scenario.yaml; name the directory that a run wrote");
    gsrt_buffer_reset(&bytes);
    if (status == GSRT_OK)
        status = gsrt_run_directory_read(directory, "report.json", &bytes, diag);
    if (status == GSRT_OK)
        status = check_report(gsrt_buffer_span(&bytes), path, diag);
    gsrt_buffer_fini(&bytes);
    gsrt_run_directory_free(directory);
    return status == GSRT_ENOTFOUND ? GSRT_OK : status;
}

/* ---- the scenario on these ranks ---- */

static gsrt_status fit_plan(gsrt_scenario *scenario, uint32_t rank_count)
{
    if (scenario->plan == NULL) /* somebody has written plan: auto into it: it is looked for on these ranks */
        return GSRT_OK;
    uint32_t wanted = gsrt_plan_rank_count(scenario->plan);
    bool is_there[GSRT_RANK_COUNT_MAX];
    gsrt_plan *plan;
    gsrt_way way;
    if (wanted <= rank_count)
        return GSRT_OK;
    for (uint32_t rank = 0; rank < wanted; rank++)
        is_there[rank] = rank < rank_count;
    gsrt_status status = gsrt_plan_without(scenario->plan, is_there, wanted, &plan, &way);
    if (status != GSRT_OK)
        return status;
    gsrt_plan_free(scenario->plan);
    scenario->plan = plan;
    return GSRT_OK;
}

/* It stays in the list, so that the others keep their numbers, but what it waits for cannot be. */
static void take_out(gsrt_fault *fault)
{
    *fault = (gsrt_fault){
        .kind = GSRT_FAULT_KILL,
        .times = 1,
        .when = {.kind = GSRT_MOMENT_TOKEN, .request = GSRT_REQUEST_COUNT_MAX - 1, .token = GSRT_CONTEXT_MAX}};
}

/* "faults": numbers, a line each; the last one may be torn, and was not done then. */
static gsrt_status take_out_done(gsrt_span bytes, const char *path, gsrt_scenario *scenario, gsrt_diag *diag)
{
    const uint8_t *at = bytes.data, *end = bytes.data + bytes.len;
    while (at < end) {
        const uint8_t *line_end = memchr(at, '\n', (size_t)(end - at));
        uint32_t number = 0;
        if (line_end == NULL)
            return GSRT_OK;
        bool is_good = line_end > at && line_end - at <= 6;
        for (; at < line_end && is_good; at++) {
            is_good = *at >= '0' && *at <= '9';
            number = 10 * number + (uint32_t)(*at - '0');
        }
        if (!is_good || number >= scenario->fault_count)
            return gsrt_diag_set(diag, GSRT_EINPUT, path, "faults", "names a fault that this scenario has not");
        gsrt_fault *fault = &scenario->faults[number];
        if (fault->kind == GSRT_FAULT_KILL && fault->times > 1)
            fault->times -= 1;
        else
            take_out(fault);
        at = line_end + 1;
    }
    return GSRT_OK;
}

gsrt_status gsrt_resume_fit(const char *path, gsrt_scenario *scenario, uint32_t rank_count, gsrt_diag *diag)
{
    gsrt_run_directory *directory;
    gsrt_buffer bytes;
    gsrt_status status = gsrt_run_directory_open(path, &directory, diag);
    if (status != GSRT_OK)
        return status;
    gsrt_buffer_init(&bytes, SIZE_MAX / 2);
    status = gsrt_run_directory_read(directory, "faults", &bytes, diag);
    if (status == GSRT_OK)
        status = take_out_done(gsrt_buffer_span(&bytes), path, scenario, diag);
    gsrt_buffer_fini(&bytes);
    gsrt_run_directory_free(directory);
    for (uint32_t i = 0; i < scenario->fault_count; i++) {
        if (scenario->faults[i].rank >= rank_count)
            take_out(&scenario->faults[i]);
    }
    return status == GSRT_OK || status == GSRT_ENOTFOUND ? fit_plan(scenario, rank_count) : status;
}

/* ---- the model ---- */

static gsrt_status print_model(const gsrt_loaded *loaded, gsrt_buffer *out)
{
    gsrt_span bytes = gsrt_gguf_bytes(loaded->gguf);
    XXH3_state_t state;
    uint64_t size = bytes.len;
    (void)XXH3_128bits_reset(&state);
    (void)XXH3_128bits_update(&state, &size, sizeof size);
    (void)XXH3_128bits_update(&state, bytes.data, bytes.len < HEAD_BYTES ? bytes.len : HEAD_BYTES);
    for (size_t i = 0; bytes.len > HEAD_BYTES && i < SAMPLE_COUNT; i++) {
        size_t at = (bytes.len - SAMPLE_BYTES) / SAMPLE_COUNT * (i + 1);
        (void)XXH3_128bits_update(&state, bytes.data + at, SAMPLE_BYTES);
    }
    XXH128_hash_t hash = XXH3_128bits_digest(&state);
    gsrt_status status =
        gsrt_buffer_print(out, "samples %016" PRIx64 "%016" PRIx64 "\n", (uint64_t)hash.high64, (uint64_t)hash.low64);
    if (status == GSRT_OK && loaded->manifest.is_present)
        status = gsrt_buffer_print(out, "file %016" PRIx64 "%016" PRIx64 "\n", loaded->manifest.hash_high,
                                   loaded->manifest.hash_low);
    return status;
}

gsrt_status gsrt_resume_note_model(gsrt_run_directory *directory, const gsrt_loaded *loaded, gsrt_diag *diag)
{
    gsrt_buffer text;
    gsrt_buffer_init(&text, SMALL_FILE_BYTES_MAX);
    gsrt_status status = print_model(loaded, &text);
    if (status == GSRT_OK)
        status = gsrt_run_directory_write(directory, "model", gsrt_buffer_span(&text), diag);
    gsrt_buffer_fini(&text);
    return status;
}

gsrt_status gsrt_resume_check_model(gsrt_run_directory *directory, const gsrt_loaded *loaded, gsrt_diag *diag)
{
    gsrt_buffer then, now;
    gsrt_buffer_init(&then, SMALL_FILE_BYTES_MAX);
    gsrt_buffer_init(&now, SMALL_FILE_BYTES_MAX);
    gsrt_status status = gsrt_run_directory_read(directory, "model", &then, diag);
    if (status == GSRT_OK)
        status = print_model(loaded, &now);
    /* a line is missing where there was no manifest, or it was another rank that could not know it */
    size_t len = then.len < now.len ? then.len : now.len;
    if (status == GSRT_OK && (len == 0 || memcmp(then.data, now.data, len) != 0))
        status = gsrt_diag_set(diag, GSRT_EINPUT, gsrt_run_directory_path(directory), "model",
                               "the run was begun with another model than '%s' is now; put that one back",
                               gsrt_gguf_name(loaded->gguf));
    if (status == GSRT_ENOTFOUND)
        status = GSRT_OK; /* it died before it had said which */
    gsrt_buffer_fini(&then);
    gsrt_buffer_fini(&now);
    return status;
}

/* ---- small files ---- */

gsrt_status gsrt_resume_generation(gsrt_run_directory *directory, uint32_t *out, gsrt_diag *diag)
{
    gsrt_buffer text;
    char *end = NULL;
    unsigned long number = 0;
    gsrt_buffer_init(&text, SMALL_FILE_BYTES_MAX);
    gsrt_status status = gsrt_run_directory_read(directory, "resumed", &text, diag);
    if (status == GSRT_OK) {
        status = gsrt_buffer_append(&text, "", 1);
        number = status == GSRT_OK ? strtoul((const char *)text.data, &end, 10) : 0;
        if (status == GSRT_OK && (text.data[0] < '0' || text.data[0] > '9' || *end != '\n' || number >= 1000000))
            status = gsrt_diag_set(diag, GSRT_EINPUT, gsrt_run_directory_path(directory), "resumed", "is no number");
    } else if (status == GSRT_ENOTFOUND) {
        status = GSRT_OK;
    }
    gsrt_buffer_fini(&text);
    if (status == GSRT_OK)
        *out = (uint32_t)number;
    return status;
}

gsrt_status gsrt_resume_begin(gsrt_run_directory *directory, uint32_t *out, gsrt_diag *diag)
{
    char text[16];
    gsrt_status status = gsrt_resume_generation(directory, out, diag);
    if (status != GSRT_OK)
        return status;
    *out += 1;
    (void)snprintf(text, sizeof text, "%" PRIu32 "\n", *out);
    return gsrt_run_directory_write(directory, "resumed", gsrt_span_of_text(text), diag);
}

gsrt_status gsrt_resume_note_fault(gsrt_run_directory *directory, uint32_t number, gsrt_diag *diag)
{
    char line[16];
    int descriptor;
    int len = snprintf(line, sizeof line, "%" PRIu32 "\n", number);
    gsrt_status status = gsrt_run_directory_append_file(directory, "faults", &descriptor, diag);
    if (status != GSRT_OK)
        return status;
    if (write(descriptor, line, (size_t)len) != len)
        status = gsrt_diag_set(diag, GSRT_EIO, gsrt_run_directory_path(directory), "faults", "cannot be written: %s",
                               strerror(errno));
    (void)close(descriptor);
    return status;
}
