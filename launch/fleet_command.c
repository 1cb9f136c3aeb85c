#include "launch/fleet_command.h"

#include "base/json.h"
#include "base/limits.h"
#include "launch/fleet_discover.h"
#include "launch/fleet_links.h"
#include "launch/fleet_source.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { SECONDS_OF_DAY = 86400 };

static gsrt_status print_json(const gsrt_findings *findings, gsrt_buffer *out)
{
    json_t *list = json_array(), *all = json_object();
    for (size_t i = 0; i < findings->count; i++) {
        const gsrt_finding *finding = &findings->items[i];
        json_t *item = json_object();
        (void)json_object_set_new(item, "reason", gsrt_json_text(finding->reason));
        (void)json_object_set_new(item, "class", gsrt_json_text(gsrt_finding_class_word(finding->class)));
        (void)json_object_set_new(item, "place", gsrt_json_text(finding->place));
        (void)json_object_set_new(item, "what", gsrt_json_text(finding->what));
        (void)json_array_append_new(list, item);
    }
    (void)json_object_set_new(all, "schema", gsrt_json_text("gsrt-fleet-check/1"));
    (void)json_object_set_new(all, "errors", gsrt_json_u64(findings->error_count));
    (void)json_object_set_new(all, "notes", gsrt_json_u64(findings->note_count));
    (void)json_object_set_new(all, "findings", list);
    gsrt_status status = gsrt_json_print(all, false, out);
    json_decref(all);
    return status;
}

/* What the command prints for a fleet that could be read, or not (NULL). */
static gsrt_status print_answer(const gsrt_options *options, const gsrt_fleet *fleet, const gsrt_findings *findings,
                                gsrt_buffer *out)
{
    if (options->fleet_action != GSRT_FLEET_CHECK)
        return fleet == NULL ? GSRT_OK : gsrt_fleet_print(fleet, out);
    if (options->is_json)
        return print_json(findings, out);
    gsrt_status status = gsrt_findings_print(findings, out);
    if (status == GSRT_OK && !options->is_quiet)
        status = gsrt_buffer_print(out, "%s: %zu error%s, %zu note%s\n", options->fleet, findings->error_count,
                                   findings->error_count == 1 ? "" : "s", findings->note_count,
                                   findings->note_count == 1 ? "" : "s");
    return status;
}

/* What no inventory of one host holds: how its own ranks reach each other. */
static void say_near(const gsrt_measured_links *links)
{
    if (links->near_latency.value > 0)
        (void)fprintf(
            stderr,
            "this machine: ranks: %.3g us and %.3g GB/s one way over %s; to plan for ranks of one host write 'twin: "
            "{link: {latency_us: %.3g, bandwidth_gbps: %.3g}}'\n",
            links->near_latency.value * 1e6, links->near_bandwidth.value * 1e-9, links->near_lane,
            links->near_latency.value * 1e6, links->near_bandwidth.value * 8e-9);
}

/* This machine. Under mpirun it is rank 0's, and *out stays NULL on the others, which are only measured with. */
static gsrt_status discover(bool is_measuring, int32_t today, gsrt_findings *findings, gsrt_fleet **out,
                            gsrt_diag *diag)
{
    gsrt_discovery discovery = {.nvml_path = getenv("GSRT_NVML"), .is_measuring = is_measuring, .today = today};
    gsrt_status status = is_measuring ? gsrt_fleet_links_measure(&discovery.links, diag) : GSRT_OK;
    if (status != GSRT_OK || discovery.links.rank > 0)
        return status;
    say_near(&discovery.links);
    return gsrt_fleet_discover(&discovery, findings, out, diag);
}

int gsrt_fleet_command(const gsrt_options *options)
{
    gsrt_findings findings;
    gsrt_findings_init(&findings);
    gsrt_buffer out;
    gsrt_buffer_init(&out, GSRT_FLEET_PRINT_BYTES_MAX);
    gsrt_fleet *fleet = NULL;
    gsrt_diag diag = {0};
    int32_t today = (int32_t)(time(NULL) / SECONDS_OF_DAY);
    gsrt_status status = options->fleet_action == GSRT_FLEET_DISCOVER
                             ? discover(options->is_measuring, today, &findings, &fleet, &diag)
                             : gsrt_fleet_source_read(options->fleet, &findings, &fleet, &diag);
    if (status == GSRT_OK && options->fleet_action == GSRT_FLEET_CHECK)
        gsrt_fleet_check(fleet, today, &findings);
    if (status == GSRT_OK && findings.error_count > 0)
        status = GSRT_EINPUT;
    bool is_said = findings.error_count > 0;
    if (!is_said && status != GSRT_OK) {
        (void)fprintf(stderr, "gsrt: error: %s\n", diag.status == GSRT_OK ? gsrt_status_text(status) : diag.text);
    } else {
        gsrt_status printed = print_answer(options, fleet, &findings, &out);
        if (printed == GSRT_OK && fwrite(out.data, 1, out.len, stdout) != out.len)
            printed = GSRT_EIO;
        status = printed == GSRT_OK ? status : printed;
        gsrt_buffer_reset(&out);
        if (options->fleet_action != GSRT_FLEET_CHECK && gsrt_findings_print(&findings, &out) == GSRT_OK)
            (void)fwrite(out.data, 1, out.len, stderr);
    }
    gsrt_buffer_fini(&out);
    gsrt_findings_fini(&findings);
    (void)gsrt_fleet_free(fleet);
    return gsrt_exit_code(status);
}
