/* Supervision: the machine alone, event by event; then the actor, in each kind of world. */
#include "tests/actors/world.h"

#include "actors/supervisor.h"

/* ---- the machine ---- */

static gsrt_supervisor_machine machine_of(gsrt_supervise_strategy strategy, uint32_t child_count, uint32_t restart_max)
{
    gsrt_supervisor_machine machine;
    gsrt_supervisor_plan plan = {
        .strategy = strategy, .restart_max = restart_max, .window_ns = 1000, .child_count = child_count};
    must(gsrt_supervisor_machine_init(&machine, &plan));
    return machine;
}

static void expect(gsrt_supervisor_machine *machine, gsrt_supervisor_event_kind kind, uint32_t child, uint64_t now_ns,
                   gsrt_supervisor_action_kind action, uint32_t action_child)
{
    gsrt_supervisor_event event = {.kind = kind, .child = child, .is_abnormal = true, .now_ns = now_ns};
    gsrt_supervisor_action got = gsrt_supervisor_machine_step(machine, &event);
    ck_assert_int_eq(got.kind, action);
    ck_assert_uint_eq(got.child, action_child);
}

/* Three children, up. */
static gsrt_supervisor_machine up_of(gsrt_supervise_strategy strategy, uint32_t restart_max)
{
    gsrt_supervisor_machine machine = machine_of(strategy, 3, restart_max);
    expect(&machine, GSRT_SUPERVISOR_BEGIN, 0, 0, GSRT_SUPERVISOR_START, 0);
    expect(&machine, GSRT_SUPERVISOR_STARTED, 0, 0, GSRT_SUPERVISOR_START, 1);
    expect(&machine, GSRT_SUPERVISOR_STARTED, 1, 0, GSRT_SUPERVISOR_START, 2);
    expect(&machine, GSRT_SUPERVISOR_STARTED, 2, 0, GSRT_SUPERVISOR_WAIT, 0);
    ck_assert_int_eq(machine.phase, GSRT_SUPERVISOR_UP);
    return machine;
}

START_TEST(one_for_one_restarts_the_one)
{
    gsrt_supervisor_machine machine = up_of(GSRT_ONE_FOR_ONE, 1);
    expect(&machine, GSRT_SUPERVISOR_ENDED, 1, 5, GSRT_SUPERVISOR_RESTART, 1);
    expect(&machine, GSRT_SUPERVISOR_STARTED, 1, 6, GSRT_SUPERVISOR_WAIT, 0);
    expect(&machine, GSRT_SUPERVISOR_ENDED, 1, 1005, GSRT_SUPERVISOR_RESTART, 1); /* outside the window */
    expect(&machine, GSRT_SUPERVISOR_STARTED, 1, 1006, GSRT_SUPERVISOR_WAIT, 0);
}
END_TEST

START_TEST(rest_for_one_restarts_those_after_it_in_order)
{
    gsrt_supervisor_machine machine = up_of(GSRT_REST_FOR_ONE, 3);
    expect(&machine, GSRT_SUPERVISOR_ENDED, 0, 5, GSRT_SUPERVISOR_STOP, 2);
    expect(&machine, GSRT_SUPERVISOR_ENDED, 2, 6, GSRT_SUPERVISOR_STOP, 1);
    expect(&machine, GSRT_SUPERVISOR_ENDED, 1, 7, GSRT_SUPERVISOR_RESTART, 0);
    expect(&machine, GSRT_SUPERVISOR_STARTED, 0, 7, GSRT_SUPERVISOR_RESTART, 1);
    expect(&machine, GSRT_SUPERVISOR_STARTED, 1, 7, GSRT_SUPERVISOR_RESTART, 2);
    expect(&machine, GSRT_SUPERVISOR_STARTED, 2, 7, GSRT_SUPERVISOR_WAIT, 0);
    ck_assert_uint_eq(machine.restart_count, 1);
    expect(&machine, GSRT_SUPERVISOR_ENDED, 2, 8, GSRT_SUPERVISOR_RESTART, 2); /* nobody after it */
}
END_TEST

START_TEST(one_for_all_restarts_all_even_when_another_ends_meanwhile)
{
    gsrt_supervisor_machine machine = up_of(GSRT_ONE_FOR_ALL, 3);
    expect(&machine, GSRT_SUPERVISOR_ENDED, 1, 5, GSRT_SUPERVISOR_STOP, 2);
    expect(&machine, GSRT_SUPERVISOR_ENDED, 0, 6, GSRT_SUPERVISOR_WAIT, 0); /* it was to be stopped anyway */
    expect(&machine, GSRT_SUPERVISOR_ENDED, 2, 7, GSRT_SUPERVISOR_RESTART, 0);
    expect(&machine, GSRT_SUPERVISOR_STARTED, 0, 7, GSRT_SUPERVISOR_RESTART, 1);
    expect(&machine, GSRT_SUPERVISOR_STARTED, 1, 7, GSRT_SUPERVISOR_RESTART, 2);
    expect(&machine, GSRT_SUPERVISOR_STARTED, 2, 7, GSRT_SUPERVISOR_WAIT, 0);
    ck_assert_uint_eq(machine.restart_count, 1);
}
END_TEST

