/* Replicas and holdings: what was put in comes back by cell, in whatever order it came; room has a bound; what is over
 * is gone; what is told of them, understood, and drawn on gives every role all that it lacks. */
#include "ckpt/holdings.h"
#include "ckpt/replica.h"

#include "base/limits.h"
#include "base/random.h"
#include "tests/unit.h"

#include <stdlib.h>
#include <string.h>

enum { LAYERS = 4, HEADS = 3, CELLS = LAYERS * HEADS, DIM = 2, FLOATS = GSRT_KV_BLOCK_POSITIONS * DIM };
enum { RANKS = 4, REQUESTS = 3, BLOCKS = 6 };

static const gsrt_snapshot_shape shape = {.layer_count = LAYERS, .kv_head_count = HEADS, .head_dim = DIM};

/* Layers [layer_first, layer_end), heads likewise. */
typedef struct rectangle {
    uint32_t layer_first, layer_end, head_first, head_end;
} rectangle;

static const rectangle everything = {0, LAYERS, 0, HEADS};

static float value_of(const gsrt_snapshot_cell *cell)
{
    return (float)(((cell->request * 64 + cell->layer) * 64 + cell->head) * 64 + cell->block);
}

static gsrt_payload *make_part(uint32_t request, uint32_t block, const rectangle *r)
{
    uint32_t count = (r->layer_end - r->layer_first) * (r->head_end - r->head_first);
    gsrt_payload *payload = gsrt_payload_create(gsrt_snapshot_cells_bytes(DIM, count));
    gsrt_snapshot_cells cells;
    ck_assert_ptr_nonnull(payload);
    gsrt_snapshot_cells_begin(&cells, payload->data, 0, DIM, count);
    gsrt_snapshot_cell cell = {.request = request, .block = block};
    for (cell.layer = r->layer_first; cell.layer < r->layer_end; cell.layer++) {
        for (cell.head = r->head_first; cell.head < r->head_end; cell.head++) {
            float *k, *v;
            gsrt_snapshot_cells_add(&cells, &cell, &k, &v);
            for (uint32_t i = 0; i < FLOATS; i++) {
                k[i] = value_of(&cell);
                v[i] = -value_of(&cell);
            }
        }
    }
    return payload;
}

static gsrt_status put(gsrt_replica *replica, uint32_t request, uint32_t block, const rectangle *r, bool is_bounded)
{
    gsrt_payload *part = make_part(request, block, r);
    gsrt_status status = gsrt_replica_put(replica, part, is_bounded, NULL);
    gsrt_payload_unref(part);
    return status;
}

static bool has(const gsrt_replica *replica, const gsrt_snapshot_cell *cell)
{
    const float *k, *v;
    if (!gsrt_replica_get(replica, cell, &k, &v)) {
        ck_assert_ptr_null(gsrt_replica_part_of(replica, cell));
        return false;
    }
    ck_assert(k[0] == value_of(cell) && k[FLOATS - 1] == value_of(cell));
    ck_assert(v[0] == -value_of(cell) && v[FLOATS - 1] == -value_of(cell));
    ck_assert_ptr_nonnull(gsrt_replica_part_of(replica, cell));
    return true;
}

/* ---- against a plain table ---- */

typedef struct model {
    bool has[REQUESTS][CELLS][BLOCKS];
} model;

static uint32_t leading(const model *m, uint32_t request, uint32_t cell)
{
    uint32_t count = 0;
    while (count < BLOCKS && m->has[request][cell][count])
        count++;
    return count;
}

static rectangle random_rectangle(uint64_t seed, uint64_t number)
{
    rectangle r = {.layer_first = (uint32_t)gsrt_random_u64(seed, 1, number) % LAYERS,
                   .head_first = (uint32_t)gsrt_random_u64(seed, 2, number) % HEADS};
    r.layer_end = r.layer_first + 1 + (uint32_t)gsrt_random_u64(seed, 3, number) % (LAYERS - r.layer_first);
    r.head_end = r.head_first + 1 + (uint32_t)gsrt_random_u64(seed, 4, number) % (HEADS - r.head_first);
    return r;
}

