#include "mailbox/inproc.h"

#include "base/limits.h"
#include "mailbox/codec.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

typedef struct message {
    struct message *next;
    gsrt_payload *payload;
    uint32_t from;
    size_t len;
    uint8_t bytes[]; /* header and body, encoded */
} message;

enum { SIGNAL_WRITABLE = 1, SIGNAL_DOWN = 2 };

/* What others know of an endpoint about one peer of it. */
typedef struct lane {
    uint32_t message_count; /* of the peer, waiting here */
    size_t byte_count;      /* of the peer, waiting here */
    bool is_sender_blocked; /* the peer was told GSRT_EFULL and waits for on_writable */
    unsigned signals;       /* from the peer to this endpoint: SIGNAL_* */
} lane;

/* The side of an endpoint that other threads touch; everything under `lock`. */
typedef struct inbox {
    pthread_mutex_t lock;
    message *first, **end;
    lane *lanes; /* [rank_count], by peer */
    bool has_signals, is_armed, is_closed;
    int fd; /* readable: look again */
} inbox;

typedef struct hub {
    atomic_uint references; /* endpoints that live */
    uint32_t rank_count;
    inbox *inboxes; /* [rank_count] */
} hub;

typedef struct endpoint {
    gsrt_transport base;
    hub *hub;
    uint32_t rank;
    bool *is_gone; /* [rank_count]: cut by us, or reported down */
    gsrt_transport_facts facts;
} endpoint;

static endpoint *endpoint_of(gsrt_transport *transport)
{
    return (endpoint *)(void *)transport;
}

static hub *hub_free(hub *h)
{
    if (h == NULL)
        return NULL;
    for (uint32_t i = 0; h->inboxes != NULL && i < h->rank_count; i++) {
        inbox *in = &h->inboxes[i];
        assert(in->first == NULL);
        if (in->end == NULL)
            continue; /* never got that far */
        if (in->fd >= 0)
            close(in->fd);
        free(in->lanes);
        pthread_mutex_destroy(&in->lock);
    }
    free(h->inboxes);
    free(h);
    return NULL;
}

static void message_free(message *m)
{
    gsrt_payload_unref(m->payload);
    free(m);
}

static size_t message_bytes(const message *m)
{
    return m->len + (m->payload == NULL ? 0 : m->payload->len);
}

/* Holding the lock: make a blocked owner look again. */
static void inbox_wake(inbox *in)
{
    if (!in->is_armed)
        return;
    in->is_armed = false;
    uint64_t one = 1;
    ssize_t written = write(in->fd, &one, sizeof one);
    assert(written == (ssize_t)sizeof one);
    (void)written;
}

static void inbox_signal(inbox *in, uint32_t from, unsigned signal)
{
    pthread_mutex_lock(&in->lock);
    in->lanes[from].signals |= signal;
    in->has_signals = true;
    inbox_wake(in);
    pthread_mutex_unlock(&in->lock);
}

static bool lane_has_room(const lane *l, size_t bytes)
{
    return l->message_count < GSRT_SENDS_IN_FLIGHT_MAX &&
           (l->message_count == 0 || l->byte_count + bytes <= GSRT_SEND_BYTES_IN_FLIGHT_MAX);
}

static gsrt_status inbox_put(inbox *in, message *m)
{
    lane *l = &in->lanes[m->from];
    gsrt_status status = GSRT_OK;
    pthread_mutex_lock(&in->lock);
    if (in->is_closed) {
        status = GSRT_ELINK;
    } else if (!lane_has_room(l, message_bytes(m))) {
        l->is_sender_blocked = true;
        status = GSRT_EFULL;
    } else {
        l->message_count++;
        l->byte_count += message_bytes(m);
        *in->end = m;
        in->end = &m->next;
        inbox_wake(in);
    }
    pthread_mutex_unlock(&in->lock);
    return status;
}

static gsrt_status inproc_post(gsrt_transport *transport, uint32_t peer, const gsrt_envelope *envelope)
{
    endpoint *self = endpoint_of(transport);
    if (peer >= self->hub->rank_count || self->is_gone[peer])
        return GSRT_ELINK;
    size_t capacity = GSRT_HEADER_BYTES_MAX + envelope->body.len;
    message *m = malloc(sizeof *m + capacity);
    if (m == NULL)
        return GSRT_ENOMEM;
    *m = (message){.from = self->rank, .payload = gsrt_payload_ref(envelope->payload)};
    gsrt_status status = gsrt_envelope_encode(envelope, m->bytes, capacity, &m->len);
    if (status == GSRT_OK)
        status = inbox_put(&self->hub->inboxes[peer], m);
    if (status != GSRT_OK) {
        message_free(m);
        return status;
    }
    self->facts.messages_sent++;
    self->facts.bytes_sent += envelope->body.len + (envelope->payload == NULL ? 0 : envelope->payload->len);
    return GSRT_OK;
}

