/* What carries envelopes between ranks. One interface; UCX (mailbox/ucx), in-process (mailbox/inproc), and the twin's
 * modelled network (actors/twin) fulfil it.
 *
 * Order per peer is kept. A completed post is not a delivered message. Memory is bounded: at most
 * GSRT_SENDS_IN_FLIGHT_MAX sends (and a bounded queue) per peer, then post says GSRT_EFULL until on_writable(peer).
 * Thread: owner only, except wake. All callbacks run inside progress, on the owner's thread.
 */
#ifndef GSRT_MAILBOX_TRANSPORT_H
#define GSRT_MAILBOX_TRANSPORT_H

#include "base/status.h"
#include "mailbox/envelope.h"

typedef struct gsrt_transport gsrt_transport;

typedef struct gsrt_transport_events {
    void *arg;
    /* envelope and body are borrowed for the call; the payload too: ref it to keep it */
    void (*on_receive)(void *arg, uint32_t peer, const gsrt_envelope *envelope);
    void (*on_writable)(void *arg, uint32_t peer);
    /* A suspicion, at most once per peer, after what it had sent. GSRT_EPEER: lost; GSRT_ELINK: the link failed;
     * GSRT_ECANCELED: it said that it leaves. */
    void (*on_down)(void *arg, uint32_t peer, gsrt_status why);
    /* A new incarnation of `peer` has connected and proved itself, which implies that the one before is dead (what was
     * under way with that one is void, `on_down` may be said again). Messages can be posted to it. NULL: not wanted. */
    void (*on_join)(void *arg, uint32_t peer, uint32_t incarnation);
    /* Nothing can be received any more, from nobody: only this rank's next incarnation can. Once. NULL: not wanted. */
    void (*on_deaf)(void *arg);
} gsrt_transport_events;

typedef struct gsrt_transport_facts {
    const char *name; /* "ucx", "inproc", "twin" */
    uint64_t messages_sent, messages_received, bytes_sent, bytes_received;
    uint64_t refused; /* undecodable, stale or unknown: dropped and counted */
} gsrt_transport_facts;

typedef struct gsrt_transport_ops {
    /* Send. header and body are copied before it returns, the payload is ref'ed until sent.
     * GSRT_OK | GSRT_EFULL | GSRT_ELINK (peer is down or unknown) | GSRT_EKIND | GSRT_ENOMEM. Never blocks. */
    gsrt_status (*post)(gsrt_transport *transport, uint32_t peer, const gsrt_envelope *envelope);
    /* Move things on; the number of callbacks run. Never blocks. */
    uint32_t (*progress)(gsrt_transport *transport);
    /* Prepare to block: *out_fd becomes readable when there is work. GSRT_OK | GSRT_ESTATE: progress again first. */
    gsrt_status (*arm)(gsrt_transport *transport, int *out_fd);
    /* The detector has decided that peer is dead: cancel its sends, close by force, refuse what still comes. */
    void (*cut)(gsrt_transport *transport, uint32_t peer);
    /* Everything posted has left this process, or the peer is down. */
    bool (*is_flushed)(const gsrt_transport *transport);
    void (*read_facts)(const gsrt_transport *transport, gsrt_transport_facts *out);
    void (*free)(gsrt_transport *transport);
} gsrt_transport_ops;

struct gsrt_transport {
    const gsrt_transport_ops *ops;
    gsrt_transport_events events; /* set by gsrt_transport_listen before the first progress */
};

static inline void gsrt_transport_listen(gsrt_transport *transport, const gsrt_transport_events *events)
{
    transport->events = *events;
}

#endif