static void put_random(gsrt_replica *replica, model *m, uint64_t seed, uint64_t number)
{
    uint32_t request = (uint32_t)gsrt_random_u64(seed, 5, number) % REQUESTS;
    uint32_t block = (uint32_t)gsrt_random_u64(seed, 6, number) % BLOCKS;
    rectangle r = random_rectangle(seed, number);
    ck_assert_int_eq(put(replica, request, block, &r, true), GSRT_OK);
    for (uint32_t layer = r.layer_first; layer < r.layer_end; layer++) {
        for (uint32_t head = r.head_first; head < r.head_end; head++)
            m->has[request][layer * HEADS + head][block] = true;
    }
}

static void compare(const gsrt_replica *replica, const model *m)
{
    for (uint32_t request = 0; request < REQUESTS; request++) {
        const uint32_t *counts = gsrt_replica_counts(replica, request);
        for (uint32_t i = 0; i < CELLS; i++) {
            ck_assert_uint_eq(counts == NULL ? 0 : counts[i], leading(m, request, i));
            for (uint32_t block = 0; block < BLOCKS; block++) {
                gsrt_snapshot_cell cell = {request, i / HEADS, i % HEADS, block};
                ck_assert_int_eq(has(replica, &cell), m->has[request][i][block]);
            }
        }
    }
}

START_TEST(what_was_put_in_comes_back)
{
    for (uint64_t seed = 0; seed < 20; seed++) {
        gsrt_replica *replica = gsrt_replica_create(&shape, SIZE_MAX / 2);
        model *m = calloc(1, sizeof *m);
        ck_assert(replica != NULL && m != NULL);
        for (uint64_t number = 0; number < 60; number++) {
            put_random(replica, m, seed, number);
            if (number % 20 == 13) {
                gsrt_replica_forget(replica, 1);
                memset(m->has[1], 0, sizeof m->has[1]);
                ck_assert_int_eq(put(replica, 1, 0, &everything, true), GSRT_ESTATE);
                ck_assert_int_eq(put(replica, 1, 0, &everything, false), GSRT_OK); /* asked for: it goes on after all */
                for (uint32_t i = 0; i < CELLS; i++)
                    m->has[1][i][0] = true;
            }
            compare(replica, m);
        }
        free(m);
        ck_assert_ptr_null(gsrt_replica_free(replica));
    }
}
END_TEST

START_TEST(there_is_a_bound)
{
    gsrt_payload *part = make_part(0, 0, &everything);
    gsrt_replica *replica = gsrt_replica_create(&shape, 2 * part->len);
    gsrt_replica_facts facts;
    for (uint32_t block = 0; block < 4; block++)
        ck_assert_int_eq(put(replica, 0, block, &everything, true), block < 2 ? GSRT_OK : GSRT_EFULL);
    ck_assert_int_eq(put(replica, 0, 1, &everything, true), GSRT_OK); /* it is there */
    ck_assert_int_eq(put(replica, 0, 2, &everything, false), GSRT_OK);
    gsrt_replica_read_facts(replica, &facts);
    ck_assert_uint_eq(facts.bytes, 3 * part->len);
    ck_assert_uint_eq(facts.bytes_highest, 3 * part->len);
    ck_assert_uint_eq(facts.left_out, 2);
    gsrt_replica_forget(replica, 0);
    gsrt_replica_read_facts(replica, &facts);
    ck_assert_uint_eq(facts.bytes, 0);
    ck_assert_int_eq(put(replica, 1, 0, &everything, true), GSRT_OK);
    /* the payload is shared, not copied */
    ck_assert_int_eq(gsrt_replica_put(replica, part, false, NULL), GSRT_OK);
    gsrt_snapshot_cell cell = {.request = 0};
    ck_assert_ptr_eq(gsrt_replica_part_of(replica, &cell), part);
    gsrt_payload_unref(part);
    gsrt_replica_free(replica);
}
END_TEST

