/* The sentinel: one idle TCP connection per pair of ranks. When a process ends, its kernel closes them, and each peer
 * knows within about a millisecond, whatever transport the messages take (shared memory itself tells nobody). Its
 * listener stays open: new incarnations join there, and keepers say there that a worker is dead.
 *
 * Legal order: create, introduce, expect each peer, connect (first incarnations, together) or join (a later one), then
 * poll / drop / leave / call, free. Both ends of each connection prove that they know the job's secret (visit.h).
 *
 *   of a peer:  unmet -- MET --> met -- JOINED --> there -- GONE --> unmet
 *
 * The one that calls says a byte when it has the answer; only then the called one may send it messages (JOINED): a
 * message cannot come to a rank that does not know the sender yet. Two that call each other: the higher one's call
 * wins. A hello of an incarnation that is not later than the last one met is refused and counted.
 *
 * Not seen: a stopped process, a silently cut cable (heartbeats are for that).
 * Thread: one. Memory: a descriptor and 32 bytes per peer; GSRT_GUEST_COUNT_MAX strangers of at most 40 KiB, for
 * GUEST_MS each; two calls per rank. Cost: nothing until something happens. Nothing here blocks but connect.
 */
#ifndef GSRT_MAILBOX_SENTINEL_H
#define GSRT_MAILBOX_SENTINEL_H

#include "base/diag.h"
#include "mailbox/note.h"

typedef struct gsrt_sentinel gsrt_sentinel;

typedef enum gsrt_sentinel_event_kind {
    GSRT_SENTINEL_MET,         /* peer, incarnation, card: that one is there; all before it is void */
    GSRT_SENTINEL_JOINED,      /* peer: it can be sent messages */
    GSRT_SENTINEL_GONE,        /* peer, is_leaving: the connection has ended; it said so before */
    GSRT_SENTINEL_UNREACHABLE, /* peer: it does not answer the join */
    GSRT_SENTINEL_REFUSED,     /* peer: it knows a later incarnation of this rank */
    GSRT_SENTINEL_WORD,        /* peer: whose worker is dead; word */
    GSRT_SENTINEL_ANSWERED,    /* tag, note: of a call */
    GSRT_SENTINEL_SILENT,      /* tag: of a call: no answer in time, or nobody listens */
    GSRT_SENTINEL_READY,       /* tag: of a watched descriptor that can be read */
} gsrt_sentinel_event_kind;

typedef struct gsrt_sentinel_event {
    gsrt_sentinel_event_kind kind;
    uint32_t peer, incarnation;
    bool is_leaving;
    gsrt_span card;
    const gsrt_keeper_word *word;
    uint32_t tag;
    gsrt_span note;
} gsrt_sentinel_event; /* what it points to is borrowed until the next poll */

/* listener: a listening socket, taken; -1: one on a free port is opened. Owned. GSRT_OK | GSRT_ENOMEM | GSRT_EIO. */
GSRT_MUST_CHECK gsrt_status gsrt_sentinel_create(uint32_t rank, uint32_t rank_count, int listener, gsrt_sentinel **out,
                                                 gsrt_diag *diag);
gsrt_sentinel *gsrt_sentinel_free(gsrt_sentinel *sentinel);

const gsrt_place *gsrt_sentinel_place(const gsrt_sentinel *sentinel); /* of this rank; borrowed */

/* Who this rank is; `card` is borrowed until free, `secret` copied. */
void gsrt_sentinel_introduce(gsrt_sentinel *sentinel, uint32_t incarnation, gsrt_span card, const gsrt_secret *secret);
/* What is known of `peer`; an earlier incarnation will be refused. */
void gsrt_sentinel_expect(gsrt_sentinel *sentinel, uint32_t peer, uint32_t incarnation, const gsrt_place *place);

/* Call all lower ranks and be called by all higher ones; every rank does it. Blocks, at most timeout_ms. Their events
 * are not told. GSRT_OK | GSRT_ETIMEDOUT, GSRT_ELINK: `diag` names the rank. */
GSRT_MUST_CHECK gsrt_status gsrt_sentinel_connect(gsrt_sentinel *sentinel, uint32_t timeout_ms, gsrt_diag *diag);
/* Call all; each ends in JOINED or UNREACHABLE, within timeout_ms. GSRT_OK | GSRT_ENOMEM. */
GSRT_MUST_CHECK gsrt_status gsrt_sentinel_join(gsrt_sentinel *sentinel, uint32_t timeout_ms);

/* Say `note` (copied) at `port` of the host where `peer` is. One ANSWERED or SILENT with `tag` follows within
 * timeout_ms. GSRT_OK | GSRT_EFULL | GSRT_ENOMEM | GSRT_ELIMIT. */
GSRT_MUST_CHECK gsrt_status gsrt_sentinel_call(gsrt_sentinel *sentinel, uint32_t peer, uint16_t port, gsrt_span note,
                                               uint32_t timeout_ms, uint32_t tag);

/* An epoll descriptor: readable when there is an event, or a watched descriptor is ready. */
int gsrt_sentinel_fd(const gsrt_sentinel *sentinel);
/* Make `fd` (borrowed) one of those; tag: of its READY events, UINT32_MAX: without. May be said again, to wait for room
 * to write, too (`is_writing`). GSRT_OK | GSRT_EIO. */
GSRT_MUST_CHECK gsrt_status gsrt_sentinel_watch(gsrt_sentinel *sentinel, int fd, uint32_t tag, bool is_writing);

/* The next event. false: none. */
bool gsrt_sentinel_poll(gsrt_sentinel *sentinel, gsrt_sentinel_event *out);

/* A message of `peer` came: it has joined, whatever has become of its byte. */
void gsrt_sentinel_confirm(gsrt_sentinel *sentinel, uint32_t peer);
/* Close the connection to `peer`: it will see this rank gone. */
void gsrt_sentinel_drop(gsrt_sentinel *sentinel, uint32_t peer);
/* Tell every peer that this rank leaves in good order, and let nobody in any more. */
void gsrt_sentinel_leave(gsrt_sentinel *sentinel);
/* Connections to peers that have neither gone nor been dropped. */
uint32_t gsrt_sentinel_peer_count(const gsrt_sentinel *sentinel);
/* Joins under way. */
uint32_t gsrt_sentinel_join_count(const gsrt_sentinel *sentinel);
/* Callers that were turned away: without proof, stale, or too slow. */
uint64_t gsrt_sentinel_refused_count(const gsrt_sentinel *sentinel);

#endif
