/* workload.synthetic from anywhere: refused with a word, or numbers that print and read back the same, and a right
 * workload, if their blocks fit. */
#include "model/synthetic.h"

#include <stdlib.h>

#include "placement/workload_totals.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { ARENA_BYTES_MAX = 1 << 20, PRINT_BYTES_MAX = 1 << 16, LAYERS_BUILT = 16 };

static void must(bool is_true)
{
    if (!is_true)
        abort();
}

static gsrt_status read(gsrt_span text, gsrt_arena *arena, gsrt_synthetic *out, gsrt_diag *diag)
{
    gsrt_yaml *yaml;
    gsrt_status status = gsrt_yaml_parse(text, "fuzz.yaml", &yaml, diag);
    if (status != GSRT_OK)
        return status;
    gsrt_yaml_reader reader = {.arena = arena, .subject_name = "it", .file = "fuzz.yaml", .diag = diag};
    status = gsrt_synthetic_read(&reader, yaml->root, out);
    (void)gsrt_yaml_free(yaml);
    return status;
}

static void check(const gsrt_synthetic *first, gsrt_arena *arena)
{
    gsrt_buffer text, again;
    gsrt_synthetic second;
    gsrt_workload *workload;
    gsrt_workload_totals totals;
    gsrt_diag diag = {0};
    gsrt_buffer_init(&text, PRINT_BYTES_MAX);
    gsrt_buffer_init(&again, PRINT_BYTES_MAX);
    must(gsrt_synthetic_print(first, &text) == GSRT_OK);
    must(read(gsrt_buffer_span(&text), arena, &second, &diag) == GSRT_OK);
    must(gsrt_synthetic_print(&second, &again) == GSRT_OK);
    must(gsrt_span_equal(gsrt_buffer_span(&text), gsrt_buffer_span(&again)));
    gsrt_buffer_fini(&text);
    gsrt_buffer_fini(&again);
    second.layers = second.layers < LAYERS_BUILT ? second.layers : LAYERS_BUILT; /* the others are like these */
    gsrt_status status = gsrt_synthetic_build(&second, "fuzz.yaml", &workload, &diag);
    must(status == GSRT_OK || diag.text[0] != 0);
    if (status != GSRT_OK)
        return;
    must(gsrt_workload_check(workload, "fuzz", NULL) == GSRT_OK);
    must(gsrt_workload_totals_of(workload, &totals) == GSRT_OK && totals.parameters_active <= totals.parameters);
    gsrt_workload_free(workload);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    gsrt_arena arena;
    gsrt_synthetic synthetic;
    gsrt_diag diag = {0};
    gsrt_arena_init(&arena, ARENA_BYTES_MAX);
    gsrt_status status = read(gsrt_span_of(data, size), &arena, &synthetic, &diag);
    must(status == GSRT_OK || diag.text[0] != 0);
    if (status == GSRT_OK)
        check(&synthetic, &arena);
    gsrt_arena_fini(&arena);
    return 0;
}
