/* The twin's loop, and the transport that it gives to its nodes.
 *
 *   post: link of the pair free? -> ARRIVAL event -> the receiver's basket -> its RUN: progress takes it
 *                                                                             -> sender refused before? WRITABLE event
 *
 * A node has at most one RUN to come that counts (run_at_ns); events of earlier plans are passed over.
 */
#include "actors/twin.h"
#include "actors/events.h"
#include "actors/node_impl.h"
#include "base/random.h"
#include "mailbox/codec.h"

#include <math.h>
#include <stdlib.h>

/* A message on its way. */
typedef struct twin_letter {
    struct twin_letter *next; /* in the receiver's basket */
    gsrt_envelope envelope;
    uint32_t from_rank;
    uint32_t bytes; /* on the wire, without the payload */
    uint8_t body[];
} twin_letter;

/* A directed pair of ranks. */
typedef struct twin_pair {
    gsrt_twin_link link; /* bytes_per_ns 0: as every pair's */
    uint64_t link_free_ns, last_arrival_ns;
    uint64_t post_count;
    uint32_t in_flight; /* posted, and not taken by the receiver */
    bool is_refused;    /* a post found the window full: owes a WRITABLE */
    bool is_cut;        /* by the sender's node: nothing goes out */
} twin_pair;

typedef struct twin_node {
    gsrt_transport transport; /* first: the node's transport is this struct */
    gsrt_twin *twin;
    gsrt_node *node; /* owned */
    uint32_t rank;
    uint64_t busy_until; /* it works on a message until then */
    uint64_t run_at_ns;  /* of the RUN that counts; UINT64_MAX: none */
    twin_letter *basket_first, *basket_last;
    gsrt_transport_facts facts;
} twin_node;

struct gsrt_twin {
    gsrt_twin_options options;
    twin_node *nodes; /* [rank_count]; owned */
    twin_pair *pairs; /* [rank_count from][rank_count to]; owned */
    gsrt__events events;
    uint64_t now_ns, event_count, digest;
    bool is_out_of_memory;
};

static twin_pair *pair_of(gsrt_twin *twin, uint32_t from, uint32_t to)
{
    return &twin->pairs[(size_t)from * twin->options.rank_count + to];
}

static const gsrt_twin_link *link_of(const gsrt_twin *twin, const twin_pair *pair)
{
    return pair->link.bytes_per_ns > 0 ? &pair->link : &twin->options.link;
}

static void plan(gsrt_twin *twin, const gsrt__event *event)
{
    if (gsrt__events_add(&twin->events, event) != GSRT_OK)
        twin->is_out_of_memory = true;
}

static void plan_run(twin_node *self, uint64_t time_ns)
{
    if (time_ns < self->busy_until)
        time_ns = self->busy_until;
    if (time_ns >= self->run_at_ns)
        return;
    self->run_at_ns = time_ns;
    plan(self->twin, &(gsrt__event){.time_ns = time_ns, .rank = self->rank, .kind = GSRT__EVENT_RUN});
}

static void letter_free(twin_letter *letter)
{
    gsrt_payload_unref(letter->envelope.payload);
    free(letter);
}

/* ---- the transport ---- */

static gsrt_status measure(const gsrt_envelope *envelope, uint32_t *out_bytes)
{
    uint8_t room[GSRT_HEADER_BYTES_MAX];
    size_t header_bytes;
    gsrt_envelope bare = *envelope;
    bare.body = gsrt_span_of(NULL, 0);
    gsrt_status status = gsrt_envelope_encode(&bare, room, sizeof room, &header_bytes);
    if (status == GSRT_OK)
        *out_bytes = (uint32_t)(header_bytes + envelope->body.len);
    return status;
}

/* When a message posted now arrives; the link is taken until it has left. */
static uint64_t travel(gsrt_twin *twin, twin_pair *pair, uint32_t from, uint32_t to, uint64_t bytes)
{
    const gsrt_twin_link *link = link_of(twin, pair);
    uint64_t start = pair->link_free_ns > twin->now_ns ? pair->link_free_ns : twin->now_ns;
    pair->link_free_ns = start + (uint64_t)ceil((double)bytes / link->bytes_per_ns);
    double latency_ns = (double)link->latency_ns;
    if (twin->options.jitter > 0) {
        uint64_t stream = (uint64_t)from << 32 | to;
        latency_ns *= 1 + twin->options.jitter * gsrt_random_f64(twin->options.seed, stream, pair->post_count);
    }
    pair->post_count++;
    uint64_t arrival = pair->link_free_ns + (uint64_t)latency_ns;
    if (arrival < pair->last_arrival_ns)
        arrival = pair->last_arrival_ns;
    pair->last_arrival_ns = arrival;
    return arrival;
}

