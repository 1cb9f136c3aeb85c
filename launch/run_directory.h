/* The directory of one run: scenario.yaml, plan.json, report.json, tokens.jsonl, trace/.
 *
 * Created once, by the rank that reports; never written over: a directory that holds anything is refused. Whole files
 * appear by rename, so that a reader sees the old one or the new one and nothing between. Files that grow
 * (tokens.jsonl, traces, logits) are opened here and written by their owners.
 */
#ifndef GSRT_LAUNCH_RUN_DIRECTORY_H
#define GSRT_LAUNCH_RUN_DIRECTORY_H

#include "base/buffer.h"
#include "base/diag.h"
#include "base/span.h"

typedef struct gsrt_run_directory gsrt_run_directory;

/* Create the directory `wanted`, parents too, and trace/ within it. wanted NULL: runs/NAME-NUMBER, the lowest free
 * number from 1. An existing directory is taken when it is empty. *out owned.
 * GSRT_OK | GSRT_EINPUT (holds something, is no directory, cannot be created) | GSRT_ENOMEM. */
GSRT_MUST_CHECK gsrt_status gsrt_run_directory_create(const char *wanted, const char *name, gsrt_run_directory **out,
                                                      gsrt_diag *diag);

/* The same of a directory that is no run: `wanted`, without trace/ and incidents/ within it. */
GSRT_MUST_CHECK gsrt_status gsrt_run_directory_create_plain(const char *wanted, gsrt_run_directory **out,
                                                            gsrt_diag *diag);

/* Open one that another rank has created, at `path`. GSRT_OK | GSRT_EINPUT | GSRT_ENOMEM. */
GSRT_MUST_CHECK gsrt_status gsrt_run_directory_open(const char *path, gsrt_run_directory **out, gsrt_diag *diag);

/* Closes; the files stay. Accepts NULL; returns NULL. */
gsrt_run_directory *gsrt_run_directory_free(gsrt_run_directory *directory);

/* As the user may type it; borrowed until free. */
const char *gsrt_run_directory_path(const gsrt_run_directory *directory);

/* Put `bytes` into the file `name` ("report.json", "trace/rank-0.json"), all or nothing. Replaces it. May block.
 * GSRT_OK | GSRT_EIO. */
GSRT_MUST_CHECK gsrt_status gsrt_run_directory_write(gsrt_run_directory *directory, const char *name, gsrt_span bytes,
                                                     gsrt_diag *diag);

/* Append the content of `name` to `out`, as far as its limit allows. GSRT_OK | GSRT_ENOTFOUND: there is no such file |
 * GSRT_EINPUT: it is larger than that, or no file | GSRT_EIO | GSRT_ENOMEM. */
GSRT_MUST_CHECK gsrt_status gsrt_run_directory_read(gsrt_run_directory *directory, const char *name, gsrt_buffer *out,
                                                    gsrt_diag *diag);

/* Open a growing file for writing: empty, created; an absolute `name` lies outside of the directory and is emptied.
 * *out_descriptor owned: close(). GSRT_OK | GSRT_EIO. */
GSRT_MUST_CHECK gsrt_status gsrt_run_directory_open_file(gsrt_run_directory *directory, const char *name,
                                                         int *out_descriptor, gsrt_diag *diag);
/* Open a file of lines, to read, and to write at its end; made when it is not there. GSRT_OK | GSRT_EIO. */
GSRT_MUST_CHECK gsrt_status gsrt_run_directory_append_file(gsrt_run_directory *directory, const char *name,
                                                           int *out_descriptor, gsrt_diag *diag);
/* Open such a file again, for reading and writing, without emptying it. GSRT_OK | GSRT_EIO. */
GSRT_MUST_CHECK gsrt_status gsrt_run_directory_reopen_file(gsrt_run_directory *directory, const char *name,
                                                           int *out_descriptor, gsrt_diag *diag);

#endif
