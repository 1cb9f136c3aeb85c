/* What is wrong with an inventory, one by one: reason, place, what and remedy.
 *
 * Reasons are words for programs; the list is in docs/fleet.md. A finding is an error or a note. Past
 * GSRT_FINDING_COUNT_MAX they are only counted. Thread: one at a time.
 */
#ifndef GSRT_PLACEMENT_FINDINGS_H
#define GSRT_PLACEMENT_FINDINGS_H

#include "base/arena.h"
#include "base/buffer.h"
#include "base/status.h"

/* What kind of wrong. */
typedef enum gsrt_finding_class {
    GSRT_FINDING_MALFORMED,     /* it cannot be read as what it must be */
    GSRT_FINDING_UNSUPPORTED,   /* it can be read, and GSRT does not know it */
    GSRT_FINDING_CONTRADICTORY, /* two statements that cannot both be true */
    GSRT_FINDING_STALE,         /* it was true */
    GSRT_FINDING_IMPLAUSIBLE,   /* no such thing has been built */
    GSRT_FINDING_MALICIOUS,     /* what an honest mistake does not explain, or must not be trusted as it stands */
    GSRT_FINDING_MISSING,       /* a constraint: what nobody stated cannot be planned with; a note */
    GSRT_FINDING_CLASS_COUNT,
} gsrt_finding_class;

typedef struct gsrt_finding {
    const char *reason; /* "lo_above_hi"; static */
    gsrt_finding_class class;
    const char *place; /* "fleet.yaml: line 3, column 5: parts[2].capacity" */
    const char *what;  /* what is wrong; remedy */
} gsrt_finding;

typedef struct gsrt_findings {
    gsrt_arena arena;
    gsrt_finding *items; /* [count], in the order in which they were found; owned */
    size_t count, capacity;
    size_t error_count, note_count; /* all of them, also those that are not kept */
    bool is_out_of_memory;          /* one was lost */
} gsrt_findings;

void gsrt_findings_init(gsrt_findings *findings);
void gsrt_findings_fini(gsrt_findings *findings);

/* Add one. place is copied; what, from format: "what; remedy", lower case, no full stop. Control bytes become '?'. */
void gsrt_findings_add(gsrt_findings *findings, const char *reason, const char *place, const char *format, ...)
    GSRT_PRINTF(4, 5);

/* "contradictory"; static. */
const char *gsrt_finding_class_word(gsrt_finding_class class);
/* The class of a reason. An unknown reason is a bug (asserted). */
gsrt_finding_class gsrt_finding_class_of(const char *reason);
/* The index-th reason there is, for documentation and tests; static. NULL: past the last. */
const char *gsrt_finding_reason(size_t index);

/* Append them, a line each: "PLACE: [reason] what; remedy". Errors as gsrt_buffer_append. */
GSRT_MUST_CHECK gsrt_status gsrt_findings_print(const gsrt_findings *findings, gsrt_buffer *out);

#endif
