/* Every promise of actors/actor.h, in each kind of world. `other` lives on another rank where there is one. */
#include "tests/actors/world.h"

static const gsrt_msg_ack nothing;

/* ---- order, at most once ---- */

static void send_sixty(gsrt_actor *self, struct probe *probe, const gsrt_message *message)
{
    (void)message;
    for (uint64_t i = 1; i <= 60; i++) {
        uint8_t data[3] = {(uint8_t)i, 2, 3};
        must(gsrt_send(self, *(gsrt_address *)probe->arg, GSRT_KIND_PING,
                       &(gsrt_msg_ping){.number = i, .data = {data, i % 4}}, NULL));
    }
}

static void check_data(gsrt_actor *self, struct probe *probe, const gsrt_message *message)
{
    (void)self;
    (void)probe;
    const gsrt_msg_ping *ping = message->body;
    ck_assert_uint_eq(ping->data.len, ping->number % 4);
    if (ping->data.len > 0)
        ck_assert_uint_eq(ping->data.data[0], ping->number);
}

START_TEST(messages_arrive_once_and_in_order)
{
    struct world world;
    world_open(&world, _i);
    struct probe *here = probe_open(&world, 0, NULL), *other = probe_open(&world, 1, check_data);
    probe_do(here, send_sixty, &other->address);
    world_until(&world, &other->count, 60);
    world_settle(&world);
    ck_assert_uint_eq(other->count, 60);
    for (uint32_t i = 0; i < 60; i++) {
        ck_assert_uint_eq(other->log[i].value, i + 1);
        ck_assert_uint_eq(other->log[i].from, here->address);
    }
    world_close(&world);
    free(here);
    free(other);
}
END_TEST

static void send_payload(gsrt_actor *self, struct probe *probe, const gsrt_message *message)
{
    (void)message;
    gsrt_payload *payload = gsrt_payload_create(1000);
    ck_assert_ptr_nonnull(payload);
    memset(payload->data, 7, 1000);
    must(
        gsrt_send(self, *(gsrt_address *)probe->arg, GSRT_KIND_ACTIVATION, &(gsrt_msg_activation){.step = 3}, payload));
    gsrt_payload_unref(payload);
}

static void keep_payload(gsrt_actor *self, struct probe *probe, const gsrt_message *message)
{
    (void)self;
    probe->arg = gsrt_payload_ref(message->payload);
}

START_TEST(a_payload_travels_beside_and_may_be_kept)
{
    struct world world;
    world_open(&world, _i);
    struct probe *here = probe_open(&world, 0, NULL), *other = probe_open(&world, 1, keep_payload);
    probe_do(here, send_payload, &other->address);
    world_until(&world, &other->count, 1);
    gsrt_payload *payload = other->arg;
    ck_assert_ptr_nonnull(payload);
    ck_assert_uint_eq(payload->len, 1000);
    ck_assert_uint_eq(payload->data[999], 7);
    ck_assert_uint_eq(atomic_load(&payload->references), 1);
    gsrt_payload_unref(payload);
    world_close(&world);
    free(here);
    free(other);
}
END_TEST

static void send_wrong_things(gsrt_actor *self, struct probe *probe, const gsrt_message *message)
{
    (void)message;
    gsrt_address to = *(gsrt_address *)probe->arg;
    bool is_far = gsrt_address_rank(to) != gsrt_address_rank(gsrt_self(self));
    ck_assert_int_eq(gsrt_send(self, to, GSRT_KIND_STOP, &(gsrt_msg_stop){.exit_code = 256}, NULL), GSRT_EINVAL);
    ck_assert_int_eq(gsrt_send(self, to, GSRT_KIND_DOWN, &(gsrt_msg_down){0}, NULL), GSRT_EINVAL);
    ck_assert_int_eq(gsrt_send(self, to, (gsrt_kind)200, &nothing, NULL), GSRT_EINVAL);
    ck_assert_int_eq(gsrt_send(self, to, GSRT_KIND_JOB, &(gsrt_msg_job){0}, NULL), is_far ? GSRT_EINVAL : GSRT_OK);
    ck_assert_int_eq(gsrt_reply(self, to, 0, GSRT_KIND_ACK, &nothing, NULL), GSRT_EINVAL);
    ck_assert_int_eq(gsrt_send(self, GSRT_NOBODY, GSRT_KIND_ACK, &nothing, NULL), GSRT_OK);
    ck_assert_int_eq(gsrt_send(self, gsrt_address_of_role(GSRT_ROLE_GATEWAY, 0, 0), GSRT_KIND_ACK, &nothing, NULL),
                     GSRT_OK);
}

