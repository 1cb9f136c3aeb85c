/* How fast actors are on one rank: local round trip, one-way messages per second, spawns per second, restarts.
 *
 *     bench/actors [SECONDS]        each figure is the median of five runs of SECONDS / 5 (default 1)
 *
 * The message is a PING with 64 bytes of data (the figures of other actor systems are of messages of that size, or
 * smaller). One JSON object on standard output: bench/run puts Erlang's figures beside it.
 */
#include "actors/node.h"
#include "actors/supervisor.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { RUN_COUNT = 5, DATA_BYTES = 64, WINDOW = 512, LIVE_COUNT = 100000 };

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void must(gsrt_status status, const char *what)
{
    if (status == GSRT_OK)
        return;
    fprintf(stderr, "bench/actors: could not %s: %s\n", what, gsrt_status_text(status));
    exit(1);
}

static const uint8_t data[DATA_BYTES];
static const gsrt_msg_ping ping = {.number = 1, .data = {data, DATA_BYTES}};

/* ---- round trip: a ball between two ---- */

static void echo_receive(gsrt_actor *self, void *state, const gsrt_message *message)
{
    (void)state;
    must(gsrt_send(self, message->from, GSRT_KIND_PING, message->body, NULL), "send");
}

typedef struct player {
    gsrt_address other;
    uint64_t trips;
} player;

static gsrt_status player_init(gsrt_actor *self, void *state, const void *arg)
{
    player *me = state;
    me->other = *(const gsrt_address *)arg;
    return gsrt_send(self, me->other, GSRT_KIND_PING, &ping, NULL);
}

static uint64_t *trips_out; /* of the running measurement */

static void player_receive(gsrt_actor *self, void *state, const gsrt_message *message)
{
    player *me = state;
    me->trips++;
    *trips_out = me->trips;
    must(gsrt_send(self, message->from, GSRT_KIND_PING, message->body, NULL), "send");
}

/* ---- the same with calls ---- */

static void server_receive(gsrt_actor *self, void *state, const gsrt_message *message)
{
    (void)state;
    must(gsrt_reply(self, message->from, message->call, GSRT_KIND_PONG, message->body, NULL), "reply");
}

static gsrt_status client_init(gsrt_actor *self, void *state, const void *arg)
{
    player *me = state;
    uint64_t call;
    me->other = *(const gsrt_address *)arg;
    return gsrt_call(self, me->other, GSRT_KIND_PING, &ping, NULL, 1000000000, &call);
}

static void client_receive(gsrt_actor *self, void *state, const gsrt_message *message)
{
    player *me = state;
    uint64_t call;
    me->trips += message->is_reply;
    *trips_out = me->trips;
    must(gsrt_call(self, me->other, GSRT_KIND_PING, &ping, NULL, 1000000000, &call), "call");
}

/* ---- one way: a window of messages, its last one answered ---- */

static void sink_receive(gsrt_actor *self, void *state, const gsrt_message *message)
{
    uint64_t *count = state;
    *trips_out = ++*count;
    if (*count % WINDOW == 0)
        must(gsrt_send(self, message->from, GSRT_KIND_ACK, &(gsrt_msg_ack){0}, NULL), "send");
}

static gsrt_status source_init(gsrt_actor *self, void *state, const void *arg)
{
    player *me = state;
    me->other = *(const gsrt_address *)arg;
    return gsrt_send(self, gsrt_self(self), GSRT_KIND_ACK, &(gsrt_msg_ack){0}, NULL);
}

static void source_receive(gsrt_actor *self, void *state, const gsrt_message *message)
{
    player *me = state;
    (void)message;
    for (uint32_t i = 0; i < WINDOW; i++)
        must(gsrt_send(self, me->other, GSRT_KIND_PING, &ping, NULL), "send");
}

/* ---- spawns: each ends at its first message ---- */

static void mayfly_receive(gsrt_actor *self, void *state, const gsrt_message *message)
{
    (void)state;
    must(gsrt_send(self, message->from, GSRT_KIND_ACK, &(gsrt_msg_ack){0}, NULL), "send");
    gsrt_exit(self, GSRT_EXIT_NORMAL);
}

static const gsrt_behaviour mayfly = {"mayfly", 64, NULL, mayfly_receive, NULL};

static gsrt_status parent_init(gsrt_actor *self, void *state, const void *arg)
{
    (void)state;
    (void)arg;
    return gsrt_send(self, gsrt_self(self), GSRT_KIND_ACK, &(gsrt_msg_ack){0}, NULL);
}

static void parent_receive(gsrt_actor *self, void *state, const gsrt_message *message)
{
    uint64_t *count = state;
    gsrt_address child;
    (void)message;
    *trips_out = ++*count;
    must(gsrt_spawn(self, &mayfly, NULL, &child), "spawn");
    must(gsrt_send(self, child, GSRT_KIND_ACK, &(gsrt_msg_ack){0}, NULL), "send");
}

/* ---- restarts: a supervised one crashes; until its successor has answered ---- */

enum { CRASH = 0, ANSWER = 1 }; /* numbers of the PING */

static gsrt_address mortal_role(void)
{
    return gsrt_address_of_role(GSRT_ROLE_REGION, 0, 0);
}

static void mortal_receive(gsrt_actor *self, void *state, const gsrt_message *message)
{
    const gsrt_msg_ping *body = message->body;
    (void)state;
    if (body->number == CRASH)
        gsrt_exit(self, GSRT_EXIT_CRASH);
    else
        must(gsrt_reply(self, message->from, message->call, GSRT_KIND_PONG, body, NULL), "reply");
}

