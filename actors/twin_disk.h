/* The disk of a rank in the twin (base/disk.h): files in memory that outlive the rank's incarnations, and lose what a
 * real one may lose.
 *
 * Legal order: create; any ops, fail, mend; free. Thread: one. Cost: O(files) per op; few files are meant.
 * Memory: twice what is in the files, until they are synced.
 */
#ifndef GSRT_ACTORS_TWIN_DISK_H
#define GSRT_ACTORS_TWIN_DISK_H

#include "base/disk.h"

typedef struct gsrt_twin_disk gsrt_twin_disk;

gsrt_twin_disk *gsrt_twin_disk_free(gsrt_twin_disk *self);
/* Draws come from (seed, rank). Owned; NULL: no memory. */
gsrt_twin_disk *gsrt_twin_disk_create(uint64_t seed, uint32_t rank);
gsrt_disk *gsrt_twin_disk_door(gsrt_twin_disk *self); /* borrowed */

/* Everything is GSRT_EIO from now on. is_lossy: of each file that was not synced, by a draw: a written one is the old
 * one, or none, or the new one; an appended one is cut somewhere after what was synced; a removed one may be back. */
void gsrt_twin_disk_fail(gsrt_twin_disk *self, bool is_lossy);
void gsrt_twin_disk_mend(gsrt_twin_disk *self); /* it works again */

#endif
