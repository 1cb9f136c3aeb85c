/* Faults in virtual time: each does what twin.h says, and a thousand seeds of them leave a cluster that works. */
#include "tests/actors/faults.h"

#include "tests/unit.h"

static heard first_of(const cluster *c, heard_what what, uint32_t rank, uint32_t peer)
{
    heard entry = {0};
    ck_assert_msg(heard_of(c, what, rank, peer, &entry) > 0, "rank %u heard nothing (%d) of %u", rank, (int)what, peer);
    return entry;
}

/* ---- death and return ---- */

START_TEST(a_killed_rank_is_noticed_said_and_mended)
{
    cluster *c = cluster_open((gsrt_twin_options){.seed = 1}, 1 * MS);
    cluster_until(c, 10 * MS);
    ck_assert_uint_gt(c->members[0]->answers, 0);
    gsrt_twin_kill(c->twin, 1);
    ck_assert_ptr_null(gsrt_twin_node(c->twin, 1));
    ck_assert_uint_eq(first_of(c, DEAD, 1, 1).now_ns, 10 * MS);
    cluster_until(c, 60 * MS);
    for (uint32_t rank = 0; rank < 3; rank += 2) {
        heard suspected = first_of(c, SUSPECTED, rank, 1), word = first_of(c, WORD, rank, 1),
              joined = first_of(c, JOINED, rank, 1);
        ck_assert_uint_ge(suspected.now_ns, 11 * MS);
        ck_assert_uint_lt(suspected.now_ns, 11 * MS + 200 * US);
        ck_assert_uint_eq(suspected.value, GSRT_EPEER);
        ck_assert_uint_ge(word.now_ns, 11 * MS);
        ck_assert_uint_lt(word.now_ns, 12 * MS);
        ck_assert_uint_eq(word.value, 0);
        ck_assert(!word.is_last && !word.was_ordered);
        ck_assert_uint_eq(word.epoch, 0);
        ck_assert_uint_ge(joined.now_ns, 30 * MS);
        ck_assert_uint_eq(joined.value, 1);
        ck_assert_uint_eq(heard_of(c, SUSPECTED, rank, 1, NULL), 1);
        ck_assert_uint_eq(heard_of(c, WORD, rank, 1, NULL), 1);
        ck_assert_uint_eq(heard_of(c, JOINED, rank, 1, NULL), 1);
        ck_assert_uint_eq(first_of(c, JOINED, 1, rank).value, 0);
        ck_assert_uint_eq(c->members[rank]->answered_by[1], 1);
        ck_assert_uint_gt(c->members[1]->answered_ns[rank], 31 * MS);
    }
    ck_assert_uint_eq(first_of(c, STARTED, 1, 1).now_ns, 30 * MS);
    cluster_close(c);
}
END_TEST

START_TEST(two_that_die_together_find_each_other)
{
    cluster *c = cluster_open((gsrt_twin_options){.seed = 2}, 1 * MS);
    cluster_until(c, 5 * MS);
    gsrt_twin_kill(c->twin, 1);
    gsrt_twin_kill(c->twin, 2);
    cluster_until(c, 60 * MS);
    ck_assert_uint_eq(first_of(c, JOINED, 1, 2).value, 1);
    ck_assert_uint_eq(first_of(c, JOINED, 2, 1).value, 1);
    ck_assert_uint_eq(heard_of(c, JOINED, 1, 2, NULL), 1);
    ck_assert_uint_eq(heard_of(c, JOINED, 2, 1, NULL), 1);
    ck_assert_uint_gt(c->members[1]->answered_ns[2], 30 * MS);
    ck_assert_uint_gt(c->members[2]->answered_ns[1], 30 * MS);
    cluster_close(c);
}
END_TEST

/* Messages of 10 us each on a wire of 50 us: what has arrived of ten when their sender dies after 35 us. */
static uint64_t arrived_after_death(uint64_t seed)
{
    gsrt_twin_options options = {.seed = seed, .link = {50 * US, 0.001}};
    cluster *c = cluster_open(options, 0);
    uint64_t before_ns = gsrt_twin_now_ns(c->twin);
    for (uint64_t i = 1; i <= 10; i++)
        sound(
            gsrt_node_post(c->members[0]->node, c->members[1]->echo, GSRT_KIND_ACK, &(gsrt_msg_ack){.value = i}, NULL));
    gsrt_transport_facts facts;
    gsrt_node_transport(c->members[0]->node)->ops->read_facts(gsrt_node_transport(c->members[0]->node), &facts);
    ck_assert_uint_eq(facts.messages_sent, 10);
    uint64_t one_ns = facts.bytes_sent / 10 * 1000;
    cluster_until(c, before_ns + one_ns * 7 / 2); /* three have left, the fourth is half on the wire */
    gsrt_twin_kill(c->twin, 0);
    cluster_until(c, 10 * MS);
    gsrt_node_facts received;
    gsrt_node_read_facts(c->members[1]->node, &received);
    ck_assert_uint_eq(c->members[1]->stream_last[0][0], received.messages_received); /* a prefix */
    ck_assert_uint_eq(heard_of(c, SUSPECTED, 1, 0, NULL), 1);
    cluster_close(c);
    return received.messages_received;
}

