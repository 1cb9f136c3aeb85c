/* The exchange store: early pieces, any order of arrival, refusals, and that every payload is given back. And the link
 * actor under back pressure: nothing lost, order kept, in the twin. */
#include "actors/courier.h"
#include "actors/twin.h"
#include "collectives/exchange.h"
#include "collectives/link_actor.h"

#include <check.h>

static gsrt_payload *payload_of(uint8_t content)
{
    gsrt_payload *payload = gsrt_payload_create(16);
    ck_assert_ptr_nonnull(payload);
    payload->data[0] = content;
    return payload;
}

START_TEST(pieces_wait_for_their_exchange_in_any_order)
{
    gsrt_exchange_store *store = gsrt_exchange_store_create(3);
    gsrt_payload *pieces[3] = {payload_of(0), payload_of(1), payload_of(2)};
    ck_assert_int_eq(gsrt_exchange_store_put(store, 7, 1, 2, pieces[2]), GSRT_OK); /* of a later exchange */
    ck_assert_int_eq(gsrt_exchange_store_put(store, 7, 0, 2, pieces[2]), GSRT_OK);
    ck_assert(!gsrt_exchange_store_has(store, 7, 0, 6));
    ck_assert_int_eq(gsrt_exchange_store_put(store, 7, 0, 1, pieces[1]), GSRT_OK);
    ck_assert(gsrt_exchange_store_has(store, 7, 0, 6));
    ck_assert(!gsrt_exchange_store_has(store, 7, 0, 7));
    ck_assert(gsrt_exchange_store_has(store, 8, 0, 0)); /* nobody needed: complete */
    ck_assert_ptr_eq(gsrt_exchange_store_get(store, 7, 0, 1), pieces[1]);
    ck_assert_ptr_null(gsrt_exchange_store_get(store, 8, 0, 1));
    gsrt_exchange_store_drop(store, 7, 0);
    ck_assert_uint_eq(gsrt_exchange_store_count(store), 1);
    ck_assert(gsrt_exchange_store_has(store, 7, 1, 4));
    ck_assert_uint_eq(atomic_load(&pieces[1]->references), 1);
    ck_assert_uint_eq(atomic_load(&pieces[2]->references), 2);
    ck_assert_ptr_null(gsrt_exchange_store_free(store));
    for (int i = 0; i < 3; i++) {
        ck_assert_uint_eq(atomic_load(&pieces[i]->references), 1);
        gsrt_payload_unref(pieces[i]);
    }
}
END_TEST

START_TEST(strangers_and_repetitions_are_refused)
{
    gsrt_exchange_store *store = gsrt_exchange_store_create(2);
    gsrt_payload *piece = payload_of(0);
    ck_assert_int_eq(gsrt_exchange_store_put(store, 1, 0, 2, piece), GSRT_EINVAL);
    ck_assert_int_eq(gsrt_exchange_store_put(store, 1, 0, 0, NULL), GSRT_EINVAL);
    ck_assert_int_eq(gsrt_exchange_store_put(store, 1, 0, 1, piece), GSRT_OK);
    ck_assert_int_eq(gsrt_exchange_store_put(store, 1, 0, 1, piece), GSRT_EINVAL);
    gsrt_exchange_store_free(store);
    ck_assert_uint_eq(atomic_load(&piece->references), 1);
    gsrt_payload_unref(piece);
}
END_TEST

START_TEST(early_pieces_are_bounded)
{
    gsrt_exchange_store *store = gsrt_exchange_store_create(1);
    gsrt_payload *piece = payload_of(0);
    uint64_t step = 0;
    while (gsrt_exchange_store_put(store, step, 0, 0, piece) == GSRT_OK && step < 1000000)
        step++;
    ck_assert_int_eq(gsrt_exchange_store_put(store, step, 0, 0, piece), GSRT_ELIMIT);
    ck_assert_uint_eq(gsrt_exchange_store_count(store), step);
    gsrt_exchange_store_free(store);
    gsrt_payload_unref(piece);
}
END_TEST

