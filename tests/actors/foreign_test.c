/* Threads beside the node: posts, wakes, and a node that blocks and is woken; several nodes on threads of their own. */
#include "tests/unit.h"

#include "actors/node.h"
#include "mailbox/inproc.h"

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

enum { THREAD_COUNT = 3, POST_COUNT = 20000, TRIP_COUNT = 2000 };

static void must(gsrt_status status)
{
    ck_assert_msg(status == GSRT_OK, "%s", gsrt_status_text(status));
}

/* ---- posts of other threads ---- */

typedef struct counter {
    uint64_t last[THREAD_COUNT]; /* of each thread: its order is kept */
    uint64_t count;
    uint64_t out_of_order;
} counter;

static gsrt_status counter_init(gsrt_actor *self, void *state, const void *arg)
{
    (void)self;
    memcpy(state, arg, sizeof(void *));
    return GSRT_OK;
}

static void counter_receive(gsrt_actor *self, void *state, const gsrt_message *message)
{
    counter *count = *(counter **)state;
    uint64_t value = ((const gsrt_msg_ack *)message->body)->value;
    uint64_t thread = value >> 32, number = value & UINT32_MAX;
    count->out_of_order += number != count->last[thread] + 1;
    count->last[thread] = number;
    if (++count->count == (uint64_t)THREAD_COUNT * POST_COUNT)
        gsrt_node_finish(gsrt_node_of(self), 7);
}

typedef struct poster {
    pthread_t thread;
    gsrt_node *node;
    gsrt_address to;
    uint64_t number;
} poster;

static void *post_all(void *arg)
{
    poster *self = arg;
    for (uint64_t i = 1; i <= POST_COUNT;) {
        gsrt_msg_ack body = {.value = self->number << 32 | i};
        gsrt_status status = gsrt_node_post_foreign(self->node, self->to, GSRT_KIND_ACK, &body);
        if (status == GSRT_OK)
            i++;
        else
            sched_yield(); /* full: the node catches up */
    }
    return NULL;
}

START_TEST(posts_of_threads_wake_the_node_and_keep_each_threads_order)
{
    static const gsrt_behaviour behaviour = {"counter", sizeof(void *), counter_init, counter_receive, NULL};
    gsrt_node *node;
    counter count = {0}, *pointer = &count;
    poster posters[THREAD_COUNT];
    gsrt_address address;
    must(gsrt_node_create(&(gsrt_node_options){.rank_count = 1}, &node));
    must(gsrt_node_spawn(node, &behaviour, &pointer, &address));
    for (uint64_t i = 0; i < THREAD_COUNT; i++) {
        posters[i] = (poster){.node = node, .to = address, .number = i};
        ck_assert_int_eq(pthread_create(&posters[i].thread, NULL, post_all, &posters[i]), 0);
    }
    gsrt_node_run(node);
    for (int i = 0; i < THREAD_COUNT; i++)
        pthread_join(posters[i].thread, NULL);
    ck_assert_uint_eq(count.count, (uint64_t)THREAD_COUNT * POST_COUNT);
    ck_assert_uint_eq(count.out_of_order, 0);
    ck_assert_int_eq(gsrt_node_exit_code(node), 7);
    ck_assert(gsrt_node_check(node));
    gsrt_node_free(node);
}
END_TEST

START_TEST(a_foreign_post_is_bounded_and_takes_flat_bodies_only)
{
    gsrt_node *node;
    must(gsrt_node_create(&(gsrt_node_options){.rank_count = 1}, &node));
    ck_assert_int_eq(gsrt_node_post_foreign(node, 1, GSRT_KIND_PING, &(gsrt_msg_ping){0}), GSRT_EINVAL);
    ck_assert_int_eq(gsrt_node_post_foreign(node, 1, GSRT_KIND_DOWN, &(gsrt_msg_down){0}), GSRT_EINVAL);
    ck_assert_int_eq(gsrt_node_post_foreign(node, 1, (gsrt_kind)200, &(gsrt_msg_ack){0}), GSRT_EINVAL);
    for (uint32_t i = 0; i < GSRT_FOREIGN_COUNT_MAX; i++)
        must(gsrt_node_post_foreign(node, 1, GSRT_KIND_ACK, &(gsrt_msg_ack){0}));
    ck_assert_int_eq(gsrt_node_post_foreign(node, 1, GSRT_KIND_ACK, &(gsrt_msg_ack){0}), GSRT_EFULL);
    while (gsrt_node_step(node) > 0)
        ;
    must(gsrt_node_post_foreign(node, 1, GSRT_KIND_ACK, &(gsrt_msg_ack){0}));
    gsrt_node_free(node);
}
END_TEST

static void *finish_it(void *node)
{
    gsrt_node_finish(node, 3);
    return NULL;
}

START_TEST(a_blocked_node_is_finished_from_another_thread)
{
    gsrt_node *node;
    pthread_t thread;
    must(gsrt_node_create(&(gsrt_node_options){.rank_count = 1}, &node));
    ck_assert_int_eq(pthread_create(&thread, NULL, finish_it, node), 0);
    gsrt_node_run(node); /* has nothing to do: blocks */
    pthread_join(thread, NULL);
    ck_assert_int_eq(gsrt_node_exit_code(node), 3);
    gsrt_node_finish(node, 4);
    ck_assert_int_eq(gsrt_node_exit_code(node), 3); /* the first word counts */
    gsrt_node_free(node);
}
END_TEST