START_TEST(what_had_not_left_is_lost_and_of_the_rest_a_prefix_arrives)
{
    uint32_t seen[11] = {0};
    for (uint64_t seed = 0; seed < 64; seed++)
        seen[arrived_after_death(seed)]++;
    for (uint32_t i = 4; i <= 10; i++)
        ck_assert_uint_eq(seen[i], 0);
    ck_assert_uint_gt(seen[3], 8);
    ck_assert_uint_gt(seen[0] + seen[1] + seen[2], 8); /* those that had arrived before count too */
}
END_TEST

/* ---- an actor whose round ends its own rank ---- */

typedef struct suicide {
    gsrt_twin *twin;
    gsrt_address to;
} suicide;

static void suicide_receive(gsrt_actor *self, void *state, const gsrt_message *message)
{
    suicide *s = state;
    (void)message;
    gsrt_twin_kill(s->twin, gsrt_node_rank(gsrt_node_of(self)));
    for (uint64_t i = 1; i < 5; i++)
        sound(gsrt_send(self, s->to, GSRT_KIND_ACK, &(gsrt_msg_ack){.value = i}, NULL));
}

static gsrt_status suicide_init(gsrt_actor *self, void *state, const void *arg)
{
    (void)self;
    memcpy(state, arg, sizeof(suicide));
    return GSRT_OK;
}

static const gsrt_behaviour suicide_behaviour = {"suicide", sizeof(suicide), suicide_init, suicide_receive, NULL};

START_TEST(a_rank_killed_inside_its_round_says_nothing_more)
{
    cluster *c = cluster_open((gsrt_twin_options){.seed = 3}, 0);
    suicide arg = {c->twin, c->members[1]->echo};
    gsrt_address address;
    sound(gsrt_node_spawn(c->members[0]->node, &suicide_behaviour, &arg, &address));
    sound(gsrt_node_post(c->members[0]->node, address, GSRT_KIND_ACK, &(gsrt_msg_ack){0}, NULL));
    cluster_until(c, 5 * MS);
    ck_assert_uint_eq(first_of(c, DEAD, 0, 0).now_ns, 0);
    ck_assert_uint_eq(c->members[1]->stream_last[0][0], 0);
    ck_assert_uint_eq(first_of(c, SUSPECTED, 1, 0).value, GSRT_EPEER);
    cluster_close(c);
}
END_TEST

START_TEST(open_calls_end_because_the_rank_is_lost_and_not_because_it_says_so)
{
    cluster *c = cluster_open((gsrt_twin_options){.seed = 4}, 1 * MS);
    cluster_until(c, 20 * MS - 10 * US);
    gsrt_twin_stop(c->twin, 2, 1 * MS); /* calls are open there */
    cluster_until(c, 20 * MS + 500 * US);
    ck_assert_uint_lt(c->members[0]->calls_ended + c->members[1]->calls_ended,
                      c->members[0]->calls_made + c->members[1]->calls_made);
    gsrt_twin_kill(c->twin, 2);
    cluster_until(c, 30 * MS);
    ck_assert_uint_eq(c->members[0]->down_reason | c->members[1]->down_reason, GSRT_EXIT_RANK_LOST);
    cluster_close(c);
}
END_TEST

/* An actor that watches another one, and writes down why it ended. */
typedef struct watcher {
    gsrt_address other;
    uint32_t *out_reason;
} watcher;

static gsrt_status watcher_init(gsrt_actor *self, void *state, const void *arg)
{
    watcher *w = state;
    memcpy(w, arg, sizeof *w);
    return w->other == GSRT_NOBODY ? GSRT_OK : gsrt_monitor(self, w->other);
}

static void watcher_receive(gsrt_actor *self, void *state, const gsrt_message *message)
{
    watcher *w = state;
    (void)self;
    if (message->kind == GSRT_KIND_DOWN)
        *w->out_reason = ((const gsrt_msg_down *)message->body)->reason;
}

static const gsrt_behaviour watcher_behaviour = {"watcher", sizeof(watcher), watcher_init, watcher_receive, NULL};

