/* An actor that has moved keeps its address: its birth rank forwards, senders learn, order is kept. */
#include "tests/actors/world.h"

static void send_ten(gsrt_actor *self, struct probe *probe, const gsrt_message *message)
{
    (void)message;
    for (uint32_t i = 0; i < 10; i++)
        must(gsrt_send(self, *(gsrt_address *)probe->arg, GSRT_KIND_PING,
                       &(gsrt_msg_ping){.number = ++probe->numbers[0]}, NULL));
}

static void answer(gsrt_actor *self, struct probe *probe, const gsrt_message *message)
{
    (void)probe;
    if (message->call != 0 && !message->is_reply)
        must(gsrt_reply(self, message->from, message->call, GSRT_KIND_PONG, &(gsrt_msg_pong){0}, NULL));
}

static void exit_now(gsrt_actor *self, struct probe *probe, const gsrt_message *message)
{
    (void)probe;
    (void)message;
    gsrt_exit(self, GSRT_EXIT_NORMAL);
}

static void call_it(gsrt_actor *self, struct probe *probe, const gsrt_message *message)
{
    (void)message;
    must(gsrt_call(self, *(gsrt_address *)probe->arg, GSRT_KIND_PING, &(gsrt_msg_ping){0}, NULL, 10000 * MS,
                   &probe->numbers[1]));
}

static uint64_t forwarded(const struct world *world, uint32_t rank)
{
    gsrt_node_facts facts;
    gsrt_node_read_facts(world->nodes[rank], &facts);
    return facts.messages_forwarded;
}

/* From rank 1 to rank 2; sender on rank 0. */
static struct probe *move(struct world *world, struct probe *old, probe_fn *on_message)
{
    gsrt_address address = old->address;
    probe_do(old, exit_now, NULL);
    world_until(world, &old->stopped, 1);
    gsrt_buffer streams;
    gsrt_buffer_init(&streams, 4096);
    must(gsrt_node_pack_streams(world->nodes[1], address, &streams));
    struct probe *moved = calloc(1, sizeof *moved);
    ck_assert_ptr_nonnull(moved);
    moved->world = world;
    moved->rank = 2;
    moved->on_message = on_message;
    gsrt_span span = gsrt_buffer_span(&streams), cut = gsrt_span_of(streams.data, streams.len - 1);
    if (cut.len > 0)
        ck_assert_int_eq(gsrt_node_adopt(world->nodes[2], &probe_behaviour, &moved, address, cut), GSRT_EDECODE);
    must(gsrt_node_adopt(world->nodes[2], &probe_behaviour, &moved, address, span));
    ck_assert_uint_eq(moved->address, address);
    ck_assert_int_eq(gsrt_node_adopt(world->nodes[2], &probe_behaviour, &moved, address, span), GSRT_ESTATE);
    gsrt_buffer_fini(&streams);
    ck_assert_int_eq(gsrt_node_forward(world->nodes[2], address, 1), GSRT_ESTATE);
    ck_assert_int_eq(gsrt_node_forward(world->nodes[1], address, 99), GSRT_EINVAL);
    must(gsrt_node_forward(world->nodes[1], address, 2));
    return moved;
}

START_TEST(a_moved_actor_is_found_and_then_reached_directly)
{
    if (_i == WORLD_ALONE)
        return;
    struct world world;
    world_open(&world, _i);
    struct probe *here = probe_open(&world, 0, NULL), *old = probe_open(&world, 1, NULL);
    struct probe *moved = move(&world, old, answer);
    probe_do(here, send_ten, &moved->address);
    world_until(&world, &moved->count, 10);
    world_settle(&world);
    uint64_t before = forwarded(&world, 1);
    ck_assert_uint_gt(before, 0);
    probe_do(here, send_ten, &moved->address);
    probe_do(here, call_it, &moved->address);
    world_until(&world, &here->count, 1);
    ck_assert(here->log[0].is_reply);
    ck_assert_uint_eq(forwarded(&world, 1), before);
    ck_assert_uint_eq(moved->count, 21);
    for (uint32_t i = 0; i < 20; i++)
        ck_assert_uint_eq(moved->log[i].value, i + 1);
    world_close(&world);
    free(here);
    free(old);
    free(moved);
}
END_TEST

