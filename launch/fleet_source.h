/* A fleet from a file, whatever kind of file it is: an inventory in YAML with its catalogues, an hwloc XML, the matrix
 * of `nvidia-smi topo -m`. The others are translated into an inventory first, so there is one reader.
 */
#ifndef GSRT_LAUNCH_FLEET_SOURCE_H
#define GSRT_LAUNCH_FLEET_SOURCE_H

#include "placement/fleet.h"

/* Read the fleet at `path`. *out owned: gsrt_fleet_free.
 * GSRT_OK: there may be findings about single values. GSRT_EINPUT | GSRT_EIO: said in findings where an inventory was
 * read, else in *diag | GSRT_ENOMEM. thread, cost: as gsrt_fleet_hwloc_file where it is a topology. */
GSRT_MUST_CHECK gsrt_status gsrt_fleet_source_read(const char *path, gsrt_findings *findings, gsrt_fleet **out,
                                                   gsrt_diag *diag);

/* The same of an inventory that is a text already; `name` is said where its path would be. */
GSRT_MUST_CHECK gsrt_status gsrt_fleet_source_parse(const char *name, gsrt_span text, gsrt_findings *findings,
                                                    gsrt_fleet **out, gsrt_diag *diag);

#endif
