/* The transport that the twin gives to its nodes, and what happens to messages between them.
 *
 *   post: link of the pair free? -> ARRIVAL event -> the receiver's basket -> its RUN: progress takes it
 *                                                                             -> sender refused before? WRITABLE parcel
 *
 * A pair's state at one rank:   OPEN --cut, down--> CLOSED --greeting of a newer incarnation--> OPEN
 *                               FRESH (this incarnation is new) --greeting--> OPEN;  FRESH --down--> CLOSED
 */
#include "actors/twin_impl.h"
#include "mailbox/codec.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

enum { LOSSES_IN_A_ROW_MAX = 16 };

void gsrt__shared_word_unref(gsrt__shared_word *word)
{
    if (word != NULL && --word->references == 0)
        free(word);
}

void gsrt__parcel_free(gsrt__parcel *parcel)
{
    gsrt_payload_unref(parcel->envelope.payload);
    gsrt__shared_word_unref(parcel->word);
    free(parcel);
}

/* ---- how long it takes ---- */

/* What the faults of the link add to the latency; *out_copies: how often it goes over the link. */
static uint64_t fault_delay(gsrt_twin *twin, const gsrt__pair *pair, uint32_t from, uint32_t to, uint32_t *out_copies)
{
    *out_copies = 1;
    if (twin->link_faults == NULL)
        return 0;
    const gsrt_twin_link_faults *faults = &twin->link_faults[(size_t)from * twin->options.rank_count + to];
    uint64_t count = pair->post_count, delay_ns = 0, retransmit_ns = faults->retransmit_ns;
    if (faults->delay > 0) {
        double u = gsrt__twin_draw(twin, GSRT__DRAW_DELAY, from, to, count);
        if (u < faults->delay)
            delay_ns = (uint64_t)((double)faults->delay_ns * (u / faults->delay));
    }
    if (faults->duplication > 0 && gsrt__twin_draw(twin, GSRT__DRAW_DUPLICATE, from, to, count) < faults->duplication)
        (*out_copies)++;
    for (uint64_t i = 0; faults->loss > 0 && i < LOSSES_IN_A_ROW_MAX; i++) {
        if (gsrt__twin_draw(twin, GSRT__DRAW_LOSS, from, to, count * LOSSES_IN_A_ROW_MAX + i) >= faults->loss)
            break;
        (*out_copies)++;
        delay_ns = gsrt__later(delay_ns, retransmit_ns);
        retransmit_ns = gsrt__later(retransmit_ns, retransmit_ns);
    }
    return delay_ns;
}

/* When a message posted now arrives; the link is taken until it has left. */
static uint64_t travel(gsrt_twin *twin, gsrt__pair *pair, uint32_t from, uint32_t to, uint64_t bytes,
                       uint64_t *out_left_ns)
{
    const gsrt_twin_link *link = gsrt__link_of(twin, pair);
    uint32_t copies;
    uint64_t delay_ns = fault_delay(twin, pair, from, to, &copies);
    if (delay_ns >= twin->options.recovery.link_timeout_ns)
        gsrt__twin_plan(twin, &(gsrt__event){.time_ns = twin->now_ns + twin->options.recovery.link_timeout_ns,
                                             .rank = from,
                                             .peer = to,
                                             .kind = GSRT__EVENT_BREAK,
                                             .number = gsrt__twin_connection(twin, from, to)});
    uint64_t start = pair->link_free_ns > twin->now_ns ? pair->link_free_ns : twin->now_ns;
    if (start < pair->blocked_until_ns)
        start = pair->blocked_until_ns;
    double transfer_ns = ceil((double)bytes / link->bytes_per_ns) * twin->nodes[from].slowness * copies;
    pair->link_free_ns = gsrt__later(start, (uint64_t)transfer_ns);
    double latency_ns = (double)link->latency_ns;
    if (twin->options.jitter > 0)
        latency_ns *= 1 + twin->options.jitter * gsrt__twin_draw(twin, GSRT__DRAW_JITTER, from, to, pair->post_count);
    pair->post_count++;
    uint64_t arrival = gsrt__later(gsrt__later(pair->link_free_ns, (uint64_t)latency_ns), delay_ns);
    if (arrival < pair->last_arrival_ns)
        arrival = pair->last_arrival_ns;
    if (arrival != UINT64_MAX)
        pair->last_arrival_ns = arrival;
    *out_left_ns = pair->link_free_ns;
    return arrival;
}

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

