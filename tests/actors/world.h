/* What the tests of actors share: a world of some nodes, of three kinds, and the probe, an actor that writes down what
 * it gets and does what the test wants.
 *
 *   alone   one node, the real clock; "other rank" is the same rank
 *   inproc  nodes over the in-process transport, the real clock, stepped in turn by one thread
 *   twin    nodes in virtual time
 */
#ifndef GSRT_TESTS_ACTORS_WORLD_H
#define GSRT_TESTS_ACTORS_WORLD_H

#include "actors/node.h"
#include "actors/twin.h"
#include "mailbox/inproc.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { WORLD_ALONE, WORLD_INPROC, WORLD_TWIN, WORLD_KIND_COUNT };
enum { WORLD_RANK_COUNT = 3, PROBE_LOG_MAX = 4096 };
#define WORLD_LATENCY_NS 1000u
#define MS 1000000ull

struct world {
    int kind;
    uint32_t rank_count;
    gsrt_node *nodes[WORLD_RANK_COUNT];
    gsrt_twin *twin;
};

static inline void must(gsrt_status status)
{
    ck_assert_msg(status == GSRT_OK, "%s", gsrt_status_text(status));
}

static inline void world_open(struct world *world, int kind)
{
    memset(world, 0, sizeof *world);
    world->kind = kind;
    world->rank_count = kind == WORLD_ALONE ? 1 : WORLD_RANK_COUNT;
    if (kind == WORLD_TWIN) {
        gsrt_twin_options options = {.rank_count = WORLD_RANK_COUNT, .seed = 1, .link = {WORLD_LATENCY_NS, 1.0}};
        must(gsrt_twin_create(&options, &world->twin));
        for (uint32_t rank = 0; rank < WORLD_RANK_COUNT; rank++)
            world->nodes[rank] = gsrt_twin_node(world->twin, rank);
        return;
    }
    gsrt_transport *transports[WORLD_RANK_COUNT] = {NULL};
    if (kind == WORLD_INPROC)
        must(gsrt_inproc_create(WORLD_RANK_COUNT, transports));
    for (uint32_t rank = 0; rank < world->rank_count; rank++) {
        gsrt_node_options options = {.rank = rank, .rank_count = world->rank_count, .transport = transports[rank]};
        must(gsrt_node_create(&options, &world->nodes[rank]));
    }
}

static inline void world_check(const struct world *world)
{
    for (uint32_t rank = 0; rank < world->rank_count; rank++)
        ck_assert_msg(gsrt_node_check(world->nodes[rank]), "an invariant of node %u does not hold", rank);
}

static inline void world_close(struct world *world)
{
    world_check(world);
    if (world->twin != NULL)
        world->twin = gsrt_twin_free(world->twin);
    else
        for (uint32_t rank = 0; rank < world->rank_count; rank++)
            gsrt_node_free(world->nodes[rank]);
}

static inline gsrt_node *world_node(struct world *world, uint32_t rank)
{
    return world->nodes[rank % world->rank_count];
}

static inline uint64_t world_clock_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* A bit of everything; 0: nothing was to be done now. */
static inline uint32_t world_step(struct world *world)
{
    uint32_t done = 0;
    if (world->twin != NULL) {
        uint64_t before = gsrt_twin_event_count(world->twin);
        (void)gsrt_twin_run(world->twin, UINT64_MAX, 1);
        return (uint32_t)(gsrt_twin_event_count(world->twin) - before);
    }
    for (uint32_t rank = 0; rank < world->rank_count; rank++)
        done += gsrt_node_step(world->nodes[rank]);
    return done;
}

enum { WORLD_WAIT_S = 200 }; /* a machine that is slow for that long has stopped */

/* Go on until *flag has at least `value`. */
static inline void world_until(struct world *world, const uint32_t *flag, uint32_t value)
{
    uint64_t end = world_clock_ns() + WORLD_WAIT_S * 1000 * MS;
    while (*flag < value) {
        (void)world_step(world);
        if (world_clock_ns() >= end)
            ck_abort_msg("waited %d s for %u, is %u", WORLD_WAIT_S, value, *flag);
    }
}

/* Go on until nothing is left to do but timers that are far away. */
static inline void world_settle(struct world *world)
{
    if (world->twin != NULL) {
        (void)gsrt_twin_run(world->twin, gsrt_twin_now_ns(world->twin) + 100 * WORLD_LATENCY_NS, UINT64_MAX);
        return;
    }
    for (int idle = 0; idle < 3;)
        idle = world_step(world) == 0 ? idle + 1 : 0;
}

/* ---- the probe ---- */

struct probe;
typedef void probe_fn(gsrt_actor *self, struct probe *probe, const gsrt_message *message);

