/* Evidence from anywhere: one line that says why not, or a document that is written as the same values again. */
#include "placement/evidence.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool is_true)
{
    if (!is_true)
        abort();
}

static void print(const gsrt_evidence_list *list, gsrt_buffer *out)
{
    gsrt_buffer_init(out, 64 << 20);
    must(gsrt_evidence_list_print(list, out) == GSRT_OK);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    gsrt_evidence_list list, again;
    gsrt_buffer first, second;
    gsrt_diag diag = {0};
    gsrt_evidence_list_init(&list);
    gsrt_evidence_list_init(&again);
    gsrt_status status = gsrt_evidence_list_read(&list, gsrt_span_of(data, size), "fuzz", &diag);
    if (status == GSRT_OK) {
        print(&list, &first);
        must(gsrt_evidence_list_read(&again, gsrt_buffer_span(&first), "again", &diag) == GSRT_OK);
        print(&again, &second);
        must(gsrt_span_equal(gsrt_buffer_span(&first), gsrt_buffer_span(&second)));
        gsrt_buffer_fini(&first);
        gsrt_buffer_fini(&second);
    } else {
        must(status != GSRT_EINPUT || diag.text[0] != 0);
        must(list.count == 0);
    }
    gsrt_evidence_list_fini(&list);
    gsrt_evidence_list_fini(&again);
    return 0;
}