static gsrt__parcel *letter_make(const gsrt__twin_node *self, const gsrt__pair *pair, const gsrt_envelope *envelope)
{
    gsrt__parcel *letter = malloc(sizeof *letter + envelope->body.len);
    if (letter == NULL)
        return NULL;
    *letter = (gsrt__parcel){.kind = GSRT__PARCEL_MESSAGE,
                             .is_by_link = true,
                             .from_rank = self->rank,
                             .from_incarnation = self->incarnation,
                             .to_incarnation = pair->to_incarnation,
                             .envelope = *envelope};
    if (envelope->body.len > 0)
        memcpy(letter->body, envelope->body.data, envelope->body.len);
    letter->envelope.body.data = letter->body;
    letter->envelope.payload = gsrt_payload_ref(envelope->payload);
    return letter;
}

static gsrt_status twin_post(gsrt_transport *transport, uint32_t peer, const gsrt_envelope *envelope)
{
    gsrt__twin_node *self = (gsrt__twin_node *)(void *)transport;
    gsrt_twin *twin = self->twin;
    if (peer >= twin->options.rank_count)
        return GSRT_ELINK;
    gsrt__pair *pair = gsrt__pair_of(twin, self->rank, peer);
    if (self->is_dying)
        return GSRT_OK; /* and nothing leaves */
    if (pair->state != GSRT__PAIR_OPEN)
        return GSRT_ELINK;
    if (pair->in_flight >= GSRT_TWIN_WINDOW) {
        pair->is_refused = true;
        return GSRT_EFULL;
    }
    uint32_t bytes;
    gsrt_status status = measure(envelope, &bytes);
    if (status != GSRT_OK)
        return status;
    gsrt__parcel *letter = letter_make(self, pair, envelope);
    if (letter == NULL)
        return GSRT_ENOMEM;
    letter->bytes = bytes;
    uint64_t all_bytes = bytes + (envelope->payload == NULL ? 0 : (uint64_t)envelope->payload->len);
    uint64_t arrival_ns = travel(twin, pair, self->rank, peer, all_bytes, &letter->left_ns);
    if (arrival_ns == UINT64_MAX) {
        gsrt__parcel_free(letter); /* cut off for good: it counts as on its way for ever */
    } else {
        status = gsrt__events_add(
            &twin->events,
            &(gsrt__event){
                .time_ns = arrival_ns, .rank = peer, .peer = self->rank, .load = letter, .kind = GSRT__EVENT_ARRIVAL});
        if (status != GSRT_OK) {
            gsrt__parcel_free(letter);
            return status;
        }
    }
    pair->in_flight++;
    self->facts.messages_sent++;
    self->facts.bytes_sent += all_bytes;
    return GSRT_OK;
}

gsrt__parcel *gsrt__twin_signal(gsrt_twin *twin, gsrt__parcel_kind kind, uint32_t from, uint32_t to, bool is_by_link,
                                uint64_t time_ns)
{
    gsrt__pair *pair = gsrt__pair_of(twin, from, to);
    if (is_by_link && time_ns < pair->last_arrival_ns)
        time_ns = pair->last_arrival_ns;
    if (time_ns == UINT64_MAX)
        return NULL; /* never */
    gsrt__parcel *parcel = malloc(sizeof *parcel);
    if (parcel == NULL) {
        twin->is_out_of_memory = true;
        return NULL;
    }
    *parcel = (gsrt__parcel){.kind = kind,
                             .is_by_link = is_by_link,
                             .from_rank = from,
                             .from_incarnation = twin->nodes[from].incarnation,
                             .to_incarnation = twin->nodes[to].incarnation,
                             .left_ns = twin->now_ns};
    gsrt__event event = {.time_ns = time_ns, .rank = to, .peer = from, .load = parcel, .kind = GSRT__EVENT_ARRIVAL};
    if (gsrt__events_add(&twin->events, &event) != GSRT_OK) {
        twin->is_out_of_memory = true;
        free(parcel);
        return NULL;
    }
    if (is_by_link)
        pair->last_arrival_ns = time_ns;
    return parcel;
}

/* ---- arriving ---- */

