/* A node against a peer that sends anything: well-formed envelopes with random kinds, addresses, numbers and bodies.
 * It must not break, its memory stays bounded, its own actors get only what its rules allow.
 */
#include "tests/unit.h"

#include "actors/node.h"
#include "base/limits.h"
#include "base/random.h"
#include "mailbox/codec.h"

#include <string.h>

enum { ENVELOPE_COUNT = 60000, ACTOR_COUNT = 8 };

/* A transport that takes everything, or nothing. */
struct fake {
    gsrt_transport transport;
    bool is_full;
    uint64_t posted;
};

static gsrt_status fake_post(gsrt_transport *transport, uint32_t peer, const gsrt_envelope *envelope)
{
    struct fake *self = (struct fake *)(void *)transport;
    (void)peer;
    (void)envelope;
    if (self->is_full)
        return GSRT_EFULL;
    self->posted++;
    return GSRT_OK;
}

static uint32_t fake_progress(gsrt_transport *transport)
{
    (void)transport;
    return 0;
}

static gsrt_status fake_arm(gsrt_transport *transport, int *out_fd)
{
    (void)transport;
    (void)out_fd;
    return GSRT_ESTATE;
}

static void fake_cut(gsrt_transport *transport, uint32_t peer)
{
    (void)transport;
    (void)peer;
}

static bool fake_is_flushed(const gsrt_transport *transport)
{
    (void)transport;
    return true;
}

static void fake_free(gsrt_transport *transport)
{
    (void)transport;
}

static const gsrt_transport_ops fake_ops = {.post = fake_post,
                                            .progress = fake_progress,
                                            .arm = fake_arm,
                                            .cut = fake_cut,
                                            .is_flushed = fake_is_flushed,
                                            .free = fake_free};

/* ---- the actors: they answer some calls, and count what only the runtime may bring ---- */

static uint64_t wrong_count; /* of this test alone */

static void victim_receive(gsrt_actor *self, void *state, const gsrt_message *message)
{
    uint64_t *count = state;
    wrong_count += message->kind == GSRT_KIND_TIMER || message->kind == GSRT_KIND_WRITABLE ||
                   message->kind == GSRT_KIND_JOB || message->kind == GSRT_KIND_DOWN ||
                   message->kind == GSRT_KIND_EXIT || message->is_reply;
    if (message->call != 0 && ++*count % 2 == 0 &&
        gsrt_reply(self, message->from, message->call, GSRT_KIND_ACK, &(gsrt_msg_ack){0}, NULL) == GSRT_EINVAL)
        ck_abort_msg("a reply could not be sent");
}

static const gsrt_behaviour victim = {"victim", sizeof(uint64_t), NULL, victim_receive, NULL};

struct dice {
    uint64_t seed, counter;
};

static uint64_t roll(struct dice *dice)
{
    return gsrt_random_u64(dice->seed, 1, dice->counter++);
}

static gsrt_address roll_address(struct dice *dice, const gsrt_address *actors)
{
    switch (roll(dice) % 6) {
    case 0: return roll(dice);
    case 1: return gsrt_address_of_actor((uint32_t)roll(dice) % 4, (uint32_t)roll(dice) % 2, (uint32_t)roll(dice) % 9);
    case 2: return gsrt_address_of_role((gsrt_role)(roll(dice) % 9), 0, (uint32_t)roll(dice) % 4);
    case 3: return gsrt_address_of_actor(1, 0, 1 + (uint32_t)roll(dice) % 5000);
    default: return actors[roll(dice) % ACTOR_COUNT];
    }
}

/* Half of the bodies are sound ones of small kinds, with random numbers in them; the rest are random bytes. */
static size_t roll_body(struct dice *dice, gsrt_kind kind, const gsrt_address *actors, uint8_t *room, size_t capacity)
{
    union {
        gsrt_msg_down down;
        gsrt_msg_exit exit;
        gsrt_msg_monitor monitor;
        gsrt_msg_moved moved;
        gsrt_msg_ack ack;
    } body = {.down = {roll_address(dice, actors), roll(dice) % 3, (uint32_t)roll(dice) % 9}};
    size_t len;
    if (kind == GSRT_KIND_MOVED)
        body.moved.rank = (uint32_t)roll(dice) % 5;
    bool is_small = kind <= GSRT_KIND_ACK;
    if (is_small && roll(dice) % 8 != 0 && gsrt_body_encode(kind, &body, room, capacity, &len) == GSRT_OK)
        return len;
    len = roll(dice) % 40;
    for (size_t i = 0; i < len; i++)
        room[i] = (uint8_t)roll(dice);
    return len;
}

