/* A file that the user named, whole. */
#ifndef GSRT_LAUNCH_READ_FILE_H
#define GSRT_LAUNCH_READ_FILE_H

#include "base/buffer.h"
#include "base/diag.h"

/* Append all of it to `out`, as far as its limit allows, and a zero byte behind it that is not counted. give: the
 * remedy, "give an inventory". GSRT_OK | GSRT_EINPUT: it cannot be read, or is larger | GSRT_ENOMEM. */
GSRT_MUST_CHECK gsrt_status gsrt_read_file(const char *path, const char *give, gsrt_buffer *out, gsrt_diag *diag);

#endif
