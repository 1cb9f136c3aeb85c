/* Replicas of several ranks, in the twin: a gathering gives everybody what it lacks, each part once, and says so when
 * it has come; what makes no sense ends the actor, and what came too late for a view is not answered. */
#include "ckpt/replica_actor.h"

#include "actors/twin.h"
#include "ckpt/holdings.h"
#include "tests/unit.h"

#include <string.h>

enum { RANKS = 3, LAYERS = 2, HEADS = 2, CELLS = LAYERS * HEADS, DIM = 1 };

static const gsrt_snapshot_shape shape = {LAYERS, HEADS, DIM};

typedef struct scene scene;

typedef struct place {
    scene *s;
    gsrt_replica *replica;
    gsrt_address actor, root;
    uint64_t gathered_bytes, call;
    uint32_t gathered_count, down_count;
} place;

struct scene {
    gsrt_twin *twin;
    place places[RANKS];
    const gsrt_transfer *transfers;
    uint32_t transfer_count;
};

static gsrt_status take_place(gsrt_actor *self, void *state, const void *arg)
{
    (void)self;
    *(place **)state = *(place *const *)arg;
    return GSRT_OK;
}

/* Its rank's root: PING makes it ask for the gathering. */
static void root_receive(gsrt_actor *self, void *state, const gsrt_message *message)
{
    place *p = *(place **)state;
    gsrt_msg_gather gather = {.transfers = (const uint32_t *)(const void *)p->s->transfers,
                              .transfers_count = GSRT_TRANSFER_NUMBERS * p->s->transfer_count};
    if (message->kind == GSRT_KIND_PING)
        ck_assert_int_eq(gsrt_call(self, p->actor, GSRT_KIND_GATHER, &gather, NULL, 1000000000, &p->call), GSRT_OK);
    else if (message->kind == GSRT_KIND_GATHERED)
        p->gathered_count += 1;
    else if (message->kind == GSRT_KIND_DOWN)
        p->down_count += 1;
}

static void open_scene(scene *s)
{
    static const gsrt_behaviour root = {
        .name = "root", .state_bytes = sizeof(place *), .init = take_place, .receive = root_receive};
    gsrt_twin_options twin = {
        .rank_count = RANKS, .seed = 1, .link = {.latency_ns = 1000, .bytes_per_ns = 1}, .message_ns = 10};
    *s = (scene){0};
    ck_assert_int_eq(gsrt_twin_create(&twin, &s->twin), GSRT_OK);
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        place *p = &s->places[rank];
        gsrt_node *node = gsrt_twin_node(s->twin, rank);
        *p = (place){.s = s, .replica = gsrt_replica_create(&shape, 0)}; /* what is asked for has no bound */
        gsrt_replica_actor_options options = {
            .replica = p->replica, .shape = &shape, .gathered_bytes = &p->gathered_bytes};
        ck_assert_int_eq(gsrt_replica_actor_start(node, &options, &p->actor), GSRT_OK);
        ck_assert_int_eq(gsrt_role_bind(node, gsrt_address_of_role(GSRT_ROLE_REPLICA, 0, rank), p->actor), GSRT_OK);
        ck_assert_int_eq(gsrt_node_spawn(node, &root, &p, &p->root), GSRT_OK);
    }
}

static void close_scene(scene *s)
{
    gsrt_twin_free(s->twin);
    for (uint32_t rank = 0; rank < RANKS; rank++)
        gsrt_replica_free(s->places[rank].replica);
}

/* Cells [first, first + count) of a block. */
static void put(scene *s, uint32_t rank, uint32_t request, uint32_t block, uint32_t first, uint32_t count)
{
    gsrt_payload *part = gsrt_payload_create(gsrt_snapshot_cells_bytes(DIM, count));
    gsrt_snapshot_cells cells;
    gsrt_snapshot_cells_begin(&cells, part->data, 0, DIM, count);
    for (uint32_t i = first; i < first + count; i++) {
        float *k, *v;
        gsrt_snapshot_cells_add(&cells, &(gsrt_snapshot_cell){request, i / HEADS, i % HEADS, block}, &k, &v);
        memset(k, 0, GSRT_KV_BLOCK_POSITIONS * DIM * sizeof *k);
        memset(v, 0, GSRT_KV_BLOCK_POSITIONS * DIM * sizeof *v);
    }
    ck_assert_int_eq(gsrt_replica_put(s->places[rank].replica, part, false, NULL), GSRT_OK);
    gsrt_payload_unref(part);
}

