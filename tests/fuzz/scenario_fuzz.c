/* Scenarios from anywhere: a status and one line, or a scenario that prints and reads back as itself. */
#include "launch/scenario.h"

#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { PRINT_BYTES_MAX = 64 << 20 };

static void fail(const char *what, const char *why)
{
    (void)fprintf(stderr, "%s: %s\n", what, why);
    abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    /* A first line "#set KEY=VALUE" is an override as well as a comment: so the corpus reaches both. */
    char line[128] = {0};
    gsrt_scenario_set set = {0};
    size_t set_count = 0;
    if (size > 5 && memcmp(data, "#set ", 5) == 0) {
        size_t len = 0;
        while (len < sizeof line - 1 && 5 + len < size && data[5 + len] != '\n' && data[5 + len] != 0)
            len++;
        memcpy(line, data + 5, len);
        char *equals = strchr(line, '=');
        if (equals != NULL) {
            *equals = 0;
            set = (gsrt_scenario_set){.key = line, .value = equals + 1};
            set_count = 1;
        }
    }
    gsrt_diag diag = {0};
    gsrt_scenario *scenario = NULL, *again = NULL;
    gsrt_status status =
        gsrt_scenario_read_span(gsrt_span_of(data, size), "/fuzz/fuzz.yaml", &set, set_count, &scenario, &diag);
    if (status != GSRT_OK) {
        if (status == GSRT_EINPUT && diag.text[0] == 0)
            fail("refused without a word", gsrt_status_text(status));
        return 0;
    }
    gsrt_buffer first, second;
    gsrt_buffer_init(&first, PRINT_BYTES_MAX);
    gsrt_buffer_init(&second, PRINT_BYTES_MAX);
    if (gsrt_scenario_print(scenario, &first) != GSRT_OK)
        fail("print", "failed");
    if (gsrt_scenario_read_span(gsrt_buffer_span(&first), "/fuzz/again.yaml", NULL, 0, &again, &diag) != GSRT_OK)
        fail("read again", diag.text);
    if (gsrt_scenario_print(again, &second) != GSRT_OK)
        fail("print again", "failed");
    if (!gsrt_span_equal(gsrt_buffer_span(&first), gsrt_buffer_span(&second)))
        fail("print", "not the same text");
    gsrt_buffer_fini(&first);
    gsrt_buffer_fini(&second);
    (void)gsrt_scenario_free(again);
    (void)gsrt_scenario_free(scenario);
    return 0;
}