START_TEST(cost_is_hops_and_bytes)
{
    ck_assert_uint_lt(gsrt_exchange_cost_bytes(1, 9000), gsrt_exchange_cost_bytes(2, 1000)); /* cheaper than a hop */
    ck_assert_uint_gt(gsrt_exchange_cost_bytes(1, 201000), gsrt_exchange_cost_bytes(2, 1000));
    ck_assert_uint_eq(gsrt_exchange_cost_bytes(0, 7), 7);
}
END_TEST

/* ---- the link actor ---- */

enum { LETTERS = 3000 };

typedef struct receiver {
    uint64_t next;
} receiver;

static void receive(gsrt_actor *self, void *state, const gsrt_message *message)
{
    receiver *r = *(receiver **)state;
    ck_assert_int_eq(message->kind, GSRT_KIND_PIECE);
    ck_assert_uint_eq(((const gsrt_msg_piece *)message->body)->step, r->next);
    ck_assert_uint_eq(message->payload->data[0], (uint8_t)r->next);
    if (++r->next == LETTERS)
        gsrt_node_finish(gsrt_node_of(self), 0);
}

static gsrt_status receiver_init(gsrt_actor *self, void *state, const void *arg)
{
    (void)self;
    *(receiver **)state = *(receiver *const *)arg;
    return GSRT_OK;
}

static void send_all(gsrt_actor *self, void *state, const gsrt_message *message)
{
    (void)state;
    (void)message;
    for (uint64_t i = 0; i < LETTERS; i++) {
        gsrt_payload *payload = payload_of((uint8_t)i);
        gsrt_status status = gsrt_courier_send(self, gsrt_address_of_role(GSRT_ROLE_REGION, 0, 1), GSRT_KIND_PIECE,
                                               &(gsrt_msg_piece){.step = i}, payload);
        gsrt_payload_unref(payload);
        ck_assert_int_eq(status, GSRT_OK);
    }
}

START_TEST(a_link_keeps_order_and_loses_nothing_under_back_pressure)
{
    static const gsrt_behaviour to = {
        .name = "to", .state_bytes = sizeof(receiver *), .init = receiver_init, .receive = receive};
    static const gsrt_behaviour from = {.name = "from", .state_bytes = 1, .receive = send_all};
    gsrt_twin *twin;
    gsrt_link_facts facts = {0};
    receiver state = {0};
    receiver *pointer = &state;
    gsrt_address sender, target;
    gsrt_twin_options options = {
        .rank_count = 2, .seed = 1, .link = {.latency_ns = 1000, .bytes_per_ns = 0.1}, .message_ns = 10};
    ck_assert_int_eq(gsrt_twin_create(&options, &twin), GSRT_OK);
    ck_assert_int_eq(gsrt_node_spawn(gsrt_twin_node(twin, 1), &to, &pointer, &target), GSRT_OK);
    gsrt_node *node = gsrt_twin_node(twin, 0);
    ck_assert_int_eq(gsrt_link_actor_start(node, 1, &facts), GSRT_OK);
    ck_assert_int_eq(gsrt_node_spawn(node, &from, NULL, &sender), GSRT_OK);
    ck_assert_int_eq(gsrt_role_bind(node, gsrt_address_of_role(GSRT_ROLE_REGION, 0, 1), target), GSRT_OK);
    ck_assert_int_eq(gsrt_node_post(node, sender, GSRT_KIND_PING, &(gsrt_msg_ping){.number = 1}, NULL), GSRT_OK);
    (void)gsrt_twin_run(twin, UINT64_MAX, 10000000);
    ck_assert_uint_eq(state.next, LETTERS);
    ck_assert_uint_eq(facts.letters, LETTERS);
    ck_assert_uint_eq(facts.payload_bytes, LETTERS * 16);
    ck_assert_uint_gt(facts.stalls, 0); /* else this has shown nothing */
    gsrt_twin_free(twin);
}
END_TEST

/* ---- a link that ends ---- */

enum { PILE = 3000 }; /* more than a window: some wait */

typedef struct ending {
    gsrt_payload *payload;
    gsrt_node *node;
    gsrt_address link;   /* to be killed */
    bool is_link_killed; /* before the letters are sent, in the same receive; else after */
    bool is_peer_replaced;
} ending;

