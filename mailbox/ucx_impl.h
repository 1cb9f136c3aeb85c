/* Inside of the UCX transport; only mailbox/ucx*.c include it.
 *
 *   peer:  UP --- cut ----------------------> GONE
 *          UP --- suspected --> SUSPECT ----> GONE, on_down      once UCX has nothing more to deliver
 *          any -- a later incarnation is met --> GREETED         the old one's sends are void, its numbers start anew
 *          GREETED -- it has joined, or a message of it comes --> UP, on_join
 *
 *   a send slot: free -> posted (its number is in the window) -> free, when UCX has let go of its memory
 *   a receipt:   arrived -> fetching (large ones) -> complete -> delivered in the order of numbers
 */
#ifndef GSRT_MAILBOX_UCX_IMPL_H
#define GSRT_MAILBOX_UCX_IMPL_H

#include "base/limits.h"
#include "mailbox/channel.h"
#include "mailbox/codec.h"
#include "mailbox/keepers.h"
#include "mailbox/sentinel.h"
#include "mailbox/ucx.h"

#include <ucp/api/ucp.h>

enum {
    GSRT__UCX_AM_ID = 17,
    GSRT__UCX_SMALL_BYTES = 512,   /* link header and envelope that go as one eager piece, and live in the slot */
    GSRT__UCX_ROUNDS_MAX = 8,      /* calls of ucp_worker_progress per progress */
    GSRT__UCX_WATCH_PERIOD = 1024, /* idle progress calls between looks at the sentinels, while nobody blocks: < 1 ms */
    GSRT__UCX_WATCH_BUSY = 16, /* a progress call that brought something counts as so many: more was done beside it */
};

typedef enum gsrt__link_shape {
    GSRT__LINK_WHOLE,   /* the envelope follows the header; a payload is the data */
    GSRT__LINK_SPLIT,   /* gsrt__split_header; the data holds envelope, then payload */
    GSRT__LINK_GOODBYE, /* nothing follows: the sender leaves, and this is its last message */
    GSRT__LINK_ECHO,    /* nothing follows: of this rank to itself, with a number of its own (ucx_echo.c) */
} gsrt__link_shape;

/* Before every envelope; host byte order (one job, one architecture: the token would not match otherwise). */
typedef struct gsrt__link_header {
    uint64_t token;
    uint32_t number; /* of the message, per sender and receiver, from 0 on, wrapping */
    uint16_t rank;
    uint8_t incarnation;
    uint8_t shape; /* gsrt__link_shape */
} gsrt__link_header;
_Static_assert(sizeof(gsrt__link_header) == 16, "on the wire");

typedef struct gsrt__split_header {
    gsrt__link_header link;
    uint32_t envelope_bytes, payload_bytes;
} gsrt__split_header;
_Static_assert(sizeof(gsrt__split_header) == 24, "on the wire");

typedef struct gsrt__ucx gsrt__ucx;
typedef struct gsrt__peer_state gsrt__peer_state;

typedef struct gsrt__send {
    struct gsrt__send *next; /* free ones */
    gsrt__peer_state *peer;
    uint32_t number;
    bool is_void; /* to an incarnation that has been replaced: in no window any more */
    size_t bytes;
    gsrt_payload *payload;
    uint8_t *large; /* split header and envelope, where they are larger than `small`; owned */
    ucp_dt_iov_t pieces[2];
    uint8_t small[GSRT__UCX_SMALL_BYTES];
} gsrt__send;

typedef struct gsrt__receipt {
    struct gsrt__receipt *next;          /* of the peer, by number */
    struct gsrt__receipt *next_deferred; /* waiting to be fetched */
    gsrt__peer_state *peer;
    uint32_t number;
    bool is_complete, is_fetching, is_orphan; /* orphan: the peer went while it was being fetched */
    bool is_goodbye;
    void *descriptor; /* of UCX, until the fetch begins */
    size_t bytes;     /* to fetch */
    size_t envelope_bytes;
    gsrt_payload *payload;
    ucp_dt_iov_t pieces[2];
    uint8_t envelope[]; /* [envelope_bytes] */
} gsrt__receipt;

typedef enum gsrt__peer_life {
    GSRT__PEER_UP,
    GSRT__PEER_SUSPECT,
    GSRT__PEER_GONE,
    GSRT__PEER_GREETED, /* a new incarnation is known, but does not know this rank yet */
} gsrt__peer_life;