START_TEST(a_monitor_hears_that_the_rank_is_lost_and_nothing_of_the_dead_actor)
{
    cluster *c = cluster_open((gsrt_twin_options){.seed = 21}, 0);
    uint32_t reason = UINT32_MAX, unused = UINT32_MAX;
    watcher watched = {GSRT_NOBODY, &unused};
    gsrt_address address;
    sound(gsrt_node_spawn(c->members[1]->node, &watcher_behaviour, &watched, &address));
    watcher arg = {address, &reason};
    sound(gsrt_node_spawn(c->members[0]->node, &watcher_behaviour, &arg, &address));
    cluster_until(c, 1 * MS);
    gsrt_twin_kill(c->twin, 1);
    cluster_until(c, 2 * MS - 1);
    ck_assert_uint_eq(reason, UINT32_MAX);
    cluster_until(c, 3 * MS);
    ck_assert_uint_eq(reason, GSRT_EXIT_RANK_LOST);
    cluster_close(c);
}
END_TEST

START_TEST(a_window_that_the_dead_had_filled_is_open_to_the_next)
{
    cluster *c = cluster_open((gsrt_twin_options){.seed = 22}, 0);
    gsrt_node *node = c->members[0]->node;
    uint64_t value = 0;
    gsrt_twin_stop(c->twin, 1, UINT64_MAX);
    while (gsrt_node_post(node, c->members[1]->echo, GSRT_KIND_ACK, &(gsrt_msg_ack){.value = value + 1}, NULL) ==
           GSRT_OK)
        value++;
    ck_assert_uint_eq(value, GSRT_TWIN_WINDOW);
    cluster_until(c, 10 * MS);
    ck_assert_int_eq(gsrt_node_post(node, c->members[1]->echo, GSRT_KIND_ACK, &(gsrt_msg_ack){.value = value}, NULL),
                     GSRT_EFULL);
    gsrt_twin_kill(c->twin, 1);
    cluster_until(c, 50 * MS);
    for (uint64_t i = 1; i <= GSRT_TWIN_WINDOW; i++)
        sound(gsrt_node_post(node, c->members[1]->echo, GSRT_KIND_ACK, &(gsrt_msg_ack){.value = i}, NULL));
    cluster_until(c, 100 * MS);
    gsrt_node_facts facts;
    gsrt_node_read_facts(c->members[1]->node, &facts);
    ck_assert_uint_ge(facts.messages_received, GSRT_TWIN_WINDOW);
    ck_assert_uint_eq(c->members[1]->stream_last[0][0], GSRT_TWIN_WINDOW);
    cluster_close(c);
}
END_TEST

/* ---- stop ---- */

START_TEST(a_stopped_rank_goes_on_late)
{
    cluster *c = cluster_open((gsrt_twin_options){.seed = 5}, 1 * MS);
    cluster_until(c, 10 * MS);
    uint64_t answers = c->members[1]->answers, made = c->members[1]->calls_made;
    gsrt_twin_stop(c->twin, 1, 30 * MS);
    cluster_until(c, 40 * MS - 1);
    ck_assert_uint_eq(c->members[1]->answers, answers);
    ck_assert_uint_eq(c->members[1]->calls_made, made);
    ck_assert_ptr_nonnull(gsrt_twin_node(c->twin, 1));
    cluster_until(c, 60 * MS);
    ck_assert_uint_gt(c->members[1]->calls_made, made);
    ck_assert_uint_gt(c->members[0]->answered_ns[1], 40 * MS);
    ck_assert_uint_eq(heard_of(c, SUSPECTED, 0, 1, NULL), 0); /* its sockets are there */
    cluster_close(c);
}
END_TEST

START_TEST(an_order_ends_a_stopped_rank)
{
    cluster *c = cluster_open((gsrt_twin_options){.seed = 6}, 1 * MS);
    gsrt_keepers *keepers = gsrt_twin_keepers(c->twin, 0);
    cluster_until(c, 10 * MS);
    gsrt_twin_stop(c->twin, 1, UINT64_MAX);
    keepers->ops->end_worker(keepers, 1, 0);
    cluster_until(c, 60 * MS);
    heard word = first_of(c, WORD, 0, 1);
    ck_assert(word.was_ordered && !word.is_last);
    ck_assert_uint_eq(word.value, 0);
    ck_assert_uint_eq(c->members[1]->incarnation, 1);
    ck_assert_uint_eq(c->members[0]->answered_by[1], 1);
    keepers->ops->end_worker(keepers, 1, 0); /* said again: it is dead already */
    cluster_until(c, 70 * MS);
    ck_assert_uint_eq(heard_of(c, WORD, 0, 1, NULL), 2);
    ck_assert_uint_eq(heard_of(c, WORD, 2, 1, NULL), 1);
    ck_assert_uint_eq(heard_of(c, DEAD, 1, 1, NULL), 1);
    keepers->ops->end_worker(keepers, 1, 7); /* nobody knows that one */
    cluster_until(c, 500 * MS);
    ck_assert_uint_eq(heard_of(c, WORD, 0, 1, NULL), 2);
    ck_assert_uint_eq(heard_of(c, UNREACHABLE, 0, 1, NULL), 0);
    cluster_close(c);
}
END_TEST