static gsrt_status twin_post(gsrt_transport *transport, uint32_t peer, const gsrt_envelope *envelope)
{
    twin_node *self = (twin_node *)(void *)transport;
    gsrt_twin *twin = self->twin;
    if (peer >= twin->options.rank_count)
        return GSRT_ELINK;
    twin_pair *pair = pair_of(twin, self->rank, peer);
    if (pair->is_cut)
        return GSRT_ELINK;
    if (pair->in_flight >= GSRT_TWIN_WINDOW) {
        pair->is_refused = true;
        return GSRT_EFULL;
    }
    uint32_t bytes;
    gsrt_status status = measure(envelope, &bytes);
    if (status != GSRT_OK)
        return status;
    twin_letter *letter = malloc(sizeof *letter + envelope->body.len);
    if (letter == NULL)
        return GSRT_ENOMEM;
    letter->next = NULL;
    letter->from_rank = self->rank;
    letter->bytes = bytes;
    letter->envelope = *envelope;
    if (envelope->body.len > 0)
        memcpy(letter->body, envelope->body.data, envelope->body.len);
    letter->envelope.body.data = letter->body;
    letter->envelope.payload = gsrt_payload_ref(envelope->payload);
    uint64_t all_bytes = bytes + (envelope->payload == NULL ? 0 : (uint64_t)envelope->payload->len);
    uint64_t arrival = travel(twin, pair, self->rank, peer, all_bytes);
    status = gsrt__events_add(
        &twin->events,
        &(gsrt__event){
            .time_ns = arrival, .rank = peer, .peer = self->rank, .letter = letter, .kind = GSRT__EVENT_ARRIVAL});
    if (status != GSRT_OK) {
        letter_free(letter);
        return status;
    }
    pair->in_flight++;
    self->facts.messages_sent++;
    self->facts.bytes_sent += all_bytes;
    return GSRT_OK;
}

/* The message is out of the window; a sender that was refused hears of it a latency later, when half is free. */
static void taken(twin_node *self, uint32_t from_rank)
{
    gsrt_twin *twin = self->twin;
    twin_pair *pair = pair_of(twin, from_rank, self->rank);
    pair->in_flight--;
    if (!pair->is_refused || pair->in_flight > GSRT_TWIN_WINDOW / 2)
        return;
    pair->is_refused = false;
    uint64_t time_ns = twin->now_ns + link_of(twin, pair)->latency_ns;
    plan(twin, &(gsrt__event){.time_ns = time_ns, .rank = from_rank, .peer = self->rank, .kind = GSRT__EVENT_WRITABLE});
}

static uint32_t twin_progress(gsrt_transport *transport)
{
    twin_node *self = (twin_node *)(void *)transport;
    uint32_t count = 0;
    while (self->basket_first != NULL) {
        twin_letter *letter = self->basket_first;
        self->basket_first = letter->next;
        if (self->basket_first == NULL)
            self->basket_last = NULL;
        taken(self, letter->from_rank);
        if (pair_of(self->twin, self->rank, letter->from_rank)->is_cut) {
            self->facts.refused++;
        } else {
            const gsrt_payload *payload = letter->envelope.payload;
            self->facts.messages_received++;
            self->facts.bytes_received += letter->bytes + (payload == NULL ? 0 : payload->len);
            transport->events.on_receive(transport->events.arg, letter->from_rank, &letter->envelope);
        }
        letter_free(letter);
        count++;
    }
    return count;
}

static gsrt_status twin_arm(gsrt_transport *transport, int *out_fd)
{
    (void)transport;
    (void)out_fd;
    return GSRT_ESTATE; /* nobody blocks in virtual time */
}

static void twin_cut(gsrt_transport *transport, uint32_t peer)
{
    twin_node *self = (twin_node *)(void *)transport;
    if (peer < self->twin->options.rank_count)
        pair_of(self->twin, self->rank, peer)->is_cut = true;
}

