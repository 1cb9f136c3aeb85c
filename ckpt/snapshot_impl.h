/* Inside ckpt: what the files of a snapshot share. */
#ifndef GSRT_CKPT_SNAPSHOT_IMPL_H
#define GSRT_CKPT_SNAPSHOT_IMPL_H

#include "ckpt/snapshot.h"

enum { GSRT__SNAPSHOT_PATH_BYTES = 4200 };

/* <0, 0, >0 as a comes before, is, or comes after b. */
int gsrt__snapshot_compare(const gsrt_snapshot_cell *a, const gsrt_snapshot_cell *b);
/* Replace the file `path` by `bytes`, and wait until it is durable; its directory's entry is not yet. 0, or errno. */
int gsrt__snapshot_write(const char *path, gsrt_span bytes);
/* The entries of the directory `path` are durable. 0, or errno. */
int gsrt__snapshot_sync(const char *path);

#endif
