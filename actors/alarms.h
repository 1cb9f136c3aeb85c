/* What is due when: a 4-ary heap of embedded alarms ordered by (due_ns, sequence), so that alarms of the same time go
 * off in the order in which they were set. Setting and cancelling are O(log n), O(1) for what is due last.
 * The array grows by doubling; the owners' pools bound it. Thread: one.
 */
#ifndef GSRT_ACTORS_ALARMS_H
#define GSRT_ACTORS_ALARMS_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct gsrt__alarm {
    uint64_t due_ns;
    uint64_t sequence;
    uint32_t place; /* in the heap, + 1; 0: not set */
    uint32_t what;  /* the owner's: which kind of struct this is embedded in */
} gsrt__alarm;

typedef struct gsrt__alarms {
    gsrt__alarm **heap; /* [capacity]; owned; the alarms are borrowed while set */
    uint32_t count, capacity;
    uint64_t sequence;
} gsrt__alarms;

void gsrt__alarms_fini(gsrt__alarms *alarms);
/* `alarm` must not be set. GSRT_OK | GSRT_ENOMEM. */
GSRT_MUST_CHECK gsrt_status gsrt__alarms_set(gsrt__alarms *alarms, gsrt__alarm *alarm, uint64_t due_ns);
void gsrt__alarms_cancel(gsrt__alarms *alarms, gsrt__alarm *alarm); /* also legal when it is not set */
/* The earliest; NULL: none. Still set. */
static inline gsrt__alarm *gsrt__alarms_first(const gsrt__alarms *alarms)
{
    return alarms->count == 0 ? NULL : alarms->heap[0];
}
bool gsrt__alarms_check(const gsrt__alarms *alarms); /* every invariant holds */

#endif
