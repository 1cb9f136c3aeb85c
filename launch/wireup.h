/* Wire-up: from mpirun's processes to ranks that reach each other over UCX.
 *
 * First incarnations: MPI is used for one exchange (the ranks' cards, the job's secret from rank 0) and finalised
 * before this returns; from then on no failure of a rank is MPI's business. Without a launcher the job is this one
 * rank, and MPI is not touched. Later incarnations join with the ticket that their keeper holds, without MPI.
 *
 *     status = keeper.ticket.len > 0 ? gsrt_wireup_join(...) : gsrt_wireup_mpi(...);
 *     gsrt_transport_listen, gsrt_keepers_listen
 *     gsrt_wireup_give_ticket      only a program that can join gives one: without it a death ends the job
 *
 * Main thread, once per process, before other threads.
 */
#ifndef GSRT_LAUNCH_WIREUP_H
#define GSRT_LAUNCH_WIREUP_H

#include "base/diag.h"
#include "launch/keeper.h"
#include "mailbox/keepers.h"
#include "mailbox/secret.h"
#include "mailbox/transport.h"

enum { GSRT_WIREUP_TIMEOUT_MS = 30000, GSRT_JOIN_TIMEOUT_MS = 10000 };

typedef struct gsrt_wireup_options {
    const char *transport; /* "shm", "tcp", or NULL: GSRT_TRANSPORT, or whatever is best */
    uint32_t timeout_ms;   /* to connect, after MPI; 0: GSRT_WIREUP_TIMEOUT_MS. To join; 0: GSRT_JOIN_TIMEOUT_MS */
    gsrt_keeper_handover *keeper; /* what is needed of it is taken; NULL: there is no keeper */
} gsrt_wireup_options;

typedef struct gsrt_wireup {
    uint32_t rank, rank_count, incarnation;
    uint32_t host_count;
    uint32_t *host_of;         /* [rank_count]: number of its host; numbered by their lowest rank; owned */
    char **hosts;              /* [host_count]: host names; owned */
    gsrt_secret secret;        /* of the job */
    gsrt_transport *transport; /* owned until it is taken (set it to NULL then) */
    gsrt_keepers *keepers;     /* borrowed until the transport is freed */
    gsrt_deposit deposit;      /* of the incarnation before; epoch 0: it made none */
    gsrt_buffer blob;          /* what the application had put into its ticket; empty for a first incarnation */
    int channel;               /* to the own keeper, until a ticket is given; -1: none */
    char near_lane[64];        /* how messages go to another rank of this host ("sysv/memory"); "" without one */
    char far_lane[64];         /* how they go to another host; "" without one */
} gsrt_wireup;

/* GSRT_OK | GSRT_EINVAL | GSRT_ENOMEM | GSRT_EIO | GSRT_ELINK | GSRT_ETIMEDOUT: `diag` says what and who. Every rank
 * of the job calls it. Blocks: as long as MPI does, then at most timeout_ms. */
GSRT_MUST_CHECK gsrt_status gsrt_wireup_mpi(const gsrt_wireup_options *options, gsrt_wireup *out, gsrt_diag *diag);

/* Join as the next incarnation: options->keeper has a ticket. Makes no MPI call. Returns when all ranks have answered
 * or cannot be reached, or when one has and 200 ms have passed; the transport then says on_join and on_down for each.
 * At most timeout_ms. GSRT_OK | GSRT_EDECODE: the ticket | GSRT_ETIMEDOUT: no rank has answered | GSRT_ESTALE: a later
 * incarnation is known | GSRT_ENOMEM | GSRT_EIO: `diag` says what and who; the process is to end with 5. */
GSRT_MUST_CHECK gsrt_status gsrt_wireup_join(const gsrt_wireup_options *options, gsrt_wireup *out, gsrt_diag *diag);

/* Tell the own keeper how often it may start a next incarnation, and within which time. Before the first ticket; later
 * incarnations may say it again. GSRT_OK, also without a keeper | GSRT_EIO. */
GSRT_MUST_CHECK gsrt_status gsrt_wireup_give_budget(const gsrt_wireup *wireup, uint32_t restarts, uint32_t window_ms);

/* Have the keeper start a next incarnation when this one dies: it gets a ticket now, and a new one with each deposit.
 * May be said again, with another blob (at most GSRT_BLOB_BYTES_MAX, copied). GSRT_OK, also without a keeper |
 * GSRT_ELIMIT | GSRT_ENOMEM | GSRT_EIO. */
GSRT_MUST_CHECK gsrt_status gsrt_wireup_give_ticket(gsrt_wireup *wireup, gsrt_transport *transport, gsrt_span blob);

/* Frees the transport too, if it was not taken. */
void gsrt_wireup_fini(gsrt_wireup *wireup);

#endif
