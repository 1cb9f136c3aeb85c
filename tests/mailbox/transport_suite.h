/* The contract of a transport, as one suite for all kinds of them. Two sides, rank 0 and rank 1, each run by its own
 * thread or process; both call suite_run with their ends of the same transports:
 *   control    the sides meet over it (it is not under test)
 *   data       order, at most once, payloads, back pressure, arming, flushing, refusals
 *   cut, down  one each for the two ways of losing a peer: rank 0 cuts; rank 1 frees (suite_run frees it)
 * A failed check prints and ends the process. Nothing sleeps; everything waits for an event, at most SUITE_WAIT_S.
 */
#ifndef GSRT_TESTS_MAILBOX_TRANSPORT_SUITE_H
#define GSRT_TESTS_MAILBOX_TRANSPORT_SUITE_H

#include "base/random.h"
#include "mailbox/codec.h"
#include "mailbox/transport.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { SUITE_WAIT_S = 200, SUITE_ROOM_BYTES = 8192 };

#define SUITE_CHECK(condition, ...)                                                                                    \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fprintf(stderr, "%s:%d: %s: ", __FILE__, __LINE__, #condition);                                            \
            fprintf(stderr, __VA_ARGS__);                                                                              \
            fprintf(stderr, "\n");                                                                                     \
            _exit(1);                                                                                                  \
        }                                                                                                              \
    } while (0)

typedef struct suite_end {
    gsrt_transport *transport;
    uint32_t peer;
    uint64_t received; /* PINGs, numbered 0, 1, ... by the sender */
    uint64_t writable, down;
    uint64_t sent;
    uint64_t met;     /* PONGs: the other side has arrived */
    uint64_t largest; /* payload seen */
    gsrt_buffer scratch;
} suite_end;

typedef struct suite_side {
    uint32_t rank;
    uint64_t meetings; /* so far */
    suite_end control, data, cut, down;
} suite_side;

static inline uint64_t suite_now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec;
}

/* Size and content of message `number` follow from its number, so the receiver can check both. */
static inline size_t suite_body_bytes(uint64_t number)
{
    return gsrt_random_u64(1, 0, number) % (number % 8 == 0 ? 6000 : 200);
}

static inline void suite_fill(uint8_t *data, size_t len, uint64_t number)
{
    uint64_t word = number * 0x9e3779b97f4a7c15u;
    for (size_t i = 0; i < len; i++)
        data[i] = (uint8_t)((word + i * 31) >> (i % 7));
}

static inline bool suite_is_filled(const uint8_t *data, size_t len, uint64_t number)
{
    uint64_t word = number * 0x9e3779b97f4a7c15u;
    for (size_t i = 0; i < len; i++)
        if (data[i] != (uint8_t)((word + i * 31) >> (i % 7)))
            return false;
    return true;
}

static inline void suite_on_receive(void *arg, uint32_t peer, const gsrt_envelope *envelope)
{
    suite_end *end = arg;
    const void *body;
    SUITE_CHECK(peer == end->peer, "peer %u", peer);
    SUITE_CHECK(end->down == 0, "a message after down");
    SUITE_CHECK(gsrt_body_decode(envelope->kind, envelope->body, &end->scratch, &body) == GSRT_OK, "body");
    if (envelope->kind == GSRT_KIND_PONG) {
        end->met++;
        return;
    }
    const gsrt_msg_ping *ping = body;
    SUITE_CHECK(envelope->kind == GSRT_KIND_PING, "kind %d", (int)envelope->kind);
    SUITE_CHECK(ping->number == end->received && envelope->sequence == ping->number + 1, "got %llu, expected %llu",
                (unsigned long long)ping->number, (unsigned long long)end->received);
    SUITE_CHECK(ping->data.len == suite_body_bytes(ping->number), "%zu bytes", ping->data.len);
    SUITE_CHECK(suite_is_filled(ping->data.data, ping->data.len, ping->number), "content of the body");
    if (envelope->payload != NULL) {
        SUITE_CHECK((uintptr_t)envelope->payload->data % 64 == 0, "alignment");
        SUITE_CHECK(suite_is_filled(envelope->payload->data, envelope->payload->len, ping->number + 1),
                    "content of a payload of %zu bytes", envelope->payload->len);
        if (envelope->payload->len > end->largest)
            end->largest = envelope->payload->len;
    }
    end->received++;
}

