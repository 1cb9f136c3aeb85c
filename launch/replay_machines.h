/* The machines that a replay can make anew, one row for each that is recorded: membership, scheduler, supervisor.
 * They stand here because no other folder sees all of them. Thread: any; the table is read-only. */
#ifndef GSRT_LAUNCH_REPLAY_MACHINES_H
#define GSRT_LAUNCH_REPLAY_MACHINES_H

#include "ckpt/replay.h"

enum { GSRT_REPLAY_MACHINE_COUNT = 4 };
extern const gsrt_replay_kind gsrt_replay_machines[GSRT_REPLAY_MACHINE_COUNT];

#endif
