/* Sentinels: of ranks in one process, a thread each while they connect. Who goes is told to the others, later
 * incarnations join, words are heard; strangers, the stale and the slow are turned away, and nobody waits for them. */
#include "mailbox/sentinel.h"
#include "mailbox/ticket.h"

#include "mailbox/visit.h"
#include "tests/unit.h"

#include <arpa/inet.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { COUNT = 3 };

typedef struct side {
    uint32_t rank, incarnation;
    gsrt_sentinel *sentinel;
    gsrt_buffer card;
    gsrt_secret secret;
    uint32_t timeout_ms;
    gsrt_status status;
    gsrt_diag diag;
} side;

static void *connect_side(void *arg)
{
    side *s = arg;
    s->status = gsrt_sentinel_connect(s->sentinel, s->timeout_ms, &s->diag);
    return NULL;
}

/* listener: of the incarnation before; -1: none */
static void open_side(side *s, uint32_t rank, uint32_t count, uint32_t incarnation, uint8_t secret, int listener)
{
    *s = (side){.rank = rank, .incarnation = incarnation, .secret = {{secret}}};
    ck_assert_int_eq(gsrt_sentinel_create(rank, count, listener, &s->sentinel, &s->diag), GSRT_OK);
    gsrt_buffer_init(&s->card, GSRT_CARD_BYTES_MAX);
    gsrt_card card = {
        .incarnation = incarnation, .address = gsrt_span_of("ucx", 3), .place = *gsrt_sentinel_place(s->sentinel)};
    ck_assert_int_eq(gsrt_card_encode(&card, &s->card), GSRT_OK);
    gsrt_sentinel_introduce(s->sentinel, incarnation, gsrt_buffer_span(&s->card), &s->secret);
}

static void close_side(side *s)
{
    s->sentinel = gsrt_sentinel_free(s->sentinel);
    gsrt_buffer_fini(&s->card);
}

static void expect_all(side *s, const side *sides, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (i != s->rank && sides[i].sentinel != NULL)
            gsrt_sentinel_expect(s->sentinel, i, sides[i].incarnation, gsrt_sentinel_place(sides[i].sentinel));
}

/* All of them connect at once; rank `stranger` (or none) has another secret. */
static void connect_all(side sides[COUNT], uint32_t stranger, uint32_t timeout_ms)
{
    pthread_t threads[COUNT];
    for (uint32_t i = 0; i < COUNT; i++)
        open_side(&sides[i], i, COUNT, 0, i == stranger ? 9 : 7, -1);
    for (uint32_t i = 0; i < COUNT; i++) {
        sides[i].timeout_ms = timeout_ms;
        expect_all(&sides[i], sides, COUNT);
    }
    for (uint32_t i = 0; i < COUNT; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, connect_side, &sides[i]), 0);
    for (uint32_t i = 0; i < COUNT; i++)
        pthread_join(threads[i], NULL);
}

/* The next event of `s`, while the others go on too; theirs are counted only. */
static gsrt_sentinel_event await_event(side *s, side *sides, uint32_t count)
{
    gsrt_sentinel_event event, other;
    while (!gsrt_sentinel_poll(s->sentinel, &event)) {
        struct pollfd fds[COUNT] = {{.fd = gsrt_sentinel_fd(s->sentinel), .events = POLLIN}};
        uint32_t n = 1;
        for (uint32_t i = 0; i < count; i++)
            if (&sides[i] != s && sides[i].sentinel != NULL)
                fds[n++] = (struct pollfd){.fd = gsrt_sentinel_fd(sides[i].sentinel), .events = POLLIN};
        ck_assert_int_gt(poll(fds, n, 10000), 0);
        for (uint32_t i = 0; i < count; i++)
            if (&sides[i] != s && sides[i].sentinel != NULL)
                (void)gsrt_sentinel_poll(sides[i].sentinel, &other);
    }
    return event;
}