START_TEST(drills_are_carried_out_by_the_keeper)
{
    cluster *c = cluster_open((gsrt_twin_options){.seed = 7}, 1 * MS);
    gsrt_keepers *keepers = gsrt_twin_keepers(c->twin, 0);
    cluster_until(c, 10 * MS);
    keepers->ops->drill(keepers, 1, GSRT_DRILL_STOP, 20);
    keepers->ops->drill(keepers, 2, GSRT_DRILL_KILL, 0);
    keepers->ops->drill(keepers, 99, GSRT_DRILL_KILL, 0);
    cluster_until(c, 29 * MS);
    ck_assert_uint_lt(c->members[0]->answered_ns[1], 11 * MS);
    ck_assert(!first_of(c, WORD, 0, 2).was_ordered);
    cluster_until(c, 60 * MS);
    ck_assert_uint_gt(c->members[0]->answered_ns[1], 30 * MS);
    ck_assert_uint_eq(c->members[0]->answered_by[2], 1);
    cluster_close(c);
}
END_TEST

/* ---- keepers ---- */

START_TEST(a_budget_ends)
{
    gsrt_twin_options options = {.seed = 8, .recovery = {.restart_max = 2, .restart_window_ns = 1000 * MS}};
    cluster *c = cluster_open(options, 1 * MS);
    for (uint32_t i = 0; i < 3; i++) {
        cluster_until(c, (10 + 50 * i) * MS);
        gsrt_twin_kill(c->twin, 1);
    }
    cluster_until(c, 400 * MS);
    ck_assert_uint_eq(heard_of(c, STARTED, 1, 1, NULL), 2);
    ck_assert_uint_eq(heard_of(c, WORD, 0, 1, NULL), 3);
    ck_assert(c->log[c->log_count - 1].is_last);
    ck_assert_ptr_null(gsrt_twin_node(c->twin, 1));
    gsrt_node_finish(c->members[0]->node, 0);
    ck_assert_int_eq(gsrt_twin_run(c->twin, 500 * MS, UINT64_MAX), GSRT_ETIMEDOUT);
    gsrt_node_finish(c->members[2]->node, 0);
    ck_assert_int_eq(gsrt_twin_run(c->twin, UINT64_MAX, UINT64_MAX), GSRT_OK);
    cluster_close(c);
}
END_TEST

START_TEST(a_window_that_has_passed_gives_the_budget_back)
{
    gsrt_twin_options options = {.seed = 9, .recovery = {.restart_max = 1, .restart_window_ns = 100 * MS}};
    cluster *c = cluster_open(options, 0);
    for (uint32_t i = 0; i < 3; i++) {
        cluster_until(c, (10 + 200 * i) * MS);
        gsrt_twin_kill(c->twin, 1);
    }
    cluster_until(c, 500 * MS);
    ck_assert_uint_eq(heard_of(c, STARTED, 1, 1, NULL), 3);
    cluster_close(c);
}
END_TEST

/* The epoch in the word of a rank that made deposit 1, was told so, and died `later_ns` after it made deposit 2. */
static uint32_t deposit_survives(uint64_t seed, uint64_t later_ns)
{
    cluster *c = cluster_open((gsrt_twin_options){.seed = seed}, 0);
    gsrt_keepers *keepers = gsrt_twin_keepers(c->twin, 1);
    keepers->ops->deposit(keepers, &(gsrt_deposit){.epoch = 1, .rank_count = 3});
    cluster_until(c, 1 * MS);
    heard deposited = first_of(c, DEPOSITED, 1, 1);
    ck_assert_uint_eq(deposited.value, 1);
    ck_assert_uint_eq(deposited.now_ns, 40 * US);
    keepers->ops->deposit(keepers, &(gsrt_deposit){.epoch = 2, .rank_count = 3});
    cluster_until(c, 1 * MS + later_ns);
    gsrt_twin_kill(c->twin, 1);
    cluster_until(c, 50 * MS);
    uint32_t epoch = first_of(c, WORD, 0, 1).epoch;
    ck_assert_uint_eq(first_of(c, WORD, 2, 1).epoch, epoch);
    cluster_close(c);
    return epoch;
}

START_TEST(a_word_carries_the_last_deposit)
{
    uint32_t kept = 0;
    for (uint64_t seed = 0; seed < 32; seed++) {
        uint32_t epoch = deposit_survives(seed, 10 * US); /* on its way to the keeper */
        ck_assert_uint_ge(epoch, 1);
        kept += epoch == 2;
        ck_assert_uint_eq(deposit_survives(seed, 40 * US), 2);
    }
    ck_assert_uint_gt(kept, 4);
    ck_assert_uint_lt(kept, 28);
}
END_TEST