typedef struct probe_entry {
    gsrt_kind kind;
    gsrt_address from;
    uint64_t value; /* PING, PONG: number; ACK: value; TIMER: tag; DOWN, EXIT: subject; WRITABLE: rank */
    uint32_t reason;
    uint64_t call;
    bool is_reply;
    uint64_t now_ns;
} probe_entry;

struct probe {
    gsrt_address address;
    struct world *world;
    uint32_t rank;
    probe_fn *on_message; /* after it was written down; may be NULL */
    probe_fn *todo;       /* run once, at the next message from outside */
    void *arg;            /* for these */
    uint64_t numbers[8];  /* for these */
    uint32_t count;       /* messages that are written down */
    uint32_t done, stopped;
    uint32_t stop_reason;
    probe_entry log[PROBE_LOG_MAX];
};

static inline gsrt_status probe_init(gsrt_actor *self, void *state, const void *arg)
{
    struct probe *probe = *(struct probe *const *)arg;
    memcpy(state, &probe, sizeof(void *));
    probe->address = gsrt_self(self);
    return GSRT_OK;
}

static inline void probe_note(gsrt_actor *self, struct probe *probe, const gsrt_message *message)
{
    probe_entry entry = {.kind = message->kind,
                         .from = message->from,
                         .call = message->call,
                         .is_reply = message->is_reply,
                         .now_ns = gsrt_now_ns(self)};
    if (message->kind == GSRT_KIND_PING || message->kind == GSRT_KIND_PONG)
        entry.value = ((const gsrt_msg_ping *)message->body)->number;
    else if (message->kind == GSRT_KIND_ACK)
        entry.value = ((const gsrt_msg_ack *)message->body)->value;
    else if (message->kind == GSRT_KIND_TIMER)
        entry.value = ((const gsrt_msg_timer *)message->body)->tag;
    else if (message->kind == GSRT_KIND_WRITABLE)
        entry.value = ((const gsrt_msg_writable *)message->body)->rank;
    else if (message->kind == GSRT_KIND_DOWN) {
        entry.value = ((const gsrt_msg_down *)message->body)->subject;
        entry.reason = ((const gsrt_msg_down *)message->body)->reason;
    } else if (message->kind == GSRT_KIND_EXIT) {
        entry.value = ((const gsrt_msg_exit *)message->body)->subject;
        entry.reason = ((const gsrt_msg_exit *)message->body)->reason;
    }
    if (probe->count < PROBE_LOG_MAX)
        probe->log[probe->count] = entry;
    probe->count++;
}

static inline void probe_receive(gsrt_actor *self, void *state, const gsrt_message *message)
{
    struct probe *probe;
    memcpy(&probe, state, sizeof(void *));
    if (message->from == GSRT_NOBODY && message->kind == GSRT_KIND_ACK && probe->todo != NULL) {
        probe_fn *todo = probe->todo;
        probe->todo = NULL;
        todo(self, probe, message);
        probe->done++;
        return;
    }
    probe_note(self, probe, message);
    if (probe->on_message != NULL)
        probe->on_message(self, probe, message);
}

static inline void probe_stop(gsrt_actor *self, void *state, uint32_t reason)
{
    struct probe *probe;
    (void)self;
    memcpy(&probe, state, sizeof(void *));
    probe->stopped++;
    probe->stop_reason = reason;
}

static const gsrt_behaviour probe_behaviour = {"probe", sizeof(void *), probe_init, probe_receive, probe_stop};

static inline struct probe *probe_open(struct world *world, uint32_t rank, probe_fn *on_message)
{
    struct probe *probe = calloc(1, sizeof *probe);
    ck_assert_ptr_nonnull(probe);
    probe->world = world;
    probe->rank = rank;
    probe->on_message = on_message;
    must(gsrt_node_spawn(world_node(world, rank), &probe_behaviour, &probe, &probe->address));
    return probe;
}

/* Let the probe do something as the actor that it is. */
static inline void probe_do(struct probe *probe, probe_fn *todo, void *arg)
{
    uint32_t done = probe->done;
    probe->todo = todo;
    probe->arg = arg;
    must(
        gsrt_node_post(world_node(probe->world, probe->rank), probe->address, GSRT_KIND_ACK, &(gsrt_msg_ack){0}, NULL));
    world_until(probe->world, &probe->done, done + 1);
}

static inline int world_suite(const char *noun, const TTest *const *tests, size_t count)
{
    Suite *suite = suite_create(noun);
    static const char *const names[] = {"alone", "inproc", "twin"};
    for (int kind = 0; kind < WORLD_KIND_COUNT; kind++) {
        TCase *tcase = tcase_create(names[kind]);
        tcase_set_timeout(tcase, WORLD_WAIT_S + 40);
        for (size_t i = 0; i < count; i++)
            tcase_add_loop_test(tcase, tests[i], kind, kind + 1);
        suite_add_tcase(suite, tcase);
    }
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}

#endif
