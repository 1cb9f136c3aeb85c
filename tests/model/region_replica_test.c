/* What a region keeps of the blocks that it completes, streams to its second place, and restores from: by every split
 * of the heads, in steps that end anywhere. */
#include "model/region_replica.h"

#include "actors/twin.h"
#include "ckpt/replica_actor.h"
#include "model/region_snapshot.h"
#include "tests/model/opened_llama.h"
#include "tests/unit.h"

#include <stdlib.h>

enum { P = GSRT_KV_BLOCK_POSITIONS, LAYERS = 2, HEADS = 4, DIM = 128, KV_BLOCKS = 16, MEMBERS_MAX = 3 };

typedef struct member {
    gsrt_lowered *lowered;
    gsrt_kv *kv;
    gsrt_region_facts facts;
    gsrt_region_options options;
    gsrt__region_stream *stream;
} member;

typedef struct scene {
    opened_llama model;
    uint32_t shares[MEMBERS_MAX];
    gsrt_plan *plan;
    gsrt_snapshot_shape shape;
    gsrt_replica *replica;
    member members[MEMBERS_MAX];
    uint32_t member_count;
    float *room[2]; /* K and V of a block */
} scene;

static const uint32_t splits[][MEMBERS_MAX] = {{1}, {3, 5}, {1, 7}, {0, 1}, {2, 1, 3}};

static void open_scene(scene *s, const uint32_t *shares)
{
    *s = (scene){.model = open_llama(&tiny_of_four_chunks), .shape = {LAYERS, HEADS, DIM}};
    for (uint32_t m = 0; m < MEMBERS_MAX; m++) {
        s->shares[m] = shares[m];
        s->member_count = shares[m] > 0 ? m + 1 : s->member_count;
    }
    s->plan = plan_of_one_stage(&s->model, s->shares, s->member_count, GSRT_EXCHANGE_GATHER);
    s->replica = gsrt_replica_create(&s->shape, SIZE_MAX / 2);
    s->room[0] = calloc(P * DIM, sizeof(float));
    s->room[1] = calloc(P * DIM, sizeof(float));
    for (uint32_t m = 0; m < s->member_count; m++) {
        member *one = &s->members[m];
        ck_assert_int_eq(gsrt_lower(s->model.weights, s->plan, 0, m, 32, &one->lowered), GSRT_OK);
        one->kv = gsrt_kv_create(LAYERS, one->lowered->kv_head_count, DIM, KV_BLOCKS);
        one->stream = calloc(1, sizeof *one->stream);
        one->options = (gsrt_region_options){.lowered = one->lowered,
                                             .plan = s->plan,
                                             .member = m,
                                             .weights = s->model.weights,
                                             .kv = one->kv,
                                             .facts = &one->facts,
                                             .replica = s->replica,
                                             .second_place = 1};
    }
}

static void close_scene(scene *s)
{
    for (uint32_t m = 0; m < s->member_count; m++) {
        free(s->members[m].stream);
        gsrt_kv_free(s->members[m].kv);
        gsrt_lowered_free(s->members[m].lowered);
    }
    free(s->room[0]);
    free(s->room[1]);
    gsrt_replica_free(s->replica);
    gsrt_plan_free(s->plan);
    close_llama(&s->model);
}

static float value_of(const gsrt_snapshot_cell *cell, uint32_t at)
{
    return (float)(((cell->request * 16 + cell->layer) * 16 + cell->head) * 16 + cell->block) + (float)at / 65536;
}

/* Block number `block` of a request as it was computed, at `place`, or (is_check) that it lies there. */
static void each_cell(scene *s, const member *one, uint32_t request, uint32_t block, uint32_t place, bool is_check)
{
    gsrt_plan_kv own = gsrt_plan_kv_of(s->plan, s->model.workload, 0, one->options.member);
    for (uint32_t layer = 0; layer < LAYERS; layer++) {
        for (uint32_t h = 0; h < own.head_count; h++) {
            gsrt_snapshot_cell cell = {request, layer, own.head_first + h, block};
            if (is_check)
                gsrt_kv_read(one->kv, layer, h, place, P, s->room[0], s->room[1]);
            for (uint32_t i = 0; i < P * DIM; i++) {
                float k = value_of(&cell, i), v = -k;
                if (is_check)
                    ck_assert(s->room[0][i] == k && s->room[1][i] == v);
                s->room[0][i] = k;
                s->room[1][i] = v;
            }
            if (!is_check)
                gsrt_kv_write(one->kv, layer, h, place, P, s->room[0], s->room[1]);
        }
    }
}

/* A step of one request, which lies at `places`, has computed rows [first, end). */
static void keep(scene *s, uint32_t request, const uint32_t *places, uint32_t first, uint32_t end)
{
    gsrt_job_sequence sequence = {.row_count = end - first, .position_first = first, .blocks = places};
    gsrt__step step = {.sequence_count = 1, .sequences = &sequence, .requests = &request};
    for (uint32_t m = 0; m < s->member_count; m++) {
        for (uint32_t block = 0; block < end / P; block++)
            each_cell(s, &s->members[m], request, block, places[block], false);
        ck_assert_int_eq(gsrt__region_keep(&s->members[m].options, s->members[m].stream, &step), GSRT_OK);
    }
}