static void deliver(endpoint *self, const message *m)
{
    gsrt_envelope envelope;
    gsrt_envelope_expectation expectation = {.payload_bytes = m->payload == NULL ? 0 : m->payload->len};
    if (gsrt_envelope_decode(gsrt_span_of(m->bytes, m->len), &expectation, &envelope) != GSRT_OK) {
        self->facts.refused++;
        return;
    }
    envelope.payload = m->payload;
    self->facts.messages_received++;
    self->facts.bytes_received += envelope.body.len + expectation.payload_bytes;
    self->base.events.on_receive(self->base.events.arg, m->from, &envelope);
}

/* Deliver what waits now, then give the room back at once: a sender sees it only when its messages were received. */
static uint32_t deliver_waiting(endpoint *self)
{
    inbox *in = &self->hub->inboxes[self->rank];
    uint32_t count = 0;
    pthread_mutex_lock(&in->lock);
    message *list = in->first;
    in->first = NULL;
    in->end = &in->first;
    pthread_mutex_unlock(&in->lock);
    while (list != NULL) {
        message *m = list;
        list = m->next;
        if (!self->is_gone[m->from]) {
            deliver(self, m);
            count++;
        }
        pthread_mutex_lock(&in->lock);
        lane *l = &in->lanes[m->from];
        l->message_count--;
        l->byte_count -= message_bytes(m);
        bool is_waited_for = l->is_sender_blocked && l->message_count <= GSRT_SENDS_IN_FLIGHT_MAX / 2;
        l->is_sender_blocked = l->is_sender_blocked && !is_waited_for;
        pthread_mutex_unlock(&in->lock);
        if (is_waited_for)
            inbox_signal(&self->hub->inboxes[m->from], self->rank, SIGNAL_WRITABLE);
        message_free(m);
    }
    return count;
}

static uint32_t deliver_signals(endpoint *self)
{
    inbox *in = &self->hub->inboxes[self->rank];
    uint32_t count = 0;
    pthread_mutex_lock(&in->lock);
    bool has_signals = in->has_signals;
    in->has_signals = false;
    pthread_mutex_unlock(&in->lock);
    for (uint32_t peer = 0; has_signals && peer < self->hub->rank_count; peer++) {
        pthread_mutex_lock(&in->lock);
        unsigned signals = in->lanes[peer].signals;
        in->lanes[peer].signals = 0;
        pthread_mutex_unlock(&in->lock);
        if (signals == 0 || self->is_gone[peer])
            continue;
        count++;
        if ((signals & SIGNAL_DOWN) != 0) {
            self->is_gone[peer] = true;
            if (self->base.events.on_down != NULL)
                self->base.events.on_down(self->base.events.arg, peer, GSRT_EPEER);
        } else if (self->base.events.on_writable != NULL) {
            self->base.events.on_writable(self->base.events.arg, peer);
        }
    }
    return count;
}

/* Messages first: what a peer sent before it went down is still received. */
static uint32_t inproc_progress(gsrt_transport *transport)
{
    endpoint *self = endpoint_of(transport);
    uint32_t count = deliver_waiting(self);
    return count + deliver_signals(self);
}

static gsrt_status inproc_arm(gsrt_transport *transport, int *out_fd)
{
    endpoint *self = endpoint_of(transport);
    inbox *in = &self->hub->inboxes[self->rank];
    pthread_mutex_lock(&in->lock);
    bool has_work = in->first != NULL || in->has_signals;
    if (!has_work && !in->is_armed) {
        uint64_t drained;
        ssize_t n = read(in->fd, &drained, sizeof drained); /* what woke us the last time; nothing there is fine */
        (void)n;
        in->is_armed = true;
    }
    pthread_mutex_unlock(&in->lock);
    if (has_work)
        return GSRT_ESTATE;
    *out_fd = in->fd;
    return GSRT_OK;
}

/* Take back what `from` has posted to this inbox and nobody has received. */
static void inbox_purge(inbox *in, uint32_t from)
{
    message *removed = NULL;
    pthread_mutex_lock(&in->lock);
    for (message **link = &in->first; *link != NULL;) {
        message *m = *link;
        if (m->from != from) {
            link = &m->next;
            continue;
        }
        *link = m->next;
        if (in->end == &m->next)
            in->end = link;
        in->lanes[from].message_count--;
        in->lanes[from].byte_count -= message_bytes(m);
        m->next = removed;
        removed = m;
    }
    pthread_mutex_unlock(&in->lock);
    while (removed != NULL) {
        message *m = removed;
        removed = m->next;
        message_free(m);
    }
}

