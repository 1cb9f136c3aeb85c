/* One worker's run: wire-up, its part of the plan, the loop, the reference pass, the report. */
#ifndef GSRT_LAUNCH_RUN_H
#define GSRT_LAUNCH_RUN_H

#include "launch/options.h"

/* Run the scenario as one rank of the job; errors are said once, by rank 0. Returns the exit code. Main thread. */
int gsrt_run(const gsrt_options *options);

#endif