START_TEST(what_cannot_be_sent_is_refused_or_dropped)
{
    struct world world;
    world_open(&world, _i);
    struct probe *here = probe_open(&world, 0, NULL), *other = probe_open(&world, 1, NULL);
    probe_do(here, send_wrong_things, &other->address);
    world_settle(&world);
    ck_assert_uint_eq(other->count, _i == WORLD_ALONE ? 1 : 0);
    gsrt_node_facts facts;
    gsrt_node_read_facts(world.nodes[0], &facts);
    ck_assert_uint_eq(facts.messages_dropped, 2);
    world_close(&world);
    free(here);
    free(other);
}
END_TEST

/* ---- calls ---- */

static void answer(gsrt_actor *self, struct probe *probe, const gsrt_message *message)
{
    (void)probe;
    if (message->call != 0 && !message->is_reply)
        must(gsrt_reply(self, message->from, message->call, GSRT_KIND_PONG,
                        &(gsrt_msg_pong){.number = ((const gsrt_msg_ping *)message->body)->number + 1}, NULL));
}

static void exit_now(gsrt_actor *self, struct probe *probe, const gsrt_message *message)
{
    (void)probe;
    (void)message;
    gsrt_exit(self, GSRT_EXIT_CRASH);
}

/* numbers[0]: timeout; numbers[1]: the call */
static void call_ping(gsrt_actor *self, struct probe *probe, const gsrt_message *message)
{
    (void)message;
    must(gsrt_call(self, *(gsrt_address *)probe->arg, GSRT_KIND_PING, &(gsrt_msg_ping){.number = 41}, NULL,
                   probe->numbers[0], &probe->numbers[1]));
}

static void expect_down(const struct probe *probe, uint32_t at, gsrt_address subject, uint64_t call, uint32_t reason)
{
    ck_assert_uint_gt(probe->count, at);
    ck_assert_int_eq(probe->log[at].kind, GSRT_KIND_DOWN);
    ck_assert_uint_eq(probe->log[at].value, subject);
    ck_assert_uint_eq(probe->log[at].call, call);
    ck_assert_uint_eq(probe->log[at].reason, reason);
}

START_TEST(a_call_gets_its_reply)
{
    struct world world;
    world_open(&world, _i);
    struct probe *here = probe_open(&world, 0, NULL), *other = probe_open(&world, 1, answer);
    here->numbers[0] = 10000 * MS;
    probe_do(here, call_ping, &other->address);
    world_until(&world, &here->count, 1);
    world_settle(&world);
    ck_assert_uint_eq(here->count, 1);
    ck_assert_int_eq(here->log[0].kind, GSRT_KIND_PONG);
    ck_assert(here->log[0].is_reply);
    ck_assert_uint_eq(here->log[0].value, 42);
    ck_assert_uint_eq(here->log[0].call, here->numbers[1]);
    ck_assert_uint_ne(other->log[0].call, 0);
    for (uint32_t rank = 0; rank < world.rank_count; rank++) {
        gsrt_node_facts facts;
        gsrt_node_read_facts(world.nodes[rank], &facts);
        ck_assert_uint_eq(facts.call_count, 0);
    }
    world_close(&world);
    free(here);
    free(other);
}
END_TEST

/* arg of the silent one: who asked last */
static void answer_late(gsrt_actor *self, struct probe *probe, const gsrt_message *message)
{
    (void)message;
    must(gsrt_reply(self, probe->log[0].from, probe->log[0].call, GSRT_KIND_PONG, &(gsrt_msg_pong){0}, NULL));
}

START_TEST(a_call_without_reply_ends_in_one_down_and_a_late_reply_is_dropped)
{
    struct world world;
    world_open(&world, _i);
    struct probe *here = probe_open(&world, 0, NULL), *other = probe_open(&world, 1, NULL);
    here->numbers[0] = 2 * MS;
    probe_do(here, call_ping, &other->address);
    world_until(&world, &here->count, 1);
    world_until(&world, &other->count, 1);
    expect_down(here, 0, other->address, here->numbers[1], GSRT_EXIT_TIMEOUT);
    if (world.twin != NULL)
        ck_assert_uint_eq(here->log[0].now_ns, 2 * MS); /* exactly */
    probe_do(other, answer_late, NULL);
    world_settle(&world);
    ck_assert_uint_eq(here->count, 1);
    gsrt_node_facts facts;
    gsrt_node_read_facts(world.nodes[0], &facts);
    ck_assert_uint_eq(facts.messages_dropped, 1);
    world_close(&world);
    free(here);
    free(other);
}
END_TEST