static inline void suite_on_writable(void *arg, uint32_t peer)
{
    suite_end *end = arg;
    SUITE_CHECK(peer == end->peer, "peer %u", peer);
    end->writable++;
}

static inline void suite_on_down(void *arg, uint32_t peer, gsrt_status why)
{
    suite_end *end = arg;
    SUITE_CHECK(peer == end->peer && why != GSRT_OK, "peer %u, %s", peer, gsrt_status_name(why));
    end->down++;
}

static inline void suite_listen(suite_end *end, gsrt_transport *transport, uint32_t rank)
{
    *end = (suite_end){.transport = transport, .peer = 1 - rank};
    gsrt_buffer_init(&end->scratch, GSRT_BODY_FLAT_BYTES_MAX);
    gsrt_transport_listen(transport, &(gsrt_transport_events){.arg = end,
                                                              .on_receive = suite_on_receive,
                                                              .on_writable = suite_on_writable,
                                                              .on_down = suite_on_down});
}

/* Post the next PING (is_ping) or a PONG, with a payload of payload_bytes (0: none). */
static inline gsrt_status suite_post(suite_end *end, bool is_ping, size_t payload_bytes)
{
    uint8_t data[SUITE_ROOM_BYTES], room[SUITE_ROOM_BYTES + 64];
    size_t len = 0;
    gsrt_msg_ping ping = {.number = end->sent};
    if (is_ping) {
        ping.data = gsrt_span_of(data, suite_body_bytes(end->sent));
        suite_fill(data, ping.data.len, end->sent);
    }
    gsrt_kind kind = is_ping ? GSRT_KIND_PING : GSRT_KIND_PONG;
    SUITE_CHECK(gsrt_body_encode(kind, &ping, room, sizeof room, &len) == GSRT_OK, "encode");
    gsrt_envelope envelope = {.kind = kind, .sequence = end->sent + 1, .body = gsrt_span_of(room, len)};
    if (payload_bytes > 0) {
        envelope.payload = gsrt_payload_create(payload_bytes);
        SUITE_CHECK(envelope.payload != NULL, "%zu bytes", payload_bytes);
        suite_fill(envelope.payload->data, payload_bytes, end->sent + 1);
    }
    gsrt_status status = end->transport->ops->post(end->transport, end->peer, &envelope);
    gsrt_payload_unref(envelope.payload);
    if (status == GSRT_OK && is_ping)
        end->sent++;
    return status;
}

/* Move the end on, blocking while there is nothing to do, until *counter reaches `value`. */
static inline void suite_await(suite_end *end, const uint64_t *counter, uint64_t value, const char *what)
{
    uint64_t deadline_s = suite_now_s() + SUITE_WAIT_S;
    while (*counter < value) {
        SUITE_CHECK(suite_now_s() < deadline_s, "waited too long for %s: %llu of %llu", what,
                    (unsigned long long)*counter, (unsigned long long)value);
        int fd;
        if (end->transport->ops->progress(end->transport) > 0 || *counter >= value ||
            end->transport->ops->arm(end->transport, &fd) != GSRT_OK)
            continue;
        struct pollfd wait = {.fd = fd, .events = POLLIN};
        (void)poll(&wait, 1, SUITE_WAIT_S * 1000);
    }
}

static inline void suite_send(suite_end *end, size_t payload_bytes)
{
    for (;;) {
        uint64_t writable = end->writable;
        gsrt_status status = suite_post(end, true, payload_bytes);
        if (status == GSRT_OK)
            return;
        SUITE_CHECK(status == GSRT_EFULL, "%s", gsrt_status_name(status));
        suite_await(end, &end->writable, writable + 1, "writable");
    }
}