static void gather(scene *s, uint32_t rank)
{
    ck_assert_int_eq(gsrt_node_post(gsrt_twin_node(s->twin, rank), s->places[rank].root, GSRT_KIND_PING,
                                    &(gsrt_msg_ping){.number = 1}, NULL),
                     GSRT_OK);
    (void)gsrt_twin_run(s->twin, gsrt_twin_now_ns(s->twin) + 1000000, 100000); /* not to the end of the calls' time */
}

static uint32_t held(const scene *s, uint32_t rank, uint32_t request, uint32_t cell)
{
    const uint32_t *counts = gsrt_replica_counts(s->places[rank].replica, request);
    return counts == NULL ? 0 : counts[cell];
}

START_TEST(everybody_is_given_what_it_lacks)
{
    /* rank 0 has the first layer, in one part; rank 1 the second, in two */
    static const gsrt_transfer transfers[] = {
        {.from = 0, .to = 2, .request = 7, .first = 0, .cell_count = 1, .block_count = 2},
        {.from = 1, .to = 2, .request = 7, .first = 2, .cell_count = 2, .block_count = 2},
        {.from = 0, .to = 2, .request = 7, .first = 1, .cell_count = 1, .block_count = 2},
        {.from = 1, .to = 0, .request = 7, .first = 2, .cell_count = 2, .block_count = 1},
    };
    scene s;
    open_scene(&s);
    for (uint32_t block = 0; block < 2; block++) {
        put(&s, 0, 7, block, 0, 2);
        put(&s, 1, 7, block, 2, 1);
        put(&s, 1, 7, block, 3, 1);
    }
    s.transfers = transfers;
    s.transfer_count = 4;
    gather(&s, 1); /* gives, and lacks nothing */
    ck_assert_uint_eq(s.places[1].gathered_count, 1);
    gather(&s, 2); /* part of it came before it asked */
    ck_assert_uint_eq(s.places[2].gathered_count, 0);
    gather(&s, 0);
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        ck_assert_uint_eq(s.places[rank].gathered_count, 1);
        ck_assert_uint_eq(s.places[rank].down_count, 0);
    }
    for (uint32_t cell = 0; cell < CELLS; cell++) {
        ck_assert_uint_eq(held(&s, 2, 7, cell), 2);
        ck_assert_uint_eq(held(&s, 0, 7, cell), cell < 2 ? 2 : 1);
        ck_assert_uint_eq(held(&s, 1, 7, cell), cell < 2 ? 0 : 2);
    }
    ck_assert_uint_eq(s.places[2].gathered_bytes,
                      2 * gsrt_snapshot_cells_bytes(DIM, 2) + 4 * gsrt_snapshot_cells_bytes(DIM, 1));
    close_scene(&s);
}
END_TEST

START_TEST(what_is_over_goes)
{
    scene s;
    open_scene(&s);
    put(&s, 0, 7, 0, 0, CELLS);
    put(&s, 0, 8, 0, 0, CELLS);
    static const uint32_t over[] = {7, 9};
    gsrt_msg_forget forget = {.requests = over, .requests_count = 2};
    ck_assert_int_eq(gsrt_node_post(gsrt_twin_node(s.twin, 0), s.places[0].actor, GSRT_KIND_FORGET, &forget, NULL),
                     GSRT_OK);
    (void)gsrt_twin_run(s.twin, UINT64_MAX, 100000);
    ck_assert_uint_eq(held(&s, 0, 7, 0), 0);
    ck_assert_uint_eq(held(&s, 0, 8, 0), 1);
    close_scene(&s);
}
END_TEST

START_TEST(transfers_that_make_no_sense_end_it)
{
    static const struct {
        const char *what;
        gsrt_transfer transfer;
    } cases[] = {
        {"no such request", {0, 1, GSRT_REQUEST_COUNT_MAX, 0, 1, 1}},
        {"no such cell", {1, 0, 7, CELLS, 1, 1}},
        {"cells that wrap", {1, 0, 7, 1, UINT32_MAX, 1}},
        {"more blocks than a context", {1, 0, 7, 0, 1, GSRT_CONTEXT_MAX}},
        {"to itself", {0, 0, 7, 0, 1, 1}},
        {"no such rank", {0, GSRT_RANK_COUNT_MAX, 7, 0, 1, 1}},
        {"what it does not hold", {0, 1, 7, 0, 1, 1}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        scene s;
        open_scene(&s);
        s.transfers = &cases[i].transfer;
        s.transfer_count = 1;
        gather(&s, 0);
        ck_assert_msg(s.places[0].gathered_count == 0 && s.places[0].down_count == 1, "%s", cases[i].what);
        close_scene(&s);
    }
}
END_TEST

int main(void)
{
    const TTest *tests[] = {everybody_is_given_what_it_lacks, what_is_over_goes, transfers_that_make_no_sense_end_it};
    return unit_run("replica_actor", tests, sizeof tests / sizeof tests[0]);
}
