/* What this machine does when it is measured: how fast its memories are read, and what its processors compute with the
 * canonical kernels.
 */
#ifndef GSRT_LAUNCH_FLEET_MEASURE_H
#define GSRT_LAUNCH_FLEET_MEASURE_H

#include "base/diag.h"
#include "launch/fleet_machine.h"
#include "placement/findings.h"

/* How much work; 0: enough for numbers that can be believed. Tests take less. */
typedef struct gsrt_measuring {
    uint32_t pass_count;
    size_t memory_bytes;   /* that are read in a pass */
    uint32_t matrix_width; /* of square matrices; a multiple of 64 */
} gsrt_measuring;

/* Measure everything into machine->engines and ->memories, one after the other; what cannot be measured stays 0, and a
 * note in *findings says so.
 * GSRT_OK | GSRT_EINPUT: *diag says why (GSRT_ISA) | GSRT_ENOMEM.
 * thread: this one is bound meanwhile, to what is measured. cost: seconds for each, on all of its processing units. */
GSRT_MUST_CHECK gsrt_status gsrt_fleet_measure(const gsrt_measuring *measuring, gsrt_machine *machine,
                                               gsrt_findings *findings, gsrt_diag *diag);

#endif
