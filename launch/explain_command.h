/* gsrt explain PLAN|RUN [WHAT]: what a plan rests on, and what a run decided after it was launched. */
#ifndef GSRT_LAUNCH_EXPLAIN_COMMAND_H
#define GSRT_LAUNCH_EXPLAIN_COMMAND_H

#include "launch/options.h"

/* PLAN is a plan.json or a directory with one. WHAT is a section of the page, a prediction ("ttft.p99"), or
 * "decisions". Returns the exit code. */
int gsrt_explain_command(const gsrt_options *options);

#endif
