/* Keeper and worker. What mpirun starts is the keeper: it executes this program again as its worker, waits for it, and
 * never dies of what the worker dies of, so that no death of a worker is the launcher's business.
 *
 *     main: if (gsrt_keeper_is_worker()) { gsrt_keeper_attach(); ...the run... } else return gsrt_keeper_run(argv);
 *
 * Keeper: holds a pipe open that tells the worker that it lives; passes SIGINT, SIGTERM and SIGHUP on; gives the worker
 * GSRT_KEEPER_GRACE_MS to end, then kills it. The death of mpirun (or of its daemon on this host) counts as SIGTERM.
 * Worker: ends when the pipe breaks, or by the kernel's word that its
 * parent has died, whatever comes first. Nothing is left in shared memory (mailbox/ucx_setup.c says why).
 */
#ifndef GSRT_LAUNCH_KEEPER_H
#define GSRT_LAUNCH_KEEPER_H

#include "base/status.h"

#include <stdbool.h>

enum { GSRT_KEEPER_GRACE_MS = 4000, GSRT_EXIT_WORKER_LOST = 5 };

/* Start the worker with the same arguments and wait for it. Returns the exit code of this process: the worker's; 130
 * when it died of a signal that was passed on; GSRT_EXIT_WORKER_LOST when it was killed otherwise (said on standard
 * error). Main thread, before any other thread. */
int gsrt_keeper_run(char **argv);

/* This process was started by a keeper. */
bool gsrt_keeper_is_worker(void);

/* In the worker, after gsrt_interrupt_install: from now on the keeper's death is an interrupt.
 * GSRT_OK | GSRT_ESTATE: not started by a keeper | GSRT_EIO. */
GSRT_MUST_CHECK gsrt_status gsrt_keeper_attach(void);

#endif
