/* What hwloc knows of a machine, as an inventory (docs/fleet.md).
 *
 * A topology that somebody else exported can crash hwloc itself, so it is read in a child process, with limits on its
 * time and memory; the child hands back text, which is then read like any inventory.
 */
#ifndef GSRT_LAUNCH_FLEET_HWLOC_H
#define GSRT_LAUNCH_FLEET_HWLOC_H

#include "base/diag.h"
#include "launch/fleet_machine.h"

/* Append the inventory of `xml` to *out. `file` names it in *diag.
 * GSRT_OK | GSRT_EINPUT: *diag says why, also when the child crashed or took too long | GSRT_ENOMEM | GSRT_EIO.
 * thread: no other may run, because of fork. cost: a process; at most GSRT_FLEET_HWLOC_CPU_S of its time. */
GSRT_MUST_CHECK gsrt_status gsrt_fleet_hwloc_file(gsrt_span xml, const char *file, gsrt_buffer *out, gsrt_diag *diag);

/* The same of this machine, with what else is known of it. */
GSRT_MUST_CHECK gsrt_status gsrt_fleet_hwloc_here(const gsrt_machine *machine, gsrt_buffer *out, gsrt_diag *diag);

enum { GSRT_FLEET_HWLOC_CPU_S = 5, GSRT_FLEET_HWLOC_BYTES = 1 << 29, GSRT_FLEET_HWLOC_TEXT_BYTES = 4 << 20 };

#endif
