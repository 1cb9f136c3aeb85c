/* The UCX transport: shared memory within a host, TCP (or what else UCX finds) between hosts, and a TCP sentinel beside
 * each pair of ranks. Endpoints are in peer-failure mode and are closed by force.
 *
 * Legal order: gsrt_ucx_create, exchange the cards (launch/wireup), gsrt_ucx_connect, then as any transport. A later
 * incarnation: gsrt_ucx_create, gsrt_ucx_join with the cards of its ticket. Then gsrt_ucx_give_ticket, if there is a
 * keeper. On the wire: a link header of 16 bytes (token of the job, number of the message on this link, rank,
 * incarnation), the encoded envelope, the payload. What does not carry the job's token is dropped and counted. Order is
 * kept by the link's numbers, whatever ways UCX chooses for small and large messages. Memory: per peer at most
 * GSRT_SENDS_IN_FLIGHT_MAX messages after the oldest one that has not left, of at most GSRT_SEND_BYTES_IN_FLIGHT_MAX
 * bytes; on the receiving side the same, and large payloads are fetched only while fewer than
 * GSRT_RECEIVE_BYTES_IN_FLIGHT_MAX are on their way. A receiver that does not call progress receives nothing: its
 * senders run full. Thread: one.
 *
 * Environment: GSRT_TRANSPORT=shm|tcp (default: all that UCX has). UCX_* set by the user wins over what is set here,
 * except for the error handling of shared memory, without which UCX would silently not use it.
 */
#ifndef GSRT_MAILBOX_UCX_H
#define GSRT_MAILBOX_UCX_H

#include "base/diag.h"
#include "mailbox/card.h"
#include "mailbox/keepers.h"
#include "mailbox/secret.h"
#include "mailbox/transport.h"

enum { GSRT_UCX_LANE_BYTES_MAX = 64 };

typedef struct gsrt_ucx_options {
    uint32_t rank, rank_count, incarnation;
    const char *transport; /* "shm", "tcp", or NULL: GSRT_TRANSPORT, or whatever is best */
    int listener;          /* a listening TCP socket, the same for all incarnations of a rank; taken. 0: a new one */
    uint16_t keeper_port;  /* where the keeper of this rank listens; 0: it has none */
} gsrt_ucx_options;

/* Owned: freed by ops->free. GSRT_OK | GSRT_EINVAL | GSRT_ENOMEM | GSRT_EIO: `diag` says what UCX said. */
GSRT_MUST_CHECK gsrt_status gsrt_ucx_create(const gsrt_ucx_options *options, gsrt_transport **out, gsrt_diag *diag);

/* What the others must know of this rank; borrowed until free. At most GSRT_CARD_BYTES_MAX bytes. */
gsrt_span gsrt_ucx_card(const gsrt_transport *transport);

/* Learn the others, cards[rank_count], and connect the sentinels; every rank calls it, once. At most timeout_ms.
 * GSRT_OK | GSRT_EDECODE | GSRT_ELINK | GSRT_ETIMEDOUT | GSRT_ENOMEM: `diag` names the rank. */
GSRT_MUST_CHECK gsrt_status gsrt_ucx_connect(gsrt_transport *transport, const gsrt_span *cards,
                                             const gsrt_secret *secret, uint32_t timeout_ms, gsrt_diag *diag);

/* Join as a later incarnation: tell every rank, at the place in cards[rank_count] (the own one is passed over). Returns
 * when all have answered or cannot be reached; when at least one has, others are waited for no longer than 200 ms, and
 * go on in the background. The first progress after this says on_join for each that has answered, and on_down for each
 * that cannot be reached. At most timeout_ms. GSRT_OK: at least one rank has answered | GSRT_ETIMEDOUT: none has |
 * GSRT_ESTALE: a later incarnation is known: this process is to end | GSRT_EDECODE | GSRT_ENOMEM. */
GSRT_MUST_CHECK gsrt_status gsrt_ucx_join(gsrt_transport *transport, const gsrt_span *cards, const gsrt_secret *secret,
                                          uint32_t timeout_ms, gsrt_diag *diag);

/* The keepers of the job; borrowed until free. */
gsrt_keepers *gsrt_ucx_keepers(gsrt_transport *transport);
/* After connect or join: have the own keeper start a next incarnation when this one dies; it gets a ticket now and with
 * each deposit. Without a channel deposits are acknowledged at once, and there is no ticket.
 * channel  to the keeper, a local stream socket, taken on success; -1: that of the call before, or none at all.
 * blob     at most GSRT_BLOB_BYTES_MAX; copied into every ticket from now on.
 * deposit  what the incarnation before had deposited: holds until the first of this one.
 * GSRT_OK | GSRT_ESTATE: not connected | GSRT_ELIMIT | GSRT_ENOMEM | GSRT_EIO. */
GSRT_MUST_CHECK gsrt_status gsrt_ucx_give_ticket(gsrt_transport *transport, int channel, gsrt_span blob,
                                                 const gsrt_deposit *deposit);

/* A drill: for duration_ms nothing passes between this rank and those on other sides (sides[rank_count]: a number
 * each), as if the network were down. Replaces the one before. GSRT_OK | GSRT_EIO. */
GSRT_MUST_CHECK gsrt_status gsrt_ucx_cut_off(gsrt_transport *transport, const uint32_t *sides, uint32_t duration_ms);

/* on_deaf was said (transport.h). */
bool gsrt_ucx_is_deaf(const gsrt_transport *transport);

/* The way that messages to `peer` take, as UCX names it ("sysv/memory", "tcp/eth0"); "?" when UCX does not say.
 * GSRT_OK | GSRT_ELINK. */
GSRT_MUST_CHECK gsrt_status gsrt_ucx_read_lane(gsrt_transport *transport, uint32_t peer,
                                               char out[GSRT_UCX_LANE_BYTES_MAX]);

/* The peer's process runs on the same host (same machine, host name and network). */
bool gsrt_ucx_is_same_host(const gsrt_transport *transport, uint32_t peer);
/* The peer's host, as it named itself; borrowed. */
const char *gsrt_ucx_host(const gsrt_transport *transport, uint32_t peer);

#endif
