/* The one clear error that a person gets: what, in which file, at which place, and the remedy.
 *
 * A function that reads something from outside takes a gsrt_diag (may be NULL) and fills it once, where the error is
 * first known; callers pass it on. First error wins: later sets are ignored. The text is one line:
 *   "FILE: PLACE: what is wrong; remedy"
 */
#ifndef GSRT_BASE_DIAG_H
#define GSRT_BASE_DIAG_H

#include "base/status.h"

enum { GSRT_DIAG_TEXT_MAX = 1024 };

typedef struct gsrt_diag {
    gsrt_status status;            /* GSRT_OK as long as nothing was set */
    char text[GSRT_DIAG_TEXT_MAX]; /* one line, UTF-8 as far as the input was; control bytes are replaced by '?' */
} gsrt_diag;

/* Note an error and return `status`, so that `return gsrt_diag_set(...)` reads well.
 * diag    may be NULL; already set: kept as it is.
 * file    the file's name as the user gave it, or NULL.
 * place   "line 3, column 5", "tensor 'blk.0.attn_q.weight'", "byte 24", or NULL.
 * format  what is wrong and how to mend it: "what; remedy", lower case, no full stop.
 */
gsrt_status gsrt_diag_set(gsrt_diag *diag, gsrt_status status, const char *file, const char *place, const char *format,
                          ...) GSRT_PRINTF(5, 6);

#endif
