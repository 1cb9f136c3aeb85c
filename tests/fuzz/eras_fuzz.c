/* narrowed.json: what is accepted is within the limits, and is the same when it is written and read again. */
#include "launch/eras.h"

#include <stdlib.h>

enum { REQUESTS = 3 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A failed check is a crash, which is what a fuzzer looks for. */
static void must(bool is_true)
{
    if (!is_true)
        abort();
}

static void check_era(const gsrt_era *era)
{
    must(era->narrowed_count <= GSRT_PLAN_PLACE_COUNT && era->why.statistic != NULL);
    for (uint32_t i = 0; i < era->narrowed_count; i++)
        must(era->narrowed[i].place < GSRT_PLAN_PLACE_COUNT &&
             (i == 0 || era->narrowed[i].place > era->narrowed[i - 1].place));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const gsrt_plan plan = {.narrowed_count = 0};
    gsrt_eras eras, again;
    gsrt_buffer first, second;
    gsrt_diag diag = {0};
    must(gsrt_eras_init(&eras, &plan, REQUESTS) == GSRT_OK && gsrt_eras_init(&again, &plan, REQUESTS) == GSRT_OK);
    gsrt_buffer_init(&first, SIZE_MAX / 2);
    gsrt_buffer_init(&second, SIZE_MAX / 2);
    if (gsrt_eras_read(&eras, gsrt_span_of(data, size), "fuzz", &diag) == GSRT_OK) {
        must(eras.count >= 1 && eras.count <= GSRT_ERA_COUNT_MAX);
        must(eras.items[0].narrowed_count == 0);
        for (uint32_t i = 1; i < eras.count; i++)
            check_era(&eras.items[i]);
        must(gsrt_eras_print(&eras, &first) == GSRT_OK);
        must(gsrt_eras_read(&again, gsrt_buffer_span(&first), "fuzz", &diag) == GSRT_OK);
        must(gsrt_eras_print(&again, &second) == GSRT_OK);
        must(gsrt_span_equal(gsrt_buffer_span(&first), gsrt_buffer_span(&second)));
    } else {
        must(diag.text[0] != 0 && eras.count == 1);
    }
    gsrt_buffer_fini(&first);
    gsrt_buffer_fini(&second);
    gsrt_eras_fini(&eras);
    gsrt_eras_fini(&again);
    return 0;
}