START_TEST(a_worker_without_a_keeper_leaves)
{
    cluster *c = cluster_open((gsrt_twin_options){.seed = 10}, 1 * MS);
    gsrt_keepers *keepers = gsrt_twin_keepers(c->twin, 0);
    cluster_until(c, 10 * MS);
    gsrt_twin_kill_keeper(c->twin, 1);
    cluster_until(c, 20 * MS);
    ck_assert_uint_eq(first_of(c, DEAD, 1, 1).now_ns, 10 * MS + 20 * US);
    ck_assert_uint_eq(first_of(c, SUSPECTED, 0, 1).value, GSRT_ECANCELED);
    ck_assert_uint_eq(first_of(c, SUSPECTED, 2, 1).value, GSRT_ECANCELED);
    keepers->ops->end_worker(keepers, 1, 0);
    cluster_until(c, 500 * MS);
    ck_assert_uint_eq(first_of(c, UNREACHABLE, 0, 1).now_ns, 220 * MS);
    ck_assert_uint_eq(heard_of(c, WORD, 0, 1, NULL), 0);
    ck_assert_uint_eq(heard_of(c, STARTED, 1, 1, NULL), 0);
    /* a stopped one learns of it when it goes on */
    gsrt_twin_stop(c->twin, 2, 100 * MS);
    gsrt_twin_kill_keeper(c->twin, 2);
    cluster_until(c, 700 * MS);
    ck_assert_uint_eq(first_of(c, DEAD, 2, 2).now_ns, 600 * MS);
    cluster_close(c);
}
END_TEST

START_TEST(after_the_end_nobody_is_started_again)
{
    cluster *c = cluster_open((gsrt_twin_options){.seed = 11}, 0);
    gsrt_keepers *keepers = gsrt_twin_keepers(c->twin, 0);
    cluster_until(c, 1 * MS);
    gsrt_twin_kill(c->twin, 1);
    keepers->ops->finished(keepers, 0);
    gsrt_node_finish(c->members[0]->node, 0);
    cluster_until(c, 100 * MS);
    ck_assert_uint_eq(heard_of(c, STARTED, 1, 1, NULL), 0);
    ck_assert(first_of(c, WORD, 2, 1).is_last);
    keepers = gsrt_twin_keepers(c->twin, 2);
    keepers->ops->end_worker(keepers, 0, 0); /* it has finished: dead, for whoever asks */
    cluster_until(c, 200 * MS);
    ck_assert(first_of(c, WORD, 2, 0).is_last);
    gsrt_node_finish(c->members[2]->node, 0);
    ck_assert_int_eq(gsrt_twin_run(c->twin, UINT64_MAX, UINT64_MAX), GSRT_OK);
    cluster_close(c);
}
END_TEST

START_TEST(a_rank_that_wants_to_start_again_does)
{
    gsrt_twin_options options = {.seed = 12, .recovery = {.again_exit_code = 86}};
    cluster *c = cluster_open(options, 1 * MS);
    cluster_until(c, 10 * MS);
    gsrt_node_finish(c->members[1]->node, 86);
    sound(gsrt_node_post(c->members[1]->node, c->members[1]->echo, GSRT_KIND_ACK, &(gsrt_msg_ack){1}, NULL));
    cluster_until(c, 60 * MS);
    ck_assert_uint_eq(first_of(c, SUSPECTED, 0, 1).value, GSRT_ECANCELED);
    ck_assert(!first_of(c, WORD, 0, 1).is_last);
    ck_assert_uint_eq(c->members[0]->answered_by[1], 1);
    cluster_close(c);
}
END_TEST

/* ---- links ---- */

START_TEST(messages_wait_for_the_end_of_a_partition)
{
    cluster *c = cluster_open((gsrt_twin_options){.seed = 13}, 1 * MS);
    gsrt_keepers *keepers = gsrt_twin_keepers(c->twin, 0);
    cluster_until(c, 10 * MS);
    gsrt_twin_partition(c->twin, (uint8_t[]){0, 0, 1}, 300 * MS);
    keepers->ops->end_worker(keepers, 2, 0);
    gsrt_twin_kill(c->twin, 1);
    cluster_until(c, 309 * MS);
    ck_assert_uint_lt(c->members[0]->answered_ns[2], 11 * MS);
    ck_assert_uint_gt(c->members[0]->answered_ns[1], 290 * MS);
    ck_assert_uint_eq(first_of(c, UNREACHABLE, 0, 2).now_ns, 210 * MS);
    ck_assert_uint_eq(heard_of(c, WORD, 0, 1, NULL), 1);
    ck_assert_uint_eq(heard_of(c, WORD, 2, 1, NULL), 0);
    ck_assert_uint_eq(heard_of(c, SUSPECTED, 2, 1, NULL), 0);
    cluster_until(c, 350 * MS);
    ck_assert_uint_gt(c->members[0]->answered_ns[2], 311 * MS);
    ck_assert_uint_eq(heard_of(c, WORD, 2, 1, NULL), 0); /* it was said once */
    ck_assert_uint_eq(first_of(c, JOINED, 2, 1).value, 1);
    ck_assert_uint_eq(heard_of(c, SUSPECTED, 0, 2, NULL), 0);
    cluster_close(c);
}
END_TEST

