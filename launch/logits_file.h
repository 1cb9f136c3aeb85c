/* output.logits: the raw float32 logits of all positions, prompt included, row-major [positions, vocab].
 *
 * One request: the file as the scenario names it. Several: one file each, the request's number before the suffix
 * ("logits.f32" becomes "logits-0.f32", "logits-1.f32"; without a suffix: at the end). Rows may come in any order, and
 * again: they are written at their place.
 */
#ifndef GSRT_LAUNCH_LOGITS_FILE_H
#define GSRT_LAUNCH_LOGITS_FILE_H

#include "launch/run_directory.h"

typedef struct gsrt_logits_file gsrt_logits_file;

/* Open the file, or files, in `directory` unless `name` is absolute. is_new: what is there is emptied; else another
 * process began it, and this one goes on. *out owned; directory borrowed until free. Keeps one descriptor open,
 * whatever the number of requests. GSRT_OK | GSRT_EIO | GSRT_ENOMEM. */
GSRT_MUST_CHECK gsrt_status gsrt_logits_file_open(gsrt_run_directory *directory, const char *name, bool is_new,
                                                  uint32_t request_count, uint32_t vocab_count, gsrt_logits_file **out,
                                                  gsrt_diag *diag);

/* Write logits[vocab_count] of `position` of `request`. May block. GSRT_OK | GSRT_EINVAL | GSRT_EIO. */
GSRT_MUST_CHECK gsrt_status gsrt_logits_file_write(gsrt_logits_file *file, uint32_t request, uint32_t position,
                                                   const float *logits, gsrt_diag *diag);

/* Accepts NULL; returns NULL. */
gsrt_logits_file *gsrt_logits_file_free(gsrt_logits_file *file);

#endif