/* What is to be told of a peer as soon as somebody listens. */
typedef enum gsrt__peer_news { GSRT__NEWS_NONE, GSRT__NEWS_JOINED, GSRT__NEWS_UNREACHABLE } gsrt__peer_news;

/* A flush under way, which may outlive the incarnation that it was for. */
typedef struct gsrt__flush {
    gsrt__peer_state *peer;
    uint64_t posts; /* how many it covers */
    bool is_void;
} gsrt__flush;

struct gsrt__peer_state {
    gsrt__ucx *ucx;
    uint32_t rank, incarnation;
    gsrt__peer_life life;
    gsrt_status why;            /* of the suspicion */
    uint64_t patience_until_ms; /* SUSPECT that said it leaves: how long its goodbye is waited for */
    bool has_said_goodbye;      /* all its messages have been received */
    bool must_bury;             /* GONE, but its endpoint and receipts are still there: a callback of UCX was running */
    gsrt__peer_news news;
    char *host;    /* owned */
    uint8_t *card; /* [card_bytes], of its latest incarnation; owned */
    size_t card_bytes;
    uint16_t keeper_port; /* 0: it has no keeper */
    const void *address;  /* of its worker; lies in the card */
    ucp_ep_h ep;          /* NULL until the first post */
    /* sending */
    uint32_t next_number, oldest_number; /* the window: posted and not left; number n is in slot n % window */
    gsrt__send *window[GSRT_SENDS_IN_FLIGHT_MAX];
    size_t bytes_in_flight;
    bool is_blocked;               /* told GSRT_EFULL */
    uint64_t posts, flushed_posts; /* all so far; how many of them had left at the last flush */
    gsrt__flush *flush;            /* the running one; owned by it */
    /* receiving */
    uint32_t expected_number;
    uint32_t receipt_count;
    gsrt__receipt *receipts;
    bool is_gone_unheard, is_leaving_unheard; /* its sentinel, while it was cut off */
};

/* The keepers, as ucx_keepers.c reaches them: the own one by a channel, the others by calls of the sentinel. */
typedef struct gsrt__ucx_keepers {
    gsrt_keepers base;
    gsrt__ucx *ucx;
    int channel;               /* to the own keeper; -1: there is none */
    bool is_writing;           /* there is no room in the channel */
    gsrt_buffer leaving, next; /* frames: being written; the ticket after it, which a later one replaces */
    size_t leaving_at;
    int finished_code;          /* to be said after them; -1: nothing */
    gsrt_channel_reader reader; /* what the keeper says */
    gsrt_deposit deposit;       /* the last one */
    bool must_tell_deposited;   /* without a keeper: at once */
    gsrt_buffer blob;           /* of the application */
    uint32_t order_count;       /* under way */
} gsrt__ucx_keepers;

/* A message of this rank to itself, that tells whether it can still hear. */
typedef struct gsrt__echo {
    ucp_ep_h ep;            /* to this rank itself; NULL until the first */
    gsrt__link_header link; /* being sent */
    int timer;              /* ticks while one is out; 0: not open */
    uint32_t number;        /* of the last one */
    bool is_wanted, is_sending, is_out, is_deaf;
    uint64_t limit_ns, counted_ns, tick_ns;      /* of the one that is out */
    uint64_t arrivals, heard_arrivals, heard_ns; /* active messages that came; as of when something was last heard */
} gsrt__echo;

/* A drill (ucx_cut_off.c). */
typedef struct gsrt__cut_off {
    bool is_on;
    int timer; /* rings at its end; 0: not open */
    uint32_t sides[GSRT_RANK_COUNT_MAX];
} gsrt__cut_off;

struct gsrt__ucx {
    gsrt_ucx_options options;
    gsrt_transport *transport;
    ucp_context_h context;
    ucp_worker_h worker;
    ucp_address_t *address;
    size_t address_bytes;
    gsrt_buffer card;
    gsrt_sentinel *sentinel;
    uint64_t token;
    bool is_connected;       /* all peers are known: messages may go and come */
    gsrt__peer_state *peers; /* [rank_count] */
    gsrt__send *free_sends;
    gsrt__receipt *deferred, **deferred_end;
    size_t fetching_bytes;
    uint32_t orphan_count;
    uint32_t blocked_count, suspect_count, burial_count, news_count; /* peers that progress must look at */
    bool is_progressing;
    bool has_receipts;     /* some peer may have receipts to deliver */
    uint32_t busy_count;   /* sends, flushes and closes that UCX still holds */
    uint32_t watch_rounds; /* calls of progress since the sentinels were looked at, weighted */
    uint64_t callbacks;
    gsrt_transport_facts facts;
    gsrt_secret secret;
    bool is_refused; /* another rank knows a later incarnation of this one */
    gsrt__ucx_keepers keepers;
    gsrt__echo echo;
    gsrt__cut_off cut_off;
};

