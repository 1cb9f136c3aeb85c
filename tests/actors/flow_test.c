/* Back pressure: a flood against a receiver that is slower than its sender. Memory stays bounded, nothing is lost,
 * order is kept, and whoever was refused is told once. */
#include "tests/actors/world.h"

#include "base/limits.h"

enum { FLOOD_COUNT = 200000 };

/* numbers: 0 sent, 1 refused, 2 told, 3 past the end of a wait */
static void flood_on(gsrt_actor *self, struct probe *probe, const gsrt_message *message)
{
    if (message->kind == GSRT_KIND_WRITABLE)
        probe->numbers[2]++;
    static const uint8_t data[256];
    while (probe->numbers[0] < FLOOD_COUNT) {
        gsrt_msg_ping ping = {.number = probe->numbers[0] + 1, .data = {data, sizeof data}};
        gsrt_status status = gsrt_send(self, *(gsrt_address *)probe->arg, GSRT_KIND_PING, &ping, NULL);
        if (status == GSRT_EFULL) {
            probe->numbers[1]++;
            ck_assert_int_eq(gsrt_send(self, *(gsrt_address *)probe->arg, GSRT_KIND_PING, &ping, NULL), GSRT_EFULL);
            return;
        }
        must(status);
        probe->numbers[0]++;
    }
    probe->done = 1000;
}

/* Counts, checks the order, and does a few messages to itself for each, which makes it slow. */
static void swallow(gsrt_actor *self, struct probe *probe, const gsrt_message *message)
{
    (void)self;
    if (message->kind != GSRT_KIND_PING)
        return;
    uint64_t number = ((const gsrt_msg_ping *)message->body)->number;
    if (number != ++probe->numbers[0])
        ck_abort_msg("message %lu came as number %lu", number, probe->numbers[0]);
}

START_TEST(a_flood_is_held_back_and_nothing_is_lost)
{
    struct world world;
    world_open(&world, _i);
    struct probe *source = probe_open(&world, 0, flood_on), *sink = probe_open(&world, 1, swallow);
    source->arg = &sink->address;
    must(gsrt_node_post(world.nodes[0], source->address, GSRT_KIND_PONG, &(gsrt_msg_pong){0}, NULL));
    world_until(&world, &sink->count, FLOOD_COUNT);
    world_settle(&world);
    ck_assert_uint_eq(sink->numbers[0], FLOOD_COUNT);
    ck_assert_uint_eq(sink->count, FLOOD_COUNT);
    ck_assert_uint_gt(source->numbers[1], 0);                  /* it was refused, */
    ck_assert_uint_eq(source->numbers[2], source->numbers[1]); /* and told each time, once */
    for (uint32_t rank = 0; rank < world.rank_count; rank++) {
        gsrt_node_facts facts;
        gsrt_node_read_facts(world.nodes[rank], &facts);
        ck_assert_uint_eq(facts.messages_dropped, 0);
        ck_assert_uint_eq(facts.messages_refused, 0);
        ck_assert_uint_le(facts.inbox_bytes_max, (uint64_t)GSRT_INBOX_MESSAGES_MAX * 512);
    }
    world_close(&world);
    free(source);
    free(sink);
}
END_TEST

/* Signals find the window full as well; they wait, and go out in order after what was sent before. */
static void fill_and_exit(gsrt_actor *self, struct probe *probe, const gsrt_message *message)
{
    (void)message;
    gsrt_msg_ping ping = {.number = 1};
    while (gsrt_send(self, *(gsrt_address *)probe->arg, GSRT_KIND_PING, &ping, NULL) == GSRT_OK)
        ping.number++;
    probe->numbers[0] = ping.number - 1;
    gsrt_exit(self, GSRT_EXIT_CRASH);
}

static void watch_it(gsrt_actor *self, struct probe *probe, const gsrt_message *message)
{
    (void)message;
    must(gsrt_monitor(self, *(gsrt_address *)probe->arg));
}

START_TEST(a_down_waits_for_room_and_comes_last)
{
    struct world world;
    world_open(&world, _i);
    struct probe *source = probe_open(&world, 0, NULL), *sink = probe_open(&world, 1, NULL);
    probe_do(sink, watch_it, &source->address);
    world_settle(&world);
    probe_do(source, fill_and_exit, &sink->address);
    uint32_t count = (uint32_t)source->numbers[0];
    ck_assert_uint_gt(count, 0);
    world_until(&world, &sink->count, count + 1);
    world_settle(&world);
    ck_assert_uint_eq(sink->count, count + 1);
    if (count < PROBE_LOG_MAX) {
        ck_assert_int_eq(sink->log[count].kind, GSRT_KIND_DOWN);
        ck_assert_uint_eq(sink->log[count].reason, GSRT_EXIT_CRASH);
    }
    world_close(&world);
    free(source);
    free(sink);
}
END_TEST

/* A refused sender that ends before there is room is told nothing, and a receiver that ends frees its waiters. */
static void stop_when_refused(gsrt_actor *self, struct probe *probe, const gsrt_message *message)
{
    (void)message;
    gsrt_msg_ping ping = {0};
    gsrt_status status;
    do
        status = gsrt_send(self, *(gsrt_address *)probe->arg, GSRT_KIND_PING, &ping, NULL);
    while (status == GSRT_OK);
    ck_assert_int_eq(status, GSRT_EFULL);
    if (probe->numbers[0] == 1)
        gsrt_exit(self, GSRT_EXIT_NORMAL);
}

static void end_at_first(gsrt_actor *self, struct probe *probe, const gsrt_message *message)
{
    (void)probe;
    (void)message;
    gsrt_exit(self, GSRT_EXIT_NORMAL);
}

START_TEST(ends_while_waiting_leave_nothing_behind)
{
    struct world world;
    world_open(&world, _i);
    struct probe *leaver = probe_open(&world, 0, NULL), *waiter = probe_open(&world, 0, NULL),
                 *sink = probe_open(&world, 1, end_at_first);
    leaver->numbers[0] = 1;
    gsrt_address sink_address = sink->address;
    struct probe *senders[] = {leaver, waiter};
    for (int i = 0; i < 2; i++) { /* both before the sink has run */
        senders[i]->todo = stop_when_refused;
        senders[i]->arg = &sink_address;
        must(gsrt_node_post(world.nodes[0], senders[i]->address, GSRT_KIND_ACK, &(gsrt_msg_ack){0}, NULL));
    }
    world_until(&world, &sink->stopped, 1);
    world_until(&world, &waiter->count, 1);
    ck_assert_int_eq(waiter->log[0].kind, GSRT_KIND_WRITABLE);
    world_settle(&world);
    ck_assert_uint_eq(waiter->count, 1);
    ck_assert_uint_eq(leaver->count, 0);
    world_close(&world);
    free(leaver);
    free(waiter);
    free(sink);
}
END_TEST

int main(void)
{
    const TTest *tests[] = {a_flood_is_held_back_and_nothing_is_lost, a_down_waits_for_room_and_comes_last,
                            ends_while_waiting_leave_nothing_behind};
    return world_suite("flow", tests, sizeof tests / sizeof tests[0]);
}
