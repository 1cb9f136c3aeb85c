/* A moment of a run for which something waits that a scenario asks for: a fault (health/faults.h), a move
 * (launch/moves.h). Pure; thread: any. */
#ifndef GSRT_HEALTH_MOMENT_H
#define GSRT_HEALTH_MOMENT_H

#include <stdbool.h>
#include <stdint.h>

typedef enum gsrt_moment_kind {
    GSRT_MOMENT_TOKEN = 1, /* token number `token` of `request` was emitted */
    GSRT_MOMENT_TIME,      /* at_ns have passed since the run began */
    GSRT_MOMENT_VIEW,      /* view `epoch` has begun; one that nobody saw begin: the first after it */
} gsrt_moment_kind;

/* Fields that say nothing about its kind are 0. */
typedef struct gsrt_moment {
    gsrt_moment_kind kind;
    uint32_t request, token; /* TOKEN: token counts from 1 */
    uint64_t at_ns;          /* TIME: 0 .. GSRT_FAULT_SECONDS_MAX */
    uint32_t epoch;          /* VIEW: 2..GSRT_FAULT_EPOCH_MAX */
} gsrt_moment;

bool gsrt_moment_is_legal(const gsrt_moment *moment);

/* Has it come, now that `token_count` tokens of `request` have been emitted; that the run is now_ns old; that view
 * `epoch` has begun? */
bool gsrt_moment_has_come_by_token(const gsrt_moment *moment, uint32_t request, uint32_t token_count);
bool gsrt_moment_has_come_by_time(const gsrt_moment *moment, uint64_t now_ns);
bool gsrt_moment_has_come_by_view(const gsrt_moment *moment, uint32_t epoch);
/* Had it come when an earlier leader was lost, which had emitted token_counts[request_count] tokens, in a run that is
 * now_ns old and whose view `epoch` begins? */
bool gsrt_moment_is_past(const gsrt_moment *moment, const uint32_t *token_counts, uint32_t request_count,
                         uint64_t now_ns, uint32_t epoch);

#endif