static gsrt_status ending_init(gsrt_actor *self, void *state, const void *arg)
{
    (void)self;
    *(ending **)state = *(ending *const *)arg;
    return GSRT_OK;
}

static void pile_up(gsrt_actor *self, void *state, const gsrt_message *message)
{
    ending *e = *(ending **)state;
    if (message->kind != GSRT_KIND_PING)
        return; /* WRITABLE, after the link has ended */
    if (e->is_link_killed)
        ck_assert_int_eq(gsrt_kill(self, e->link, GSRT_EXIT_CRASH), GSRT_OK);
    for (uint64_t i = 0; i < PILE; i++) {
        gsrt_status status = gsrt_courier_send(self, gsrt_address_of_role(GSRT_ROLE_REGION, 0, 1), GSRT_KIND_PIECE,
                                               &(gsrt_msg_piece){.step = i}, e->payload);
        ck_assert_int_eq(status, GSRT_OK);
    }
    ck_assert_uint_gt(atomic_load(&e->payload->references), 1);
    if (!e->is_link_killed)
        ck_assert_int_eq(gsrt_kill(self, e->link, GSRT_EXIT_CRASH), GSRT_OK);
}

/* While they wait, the view changes, or the peer is another incarnation now. */
static void pile_up_only(gsrt_actor *self, void *state, const gsrt_message *message)
{
    ending *e = *(ending **)state;
    (void)message;
    for (uint64_t i = 0; i < PILE; i++) {
        gsrt_status status = gsrt_courier_send(self, gsrt_address_of_role(GSRT_ROLE_REGION, 0, 1), GSRT_KIND_PIECE,
                                               &(gsrt_msg_piece){.step = i}, e->payload);
        ck_assert_int_eq(status, GSRT_OK);
    }
    if (e->is_peer_replaced)
        gsrt_node_set_incarnation(e->node, 1, 1);
    else
        gsrt_node_set_epoch(e->node, 1);
}

static void ignore(gsrt_actor *self, void *state, const gsrt_message *message)
{
    (void)self;
    (void)state;
    (void)message;
}

/* The leak sanitizer sees what the references do not: the letters themselves. */
START_TEST(letters_end_with_their_link)
{
    static const gsrt_behaviour to = {.name = "to", .receive = ignore};
    static const gsrt_behaviour from = {
        .name = "from", .state_bytes = sizeof(ending *), .init = ending_init, .receive = pile_up};
    gsrt_twin *twin;
    gsrt_link_facts facts = {0};
    gsrt_node_facts node_facts;
    gsrt_address sender, target;
    gsrt_twin_options options = {.rank_count = 2, .seed = 1, .link = {.latency_ns = 1000, .bytes_per_ns = 0.1}};
    ck_assert_int_eq(gsrt_twin_create(&options, &twin), GSRT_OK);
    gsrt_node *node = gsrt_twin_node(twin, 0);
    ending state = {.payload = payload_of(0), .node = node, .is_link_killed = _i == 1};
    ending *pointer = &state;
    ck_assert_int_eq(gsrt_node_spawn(gsrt_twin_node(twin, 1), &to, NULL, &target), GSRT_OK);
    ck_assert_int_eq(gsrt_link_actor_start(node, 1, &facts), GSRT_OK);
    ck_assert_int_eq(gsrt_link_actor_start(node, 0, &facts), GSRT_EINVAL);
    state.link = gsrt_role_resolve(node, gsrt_address_of_role(GSRT_ROLE_LINK, 0, 1));
    if (_i == 2) /* another takes over, before the first ends */
        ck_assert_int_eq(gsrt_link_actor_start(node, 1, &facts), GSRT_OK);
    ck_assert_int_eq(gsrt_node_spawn(node, &from, &pointer, &sender), GSRT_OK);
    ck_assert_int_eq(gsrt_role_bind(node, gsrt_address_of_role(GSRT_ROLE_REGION, 0, 1), target), GSRT_OK);
    ck_assert_int_eq(gsrt_node_post(node, sender, GSRT_KIND_PING, &(gsrt_msg_ping){.number = 1}, NULL), GSRT_OK);
    while (gsrt_twin_run(twin, UINT64_MAX, 1) == GSRT_ELIMIT)
        ck_assert(gsrt_node_check(node));
    gsrt_node_read_facts(node, &node_facts);
    ck_assert_uint_gt(facts.waiting_max, 0);
    ck_assert(_i == 2 ? facts.letters == PILE : facts.letters < PILE);
    ck_assert_uint_eq(facts.letters + node_facts.messages_dropped, PILE);
    ck_assert_uint_eq(atomic_load(&state.payload->references), 1);
    gsrt_twin_free(twin);
    gsrt_payload_unref(state.payload);
}
END_TEST

