/* Contracts from anywhere: one line that says why not, or rules that print and read back as themselves. */
#include "placement/contract.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool is_true)
{
    if (!is_true)
        abort();
}

/* GSRT_OK: *out owned, and printed into `printed`. */
static gsrt_status read(gsrt_span text, gsrt_contract **out, gsrt_buffer *printed)
{
    gsrt_diag diag = {0};
    gsrt_yaml *yaml = NULL;
    gsrt_status status = gsrt_yaml_parse(text, "fuzz", &yaml, &diag);
    if (status != GSRT_OK)
        return status;
    gsrt_arena arena;
    gsrt_arena_init(&arena, 1 << 20);
    gsrt_yaml_reader reader = {.arena = &arena,
                               .subject_name = "the contract",
                               .file = "fuzz",
                               .directory = "/fuzz",
                               .working = "/fuzz",
                               .diag = &diag};
    status = gsrt_contract_read(&reader, yaml->root, out);
    must(status != GSRT_EINPUT || diag.text[0] != 0);
    if (status == GSRT_OK)
        must(gsrt_contract_print(*out, printed) == GSRT_OK);
    gsrt_arena_fini(&arena);
    (void)gsrt_yaml_free(yaml);
    return status;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    gsrt_contract *contract = NULL, *again = NULL;
    gsrt_buffer first, second;
    gsrt_buffer_init(&first, 64 << 20);
    gsrt_buffer_init(&second, 64 << 20);
    if (read(gsrt_span_of(data, size), &contract, &first) == GSRT_OK) {
        static const char *const names[] = {"", "embed", "layer.0", "layer.17", "output"};
        must(contract->rule_count > 0);
        must(read(gsrt_buffer_span(&first), &again, &second) == GSRT_OK);
        must(gsrt_span_equal(gsrt_buffer_span(&first), gsrt_buffer_span(&second)));
        for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
            must(gsrt_contract_rule_for(contract, names[i]) - contract->rules ==
                 gsrt_contract_rule_for(again, names[i]) - again->rules);
    }
    (void)gsrt_contract_free(contract);
    (void)gsrt_contract_free(again);
    gsrt_buffer_fini(&first);
    gsrt_buffer_fini(&second);
    return 0;
}
