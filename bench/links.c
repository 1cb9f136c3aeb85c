/* links: what goes between ranks, under mpirun, with everything that a run has around it (bench/links.h).
 *
 *   links messages COUNT DIRECTORY    ranks 0 and 1: a PING of 64 bytes to and fro, COUNT times in each of 9 batches; a
 *                                     trace is written below DIRECTORY. Prints {"one_way_us": median, "lane": ...}
 *   links allreduce BYTES ROUNDS [whole|ranges]
 *                                     all ranks: the canonical sum of a vector of f32 that each rank holds, in the
 *                                     cheaper way or the named one (collectives/reduction.h). ROUNDS in each of 9
 *                                     batches. Prints {"us": median, ...}; the result is checked.
 *   links migration MOVES             ranks 0 and 1: an actor with 1 MiB of state moves to and fro, a client on rank 0
 *                                     calls it all the while. Prints {"move_us": median, "pause_us": median, ...}
 */
#include "bench/links.h"

#include "actors/courier.h"
#include "backends/numerics.h"
#include "bench/measure.h"
#include "collectives/exchange.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DATA_BYTES = 64, SEGMENT_VALUES = 64 << 10 };

/* ---- messages ---- */

typedef struct player {
    gsrt_links *bench;
    uint64_t received, begin_ns;
} player;

static gsrt_status send_ping(gsrt_actor *self, const gsrt_links *b, uint64_t number)
{
    static const uint8_t data[DATA_BYTES];
    gsrt_msg_ping ping = {.number = number, .data = {data, DATA_BYTES}};
    return gsrt_send(self, gsrt_links_role(1 - b->wireup.rank), GSRT_KIND_PING, &ping, NULL);
}

static gsrt_status player_init(gsrt_actor *self, void *state, const void *arg)
{
    player *me = state;
    me->bench = *(gsrt_links *const *)arg;
    return gsrt_timer_start(self, 0, 0, NULL);
}

/* Rank 0 serves: once to warm up (batch 0), then for each batch. Rank 1 returns every ball. */
static void player_receive(gsrt_actor *self, void *state, const gsrt_message *message)
{
    player *me = state;
    gsrt_links *b = me->bench;
    if (message->kind == GSRT_KIND_TIMER) {
        if (b->wireup.rank == 0)
            gsrt_links_must(send_ping(self, b, 0), "send", NULL);
        return;
    }
    const gsrt_msg_ping *ping = message->body;
    me->received++;
    if (b->wireup.rank == 1) {
        gsrt_links_must(send_ping(self, b, ping->number), "send", NULL);
        if (ping->number == GSRT_LINKS_LAST)
            gsrt_node_finish(b->node, 0);
        return;
    }
    if (ping->number == GSRT_LINKS_LAST) {
        gsrt_node_finish(b->node, 0);
        return;
    }
    uint64_t batch = me->received / b->count;
    if (me->received % b->count == 0) {
        uint64_t now_ns = gsrt_measure_now_ns();
        if (batch >= 2)
            b->batch_us[batch - 2] = (double)(now_ns - me->begin_ns) * 1e-3 / (double)b->count / 2;
        me->begin_ns = now_ns;
    }
    gsrt_links_must(send_ping(self, b, batch == GSRT_LINKS_BATCHES + 1 ? GSRT_LINKS_LAST : me->received), "send", NULL);
}

static int run_messages(gsrt_links *b, const char *count, const char *directory)
{
    static const gsrt_behaviour behaviour = {"player", sizeof(player), player_init, player_receive, NULL};
    b->count = strtoull(count, NULL, 10);
    gsrt_links_open(b, directory);
    if (b->wireup.rank_count != 2 || b->count == 0) {
        fputs("links: messages need two ranks and a count\n", stderr);
        return 1;
    }
    gsrt_links_start(b, &behaviour);
    gsrt_node_run(b->node);
    if (b->wireup.rank == 0)
        printf("{\"one_way_us\": %.4f, \"lane\": \"%s\", \"traced_bytes\": %llu}\n",
               gsrt_measure_median(b->batch_us, GSRT_LINKS_BATCHES), b->wireup.near_lane,
               (unsigned long long)gsrt_recorder_byte_count(b->recorder));
    gsrt_links_close(b);
    return 0;
}