/* Both directions were in use before the move, and go on: nothing is taken for a duplicate, nothing is held. */
START_TEST(streams_go_on_after_the_move)
{
    if (_i == WORLD_ALONE)
        return;
    struct world world;
    world_open(&world, _i);
    struct probe *here = probe_open(&world, 0, NULL), *old = probe_open(&world, 1, NULL);
    probe_do(here, send_ten, &old->address);
    world_until(&world, &old->count, 10);
    probe_do(old, send_ten, &here->address);
    world_until(&world, &here->count, 10);
    struct probe *moved = move(&world, old, NULL);
    moved->numbers[0] = 10;
    probe_do(moved, send_ten, &here->address);
    world_until(&world, &here->count, 20);
    probe_do(here, send_ten, &moved->address);
    world_until(&world, &moved->count, 10);
    for (uint32_t i = 0; i < 20; i++)
        ck_assert_uint_eq(here->log[i].value, i + 1);
    for (uint32_t i = 0; i < 10; i++)
        ck_assert_uint_eq(moved->log[i].value, i + 11);
    for (uint32_t rank = 0; rank < world.rank_count; rank++) {
        gsrt_node_facts facts;
        gsrt_node_read_facts(world.nodes[rank], &facts);
        ck_assert_uint_eq(facts.messages_held, 0);
        ck_assert_uint_eq(facts.messages_refused, 0);
    }
    world_close(&world);
    free(here);
    free(old);
    free(moved);
}
END_TEST

static void watch_it(gsrt_actor *self, struct probe *probe, const gsrt_message *message)
{
    (void)message;
    must(gsrt_monitor(self, *(gsrt_address *)probe->arg));
}

START_TEST(a_moved_actor_is_watched_and_its_second_end_is_told)
{
    if (_i == WORLD_ALONE)
        return;
    struct world world;
    world_open(&world, _i);
    struct probe *here = probe_open(&world, 0, NULL), *old = probe_open(&world, 1, NULL);
    struct probe *moved = move(&world, old, NULL);
    gsrt_address address = moved->address;
    probe_do(here, watch_it, &address);
    world_settle(&world);
    probe_do(moved, exit_now, NULL);
    world_until(&world, &here->count, 1);
    ck_assert_int_eq(here->log[0].kind, GSRT_KIND_DOWN);
    ck_assert_uint_eq(here->log[0].value, address);
    probe_do(here, call_it, &address);
    world_until(&world, &here->count, 2);
    ck_assert_uint_eq(here->log[1].reason, GSRT_EXIT_NO_ACTOR);
    world_close(&world);
    free(here);
    free(old);
    free(moved);
}
END_TEST

/* The way by the old rank is slow, the direct one fast: later messages would overtake earlier ones. */
START_TEST(direct_messages_do_not_overtake_forwarded_ones)
{
    if (_i != WORLD_TWIN)
        return;
    struct world world;
    world_open(&world, _i);
    gsrt_twin_set_link(world.twin, 1, 2, &(gsrt_twin_link){50 * MS, 1.0});
    struct probe *here = probe_open(&world, 0, NULL), *old = probe_open(&world, 1, NULL);
    struct probe *moved = move(&world, old, NULL);
    probe_do(here, send_ten, &moved->address);
    (void)gsrt_twin_run(world.twin, 1 * MS, UINT64_MAX); /* here has heard of the move; the ten are on their way */
    probe_do(here, send_ten, &moved->address);
    world_until(&world, &moved->count, 20);
    for (uint32_t i = 0; i < 20; i++)
        ck_assert_uint_eq(moved->log[i].value, i + 1);
    gsrt_node_facts facts;
    gsrt_node_read_facts(world.nodes[2], &facts);
    ck_assert_uint_eq(facts.messages_held, 10);
    ck_assert_uint_eq(forwarded(&world, 1), 10);
    world_close(&world);
    free(here);
    free(old);
    free(moved);
}
END_TEST

/* The forwarding rank dies with the messages: those that were held go on without them. */
START_TEST(held_messages_are_let_go_when_their_forerunners_are_lost)
{
    if (_i != WORLD_TWIN)
        return;
    struct world world;
    world_open(&world, _i);
    gsrt_twin_set_link(world.twin, 1, 2, &(gsrt_twin_link){50 * MS, 1.0});
    struct probe *here = probe_open(&world, 0, NULL), *old = probe_open(&world, 1, NULL);
    struct probe *moved = move(&world, old, NULL);
    probe_do(here, send_ten, &moved->address);
    (void)gsrt_twin_run(world.twin, 1 * MS, UINT64_MAX);
    probe_do(here, send_ten, &moved->address);
    (void)gsrt_twin_run(world.twin, 2 * MS, UINT64_MAX);
    ck_assert_uint_eq(moved->count, 0);
    gsrt_node_rank_lost(world.nodes[2], 1);
    world_until(&world, &moved->count, 10);
    ck_assert_uint_eq(moved->log[0].value, 11);
    world_settle(&world);
    ck_assert_uint_eq(moved->count, 10);
    world_close(&world);
    free(here);
    free(old);
    free(moved);
}
END_TEST

int main(void)
{
    const TTest *tests[] = {a_moved_actor_is_found_and_then_reached_directly, streams_go_on_after_the_move,
                            a_moved_actor_is_watched_and_its_second_end_is_told,
                            direct_messages_do_not_overtake_forwarded_ones,
                            held_messages_are_let_go_when_their_forerunners_are_lost};
    return world_suite("move", tests, sizeof tests / sizeof tests[0]);
}