static void check_held(const scene *s, uint32_t request, uint32_t block_count)
{
    const uint32_t *counts = gsrt_replica_counts(s->replica, request);
    for (uint32_t i = 0; i < LAYERS * HEADS; i++)
        ck_assert_uint_eq(counts == NULL ? 0 : counts[i], block_count);
}

START_TEST(what_is_complete_is_kept_and_restored)
{
    static const uint32_t places[] = {3, 1, 7, 5}, others[] = {9, 8, 11, 10};
    for (size_t i = 0; i < sizeof splits / sizeof splits[0]; i++) {
        scene s;
        open_scene(&s, splits[i]);
        static const uint32_t ends[] = {1, P - 1, P, P + 1, 2 * P + 5, 2 * P + 6, 3 * P};
        for (size_t e = 0; e < sizeof ends / sizeof ends[0]; e++) {
            keep(&s, 2, places, e == 0 ? 0 : ends[e - 1], ends[e]);
            check_held(&s, 2, ends[e] / P);
        }
        keep(&s, 3, places, 2 * P,
             2 * P + 1); /* it began with blocks of another: kept when its own first is complete */
        check_held(&s, 3, 0);
        keep(&s, 3, places, 2 * P + 1, 4 * P);
        check_held(&s, 3, 4);
        for (uint32_t m = 0; m < s.member_count; m++) {
            gsrt_msg_restore message = {.request = 2, .blocks = others, .blocks_count = 3};
            ck_assert_int_eq(gsrt__region_restore(&s.members[m].options, &message), GSRT_OK);
            for (uint32_t block = 0; block < 3; block++)
                each_cell(&s, &s.members[m], 2, block, others[block], true);
            if (s.members[m].lowered->kv_head_count == 0)
                continue;
            message.blocks_count = 4; /* one more than there is */
            ck_assert_int_eq(gsrt__region_restore(&s.members[m].options, &message), GSRT_ENOTFOUND);
        }
        gsrt_replica_forget(s.replica, 2);
        keep(&s, 2, places, 3 * P, 4 * P); /* its last step was on the way */
        check_held(&s, 2, 0);
        close_scene(&s);
    }
}
END_TEST

/* ---- streaming: the region's side on rank 0, a replica on rank 1 ---- */

typedef struct streamer {
    scene *s;
    uint32_t kept_count, full_count;
} streamer;

static gsrt_status take_streamer(gsrt_actor *self, void *state, const void *arg)
{
    (void)self;
    *(streamer **)state = *(streamer *const *)arg;
    return GSRT_OK;
}

/* As the region does it, for member 0. */
static void stream(gsrt_actor *self, void *state, const gsrt_message *message)
{
    streamer *t = *(streamer **)state;
    member *one = &t->s->members[0];
    uint64_t before = one->facts.streamed_bytes;
    if (message->kind == GSRT_KIND_KEPT) {
        ck_assert(one->stream->is_waiting);
        t->kept_count += 1;
        t->full_count += ((const gsrt_msg_kept *)message->body)->is_full ? 1 : 0;
        gsrt__region_note_kept(one->stream, message->body);
    }
    ck_assert_int_eq(gsrt__region_send_part(self, &one->options, one->stream), GSRT_OK);
    size_t part = gsrt_snapshot_cells_bytes(DIM, LAYERS * one->lowered->kv_head_count);
    ck_assert_uint_le(one->facts.streamed_bytes - before, part); /* one at a time */
}

typedef struct world {
    gsrt_twin *twin;
    gsrt_replica *second;
    uint64_t gathered_bytes;
    streamer t;
    gsrt_address actor;
} world;

static void open_world(world *w, scene *s, size_t bytes_max)
{
    static const gsrt_behaviour behaviour = {
        .name = "streamer", .state_bytes = sizeof(streamer *), .init = take_streamer, .receive = stream};
    gsrt_twin_options options = {
        .rank_count = 2, .seed = 1, .link = {.latency_ns = 1000, .bytes_per_ns = 1}, .message_ns = 10};
    gsrt_address replica;
    streamer *t = &w->t;
    *w = (world){.t = {.s = s}, .second = gsrt_replica_create(&s->shape, bytes_max)};
    ck_assert_int_eq(gsrt_twin_create(&options, &w->twin), GSRT_OK);
    gsrt_node *there = gsrt_twin_node(w->twin, 1);
    gsrt_replica_actor_options actor = {.replica = w->second, .shape = &s->shape, .gathered_bytes = &w->gathered_bytes};
    ck_assert_int_eq(gsrt_replica_actor_start(there, &actor, &replica), GSRT_OK);
    ck_assert_int_eq(gsrt_role_bind(there, gsrt_address_of_role(GSRT_ROLE_REPLICA, 0, 1), replica), GSRT_OK);
    ck_assert_int_eq(gsrt_node_spawn(gsrt_twin_node(w->twin, 0), &behaviour, &t, &w->actor), GSRT_OK);
}

static void close_world(world *w)
{
    gsrt_twin_free(w->twin);
    gsrt_replica_free(w->second);
}