/* ---- canonical all-reduce ---- */

typedef struct member {
    gsrt_links *bench;
    gsrt_reduction reduction; /* of a segment */
    gsrt_exchange_store *store;
    gsrt_payload *mine; /* the vector */
    float *sum;
    gsrt_tree_step steps[GSRT_GROUP_RANKS_MAX];
    uint64_t step, begin_ns; /* a step: a segment of the vector */
    uint32_t exchange;       /* of the step: what is waited for */
    uint32_t segment_count;
    size_t first; /* value of the segment */
} member;

/* Every rank can say what every other holds: small whole numbers, so that a plain sum checks the tree's exactly. */
static float value_of(uint32_t rank, uint64_t index)
{
    return (float)((index * 7 + rank * 13) % 101);
}

/* One's own piece waits with those of the others. */
static gsrt_status contribute(gsrt_actor *self, member *me, uint32_t to, gsrt_payload *payload)
{
    uint32_t rank = me->bench->wireup.rank;
    gsrt_msg_piece piece = {.step = me->step, .exchange = me->exchange, .member = rank};
    if (to == rank)
        return gsrt_exchange_store_put(me->store, me->step, me->exchange, rank, payload);
    return gsrt_courier_send(self, gsrt_links_role(to), GSRT_KIND_PIECE, &piece, payload);
}

/* Views of the segment: nothing is copied. The next rank first, so that not all send to the same one at once. */
static void contribute_segment(gsrt_actor *self, member *me)
{
    uint32_t rank = me->bench->wireup.rank, rank_count = me->reduction.member_count;
    for (uint32_t i = 1; i <= rank_count; i++) {
        uint32_t to = (rank + i) % rank_count;
        gsrt_reduction_piece piece = gsrt_reduction_piece_of(&me->reduction, 0, rank, to);
        gsrt_payload *view = gsrt_payload_view(me->mine, (me->first + piece.column_first) * sizeof(float),
                                               piece.column_count * sizeof(float));
        gsrt_links_must(view == NULL ? GSRT_ENOMEM : contribute(self, me, to, view), "send a piece", NULL);
        gsrt_payload_unref(view);
    }
}

static const float *piece_of(const member *me, uint32_t rank)
{
    return (const float *)(const void *)gsrt_exchange_store_get(me->store, me->step, me->exchange, rank)->data;
}

/* One chunk per rank: node i of the tree is the piece of rank i. Strips that stay in the cache go through the whole
 * tree one after the other; a node is copied nowhere before it is added to. */
static void finish_tree(const member *me, size_t value_count, float *out)
{
    enum { STRIP = 1024 };
    float scratch[GSRT_GROUP_RANKS_MAX][STRIP];
    uint32_t rank_count = me->reduction.member_count;
    for (size_t first = 0; first < value_count; first += STRIP) {
        size_t count = value_count - first < STRIP ? value_count - first : STRIP;
        const float *nodes[GSRT_GROUP_RANKS_MAX];
        for (uint32_t rank = 0; rank < rank_count; rank++)
            nodes[rank] = piece_of(me, rank) + first;
        for (uint32_t i = 0; i + 1 < rank_count; i++) {
            const float *left = nodes[me->steps[i].into], *right = nodes[me->steps[i].from];
            float *into = i + 2 == rank_count ? out + first : scratch[me->steps[i].into];
            for (size_t k = 0; k < count; k++)
                into[k] = left[k] + right[k];
            nodes[me->steps[i].into] = into;
        }
        if (rank_count == 1)
            memcpy(out + first, nodes[0], count * sizeof(float));
    }
}