/* Letters of a view that is over are not sent in the next one, nor those for a process that is gone to its successor.
 */
START_TEST(letters_end_with_their_view_and_peer)
{
    static const gsrt_behaviour to = {.name = "to", .receive = ignore};
    static const gsrt_behaviour from = {
        .name = "from", .state_bytes = sizeof(ending *), .init = ending_init, .receive = pile_up_only};
    gsrt_twin *twin;
    gsrt_link_facts facts = {0};
    gsrt_node_facts node_facts;
    gsrt_address sender, target;
    gsrt_twin_options options = {.rank_count = 2, .seed = 1, .link = {.latency_ns = 1000, .bytes_per_ns = 0.1}};
    ck_assert_int_eq(gsrt_twin_create(&options, &twin), GSRT_OK);
    gsrt_node *node = gsrt_twin_node(twin, 0);
    ending state = {.payload = payload_of(0), .node = node, .is_peer_replaced = _i == 1};
    ending *pointer = &state;
    ck_assert_int_eq(gsrt_node_spawn(gsrt_twin_node(twin, 1), &to, NULL, &target), GSRT_OK);
    ck_assert_int_eq(gsrt_link_actor_start(node, 1, &facts), GSRT_OK);
    ck_assert_int_eq(gsrt_node_spawn(node, &from, &pointer, &sender), GSRT_OK);
    ck_assert_int_eq(gsrt_role_bind(node, gsrt_address_of_role(GSRT_ROLE_REGION, 0, 1), target), GSRT_OK);
    ck_assert_int_eq(gsrt_node_post(node, sender, GSRT_KIND_PING, &(gsrt_msg_ping){.number = 1}, NULL), GSRT_OK);
    (void)gsrt_twin_run(twin, UINT64_MAX, 10000000);
    uint64_t sent = facts.letters;
    gsrt_node_read_facts(node, &node_facts);
    ck_assert_uint_gt(sent, 0);
    ck_assert_uint_lt(sent, PILE);
    ck_assert_uint_eq(_i == 0 ? node_facts.messages_refused : node_facts.messages_dropped, PILE - sent);
    ck_assert_uint_eq(atomic_load(&state.payload->references), 1);
    gsrt_twin_free(twin);
    gsrt_payload_unref(state.payload);
}
END_TEST

static gsrt_status start_nothing(void *arg, gsrt_node *node, uint32_t rank, uint32_t incarnation)
{
    (void)arg;
    (void)node;
    (void)rank;
    (void)incarnation;
    return GSRT_OK;
}

static void ignore_suspicion(void *arg, uint32_t rank, gsrt_status why)
{
    (void)arg;
    (void)rank;
    (void)why;
}

static void send_one(gsrt_actor *self, void *state, const gsrt_message *message)
{
    (void)state;
    (void)message;
    ck_assert_int_eq(gsrt_courier_send(self, gsrt_address_of_role(GSRT_ROLE_REGION, 0, 1), GSRT_KIND_PIECE,
                                       &(gsrt_msg_piece){.step = 1}, NULL),
                     GSRT_OK);
}

/* A view names the next incarnation of a rank that the transport has not connected with: what is sent to it goes out
 * when it has, and not to the one before. */
