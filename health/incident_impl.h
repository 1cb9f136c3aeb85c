/* Building an incident: shared by the collector and the reader. */
#ifndef GSRT_HEALTH_INCIDENT_IMPL_H
#define GSRT_HEALTH_INCIDENT_IMPL_H

#include "health/incident.h"

enum { GSRT__INCIDENT_US_NS = 1000 };

/* A time and a count of an incident at most: what a double holds exactly, in microseconds and as it is. */
#define GSRT__INCIDENT_NS_MAX (GSRT_TIMEOUT_NS_MAX / 1000000 * 1000000)
#define GSRT__INCIDENT_TOTAL_MAX (UINT64_C(1) << 53)

/* a + b, but at most max; b <= max. */
static inline uint64_t gsrt__incident_sum(uint64_t a, uint64_t b, uint64_t max)
{
    return a < max - b ? a + b : max;
}

/* Owned; NULL: no memory. */
gsrt_incident *gsrt__incident_create(uint32_t number);

/* Copied to the end. *out (may be NULL) borrowed until the next. GSRT_OK | GSRT_ENOMEM | GSRT_ELIMIT. */
GSRT_MUST_CHECK gsrt_status gsrt__incident_add_fault(gsrt_incident *incident, const gsrt_incident_fault *fault,
                                                     gsrt_incident_fault **out);
/* Copied to the end; past the limit it is counted. GSRT_OK | GSRT_ENOMEM. */
GSRT_MUST_CHECK gsrt_status gsrt__incident_add_way(gsrt_incident *incident, const gsrt_incident_way *way);
/* Copied behind the last that is not later; past the limit it is counted. GSRT_OK | GSRT_ENOMEM. */
GSRT_MUST_CHECK gsrt_status gsrt__incident_add_entry(gsrt_incident *incident, const gsrt_incident_entry *entry);

/* NULL: there is none. Borrowed. O(faults). */
gsrt_incident_fault *gsrt__incident_find(const gsrt_incident *incident, uint32_t rank, uint32_t incarnation);

/* Copy `text` (NULL: nothing) cut to what fits, as printable ASCII. */
void gsrt__incident_text(char out[GSRT_INCIDENT_TEXT_BYTES], const char *text);

#endif
