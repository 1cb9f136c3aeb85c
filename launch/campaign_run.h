/* `gsrt twin SCENARIO --seeds N`: a campaign. One process draws no fault and computes what the answer is; then as many
 * worker processes as there are processors run the seeds, each its share (seed i belongs to worker i modulo their
 * number), and tell the first by a pipe. A worker that dies has broken its seed, and is replaced. */
#ifndef GSRT_LAUNCH_CAMPAIGN_RUN_H
#define GSRT_LAUNCH_CAMPAIGN_RUN_H

#include "launch/options.h"

/* Returns the exit code: 0, 5: a seed broke something, or as a run. Main thread; forks: no other thread may run. */
int gsrt_campaign_run(const gsrt_options *options);

#endif
