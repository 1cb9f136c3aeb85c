/* Keeper and worker. What mpirun starts is the keeper: it executes this program again as its worker, waits for it,
 * never dies of what the worker dies of, and starts the worker's next incarnation, so that no death of a worker is the
 * launcher's business.
 *
 *     main: if (gsrt_keeper_is_worker()) { gsrt_keeper_attach(); ...the run... } else return gsrt_keeper_run(argv);
 *
 *   keeper:  WORKING -- worker dies, budget left --> WORKING      says its word to all, starts the next incarnation
 *            WORKING -- worker dies, budget spent -> ALONE        says its word again and again
 *            WORKING -- worker ends, or is told to -> end         its exit code
 *            ALONE -- finished -> end (that code);  nobody listens any more for GSRT_KEEPER_ALONE_MS -> end (5)
 *
 * A worker that ends with GSRT_EXIT_GIVEN_UP ends the rank, with 5. It has died when it was killed; when it ended with
 * GSRT_EXIT_AGAIN; and when it ended with another code but 0 after its first deposit, or as a later incarnation.
 * Without a ticket (before the end of the wire-up, or when the program gives none) there is no next incarnation: a
 * death ends the job, because mpirun ends the others.
 *
 * Keeper: holds a pipe open that tells the worker that it lives, and a channel (mailbox/channel.h) on which the worker
 * gives it a ticket with each deposit; passes SIGINT, SIGTERM and SIGHUP on; gives the worker GSRT_KEEPER_GRACE_MS to
 * end, then kills it; so it does GSRT_KEEPER_END_MS after the end of the run. Once that is known, its code is the
 * run's. The death of mpirun (or of its daemon on this host) counts as SIGTERM. It listens on a TCP port for orders,
 * proven by the job's secret (mailbox/note.h). It owns the socket on which all incarnations listen in turn: who calls
 * between two of them waits for the next. It writes the worker's standard output (launch/output.h). One thread, one
 * poll; it waits for nobody but whoever reads its standard output, when its worker has died or all has been
 * interrupted. Worker: ends when the pipe breaks, or by the kernel's word that its parent has died, whatever comes
 * first. Nothing is left in shared memory (mailbox/ucx_setup.c says why).
 *
 * The budget is what the worker says (gsrt_wireup_give_budget), 3 restarts within 60 s where it says nothing. The
 * environment goes before both: GSRT_RESTART_MAX restarts within GSRT_RESTART_WINDOW_MS. A worker that asked for its
 * next incarnation (GSRT_EXIT_AGAIN: it was fenced, or cannot hear) has not failed: it is outside of that budget, but
 * gets at most GSRT_KEEPER_AGAINS_MAX within the same window.
 */
#ifndef GSRT_LAUNCH_KEEPER_H
#define GSRT_LAUNCH_KEEPER_H

#include "base/buffer.h"
#include "base/status.h"
#include "mailbox/keepers.h"

enum {
    GSRT_KEEPER_GRACE_MS = 4000,
    GSRT_KEEPER_AGAINS_MAX = 3,
    GSRT_KEEPER_ALONE_MS = 10000,
    GSRT_KEEPER_END_MS = 15000,
    GSRT_EXIT_WORKER_LOST = 5,
};

/* Start the worker with the same arguments and wait for it. Returns the exit code of this process: the worker's; 130
 * when it died of a signal that was passed on; GSRT_EXIT_WORKER_LOST when it was lost for good (said on standard
 * error); 1 when the environment makes no sense. Main thread, before any other thread. */
int gsrt_keeper_run(char **argv);

/* This process was started by a keeper. */
bool gsrt_keeper_is_worker(void);

/* What a worker has from its keeper. */
typedef struct gsrt_keeper_handover {
    uint32_t incarnation;
    int pipe;             /* open at its other end while the keeper lives; owned */
    int listener;         /* the socket that all incarnations listen on; owned until it is taken (then -1) */
    int channel;          /* to the keeper; owned until it is taken (then -1) */
    uint16_t keeper_port; /* where the keeper listens */
    bool is_out_terminal; /* where the keeper writes what this process writes (launch/output.h) */
    gsrt_buffer ticket;   /* of the incarnation before, as bytes; empty: this is the first */
} gsrt_keeper_handover;

/* In the worker, after gsrt_interrupt_install, once: from now on the keeper's death is an interrupt. Everything is
 * closed on exec. *out: gsrt_keeper_handover_fini it. GSRT_OK | GSRT_ESTATE: not started by a keeper | GSRT_ENOMEM |
 * GSRT_EIO. */
GSRT_MUST_CHECK gsrt_status gsrt_keeper_attach(gsrt_keeper_handover *out);
/* The keeper has died: others go on, this process only ends. Any thread. */
bool gsrt_keeper_is_gone(const gsrt_keeper_handover *handover);
/* Tell the keeper that the run is over. Before the channel is taken. */
void gsrt_keeper_tell_finished(const gsrt_keeper_handover *handover, int exit_code);
void gsrt_keeper_handover_fini(gsrt_keeper_handover *handover);

#endif
