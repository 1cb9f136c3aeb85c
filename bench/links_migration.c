/* An actor with 1 MiB of state moves between ranks 0 and 1, and keeps its address.
 *
 *   client (rank 0) --PING ASK, a call, again and again--> mover --PONG with the number of its moves--> client
 *   client --PING MOVE--> mover: packs its state, ends --DOWN--> porter of its rank: packs the streams, forwards
 *          --PING with both--> porter of the other rank: adopts, unpacks --PONG--> porter of rank 0 --ACK--> client
 *
 * A move is timed from the order until rank 0 has heard of the adoption, on its clock. A pause is what the client sees:
 * from the last answer before a move to the first one after it. It does not call on the way: what meets nobody leaves a
 * gap in its stream, for which the next message would be held back (GSRT_HOLD_MS). After the last move the mover looks
 * at every byte of its state.
 */
#include "bench/links.h"

#include "actors/courier.h"
#include "bench/measure.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    STATE_BYTES = 1 << 20,
    CALLS_BETWEEN = 100, /* answered between two moves */
    MOVES_MAX = 100000,
    STREAMS_BYTES_MAX = 4096,
};
enum { ASK = 0, MOVE = 1, LOOK = 2 }; /* numbers of the PING to the mover */

/* What one rank knows; the mover's state passes through it within the rank. */
static struct game {
    gsrt_links *links;
    gsrt_address mover, client;
    gsrt_payload *luggage; /* of the mover that has ended here; or NULL */
    uint64_t move_count, moves_begun, moves_seen;
    uint64_t begin_ns, answer_ns; /* of the order; of the last answer */
    uint64_t answered;            /* calls since the last move */
    double *moves_us, *pauses_us; /* [move_count] */
    uint64_t between_ns, between_count;
    bool is_ending;
} game;

/* ---- the mover ---- */

typedef struct mover {
    uint64_t move_count;
    uint8_t data[STATE_BYTES];
} mover;

static uint8_t byte_of(size_t index)
{
    return (uint8_t)(index * 31 + index / 256);
}

static void look(const mover *me)
{
    for (size_t i = 0; i < STATE_BYTES; i++) {
        if (me->data[i] == byte_of(i))
            continue;
        fprintf(stderr, "links: byte %zu of the state is %u, not %u\n", i, me->data[i], byte_of(i));
        exit(3);
    }
}

static gsrt_status mover_init(gsrt_actor *self, void *state, const void *arg)
{
    mover *me = state;
    const gsrt_payload *luggage = arg;
    (void)self;
    if (luggage == NULL) {
        for (size_t i = 0; i < STATE_BYTES; i++)
            me->data[i] = byte_of(i);
        return GSRT_OK;
    }
    if (luggage->len != sizeof *me)
        return GSRT_EINVAL;
    memcpy(me, luggage->data, sizeof *me);
    me->move_count++;
    return GSRT_OK;
}

static void mover_receive(gsrt_actor *self, void *state, const gsrt_message *message)
{
    mover *me = state;
    if (message->kind != GSRT_KIND_PING)
        return;
    uint64_t number = ((const gsrt_msg_ping *)message->body)->number;
    if (number == LOOK)
        look(me);
    if (number != MOVE) {
        gsrt_links_must(gsrt_reply(self, message->from, message->call, GSRT_KIND_PONG,
                                   &(gsrt_msg_pong){.number = me->move_count}, NULL),
                        "reply", NULL);
        return;
    }
    game.luggage = gsrt_payload_create(sizeof *me);
    gsrt_links_must(game.luggage == NULL ? GSRT_ENOMEM : GSRT_OK, "pack the state", NULL);
    memcpy(game.luggage->data, me, sizeof *me);
    gsrt_exit(self, GSRT_EXIT_NORMAL);
}

static const gsrt_behaviour mover_behaviour = {"mover", sizeof(mover), mover_init, mover_receive, NULL};

/* ---- porters, one per rank ---- */

static void send_away(gsrt_actor *self)
{
    gsrt_node *node = game.links->node;
    uint32_t other = 1 - game.links->wireup.rank;
    gsrt_buffer streams;
    gsrt_buffer_init(&streams, STREAMS_BYTES_MAX);
    gsrt_links_must(gsrt_node_pack_streams(node, game.mover, &streams), "pack the streams", NULL);
    gsrt_links_must(gsrt_node_forward(node, game.mover, other), "forward", NULL);
    gsrt_msg_ping ping = {.number = game.mover, .data = gsrt_buffer_span(&streams)};
    gsrt_links_must(gsrt_courier_send(self, gsrt_links_role(other), GSRT_KIND_PING, &ping, game.luggage),
                    "send the luggage", NULL);
    gsrt_buffer_fini(&streams);
    gsrt_payload_unref(game.luggage);
    game.luggage = NULL;
}

static void take_in(gsrt_actor *self, const gsrt_message *message)
{
    const gsrt_msg_ping *ping = message->body;
    game.mover = ping->number;
    gsrt_links_must(gsrt_node_adopt(game.links->node, &mover_behaviour, message->payload, game.mover, ping->data),
                    "adopt", NULL);
    gsrt_links_must(gsrt_monitor(self, game.mover), "monitor", NULL);
    gsrt_links_must(gsrt_courier_send(self, gsrt_links_role(0), GSRT_KIND_PONG, &(gsrt_msg_pong){0}, NULL),
                    "tell of the adoption", NULL);
}

