/* Matrices from anywhere: one line that says why not, or an inventory that is read without a finding. */
#include "placement/topology_matrix.h"

#include "placement/fleet.h"

#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void fail(const char *what, const char *why)
{
    (void)fprintf(stderr, "%s: %s\n", what, why);
    abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    gsrt_buffer text;
    gsrt_buffer_init(&text, 8 << 20);
    gsrt_diag diag = {0};
    gsrt_span span = gsrt_span_of(data, size);
    gsrt_status status = gsrt_topology_matrix_read(span, "fuzz", &text, &diag);
    if (status == GSRT_EINPUT && diag.text[0] == 0)
        fail("refused without a word", gsrt_status_text(status));
    if (status == GSRT_OK) {
        gsrt_yaml *yaml = NULL;
        gsrt_fleet *fleet = NULL;
        gsrt_findings findings;
        gsrt_findings_init(&findings);
        if (gsrt_yaml_parse(gsrt_buffer_span(&text), "fuzz", &yaml, &diag) != GSRT_OK)
            fail("no YAML", diag.text);
        if (gsrt_fleet_read(yaml, NULL, 0, &findings, &fleet) != GSRT_OK || findings.error_count > 0)
            fail("no inventory", findings.count > 0 ? findings.items[0].what : "without a word");
        gsrt_fleet_check(fleet, 0, &findings);
        if (findings.error_count > 0)
            fail("a bad inventory", findings.items[0].what);
        (void)gsrt_fleet_free(fleet);
        gsrt_findings_fini(&findings);
        (void)gsrt_yaml_free(yaml);
    }
    gsrt_buffer_fini(&text);
    return 0;
}