START_TEST(a_link_that_is_cut_off_for_long_fails_on_both_sides)
{
    cluster *c = cluster_open((gsrt_twin_options){.seed = 14, .recovery = {.link_timeout_ns = 100 * MS}}, 1 * MS);
    cluster_until(c, 10 * MS);
    gsrt_twin_partition(c->twin, (uint8_t[]){0, 0, 1}, 60 * MS);
    cluster_until(c, 50 * MS);
    gsrt_twin_partition(c->twin, (uint8_t[]){0, 0, 1}, 150 * MS); /* goes on without a gap */
    cluster_until(c, 300 * MS);
    for (uint32_t rank = 0; rank < 2; rank++) {
        ck_assert_uint_eq(first_of(c, SUSPECTED, rank, 2).now_ns, 110 * MS);
        ck_assert_uint_eq(first_of(c, SUSPECTED, rank, 2).value, GSRT_ELINK);
        ck_assert_uint_eq(first_of(c, SUSPECTED, 2, rank).now_ns, 110 * MS);
        ck_assert_uint_lt(c->members[rank]->answered_ns[2], 11 * MS); /* and it stays so, */
    }
    gsrt_twin_kill(c->twin, 2);
    cluster_until(c, 350 * MS); /* until the next incarnation */
    ck_assert_uint_eq(c->members[0]->answered_by[2], 1);
    cluster_close(c);
    c = cluster_open((gsrt_twin_options){.seed = 15}, 1 * MS); /* for good: nothing is kept for ever */
    gsrt_twin_partition(c->twin, (uint8_t[]){0, 1, 2}, UINT64_MAX);
    cluster_until(c, 4000 * MS);
    ck_assert_uint_eq(first_of(c, SUSPECTED, 0, 1).now_ns, 2000 * MS);
    ck_assert_uint_lt(c->twin->events.count, 64);
    cluster_close(c);
}
END_TEST

START_TEST(bad_links_keep_order_and_lose_nothing)
{
    cluster *c = cluster_open((gsrt_twin_options){.seed = 16, .recovery = {.link_timeout_ns = UINT64_MAX}}, 1 * MS);
    gsrt_twin_link_faults faults = {
        .loss = 0.2, .duplication = 0.2, .delay = 0.3, .retransmit_ns = 2 * MS, .delay_ns = 1 * MS};
    for (uint32_t i = 0; i < 9; i++)
        sound(gsrt_twin_set_link_faults(c->twin, i / 3, i % 3, &faults));
    cluster_until(c, 90 * MS);
    uint64_t in_order = c->members[1]->stream_last[0][0];
    ck_assert_uint_gt(in_order, 10);
    ck_assert_uint_lt(in_order, 46); /* some wait */
    faults = (gsrt_twin_link_faults){0};
    for (uint32_t i = 0; i < 9; i++)
        sound(gsrt_twin_set_link_faults(c->twin, i / 3, i % 3, &faults));
    ck_assert_int_eq(gsrt_twin_set_link_faults(c->twin, 0, 9, &faults), GSRT_EINVAL);
    ck_assert_int_eq(gsrt_twin_set_link_faults(c->twin, 0, 1, &(gsrt_twin_link_faults){.loss = 2}), GSRT_EINVAL);
    cluster_close(c);
    c = cluster_open((gsrt_twin_options){.seed = 17, .recovery = {.link_timeout_ns = 50 * MS}}, 1 * MS);
    faults = (gsrt_twin_link_faults){.loss = 1, .retransmit_ns = 2 * MS};
    sound(gsrt_twin_set_link_faults(c->twin, 0, 1, &faults));
    cluster_until(c, 200 * MS);
    ck_assert_uint_eq(first_of(c, SUSPECTED, 0, 1).value, GSRT_ELINK);
    ck_assert_uint_eq(first_of(c, SUSPECTED, 1, 0).value, GSRT_ELINK);
    ck_assert_uint_eq(heard_of(c, SUSPECTED, 0, 2, NULL), 0);
    cluster_close(c);
}
END_TEST