/* Wait until somebody goes. */
static uint32_t await_loss(side *s, bool *out_is_leaving)
{
    gsrt_sentinel_event event = await_event(s, s, 0);
    ck_assert_int_eq(event.kind, GSRT_SENTINEL_GONE);
    *out_is_leaving = event.is_leaving;
    return event.peer;
}

/* `peer` goes; that it had come may be told before. */
static void expect_gone(side *s, side *sides, uint32_t peer)
{
    gsrt_sentinel_event event;
    do
        event = await_event(s, sides, 0);
    while (event.kind == GSRT_SENTINEL_MET || event.kind == GSRT_SENTINEL_JOINED);
    ck_assert_int_eq(event.kind, GSRT_SENTINEL_GONE);
    ck_assert_uint_eq(event.peer, peer);
}

static int call(const side *to)
{
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons(gsrt_sentinel_place(to->sentinel)->port),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    ck_assert_int_eq(connect(fd, (const struct sockaddr *)&address, sizeof address), 0);
    return fd;
}

/* Say `note` to `to` with a secret; DONE or FAILED. `to` is moved on. */
static gsrt_visit_state visit(side *to, const gsrt_secret *secret, const gsrt_note *note, bool is_timeless,
                              gsrt_note *out_answer, gsrt_sentinel_event *out_event)
{
    gsrt_buffer bytes;
    gsrt_visit v;
    const gsrt_place *place = gsrt_sentinel_place(to->sentinel);
    gsrt_route route = gsrt_place_route(place, place, place->port);
    route.count = 1;
    gsrt_buffer_init(&bytes, GSRT_NOTE_BYTES_MAX);
    ck_assert_int_eq(gsrt_note_encode(note, &bytes), GSRT_OK);
    ck_assert_int_eq(
        gsrt_visit_call(&v, &route, secret, gsrt_buffer_span(&bytes), is_timeless, gsrt_visit_now_ms() + 10000),
        GSRT_OK);
    gsrt_visit_state state;
    gsrt_sentinel_event event;
    while ((state = gsrt_visit_move(&v)) != GSRT_VISIT_DONE && state != GSRT_VISIT_FAILED) {
        struct pollfd fds[] = {{.fd = v.fd, .events = gsrt_visit_events(&v)},
                               {.fd = gsrt_sentinel_fd(to->sentinel), .events = POLLIN}};
        ck_assert_int_gt(poll(fds, 2, 10000), 0);
        if (gsrt_sentinel_poll(to->sentinel, &event) && out_event != NULL)
            *out_event = event;
    }
    if (state == GSRT_VISIT_DONE)
        ck_assert_int_eq(gsrt_note_decode(gsrt_visit_note(&v), COUNT, out_answer), GSRT_OK);
    gsrt_visit_fini(&v);
    gsrt_buffer_fini(&bytes);
    return state;
}

START_TEST(losses_are_told_once)
{
    side sides[COUNT];
    bool is_leaving;
    gsrt_sentinel_event event;
    connect_all(sides, COUNT, 10000);
    for (uint32_t i = 0; i < COUNT; i++) {
        ck_assert_msg(sides[i].status == GSRT_OK, "%s", sides[i].diag.text);
        ck_assert_uint_eq(gsrt_sentinel_peer_count(sides[i].sentinel), COUNT - 1);
        ck_assert(!gsrt_sentinel_poll(sides[i].sentinel, &event));
    }
    close_side(&sides[1]); /* dies */
    ck_assert_uint_eq(await_loss(&sides[0], &is_leaving), 1);
    ck_assert(!is_leaving);
    ck_assert(!gsrt_sentinel_poll(sides[0].sentinel, &event));
    ck_assert_uint_eq(await_loss(&sides[2], &is_leaving), 1);
    gsrt_sentinel_leave(sides[2].sentinel); /* leaves */
    ck_assert_uint_eq(await_loss(&sides[0], &is_leaving), 2);
    ck_assert(is_leaving);
    ck_assert_uint_eq(gsrt_sentinel_peer_count(sides[0].sentinel), 0);
    close_side(&sides[0]);
    close_side(&sides[2]);
}
END_TEST

