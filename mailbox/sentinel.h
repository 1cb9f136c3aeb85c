/* The sentinel: one idle TCP connection per pair of ranks. When a process ends, its kernel closes them, and each peer
 * knows within about a millisecond, whatever transport the messages take (shared memory itself tells nobody).
 *
 * Legal order: create, gsrt_sentinel_connect once, then poll / drop / leave, free. Both ends prove that they know the
 * job's secret. Thread: one. Memory: a descriptor per peer. Cost: nothing until something happens.
 * Not seen: a stopped process, a silently cut cable (heartbeats are for that).
 */
#ifndef GSRT_MAILBOX_SENTINEL_H
#define GSRT_MAILBOX_SENTINEL_H

#include "base/diag.h"
#include "base/limits.h"
#include "mailbox/secret.h"

enum { GSRT_SENTINEL_ADDRESS_COUNT_MAX = 8, GSRT_HOST_BYTES_MAX = 128 };

/* Where a rank can be reached; exchanged by the wire-up. */
typedef struct gsrt_sentinel_place {
    char host[GSRT_HOST_BYTES_MAX]; /* equal for ranks that reach each other over the loopback interface */
    uint16_t port;
    uint32_t address_count;
    uint32_t addresses[GSRT_SENTINEL_ADDRESS_COUNT_MAX]; /* IPv4, network byte order */
} gsrt_sentinel_place;

typedef struct gsrt_sentinel gsrt_sentinel;

/* Listen on a free port. Owned. GSRT_OK | GSRT_ENOMEM | GSRT_EIO. */
GSRT_MUST_CHECK gsrt_status gsrt_sentinel_create(uint32_t rank, uint32_t rank_count, gsrt_sentinel **out,
                                                 gsrt_diag *diag);
gsrt_sentinel *gsrt_sentinel_free(gsrt_sentinel *sentinel);

const gsrt_sentinel_place *gsrt_sentinel_place_of(const gsrt_sentinel *sentinel); /* of this rank; borrowed */

/* Connect to all lower ranks and accept all higher ones; every rank calls it. Blocks, at most timeout_ms.
 * GSRT_OK | GSRT_ETIMEDOUT, GSRT_ELINK: `diag` names the rank. */
GSRT_MUST_CHECK gsrt_status gsrt_sentinel_connect(gsrt_sentinel *sentinel, const gsrt_sentinel_place *places,
                                                  const gsrt_secret *secret, uint32_t timeout_ms, gsrt_diag *diag);

/* An epoll descriptor: readable when a peer has gone, or a watched descriptor is readable. */
int gsrt_sentinel_fd(const gsrt_sentinel *sentinel);
/* Make `fd` (borrowed) one of those. GSRT_OK | GSRT_EIO. */
GSRT_MUST_CHECK gsrt_status gsrt_sentinel_watch(gsrt_sentinel *sentinel, int fd);

/* The next peer that has gone; *out_is_leaving: it said so before. false: none. Each peer at most once. */
bool gsrt_sentinel_poll(gsrt_sentinel *sentinel, uint32_t *out_peer, bool *out_is_leaving);

/* Close the connection to `peer`: it will see this rank gone. */
void gsrt_sentinel_drop(gsrt_sentinel *sentinel, uint32_t peer);
/* Tell every peer that this rank leaves in good order. */
void gsrt_sentinel_leave(gsrt_sentinel *sentinel);
/* Peers that have neither gone nor been dropped. */
uint32_t gsrt_sentinel_peer_count(const gsrt_sentinel *sentinel);

#endif
