#include "launch/trial.h"

#include "base/limits.h"
#include "launch/read_file.h"

#include <stdio.h>

gsrt_status gsrt_trial_read_report(const char *directory, json_t **out, gsrt_diag *diag)
{
    char path[GSRT_PATH_BYTES_MAX + 16];
    gsrt_buffer text;
    gsrt_buffer_init(&text, GSRT_JSON_BYTES_MAX);
    (void)snprintf(path, sizeof path, "%s/report.json", directory);
    gsrt_status status = gsrt_read_file(path, "the run has just written it", &text, diag);
    if (status == GSRT_OK)
        status = gsrt_json_parse(gsrt_buffer_span(&text), path, out, diag);
    gsrt_buffer_fini(&text);
    return status;
}