static bool twin_is_flushed(const gsrt_transport *transport)
{
    (void)transport;
    return true; /* what was posted is on its way */
}

static void twin_read_facts(const gsrt_transport *transport, gsrt_transport_facts *out)
{
    *out = ((const twin_node *)(const void *)transport)->facts;
}

static void twin_free_transport(gsrt_transport *transport)
{
    twin_node *self = (twin_node *)(void *)transport;
    while (self->basket_first != NULL) {
        twin_letter *letter = self->basket_first;
        self->basket_first = letter->next;
        letter_free(letter);
    }
}

static const gsrt_transport_ops twin_ops = {.post = twin_post,
                                            .progress = twin_progress,
                                            .arm = twin_arm,
                                            .cut = twin_cut,
                                            .is_flushed = twin_is_flushed,
                                            .read_facts = twin_read_facts,
                                            .free = twin_free_transport};

/* ---- life ---- */

static uint64_t twin_clock(void *arg)
{
    return ((const gsrt_twin *)arg)->now_ns; /* while a node runs, the time of its event */
}

static gsrt_status node_make(gsrt_twin *twin, uint32_t rank)
{
    twin_node *self = &twin->nodes[rank];
    self->transport.ops = &twin_ops;
    self->twin = twin;
    self->rank = rank;
    self->run_at_ns = UINT64_MAX;
    self->facts.name = "twin";
    gsrt_node_options options = {.rank = rank,
                                 .rank_count = twin->options.rank_count,
                                 .transport = &self->transport,
                                 .clock_ns = twin_clock,
                                 .clock_arg = twin};
    if (twin->options.recorders != NULL)
        options.recorder = twin->options.recorders[rank];
    return gsrt_node_create(&options, &self->node);
}

gsrt_status gsrt_twin_create(const gsrt_twin_options *options, gsrt_twin **out)
{
    if (options->rank_count == 0 || options->rank_count > GSRT_RANK_COUNT_MAX || !(options->link.bytes_per_ns > 0) ||
        !(options->jitter >= 0 && options->jitter <= 1e6))
        return GSRT_EINVAL;
    gsrt_twin *twin = calloc(1, sizeof *twin);
    if (twin == NULL)
        return GSRT_ENOMEM;
    twin->options = *options;
    twin->nodes = calloc(options->rank_count, sizeof *twin->nodes);
    twin->pairs = calloc((size_t)options->rank_count * options->rank_count, sizeof *twin->pairs);
    gsrt_status status = twin->nodes == NULL || twin->pairs == NULL ? GSRT_ENOMEM : GSRT_OK;
    for (uint32_t rank = 0; status == GSRT_OK && rank < options->rank_count; rank++)
        status = node_make(twin, rank);
    twin->options.recorders = NULL; /* copied into the nodes */
    if (status != GSRT_OK) {
        gsrt_twin_free(twin);
        return status;
    }
    *out = twin;
    return GSRT_OK;
}

gsrt_twin *gsrt_twin_free(gsrt_twin *twin)
{
    if (twin == NULL)
        return NULL;
    for (uint32_t rank = 0; twin->nodes != NULL && rank < twin->options.rank_count; rank++)
        gsrt_node_free(twin->nodes[rank].node);
    while (twin->events.count > 0) {
        gsrt__event event = gsrt__events_take(&twin->events);
        if (event.letter != NULL)
            letter_free(event.letter);
    }
    gsrt__events_fini(&twin->events);
    free(twin->nodes);
    free(twin->pairs);
    free(twin);
    return NULL;
}

gsrt_node *gsrt_twin_node(gsrt_twin *twin, uint32_t rank)
{
    return rank < twin->options.rank_count ? twin->nodes[rank].node : NULL;
}

void gsrt_twin_set_link(gsrt_twin *twin, uint32_t from, uint32_t to, const gsrt_twin_link *link)
{
    if (from < twin->options.rank_count && to < twin->options.rank_count && link->bytes_per_ns > 0)
        pair_of(twin, from, to)->link = *link;
}

uint64_t gsrt_twin_now_ns(const gsrt_twin *twin)
{
    return twin->now_ns;
}

uint64_t gsrt_twin_event_count(const gsrt_twin *twin)
{
    return twin->event_count;
}

uint64_t gsrt_twin_digest(const gsrt_twin *twin)
{
    return twin->digest;
}

/* ---- the loop ---- */