START_TEST(a_call_ends_with_its_callee)
{
    struct world world;
    world_open(&world, _i);
    struct probe *here = probe_open(&world, 0, NULL), *other = probe_open(&world, 1, exit_now);
    here->numbers[0] = 100000 * MS;
    probe_do(here, call_ping, &other->address);
    world_until(&world, &here->count, 1);
    expect_down(here, 0, other->address, here->numbers[1], GSRT_EXIT_CRASH);
    /* and again, now that it is gone */
    probe_do(here, call_ping, &other->address);
    world_until(&world, &here->count, 2);
    expect_down(here, 1, other->address, here->numbers[1], GSRT_EXIT_NO_ACTOR);
    world_settle(&world);
    ck_assert_uint_eq(here->count, 2);
    world_close(&world);
    free(here);
    free(other);
}
END_TEST

static void call_role(gsrt_actor *self, struct probe *probe, const gsrt_message *message)
{
    (void)message;
    must(gsrt_call(self, gsrt_address_of_role(GSRT_ROLE_SCHEDULER, 0, 0), GSRT_KIND_PING, &(gsrt_msg_ping){0}, NULL,
                   10000 * MS, &probe->numbers[1]));
}

START_TEST(a_role_is_resolved_when_bound)
{
    struct world world;
    world_open(&world, _i);
    struct probe *here = probe_open(&world, 0, NULL), *other = probe_open(&world, 1, answer);
    gsrt_address role = gsrt_address_of_role(GSRT_ROLE_SCHEDULER, 0, 0);
    probe_do(here, call_role, NULL);
    world_until(&world, &here->count, 1);
    expect_down(here, 0, role, here->numbers[1], GSRT_EXIT_NO_ACTOR);
    must(gsrt_role_bind(world.nodes[0], role, other->address));
    ck_assert_uint_eq(gsrt_role_resolve(world.nodes[0], role), other->address);
    probe_do(here, call_role, NULL);
    world_until(&world, &here->count, 2);
    ck_assert(here->log[1].is_reply);
    /* the root of a rank is found without having been bound here */
    gsrt_address root = gsrt_address_of_role(GSRT_ROLE_NODE, 0, gsrt_address_rank(other->address));
    must(gsrt_role_bind(world_node(&world, 1), root, other->address));
    here->numbers[0] = 10000 * MS;
    probe_do(here, call_ping, &root);
    world_until(&world, &here->count, 3);
    ck_assert(here->log[2].is_reply);
    world_close(&world);
    free(here);
    free(other);
}
END_TEST

/* ---- timers ---- */

static void set_timers(gsrt_actor *self, struct probe *probe, const gsrt_message *message)
{
    (void)message;
    must(gsrt_timer_start(self, 3 * MS, 3, NULL));
    must(gsrt_timer_start(self, 1 * MS, 1, NULL));
    must(gsrt_timer_start(self, 2 * MS, 99, &probe->numbers[0]));
    must(gsrt_timer_start(self, 3 * MS, 4, NULL));
    must(gsrt_timer_start(self, 0, 0, NULL));
    gsrt_timer_cancel(self, probe->numbers[0]);
    gsrt_timer_cancel(self, probe->numbers[0]); /* twice is as good */
    gsrt_timer_cancel(self, 12345);
}