/* The first one goes to the one that crashed, and comes back as DOWN. */
static void ask_mortal(gsrt_actor *self)
{
    gsrt_msg_ping body = {.number = ANSWER, .data = ping.data};
    uint64_t call;
    must(gsrt_call(self, mortal_role(), GSRT_KIND_PING, &body, NULL, 1000000000, &call), "call");
}

static void crash_mortal(gsrt_actor *self)
{
    gsrt_msg_ping body = {.number = CRASH};
    must(gsrt_send(self, mortal_role(), GSRT_KIND_PING, &body, NULL), "send");
    ask_mortal(self);
}

static gsrt_status mourner_init(gsrt_actor *self, void *state, const void *arg)
{
    (void)state;
    (void)arg;
    crash_mortal(self);
    return GSRT_OK;
}

static void mourner_receive(gsrt_actor *self, void *state, const gsrt_message *message)
{
    uint64_t *count = state;
    if (!message->is_reply) {
        ask_mortal(self);
        return;
    }
    *trips_out = ++*count;
    crash_mortal(self);
}

/* ---- measuring ---- */

typedef struct measurement {
    const char *name;
    const gsrt_behaviour *passive, *active;
    const void *arg; /* of passive */
} measurement;

static double run_once(const measurement *what, uint64_t run_ns)
{
    gsrt_node *node;
    gsrt_address passive = GSRT_NOBODY, active;
    uint64_t count = 0;
    trips_out = &count;
    must(gsrt_node_create(&(gsrt_node_options){.rank_count = 1}, &node), "create a node");
    if (what->passive != NULL)
        must(gsrt_node_spawn(node, what->passive, what->arg, &passive), "spawn");
    must(gsrt_node_spawn(node, what->active, &passive, &active), "spawn");
    for (uint32_t i = 0; i < 1000; i++)
        gsrt_node_step(node); /* warm up */
    uint64_t count_before = count, start = now_ns(), end = start;
    while (end - start < run_ns) {
        for (uint32_t i = 0; i < 100; i++)
            gsrt_node_step(node);
        end = now_ns();
    }
    double rate = (double)(count - count_before) / (double)(end - start) * 1e9;
    gsrt_node_free(node);
    return rate;
}

/* Spawns of actors that stay alive, and their memory is new. */
static double run_live(void)
{
    gsrt_node *node;
    gsrt_address child;
    must(gsrt_node_create(&(gsrt_node_options){.rank_count = 1}, &node), "create a node");
    uint64_t start = now_ns();
    for (uint32_t i = 0; i < LIVE_COUNT; i++)
        must(gsrt_node_spawn(node, &mayfly, NULL, &child), "spawn");
    double rate = LIVE_COUNT / (double)(now_ns() - start) * 1e9;
    gsrt_node_free(node);
    return rate;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median_of(const measurement *what, uint64_t run_ns)
{
    double rates[RUN_COUNT];
    for (int i = 0; i < RUN_COUNT; i++)
        rates[i] = what == NULL ? run_live() : run_once(what, run_ns);
    qsort(rates, RUN_COUNT, sizeof rates[0], compare);
    return rates[RUN_COUNT / 2];
}

int main(int argc, char **argv)
{
    double seconds = argc > 1 ? strtod(argv[1], NULL) : 1;
    uint64_t run_ns = (uint64_t)(seconds / RUN_COUNT * 1e9);
    static const gsrt_behaviour echo = {"echo", 0, NULL, echo_receive, NULL};
    static const gsrt_behaviour play = {"player", sizeof(player), player_init, player_receive, NULL};
    static const gsrt_behaviour server = {"server", 0, NULL, server_receive, NULL};
    static const gsrt_behaviour client = {"client", sizeof(player), client_init, client_receive, NULL};
    static const gsrt_behaviour sink = {"sink", sizeof(uint64_t), NULL, sink_receive, NULL};
    static const gsrt_behaviour source = {"source", sizeof(player), source_init, source_receive, NULL};
    static const gsrt_behaviour parent = {"parent", sizeof(uint64_t), parent_init, parent_receive, NULL};
    static const gsrt_behaviour mortal = {"mortal", 64, NULL, mortal_receive, NULL};
    static const gsrt_behaviour mourner = {"mourner", sizeof(uint64_t), mourner_init, mourner_receive, NULL};
    gsrt_supervisor_child child = {.behaviour = &mortal, .role = mortal_role(), .when = GSRT_PERMANENT};
    gsrt_supervisor_options supervisor = {.strategy = GSRT_ONE_FOR_ONE,
                                          .restart_max = GSRT_RESTART_COUNT_MAX,
                                          .window_ns = 1, /* nobody crashes that often */
                                          .children = &child,
                                          .child_count = 1};
    double trips = median_of(&(measurement){"round trip", &echo, &play, NULL}, run_ns);
    double calls = median_of(&(measurement){"call", &server, &client, NULL}, run_ns);
    double one_way = median_of(&(measurement){"one way", &sink, &source, NULL}, run_ns);
    double spawns = median_of(&(measurement){"spawn", NULL, &parent, NULL}, run_ns);
    double live = median_of(NULL, run_ns);
    double restarts = median_of(&(measurement){"restart", &gsrt_supervisor, &mourner, &supervisor}, run_ns);
    printf("{\"round_trip_us\": %.4f, \"call_us\": %.4f, \"one_way_per_s\": %.0f, \"spawn_per_s\": %.0f, "
           "\"spawn_live_per_s\": %.0f, \"restart_us\": %.4f}\n",
           1e6 / trips, 1e6 / calls, one_way, spawns, live, 1e6 / restarts);
    return 0;
}
