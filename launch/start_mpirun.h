/* Starting mpirun where there is none: `gsrt-launch SCENARIO` becomes `mpirun -n N gsrt-launch SCENARIO`. */
#ifndef GSRT_LAUNCH_START_MPIRUN_H
#define GSRT_LAUNCH_START_MPIRUN_H

#include <stdbool.h>
#include <stdint.h>

/* This process was started by mpirun, srun --mpi=pmix, or another that speaks PMIx. */
bool gsrt_mpirun_is_around(void);

/* Become mpirun with rank_count ranks of this program and the same arguments. Ranks may outnumber cores, no rank is
 * bound to a core (threads are bound by backends/), and root is allowed when this is root. Returns only on failure: the
 * exit code, after one line on standard error. */
int gsrt_start_mpirun(uint32_t rank_count, char **argv);

#endif