/* Both sides have come here. `also` (or NULL) is kept moving meanwhile, for what the other side still waits for. */
static inline void suite_meet(suite_side *side, suite_end *also)
{
    suite_end *ends[] = {&side->control, also};
    uint64_t deadline_s = suite_now_s() + SUITE_WAIT_S;
    SUITE_CHECK(suite_post(&side->control, false, 0) == GSRT_OK, "control");
    side->meetings++;
    while (side->control.met < side->meetings) {
        SUITE_CHECK(suite_now_s() < deadline_s, "the other side does not come");
        struct pollfd waits[2];
        nfds_t count = 0;
        bool has_moved = false;
        for (int i = 0; i < 2 && ends[i] != NULL && !has_moved; i++) {
            gsrt_transport *transport = ends[i]->transport;
            waits[count] = (struct pollfd){.events = POLLIN};
            has_moved =
                transport->ops->progress(transport) > 0 || transport->ops->arm(transport, &waits[count].fd) != GSRT_OK;
            count++;
        }
        if (!has_moved)
            (void)poll(waits, count, SUITE_WAIT_S * 1000);
    }
}

static inline void suite_flush(suite_end *end)
{
    uint64_t deadline_s = suite_now_s() + SUITE_WAIT_S;
    while (!end->transport->ops->is_flushed(end->transport)) {
        SUITE_CHECK(suite_now_s() < deadline_s, "waited too long for the flush");
        (void)end->transport->ops->progress(end->transport);
    }
}

/* Each side sends `count` numbered messages, every 16th with a payload, and gets all of the other's, in order, once. */
static inline void suite_order(suite_side *side, uint32_t count)
{
    suite_end *end = &side->data;
    uint64_t received = end->received;
    for (uint32_t i = 0; i < count; i++) {
        suite_send(end, i % 16 == 3 ? gsrt_random_u64(2, 0, i) % 300000 : 0);
        if (i % 64 == 0)
            (void)end->transport->ops->progress(end->transport);
    }
    suite_await(end, &end->received, received + count, "all messages");
    suite_flush(end);
    suite_meet(side, end);
    SUITE_CHECK(end->received == received + count, "more than were sent");
}

/* One way only, so that nothing but the transport's own traffic goes back. */
static inline void suite_one_way(suite_side *side, uint32_t sender, uint32_t count)
{
    suite_end *end = &side->data;
    uint64_t received = end->received;
    for (uint32_t i = 0; i < count && side->rank == sender; i++)
        suite_send(end, 0);
    if (side->rank != sender)
        suite_await(end, &end->received, received + count, "all messages");
    suite_flush(end);
    suite_meet(side, end);
}

static inline void suite_big(suite_side *side)
{
    static const size_t sizes[] = {1, 63, 4095, 65536, 1 << 20, 32 << 20};
    suite_end *end = &side->data;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        uint64_t received = end->received;
        end->largest = 0;
        suite_send(end, sizes[i]);
        suite_send(end, 0); /* must not overtake it */
        suite_await(end, &end->received, received + 2, "a big payload");
        SUITE_CHECK(end->largest == sizes[i], "%llu bytes", (unsigned long long)end->largest);
        suite_meet(side, end);
    }
}

/* Rank 1 does not move: rank 0 runs full after a bounded number of messages, and goes on when rank 1 does. */
static inline void suite_back_pressure(suite_side *side, size_t payload_bytes)
{
    suite_end *end = &side->data;
    uint64_t received = end->received, sent = end->sent;
    if (side->rank == 0) {
        for (;;) {
            gsrt_status status = suite_post(end, true, payload_bytes);
            if (status == GSRT_EFULL)
                break;
            SUITE_CHECK(status == GSRT_OK, "%s", gsrt_status_name(status));
            SUITE_CHECK(end->sent - sent < 200000, "never full");
            (void)end->transport->ops->progress(end->transport);
        }
        SUITE_CHECK(end->sent - sent > 0, "full at once");
    }
    suite_meet(side, NULL);
    uint64_t writable = end->writable;
    if (side->rank == 0) {
        suite_await(end, &end->writable, writable + 1, "writable");
        SUITE_CHECK(suite_post(end, true, 0) == GSRT_OK, "writable, but not");
        end->largest = 0;
        SUITE_CHECK(suite_post(end, false, 0) == GSRT_OK, "no room for the end mark");
        suite_flush(end);
    } else {
        suite_await(end, &end->met, 1, "the end mark");
        end->met = 0;
        SUITE_CHECK(end->received - received >= 2, "%llu received", (unsigned long long)(end->received - received));
    }
    suite_meet(side, end);
}