START_TEST(what_is_no_part_is_refused)
{
    gsrt_replica *replica = gsrt_replica_create(&shape, SIZE_MAX / 2);
    gsrt_payload *part = make_part(1, 2, &everything);
    const size_t head = 24, cells = CELLS * sizeof(gsrt_snapshot_cell);
    /* every field of its head and its cells, set to what cannot be */
    for (size_t at = 0; at < head + cells; at += sizeof(uint32_t)) {
        uint32_t before, never = UINT32_MAX;
        if (at >= 8 && at < 16)
            continue; /* the number means nothing here */
        memcpy(&before, part->data + at, sizeof before);
        memcpy(part->data + at, &never, sizeof never);
        ck_assert_msg(gsrt_replica_put(replica, part, false, NULL) == GSRT_EINPUT, "at %zu", at);
        memcpy(part->data + at, &before, sizeof before);
    }
    for (uint32_t i = 0; i < 3; i++) { /* layer, head, block */
        static const uint32_t limits[] = {LAYERS, HEADS, 3};
        uint32_t before;
        uint8_t *last = part->data + head + cells - sizeof(gsrt_snapshot_cell) + (i + 1) * sizeof before;
        memcpy(&before, last, sizeof before);
        memcpy(last, &limits[i], sizeof before);
        ck_assert_msg(gsrt_replica_put(replica, part, false, NULL) == GSRT_EINPUT, "field %u", i);
        memcpy(last, &before, sizeof before);
    }
    ck_assert_int_eq(gsrt_replica_put(replica, NULL, false, NULL), GSRT_EINPUT);
    ck_assert_ptr_null(gsrt_replica_counts(replica, 1));
    ck_assert_int_eq(gsrt_replica_put(replica, part, false, NULL), GSRT_OK);
    gsrt_payload_unref(part);
    gsrt_replica_free(replica);
}
END_TEST

/* ---- holdings ---- */

static gsrt_status tell(gsrt_holdings *holdings, uint32_t rank, const gsrt_replica *replica, uint32_t number_max)
{
    gsrt_buffer told;
    gsrt_buffer_init(&told, 1u << 20);
    ck_assert_int_eq(gsrt_replica_tell(replica, number_max, &told), GSRT_OK);
    ck_assert_uint_le(told.len, number_max * sizeof(uint32_t));
    gsrt_status status = gsrt_holdings_note(holdings, rank, (const uint32_t *)(const void *)told.data,
                                            (uint32_t)(told.len / sizeof(uint32_t)));
    gsrt_buffer_fini(&told);
    return status;
}

/* What `need` lacks comes from those who have it, once, and from nobody else. */
static void check_transfers(const gsrt_holdings *holdings, const model *models, const gsrt_holdings_need *need,
                            const bool *is_there)
{
    gsrt_buffer out;
    uint32_t given[CELLS] = {0};
    gsrt_buffer_init(&out, 1u << 20);
    ck_assert_int_eq(gsrt_holdings_draw(holdings, need, is_there, &out), GSRT_OK);
    for (size_t at = 0; at < out.len; at += sizeof(gsrt_transfer)) {
        gsrt_transfer t;
        memcpy(&t, out.data + at, sizeof t);
        ck_assert(is_there[t.from] && t.from != t.to && t.to == need->to && t.request == need->request);
        ck_assert_uint_eq(t.block_count, need->block_count);
        ck_assert_uint_gt(t.cell_count, 0);
        for (uint32_t i = t.first; i < t.first + t.cell_count; i++) {
            ck_assert_uint_ge(leading(&models[t.from], need->request, i), need->block_count);
            given[i] += 1;
        }
    }
    for (uint32_t i = 0; i < CELLS; i++) {
        uint32_t layer = i / HEADS, head = i % HEADS;
        bool is_needed = layer >= need->layer_first && layer < need->layer_first + need->layer_count &&
                         head >= need->head_first && head < need->head_first + need->head_count;
        bool is_held = leading(&models[need->to], need->request, i) >= need->block_count;
        ck_assert_uint_eq(given[i], is_needed && !is_held ? 1 : 0);
    }
    gsrt_buffer_fini(&out);
}

static void check_holdings(uint64_t seed)
{
    model *models = calloc(RANKS, sizeof *models);
    gsrt_holdings *holdings = gsrt_holdings_create(&shape, RANKS);
    const bool is_there[RANKS] = {true, seed % 3 != 0, true, true};
    ck_assert(models != NULL && holdings != NULL);
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        gsrt_replica *replica = gsrt_replica_create(&shape, SIZE_MAX / 2);
        for (uint64_t number = 0; number < 80; number++)
            put_random(replica, &models[rank], seed * RANKS + rank, number);
        ck_assert_int_eq(tell(holdings, rank, replica, 1000), GSRT_OK);
        gsrt_replica_free(replica);
    }
    for (uint32_t request = 0; request < REQUESTS; request++) {
        uint32_t wanted = BLOCKS;
        for (uint32_t i = 0; i < CELLS; i++) {
            uint32_t highest = 0;
            for (uint32_t rank = 0; rank < RANKS; rank++) {
                uint32_t count = is_there[rank] ? leading(&models[rank], request, i) : 0;
                highest = count > highest ? count : highest;
            }
            wanted = highest < wanted ? highest : wanted;
        }
        ck_assert_uint_eq(gsrt_holdings_blocks(holdings, request, is_there), wanted);
        for (uint32_t to = 0; to < RANKS && wanted > 0; to++) {
            rectangle r = random_rectangle(seed, to);
            gsrt_holdings_need need = {.to = to,
                                       .request = request,
                                       .block_count = 1 + (uint32_t)seed % wanted,
                                       .layer_first = r.layer_first,
                                       .layer_count = r.layer_end - r.layer_first,
                                       .head_first = r.head_first,
                                       .head_count = r.head_end - r.head_first};
            if (is_there[to])
                check_transfers(holdings, models, &need, is_there);
        }
    }
    ck_assert_uint_eq(gsrt_holdings_blocks(holdings, REQUESTS, is_there), 0);
    ck_assert_ptr_null(gsrt_holdings_free(holdings));
    free(models);
}

