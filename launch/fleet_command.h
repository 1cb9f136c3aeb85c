/* gsrt fleet discover|check|show: the hardware graph, from this machine or from a file. */
#ifndef GSRT_LAUNCH_FLEET_COMMAND_H
#define GSRT_LAUNCH_FLEET_COMMAND_H

#include "launch/options.h"

/* Do what the command asks for: findings or the resolved inventory on standard output, errors on standard error.
 * Returns the exit code: 2 where something is wrong with the inventory. */
int gsrt_fleet_command(const gsrt_options *options);

#endif
