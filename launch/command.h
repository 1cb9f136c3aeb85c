/* What both tools do with --help and --version. */
#ifndef GSRT_LAUNCH_COMMAND_H
#define GSRT_LAUNCH_COMMAND_H

#include "launch/options.h"

/* Print what the command asks for on standard output. Returns the exit code. */
int gsrt_command_print(const gsrt_options *options);

#endif