START_TEST(who_lacks_something_is_given_it)
{
    for (uint64_t seed = 0; seed < 30; seed++)
        check_holdings(seed);
}
END_TEST

START_TEST(what_does_not_fit_is_not_told)
{
    gsrt_replica *replica = gsrt_replica_create(&shape, SIZE_MAX / 2);
    gsrt_holdings *holdings = gsrt_holdings_create(&shape, 1);
    const bool is_there[1] = {true};
    for (uint32_t request = 0; request < REQUESTS; request++)
        ck_assert_int_eq(put(replica, request, 0, &everything, true), GSRT_OK);
    for (uint32_t number_max = 0; number_max < 16; number_max++) { /* four numbers for each */
        ck_assert_int_eq(tell(holdings, 0, replica, number_max), GSRT_OK);
        for (uint32_t request = 0; request < REQUESTS; request++)
            ck_assert_uint_eq(gsrt_holdings_blocks(holdings, request, is_there), number_max >= 4 * (request + 1));
    }
    gsrt_holdings_free(holdings);
    gsrt_replica_free(replica);
}
END_TEST

START_TEST(numbers_that_make_no_sense_are_refused)
{
    static const struct {
        const char *what;
        uint32_t count, numbers[10];
    } cases[] = {
        {"cut off in its head", 1, {0}},
        {"cut off in a run", 3, {0, 1, 1}},
        {"more runs than numbers", 4, {0, 2, 1, CELLS}},
        {"a huge number of runs", 4, {0, UINT32_MAX, 1, CELLS}},
        {"too few cells", 4, {0, 1, 1, CELLS - 1}},
        {"too many cells", 4, {0, 1, 1, CELLS + 1}},
        {"cells that wrap", 6, {0, 2, 1, CELLS, 1, UINT32_MAX}},
        {"more blocks than a context", 4, {0, 1, GSRT_CONTEXT_MAX, CELLS}},
        {"no such request", 4, {GSRT_REQUEST_COUNT_MAX, 1, 1, CELLS}},
        {"twice", 8, {5, 1, 1, CELLS, 5, 1, 1, CELLS}},
        {"out of order", 8, {5, 1, 1, CELLS, 4, 1, 1, CELLS}},
    };
    gsrt_holdings *holdings = gsrt_holdings_create(&shape, 1);
    const bool is_there[1] = {true};
    const uint32_t sound[] = {5, 1, 2, CELLS};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        ck_assert_int_eq(gsrt_holdings_note(holdings, 0, sound, 4), GSRT_OK);
        ck_assert_uint_eq(gsrt_holdings_blocks(holdings, 5, is_there), 2);
        ck_assert_msg(gsrt_holdings_note(holdings, 0, cases[i].numbers, cases[i].count) == GSRT_EINPUT, "%s",
                      cases[i].what);
        ck_assert_uint_eq(gsrt_holdings_blocks(holdings, 5, is_there), 0);
    }
    ck_assert_int_eq(gsrt_holdings_note(holdings, 1, sound, 4), GSRT_EINPUT);
    gsrt_holdings_free(holdings);
}
END_TEST

int main(void)
{
    const TTest *tests[] = {what_was_put_in_comes_back,    there_is_a_bound,
                            what_is_no_part_is_refused,    who_lacks_something_is_given_it,
                            what_does_not_fit_is_not_told, numbers_that_make_no_sense_are_refused};
    return unit_run("replica", tests, sizeof tests / sizeof tests[0]);
}
