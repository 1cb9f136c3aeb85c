/* Inside backends: runs jobs, instruction by instruction, with one table of kernels and one pool of threads.
 * The thread that runs a job must have the canonical MXCSR. One job at a time.
 */
#ifndef GSRT_BACKENDS_EXEC_H
#define GSRT_BACKENDS_EXEC_H

#include "backends/kernels.h"
#include "backends/pool.h"

typedef struct gsrt_exec gsrt_exec;

/* `pool` is borrowed. Owned; NULL: no memory. */
gsrt_exec *gsrt__exec_create(const gsrt_kernels *kernels, gsrt_pool *pool);
gsrt_exec *gsrt__exec_free(gsrt_exec *exec);

/* GSRT_OK | GSRT_ENOMEM | GSRT_EINVAL (a token past the vocabulary, a position past the rope table, a block number past
 * the cache, a piece of the wrong size). On error the slots are unspecified. */
GSRT_MUST_CHECK gsrt_status gsrt__exec_run(gsrt_exec *exec, const gsrt_job *job);

#endif
