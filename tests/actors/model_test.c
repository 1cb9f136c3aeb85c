/* Random operations against a plain model: after each one all nodes settle, every actor has got exactly what the model
 * says, and every invariant of every node holds. A failing line names the seed and the operation.
 */
#include "tests/actors/world.h"

#include "base/random.h"

enum { CAST = 12, OPERATION_COUNT = 400, SEED_COUNT = 4, EXPECTED_MAX = 64 };

struct expected {
    gsrt_kind kind;
    uint64_t value;
    uint32_t reason;
    uint64_t call;
};

struct role {
    struct probe *probe; /* NULL: never was */
    gsrt_address address;
    bool is_alive, is_trapping;
    uint64_t sent; /* numbers its messages */
    struct expected expected[EXPECTED_MAX];
    uint32_t expected_count;
};

struct play {
    struct world world;
    struct role cast[CAST];
    bool watches[CAST][CAST];   /* [who][whom] */
    bool linked[CAST][CAST];    /* symmetric */
    uint64_t calls[CAST][CAST]; /* [caller][callee]: the open call; 0: none */
    uint64_t seed, operation;
};

static uint32_t draw(const struct play *play, uint32_t what, uint32_t below)
{
    return (uint32_t)(gsrt_random_u64(play->seed, what, play->operation) % below);
}

/* ---- what the actors do; numbers[7] carries the operand ---- */

static void do_send(gsrt_actor *self, struct probe *probe, const gsrt_message *message)
{
    (void)message;
    must(gsrt_send(self, *(gsrt_address *)probe->arg, GSRT_KIND_PING, &(gsrt_msg_ping){.number = probe->numbers[7]},
                   NULL));
}

static void do_call(gsrt_actor *self, struct probe *probe, const gsrt_message *message)
{
    (void)message;
    must(gsrt_call(self, *(gsrt_address *)probe->arg, GSRT_KIND_PING, &(gsrt_msg_ping){.number = probe->numbers[7]},
                   NULL, 1000000 * MS, &probe->numbers[6]));
}

static void do_reply(gsrt_actor *self, struct probe *probe, const gsrt_message *message)
{
    (void)message;
    must(gsrt_reply(self, *(gsrt_address *)probe->arg, probe->numbers[7], GSRT_KIND_PONG,
                    &(gsrt_msg_pong){.number = probe->numbers[7]}, NULL));
}

static void do_monitor(gsrt_actor *self, struct probe *probe, const gsrt_message *message)
{
    (void)message;
    must(gsrt_monitor(self, *(gsrt_address *)probe->arg));
}

static void do_unmonitor(gsrt_actor *self, struct probe *probe, const gsrt_message *message)
{
    (void)message;
    gsrt_unmonitor(self, *(gsrt_address *)probe->arg);
}

static void do_link(gsrt_actor *self, struct probe *probe, const gsrt_message *message)
{
    (void)message;
    must(gsrt_link(self, *(gsrt_address *)probe->arg));
}

static void do_unlink(gsrt_actor *self, struct probe *probe, const gsrt_message *message)
{
    (void)message;
    gsrt_unlink(self, *(gsrt_address *)probe->arg);
}

static void do_kill(gsrt_actor *self, struct probe *probe, const gsrt_message *message)
{
    (void)message;
    must(gsrt_kill(self, *(gsrt_address *)probe->arg, (uint32_t)probe->numbers[7]));
}

static void do_exit(gsrt_actor *self, struct probe *probe, const gsrt_message *message)
{
    (void)message;
    gsrt_exit(self, (uint32_t)probe->numbers[7]);
}

static void do_trap(gsrt_actor *self, struct probe *probe, const gsrt_message *message)
{
    (void)message;
    gsrt_trap_exits(self, probe->numbers[7] != 0);
}

/* ---- the model ---- */

static void expect(struct role *role, gsrt_kind kind, uint64_t value, uint32_t reason, uint64_t call)
{
    ck_assert_uint_lt(role->expected_count, EXPECTED_MAX);
    role->expected[role->expected_count++] = (struct expected){kind, value, reason, call};
}

static void model_end(struct play *play, uint32_t who, uint32_t reason)
{
    struct role *dead = &play->cast[who];
    dead->is_alive = false;
    for (uint32_t i = 0; i < CAST; i++) {
        struct role *other = &play->cast[i];
        if (play->watches[i][who] && other->is_alive)
            expect(other, GSRT_KIND_DOWN, dead->address, reason, 0);
        if (play->calls[i][who] != 0 && other->is_alive)
            expect(other, GSRT_KIND_DOWN, dead->address, reason, play->calls[i][who]);
        play->watches[i][who] = play->watches[who][i] = false;
        play->calls[i][who] = play->calls[who][i] = 0;
    }
    for (uint32_t i = 0; i < CAST; i++) {
        if (!play->linked[who][i])
            continue;
        play->linked[who][i] = play->linked[i][who] = false;
        if (play->cast[i].is_trapping)
            expect(&play->cast[i], GSRT_KIND_EXIT, dead->address, reason, 0);
        else if (reason != GSRT_EXIT_NORMAL)
            model_end(play, i, reason);
    }
}

/* Who died with another may have got the other's word before, or not: only the living are compared. The order of words
 * from different actors is not promised. */