START_TEST(a_cut_is_heard_on_the_other_side)
{
    cluster *c = cluster_open((gsrt_twin_options){.seed = 18}, 1 * MS);
    cluster_until(c, 10 * MS);
    gsrt_node_facts before, after;
    gsrt_node_read_facts(c->members[1]->node, &before);
    for (uint64_t i = 0; i < 100; i++)
        sound(gsrt_node_post(c->members[0]->node, c->members[1]->echo, GSRT_KIND_ACK, &(gsrt_msg_ack){.value = i + 999},
                             NULL));
    gsrt_node_rank_lost(c->members[0]->node, 1);
    cluster_until(c, 10 * MS + 500 * US);
    gsrt_node_read_facts(c->members[1]->node, &after);
    ck_assert_uint_lt(after.messages_received, before.messages_received + 50); /* what was under way is void */
    cluster_until(c, 20 * MS);
    ck_assert_uint_eq(first_of(c, SUSPECTED, 1, 0).value, GSRT_EPEER);
    ck_assert_uint_eq(heard_of(c, SUSPECTED, 0, 1, NULL), 0);
    cluster_close(c);
}
END_TEST

START_TEST(a_slow_rank_takes_longer)
{
    uint64_t answers[2];
    for (uint32_t i = 0; i < 2; i++) {
        cluster *c = cluster_open((gsrt_twin_options){.seed = 19, .message_ns = 100 * US}, 1 * MS);
        if (i == 1)
            gsrt_twin_slow(c->twin, 1, 50, 100 * MS);
        ck_assert((gsrt_node_slowness(c->members[1]->node) > 1) == (i == 1));
        cluster_until(c, 90 * MS);
        answers[i] = c->members[1]->answers;
        cluster_until(c, 110 * MS);
        ck_assert(!(gsrt_node_slowness(c->members[1]->node) > 1));
        cluster_close(c);
    }
    ck_assert_uint_lt(answers[1] * 2, answers[0]);
}
END_TEST

/* ---- all together ---- */

/* Rank 0 is left alone, so that somebody keeps count. */
static void random_fault(cluster *c, uint64_t seed, uint64_t number)
{
    uint64_t draw = gsrt_random_u64(seed, 77, number);
    uint32_t rank = (uint32_t)(draw >> 8) % c->rank_count;
    uint64_t time_ns = (draw >> 16) % (40 * MS);
    gsrt_keepers *keepers = gsrt_twin_keepers(c->twin, 0);
    uint8_t sides[FAULTS_RANKS_MAX];
    gsrt_twin_link_faults faults = {
        .loss = 0.05, .duplication = 0.1, .delay = 0.2, .retransmit_ns = 1 * MS, .delay_ns = 500 * US};
    switch (draw % 8) {
    case 0:
    case 1: gsrt_twin_kill(c->twin, rank); return;
    case 2: gsrt_twin_stop(c->twin, rank, time_ns); return;
    case 3:
        for (uint32_t i = 0; i < c->rank_count; i++)
            sides[i] = (uint8_t)(draw >> (40 + i) & 1);
        gsrt_twin_partition(c->twin, sides, time_ns);
        return;
    case 4: gsrt_twin_slow(c->twin, rank, 1 + (double)(draw >> 56), time_ns); return;
    case 5:
        if (c->members[rank] != NULL)
            keepers->ops->end_worker(keepers, rank, c->members[rank]->incarnation);
        return;
    case 6: sound(gsrt_twin_set_link_faults(c->twin, rank, (rank + 1) % c->rank_count, &faults)); return;
    case 7:
        keepers = gsrt_twin_keepers(c->twin, rank);
        if (gsrt_twin_node(c->twin, rank) != NULL)
            keepers->ops->deposit(keepers, &(gsrt_deposit){.epoch = (uint32_t)number, .rank_count = c->rank_count});
        return;
    }
}

/* Everybody alive gets answers from everybody alive, of the incarnation that lives now. */
static void check_alive(const cluster *c, uint64_t since_ns, uint64_t seed)
{
    for (uint32_t a = 0; a < c->rank_count; a++)
        for (uint32_t b = 0; b < c->rank_count; b++) {
            const member *m = c->members[a], *other = c->members[b];
            ck_assert_msg(m != NULL, "seed %llu: rank %u is not back", (unsigned long long)seed, a);
            if (a == b || other == NULL)
                continue;
            ck_assert_msg(m->answered_ns[b] > since_ns && m->answered_by[b] == other->incarnation,
                          "seed %llu: rank %u has no answer of rank %u", (unsigned long long)seed, a, b);
            ck_assert_uint_le(m->calls_made - m->calls_ended, 8);
        }
}

