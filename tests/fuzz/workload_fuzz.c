/* The text of a workload: whatever is accepted is right, and is written again as the same bytes. */
#include <stdlib.h>

#include "placement/workload_text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A failed check is a crash, which is what a fuzzer looks for. */
static void must(bool is_true)
{
    if (!is_true)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    gsrt_workload *workload;
    gsrt_buffer text;
    gsrt_diag diag = {0};
    gsrt_workload_hash hash;
    if (gsrt_workload_read(gsrt_span_of(data, size), "fuzz", &workload, &diag) != GSRT_OK) {
        must(diag.text[0] != 0);
        return 0;
    }
    gsrt_buffer_init(&text, GSRT_WORKLOAD_BYTES_MAX);
    must(gsrt_workload_check(workload, "fuzz", NULL) == GSRT_OK);
    must(gsrt_workload_write(workload, &text) == GSRT_OK);
    must(gsrt_span_equal(gsrt_buffer_span(&text), gsrt_span_of(data, size)));
    must(gsrt_workload_hash_of(workload, &hash) == GSRT_OK);
    gsrt_buffer_fini(&text);
    gsrt_workload_free(workload);
    return 0;
}