static void attack(gsrt_node *node, struct fake *fake, struct dice *dice, gsrt_address *actors)
{
    static const gsrt_kind kinds[] = {GSRT_KIND_DOWN,      GSRT_KIND_EXIT, GSRT_KIND_TIMER,  GSRT_KIND_MONITOR,
                                      GSRT_KIND_UNMONITOR, GSRT_KIND_LINK, GSRT_KIND_UNLINK, GSRT_KIND_MOVED,
                                      GSRT_KIND_ACK,       GSRT_KIND_PING, GSRT_KIND_STEP,   GSRT_KIND_JOB};
    uint8_t room[256];
    for (uint32_t i = 0; i < ENVELOPE_COUNT; i++) {
        gsrt_kind kind = roll(dice) % 50 == 0 ? (gsrt_kind)(roll(dice) % 300) : kinds[roll(dice) % 12];
        gsrt_envelope envelope = {.kind = kind,
                                  .epoch = (uint32_t)(roll(dice) % 20 == 0),
                                  .from = roll_address(dice, actors),
                                  .to = roll_address(dice, actors),
                                  .sequence = roll(dice) % 4 == 0 ? roll(dice) : i,
                                  .call = roll(dice) % 2 == 0 ? roll(dice) : 0,
                                  .is_reply = roll(dice) % 4 == 0,
                                  .deadline_ns = roll(dice)};
        envelope.body = gsrt_span_of(room, roll_body(dice, kind, actors, room, sizeof room));
        fake->is_full = roll(dice) % 5 == 0;
        fake->transport.events.on_receive(fake->transport.events.arg, (uint32_t)roll(dice) % 4, &envelope);
        if (i % 64 == 0)
            while (gsrt_node_step(node) > 0)
                ;
        if (i % 4096 == 0)
            ck_assert(gsrt_node_check(node));
        for (uint32_t j = 0; i % 256 == 0 && j < ACTOR_COUNT; j++)
            ck_assert_int_eq(gsrt_node_spawn(node, &victim, NULL, &actors[j]), GSRT_OK); /* kills are legal */
    }
}

static uint64_t clock_of_test(void *arg)
{
    return ++*(uint64_t *)arg; /* timeouts of hostile calls are far away, as they said */
}

START_TEST(anything_from_a_peer_is_survived)
{
    for (uint64_t seed = 1; seed <= 2; seed++) {
        struct fake fake = {.transport = {.ops = &fake_ops}};
        gsrt_node *node;
        uint64_t now = 0;
        gsrt_address actors[ACTOR_COUNT] = {0};
        struct dice dice = {.seed = seed};
        gsrt_node_options options = {
            .rank = 0, .rank_count = 3, .transport = &fake.transport, .clock_ns = clock_of_test, .clock_arg = &now};
        wrong_count = 0;
        ck_assert_int_eq(gsrt_node_create(&options, &node), GSRT_OK);
        attack(node, &fake, &dice, actors);
        gsrt_node_facts facts;
        gsrt_node_read_facts(node, &facts);
        ck_assert_uint_eq(facts.messages_received, ENVELOPE_COUNT);
        ck_assert_uint_gt(facts.messages_refused, 0);
        ck_assert_uint_gt(facts.messages_dropped, 0);
        ck_assert_uint_gt(fake.posted, 0);
        ck_assert_uint_le(facts.call_count, GSRT_CALL_COUNT_MAX);
        ck_assert_uint_eq(wrong_count, 0);
        gsrt_node_rank_lost(node, 1);
        gsrt_node_set_epoch(node, 1);
        while (gsrt_node_step(node) > 0)
            ;
        gsrt_node_read_facts(node, &facts);
        ck_assert_uint_eq(facts.call_count, 0);
        ck_assert(gsrt_node_check(node));
        gsrt_node_free(node);
    }
}
END_TEST

int main(void)
{
    const TTest *tests[] = {anything_from_a_peer_is_survived};
    return unit_run("hostile", tests, sizeof tests / sizeof tests[0]);
}
