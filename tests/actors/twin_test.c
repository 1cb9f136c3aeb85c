/* Virtual time: exact, the same in every run, other with another seed, and fast with many nodes. */
#include "tests/actors/world.h"

#include "tests/unit.h"

/* ---- a crowd: everybody sends to everybody, answers, sets timers ---- */

enum { CROWD_MAX = 1000 };

typedef struct crowd_member {
    uint64_t received, sent;
} crowd_member;

static gsrt_address crowd_root(uint32_t rank)
{
    return gsrt_address_of_role(GSRT_ROLE_NODE, 0, rank);
}

static void crowd_say(gsrt_actor *self, crowd_member *me)
{
    const gsrt_node *node = gsrt_node_of(self);
    uint32_t rank = gsrt_node_rank(node), count = gsrt_node_rank_count(node);
    uint8_t data[64] = {(uint8_t)me->sent};
    uint32_t to = (rank + 1 + (uint32_t)(me->sent * 7919 + me->received * 31) % (count - 1)) % count;
    gsrt_msg_ping ping = {.number = me->sent++, .data = {data, sizeof data}};
    if (gsrt_send(self, crowd_root(to), GSRT_KIND_PING, &ping, NULL) != GSRT_OK)
        ck_abort_msg("could not send");
}

static gsrt_status crowd_init(gsrt_actor *self, void *state, const void *arg)
{
    gsrt_node *node = gsrt_node_of(self);
    (void)state;
    (void)arg;
    must(gsrt_role_bind(node, crowd_root(gsrt_node_rank(node)), gsrt_self(self)));
    return gsrt_timer_start(self, 100 + gsrt_node_rank(node) % 7, 0, NULL);
}

static void crowd_receive(gsrt_actor *self, void *state, const gsrt_message *message)
{
    crowd_member *me = state;
    me->received += message->kind == GSRT_KIND_PING;
    crowd_say(self, me);
}

static const gsrt_behaviour crowd = {"crowd", sizeof(crowd_member), crowd_init, crowd_receive, NULL};

typedef struct outcome {
    uint64_t digest, now_ns, event_count;
} outcome;

static outcome run_crowd(uint32_t rank_count, uint64_t seed, uint64_t message_ns, uint64_t event_count)
{
    gsrt_twin_options options = {
        .rank_count = rank_count, .seed = seed, .link = {1500, 12.5}, .jitter = 0.3, .message_ns = message_ns};
    gsrt_twin *twin;
    must(gsrt_twin_create(&options, &twin));
    for (uint32_t rank = 0; rank < rank_count; rank++) {
        gsrt_address address;
        must(gsrt_node_spawn(gsrt_twin_node(twin, rank), &crowd, NULL, &address));
    }
    ck_assert_int_eq(gsrt_twin_run(twin, UINT64_MAX, event_count), GSRT_ELIMIT);
    for (uint32_t rank = 0; rank < rank_count; rank += 97)
        ck_assert(gsrt_node_check(gsrt_twin_node(twin, rank)));
    outcome result = {gsrt_twin_digest(twin), gsrt_twin_now_ns(twin), gsrt_twin_event_count(twin)};
    gsrt_twin_free(twin);
    return result;
}

START_TEST(two_runs_are_the_same_and_another_seed_is_not)
{
    for (uint64_t message_ns = 0; message_ns <= 200; message_ns += 200) {
        outcome a = run_crowd(16, 1, message_ns, 5000), b = run_crowd(16, 1, message_ns, 5000),
                c = run_crowd(16, 2, message_ns, 5000);
        ck_assert_uint_eq(a.digest, b.digest);
        ck_assert_uint_eq(a.now_ns, b.now_ns);
        ck_assert_uint_eq(a.event_count, b.event_count);
        ck_assert_uint_ne(a.digest, c.digest);
    }
}
END_TEST

START_TEST(a_thousand_nodes_run)
{
    outcome a = run_crowd(CROWD_MAX, 3, 0, 100000), b = run_crowd(CROWD_MAX, 3, 0, 100000);
    ck_assert_uint_eq(a.event_count, 100000);
    ck_assert_uint_eq(a.digest, b.digest);
}
END_TEST

/* ---- the model of a link ---- */

static void send_three(gsrt_actor *self, struct probe *probe, const gsrt_message *message)
{
    (void)message;
    gsrt_payload *payload = gsrt_payload_create(10000);
    ck_assert_ptr_nonnull(payload);
    for (uint64_t i = 0; i < 3; i++)
        must(gsrt_send(self, *(gsrt_address *)probe->arg, GSRT_KIND_ACTIVATION, &(gsrt_msg_activation){.step = i},
                       payload));
    gsrt_payload_unref(payload);
}