/* A partition holds it back: it comes when that ends, before all that was posted meanwhile. false: it does not. */
static bool wait_for_link(gsrt_twin *twin, uint32_t rank, gsrt__parcel *parcel)
{
    gsrt__pair *pair = gsrt__pair_of(twin, parcel->from_rank, rank);
    if (!parcel->is_by_link || pair->blocked_until_ns <= twin->now_ns)
        return false;
    uint64_t time_ns = pair->blocked_until_ns;
    if (parcel->kind == GSRT__PARCEL_WORD || time_ns == UINT64_MAX) {
        gsrt__parcel_free(parcel); /* said once, or cut off for good */
        return true;
    }
    if (pair->last_arrival_ns < time_ns)
        pair->last_arrival_ns = time_ns;
    gsrt__event event = {
        .time_ns = time_ns, .rank = rank, .peer = parcel->from_rank, .load = parcel, .kind = GSRT__EVENT_ARRIVAL};
    if (gsrt__events_add(&twin->events, &event) != GSRT_OK) {
        twin->is_out_of_memory = true;
        gsrt__parcel_free(parcel);
    }
    return true;
}

/* The message is out of the window; a sender that was refused hears of it a latency later, when half is free. */
static void taken(gsrt__twin_node *self, const gsrt__parcel *letter)
{
    gsrt_twin *twin = self->twin;
    gsrt__pair *pair = gsrt__pair_of(twin, letter->from_rank, self->rank);
    if (letter->kind != GSRT__PARCEL_MESSAGE || pair->to_incarnation != letter->to_incarnation ||
        twin->nodes[letter->from_rank].incarnation != letter->from_incarnation)
        return; /* of another connection: not in this window */
    assert(pair->in_flight > 0);
    pair->in_flight--;
    if (!pair->is_refused || pair->in_flight > GSRT_TWIN_WINDOW / 2)
        return;
    pair->is_refused = false;
    uint64_t time_ns = twin->now_ns + gsrt__link_of(twin, pair)->latency_ns;
    (void)gsrt__twin_signal(twin, GSRT__PARCEL_WRITABLE, self->rank, letter->from_rank, false, time_ns);
}

static bool is_for_the_living(gsrt__twin_node *self, const gsrt__parcel *parcel)
{
    gsrt_twin *twin = self->twin;
    if (self->node == NULL) {
        const gsrt__twin_node *sender = &twin->nodes[parcel->from_rank];
        if (parcel->kind != GSRT__PARCEL_GREETING || sender->incarnation != parcel->from_incarnation)
            return false;
        const gsrt__pair *back = gsrt__pair_of(twin, self->rank, parcel->from_rank);
        gsrt__parcel *down = gsrt__twin_signal(twin, GSRT__PARCEL_DOWN, self->rank, parcel->from_rank, true,
                                               twin->now_ns + gsrt__link_of(twin, back)->latency_ns);
        if (down != NULL)
            down->why = GSRT_EPEER; /* nobody listens there */
        return false;
    }
    return parcel->to_incarnation == GSRT__INCARNATION_ANY || parcel->to_incarnation == self->incarnation;
}

void gsrt__twin_arrive(gsrt_twin *twin, uint32_t rank, gsrt__parcel *parcel)
{
    gsrt__twin_node *self = &twin->nodes[rank];
    if (!parcel->is_void && wait_for_link(twin, rank, parcel))
        return;
    if (parcel->is_void || !is_for_the_living(self, parcel) || gsrt_node_is_finished(self->node) ||
        (parcel->kind == GSRT__PARCEL_MESSAGE && gsrt__pair_of(twin, parcel->from_rank, rank)->is_broken)) {
        if (self->node != NULL)
            taken(self, parcel);
        gsrt__parcel_free(parcel);
        return;
    }
    parcel->next = NULL;
    if (self->basket_last == NULL)
        self->basket_first = parcel;
    else
        self->basket_last->next = parcel;
    self->basket_last = parcel;
    gsrt__twin_plan_run(self, twin->now_ns);
}

/* ---- taking ---- */

static void take_message(gsrt__twin_node *self, const gsrt__parcel *letter)
{
    const gsrt__pair *back = gsrt__pair_of(self->twin, self->rank, letter->from_rank);
    taken(self, letter);
    if (back->state != GSRT__PAIR_OPEN || back->to_incarnation != letter->from_incarnation) {
        self->facts.refused++;
        return;
    }
    const gsrt_payload *payload = letter->envelope.payload;
    self->facts.messages_received++;
    self->facts.bytes_received += letter->bytes + (payload == NULL ? 0 : payload->len);
    self->transport.events.on_receive(self->transport.events.arg, letter->from_rank, &letter->envelope);
}

