/* The reduction: for any number of members, any shares and any order of arrival, every member ends with the bits of the
 * oracle's tree; every column is finished once; the bytes are those that were promised; and how the way is chosen. */
#include "backends/numerics.h"
#include "backends/oracle.h"
#include "base/random.h"
#include "collectives/exchange.h"
#include "collectives/reduction.h"
#include "tests/unit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SEED = 5, MESSAGES_MAX = 2 * GSRT_GROUP_RANKS_MAX * GSRT_GROUP_RANKS_MAX };

typedef struct message {
    uint32_t exchange, from, to;
    gsrt_payload *payload;
} message;

/* A group in one process: what each member holds, what is under way. */
typedef struct group {
    gsrt_reduction reduction;
    uint32_t chunk_count, node_count;
    uint32_t chunk_ends[GSRT_GROUP_RANKS_MAX], node_counts[GSRT_GROUP_RANKS_MAX];
    gsrt_tree_step steps[GSRT_CHUNK_COUNT_MAX];
    float *nodes; /* [node_count][column_count] */
    struct {
        gsrt_exchange_store *store;
        float *result;
        uint32_t exchange; /* that it waits for; the count of exchanges: it is done */
        uint64_t received_bytes;
    } members[GSRT_GROUP_RANKS_MAX];
    message *messages;
    uint32_t message_count;
    uint64_t draws;
} group;

static uint32_t draw(group *g, uint32_t below)
{
    return (uint32_t)(gsrt_random_u64(SEED, 1, g->draws++) % below);
}

/* Sums whose order shows: magnitudes far apart, both signs. */
static float number(uint64_t i)
{
    float x = gsrt_random_f32(SEED, 2, i) - 0.5f;
    return ldexpf(x, (int)(gsrt_random_u64(SEED, 3, i) % 40) - 20);
}

static void send(group *g, uint32_t exchange, uint32_t from, uint32_t to, const float *columns, uint32_t stride)
{
    gsrt_reduction_piece piece = gsrt_reduction_piece_of(&g->reduction, exchange, from, to);
    if (piece.node_count == 0) {
        ck_assert_uint_eq(piece.column_count, 0);
        return;
    }
    ck_assert_uint_gt(piece.column_count, 0);
    size_t bytes = piece.column_count * sizeof(float);
    gsrt_payload *payload = gsrt_payload_create(piece.node_count * bytes);
    ck_assert_ptr_nonnull(payload);
    for (uint32_t n = 0; n < piece.node_count; n++)
        memcpy(payload->data + n * bytes, columns + (size_t)(piece.node_first + n) * stride + piece.column_first,
               bytes);
    ck_assert_uint_lt(g->message_count, MESSAGES_MAX);
    g->messages[g->message_count++] = (message){exchange, from, to, payload};
}

/* Member `to` has all pieces of exchange 0: finish its columns. */
static void finish(group *g, uint32_t to)
{
    gsrt_reduction_piece share = gsrt_reduction_share(&g->reduction, to);
    float *work = malloc((size_t)share.node_count * share.column_count * sizeof *work);
    ck_assert_ptr_nonnull(work);
    for (uint32_t from = 0; from < g->reduction.member_count; from++) {
        gsrt_reduction_piece piece = gsrt_reduction_piece_of(&g->reduction, 0, from, to);
        if (piece.node_count == 0)
            continue;
        ck_assert_uint_eq(piece.column_first, share.column_first);
        ck_assert_uint_eq(piece.column_count, share.column_count);
        gsrt_payload *payload = gsrt_exchange_store_get(g->members[to].store, 0, 0, from);
        memcpy(work + (size_t)piece.node_first * share.column_count, payload->data, payload->len);
    }
    for (uint32_t i = 0; i + 1 < share.node_count; i++)
        for (uint32_t c = 0; c < share.column_count; c++)
            work[g->steps[i].into * (size_t)share.column_count + c] +=
                work[g->steps[i].from * (size_t)share.column_count + c];
    memcpy(g->members[to].result + share.column_first, work, share.column_count * sizeof *work);
    free(work);
}