/* Finish this rank's range and send it to everyone. */
static void contribute_range(gsrt_actor *self, member *me)
{
    gsrt_reduction_piece share = gsrt_reduction_share(&me->reduction, me->bench->wireup.rank);
    gsrt_payload *range = gsrt_payload_create(share.column_count * sizeof(float));
    gsrt_links_must(range == NULL ? GSRT_ENOMEM : GSRT_OK, "make room for a range", NULL);
    finish_tree(me, share.column_count, (float *)(void *)range->data);
    gsrt_exchange_store_drop(me->store, me->step, 0);
    me->exchange = 1;
    for (uint32_t i = 1; i <= me->reduction.member_count; i++)
        gsrt_links_must(contribute(self, me, (me->bench->wireup.rank + i) % me->reduction.member_count, range),
                        "send a range", NULL);
    gsrt_payload_unref(range);
}

static void take_ranges(const member *me)
{
    for (uint32_t rank = 0; rank < me->reduction.member_count; rank++) {
        gsrt_reduction_piece piece = gsrt_reduction_share(&me->reduction, rank);
        memcpy(me->sum + me->first + piece.column_first, piece_of(me, rank), piece.column_count * sizeof(float));
    }
}

/* The segment that the step is about: pieces of long vectors are summed and passed on while they are in the cache. */
static gsrt_status plan_segment(member *me)
{
    const gsrt_links *b = me->bench;
    uint32_t node_counts[GSRT_GROUP_RANKS_MAX], segment = (uint32_t)(me->step % me->segment_count);
    me->first = (size_t)segment * SEGMENT_VALUES;
    size_t left = b->value_count - me->first;
    for (uint32_t rank = 0; rank < b->wireup.rank_count; rank++)
        node_counts[rank] = 1;
    gsrt_reduction_options options = {.member_count = b->wireup.rank_count,
                                      .node_counts = node_counts,
                                      .column_count = (uint32_t)(left < SEGMENT_VALUES ? left : SEGMENT_VALUES),
                                      .row_count = 1,
                                      .way = b->way};
    return gsrt_reduction_plan(&options, &me->reduction);
}

static gsrt_status member_init(gsrt_actor *self, void *state, const void *arg)
{
    member *me = state;
    me->bench = *(gsrt_links *const *)arg;
    const gsrt_links *b = me->bench;
    uint32_t ends[GSRT_GROUP_RANKS_MAX], rank_count = b->wireup.rank_count;
    for (uint32_t rank = 0; rank < rank_count; rank++)
        ends[rank] = rank + 1;
    me->segment_count = (uint32_t)((b->value_count + SEGMENT_VALUES - 1) / SEGMENT_VALUES);
    if (gsrt_tree_plan(rank_count, ends, rank_count, me->steps, GSRT_GROUP_RANKS_MAX) != rank_count)
        return GSRT_EINVAL;
    me->store = gsrt_exchange_store_create(rank_count);
    me->mine = gsrt_payload_create(b->value_count * sizeof(float));
    me->sum = calloc(b->value_count, sizeof(float));
    if (me->store == NULL || me->mine == NULL || me->sum == NULL)
        return GSRT_ENOMEM;
    for (uint64_t i = 0; i < b->value_count; i++)
        ((float *)(void *)me->mine->data)[i] = value_of(b->wireup.rank, i);
    gsrt_status status = plan_segment(me);
    return status == GSRT_OK ? gsrt_timer_start(self, 0, 0, NULL) : status;
}

static void check_sum(const member *me)
{
    for (uint64_t i = 0; i < me->bench->value_count; i++) {
        float wanted = 0;
        for (uint32_t rank = 0; rank < me->bench->wireup.rank_count; rank++)
            wanted += value_of(rank, i);
        if (me->sum[i] != wanted) {
            fprintf(stderr, "links: element %llu is %g, not %g\n", (unsigned long long)i, (double)me->sum[i],
                    (double)wanted);
            exit(3);
        }
    }
}

/* A step is done, and perhaps a round. false: it was the last one. */
static bool next_step(gsrt_actor *self, member *me)
{
    gsrt_links *b = me->bench;
    uint64_t steps_per_batch = b->count * me->segment_count;
    me->step++;
    me->exchange = 0;
    uint64_t batch = me->step / steps_per_batch;
    if (me->step % steps_per_batch == 0) {
        uint64_t now_ns = gsrt_measure_now_ns();
        if (batch >= 2)
            b->batch_us[batch - 2] = (double)(now_ns - me->begin_ns) * 1e-3 / (double)b->count;
        me->begin_ns = now_ns;
    }
    if (batch == GSRT_LINKS_BATCHES + 1)
        return false;
    gsrt_links_must(plan_segment(me), "plan", NULL);
    contribute_segment(self, me);
    return true;
}

