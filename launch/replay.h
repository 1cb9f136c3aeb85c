/* `gsrt replay RUN`: the recorded decisions of a run, taken again.
 *
 * Every trace of the run directory is read, its chain of checksums checked, its machines made anew and fed what they
 * were fed (ckpt/replay.h). Standard output: a paragraph per trace and the verdict, or with --json one object:
 *   {"run", "traces": [{"file", "rank", "incarnation", "world", "frames", "is_torn", "lost_frames", "unknown_frames",
 *    "damage" (text or null), "machines": [{"machine", "count", "events", "actions", "skipped"}],
 *    "differing_machines", "difference" (null, or {"frame", "event_frame", "machine", "actor", "recorded",
 * "decided"})}], "ranks_without_trace", "verdict": "equal" | "damaged" | "different"} A trace without its end is said
 * to be torn, as a kill leaves it; it is replayed as far as it goes.
 */
#ifndef GSRT_LAUNCH_REPLAY_H
#define GSRT_LAUNCH_REPLAY_H

#include "launch/options.h"

/* Replay options->run. Returns the exit code: 0 every action equal, 2 a trace is damaged, or there is none, 4 an action
 * differs, 5 no memory. */
int gsrt_replay_run(const gsrt_options *options);

#endif