/* A kind that never comes from another rank is dropped and counted, and what follows still arrives. */
static inline void suite_refusal(suite_side *side)
{
    suite_end *end = &side->data;
    gsrt_transport_facts before, after;
    uint64_t received = end->received;
    end->transport->ops->read_facts(end->transport, &before);
    suite_meet(side, end);
    uint8_t body[] = {0x91, 5};
    gsrt_envelope job = {.kind = GSRT_KIND_JOB, .body = gsrt_span_of(body, sizeof body)};
    SUITE_CHECK(end->transport->ops->post(end->transport, end->peer, &job) == GSRT_OK, "post");
    suite_send(end, 0);
    suite_await(end, &end->received, received + 1, "the message after it");
    end->transport->ops->read_facts(end->transport, &after);
    SUITE_CHECK(after.refused == before.refused + 1, "%llu refused", (unsigned long long)after.refused);
    SUITE_CHECK(after.messages_received == before.messages_received + 1, "%llu",
                (unsigned long long)after.messages_received);
    job.kind = (gsrt_kind)200;
    SUITE_CHECK(end->transport->ops->post(end->transport, end->peer, &job) == GSRT_EKIND, "unknown kind");
    SUITE_CHECK(end->transport->ops->post(end->transport, 2, &job) == GSRT_ELINK, "unknown peer");
    suite_meet(side, end);
}

/* Rank 0 cuts: it sends and hears no more; rank 1 is told, once. */
static inline void suite_cut(suite_side *side)
{
    suite_end *end = &side->cut;
    suite_send(end, 0);
    suite_await(end, &end->received, 1, "a message before the cut");
    suite_meet(side, end);
    if (side->rank == 0) {
        end->transport->ops->cut(end->transport, end->peer);
        SUITE_CHECK(suite_post(end, true, 0) == GSRT_ELINK, "post after the cut");
        SUITE_CHECK(end->transport->ops->is_flushed(end->transport), "a cut peer is waited for");
        suite_meet(side, end);
        (void)end->transport->ops->progress(end->transport);
        SUITE_CHECK(end->down == 0, "told what it decided itself");
    } else {
        suite_await(end, &end->down, 1, "down");
        SUITE_CHECK(suite_post(end, true, 0) == GSRT_ELINK, "post to a peer that is down");
        suite_meet(side, end);
    }
    (void)end->transport->ops->progress(end->transport);
    SUITE_CHECK(end->received == 1 && end->down <= 1, "%llu received, %llu down", (unsigned long long)end->received,
                (unsigned long long)end->down);
    end->transport->ops->cut(end->transport, end->peer); /* twice is harmless */
    suite_meet(side, end);
}

/* Rank 1 is gone: rank 0 gets what it had sent before, and is then told. */
static inline void suite_down(suite_side *side)
{
    suite_end *end = &side->down;
    if (side->rank == 1) {
        for (int i = 0; i < 20; i++)
            suite_send(end, i == 7 ? 500000 : 0);
        suite_flush(end);
        suite_meet(side, end);
        end->transport->ops->free(end->transport);
        end->transport = NULL;
    } else {
        suite_await(end, &end->received, 20, "what was sent before");
        suite_meet(side, end);
        suite_await(end, &end->down, 1, "down");
        SUITE_CHECK(suite_post(end, true, 0) == GSRT_ELINK, "post to a peer that is down");
        SUITE_CHECK(end->transport->ops->is_flushed(end->transport), "a lost peer is waited for");
    }
    suite_meet(side, NULL);
}

static inline void suite_run(suite_side *side, uint32_t message_count)
{
    suite_meet(side, NULL);
    suite_order(side, message_count);
    suite_one_way(side, 0, message_count);
    suite_one_way(side, 1, message_count);
    suite_big(side);
    suite_back_pressure(side, 0);
    suite_back_pressure(side, 100000);
    suite_order(side, message_count / 4);
    suite_refusal(side);
    suite_cut(side);
    suite_down(side);
    gsrt_transport_facts facts;
    side->data.transport->ops->read_facts(side->data.transport, &facts);
    SUITE_CHECK(facts.messages_sent >= side->data.sent && facts.messages_received >= side->data.received, "facts");
}

static inline void suite_fini(suite_side *side)
{
    suite_end *ends[] = {&side->data, &side->cut, &side->down, &side->control};
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        if (ends[i]->transport != NULL)
            ends[i]->transport->ops->free(ends[i]->transport);
        gsrt_buffer_fini(&ends[i]->scratch);
    }
}

#endif
