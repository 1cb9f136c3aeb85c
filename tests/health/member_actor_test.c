/* The member actor: what it makes of a transport that has gone deaf. Nodes over the in-process transport, with a clock
 * and keepers of the test's own. */
#include "health/member_actor.h"
#include "mailbox/inproc.h"
#include "tests/unit.h"

#include <stddef.h>
#include <stdlib.h>

enum { RANK_COUNT = 2, ROUNDS_MAX = 100000, STEP_NS = 1000 * 1000 };

struct seat {
    gsrt_transport *transport;
    gsrt_node *node;
    gsrt_keepers keepers;
    uint32_t deposited; /* epoch that the keeper holds, and has not said so */
    gsrt_member member;
};

struct cluster {
    uint64_t now_ns;
    struct seat seats[RANK_COUNT];
};

static void must(gsrt_status status)
{
    ck_assert_msg(status == GSRT_OK, "%s", gsrt_status_text(status));
}

static uint64_t clock_ns(void *arg)
{
    return ((const struct cluster *)arg)->now_ns;
}

/* ---- keepers that hold each deposit, and end nobody ---- */

static void deposit(gsrt_keepers *keepers, const gsrt_deposit *what)
{
    ((struct seat *)(void *)((char *)keepers - offsetof(struct seat, keepers)))->deposited = what->epoch;
}

static void end_worker(gsrt_keepers *keepers, uint32_t rank, uint32_t incarnation)
{
    (void)keepers, (void)rank, (void)incarnation;
}

static const gsrt_keepers_ops keepers_ops = {.deposit = deposit, .end_worker = end_worker};

/* ---- the root actor, which lets every view be ---- */

static gsrt_status root_init(gsrt_actor *self, void *state, const void *arg)
{
    (void)self, (void)state, (void)arg;
    return GSRT_OK;
}

static void root_receive(gsrt_actor *self, void *state, const gsrt_message *message)
{
    (void)self, (void)state, (void)message;
}

static const gsrt_behaviour root = {.name = "root", .state_bytes = 1, .init = root_init, .receive = root_receive};

/* ---- the cluster ---- */

static void step(struct cluster *c)
{
    c->now_ns += STEP_NS;
    for (uint32_t rank = 0; rank < RANK_COUNT; rank++) {
        struct seat *seat = &c->seats[rank];
        uint32_t epoch = seat->deposited;
        seat->deposited = 0;
        if (epoch != 0)
            seat->keepers.events.on_deposited(seat->keepers.events.arg, epoch);
        (void)gsrt_node_step(seat->node);
    }
}

static bool is_member(const struct cluster *c, uint32_t of, uint32_t rank)
{
    const gsrt_membership_view *view = gsrt_membership_installed(c->seats[of].member.machine);
    return view->epoch > 0 && view->incarnations[rank] != GSRT_NOT_A_MEMBER;
}

static struct cluster *cluster_open(void)
{
    struct cluster *c = calloc(1, sizeof *c);
    gsrt_transport *transports[RANK_COUNT];
    ck_assert_ptr_nonnull(c);
    must(gsrt_inproc_create(RANK_COUNT, transports));
    for (uint32_t rank = 0; rank < RANK_COUNT; rank++) {
        struct seat *seat = &c->seats[rank];
        gsrt_node_options options = {.rank = rank,
                                     .rank_count = RANK_COUNT,
                                     .transport = transports[rank],
                                     .clock_ns = clock_ns,
                                     .clock_arg = c};
        seat->transport = transports[rank];
        seat->keepers.ops = &keepers_ops;
        must(gsrt_node_create(&options, &seat->node));
        gsrt_member_options member = gsrt_member_options_of(GSRT_CONTACT_MS_MAX);
        member.keepers = &seat->keepers;
        must(gsrt_node_spawn(seat->node, &root, NULL, &member.root));
        must(gsrt_member_start(&seat->member, seat->node, &member));
    }
    for (int i = 0; i < ROUNDS_MAX && !(is_member(c, 0, 1) && is_member(c, 1, 0)); i++)
        step(c);
    ck_assert(is_member(c, 0, 1) && is_member(c, 1, 0));
    return c;
}

static void cluster_close(struct cluster *c)
{
    for (uint32_t rank = 0; rank < RANK_COUNT; rank++) {
        gsrt_node_free(c->seats[rank].node);
        gsrt_member_fini(&c->seats[rank].member);
    }
    free(c);
}

static void go_deaf(struct cluster *c, uint32_t rank)
{
    const gsrt_transport_events *events = &c->seats[rank].transport->events;
    events->on_deaf(events->arg);
}

START_TEST(the_deaf_one_starts_again_where_another_can_go_on)
{
    struct cluster *c = cluster_open();
    go_deaf(c, 0);
    ck_assert_int_eq(gsrt_node_exit_code(c->seats[0].node), GSRT_EXIT_AGAIN);
    cluster_close(c);
}
END_TEST

/* Rank 1 dies for good and leaves rank 0 deaf. Was: rank 0 started again, found nobody to join, and the run was lost.
 */
START_TEST(the_last_one_goes_on_deaf_and_takes_nobody_in)
{
    struct cluster *c = cluster_open();
    gsrt_node *node = c->seats[0].node;
    const gsrt_keepers_events *keeper = &c->seats[0].keepers.events;
    gsrt_keeper_word word = {.rank = 1, .is_last = true};
    word.deposit = (gsrt_deposit){.epoch = gsrt_node_epoch(node), .rank_count = RANK_COUNT};
    keeper->on_word(keeper->arg, &word);
    for (int i = 0; i < ROUNDS_MAX && is_member(c, 0, 1); i++)
        step(c);
    ck_assert(is_member(c, 0, 0) && !is_member(c, 0, 1));
    uint32_t epoch = gsrt_node_epoch(node);

    go_deaf(c, 0);
    ck_assert_int_ne(gsrt_node_exit_code(node), GSRT_EXIT_AGAIN);
    const gsrt_transport_events *events = &c->seats[0].transport->events;
    events->on_join(events->arg, 1, 1);
    for (int i = 0; i < 5000; i++) /* 5 s: longer than any hold of a view */
        step(c);
    ck_assert_uint_eq(gsrt_node_epoch(node), epoch);
    ck_assert(is_member(c, 0, 0) && !is_member(c, 0, 1));
    cluster_close(c);
}
END_TEST

int main(void)
{
    const TTest *tests[] = {the_deaf_one_starts_again_where_another_can_go_on,
                            the_last_one_goes_on_deaf_and_takes_nobody_in};
    return unit_run("member_actor", tests, sizeof tests / sizeof tests[0]);
}