typedef struct gsrt__ucx_transport {
    gsrt_transport base;
    gsrt__ucx *ucx;
} gsrt__ucx_transport;

static inline gsrt__ucx *gsrt__ucx_of(const gsrt_transport *transport)
{
    return ((const gsrt__ucx_transport *)(const void *)transport)->ucx;
}

/* ucx_setup.c */
GSRT_MUST_CHECK gsrt_status gsrt__ucx_endpoint(gsrt__peer_state *peer); /* make sure that it exists */
void gsrt__ucx_free(gsrt_transport *transport);

/* ucx_peers.c: who the others are, and that they come anew */
void gsrt__ucx_meet(gsrt__peer_state *peer, uint32_t incarnation, gsrt_span card);
void gsrt__ucx_admit(gsrt__peer_state *peer);
void gsrt__ucx_hear(gsrt__ucx *ucx, const gsrt_sentinel_event *event); /* whatever the sentinel has */
void gsrt__ucx_tell_news(gsrt__ucx *ucx);

/* ucx_keepers.c */
void gsrt__ucx_keepers_init(gsrt__ucx *ucx);
void gsrt__ucx_keepers_fini(gsrt__ucx *ucx);
void gsrt__ucx_keepers_hear(gsrt__ucx *ucx, const gsrt_sentinel_event *event);
void gsrt__ucx_keepers_tell(gsrt__ucx *ucx); /* what need not be awaited */

/* ucx_send.c */
void gsrt__ucx_void_sends(gsrt__peer_state *peer); /* forget the window: UCX still has what is in it */
gsrt_status gsrt__ucx_post(gsrt_transport *transport, uint32_t rank, const gsrt_envelope *envelope);
bool gsrt__ucx_is_flushed(const gsrt_transport *transport);
void gsrt__ucx_say_goodbye(gsrt__ucx *ucx); /* to all that have ever been sent something */
void gsrt__ucx_tell_writable(gsrt__ucx *ucx);
void gsrt__ucx_free_sends(gsrt__ucx *ucx);

/* ucx_receive.c */
ucs_status_t gsrt__ucx_on_message(void *arg, const void *header, size_t header_bytes, void *data, size_t bytes,
                                  const ucp_am_recv_param_t *param);
void gsrt__ucx_fetch_deferred(gsrt__ucx *ucx);
void gsrt__ucx_deliver_receipts(gsrt__ucx *ucx);
void gsrt__ucx_drop_receipts(gsrt__peer_state *peer);

/* ucx_echo.c */
GSRT_MUST_CHECK gsrt_status gsrt__ucx_echo_open(gsrt__ucx *ucx); /* once messages are taken. GSRT_OK | GSRT_EIO */
void gsrt__ucx_echo_close(gsrt__ucx *ucx);
void gsrt__ucx_echo_after_death(gsrt__ucx *ucx, uint32_t rank);
void gsrt__ucx_echo_after_silence(gsrt__ucx *ucx); /* if it is silent; called now and then */
void gsrt__ucx_echo_hear(gsrt__ucx *ucx, const gsrt__link_header *link);
void gsrt__ucx_echo_work(gsrt__ucx *ucx); /* outside of UCX's callbacks */

/* ucx_cut_off.c */
bool gsrt__ucx_is_cut_off(const gsrt__ucx *ucx, uint32_t rank);
void gsrt__ucx_cut_off_work(gsrt__ucx *ucx); /* while one is on: is it over? */
void gsrt__ucx_cut_off_close(gsrt__ucx *ucx);

/* ucx.c */
void gsrt__ucx_close_endpoint(gsrt__ucx *ucx, ucp_ep_h *ep); /* by force; *ep becomes NULL, which is legal too */
uint32_t gsrt__ucx_progress(gsrt_transport *transport);
void gsrt__ucx_cut(gsrt_transport *transport, uint32_t rank);
void gsrt__ucx_suspect(gsrt__peer_state *peer, gsrt_status why);
void gsrt__ucx_replace(gsrt__peer_state *peer); /* it is gone, told, and buried; not within a callback of UCX */
extern const gsrt_transport_ops gsrt__ucx_ops;

#endif