START_TEST(a_spent_budget_ends_all_in_reverse)
{
    gsrt_supervisor_machine machine = up_of(GSRT_ONE_FOR_ONE, 2);
    for (uint64_t i = 0; i < 2; i++) {
        expect(&machine, GSRT_SUPERVISOR_ENDED, 1, i, GSRT_SUPERVISOR_RESTART, 1);
        expect(&machine, GSRT_SUPERVISOR_STARTED, 1, i, GSRT_SUPERVISOR_WAIT, 0);
    }
    expect(&machine, GSRT_SUPERVISOR_ENDED, 1, 999, GSRT_SUPERVISOR_STOP, 2);
    expect(&machine, GSRT_SUPERVISOR_ENDED, 2, 999, GSRT_SUPERVISOR_STOP, 0);
    expect(&machine, GSRT_SUPERVISOR_ENDED, 0, 999, GSRT_SUPERVISOR_LEAVE, 0);
    ck_assert(machine.is_given_up);
    expect(&machine, GSRT_SUPERVISOR_ENDED, 0, 999, GSRT_SUPERVISOR_WAIT, 0);
}
END_TEST

START_TEST(a_refused_restart_and_a_failed_first_start_give_up)
{
    gsrt_supervisor_machine machine = up_of(GSRT_ONE_FOR_ONE, 9);
    expect(&machine, GSRT_SUPERVISOR_ENDED, 0, 5, GSRT_SUPERVISOR_RESTART, 0);
    expect(&machine, GSRT_SUPERVISOR_REFUSED, 0, 5, GSRT_SUPERVISOR_STOP, 2);
    ck_assert(machine.is_given_up);
    machine = machine_of(GSRT_ONE_FOR_ONE, 2, 9);
    expect(&machine, GSRT_SUPERVISOR_BEGIN, 0, 0, GSRT_SUPERVISOR_START, 0);
    expect(&machine, GSRT_SUPERVISOR_STARTED, 0, 0, GSRT_SUPERVISOR_START, 1);
    expect(&machine, GSRT_SUPERVISOR_FAILED, 1, 0, GSRT_SUPERVISOR_STOP, 0);
    expect(&machine, GSRT_SUPERVISOR_ENDED, 0, 0, GSRT_SUPERVISOR_LEAVE, 0);
    /* a failed restart costs another one */
    machine = up_of(GSRT_ONE_FOR_ONE, 2);
    expect(&machine, GSRT_SUPERVISOR_ENDED, 0, 5, GSRT_SUPERVISOR_RESTART, 0);
    expect(&machine, GSRT_SUPERVISOR_FAILED, 0, 5, GSRT_SUPERVISOR_RESTART, 0);
    expect(&machine, GSRT_SUPERVISOR_FAILED, 0, 5, GSRT_SUPERVISOR_STOP, 2);
}
END_TEST

START_TEST(transient_and_temporary_children)
{
    gsrt_supervisor_machine machine;
    gsrt_supervisor_plan plan = {.strategy = GSRT_ONE_FOR_ALL,
                                 .restart_max = 5,
                                 .window_ns = 1000,
                                 .child_count = 3,
                                 .when = {GSRT_PERMANENT, GSRT_TRANSIENT, GSRT_TEMPORARY}};
    must(gsrt_supervisor_machine_init(&machine, &plan));
    expect(&machine, GSRT_SUPERVISOR_BEGIN, 0, 0, GSRT_SUPERVISOR_START, 0);
    for (uint32_t i = 0; i < 3; i++)
        expect(&machine, GSRT_SUPERVISOR_STARTED, i, 0, i == 2 ? GSRT_SUPERVISOR_WAIT : GSRT_SUPERVISOR_START,
               i == 2 ? 0 : i + 1);
    gsrt_supervisor_event normal = {.kind = GSRT_SUPERVISOR_ENDED, .child = 1};
    ck_assert_int_eq(gsrt_supervisor_machine_step(&machine, &normal).kind, GSRT_SUPERVISOR_WAIT);
    expect(&machine, GSRT_SUPERVISOR_ENDED, 0, 5, GSRT_SUPERVISOR_STOP, 2);
    expect(&machine, GSRT_SUPERVISOR_ENDED, 2, 5, GSRT_SUPERVISOR_RESTART, 0);
    expect(&machine, GSRT_SUPERVISOR_STARTED, 0, 5, GSRT_SUPERVISOR_WAIT, 0); /* the other two stay down */
    plan.child_count = GSRT_CHILD_COUNT_MAX + 1;
    ck_assert_int_eq(gsrt_supervisor_machine_init(&machine, &plan), GSRT_EINVAL);
}
END_TEST

