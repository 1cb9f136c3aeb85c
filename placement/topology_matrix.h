/* The matrix that `nvidia-smi topo -m` prints, as an inventory (docs/fleet.md).
 *
 * Devices are parts; what PIX and PXB join is behind one switch, what PHB joins below one PCIe root, and NUMA affinity
 * is a board. NV# are coherent links. It says nothing of speeds, memory or rates: these are unknown, and
 * gsrt_fleet_check names them. Pure. Cost: O(devices^2), at most GSRT_MATRIX_DEVICES_MAX devices.
 */
#ifndef GSRT_PLACEMENT_TOPOLOGY_MATRIX_H
#define GSRT_PLACEMENT_TOPOLOGY_MATRIX_H

#include "base/buffer.h"
#include "base/diag.h"

enum { GSRT_MATRIX_DEVICES_MAX = 128 };

/* Does the text hold such a matrix, good or bad? */
bool gsrt_topology_matrix_is(gsrt_span text);

/* Append the inventory to *out. `file` names the text in *diag. GSRT_OK | GSRT_EINPUT: *diag says line and what is
 * missing | errors of gsrt_buffer_append. */
GSRT_MUST_CHECK gsrt_status gsrt_topology_matrix_read(gsrt_span text, const char *file, gsrt_buffer *out,
                                                      gsrt_diag *diag);

#endif