START_TEST(timers_go_off_in_order_and_not_when_cancelled)
{
    struct world world;
    world_open(&world, _i);
    struct probe *here = probe_open(&world, 0, NULL);
    probe_do(here, set_timers, NULL);
    world_until(&world, &here->count, 4);
    world_settle(&world);
    ck_assert_uint_eq(here->count, 4);
    static const uint64_t tags[] = {0, 1, 3, 4};
    uint32_t seen = 0, at_3 = 0, at_4 = 0;
    for (uint32_t i = 0; i < 4; i++) {
        ck_assert_int_eq(here->log[i].kind, GSRT_KIND_TIMER);
        ck_assert_uint_le(here->log[i].value, 4);
        seen |= 1u << here->log[i].value;
        at_3 = here->log[i].value == 3 ? i : at_3;
        at_4 = here->log[i].value == 4 ? i : at_4;
        /* of the real clock, time may pass between two starts: only the twin's stands still */
        if (world.twin != NULL)
            ck_assert_uint_eq(here->log[i].value, tags[i]);
    }
    ck_assert_uint_eq(seen, 1u << 0 | 1u << 1 | 1u << 3 | 1u << 4); /* each once, and none that was cancelled */
    ck_assert_uint_lt(at_3, at_4);
    if (world.twin != NULL) {
        ck_assert_uint_eq(here->log[0].now_ns, 0);
        ck_assert_uint_eq(here->log[1].now_ns, 1 * MS);
        ck_assert_uint_eq(here->log[2].now_ns, 3 * MS);
        ck_assert_uint_eq(here->log[3].now_ns, 3 * MS);
    }
    ck_assert_uint_eq(gsrt_node_next_timer_ns(world.nodes[0]), UINT64_MAX);
    world_close(&world);
    free(here);
}
END_TEST

static void cancel_other_timer(gsrt_actor *self, struct probe *probe, const gsrt_message *message)
{
    if (message->kind == GSRT_KIND_TIMER)
        gsrt_timer_cancel(self, probe->numbers[1]); /* it has gone off too, and waits in the queue */
}

static void set_two_at_once(gsrt_actor *self, struct probe *probe, const gsrt_message *message)
{
    (void)message;
    must(gsrt_timer_start(self, 0, 1, NULL));
    must(gsrt_timer_start(self, 0, 2, &probe->numbers[1]));
}

START_TEST(a_timer_that_went_off_is_still_cancelled)
{
    struct world world;
    world_open(&world, _i);
    struct probe *here = probe_open(&world, 0, cancel_other_timer);
    probe_do(here, set_two_at_once, NULL);
    world_until(&world, &here->count, 1);
    world_settle(&world);
    if (world.twin != NULL) /* on the real clock the second may be due a round later, and then never goes off */
        ck_assert_uint_eq(here->log[0].value, 1);
    ck_assert_uint_eq(here->count, 1);
    world_close(&world);
    free(here);
}
END_TEST

/* ---- monitors ---- */

static void monitor_it(gsrt_actor *self, struct probe *probe, const gsrt_message *message)
{
    (void)message;
    must(gsrt_monitor(self, *(gsrt_address *)probe->arg));
    must(gsrt_monitor(self, *(gsrt_address *)probe->arg)); /* the same monitor */
}

static void unmonitor_it(gsrt_actor *self, struct probe *probe, const gsrt_message *message)
{
    (void)message;
    gsrt_unmonitor(self, *(gsrt_address *)probe->arg);
}

static void kill_it(gsrt_actor *self, struct probe *probe, const gsrt_message *message)
{
    (void)message;
    must(gsrt_kill(self, *(gsrt_address *)probe->arg, GSRT_EXIT_SHUTDOWN));
}

START_TEST(a_monitor_tells_once_when_the_other_ends_and_at_once_when_it_is_gone)
{
    struct world world;
    world_open(&world, _i);
    struct probe *here = probe_open(&world, 0, NULL), *other = probe_open(&world, 1, NULL),
                 *third = probe_open(&world, 2, NULL);
    gsrt_address other_address = other->address;
    probe_do(here, monitor_it, &other_address);
    world_settle(&world);
    world_check(&world);
    ck_assert_uint_eq(here->count, 0);
    probe_do(third, kill_it, &other_address);
    world_until(&world, &other->stopped, 1);
    ck_assert_uint_eq(other->stop_reason, GSRT_EXIT_SHUTDOWN);
    world_until(&world, &here->count, 1);
    expect_down(here, 0, other_address, 0, GSRT_EXIT_SHUTDOWN);
    probe_do(here, monitor_it, &other_address);
    world_until(&world, &here->count, 2);
    expect_down(here, 1, other_address, 0, GSRT_EXIT_NO_ACTOR);
    world_settle(&world);
    ck_assert_uint_ge(here->count, 2);
    for (uint32_t rank = 0; rank < world.rank_count; rank++) {
        gsrt_node_facts facts;
        gsrt_node_read_facts(world.nodes[rank], &facts);
        ck_assert_uint_eq(facts.relation_count, 0);
    }
    world_close(&world);
    free(here);
    free(other);
    free(third);
}
END_TEST