static void compare(const struct play *play, struct role *role)
{
    if (role->is_alive) {
        const struct probe *probe = role->probe;
        ck_assert_msg(probe->count == role->expected_count, "seed %lu, operation %lu: %u messages instead of %u",
                      play->seed, play->operation, probe->count, role->expected_count);
        for (uint32_t i = 0; i < role->expected_count; i++) {
            const struct expected *want = &role->expected[i];
            uint32_t found = 0;
            for (uint32_t j = 0; j < probe->count; j++)
                found += probe->log[j].kind == want->kind && probe->log[j].value == want->value &&
                         probe->log[j].reason == want->reason && probe->log[j].call == want->call;
            ck_assert_msg(found == 1, "seed %lu, operation %lu: %s came %u times", play->seed, play->operation,
                          gsrt_kind_name(want->kind), found);
        }
    }
    role->expected_count = 0;
    if (role->probe != NULL) {
        ck_assert_uint_eq(role->probe->stopped, !role->is_alive);
        role->probe->count = 0;
    }
}

static void enter(struct play *play, uint32_t who)
{
    struct role *role = &play->cast[who];
    free(role->probe);
    uint64_t sent = role->sent;
    memset(role, 0, sizeof *role);
    role->sent = sent;
    role->probe = probe_open(&play->world, who, NULL);
    role->address = role->probe->address;
    role->is_alive = true;
}

static void act(struct role *me, struct role *other, probe_fn *what, uint64_t operand)
{
    me->probe->numbers[7] = operand;
    probe_do(me->probe, what, &other->address);
}

static void act_call(struct play *play, uint32_t a, uint32_t b)
{
    struct role *me = &play->cast[a], *other = &play->cast[b];
    if (play->calls[a][b] != 0)
        return; /* one at a time is enough for the model */
    act(me, other, do_call, ++me->sent);
    uint64_t number = me->probe->numbers[6];
    if (!other->is_alive) {
        expect(me, GSRT_KIND_DOWN, other->address, GSRT_EXIT_NO_ACTOR, number);
        return;
    }
    world_settle(&play->world);
    ck_assert_uint_eq(other->probe->count, 1);
    expect(other, GSRT_KIND_PING, me->sent, 0, other->probe->log[0].call);
    ck_assert_uint_eq(other->probe->log[0].call, number);
    play->calls[a][b] = number;
}

static void act_reply(struct play *play, uint32_t a, uint32_t b)
{
    uint64_t number = play->calls[b][a];
    if (number == 0)
        return;
    act(&play->cast[a], &play->cast[b], do_reply, number);
    expect(&play->cast[b], GSRT_KIND_PONG, number, 0, number);
    play->calls[b][a] = 0;
}

static void act_relate(struct play *play, uint32_t a, uint32_t b, bool is_link)
{
    struct role *me = &play->cast[a], *other = &play->cast[b];
    act(me, other, is_link ? do_link : do_monitor, 0);
    if (other->is_alive) {
        if (is_link)
            play->linked[a][b] = play->linked[b][a] = true;
        else
            play->watches[a][b] = true;
    } else if (!is_link)
        expect(me, GSRT_KIND_DOWN, other->address, GSRT_EXIT_NO_ACTOR, 0);
    else if (me->is_trapping)
        expect(me, GSRT_KIND_EXIT, other->address, GSRT_EXIT_NO_ACTOR, 0);
    else
        model_end(play, a, GSRT_EXIT_NO_ACTOR);
}

static void operate(struct play *play)
{
    uint32_t a = draw(play, 1, CAST), b = (a + 1 + draw(play, 2, CAST - 1)) % CAST;
    struct role *me = &play->cast[a], *other = &play->cast[b];
    uint32_t reasons[] = {GSRT_EXIT_NORMAL, GSRT_EXIT_SHUTDOWN, GSRT_EXIT_CRASH};
    uint32_t reason = reasons[draw(play, 3, 3)];
    if (!me->is_alive) {
        enter(play, a);
        return;
    }
    switch (draw(play, 4, 16)) {
    case 0:
    case 1:
    case 2:
        act(me, other, do_send, ++me->sent);
        if (other->is_alive)
            expect(other, GSRT_KIND_PING, me->sent, 0, 0);
        break;
    case 3:
    case 4: act_call(play, a, b); break;
    case 5:
    case 6: act_reply(play, a, b); break;
    case 7:
    case 8:
    case 9: act_relate(play, a, b, false); break;
    case 10:
        act(me, other, do_unmonitor, 0);
        play->watches[a][b] = false;
        break;
    case 11:
    case 12: act_relate(play, a, b, true); break;
    case 13:
        act(me, other, do_unlink, 0);
        play->linked[a][b] = play->linked[b][a] = false;
        break;
    case 14:
        me->is_trapping = draw(play, 5, 2) != 0;
        act(me, other, do_trap, me->is_trapping);
        break;
    default:
        if (draw(play, 6, 2) == 0) {
            act(me, other, do_exit, reason);
            model_end(play, a, reason);
        } else {
            act(me, other, do_kill, reason);
            if (other->is_alive)
                model_end(play, b, reason);
        }
        break;
    }
}

START_TEST(the_nodes_do_what_the_model_says)
{
    for (uint64_t seed = 1; seed <= SEED_COUNT; seed++) {
        struct play *play = calloc(1, sizeof *play);
        ck_assert_ptr_nonnull(play);
        play->seed = seed;
        world_open(&play->world, _i);
        for (uint32_t i = 0; i < CAST; i++)
            enter(play, i);
        for (play->operation = 0; play->operation < OPERATION_COUNT; play->operation++) {
            operate(play);
            world_settle(&play->world);
            for (uint32_t i = 0; i < CAST; i++)
                compare(play, &play->cast[i]);
            world_check(&play->world);
        }
        world_close(&play->world);
        for (uint32_t i = 0; i < CAST; i++)
            free(play->cast[i].probe);
        free(play);
    }
}
END_TEST

int main(void)
{
    const TTest *tests[] = {the_nodes_do_what_the_model_says};
    return world_suite("model", tests, sizeof tests / sizeof tests[0]);
}
