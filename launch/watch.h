/* The watch over what a run narrows: on the leader a plain pass with weights as given, over each Nth request, compared
 * with the logits that the narrowed regions gave. What leaves the contract's budget is a violation.
 *
 *     last region --LOGITS--> gateway --gsrt_watch_logits--> queue --> the watch's thread: plain pass, statistic
 *     gateway: gsrt_watch_violated? -> gsrt_watch_disable -> another era (launch/eras.h)
 *
 * Watched are the rules whose statistic is one of the answer's positions (divergence, absolute_error) in regions that
 * are narrowed, each position by itself against its bound. Rules on a region's own output, on a text, or on paths are
 * not: they are named in `unwatched`. A plain pass is slower than the ranks: what finds no room in the queue
 * (GSRT_WATCH_BYTES_MAX) is left out and counted; the tokens are run through all the same, so that those behind it are
 * compared. In the twin everything is done at once, in the caller.
 *
 * Legal order: create, logits / violated / is_busy / disable in any number, read, free. Node's thread.
 * Cost: as gsrt_validate's for one pass, beside the node; memory: KV of
 * each watched request, until it has had all its tokens; of one that stops earlier, until the watch is over.
 */
#ifndef GSRT_LAUNCH_WATCH_H
#define GSRT_LAUNCH_WATCH_H

#include "launch/answers.h"
#include "launch/eras.h"

enum { GSRT_WATCH_UNWATCHED_BYTES = 256 };

typedef struct gsrt_watch gsrt_watch;

typedef struct gsrt_watch_options {
    const gsrt_scenario *scenario; /* borrowed until free, like the next two */
    const gsrt_loaded *loaded;
    const gsrt_answers *answers; /* what is known of prompts and answers; grows meanwhile */
    const gsrt_plan *plan;       /* what is narrowed; borrowed for the call */
    const char *evidence;        /* the file that what is seen is added to; borrowed until free; NULL: none */
    uint32_t rank_count;
    bool is_inline; /* no thread of its own */
} gsrt_watch_options;

/* What was compared so far. */
typedef struct gsrt_watch_facts {
    uint64_t position_count, left_out;
    double divergence, absolute_error;             /* the largest that was seen */
    double divergence_bound, absolute_error_bound; /* the strictest of what is narrowed; -1: none */
    char unwatched[GSRT_WATCH_UNWATCHED_BYTES];    /* rules that nobody watches, with their regions; empty: none */
} gsrt_watch_facts;

/* *out owned. GSRT_OK | GSRT_ENOMEM. */
GSRT_MUST_CHECK gsrt_status gsrt_watch_create(const gsrt_watch_options *options, gsrt_watch **out);
/* Waits for the position that is in hand. Accepts NULL; returns NULL. */
gsrt_watch *gsrt_watch_free(gsrt_watch *watch);

/* Are this request's logits wanted, of the positions that a token follows? false for NULL. */
bool gsrt_watch_wants(const gsrt_watch *watch, uint32_t request);
/* Rows of a LOGITS: f32 [positions_count, vocab]; those of watched requests are copied. */
void gsrt_watch_logits(gsrt_watch *watch, const gsrt_msg_logits *message, const gsrt_payload *payload);
/* Is something in the queue or in hand? false for NULL. */
bool gsrt_watch_is_busy(gsrt_watch *watch);
/* true: a budget was exceeded, as *out says; the first time. From then on nothing more is compared. false for NULL. */
bool gsrt_watch_violated(gsrt_watch *watch, gsrt_violation_seen *out);

/* Add the violation to the evidence, and take back from the plan what the contract does not keep with it
 * (gsrt_contract_disable). out_evidence: all evidence, as evidence.json, appended. Blocks until the evidence was read.
 * GSRT_OK | GSRT_ECONTRACT: nothing that is left is kept; *diag | GSRT_EINPUT (the scenario's evidence) |
 * GSRT_ENOMEM. */
GSRT_MUST_CHECK gsrt_status gsrt_watch_disable(gsrt_watch *watch, const gsrt_violation_seen *seen, gsrt_plan *plan,
                                               gsrt_buffer *out_evidence, gsrt_diag *diag);

void gsrt_watch_read(gsrt_watch *watch, gsrt_watch_facts *out);

#endif