START_TEST(no_down_after_unmonitor)
{
    struct world world;
    world_open(&world, _i);
    struct probe *here = probe_open(&world, 0, NULL), *other = probe_open(&world, 1, exit_now);
    probe_do(here, monitor_it, &other->address);
    world_settle(&world);
    probe_do(here, unmonitor_it, &other->address);
    must(gsrt_node_post(world_node(&world, 1), other->address, GSRT_KIND_PING, &(gsrt_msg_ping){0}, NULL));
    world_until(&world, &other->stopped, 1);
    world_settle(&world);
    ck_assert_uint_eq(here->count, 0);
    world_close(&world);
    free(here);
    free(other);
}
END_TEST

/* ---- links ---- */

static void link_it(gsrt_actor *self, struct probe *probe, const gsrt_message *message)
{
    (void)message;
    must(gsrt_link(self, *(gsrt_address *)probe->arg));
}

static void unlink_it(gsrt_actor *self, struct probe *probe, const gsrt_message *message)
{
    (void)message;
    gsrt_unlink(self, *(gsrt_address *)probe->arg);
}

static void trap(gsrt_actor *self, struct probe *probe, const gsrt_message *message)
{
    (void)probe;
    (void)message;
    gsrt_trap_exits(self, true);
}

/* The reason is numbers[2]. */
static void exit_with(gsrt_actor *self, struct probe *probe, const gsrt_message *message)
{
    (void)message;
    gsrt_exit(self, (uint32_t)probe->numbers[2]);
}

START_TEST(a_crash_takes_the_linked_along)
{
    struct world world;
    world_open(&world, _i);
    struct probe *a = probe_open(&world, 0, NULL), *b = probe_open(&world, 1, NULL), *c = probe_open(&world, 2, NULL);
    probe_do(a, link_it, &b->address);
    probe_do(c, link_it, &b->address);
    world_settle(&world);
    a->numbers[2] = GSRT_EXIT_CRASH;
    probe_do(a, exit_with, NULL);
    world_until(&world, &b->stopped, 1);
    world_until(&world, &c->stopped, 1);
    ck_assert_uint_eq(c->stop_reason, GSRT_EXIT_CRASH);
    world_close(&world);
    free(a);
    free(b);
    free(c);
}
END_TEST

START_TEST(a_normal_end_does_not_and_a_trap_gets_the_exit)
{
    struct world world;
    world_open(&world, _i);
    struct probe *a = probe_open(&world, 0, NULL), *b = probe_open(&world, 1, NULL), *c = probe_open(&world, 2, NULL);
    gsrt_address a_address = a->address;
    probe_do(c, trap, NULL);
    probe_do(b, link_it, &a_address);
    probe_do(c, link_it, &a_address);
    world_settle(&world);
    a->numbers[2] = GSRT_EXIT_NORMAL;
    probe_do(a, exit_with, NULL);
    world_until(&world, &c->count, 1);
    ck_assert_int_eq(c->log[0].kind, GSRT_KIND_EXIT);
    ck_assert_uint_eq(c->log[0].value, a_address);
    ck_assert_uint_eq(c->log[0].reason, GSRT_EXIT_NORMAL);
    world_settle(&world);
    ck_assert_uint_eq(b->stopped, 0);
    /* linking to somebody gone is a crash of that link */
    probe_do(c, link_it, &a_address);
    world_until(&world, &c->count, 2);
    ck_assert_uint_eq(c->log[1].reason, GSRT_EXIT_NO_ACTOR);
    probe_do(b, link_it, &a_address);
    world_until(&world, &b->stopped, 1);
    /* a kill is not trapped */
    gsrt_address c_address = c->address;
    struct probe *d = probe_open(&world, 1, NULL);
    probe_do(d, kill_it, &c_address);
    world_until(&world, &c->stopped, 1);
    world_close(&world);
    free(a);
    free(b);
    free(c);
    free(d);
}
END_TEST

START_TEST(no_exit_after_unlink)
{
    struct world world;
    world_open(&world, _i);
    struct probe *a = probe_open(&world, 0, NULL), *b = probe_open(&world, 1, NULL);
    probe_do(a, link_it, &b->address);
    world_settle(&world);
    probe_do(a, unlink_it, &b->address);
    world_settle(&world);
    b->numbers[2] = GSRT_EXIT_CRASH;
    probe_do(b, exit_with, NULL);
    world_settle(&world);
    ck_assert_uint_eq(b->stopped, 1);
    ck_assert_uint_eq(a->stopped, 0);
    world_close(&world);
    free(a);
    free(b);
}
END_TEST

/* ---- views ---- */