static void take_down(gsrt__twin_node *self, const gsrt__parcel *down)
{
    gsrt__pair *pair = gsrt__pair_of(self->twin, self->rank, down->from_rank);
    if (pair->state == GSRT__PAIR_CLOSED || down->from_incarnation < pair->to_incarnation ||
        (pair->state == GSRT__PAIR_OPEN && down->from_incarnation != pair->to_incarnation))
        return; /* known, or not whom this rank is connected with */
    pair->to_incarnation = (uint8_t)down->from_incarnation;
    pair->state = GSRT__PAIR_CLOSED;
    if (self->transport.events.on_down != NULL)
        self->transport.events.on_down(self->transport.events.arg, down->from_rank, down->why);
}

static void take_greeting(gsrt__twin_node *self, const gsrt__parcel *greeting)
{
    gsrt_twin *twin = self->twin;
    uint32_t peer = greeting->from_rank;
    gsrt__pair *pair = gsrt__pair_of(twin, self->rank, peer);
    if (greeting->from_incarnation < pair->to_incarnation ||
        (greeting->from_incarnation == pair->to_incarnation && pair->state != GSRT__PAIR_FRESH))
        return; /* stale, or connected already */
    bool was_refused = pair->is_refused;
    pair->to_incarnation = (uint8_t)greeting->from_incarnation;
    pair->state = GSRT__PAIR_OPEN;
    pair->in_flight = 0;
    pair->is_refused = false;
    pair->is_broken = false;
    gsrt_transport_events *events = &self->transport.events;
    if (events->on_join != NULL)
        events->on_join(events->arg, peer, greeting->from_incarnation);
    if (was_refused && events->on_writable != NULL)
        events->on_writable(events->arg, peer);
    gsrt__parcel *answer = gsrt__twin_signal(twin, GSRT__PARCEL_GREETING, self->rank, peer, true,
                                             twin->now_ns + gsrt__link_of(twin, pair)->latency_ns);
    if (answer != NULL)
        answer->to_incarnation = greeting->from_incarnation;
}

static void take(gsrt__twin_node *self, gsrt__parcel *parcel)
{
    const gsrt_transport_events *events = &self->transport.events;
    const gsrt_keepers_events *keepers = &self->keeper.base.events;
    switch (parcel->kind) {
    case GSRT__PARCEL_MESSAGE: take_message(self, parcel); return;
    case GSRT__PARCEL_DOWN: take_down(self, parcel); return;
    case GSRT__PARCEL_GREETING: take_greeting(self, parcel); return;
    case GSRT__PARCEL_WRITABLE:
        if (gsrt__pair_of(self->twin, self->rank, parcel->from_rank)->state == GSRT__PAIR_OPEN)
            events->on_writable(events->arg, parcel->from_rank);
        return;
    case GSRT__PARCEL_WORD:
        if (keepers->on_word != NULL)
            keepers->on_word(keepers->arg, &parcel->word->word);
        return;
    case GSRT__PARCEL_DEPOSITED:
        if (keepers->on_deposited != NULL)
            keepers->on_deposited(keepers->arg, parcel->number);
        return;
    case GSRT__PARCEL_UNREACHABLE:
        if (keepers->on_unreachable != NULL)
            keepers->on_unreachable(keepers->arg, parcel->from_rank, parcel->number);
        return;
    }
}

