/* `gsrt-launch move RUN --stage S --member M --to R`: order a move from a run that is going on, and wait until it is
 * done. What passes between the two is a file and a line, both in the run directory (launch/moves.h). Blocks; main
 * thread. */
#ifndef GSRT_LAUNCH_MOVE_COMMAND_H
#define GSRT_LAUNCH_MOVE_COMMAND_H

#include "launch/options.h"

/* The exit code: 0 moved, 2 no such run, or another order is open; 3 refused; 5 something came in between. */
int gsrt_move_command(const gsrt_options *options);

#endif
