/* One seed of a campaign: the scenario in the twin with what the seed adds (launch/campaign.h), watched from the first
 * event to the last (launch/campaign_witness.h).
 *
 * Checked besides the witness's invariants (its header: 1 to 7):
 *   8. a run that ends does so with every answer, or, where it gives up, because there is no quorum any more: of the
 *      last view's members, those alive and those whose death is certain leave no majority, or nobody is left at all;
 *   9. once the last fault is over, it ends or emits another token within GSRT_CAMPAIGN_PROGRESS_MS of virtual time;
 *  10. at the end each node's actors are those of its last view, and nobody else is left over;
 *  11. memory is bounded: what waits in inboxes and in the twin;
 *  12. no emitted token was lost or emitted again by the incidents' account, and the incidents hold together;
 *  13. of those that lead a view, at most one may emit at any instant.
 */
#ifndef GSRT_LAUNCH_CAMPAIGN_SEED_H
#define GSRT_LAUNCH_CAMPAIGN_SEED_H

#include "launch/campaign.h"
#include "launch/campaign_witness.h"
#include "launch/twin_run.h"

enum {
    GSRT_CAMPAIGN_RECOVERIES_MAX = 24,       /* kept of one seed; later ones are counted only */
    GSRT_CAMPAIGN_PROGRESS_MS = 30000,       /* giving up takes 15 s, a broken link 2 s, a lease 1 s */
    GSRT_CAMPAIGN_INBOX_BYTES_MAX = 1 << 20, /* per node; without faults about 20 KiB wait at most */
    GSRT_CAMPAIGN_WAITING_MAX = 2048,        /* events of the twin, per pair of ranks */
};

typedef enum gsrt_campaign_end {
    GSRT_CAMPAIGN_COMPLETE,  /* every answer is there and right */
    GSRT_CAMPAIGN_NO_QUORUM, /* it gave up, and had to */
    GSRT_CAMPAIGN_BROKEN,    /* an invariant does not hold */
} gsrt_campaign_end;

typedef struct gsrt_campaign_recovery {
    uint32_t phase_us[GSRT_PHASE_COUNT]; /* virtual; detection from the drawn fault on, where it is known */
    uint32_t total_us;
} gsrt_campaign_recovery;

/* Plain data: it goes through a pipe. */
typedef struct gsrt_campaign_result {
    uint64_t seed, digest, event_count, virtual_ns;
    int64_t after_quiet_ns; /* from the end of the last fault to that of the run; negative: it was over before */
    gsrt_campaign_end end;
    uint32_t fault_counts[GSRT_CAMPAIGN_KIND_COUNT];
    uint32_t method_counts[GSRT_HEAL_METHOD_COUNT]; /* recoveries by method */
    uint32_t incident_count, recovery_count, waiting_max;
    uint64_t inbox_bytes_max;
    bool is_repeated; /* it was run twice */
    gsrt_campaign_recovery recoveries[GSRT_CAMPAIGN_RECOVERIES_MAX];
    char why[240]; /* NO_QUORUM, BROKEN: one line */
} gsrt_campaign_result;

/* What all seeds share. */
typedef struct gsrt_campaign_base {
    const gsrt_options *options;           /* borrowed, like the next */
    const gsrt_terminal_options *terminal; /* where nobody looks */
    gsrt_campaign_answers answers;         /* of the run without faults */
    uint64_t seed_first;                   /* the scenario's twin.seed */
    uint64_t begin_ns, end_ns;             /* of its answer, virtual */
    uint32_t fault_count;                  /* the scenario's own */
    uint32_t rank_count;
    char name[128]; /* the scenario's */
    int exit_code;  /* of that run: 0, or there is no campaign */
} gsrt_campaign_base;

/* Run the scenario without faults into `directory`, compare it with the reference pass. GSRT_OK | GSRT_EINPUT,
 * GSRT_EINFEASIBLE (diag) | GSRT_ECONTRACT: the reference differs | GSRT_ENOMEM. In any case: fini. */
GSRT_MUST_CHECK gsrt_status gsrt_campaign_base_init(gsrt_campaign_base *base, const gsrt_options *options,
                                                    const gsrt_terminal_options *terminal, const char *directory,
                                                    gsrt_diag *diag);
void gsrt_campaign_base_fini(gsrt_campaign_base *base);

/* Run one seed into `directory`, which it creates. Main thread of its process. Cost: some 10^5 events. */
void gsrt_campaign_run_seed(const gsrt_campaign_base *base, uint64_t seed, const char *directory,
                            gsrt_campaign_result *out);

#endif