/* Go on as far as what has arrived allows. */
static void advance(group *g, uint32_t to)
{
    while (g->members[to].exchange < gsrt_reduction_exchange_count(&g->reduction)) {
        uint32_t exchange = g->members[to].exchange;
        uint64_t needed = 0;
        for (uint32_t from = 0; from < g->reduction.member_count; from++)
            if (gsrt_reduction_piece_of(&g->reduction, exchange, from, to).node_count > 0)
                needed |= 1ull << from;
        if (!gsrt_exchange_store_has(g->members[to].store, 0, exchange, needed))
            return;
        if (exchange == 0)
            finish(g, to);
        for (uint32_t from = 0; exchange == 1 && from < g->reduction.member_count; from++) {
            gsrt_payload *payload = gsrt_exchange_store_get(g->members[to].store, 0, 1, from);
            memcpy(g->members[to].result + gsrt_reduction_piece_of(&g->reduction, 1, from, to).column_first,
                   payload->data, payload->len);
        }
        gsrt_exchange_store_drop(g->members[to].store, 0, exchange);
        g->members[to].exchange = ++exchange;
        for (uint32_t peer = 0; exchange == 1 && exchange < gsrt_reduction_exchange_count(&g->reduction) &&
                                peer < g->reduction.member_count;
             peer++)
            send(g, 1, to, peer, g->members[to].result, 0);
    }
}

static void deliver_one(group *g)
{
    uint32_t i = draw(g, g->message_count);
    message m = g->messages[i];
    g->messages[i] = g->messages[--g->message_count];
    ck_assert_int_eq(gsrt_exchange_store_put(g->members[m.to].store, 0, m.exchange, m.from, m.payload), GSRT_OK);
    g->members[m.to].received_bytes += m.from == m.to ? 0 : m.payload->len;
    gsrt_payload_unref(m.payload);
    advance(g, m.to);
}

/* One all-reduce over shares that end at chunk_ends. */
static void reduce(group *g, uint32_t member_count, uint32_t column_count, gsrt_reduction_way way)
{
    for (uint32_t m = 0; m < member_count; m++)
        g->node_counts[m] = gsrt_subtree_count(m == 0 ? 0 : g->chunk_ends[m - 1], g->chunk_ends[m], g->chunk_count);
    g->node_count = gsrt_tree_plan(g->chunk_count, g->chunk_ends, member_count, g->steps, GSRT_CHUNK_COUNT_MAX);
    ck_assert_uint_gt(g->node_count, 0);
    gsrt_reduction_options options = {member_count, g->node_counts, column_count, 1, way};
    ck_assert_int_eq(gsrt_reduction_plan(&options, &g->reduction), GSRT_OK);
    ck_assert_int_eq(g->reduction.way, way == GSRT_REDUCTION_RANGES && member_count > 1 &&
                                               column_count >= GSRT_REDUCTION_COLUMNS * member_count
                                           ? GSRT_REDUCTION_RANGES
                                           : GSRT_REDUCTION_WHOLE);
    g->nodes = malloc((size_t)g->node_count * column_count * sizeof *g->nodes);
    float *want = malloc(column_count * sizeof *want);
    ck_assert(g->nodes != NULL && want != NULL);
    for (size_t i = 0; i < (size_t)g->node_count * column_count; i++)
        g->nodes[i] = number(i);
    gsrt_oracle_tree(g->nodes, column_count, g->chunk_count, g->chunk_ends, member_count, want);
    for (uint32_t m = 0; m < member_count; m++) {
        g->members[m].store = gsrt_exchange_store_create(member_count);
        g->members[m].result = calloc(column_count, sizeof(float));
        g->members[m].exchange = 0;
        g->members[m].received_bytes = 0;
        ck_assert(g->members[m].store != NULL && g->members[m].result != NULL);
    }
    for (uint32_t from = 0; from < member_count; from++)
        for (uint32_t to = 0; to < member_count; to++)
            send(g, 0, from, to, g->nodes, column_count);
    while (g->message_count > 0)
        deliver_one(g);
    for (uint32_t m = 0; m < member_count; m++) {
        ck_assert_uint_eq(g->members[m].exchange, gsrt_reduction_exchange_count(&g->reduction));
        ck_assert_uint_eq(g->members[m].received_bytes, gsrt_reduction_received_bytes(&g->reduction, m));
        ck_assert_mem_eq(g->members[m].result, want, column_count * sizeof *want);
        gsrt_exchange_store_free(g->members[m].store);
        free(g->members[m].result);
    }
    free(g->nodes);
    free(want);
}