START_TEST(letters_wait_for_who_is_not_connected_yet)
{
    static const gsrt_behaviour from = {.name = "from", .receive = send_one};
    gsrt_twin *twin;
    gsrt_link_facts facts = {0};
    gsrt_address sender, target = gsrt_address_of_actor(1, 1, 1);
    gsrt_twin_options options = {.rank_count = 2,
                                 .seed = 1,
                                 .link = {.latency_ns = 1000, .bytes_per_ns = 1},
                                 .recovery = {.restart_max = 1, .on_start = start_nothing}};
    ck_assert_int_eq(gsrt_twin_create(&options, &twin), GSRT_OK);
    gsrt_node *node = gsrt_twin_node(twin, 0);
    gsrt_node_on_suspect(node, ignore_suspicion, NULL);
    gsrt_node_set_incarnation(node, 1, 1);
    ck_assert_int_eq(gsrt_link_actor_start(node, 1, &facts), GSRT_OK);
    ck_assert_int_eq(gsrt_node_spawn(node, &from, NULL, &sender), GSRT_OK);
    ck_assert_int_eq(gsrt_role_bind(node, gsrt_address_of_role(GSRT_ROLE_REGION, 0, 1), target), GSRT_OK);
    ck_assert_int_eq(gsrt_node_post(node, sender, GSRT_KIND_PING, &(gsrt_msg_ping){.number = 1}, NULL), GSRT_OK);
    (void)gsrt_twin_run(twin, 1000000, 1000);
    ck_assert_uint_eq(facts.letters, 0);
    ck_assert_uint_eq(facts.waiting_max, 1);
    gsrt_twin_kill(twin, 1);
    (void)gsrt_twin_run(twin, 100000000, 1000);
    ck_assert_uint_eq(facts.letters, 1);
    gsrt_twin_free(twin);
}
END_TEST

static void send_to_nobody(gsrt_actor *self, void *state, const gsrt_message *message)
{
    (void)state;
    (void)message;
    ck_assert_int_eq(gsrt_courier_send(self, gsrt_address_of_role(GSRT_ROLE_REGION, 0, 1), GSRT_KIND_PIECE,
                                       &(gsrt_msg_piece){.step = 1}, NULL),
                     GSRT_OK);
    gsrt_node_finish(gsrt_node_of(self), 0);
}

/* A role is unbound when its rank is lost: until the next view, who sends to it does not fail for that. */
START_TEST(letters_to_an_unbound_role_are_dropped)
{
    static const gsrt_behaviour from = {.name = "from", .receive = send_to_nobody};
    gsrt_twin *twin;
    gsrt_node_facts facts;
    gsrt_address sender;
    gsrt_twin_options options = {.rank_count = 1, .seed = 1, .link = {.latency_ns = 1000, .bytes_per_ns = 1}};
    ck_assert_int_eq(gsrt_twin_create(&options, &twin), GSRT_OK);
    gsrt_node *node = gsrt_twin_node(twin, 0);
    ck_assert_int_eq(gsrt_node_spawn(node, &from, NULL, &sender), GSRT_OK);
    ck_assert_int_eq(gsrt_node_post(node, sender, GSRT_KIND_PING, &(gsrt_msg_ping){.number = 1}, NULL), GSRT_OK);
    ck_assert_int_eq(gsrt_twin_run(twin, UINT64_MAX, 1000), GSRT_OK);
    gsrt_node_read_facts(node, &facts);
    ck_assert_uint_eq(facts.messages_dropped, 1);
    gsrt_twin_free(twin);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("exchange");
    TCase *cases = tcase_create("exchange");
    tcase_add_test(cases, pieces_wait_for_their_exchange_in_any_order);
    tcase_add_test(cases, strangers_and_repetitions_are_refused);
    tcase_add_test(cases, early_pieces_are_bounded);
    tcase_add_test(cases, cost_is_hops_and_bytes);
    tcase_add_test(cases, a_link_keeps_order_and_loses_nothing_under_back_pressure);
    tcase_add_loop_test(cases, letters_end_with_their_link, 0, 3);
    tcase_add_loop_test(cases, letters_end_with_their_view_and_peer, 0, 2);
    tcase_add_test(cases, letters_wait_for_who_is_not_connected_yet);
    tcase_add_test(cases, letters_to_an_unbound_role_are_dropped);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
