/* An incident's file: whatever is accepted is written again as the same value, and a collector goes on with it. */
#include "health/incidents.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A failed check is a crash, which is what a fuzzer looks for. */
static void must(bool is_true)
{
    if (!is_true)
        abort();
}

static void write_again(const gsrt_incident *incident, gsrt_buffer *out)
{
    gsrt_buffer_reset(out);
    must(gsrt_incident_write(incident, out) == GSRT_OK);
}

/* A fault and a recovery after it: what comes of that can be read, too. */
static void go_on(gsrt_incident *taken, gsrt_buffer *text)
{
    static const gsrt_incident_event events[] = {
        {.kind = GSRT_INCIDENT_WORD, .at_ns = 1000000, .rank = 7, .incarnation = 9},
        {.kind = GSRT_INCIDENT_JOINED, .at_ns = 2000000, .rank = 7, .incarnation = 10},
        {.kind = GSRT_INCIDENT_STARTED, .at_ns = 3000000, .epoch = 3},
        {.kind = GSRT_INCIDENT_READY, .at_ns = 4000000},
        {.kind = GSRT_INCIDENT_TOKEN, .at_ns = 5000000, .request = 0, .token = 1},
    };
    gsrt_incidents *incidents = gsrt_incidents_create(1);
    gsrt_incident_news news;
    gsrt_incident *again;
    must(incidents != NULL && gsrt_incidents_adopt(incidents, taken) == GSRT_OK);
    for (size_t i = 0; i < sizeof events / sizeof events[0]; i++) {
        gsrt_status status = gsrt_incidents_step(incidents, &events[i]);
        must(status == GSRT_OK || status == GSRT_ELIMIT);
        must(gsrt_incidents_check(incidents));
    }
    while (gsrt_incidents_poll(incidents, &news)) {
        write_again(news.incident, text);
        must(gsrt_incident_read(gsrt_buffer_span(text), "again", &again, NULL) == GSRT_OK);
        (void)gsrt_incident_free(again);
    }
    (void)gsrt_incidents_free(incidents);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    gsrt_incident *incident, *again;
    gsrt_buffer first, second;
    gsrt_diag diag = {0};
    if (gsrt_incident_read(gsrt_span_of(data, size), "fuzz", &incident, &diag) != GSRT_OK) {
        must(diag.text[0] != 0);
        return 0;
    }
    must(incident->fault_count > 0 && gsrt_incident_kind_name(gsrt_incident_kind_of(incident)) != NULL);
    gsrt_buffer_init(&first, GSRT_JSON_BYTES_MAX);
    gsrt_buffer_init(&second, GSRT_JSON_BYTES_MAX);
    write_again(incident, &first);
    must(gsrt_incident_read(gsrt_buffer_span(&first), "again", &again, NULL) == GSRT_OK);
    write_again(again, &second);
    must(gsrt_span_equal(gsrt_buffer_span(&first), gsrt_buffer_span(&second)));
    (void)gsrt_incident_free(again);
    go_on(incident, &second);
    gsrt_buffer_fini(&first);
    gsrt_buffer_fini(&second);
    return 0;
}
