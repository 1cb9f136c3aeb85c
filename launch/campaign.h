/* What a seed adds to a scenario in a campaign (`gsrt twin SCENARIO --seeds N`): one to five faults at times of the
 * twin, and how bad the links are. Drawn from the seed alone, whatever runs beside it. Pure; any thread.
 *
 * Half of the faults fall anywhere within the answer, half soon after the one before, so that they meet while the first
 * is being recovered from. Durations are drawn octave by octave, across all timeouts of the protocol (silence,
 * lease, broken link), because what is wrong mostly lies at their edges. A partition often stops the lowest rank for
 * about as long: a leader that wakes up when others have gone on is the hardest case for whoever may emit.
 */
#ifndef GSRT_LAUNCH_CAMPAIGN_H
#define GSRT_LAUNCH_CAMPAIGN_H

#include "actors/twin.h"
#include "base/buffer.h"
#include "base/limits.h"

enum { GSRT_CAMPAIGN_FAULTS_MAX = 5 };

typedef enum gsrt_campaign_kind {
    GSRT_CAMPAIGN_KILL,
    GSRT_CAMPAIGN_STOP,
    GSRT_CAMPAIGN_KEEPER, /* kill of a keeper: its worker leaves, and nobody starts the next one */
    GSRT_CAMPAIGN_PARTITION,
    GSRT_CAMPAIGN_SLOW,
    GSRT_CAMPAIGN_KIND_COUNT,
} gsrt_campaign_kind;
const char *gsrt_campaign_kind_name(gsrt_campaign_kind kind); /* "kill", ...; static */

typedef struct gsrt_campaign_fault {
    gsrt_campaign_kind kind;
    uint32_t rank;                      /* of all but partitions */
    uint64_t at_ns;                     /* of the twin's clock */
    uint64_t duration_ns;               /* of all but kills */
    double factor;                      /* slow */
    uint8_t sides[GSRT_RANK_COUNT_MAX]; /* partition: [rank_count], two sides */
} gsrt_campaign_fault;

typedef struct gsrt_campaign {
    gsrt_campaign_fault faults[GSRT_CAMPAIGN_FAULTS_MAX]; /* by at_ns */
    uint32_t fault_count;
    gsrt_twin_link_faults link; /* of every pair */
    double jitter;
    uint32_t slow_from, slow_to; /* one direction of one link is slower than the others, where slow_ns > 0 */
    bool slow_is_to_all;         /* or all from that rank */
    uint64_t slow_ns;            /* their latency, with the jitter at most */
    uint64_t quiet_ns;           /* the last fault is over */
} gsrt_campaign;

/* For rank_count >= 1 ranks and an answer that takes from begin_ns to end_ns when nothing happens. */
void gsrt_campaign_draw(uint64_t seed, uint32_t rank_count, uint64_t begin_ns, uint64_t end_ns, gsrt_campaign *out);
/* As "0.012 s: stop of rank 3 for 1.250 s", a line for each fault and one for the links. Errors as gsrt_buffer_append.
 */
GSRT_MUST_CHECK gsrt_status gsrt_campaign_print_faults(const gsrt_campaign *campaign, uint32_t rank_count,
                                                       gsrt_buffer *out);
bool gsrt_campaign_is_slow(const gsrt_campaign *campaign, uint32_t from, uint32_t to);
/* Do it, now. */
void gsrt_campaign_do(const gsrt_campaign_fault *fault, gsrt_twin *twin);

#endif