START_TEST(a_new_view_voids_what_is_under_way)
{
    struct world world;
    world_open(&world, _i);
    struct probe *here = probe_open(&world, 0, NULL), *other = probe_open(&world, 1, NULL);
    gsrt_address role = gsrt_address_of_role(GSRT_ROLE_SCHEDULER, 0, 0);
    must(gsrt_role_bind(world.nodes[0], role, other->address));
    here->numbers[0] = 100000 * MS;
    probe_do(here, call_ping, &other->address);
    world_until(&world, &other->count, 1);
    must(gsrt_node_post(world.nodes[0], here->address, GSRT_KIND_STOP, &(gsrt_msg_stop){0}, NULL));
    for (uint32_t rank = 0; rank < world.rank_count; rank++)
        gsrt_node_set_epoch(world.nodes[rank], 1);
    world_until(&world, &here->count, 1);
    world_settle(&world);
    ck_assert_uint_eq(here->count, 1); /* no STOP: it was of the old view */
    expect_down(here, 0, other->address, here->numbers[1], GSRT_EXIT_EPOCH);
    ck_assert_uint_eq(gsrt_role_resolve(world.nodes[0], role), GSRT_NOBODY);
    ck_assert_uint_eq(gsrt_node_epoch(world.nodes[0]), 1);
    probe_do(other, answer_late, NULL);
    world_settle(&world);
    ck_assert_uint_eq(here->count, 1);
    must(gsrt_node_post(world.nodes[0], here->address, GSRT_KIND_STOP, &(gsrt_msg_stop){0}, NULL));
    world_until(&world, &here->count, 2);
    world_close(&world);
    free(here);
    free(other);
}
END_TEST

START_TEST(a_lost_rank_ends_calls_monitors_and_links)
{
    if (_i == WORLD_ALONE)
        return; /* there is no other rank to lose */
    struct world world;
    world_open(&world, _i);
    struct probe *here = probe_open(&world, 0, NULL), *linked = probe_open(&world, 0, NULL),
                 *other = probe_open(&world, 1, NULL);
    gsrt_address role = gsrt_address_of_role(GSRT_ROLE_SCHEDULER, 0, 0);
    must(gsrt_role_bind(world.nodes[0], role, other->address));
    here->numbers[0] = 100000 * MS;
    probe_do(here, monitor_it, &other->address);
    probe_do(here, call_ping, &other->address);
    probe_do(linked, link_it, &other->address);
    world_until(&world, &other->count, 1);
    gsrt_node_rank_lost(world.nodes[0], 1);
    gsrt_node_rank_lost(world.nodes[0], 1);
    world_until(&world, &here->count, 2);
    world_until(&world, &linked->stopped, 1);
    expect_down(here, 0, other->address, here->numbers[1], GSRT_EXIT_RANK_LOST);
    expect_down(here, 1, other->address, 0, GSRT_EXIT_RANK_LOST);
    ck_assert_uint_eq(linked->stop_reason, GSRT_EXIT_RANK_LOST);
    ck_assert_uint_eq(gsrt_role_resolve(world.nodes[0], role), GSRT_NOBODY);
    probe_do(here, call_ping, &other->address);
    world_until(&world, &here->count, 3);
    expect_down(here, 2, other->address, here->numbers[1], GSRT_EXIT_RANK_LOST);
    world_settle(&world);
    ck_assert_uint_eq(here->count, 3);
    world_close(&world);
    free(here);
    free(linked);
    free(other);
}
END_TEST

int main(void)
{
    const TTest *tests[] = {
        messages_arrive_once_and_in_order,
        a_payload_travels_beside_and_may_be_kept,
        what_cannot_be_sent_is_refused_or_dropped,
        a_call_gets_its_reply,
        a_call_without_reply_ends_in_one_down_and_a_late_reply_is_dropped,
        a_call_ends_with_its_callee,
        a_role_is_resolved_when_bound,
        timers_go_off_in_order_and_not_when_cancelled,
        a_timer_that_went_off_is_still_cancelled,
        a_monitor_tells_once_when_the_other_ends_and_at_once_when_it_is_gone,
        no_down_after_unmonitor,
        a_crash_takes_the_linked_along,
        a_normal_end_does_not_and_a_trap_gets_the_exit,
        no_exit_after_unlink,
        a_new_view_voids_what_is_under_way,
        a_lost_rank_ends_calls_monitors_and_links,
    };
    return world_suite("actor", tests, sizeof tests / sizeof tests[0]);
}