/* ---- the actor ---- */

typedef struct family {
    struct world world;
    struct probe *children[3]; /* their probes are used again at each start */
    uint32_t checks;
    gsrt_status answer;
    gsrt_address supervisor;
} family;

static gsrt_address child_role(uint32_t child)
{
    return gsrt_address_of_role(GSRT_ROLE_REGION, 7, child);
}

static gsrt_status check_restart(void *arg, uint32_t child, uint32_t reason)
{
    family *all = arg;
    (void)child;
    ck_assert_uint_eq(reason, GSRT_EXIT_CRASH);
    all->checks++;
    return all->answer;
}

static void crash(gsrt_actor *self, struct probe *probe, const gsrt_message *message)
{
    (void)probe;
    if (message->kind == GSRT_KIND_PING)
        gsrt_exit(self, GSRT_EXIT_CRASH);
}

static void family_open(family *all, int kind, gsrt_supervise_strategy strategy, uint32_t restart_max, int finish_code)
{
    memset(all, 0, sizeof *all);
    world_open(&all->world, kind);
    gsrt_supervisor_child children[3];
    for (uint32_t i = 0; i < 3; i++) {
        all->children[i] = calloc(1, sizeof *all->children[i]);
        ck_assert_ptr_nonnull(all->children[i]);
        all->children[i]->world = &all->world;
        all->children[i]->on_message = crash;
        children[i] = (gsrt_supervisor_child){
            .behaviour = &probe_behaviour, .arg = &all->children[i], .role = child_role(i), .when = GSRT_PERMANENT};
    }
    gsrt_supervisor_options options = {.strategy = strategy,
                                       .restart_max = restart_max,
                                       .window_ns = 3600000 * MS,
                                       .children = children,
                                       .child_count = 3,
                                       .restart_check = check_restart,
                                       .restart_check_arg = all,
                                       .finish_code = finish_code};
    must(gsrt_node_spawn(all->world.nodes[0], &gsrt_supervisor, &options, &all->supervisor));
}

static void family_close(family *all)
{
    world_close(&all->world);
    for (uint32_t i = 0; i < 3; i++)
        free(all->children[i]);
}

static void crash_child(family *all, uint32_t child)
{
    must(gsrt_node_post(all->world.nodes[0], child_role(child), GSRT_KIND_PING, &(gsrt_msg_ping){0}, NULL));
}

START_TEST(a_crashed_child_is_restarted_under_its_role)
{
    family all;
    family_open(&all, _i, GSRT_REST_FOR_ONE, 3, 0);
    gsrt_address before[3];
    for (uint32_t i = 0; i < 3; i++)
        before[i] = gsrt_role_resolve(all.world.nodes[0], child_role(i));
    crash_child(&all, 1);
    world_until(&all.world, &all.children[2]->stopped, 1);
    world_settle(&all.world);
    ck_assert_uint_eq(all.children[0]->stopped, 0);
    ck_assert_uint_eq(all.children[1]->stop_reason, GSRT_EXIT_CRASH);
    ck_assert_uint_eq(all.children[2]->stop_reason, GSRT_EXIT_SHUTDOWN);
    for (uint32_t i = 0; i < 3; i++) {
        gsrt_address now = gsrt_role_resolve(all.world.nodes[0], child_role(i));
        ck_assert_int_eq(now == before[i], i == 0);
        ck_assert_uint_eq(now, all.children[i]->address);
    }
    ck_assert_uint_eq(all.checks, 2); /* each restart was asked for */
    crash_child(&all, 2);
    world_until(&all.world, &all.children[2]->stopped, 2);
    world_settle(&all.world);
    ck_assert_uint_eq(all.children[1]->stopped, 1);
    family_close(&all);
}
END_TEST

START_TEST(a_refused_restart_ends_the_tree_and_a_root_the_node)
{
    family all;
    family_open(&all, _i, GSRT_ONE_FOR_ONE, 3, 5);
    all.answer = GSRT_EINFEASIBLE;
    crash_child(&all, 1);
    world_until(&all.world, &all.children[0]->stopped, 1);
    world_settle(&all.world);
    ck_assert_uint_eq(all.children[2]->stop_reason, GSRT_EXIT_SHUTDOWN);
    ck_assert(gsrt_node_is_finished(all.world.nodes[0]));
    ck_assert_int_eq(gsrt_node_exit_code(all.world.nodes[0]), 5);
    family_close(&all);
}
END_TEST

