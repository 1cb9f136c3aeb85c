/* Sentinels: three of them, a thread each while they connect; who goes is told to the others, strangers are refused. */
#include "mailbox/sentinel.h"

#include "tests/unit.h"

#include <arpa/inet.h>
#include <poll.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

enum { COUNT = 3 };

typedef struct side {
    gsrt_sentinel *sentinel;
    const gsrt_sentinel_place *places;
    gsrt_secret secret;
    uint32_t timeout_ms;
    gsrt_status status;
    gsrt_diag diag;
} side;

static void *connect_side(void *arg)
{
    side *s = arg;
    s->status = gsrt_sentinel_connect(s->sentinel, s->places, &s->secret, s->timeout_ms, &s->diag);
    return NULL;
}

/* All of them connect at once; rank `stranger` (or none) has another secret. */
static void connect_all(side sides[COUNT], gsrt_sentinel_place places[COUNT], uint32_t stranger, uint32_t timeout_ms)
{
    pthread_t threads[COUNT];
    for (uint32_t i = 0; i < COUNT; i++) {
        sides[i] = (side){.places = places, .timeout_ms = timeout_ms, .secret = {{i == stranger ? 9 : 7}}};
        ck_assert_int_eq(gsrt_sentinel_create(i, COUNT, &sides[i].sentinel, &sides[i].diag), GSRT_OK);
        places[i] = *gsrt_sentinel_place_of(sides[i].sentinel);
    }
    for (uint32_t i = 0; i < COUNT; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, connect_side, &sides[i]), 0);
    for (uint32_t i = 0; i < COUNT; i++)
        pthread_join(threads[i], NULL);
}

/* Wait until somebody goes. */
static uint32_t await_loss(side *s, bool *out_is_leaving)
{
    uint32_t peer;
    while (!gsrt_sentinel_poll(s->sentinel, &peer, out_is_leaving)) {
        struct pollfd one = {.fd = gsrt_sentinel_fd(s->sentinel), .events = POLLIN};
        ck_assert_int_eq(poll(&one, 1, 10000), 1);
    }
    return peer;
}

START_TEST(losses_are_told_once)
{
    side sides[COUNT];
    gsrt_sentinel_place places[COUNT];
    bool is_leaving;
    uint32_t peer;
    connect_all(sides, places, COUNT, 10000);
    for (uint32_t i = 0; i < COUNT; i++) {
        ck_assert_msg(sides[i].status == GSRT_OK, "%s", sides[i].diag.text);
        ck_assert_uint_eq(gsrt_sentinel_peer_count(sides[i].sentinel), COUNT - 1);
        ck_assert(!gsrt_sentinel_poll(sides[i].sentinel, &peer, &is_leaving));
    }
    gsrt_sentinel_free(sides[1].sentinel); /* dies */
    ck_assert_uint_eq(await_loss(&sides[0], &is_leaving), 1);
    ck_assert(!is_leaving);
    ck_assert(!gsrt_sentinel_poll(sides[0].sentinel, &peer, &is_leaving));
    ck_assert_uint_eq(await_loss(&sides[2], &is_leaving), 1);
    gsrt_sentinel_leave(sides[2].sentinel); /* leaves */
    ck_assert_uint_eq(await_loss(&sides[0], &is_leaving), 2);
    ck_assert(is_leaving);
    ck_assert_uint_eq(gsrt_sentinel_peer_count(sides[0].sentinel), 0);
    gsrt_sentinel_free(sides[0].sentinel);
    gsrt_sentinel_free(sides[2].sentinel);
}
END_TEST

START_TEST(dropping_tells_the_other)
{
    side sides[COUNT];
    gsrt_sentinel_place places[COUNT];
    bool is_leaving;
    connect_all(sides, places, COUNT, 10000);
    gsrt_sentinel_drop(sides[0].sentinel, 2);
    gsrt_sentinel_drop(sides[0].sentinel, 2);
    gsrt_sentinel_drop(sides[0].sentinel, 99);
    ck_assert_uint_eq(gsrt_sentinel_peer_count(sides[0].sentinel), 1);
    ck_assert_uint_eq(await_loss(&sides[2], &is_leaving), 0);
    for (uint32_t i = 0; i < COUNT; i++)
        gsrt_sentinel_free(sides[i].sentinel);
}
END_TEST

START_TEST(another_secret_is_refused)
{
    side sides[COUNT];
    gsrt_sentinel_place places[COUNT];
    connect_all(sides, places, 1, 500);
    ck_assert_int_ne(sides[0].status, GSRT_OK);
    ck_assert_int_eq(sides[1].status, GSRT_ELINK);
    ck_assert_ptr_nonnull(strstr(sides[1].diag.text, "rank 0"));
    for (uint32_t i = 0; i < COUNT; i++)
        gsrt_sentinel_free(sides[i].sentinel);
}
END_TEST

/* Somebody who connects and talks nonsense does not keep the ranks from finding each other. */
START_TEST(noise_is_turned_away)
{
    side sides[2];
    gsrt_sentinel_place places[2];
    pthread_t threads[2];
    for (uint32_t i = 0; i < 2; i++) {
        sides[i] = (side){.places = places, .timeout_ms = 10000, .secret = {{5}}};
        ck_assert_int_eq(gsrt_sentinel_create(i, 2, &sides[i].sentinel, &sides[i].diag), GSRT_OK);
        places[i] = *gsrt_sentinel_place_of(sides[i].sentinel);
    }
    int noise = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(places[0].port)};
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    ck_assert_int_eq(connect(noise, (const struct sockaddr *)&to, sizeof to), 0);
    uint8_t nonsense[200] = {0x16, 3, 1};
    ck_assert_int_eq(send(noise, nonsense, sizeof nonsense, 0), sizeof nonsense);
    for (uint32_t i = 0; i < 2; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, connect_side, &sides[i]), 0);
    for (uint32_t i = 0; i < 2; i++) {
        pthread_join(threads[i], NULL);
        ck_assert_msg(sides[i].status == GSRT_OK, "%s", sides[i].diag.text);
        gsrt_sentinel_free(sides[i].sentinel);
    }
    close(noise);
}
END_TEST

int main(void)
{
    const TTest *tests[] = {losses_are_told_once, dropping_tells_the_other, another_secret_is_refused,
                            noise_is_turned_away};
    return unit_run("sentinel", tests, sizeof tests / sizeof tests[0]);
}