/* A step has ended: what there is goes. */
static void let_stream(world *w)
{
    ck_assert_int_eq(
        gsrt_node_post(gsrt_twin_node(w->twin, 0), w->actor, GSRT_KIND_PING, &(gsrt_msg_ping){.number = 1}, NULL),
        GSRT_OK);
    ck_assert_int_eq(gsrt_twin_run(w->twin, UINT64_MAX, 100000), GSRT_EEMPTY);
}

static const uint32_t places[] = {0, 1, 2, 3, 4, 5, 6, 7};

START_TEST(the_second_place_gets_all_of_it)
{
    scene s;
    world w;
    open_scene(&s, splits[1]);
    open_world(&w, &s, SIZE_MAX / 2);
    keep(&s, 0, places, 0, 3 * P);
    keep(&s, 4, places, 0, 2 * P);
    let_stream(&w);
    ck_assert_uint_eq(w.t.kept_count, 5);
    keep(&s, 4, places, 2 * P, 3 * P);
    let_stream(&w);
    ck_assert_uint_eq(w.t.kept_count, 6);
    ck_assert_uint_eq(w.t.full_count + w.gathered_bytes, 0);
    gsrt_plan_kv own = gsrt_plan_kv_of(s.plan, s.model.workload, 0, 0);
    for (uint32_t request = 0; request <= 4; request += 4) {
        for (uint32_t i = 0; i < LAYERS * HEADS; i++) {
            bool is_own = i % HEADS < own.head_first + own.head_count;
            ck_assert_uint_eq(gsrt_replica_counts(w.second, request)[i], is_own ? 3 : 0);
        }
    }
    close_world(&w);
    close_scene(&s);
}
END_TEST

/* Another view, or another region: what is there already is asked for once, not sent again. Parts of another plan are
 * put together. */
START_TEST(what_is_there_is_not_sent_again)
{
    scene s, whole;
    world w;
    open_scene(&s, splits[1]);
    keep(&s, 0, places, 0, 4 * P);
    open_scene(&whole, splits[0]); /* takes all roles over, with what the two members kept */
    gsrt_replica_free(whole.replica);
    whole.replica = whole.members[0].options.replica = s.replica;
    keep(&whole, 0, places, 4 * P, 5 * P);
    open_world(&w, &whole, SIZE_MAX / 2);
    let_stream(&w);
    ck_assert_uint_eq(w.t.kept_count, 5);
    for (uint32_t i = 0; i < LAYERS * HEADS; i++)
        ck_assert_uint_eq(gsrt_replica_counts(w.second, 0)[i], 5);
    for (uint32_t i = 0; i < LAYERS * HEADS * 5; i++) {
        gsrt_snapshot_cell cell = {0, i / 5 / HEADS, i / 5 % HEADS, i % 5};
        const float *k, *v;
        ck_assert(gsrt_replica_get(w.second, &cell, &k, &v));
        ck_assert(k[77] == value_of(&cell, 77) && v[77] == -k[77]);
    }
    memset(whole.members[0].stream, 0, sizeof *whole.members[0].stream);
    keep(&whole, 0, places, 5 * P, 6 * P);
    let_stream(&w);
    ck_assert_uint_eq(w.t.kept_count, 7); /* the first, which is known there, and the new one */
    close_world(&w);
    whole.replica = NULL;
    close_scene(&whole);
    close_scene(&s);
}
END_TEST

START_TEST(whoever_has_no_room_is_tried_again_later)
{
    scene s;
    world w;
    open_scene(&s, splits[0]);
    open_world(&w, &s, 2 * gsrt_snapshot_cells_bytes(DIM, LAYERS * HEADS));
    keep(&s, 0, places, 0, 4 * P);
    let_stream(&w);
    ck_assert_uint_eq(w.t.kept_count, 3);
    ck_assert_uint_eq(w.t.full_count, 1);
    let_stream(&w); /* a step that completes no block */
    ck_assert_uint_eq(w.t.kept_count, 3);
    keep(&s, 0, places, 4 * P, 5 * P);
    let_stream(&w);
    ck_assert_uint_eq(w.t.full_count, 2);
    gsrt_replica_forget(w.second, 0); /* over there, and not heard here yet */
    keep(&s, 0, places, 5 * P, 6 * P);
    keep(&s, 1, places, 0, P);
    let_stream(&w);
    ck_assert_uint_eq(w.t.full_count, 2);
    ck_assert_uint_eq(gsrt_replica_counts(w.second, 1)[0], 1);
    gsrt_replica_forget(s.replica, 1); /* over here */
    keep(&s, 5, places, 0, P);
    let_stream(&w);
    ck_assert_uint_eq(gsrt_replica_counts(w.second, 5)[0], 1);
    close_world(&w);
    close_scene(&s);
}
END_TEST

int main(void)
{
    const TTest *tests[] = {what_is_complete_is_kept_and_restored, the_second_place_gets_all_of_it,
                            what_is_there_is_not_sent_again, whoever_has_no_room_is_tried_again_later};
    return unit_run("region_replica", tests, sizeof tests / sizeof tests[0]);
}
