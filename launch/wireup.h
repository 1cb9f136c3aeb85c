/* Wire-up: from mpirun's processes to ranks that reach each other over UCX.
 *
 * MPI is used for one exchange (the ranks' cards, the job's secret from rank 0) and finalised before this returns;
 * from then on no failure of a rank is MPI's business. Without a launcher the job is this one rank, and MPI is not
 * touched. Main thread, once per process, before other threads.
 */
#ifndef GSRT_LAUNCH_WIREUP_H
#define GSRT_LAUNCH_WIREUP_H

#include "base/diag.h"
#include "mailbox/keepers.h"
#include "mailbox/secret.h"
#include "mailbox/transport.h"

enum { GSRT_WIREUP_TIMEOUT_MS = 30000 };

typedef struct gsrt_wireup_options {
    const char *transport; /* "shm", "tcp", or NULL: GSRT_TRANSPORT, or whatever is best */
    uint32_t timeout_ms;   /* to connect, after MPI; 0: GSRT_WIREUP_TIMEOUT_MS */
} gsrt_wireup_options;

typedef struct gsrt_wireup {
    uint32_t rank, rank_count, incarnation;
    uint32_t host_count;
    uint32_t *host_of;         /* [rank_count]: number of its host; numbered by their lowest rank; owned */
    char **hosts;              /* [host_count]: host names; owned */
    gsrt_secret secret;        /* of the job */
    gsrt_transport *transport; /* owned until it is taken (set it to NULL then) */
    gsrt_keepers *keepers;     /* NULL: nobody keeps this process */
    char near_lane[64];        /* how messages go to another rank of this host ("sysv/memory"); "" without one */
    char far_lane[64];         /* how they go to another host; "" without one */
} gsrt_wireup;

/* GSRT_OK | GSRT_EINVAL | GSRT_ENOMEM | GSRT_EIO | GSRT_ELINK | GSRT_ETIMEDOUT: `diag` says what and who. Every rank
 * of the job calls it. Blocks: as long as MPI does, then at most timeout_ms. */
GSRT_MUST_CHECK gsrt_status gsrt_wireup_mpi(const gsrt_wireup_options *options, gsrt_wireup *out, gsrt_diag *diag);

/* Frees the transport too, if it was not taken. */
void gsrt_wireup_fini(gsrt_wireup *wireup);

#endif