static uint64_t mix(uint64_t digest, uint64_t value)
{
    digest = (digest ^ value) * 0x9E3779B97F4A7C15u;
    return digest ^ digest >> 29;
}

static void note(gsrt_twin *twin, const gsrt__event *event)
{
    const twin_letter *letter = event->letter;
    uint64_t digest = mix(twin->digest, event->time_ns);
    digest = mix(digest, (uint64_t)event->peer << 32 | event->rank);
    digest = mix(digest, (uint64_t)letter->envelope.kind);
    digest = mix(digest, letter->envelope.from);
    digest = mix(digest, letter->envelope.to);
    digest = mix(digest, letter->envelope.sequence);
    for (size_t i = 0; i < letter->envelope.body.len; i++)
        digest = (digest ^ letter->body[i]) * 0x100000001B3u;
    twin->digest = digest;
}

/* Its next round: at once when something waits, else with its next timer. */
static void plan_next(twin_node *self)
{
    const gsrt_node *node = self->node;
    uint64_t now_ns = self->twin->now_ns;
    if (node->queue.count > 0 || self->basket_first != NULL || atomic_load(&node->foreign_count) > 0)
        plan_run(self, now_ns);
    uint64_t timer_ns = gsrt_node_next_timer_ns(node);
    if (timer_ns != UINT64_MAX)
        plan_run(self, timer_ns > now_ns ? timer_ns : now_ns);
}

static void run_node(twin_node *self)
{
    gsrt_node *node = self->node;
    uint64_t message_ns = self->twin->options.message_ns;
    uint64_t before = node->delivered_count;
    (void)gsrt__node_round(node, message_ns > 0 ? 1 : GSRT__DISPATCH_BUDGET);
    self->busy_until = self->twin->now_ns + message_ns * (node->delivered_count - before);
    plan_next(self);
}

static void arrive(twin_node *self, twin_letter *letter)
{
    if (gsrt_node_is_finished(self->node)) {
        taken(self, letter->from_rank);
        letter_free(letter);
        return;
    }
    if (self->basket_last == NULL)
        self->basket_first = letter;
    else
        self->basket_last->next = letter;
    self->basket_last = letter;
    plan_run(self, self->twin->now_ns);
}

/* false: it was an old plan. */
static bool carry_out(gsrt_twin *twin, const gsrt__event *event)
{
    twin_node *self = &twin->nodes[event->rank];
    twin->now_ns = event->time_ns;
    switch (event->kind) {
    case GSRT__EVENT_RUN:
        if (event->time_ns != self->run_at_ns)
            return false;
        self->run_at_ns = UINT64_MAX;
        if (gsrt_node_is_finished(self->node))
            return false;
        run_node(self);
        return true;
    case GSRT__EVENT_ARRIVAL:
        note(twin, event);
        arrive(self, event->letter);
        return true;
    case GSRT__EVENT_WRITABLE:
        self->transport.events.on_writable(self->transport.events.arg, event->peer);
        if (!gsrt_node_is_finished(self->node))
            plan_run(self, event->time_ns);
        return true;
    }
    return false;
}

static bool is_all_finished(const gsrt_twin *twin)
{
    for (uint32_t rank = 0; rank < twin->options.rank_count; rank++)
        if (!gsrt_node_is_finished(twin->nodes[rank].node))
            return false;
    return true;
}

gsrt_status gsrt_twin_run(gsrt_twin *twin, uint64_t until_ns, uint64_t event_count_max)
{
    for (uint32_t rank = 0; rank < twin->options.rank_count; rank++)
        plan_next(&twin->nodes[rank]); /* what was posted from outside */
    uint64_t count = 0;
    while (!twin->is_out_of_memory) {
        if (twin->events.count == 0)
            return is_all_finished(twin) ? GSRT_OK : GSRT_EEMPTY;
        if (twin->events.heap[0].time_ns > until_ns) {
            if (is_all_finished(twin))
                return GSRT_OK;
            if (twin->now_ns < until_ns)
                twin->now_ns = until_ns;
            return GSRT_ETIMEDOUT;
        }
        if (count >= event_count_max)
            return is_all_finished(twin) ? GSRT_OK : GSRT_ELIMIT;
        gsrt__event event = gsrt__events_take(&twin->events);
        if (carry_out(twin, &event)) {
            count++;
            twin->event_count++;
        }
    }
    return GSRT_ENOMEM;
}