START_TEST(dropping_tells_the_other)
{
    side sides[COUNT];
    bool is_leaving;
    connect_all(sides, COUNT, 10000);
    gsrt_sentinel_drop(sides[0].sentinel, 2);
    gsrt_sentinel_drop(sides[0].sentinel, 2);
    gsrt_sentinel_drop(sides[0].sentinel, 99);
    ck_assert_uint_eq(gsrt_sentinel_peer_count(sides[0].sentinel), 1);
    ck_assert_uint_eq(await_loss(&sides[2], &is_leaving), 0);
    for (uint32_t i = 0; i < COUNT; i++)
        close_side(&sides[i]);
}
END_TEST

START_TEST(another_secret_is_refused)
{
    side sides[COUNT];
    connect_all(sides, 1, 500);
    ck_assert_int_ne(sides[0].status, GSRT_OK);
    ck_assert_int_eq(sides[1].status, GSRT_ELINK);
    ck_assert_ptr_nonnull(strstr(sides[1].diag.text, "rank 0"));
    for (uint32_t i = 0; i < COUNT; i++)
        close_side(&sides[i]);
}
END_TEST

/* Those who connect and talk nonsense, or nothing, do not keep the ranks from finding each other. */
START_TEST(noise_is_turned_away)
{
    side sides[2];
    pthread_t threads[2];
    for (uint32_t i = 0; i < 2; i++)
        open_side(&sides[i], i, 2, 0, 5, -1);
    int noise = call(&sides[0]), silence = call(&sides[0]);
    uint8_t nonsense[200] = {0x16, 3, 1};
    ck_assert_int_eq(send(noise, nonsense, sizeof nonsense, 0), sizeof nonsense);
    for (uint32_t i = 0; i < 2; i++) {
        sides[i].timeout_ms = 10000;
        expect_all(&sides[i], sides, 2);
        ck_assert_int_eq(pthread_create(&threads[i], NULL, connect_side, &sides[i]), 0);
    }
    for (uint32_t i = 0; i < 2; i++) {
        pthread_join(threads[i], NULL);
        ck_assert_msg(sides[i].status == GSRT_OK, "%s", sides[i].diag.text);
    }
    close(noise);
    close(silence);
    for (uint32_t i = 0; i < 2; i++)
        close_side(&sides[i]);
}
END_TEST

/* Rank 1 dies and comes back on the same listener, three times. */
START_TEST(later_incarnations_join)
{
    side sides[COUNT];
    connect_all(sides, COUNT, 10000);
    int listener;
    uint16_t port;
    close_side(&sides[1]);
    expect_gone(&sides[0], sides, 1);
    expect_gone(&sides[2], sides, 1);
    ck_assert_int_eq(gsrt_place_listen(&listener, &port), GSRT_OK);
    for (uint32_t incarnation = 1; incarnation <= 3; incarnation++) {
        open_side(&sides[1], 1, COUNT, incarnation, 7, dup(listener));
        expect_all(&sides[1], sides, COUNT);
        ck_assert_int_eq(gsrt_sentinel_join(sides[1].sentinel, 10000), GSRT_OK);
        bool has_met[COUNT] = {false}, has_joined[COUNT] = {false};
        while (!has_joined[0] || !has_joined[2]) {
            gsrt_sentinel_event event = await_event(&sides[1], sides, COUNT);
            ck_assert_uint_lt(event.peer, COUNT);
            if (event.kind == GSRT_SENTINEL_MET) {
                gsrt_card card;
                ck_assert_int_eq(gsrt_card_decode(event.card, &card), GSRT_OK);
                ck_assert_uint_eq(card.incarnation, 0);
                has_met[event.peer] = true;
            } else {
                ck_assert_int_eq(event.kind, GSRT_SENTINEL_JOINED);
                ck_assert(has_met[event.peer]);
                has_joined[event.peer] = true;
            }
        }
        for (uint32_t i = 0; i < COUNT; i += 2) {
            ck_assert_uint_eq(gsrt_sentinel_peer_count(sides[i].sentinel), 2);
        }
        close_side(&sides[1]);
        expect_gone(&sides[0], sides, 1);
        expect_gone(&sides[2], sides, 1);
    }
    close(listener);
    close_side(&sides[0]);
    close_side(&sides[2]);
}
END_TEST

