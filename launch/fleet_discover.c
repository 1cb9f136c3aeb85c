#include "launch/fleet_discover.h"

#include "base/limits.h"
#include "launch/fleet_counters.h"
#include "launch/fleet_hwloc.h"
#include "launch/fleet_source.h"

#include <stdlib.h>

static gsrt_status ask_all(const gsrt_discovery *discovery, gsrt_buffer *counters, gsrt_machine *machine,
                           gsrt_findings *findings, gsrt_diag *diag)
{
    gsrt_status status = gsrt_fleet_counters(counters, &machine->has_counters, findings);
    machine->counters = gsrt_buffer_span(counters);
    if (status == GSRT_OK)
        status = gsrt_fleet_nvml(discovery->nvml_path, &machine->nvml, findings, diag);
    if (status == GSRT_OK && discovery->is_measuring)
        status = gsrt_fleet_measure(&discovery->measuring, machine, findings, diag);
    return status;
}

gsrt_status gsrt_fleet_discover(const gsrt_discovery *discovery, gsrt_findings *findings, gsrt_fleet **out,
                                gsrt_diag *diag)
{
    gsrt_machine *machine = calloc(1, sizeof *machine); /* some 50 kB */
    if (machine == NULL)
        return GSRT_ENOMEM;
    machine->measured_day = discovery->is_measuring ? discovery->today : GSRT_DAY_FIRST;
    machine->links = discovery->links;
    gsrt_buffer counters, inventory;
    gsrt_buffer_init(&counters, GSRT_SCENARIO_BYTES_MAX);
    gsrt_buffer_init(&inventory, GSRT_SCENARIO_BYTES_MAX);
    gsrt_status status = ask_all(discovery, &counters, machine, findings, diag);
    if (status == GSRT_OK)
        status = gsrt_fleet_hwloc_here(machine, &inventory, diag);
    if (status == GSRT_OK)
        status = gsrt_fleet_source_parse("this machine", gsrt_buffer_span(&inventory), findings, out, diag);
    gsrt_buffer_fini(&inventory);
    gsrt_buffer_fini(&counters);
    free(machine);
    return status;
}