static uint64_t run_random(uint64_t seed)
{
    uint32_t rank_count = 2 + (uint32_t)(seed % 4);
    gsrt_twin_options options = {
        .rank_count = rank_count, .seed = seed, .jitter = 0.5, .message_ns = seed % 2 == 0 ? 0 : 500};
    cluster *c = cluster_open(options, 3 * MS);
    uint64_t now_ns = 0;
    for (uint64_t i = 0; i < 12; i++) {
        now_ns += gsrt_random_u64(seed, 78, i) % (8 * MS);
        cluster_until(c, now_ns);
        random_fault(c, seed, i);
        cluster_check(c);
    }
    gsrt_twin_link_faults none = {0};
    for (uint32_t i = 0; i < rank_count * rank_count; i++)
        sound(gsrt_twin_set_link_faults(c->twin, i / rank_count, i % rank_count, &none));
    cluster_until(c, now_ns + 120 * MS); /* stops and partitions have ended, and who died is back */
    check_alive(c, now_ns + 80 * MS, seed);
    ck_assert_uint_lt(c->twin->events.capacity, 4096);
    for (uint32_t rank = 0; rank < rank_count; rank++)
        gsrt_node_finish(c->members[rank]->node, 0);
    ck_assert_int_eq(gsrt_twin_run(c->twin, UINT64_MAX, UINT64_MAX), GSRT_OK);
    uint64_t digest = gsrt_twin_digest(c->twin);
    cluster_close(c);
    return digest;
}

/* In four parts: each has its own time limit. */
static void run_seeds(uint64_t from)
{
    for (uint64_t seed = from; seed < from + 250; seed++)
        (void)run_random(seed);
}

START_TEST(a_thousand_seeds_first_part)
{
    run_seeds(0);
}
END_TEST

START_TEST(a_thousand_seeds_second_part)
{
    run_seeds(250);
}
END_TEST

START_TEST(a_thousand_seeds_third_part)
{
    run_seeds(500);
}
END_TEST

START_TEST(a_thousand_seeds_fourth_part)
{
    run_seeds(750);
}
END_TEST

START_TEST(a_seed_repeats_and_another_does_not)
{
    for (uint64_t seed = 0; seed < 40; seed++) {
        uint64_t digest = run_random(seed);
        ck_assert_uint_eq(run_random(seed), digest);
        ck_assert_uint_ne(run_random(seed + 4), digest); /* as many ranks */
    }
}
END_TEST

START_TEST(memory_is_bounded_over_many_deaths)
{
    gsrt_twin_options options = {.seed = 20, .recovery = {.restart_window_ns = 1}};
    cluster *c = cluster_open(options, 1 * MS);
    uint32_t capacity = 0;
    for (uint64_t i = 0; i < 250; i++) {
        c->log_count = 0;
        cluster_until(c, (i + 1) * 40 * MS);
        ck_assert_ptr_nonnull(c->members[i % 3]);
        gsrt_twin_kill(c->twin, (uint32_t)(i % 3));
        if (i == 20)
            capacity = c->twin->events.capacity;
    }
    ck_assert_uint_eq(c->twin->events.capacity, capacity);
    cluster_close(c);
}
END_TEST

int main(void)
{
    const TTest *tests[] = {a_killed_rank_is_noticed_said_and_mended,
                            two_that_die_together_find_each_other,
                            what_had_not_left_is_lost_and_of_the_rest_a_prefix_arrives,
                            a_rank_killed_inside_its_round_says_nothing_more,
                            open_calls_end_because_the_rank_is_lost_and_not_because_it_says_so,
                            a_monitor_hears_that_the_rank_is_lost_and_nothing_of_the_dead_actor,
                            a_window_that_the_dead_had_filled_is_open_to_the_next,
                            a_stopped_rank_goes_on_late,
                            an_order_ends_a_stopped_rank,
                            drills_are_carried_out_by_the_keeper,
                            a_budget_ends,
                            a_window_that_has_passed_gives_the_budget_back,
                            a_word_carries_the_last_deposit,
                            a_worker_without_a_keeper_leaves,
                            after_the_end_nobody_is_started_again,
                            a_rank_that_wants_to_start_again_does,
                            messages_wait_for_the_end_of_a_partition,
                            a_link_that_is_cut_off_for_long_fails_on_both_sides,
                            bad_links_keep_order_and_lose_nothing,
                            a_cut_is_heard_on_the_other_side,
                            a_slow_rank_takes_longer,
                            a_thousand_seeds_first_part,
                            a_thousand_seeds_second_part,
                            a_thousand_seeds_third_part,
                            a_thousand_seeds_fourth_part,
                            a_seed_repeats_and_another_does_not,
                            memory_is_bounded_over_many_deaths};
    return unit_run("twin_faults", tests, sizeof tests / sizeof tests[0]);
}
