/* `gsrt replay RUN`: the recorded decisions of a run, taken again.
 *
 * Every trace of the run directory is read, its chain of checksums checked, its machines made anew and fed what they
 * were fed (ckpt/replay.h). A trace without its end is said to be torn, as a kill leaves it, and replayed as far as it
 * goes. Standard output: a paragraph per trace and the verdict, or with --json one object:
 *
 *   verdict               "equal" | "damaged" | "different"
 *   run                   its directory
 *   traces                rank, incarnation, generation, frames, is_torn, lost_frames, unknown_frames, file, world,
 *                         damage
 *     machines            of each kind: machine, count, events, actions, skipped, differing
 *       difference        the first, or null: frame, event_frame, actor, recorded, decided (null: no action)
 *   ranks_without_trace   numbers
 */
#ifndef GSRT_LAUNCH_REPLAY_H
#define GSRT_LAUNCH_REPLAY_H

#include "launch/options.h"

/* Replay options->run. Returns the exit code: 0 every action equal, 2 a trace is damaged, or there is none, 4 an action
 * differs, 5 no memory. */
int gsrt_replay_run(const gsrt_options *options);

#endif
