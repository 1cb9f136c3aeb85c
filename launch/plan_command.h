/* gsrt plan SCENARIO: looks for a plan, and prints it with its reasons; -o keeps it. */
#ifndef GSRT_LAUNCH_PLAN_COMMAND_H
#define GSRT_LAUNCH_PLAN_COMMAND_H

#include "launch/options.h"

/* Returns the exit code: 0 a plan, 2 bad input, 3 none is feasible (and the page says why), 5 anything else. */
int gsrt_plan_command(const gsrt_options *options);

#endif