static uint32_t twin_progress(gsrt_transport *transport)
{
    gsrt__twin_node *self = (gsrt__twin_node *)(void *)transport;
    uint32_t count = 0;
    while (self->basket_first != NULL && !self->is_dying) {
        gsrt__parcel *parcel = self->basket_first;
        self->basket_first = parcel->next;
        if (self->basket_first == NULL)
            self->basket_last = NULL;
        take(self, parcel);
        gsrt__parcel_free(parcel);
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
    gsrt__twin_node *self = (gsrt__twin_node *)(void *)transport;
    gsrt_twin *twin = self->twin;
    if (peer >= twin->options.rank_count || peer == self->rank)
        return;
    gsrt__pair *pair = gsrt__pair_of(twin, self->rank, peer);
    bool was_open = pair->state == GSRT__PAIR_OPEN;
    pair->state = GSRT__PAIR_CLOSED;
    if (!was_open || self->is_dying)
        return;
    pair->is_broken = true;
    gsrt__parcel *down = gsrt__twin_signal(twin, GSRT__PARCEL_DOWN, self->rank, peer, true,
                                           twin->now_ns + gsrt__link_of(twin, pair)->latency_ns);
    if (down == NULL)
        return;
    down->why = GSRT_EPEER;
    down->to_incarnation = pair->to_incarnation;
}

static bool twin_is_flushed(const gsrt_transport *transport)
{
    (void)transport;
    return true; /* what was posted is on its way */
}

static void twin_read_facts(const gsrt_transport *transport, gsrt_transport_facts *out)
{
    *out = ((const gsrt__twin_node *)(const void *)transport)->facts;
}

static void twin_free_transport(gsrt_transport *transport)
{
    gsrt__twin_node *self = (gsrt__twin_node *)(void *)transport;
    while (self->basket_first != NULL) {
        gsrt__parcel *parcel = self->basket_first;
        self->basket_first = parcel->next;
        gsrt__parcel_free(parcel);
    }
    self->basket_last = NULL;
}

const gsrt_transport_ops gsrt__twin_transport_ops = {.post = twin_post,
                                                     .progress = twin_progress,
                                                     .arm = twin_arm,
                                                     .cut = twin_cut,
                                                     .is_flushed = twin_is_flushed,
                                                     .read_facts = twin_read_facts,
                                                     .free = twin_free_transport};

/* ---- links that fail ---- */

uint32_t gsrt__twin_connection(const gsrt_twin *twin, uint32_t a, uint32_t b)
{
    return twin->nodes[a].incarnation << 16 | twin->nodes[b].incarnation;
}

void gsrt__twin_break(gsrt_twin *twin, uint32_t a, uint32_t b, uint32_t connection)
{
    const uint32_t ends[2] = {a, b};
    if (connection != gsrt__twin_connection(twin, a, b))
        return; /* that link is gone with one of its ends */
    for (int i = 0; i < 2; i++) {
        uint32_t self = ends[i], peer = ends[1 - i];
        gsrt__pair *pair = gsrt__pair_of(twin, self, peer);
        if (twin->nodes[self].node == NULL || pair->state != GSRT__PAIR_OPEN)
            continue;
        pair->is_broken = true;
        gsrt__parcel *down = gsrt__twin_signal(twin, GSRT__PARCEL_DOWN, peer, self, false, twin->now_ns);
        if (down == NULL)
            return;
        down->why = GSRT_ELINK;
        down->from_incarnation = pair->to_incarnation;
    }
}

gsrt_status gsrt_twin_set_link_faults(gsrt_twin *twin, uint32_t from, uint32_t to, const gsrt_twin_link_faults *faults)
{
    size_t count = twin->options.rank_count;
    if (from >= count || to >= count || !(faults->loss >= 0 && faults->loss <= 1) ||
        !(faults->duplication >= 0 && faults->duplication <= 1) || !(faults->delay >= 0 && faults->delay <= 1))
        return GSRT_EINVAL;
    if (twin->link_faults == NULL)
        twin->link_faults = calloc(count * count, sizeof *twin->link_faults);
    if (twin->link_faults == NULL)
        return GSRT_ENOMEM;
    twin->link_faults[from * count + to] = *faults;
    return GSRT_OK;
}

static void block(gsrt_twin *twin, uint32_t from, uint32_t to, uint64_t until_ns)
{
    gsrt__pair *pair = gsrt__pair_of(twin, from, to);
    if (pair->blocked_until_ns <= twin->now_ns)
        pair->blocked_from_ns = twin->now_ns;
    if (pair->blocked_until_ns < until_ns)
        pair->blocked_until_ns = until_ns;
    uint64_t timeout_ns = twin->options.recovery.link_timeout_ns;
    if (from < to && pair->blocked_until_ns - pair->blocked_from_ns >= timeout_ns)
        gsrt__twin_plan(twin, &(gsrt__event){.time_ns = gsrt__later(pair->blocked_from_ns, timeout_ns),
                                             .rank = from,
                                             .peer = to,
                                             .kind = GSRT__EVENT_BREAK,
                                             .number = gsrt__twin_connection(twin, from, to)});
}

void gsrt_twin_partition(gsrt_twin *twin, const uint8_t *sides, uint64_t duration_ns)
{
    uint64_t until_ns = gsrt__later(twin->now_ns, duration_ns);
    for (uint32_t from = 0; from < twin->options.rank_count; from++)
        for (uint32_t to = 0; to < twin->options.rank_count; to++)
            if (sides[from] != sides[to])
                block(twin, from, to, until_ns);
}