START_TEST(the_stale_and_the_false_are_refused)
{
    side sides[COUNT];
    connect_all(sides, COUNT, 10000);
    gsrt_note answer = {0};
    gsrt_secret wrong = {{9}};
    gsrt_note hello = {.kind = GSRT_NOTE_HELLO, .from = 2, .to = 0, .card = gsrt_buffer_span(&sides[2].card)};
    /* the incarnation that is known already */
    ck_assert_int_eq(visit(&sides[0], &sides[2].secret, &hello, false, &answer, NULL), GSRT_VISIT_DONE);
    ck_assert_int_eq(answer.welcome, GSRT_WELCOME_STALE);
    ck_assert_uint_eq(gsrt_sentinel_refused_count(sides[0].sentinel), 1);
    /* another secret; a hello that could be said again; meant for another */
    ck_assert_int_eq(visit(&sides[0], &wrong, &hello, false, &answer, NULL), GSRT_VISIT_FAILED);
    ck_assert_int_eq(visit(&sides[0], &sides[2].secret, &hello, true, &answer, NULL), GSRT_VISIT_FAILED);
    hello.to = 1;
    ck_assert_int_eq(visit(&sides[0], &sides[2].secret, &hello, false, &answer, NULL), GSRT_VISIT_FAILED);
    ck_assert_uint_eq(gsrt_sentinel_refused_count(sides[0].sentinel), 4);
    ck_assert_uint_eq(gsrt_sentinel_peer_count(sides[0].sentinel), 2); /* and nobody was dropped for it */
    for (uint32_t i = 0; i < COUNT; i++)
        close_side(&sides[i]);
}
END_TEST

START_TEST(words_are_heard)
{
    side sides[COUNT];
    connect_all(sides, COUNT, 10000);
    gsrt_keeper_word word = {
        .rank = 2, .incarnation = 5, .is_last = true, .deposit = {.epoch = 8, .rank_count = COUNT}};
    gsrt_note note = {.kind = GSRT_NOTE_WORD, .from = 2, .to = 0, .word = &word}, answer = {0};
    gsrt_sentinel_event event = {0};
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(visit(&sides[0], &sides[0].secret, &note, i == 0, &answer, &event), GSRT_VISIT_DONE);
        ck_assert_int_eq(answer.kind, GSRT_NOTE_HEARD);
        ck_assert_int_eq(event.kind, GSRT_SENTINEL_WORD);
        ck_assert_uint_eq(event.word->incarnation, 5);
        ck_assert_uint_eq(event.word->deposit.epoch, 8);
        ck_assert(event.word->is_last && !event.word->was_ordered);
    }
    for (uint32_t i = 0; i < COUNT; i++)
        close_side(&sides[i]);
}
END_TEST

