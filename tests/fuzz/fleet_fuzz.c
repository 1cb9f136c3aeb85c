/* Inventories from anywhere: findings, or a fleet whose print reads back as itself; each input is its own catalogue,
 * too. */
#include "base/limits.h"
#include "placement/fleet.h"

#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void fail(const char *what, const char *why)
{
    (void)fprintf(stderr, "%s: %s\n", what, why);
    abort();
}

/* Peers lie within the other part. */
static void check_peers(const gsrt_fleet *fleet)
{
    for (uint32_t i = 0; i < fleet->link_count; i++) {
        const gsrt_link *link = &fleet->links[i];
        uint64_t first = 0, last = fleet->parts[link->from].total - 1;
        uint64_t count = gsrt_fleet_peers(fleet, i, last, &first);
        if (count == 0 || first + count > fleet->parts[link->to].total)
            fail("peers", link->name);
    }
}

static void check_again(const gsrt_fleet *fleet)
{
    gsrt_buffer first, second;
    gsrt_buffer_init(&first, GSRT_FLEET_PRINT_BYTES_MAX);
    gsrt_buffer_init(&second, GSRT_FLEET_PRINT_BYTES_MAX);
    gsrt_yaml *yaml = NULL;
    gsrt_fleet *again = NULL;
    gsrt_diag diag = {0};
    gsrt_findings findings;
    gsrt_findings_init(&findings);
    if (gsrt_fleet_print(fleet, &first) != GSRT_OK)
        fail("print", "failed");
    if (gsrt_yaml_parse(gsrt_buffer_span(&first), "again", &yaml, &diag) != GSRT_OK)
        fail("parse again", diag.text);
    if (gsrt_fleet_read(yaml, NULL, 0, &findings, &again) != GSRT_OK)
        fail("read again", findings.count > 0 ? findings.items[0].what : "without a word");
    if (gsrt_fleet_print(again, &second) != GSRT_OK)
        fail("print again", "failed");
    if (!gsrt_span_equal(gsrt_buffer_span(&first), gsrt_buffer_span(&second)))
        fail("print", "not the same text");
    gsrt_findings_fini(&findings);
    (void)gsrt_fleet_free(again);
    (void)gsrt_yaml_free(yaml);
    gsrt_buffer_fini(&first);
    gsrt_buffer_fini(&second);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    gsrt_diag diag = {0};
    gsrt_yaml *yaml = NULL;
    if (gsrt_yaml_parse(gsrt_span_of(data, size), "fuzz", &yaml, &diag) != GSRT_OK)
        return 0;
    gsrt_findings findings;
    gsrt_findings_init(&findings);
    gsrt_fleet *fleet = NULL;
    const gsrt_yaml *catalogues[] = {yaml};
    size_t catalogue_count = gsrt_yaml_find(yaml->root, "gsrt_catalogue") != NULL ? 1 : 0;
    gsrt_status status = gsrt_fleet_read(yaml, catalogues, catalogue_count, &findings, &fleet);
    if (status == GSRT_EINPUT && findings.error_count == 0)
        fail("refused without a word", gsrt_status_text(status));
    if (status == GSRT_OK) {
        gsrt_fleet_check(fleet, 20787, &findings);
        check_peers(fleet);
        check_again(fleet);
    }
    (void)gsrt_fleet_free(fleet);
    gsrt_findings_fini(&findings);
    (void)gsrt_yaml_free(yaml);
    return 0;
}