START_TEST(a_stopped_supervisor_stops_its_children_first)
{
    family all;
    family_open(&all, _i, GSRT_ONE_FOR_ONE, 3, 5);
    must(gsrt_node_post(all.world.nodes[0], all.supervisor, GSRT_KIND_STOP, &(gsrt_msg_stop){0}, NULL));
    for (uint32_t i = 0; i < 3; i++)
        world_until(&all.world, &all.children[i]->stopped, 1);
    world_settle(&all.world);
    gsrt_node_facts facts;
    gsrt_node_read_facts(all.world.nodes[0], &facts);
    ck_assert_uint_eq(facts.actor_count, 0);
    ck_assert(!gsrt_node_is_finished(all.world.nodes[0]));
    family_close(&all);
}
END_TEST

static gsrt_status init_fails(gsrt_actor *self, void *state, const void *arg)
{
    (void)self;
    (void)state;
    (void)arg;
    return GSRT_EIO;
}

static void receive_nothing(gsrt_actor *self, void *state, const gsrt_message *message)
{
    (void)self;
    (void)state;
    (void)message;
}

/* A tree of two levels: the inner supervisor's budget is spent, the outer one starts it anew. */
START_TEST(a_spent_inner_supervisor_is_restarted_by_the_outer)
{
    struct world world;
    world_open(&world, _i);
    struct probe *leaf = calloc(1, sizeof *leaf);
    ck_assert_ptr_nonnull(leaf);
    leaf->world = &world;
    leaf->on_message = crash;
    gsrt_supervisor_child leaves[] = {{.behaviour = &probe_behaviour, .arg = &leaf, .role = child_role(0)}};
    gsrt_supervisor_options inner = {.restart_max = 1, .window_ns = 3600000 * MS, .children = leaves, .child_count = 1};
    gsrt_supervisor_child inners[] = {{.behaviour = &gsrt_supervisor, .arg = &inner, .role = child_role(1)}};
    gsrt_supervisor_options outer = {.restart_max = 1, .window_ns = 3600000 * MS, .children = inners, .child_count = 1};
    gsrt_address root;
    must(gsrt_node_spawn(world.nodes[0], &gsrt_supervisor, &outer, &root));
    gsrt_address first = gsrt_role_resolve(world.nodes[0], child_role(1));
    for (uint32_t i = 1; i <= 2; i++) {
        must(gsrt_node_post(world.nodes[0], child_role(0), GSRT_KIND_PING, &(gsrt_msg_ping){0}, NULL));
        world_until(&world, &leaf->stopped, i);
        world_settle(&world);
        ck_assert_int_eq(gsrt_role_resolve(world.nodes[0], child_role(1)) == first, i == 1);
    }
    gsrt_node_facts facts;
    gsrt_node_read_facts(world.nodes[0], &facts);
    ck_assert_uint_eq(facts.actor_count, 3);
    /* one whose child cannot be started is not started */
    static const gsrt_behaviour broken = {.name = "broken", .init = init_fails, .receive = receive_nothing};
    gsrt_supervisor_child two[] = {{.behaviour = &probe_behaviour, .arg = &leaf}, {.behaviour = &broken}};
    gsrt_supervisor_options hopeless = {.restart_max = 1, .window_ns = MS, .children = two, .child_count = 2};
    ck_assert_int_eq(gsrt_node_spawn(world.nodes[0], &gsrt_supervisor, &hopeless, &root), GSRT_EIO);
    world_settle(&world);
    gsrt_node_read_facts(world.nodes[0], &facts);
    ck_assert_uint_eq(facts.actor_count, 3);
    world_close(&world);
    free(leaf);
}
END_TEST

int main(void)
{
    const TTest *tests[] = {one_for_one_restarts_the_one,
                            rest_for_one_restarts_those_after_it_in_order,
                            one_for_all_restarts_all_even_when_another_ends_meanwhile,
                            a_spent_budget_ends_all_in_reverse,
                            a_refused_restart_and_a_failed_first_start_give_up,
                            transient_and_temporary_children,
                            a_crashed_child_is_restarted_under_its_role,
                            a_refused_restart_ends_the_tree_and_a_root_the_node,
                            a_stopped_supervisor_stops_its_children_first,
                            a_spent_inner_supervisor_is_restarted_by_the_outer};
    return world_suite("supervisor", tests, sizeof tests / sizeof tests[0]);
}
