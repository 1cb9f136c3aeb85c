/* How fast messages go from one rank to another, measured over the transport that runs use. */
#ifndef GSRT_LAUNCH_FLEET_LINKS_H
#define GSRT_LAUNCH_FLEET_LINKS_H

#include "base/diag.h"
#include "launch/fleet_machine.h"

/* Collective: every process of the job calls it. Rank 0 measures, to another rank of its host, and to one of each other
 * host; the others answer and are done. Alone, or where there is no such rank, nothing is measured.
 * GSRT_OK | GSRT_EPEER, GSRT_ETIMEDOUT, and as gsrt_wireup_mpi: *diag says why.
 * thread: as gsrt_wireup_mpi. cost: a second. */
GSRT_MUST_CHECK gsrt_status gsrt_fleet_links_measure(gsrt_measured_links *out, gsrt_diag *diag);

#endif
