/* `gsrt twin`: the scenario's whole cluster in this process, in virtual time (actors/twin.h). The same actors as in the
 * real world; what it measures is modelled, and the report says so. */
#ifndef GSRT_LAUNCH_TWIN_RUN_H
#define GSRT_LAUNCH_TWIN_RUN_H

#include "launch/options.h"

/* Run the scenario in the twin. Returns the exit code. Main thread. */
int gsrt_twin_run_scenario(const gsrt_options *options);

#endif