static void client_start(gsrt_actor *self);

static gsrt_status porter_init(gsrt_actor *self, void *state, const void *arg)
{
    (void)state;
    game.links = *(gsrt_links *const *)arg;
    return gsrt_timer_start(self, 0, 0, NULL); /* when all roles are bound */
}

static void porter_receive(gsrt_actor *self, void *state, const gsrt_message *message)
{
    (void)state;
    if (message->kind == GSRT_KIND_TIMER) {
        if (game.links->wireup.rank == 0)
            client_start(self);
    } else if (message->kind == GSRT_KIND_DOWN) {
        send_away(self);
    } else if (message->kind == GSRT_KIND_PONG) {
        game.moves_us[game.moves_begun - 1] = (double)(gsrt_measure_now_ns() - game.begin_ns) * 1e-3;
        gsrt_links_must(gsrt_send(self, game.client, GSRT_KIND_ACK, &(gsrt_msg_ack){0}, NULL), "tell the client", NULL);
    } else if (((const gsrt_msg_ping *)message->body)->number == GSRT_LINKS_LAST) {
        gsrt_node_finish(game.links->node, 0);
    } else {
        take_in(self, message);
    }
}

/* ---- the client ---- */

static void ask(gsrt_actor *self, uint64_t number)
{
    uint64_t call;
    gsrt_links_must(
        gsrt_call(self, game.mover, GSRT_KIND_PING, &(gsrt_msg_ping){.number = number}, NULL, 10000000000u, &call),
        "call", NULL);
}

static gsrt_status client_init(gsrt_actor *self, void *state, const void *arg)
{
    (void)state;
    (void)arg;
    ask(self, ASK);
    return GSRT_OK;
}

static void order_move(gsrt_actor *self)
{
    game.answered = 0;
    game.moves_begun++;
    game.begin_ns = gsrt_measure_now_ns();
    gsrt_links_must(gsrt_send(self, game.mover, GSRT_KIND_PING, &(gsrt_msg_ping){.number = MOVE}, NULL), "order a move",
                    NULL);
}

static void client_receive(gsrt_actor *self, void *state, const gsrt_message *message)
{
    (void)state;
    uint64_t now_ns = gsrt_measure_now_ns();
    if (message->kind == GSRT_KIND_ACK) {
        ask(self, ASK);
        return;
    }
    gsrt_links_must(message->is_reply ? GSRT_OK : GSRT_ENOACTOR, "reach the mover", NULL);
    if (game.is_ending) { /* the answer to LOOK */
        gsrt_links_must(
            gsrt_send(self, gsrt_links_role(1), GSRT_KIND_PING, &(gsrt_msg_ping){.number = GSRT_LINKS_LAST}, NULL),
            "end", NULL);
        gsrt_node_finish(game.links->node, 0);
        return;
    }
    uint64_t moves = ((const gsrt_msg_pong *)message->body)->number;
    if (moves != game.moves_seen) {
        game.pauses_us[game.moves_seen] = (double)(now_ns - game.answer_ns) * 1e-3;
        game.moves_seen = moves;
    } else if (game.answer_ns != 0) {
        game.between_ns += now_ns - game.answer_ns;
        game.between_count++;
    }
    game.answer_ns = now_ns;
    if (++game.answered < CALLS_BETWEEN) {
        ask(self, ASK);
    } else if (moves < game.move_count) {
        order_move(self);
    } else {
        game.is_ending = true;
        ask(self, LOOK);
    }
}

static void client_start(gsrt_actor *self)
{
    static const gsrt_behaviour client = {"client", 0, client_init, client_receive, NULL};
    gsrt_links_must(gsrt_spawn(self, &mover_behaviour, NULL, &game.mover), "spawn", NULL);
    gsrt_links_must(gsrt_monitor(self, game.mover), "monitor", NULL);
    gsrt_links_must(gsrt_spawn(self, &client, NULL, &game.client), "spawn", NULL);
}

int gsrt_links_migration(gsrt_links *b, const char *move_count)
{
    static const gsrt_behaviour porter = {"porter", 0, porter_init, porter_receive, NULL};
    game.move_count = strtoull(move_count, NULL, 10);
    gsrt_links_open(b, NULL);
    if (b->wireup.rank_count != 2 || game.move_count == 0 || game.move_count > MOVES_MAX) {
        fputs("links: migration needs two ranks and a number of moves\n", stderr);
        return 1;
    }
    game.moves_us = calloc(game.move_count, sizeof(double));
    game.pauses_us = calloc(game.move_count, sizeof(double));
    gsrt_links_must(game.moves_us == NULL || game.pauses_us == NULL ? GSRT_ENOMEM : GSRT_OK, "count", NULL);
    gsrt_links_start(b, &porter);
    gsrt_node_run(b->node);
    if (b->wireup.rank == 0)
        printf("{\"move_us\": %.3f, \"pause_us\": %.3f, \"call_us\": %.3f, \"moves\": %llu, "
               "\"lane\": \"%s\"}\n",
               gsrt_measure_median(game.moves_us, game.move_count),
               gsrt_measure_median(game.pauses_us, game.move_count),
               (double)game.between_ns * 1e-3 / (double)game.between_count, (unsigned long long)game.moves_seen,
               b->wireup.near_lane);
    free(game.moves_us);
    free(game.pauses_us);
    gsrt_links_close(b);
    return 0;
}