/* Go on as far as the pieces allow. false: the last one is done. */
static bool advance(gsrt_actor *self, member *me)
{
    uint32_t rank_count = me->reduction.member_count;
    uint64_t all = rank_count == 64 ? UINT64_MAX : (UINT64_C(1) << rank_count) - 1;
    bool goes_on = true;
    while (goes_on && gsrt_exchange_store_has(me->store, me->step, me->exchange, all)) {
        if (me->exchange + 1 < gsrt_reduction_exchange_count(&me->reduction)) {
            contribute_range(self, me);
            continue;
        }
        if (me->exchange == 1)
            take_ranges(me);
        else
            finish_tree(me, me->reduction.column_count, me->sum + me->first);
        gsrt_exchange_store_drop(me->store, me->step, me->exchange);
        goes_on = next_step(self, me);
    }
    return goes_on;
}

static void member_receive(gsrt_actor *self, void *state, const gsrt_message *message)
{
    member *me = state;
    if (message->kind == GSRT_KIND_TIMER) {
        contribute_segment(self, me);
    } else if (message->kind == GSRT_KIND_PIECE) {
        const gsrt_msg_piece *piece = message->body;
        gsrt_links_must(
            gsrt_exchange_store_put(me->store, piece->step, piece->exchange, piece->member, message->payload),
            "keep a piece", NULL);
    }
    if (!advance(self, me)) {
        check_sum(me);
        gsrt_node_finish(me->bench->node, 0);
    }
}

static void member_stop(gsrt_actor *self, void *state, uint32_t reason)
{
    (void)self;
    (void)reason;
    member *me = state;
    gsrt_payload_unref(me->mine);
    gsrt_exchange_store_free(me->store);
    free(me->sum);
}

static int run_allreduce(gsrt_links *b, const char *bytes, const char *rounds, const char *way)
{
    static const gsrt_behaviour behaviour = {"member", sizeof(member), member_init, member_receive, member_stop};
    b->value_count = strtoull(bytes, NULL, 10) / sizeof(float);
    b->count = strtoull(rounds, NULL, 10);
    b->way = strcmp(way, "whole") == 0    ? GSRT_REDUCTION_WHOLE
             : strcmp(way, "ranges") == 0 ? GSRT_REDUCTION_RANGES
                                          : GSRT_REDUCTION_CHEAPER;
    gsrt_links_open(b, NULL);
    if (b->value_count == 0 || b->count == 0 || b->wireup.rank_count > GSRT_GROUP_RANKS_MAX) {
        fputs("links: allreduce needs bytes and rounds\n", stderr);
        return 1;
    }
    gsrt_links_start(b, &behaviour);
    gsrt_node_run(b->node);
    if (b->wireup.rank == 0)
        printf("{\"us\": %.3f, \"bytes\": %llu, \"ranks\": %u, \"lane\": \"%s\"}\n",
               gsrt_measure_median(b->batch_us, GSRT_LINKS_BATCHES),
               (unsigned long long)(b->value_count * sizeof(float)), b->wireup.rank_count, b->wireup.near_lane);
    gsrt_links_close(b);
    return 0;
}

int main(int argc, char **argv)
{
    static gsrt_links b;
    if (argc == 4 && strcmp(argv[1], "messages") == 0)
        return run_messages(&b, argv[2], argv[3]);
    if ((argc == 4 || argc == 5) && strcmp(argv[1], "allreduce") == 0)
        return run_allreduce(&b, argv[2], argv[3], argc == 5 ? argv[4] : "cheaper");
    if (argc == 3 && strcmp(argv[1], "migration") == 0)
        return gsrt_links_migration(&b, argv[2]);
    fputs("usage: links messages COUNT DIRECTORY | links allreduce BYTES ROUNDS [whole|ranges] | links migration MOVES "
          "(under mpirun)\n",
          stderr);
    return 1;
}