static group *group_create(uint32_t chunk_count)
{
    group *g = calloc(1, sizeof *g);
    ck_assert_ptr_nonnull(g);
    g->chunk_count = chunk_count;
    g->messages = malloc(MESSAGES_MAX * sizeof *g->messages);
    ck_assert_ptr_nonnull(g->messages);
    return g;
}

static void group_free(group *g)
{
    free(g->messages);
    free(g);
}

static const gsrt_reduction_way ways[] = {GSRT_REDUCTION_WHOLE, GSRT_REDUCTION_RANGES};

/* As many chunks each as possible, the rest to the first. All numbers up to 16, then some. */
START_TEST(every_number_of_members)
{
    for (uint32_t member_count = 1; member_count <= GSRT_GROUP_RANKS_MAX; member_count += member_count < 16 ? 1 : 12)
        for (int w = 0; w < 2; w++) {
            group *g = group_create(64 + member_count % 2);
            for (uint32_t m = 0; m < member_count; m++)
                g->chunk_ends[m] = g->chunk_count - (member_count - 1 - m) * (g->chunk_count / member_count);
            reduce(g, member_count, 16 * member_count + 5, ways[w]);
            group_free(g);
        }
}
END_TEST

/* Cuts anywhere, members without a chunk, first and last ones too. */
START_TEST(any_shares)
{
    static const uint32_t member_counts[] = {2, 3, 4, 5, 8}, chunk_counts[] = {1, 2, 5, 32, 65};
    for (int a = 0; a < 5; a++)
        for (int b = 0; b < 5; b++)
            for (uint32_t round = 0; round < 24; round++) {
                group *g = group_create(chunk_counts[b]);
                g->draws = 100000 * round;
                uint32_t last = member_counts[a] - 1 - (round % 4 == 0);
                for (uint32_t m = 0; m <= last; m++) {
                    uint32_t end = m == last ? g->chunk_count : draw(g, g->chunk_count + 1), at = m;
                    for (; at > 0 && g->chunk_ends[at - 1] > end; at--)
                        g->chunk_ends[at] = g->chunk_ends[at - 1];
                    g->chunk_ends[at] = end;
                }
                g->chunk_ends[member_counts[a] - 1] = g->chunk_count;
                reduce(g, member_counts[a], 128 + round, ways[round % 2]);
                group_free(g);
            }
}
END_TEST

START_TEST(any_number_of_columns)
{
    static const uint32_t column_counts[] = {1, 15, 16, 17, 47, 48, 49, 63, 64, 100, 1000};
    for (int i = 0; i < 11; i++)
        for (int w = 0; w < 2; w++) {
            group *g = group_create(7);
            g->chunk_ends[0] = 3;
            g->chunk_ends[1] = 3;
            g->chunk_ends[2] = 7;
            reduce(g, 3, column_counts[i], ways[w]);
            group_free(g);
        }
}
END_TEST