START_TEST(messages_share_the_bandwidth_and_each_has_the_latency)
{
    struct world world;
    world_open(&world, WORLD_TWIN);
    gsrt_twin_set_link(world.twin, 0, 1, &(gsrt_twin_link){5000, 2.0});
    struct probe *here = probe_open(&world, 0, NULL), *other = probe_open(&world, 1, NULL);
    probe_do(here, send_three, &other->address);
    world_until(&world, &other->count, 3);
    gsrt_transport_facts facts;
    const gsrt_transport *transport = gsrt_node_transport(world.nodes[0]);
    transport->ops->read_facts(transport, &facts);
    ck_assert_uint_eq(facts.messages_sent, 3);
    ck_assert_uint_gt(facts.bytes_sent, 30000);
    ck_assert_uint_lt(facts.bytes_sent, 30000 + 3 * GSRT_HEADER_BYTES_MAX);
    uint64_t first = other->log[0].now_ns, second = other->log[1].now_ns, third = other->log[2].now_ns;
    uint64_t one_ns = facts.bytes_sent / 3 / 2;
    ck_assert_uint_ge(first, 5000 + one_ns);
    ck_assert_uint_le(first, 5000 + one_ns + 2);
    ck_assert_uint_ge(second - first, one_ns);
    ck_assert_uint_le(second - first, one_ns + 2);
    ck_assert_uint_ge(third - second, one_ns);
    ck_assert_uint_le(third - second, one_ns + 2);
    world_close(&world);
    free(here);
    free(other);
}
END_TEST

START_TEST(a_node_is_busy_for_the_time_of_each_message)
{
    gsrt_twin *twin;
    gsrt_twin_options options = {.rank_count = 1, .link = {1, 1}, .message_ns = 1000};
    must(gsrt_twin_create(&options, &twin));
    struct world world = {.kind = WORLD_TWIN, .rank_count = 1, .twin = twin, .nodes = {gsrt_twin_node(twin, 0)}};
    struct probe *here = probe_open(&world, 0, NULL);
    for (int i = 0; i < 4; i++)
        must(gsrt_node_post(world.nodes[0], here->address, GSRT_KIND_PING, &(gsrt_msg_ping){0}, NULL));
    world_until(&world, &here->count, 4);
    for (uint64_t i = 0; i < 4; i++)
        ck_assert_uint_eq(here->log[i].now_ns, i * 1000);
    world_close(&world);
    free(here);
}
END_TEST

/* ---- how a run ends ---- */

static void finish_now(gsrt_actor *self, struct probe *probe, const gsrt_message *message)
{
    (void)probe;
    if (message->kind == GSRT_KIND_PING)
        gsrt_node_finish(gsrt_node_of(self), 5);
}

static void set_far_timer(gsrt_actor *self, struct probe *probe, const gsrt_message *message)
{
    (void)probe;
    (void)message;
    must(gsrt_timer_start(self, 1000 * MS, 1, NULL));
}

START_TEST(a_run_says_how_it_ended)
{
    struct world world;
    world_open(&world, WORLD_TWIN);
    struct probe *probes[WORLD_RANK_COUNT];
    for (uint32_t rank = 0; rank < WORLD_RANK_COUNT; rank++)
        probes[rank] = probe_open(&world, rank, finish_now);
    ck_assert_int_eq(gsrt_twin_run(world.twin, UINT64_MAX, UINT64_MAX), GSRT_EEMPTY);
    probe_do(probes[0], set_far_timer, NULL);
    ck_assert_int_eq(gsrt_twin_run(world.twin, 10 * MS, UINT64_MAX), GSRT_ETIMEDOUT);
    ck_assert_uint_eq(gsrt_twin_now_ns(world.twin), 10 * MS);
    ck_assert_int_eq(gsrt_twin_run(world.twin, UINT64_MAX, 0), GSRT_ELIMIT);
    for (uint32_t rank = 0; rank < WORLD_RANK_COUNT; rank++)
        must(gsrt_node_post(world.nodes[rank], probes[rank]->address, GSRT_KIND_PING, &(gsrt_msg_ping){0}, NULL));
    ck_assert_int_eq(gsrt_twin_run(world.twin, 20 * MS, UINT64_MAX), GSRT_OK);
    ck_assert_int_eq(gsrt_node_exit_code(world.nodes[0]), 5);
    gsrt_twin *wrong;
    ck_assert_int_eq(gsrt_twin_create(&(gsrt_twin_options){.rank_count = 1}, &wrong), GSRT_EINVAL);
    ck_assert_int_eq(gsrt_twin_create(&(gsrt_twin_options){.link = {1, 1}}, &wrong), GSRT_EINVAL);
    world_close(&world);
    for (uint32_t rank = 0; rank < WORLD_RANK_COUNT; rank++)
        free(probes[rank]);
}
END_TEST

int main(void)
{
    const TTest *tests[] = {two_runs_are_the_same_and_another_seed_is_not, a_thousand_nodes_run,
                            messages_share_the_bandwidth_and_each_has_the_latency,
                            a_node_is_busy_for_the_time_of_each_message, a_run_says_how_it_ended};
    return unit_run("twin", tests, sizeof tests / sizeof tests[0]);
}
