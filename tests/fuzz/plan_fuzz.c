/* A plan.json from anywhere: gsrt explain prints what there is, and nothing that moves a cursor. */
#include "launch/plan_print.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { PRINT_BYTES_MAX = 64 << 20 };

static void must(bool is_true)
{
    if (!is_true)
        abort();
}

static void check(gsrt_buffer *out, gsrt_status status)
{
    must(status == GSRT_OK || status == GSRT_ENOTFOUND || status == GSRT_ELIMIT);
    for (size_t i = 0; i < out->len; i++)
        must(out->data[i] >= 0x20 || out->data[i] == '\n');
    gsrt_buffer_reset(out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    json_t *plan;
    gsrt_diag diag = {0};
    gsrt_buffer out;
    if (gsrt_json_parse(gsrt_span_of(data, size), "fuzz.json", &plan, &diag) != GSRT_OK)
        return 0;
    gsrt_buffer_init(&out, PRINT_BYTES_MAX);
    check(&out, gsrt_plan_print_page(plan, false, &out));
    check(&out, gsrt_plan_print_page(plan, true, &out));
    for (size_t i = 0; gsrt_plan_section_name(i) != NULL; i++)
        check(&out, gsrt_plan_print_section(plan, gsrt_plan_section_name(i), &out));
    check(&out, gsrt_plan_print_section(plan, "ttft.p50", &out));
    gsrt_buffer_fini(&out);
    json_decref(plan);
    return 0;
}