/* More idle strangers than there are seats: a word still comes through, as soon as the first of them has sat long. */
START_TEST(strangers_do_not_take_all_seats)
{
    side sides[COUNT];
    connect_all(sides, COUNT, 10000);
    int strangers[GSRT_GUEST_COUNT_MAX + 8];
    gsrt_keeper_word word = {.rank = 2, .deposit = {.rank_count = COUNT}};
    gsrt_note note = {.kind = GSRT_NOTE_WORD, .from = 2, .to = 0, .word = &word}, answer = {0};
    for (size_t i = 0; i < sizeof strangers / sizeof strangers[0]; i++) {
        strangers[i] = call(&sides[0]);
        ck_assert_int_eq(send(strangers[i], "x", 1, 0), 1);
    }
    ck_assert_int_eq(visit(&sides[0], &sides[0].secret, &note, true, &answer, NULL), GSRT_VISIT_DONE);
    ck_assert_uint_gt(gsrt_sentinel_refused_count(sides[0].sentinel), 0);
    for (size_t i = 0; i < sizeof strangers / sizeof strangers[0]; i++)
        close(strangers[i]);
    for (uint32_t i = 0; i < COUNT; i++)
        close_side(&sides[i]);
}
END_TEST

/* Two that join at the same time, with cards of the incarnations before, find each other; one that is not there is
 * reported. */
START_TEST(two_joiners_find_each_other)
{
    side sides[COUNT];
    for (uint32_t i = 0; i < COUNT; i++)
        open_side(&sides[i], i, COUNT, 1, 7, -1);
    for (uint32_t i = 1; i < COUNT; i++)
        for (uint32_t k = 0; k < COUNT; k++)
            if (k != i)
                gsrt_sentinel_expect(sides[i].sentinel, k, 0, gsrt_sentinel_place(sides[k].sentinel));
    close_side(&sides[0]);
    for (uint32_t i = 1; i < COUNT; i++)
        ck_assert_int_eq(gsrt_sentinel_join(sides[i].sentinel, 10000), GSRT_OK);
    uint32_t joined[COUNT] = {0}, unreachable[COUNT] = {0};
    while (joined[1] + joined[2] + unreachable[1] + unreachable[2] < 4)
        for (uint32_t i = 1; i < COUNT; i++) {
            gsrt_sentinel_event event;
            if (!gsrt_sentinel_poll(sides[i].sentinel, &event))
                continue;
            joined[i] += event.kind == GSRT_SENTINEL_JOINED && event.peer == 3 - i && event.incarnation == 1;
            unreachable[i] += event.kind == GSRT_SENTINEL_UNREACHABLE && event.peer == 0;
        }
    for (uint32_t i = 1; i < COUNT; i++) {
        ck_assert_uint_eq(joined[i], 1);
        ck_assert_uint_eq(unreachable[i], 1);
        ck_assert_uint_eq(gsrt_sentinel_peer_count(sides[i].sentinel), 1);
        close_side(&sides[i]);
    }
}
END_TEST

START_TEST(who_is_left_out_of_a_deposit)
{
    const gsrt_deposit deposit = {.epoch = 3, .rank_count = 3, .incarnations = {0, 2, GSRT_NOT_A_MEMBER}};
    ck_assert(gsrt_deposit_leaves_out(&deposit, 2, 0, 2));
    ck_assert(gsrt_deposit_leaves_out(&deposit, 1, 1, 2));  /* an incarnation before */
    ck_assert(!gsrt_deposit_leaves_out(&deposit, 0, 0, 2)); /* it is named: it has only not heard of it yet */
    ck_assert(!gsrt_deposit_leaves_out(&deposit, 2, 0, 3)); /* it knows as much */
    ck_assert(!gsrt_deposit_leaves_out(&deposit, 3, 0, 2)); /* no rank of the job */
    ck_assert(!gsrt_deposit_leaves_out(&(gsrt_deposit){0}, 0, 0, 0));
}
END_TEST

int main(void)
{
    const TTest *tests[] = {who_is_left_out_of_a_deposit,        losses_are_told_once, dropping_tells_the_other,
                            another_secret_is_refused,           noise_is_turned_away, later_incarnations_join,
                            the_stale_and_the_false_are_refused, words_are_heard,      strangers_do_not_take_all_seats,
                            two_joiners_find_each_other};
    return unit_run("sentinel", tests, sizeof tests / sizeof tests[0]);
}
