/* Being asked to end: Ctrl-C, SIGTERM, SIGHUP, or the keeper's death. One flag of the process, and a way to wake the
 * loop that must look at it. What has been recorded is kept: the run ends in good order, with exit code 130.
 * A process that does not end within GSRT_INTERRUPT_GRACE_S seconds is ended by SIGALRM.
 */
#ifndef GSRT_LAUNCH_INTERRUPT_H
#define GSRT_LAUNCH_INTERRUPT_H

#include "base/status.h"

#include <stdbool.h>

enum {
    GSRT_EXIT_INTERRUPTED = 130, /* what shells expect after Ctrl-C; the same for all ways of being asked */
    GSRT_INTERRUPT_GRACE_S = 3,
};

/* Catch the signals. GSRT_OK | GSRT_EIO. Main thread, early. */
GSRT_MUST_CHECK gsrt_status gsrt_interrupt_install(void);

/* Call wake(arg) from the signal handler, besides setting the flag: gsrt_node_wake, or gsrt_node_finish, which both are
 * safe there. NULL: nobody. If the flag is set already, it is called at once. Main thread. */
void gsrt_interrupt_on_wake(void (*wake)(void *arg), void *arg);

bool gsrt_interrupt_is_set(void);

/* Also take the end of the other side of `fd` (a pipe's reading end) as such a signal. GSRT_OK | GSRT_EIO. */
GSRT_MUST_CHECK gsrt_status gsrt_interrupt_watch(int fd);

#endif