/* One node each, so many columns that all share evenly: 2 (n - 1) / n of the vector, instead of n - 1 vectors. */
START_TEST(ranges_send_less)
{
    uint32_t node_counts[8] = {1, 1, 1, 1, 1, 1, 1, 1};
    gsrt_reduction_options options = {8, node_counts, 8 * 160, 1, GSRT_REDUCTION_WHOLE};
    gsrt_reduction whole, ranges;
    ck_assert_int_eq(gsrt_reduction_plan(&options, &whole), GSRT_OK);
    options.way = GSRT_REDUCTION_RANGES;
    ck_assert_int_eq(gsrt_reduction_plan(&options, &ranges), GSRT_OK);
    for (uint32_t m = 0; m < 8; m++) {
        ck_assert_uint_eq(gsrt_reduction_received_bytes(&whole, m), 7 * 8 * 160 * 4);
        ck_assert_uint_eq(gsrt_reduction_received_bytes(&ranges, m), 2 * 7 * 160 * 4);
    }
}
END_TEST

static gsrt_reduction_way chosen(uint32_t member_count, uint32_t column_count, uint32_t row_count)
{
    uint32_t node_counts[GSRT_GROUP_RANKS_MAX];
    gsrt_reduction reduction;
    for (uint32_t m = 0; m < member_count; m++)
        node_counts[m] = 1;
    gsrt_reduction_options options = {member_count, node_counts, column_count, row_count, GSRT_REDUCTION_CHEAPER};
    ck_assert_int_eq(gsrt_reduction_plan(&options, &reduction), GSRT_OK);
    return reduction.way;
}

START_TEST(small_ones_go_whole_and_large_ones_by_ranges)
{
    for (uint32_t member_count = 2; member_count <= 16; member_count *= 2) {
        ck_assert_int_eq(chosen(member_count, 512, 1), GSRT_REDUCTION_WHOLE);
        ck_assert_int_eq(chosen(member_count, 1 << 20, 1), GSRT_REDUCTION_RANGES);
        ck_assert_int_eq(chosen(member_count, 512, 1024), GSRT_REDUCTION_RANGES); /* rows count like columns */
    }
    ck_assert_int_eq(chosen(1, 1 << 20, 1), GSRT_REDUCTION_WHOLE);
    ck_assert_int_eq(chosen(64, 63 * 16, 1024), GSRT_REDUCTION_WHOLE); /* not a run of columns for everybody */
}
END_TEST

START_TEST(what_makes_no_sense_is_refused)
{
    uint32_t node_counts[GSRT_GROUP_RANKS_MAX + 1] = {1}, none[2] = {0, 0}, many[2] = {UINT32_MAX, UINT32_MAX};
    const gsrt_reduction_options wrong[] = {{0, node_counts, 1, 1, GSRT_REDUCTION_CHEAPER},
                                            {GSRT_GROUP_RANKS_MAX + 1, node_counts, 1, 1, GSRT_REDUCTION_CHEAPER},
                                            {2, node_counts, 0, 1, GSRT_REDUCTION_CHEAPER},
                                            {2, node_counts, 1, 0, GSRT_REDUCTION_CHEAPER},
                                            {2, none, 1, 1, GSRT_REDUCTION_CHEAPER},
                                            {2, many, 1, 1, GSRT_REDUCTION_CHEAPER},
                                            {2, node_counts, UINT32_MAX, 1, GSRT_REDUCTION_RANGES}};
    gsrt_reduction reduction;
    for (size_t i = 0; i + 1 < sizeof wrong / sizeof wrong[0]; i++)
        ck_assert_int_eq(gsrt_reduction_plan(&wrong[i], &reduction), GSRT_EINVAL);
    ck_assert_int_eq(gsrt_reduction_plan(&wrong[6], &reduction), GSRT_OK); /* the largest that fits */
    ck_assert_uint_eq(reduction.column_firsts[1], 1u << 31);
    ck_assert_uint_eq(reduction.column_firsts[2], UINT32_MAX);
}
END_TEST

int main(void)
{
    const TTest *tests[] = {every_number_of_members,
                            any_shares,
                            any_number_of_columns,
                            ranges_send_less,
                            small_ones_go_whole_and_large_ones_by_ranges,
                            what_makes_no_sense_is_refused};
    return unit_run("reduction", tests, sizeof tests / sizeof tests[0]);
}