/* ---- nodes on threads of their own, which block between messages ---- */

typedef struct player {
    uint64_t trips;
    gsrt_address other;
} player;

static gsrt_status player_init(gsrt_actor *self, void *state, const void *arg)
{
    player *me = state;
    (void)arg;
    me->other = gsrt_address_of_role(GSRT_ROLE_NODE, 0, 1 - gsrt_node_rank(gsrt_node_of(self)));
    must(gsrt_role_bind(gsrt_node_of(self), gsrt_address_of_role(GSRT_ROLE_NODE, 0, gsrt_node_rank(gsrt_node_of(self))),
                        gsrt_self(self)));
    if (gsrt_node_rank(gsrt_node_of(self)) == 0)
        return gsrt_send(self, me->other, GSRT_KIND_PING, &(gsrt_msg_ping){0}, NULL);
    return GSRT_OK;
}

static void player_receive(gsrt_actor *self, void *state, const gsrt_message *message)
{
    player *me = state;
    bool is_last = ++me->trips == TRIP_COUNT;
    (void)message;
    if (!is_last || gsrt_node_rank(gsrt_node_of(self)) == 1)
        must(gsrt_send(self, me->other, GSRT_KIND_PING, &(gsrt_msg_ping){0}, NULL));
    if (is_last)
        gsrt_node_finish(gsrt_node_of(self), 0); /* the last answer of rank 1 still leaves: flush */
}

static void *run_node(void *node)
{
    gsrt_node_run(node);
    return NULL;
}

/* What a node's recorder is told, and when. */
typedef struct told {
    gsrt_node *node;
    uint32_t message_count, catch_up_count;
    uint64_t last_ns;
} told;

static void told_message(void *arg, uint64_t now_ns, const gsrt_envelope *envelope, bool is_sent)
{
    told *t = arg;
    (void)envelope;
    (void)is_sent;
    ck_assert_uint_ge(now_ns, t->last_ns);
    t->last_ns = now_ns;
    t->message_count++;
}

static void told_catch_up(void *arg)
{
    told *t = arg;
    t->catch_up_count++;
    ck_assert_uint_eq(t->message_count, 2); /* all that there was to do is done */
    gsrt_node_finish(t->node, 0);           /* else the node would wait for ever */
}

START_TEST(a_node_lets_its_recorder_catch_up_when_idle)
{
    static const gsrt_behaviour behaviour = {"counter", sizeof(void *), counter_init, counter_receive, NULL};
    static const uint64_t spins_ns[] = {0, 3600000000000u}; /* it blocks when idle; it spins */
    for (int i = 0; i < 2; i++) {
        told t = {0};
        counter count = {0}, *pointer = &count;
        gsrt_address address;
        const gsrt_node_options options = {.rank_count = 1,
                                           .spin_ns = spins_ns[i],
                                           .recorder = {.arg = &t, .message = told_message, .catch_up = told_catch_up}};
        must(gsrt_node_create(&options, &t.node));
        must(gsrt_node_spawn(t.node, &behaviour, &pointer, &address));
        for (uint64_t value = 1; value <= 2; value++)
            must(gsrt_node_post(t.node, address, GSRT_KIND_ACK, &(gsrt_msg_ack){.value = value}, NULL));
        gsrt_node_run(t.node);
        ck_assert_uint_eq(t.message_count, 2);
        ck_assert_uint_eq(t.catch_up_count, 1);
        gsrt_node_free(t.node);
    }
}
END_TEST

START_TEST(two_nodes_on_two_threads_play_ball)
{
    static const gsrt_behaviour behaviour = {"player", sizeof(player), player_init, player_receive, NULL};
    gsrt_transport *transports[2];
    gsrt_node *nodes[2];
    gsrt_address address;
    pthread_t threads[2];
    must(gsrt_inproc_create(2, transports));
    for (uint32_t rank = 0; rank < 2; rank++) {
        gsrt_node_options options = {
            .rank = rank, .rank_count = 2, .transport = transports[rank], .spin_ns = rank * 20000};
        must(gsrt_node_create(&options, &nodes[rank]));
    }
    for (uint32_t rank = 2; rank > 0; rank--)
        must(gsrt_node_spawn(nodes[rank - 1], &behaviour, NULL, &address));
    for (int i = 0; i < 2; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, run_node, nodes[i]), 0);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < 2; i++) {
        gsrt_node_facts facts;
        gsrt_node_read_facts(nodes[i], &facts);
        ck_assert_uint_eq(facts.messages_received, TRIP_COUNT);
        ck_assert_uint_eq(facts.messages_dropped, 0);
        ck_assert(gsrt_node_check(nodes[i]));
    }
    for (int i = 0; i < 2; i++)
        gsrt_node_free(nodes[i]);
}
END_TEST

int main(void)
{
    const TTest *tests[] = {posts_of_threads_wake_the_node_and_keep_each_threads_order,
                            a_foreign_post_is_bounded_and_takes_flat_bodies_only,
                            a_blocked_node_is_finished_from_another_thread, a_node_lets_its_recorder_catch_up_when_idle,
                            two_nodes_on_two_threads_play_ball};
    return unit_run("foreign", tests, sizeof tests / sizeof tests[0]);
}
