/* A config.json: whatever is accepted is a right workload whose text reads back. */
#include <stdlib.h>

#include "model/config_json.h"
#include "placement/workload_text.h"
#include "placement/workload_totals.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A failed check is a crash, which is what a fuzzer looks for. */
static void must(bool is_true)
{
    if (!is_true)
        abort();
}

static void check(const gsrt_workload *workload)
{
    gsrt_workload *again;
    gsrt_buffer text;
    gsrt_workload_totals totals;
    must(gsrt_workload_check(workload, "fuzz", NULL) == GSRT_OK);
    must(gsrt_workload_totals_of(workload, &totals) == GSRT_OK && totals.parameters_active <= totals.parameters);
    if (workload->op_count > 4096) /* the text of many layers says no more than that of few, and takes long */
        return;
    gsrt_buffer_init(&text, GSRT_WORKLOAD_BYTES_MAX);
    must(gsrt_workload_write(workload, &text) == GSRT_OK);
    must(gsrt_workload_read(gsrt_buffer_span(&text), "again", &again, NULL) == GSRT_OK);
    gsrt_workload_free(again);
    gsrt_buffer_fini(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    gsrt_workload *workload;
    gsrt_config_report report;
    gsrt_diag diag = {0};
    gsrt_config_report_init(&report);
    gsrt_status status = gsrt_import_config(gsrt_span_of(data, size), "fuzz-8B.json", &workload, &report, &diag);
    must(status == GSRT_OK || diag.text[0] != 0);
    if (status == GSRT_OK) {
        check(workload);
        gsrt_workload_free(workload);
    }
    gsrt_config_report_fini(&report);
    return 0;
}