static void inproc_cut(gsrt_transport *transport, uint32_t peer)
{
    endpoint *self = endpoint_of(transport);
    if (peer >= self->hub->rank_count || self->is_gone[peer])
        return;
    self->is_gone[peer] = true;
    inbox_purge(&self->hub->inboxes[peer], self->rank);
    if (peer != self->rank)
        inbox_signal(&self->hub->inboxes[peer], self->rank, SIGNAL_DOWN);
}

/* What was posted lies in the receiver's inbox. */
static bool inproc_is_flushed(const gsrt_transport *transport)
{
    (void)transport;
    return true;
}

static void inproc_read_facts(const gsrt_transport *transport, gsrt_transport_facts *out)
{
    *out = ((const endpoint *)(const void *)transport)->facts;
}

static void inproc_free(gsrt_transport *transport)
{
    if (transport == NULL)
        return;
    endpoint *self = endpoint_of(transport);
    hub *h = self->hub;
    inbox *in = &h->inboxes[self->rank];
    pthread_mutex_lock(&in->lock);
    in->is_closed = true;
    message *list = in->first;
    in->first = NULL;
    in->end = &in->first;
    pthread_mutex_unlock(&in->lock);
    while (list != NULL) {
        message *m = list;
        list = m->next;
        message_free(m);
    }
    for (uint32_t peer = 0; peer < h->rank_count; peer++)
        if (peer != self->rank && !self->is_gone[peer])
            inbox_signal(&h->inboxes[peer], self->rank, SIGNAL_DOWN);
    free(self->is_gone);
    free(self);
    /* release: our last use of the hub; acquire: the last endpoint frees after all of them */
    if (atomic_fetch_sub_explicit(&h->references, 1, memory_order_acq_rel) == 1)
        hub_free(h);
}

static const gsrt_transport_ops inproc_ops = {
    .post = inproc_post,
    .progress = inproc_progress,
    .arm = inproc_arm,
    .cut = inproc_cut,
    .is_flushed = inproc_is_flushed,
    .read_facts = inproc_read_facts,
    .free = inproc_free,
};

static gsrt_status hub_create(uint32_t rank_count, hub **out)
{
    hub *h = calloc(1, sizeof *h);
    if (h == NULL)
        return GSRT_ENOMEM;
    h->rank_count = rank_count;
    h->inboxes = calloc(rank_count, sizeof *h->inboxes);
    gsrt_status status = h->inboxes == NULL ? GSRT_ENOMEM : GSRT_OK;
    for (uint32_t i = 0; i < rank_count && status == GSRT_OK; i++) {
        inbox *in = &h->inboxes[i];
        pthread_mutex_init(&in->lock, NULL);
        in->end = &in->first;
        in->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        in->lanes = calloc(rank_count, sizeof *in->lanes);
        status = in->fd < 0 ? GSRT_EIO : in->lanes == NULL ? GSRT_ENOMEM : GSRT_OK;
    }
    if (status == GSRT_OK)
        *out = h;
    else
        hub_free(h);
    return status;
}

gsrt_status gsrt_inproc_create(uint32_t rank_count, gsrt_transport **out)
{
    if (rank_count == 0 || rank_count > GSRT_RANK_COUNT_MAX)
        return GSRT_EINVAL;
    hub *h;
    gsrt_status status = hub_create(rank_count, &h);
    if (status != GSRT_OK)
        return status;
    endpoint **endpoints = calloc(rank_count, sizeof(endpoint *));
    bool is_complete = endpoints != NULL;
    for (uint32_t rank = 0; rank < rank_count && is_complete; rank++) {
        endpoint *self = calloc(1, sizeof *self);
        bool *is_gone = calloc(rank_count, sizeof *is_gone);
        if (self == NULL || is_gone == NULL) {
            free(self);
            free(is_gone);
            is_complete = false;
            break;
        }
        *self = (endpoint){.base.ops = &inproc_ops, .hub = h, .rank = rank, .is_gone = is_gone, .facts.name = "inproc"};
        endpoints[rank] = self;
    }
    for (uint32_t rank = 0; rank < rank_count && endpoints != NULL; rank++) {
        if (is_complete) {
            out[rank] = &endpoints[rank]->base;
        } else if (endpoints[rank] != NULL) {
            free(endpoints[rank]->is_gone);
            free(endpoints[rank]);
        }
    }
    free(endpoints);
    if (!is_complete) {
        hub_free(h);
        return GSRT_ENOMEM;
    }
    atomic_init(&h->references, rank_count);
    return GSRT_OK;
}
