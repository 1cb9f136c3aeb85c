/* A disk: named files of bytes, below one place. Two kinds: a directory (here), and the twin's (actors/twin_disk),
 * which loses what a machine that dies may lose.
 *
 * Names are relative, of components of letters, digits, '.', '_' and '-', joined by '/', none of them "." or "..";
 * directories are made as needed. What a death leaves of a file:
 *   written  the old content or the new, whole; the new, once `sync` has returned
 *   appended a prefix that holds at least what was synced
 * Thread: one at a time.
 */
#ifndef GSRT_BASE_DISK_H
#define GSRT_BASE_DISK_H

#include "base/buffer.h"
#include "base/diag.h"
#include "base/span.h"
#include "base/status.h"

typedef struct gsrt_disk gsrt_disk;

/* Each: GSRT_OK | GSRT_EINVAL: the name | GSRT_EIO | GSRT_ENOMEM, and what it says. May block. */
typedef struct gsrt_disk_ops {
    /* Replace the whole file, or make it. */
    gsrt_status (*write)(gsrt_disk *disk, const char *name, gsrt_span bytes);
    /* Put them at its end; made when it is not there. */
    gsrt_status (*append)(gsrt_disk *disk, const char *name, gsrt_span bytes);
    /* What was written and appended to it outlives this machine's death. GSRT_ENOTFOUND. */
    gsrt_status (*sync)(gsrt_disk *disk, const char *name);
    /* Append its content to `out`. GSRT_ENOTFOUND | GSRT_ELIMIT: longer than `out` may get. */
    gsrt_status (*read)(gsrt_disk *disk, const char *name, gsrt_buffer *out);
    /* GSRT_ENOTFOUND. Certain after the next sync of any file beside it. */
    gsrt_status (*remove)(gsrt_disk *disk, const char *name);
} gsrt_disk_ops;

struct gsrt_disk {
    const gsrt_disk_ops *ops;
};

/* The files below the directory `path`, which must be there. Owned; GSRT_OK | GSRT_ENOMEM | GSRT_EINPUT, with a
 * diagnosis. A file being replaced is NAME.part. errno says why something was GSRT_EIO. */
GSRT_MUST_CHECK gsrt_status gsrt_disk_open(const char *path, gsrt_disk **out, gsrt_diag *diag);
gsrt_disk *gsrt_disk_close(gsrt_disk *disk); /* of gsrt_disk_open; NULL is fine */

/* For kinds of disks. */
bool gsrt_disk_is_name(const char *name);

#endif
