/* The region actor between a device, neighbours and a scheduler that the test plays, in the twin: one job at a time, in
 * the order of the steps; pieces that come early wait; pieces and steps that make no sense end it. Nothing is computed
 * (kv is NULL): what counts is who sends what when. */
#include "model/region_actor.h"

#include "actors/twin.h"
#include "tests/model/opened_llama.h"
#include "tests/unit.h"

enum { HERE, THERE, RANK_COUNT, JOBS_MAX = 256 };

/* What the region did, as its surroundings saw it. */
typedef struct seen {
    uint32_t jobs[JOBS_MAX]; /* first instruction of each */
    uint32_t job_count, tokens_count, piece_count;
    uint64_t tokens_steps[8], piece_steps[JOBS_MAX], piece_bytes;
    uint32_t piece_exchanges[JOBS_MAX];
    uint32_t pages_blocks[8], pages_count; /* blocks of all PAGES, in order */
    uint64_t pages_bytes, copied_bytes;
    uint32_t copied_count;
    bool is_keeping_pages; /* the neighbour does not answer PAGES */
    bool is_job_out, is_device_broken, has_ended;
    uint32_t end_reason;
} seen;

typedef struct scene {
    opened_llama model;
    gsrt_plan *plan;
    gsrt_lowered *lowered;
    gsrt_twin *twin;
    gsrt_node *node;
    gsrt_address region, neighbour;
    gsrt_region_facts facts;
    seen seen;
} scene;

static gsrt_status take_seen(gsrt_actor *self, void *state, const void *arg)
{
    (void)self;
    *(scene **)state = *(scene *const *)arg;
    return GSRT_OK;
}

/* Answers each job later, so that a second one would be seen to come too early. */
static void device_receive(gsrt_actor *self, void *state, const gsrt_message *message)
{
    scene *s = *(scene **)state;
    if (message->kind != GSRT_KIND_JOB)
        return;
    const gsrt_msg_job *body = message->body;
    const gsrt_job *job = (const gsrt_job *)(uintptr_t)body->job;
    ck_assert(!s->seen.is_job_out);
    ck_assert_uint_lt(s->seen.job_count, JOBS_MAX);
    s->seen.jobs[s->seen.job_count++] = job->instr_first;
    gsrt_msg_job_done answer = {
        .job = body->job, .status = s->seen.is_device_broken ? (uint32_t)GSRT_EIO : (uint32_t)GSRT_OK, .work_ns = 5};
    ck_assert_int_eq(gsrt_reply(self, message->from, message->call, GSRT_KIND_JOB_DONE, &answer, NULL), GSRT_OK);
}

static void others_receive(gsrt_actor *self, void *state, const gsrt_message *message)
{
    scene *s = *(scene **)state;
    if (message->kind == GSRT_KIND_PAGES) {
        const gsrt_msg_pages *pages = message->body;
        for (uint32_t i = 0; i < pages->blocks_count; i++)
            s->seen.pages_blocks[s->seen.pages_count++ % 8] = pages->blocks[i];
        s->seen.pages_bytes += message->payload->len;
        if (!s->seen.is_keeping_pages)
            ck_assert_int_eq(gsrt_send(self, message->from, GSRT_KIND_PAGES_TAKEN,
                                       &(gsrt_msg_pages_taken){.count = pages->blocks_count}, NULL),
                             GSRT_OK);
    } else if (message->kind == GSRT_KIND_COPIED) {
        s->seen.copied_bytes = ((const gsrt_msg_copied *)message->body)->bytes;
        s->seen.copied_count += 1;
    } else if (message->kind == GSRT_KIND_PIECE) {
        const gsrt_msg_piece *piece = message->body;
        ck_assert_uint_eq(piece->member, 0);
        ck_assert_uint_lt(s->seen.piece_count, JOBS_MAX);
        s->seen.piece_steps[s->seen.piece_count] = piece->step;
        s->seen.piece_exchanges[s->seen.piece_count++] = piece->exchange;
        s->seen.piece_bytes += message->payload->len;
    } else if (message->kind == GSRT_KIND_TOKENS) {
        ck_assert_uint_lt(s->seen.tokens_count, 8);
        s->seen.tokens_steps[s->seen.tokens_count++] = ((const gsrt_msg_tokens *)message->body)->step;
    }
}

/* Its first message makes it watch the region. */
static void watcher_receive(gsrt_actor *self, void *state, const gsrt_message *message)
{
    scene *s = *(scene **)state;
    if (message->kind == GSRT_KIND_PING) {
        ck_assert_int_eq(gsrt_monitor(self, s->region), GSRT_OK);
    } else if (message->kind == GSRT_KIND_DOWN) {
        s->seen.has_ended = true;
        s->seen.end_reason = ((const gsrt_msg_down *)message->body)->reason;
    }
}

static gsrt_address start(scene *s, uint32_t rank, const char *name,
                          void (*receive)(gsrt_actor *, void *, const gsrt_message *))
{
    static gsrt_behaviour behaviours[4];
    static uint32_t next;
    gsrt_behaviour *b = &behaviours[next++ % 4];
    gsrt_address address;
    *b = (gsrt_behaviour){.name = name, .state_bytes = sizeof(scene *), .init = take_seen, .receive = receive};
    ck_assert_int_eq(gsrt_node_spawn(gsrt_twin_node(s->twin, rank), b, &s, &address), GSRT_OK);
    return address;
}

static void run(scene *s)
{
    ck_assert_int_eq(gsrt_twin_run(s->twin, UINT64_MAX, 1000000), GSRT_EEMPTY); /* everybody waits for more */
}

static void post(scene *s, gsrt_kind kind, const void *body, gsrt_payload *payload)
{
    gsrt_address region = gsrt_address_of_role(GSRT_ROLE_REGION, 0, 0);
    ck_assert_int_eq(gsrt_node_post(s->node, region, kind, body, payload), GSRT_OK);
    gsrt_payload_unref(payload);
}

/* Member 0 of two, with these shares. */
static void open_scene(scene *s, uint32_t *shares, gsrt_exchange exchange)
{
    gsrt_twin_options twin = {
        .rank_count = RANK_COUNT, .seed = 1, .link = {.latency_ns = 1000, .bytes_per_ns = 1}, .message_ns = 10};
    *s = (scene){.model = open_llama(&tiny_of_four_chunks)};
    s->plan = plan_of_one_stage(&s->model, shares, 2, exchange);
    ck_assert_int_eq(gsrt_lower(s->model.weights, s->plan, 0, 0, 32, &s->lowered), GSRT_OK);
    ck_assert_int_eq(gsrt_twin_create(&twin, &s->twin), GSRT_OK);
    s->node = gsrt_twin_node(s->twin, HERE);
    gsrt_region_options options = {.lowered = s->lowered,
                                   .plan = s->plan,
                                   .weights = s->model.weights,
                                   .rows_max = 8,
                                   .vocab_count = s->model.workload->vocab_count,
                                   .facts = &s->facts};
    ck_assert_int_eq(gsrt_region_actor_start(s->node, &options, &s->region), GSRT_OK);
    ck_assert_int_eq(gsrt_role_bind(s->node, gsrt_address_of_role(GSRT_ROLE_REGION, 0, 0), s->region), GSRT_OK);
    gsrt_address device = start(s, HERE, "device", device_receive);
    gsrt_address neighbour = s->neighbour = start(s, THERE, "neighbour", others_receive);
    gsrt_address scheduler = start(s, HERE, "scheduler", others_receive);
    gsrt_address watcher = start(s, HERE, "watcher", watcher_receive);
    ck_assert_int_eq(gsrt_role_bind(s->node, gsrt_address_of_role(GSRT_ROLE_DEVICE, 0, HERE), device), GSRT_OK);
    ck_assert_int_eq(gsrt_role_bind(s->node, gsrt_address_of_role(GSRT_ROLE_REGION, 0, 1), neighbour), GSRT_OK);
    ck_assert_int_eq(gsrt_role_bind(s->node, gsrt_address_of_role(GSRT_ROLE_SCHEDULER, 0, 0), scheduler), GSRT_OK);
    ck_assert_int_eq(gsrt_node_post(s->node, watcher, GSRT_KIND_PING, &(gsrt_msg_ping){.number = 1}, NULL), GSRT_OK);
    run(s);
}

static void close_scene(scene *s)
{
    gsrt_twin_free(s->twin);
    gsrt_lowered_free(s->lowered);
    gsrt_plan_free(s->plan);
    close_llama(&s->model);
}

/* Two rows of one request; the second is wanted. `token` of the first may be made wrong. */
static void post_step(scene *s, uint64_t number, uint32_t token)
{
    uint32_t tokens[] = {token, 2}, one[] = {1}, two[] = {2}, zero[] = {0};
    float nought[] = {0};
    uint64_t seed[] = {0};
    gsrt_msg_step step = {.step = number,
                          .tokens = tokens,
                          .tokens_count = 2,
                          .requests = zero,
                          .requests_count = 1,
                          .row_counts = two,
                          .row_counts_count = 1,
                          .positions = zero,
                          .positions_count = 1,
                          .block_counts = one,
                          .block_counts_count = 1,
                          .blocks = zero,
                          .blocks_count = 1,
                          .wanted = one,
                          .wanted_count = 1,
                          .is_sampled = one,
                          .is_sampled_count = 1,
                          .temperatures = nought,
                          .temperatures_count = 1,
                          .top_ks = zero,
                          .top_ks_count = 1,
                          .top_ps = nought,
                          .top_ps_count = 1,
                          .seeds = seed,
                          .seeds_count = 1};
    post(s, GSRT_KIND_STEP, &step, NULL);
}

static size_t piece_bytes(const scene *s, uint32_t exchange)
{
    const gsrt_lowered_exchange *e = &s->lowered->exchanges[exchange];
    return (e->is_wanted ? 1u : 2u) * (size_t)e->row_bytes[1];
}

static void post_piece(scene *s, uint64_t step, uint32_t exchange, uint32_t from, size_t bytes)
{
    gsrt_payload *payload = gsrt_payload_create(bytes);
    ck_assert_ptr_nonnull(payload);
    memset(payload->data, 0, bytes);
    post(s, GSRT_KIND_PIECE, &(gsrt_msg_piece){.step = step, .exchange = exchange, .member = from}, payload);
}

static void post_all_pieces(scene *s, uint64_t step)
{
    for (uint32_t e = s->lowered->segment_count - 1; e-- > 0;) /* the last first */
        if ((s->lowered->exchanges[e].senders >> 1 & 1) != 0 && (s->lowered->exchanges[e].receivers & 1) != 0)
            post_piece(s, step, e, 1, piece_bytes(s, e));
}

/* Both steps are done, in order, each segment once, each exchange sent to the neighbour in order. */
static void check_two_steps(const scene *s)
{
    uint32_t segments = s->lowered->segment_count, sent = 0;
    uint64_t gathered = 0, reduced = 0, given = 0;
    ck_assert(!s->seen.has_ended);
    ck_assert_uint_eq(s->seen.tokens_count, 2);
    ck_assert_uint_eq(s->seen.tokens_steps[0], 1);
    ck_assert_uint_eq(s->seen.tokens_steps[1], 2);
    ck_assert_uint_eq(s->seen.job_count, 2 * segments);
    for (uint32_t i = 0; i < 2 * segments; i++)
        ck_assert_uint_eq(s->seen.jobs[i], s->lowered->segments[i % segments].instr_first);
    for (uint32_t step = 1; step <= 2; step++)
        for (uint32_t i = 0; i + 1 < segments; i++) {
            const gsrt_lowered_exchange *e = &s->lowered->exchanges[i];
            if ((e->receivers & 1) != 0 && (e->senders & 2) != 0)
                *(e->is_reduction ? &reduced : &gathered) += piece_bytes(s, i);
            if (e->slot == GSRT_NO_SLOT || (e->receivers & 2) == 0)
                continue;
            ck_assert_uint_eq(s->seen.piece_steps[sent], step);
            ck_assert_uint_eq(s->seen.piece_exchanges[sent++], i);
            given += e->is_scatter ? 2u * e->node_count * (e->scattered[2] - e->scattered[1]) * sizeof(float)
                                   : (e->is_wanted ? 1u : 2u) * (size_t)e->row_bytes[0];
        }
    ck_assert_uint_eq(s->seen.piece_count, sent);
    ck_assert_uint_eq(s->seen.piece_bytes, given);
    ck_assert_uint_eq(s->facts.gathered_bytes, gathered);
    ck_assert_uint_eq(s->facts.reduced_bytes, reduced);
    ck_assert_uint_eq(s->facts.steps, 2);
    ck_assert_uint_eq(s->facts.rows, 4);
    ck_assert_uint_eq(s->facts.wanted_rows, 2);
    ck_assert_uint_eq(s->facts.busy_ns, 5 * s->seen.job_count);
}

/* The first exchange that needs the neighbour; segment_count - 1: none. */
static uint32_t first_needed(const scene *s)
{
    uint32_t e = 0;
    while (e + 1 < s->lowered->segment_count &&
           ((s->lowered->exchanges[e].senders & 2) == 0 || (s->lowered->exchanges[e].receivers & 1) == 0))
        e++;
    return e;
}

static uint32_t share_pairs[][2] = {{1, 1}, {3, 1}, {1, 0}};
static const gsrt_exchange ways[] = {GSRT_EXCHANGE_GATHER, GSRT_EXCHANGE_REDUCE, GSRT_EXCHANGE_SCATTER};

START_TEST(steps_run_in_order_whenever_the_pieces_come)
{
    for (int shares = 0; shares < 3; shares++)
        for (int way = 0; way < 3; way++)
            for (int is_early = 0; is_early < 2; is_early++) {
                scene s;
                open_scene(&s, share_pairs[shares], ways[way]);
                if (is_early) {
                    post_all_pieces(&s, 2);
                    post_all_pieces(&s, 1);
                }
                post_step(&s, 1, 1);
                post_step(&s, 2, 1);
                run(&s);
                if (!is_early) {
                    /* as far as the first exchange that needs the neighbour; the second step has not begun */
                    uint32_t needed = first_needed(&s), segments = s.lowered->segment_count;
                    ck_assert_uint_eq(s.seen.job_count, needed + 1 < segments ? needed + 1 : 2 * segments);
                    ck_assert_uint_eq(s.seen.tokens_count, needed + 1 < segments ? 0 : 2);
                    post_all_pieces(&s, 2);
                    post_all_pieces(&s, 1);
                }
                run(&s);
                check_two_steps(&s);
                close_scene(&s);
            }
}
END_TEST

/* Step 1 is posted, something follows, and the region gives up, once. */
static void expect_end(void (*spoil)(scene *s))
{
    scene s;
    open_scene(&s, share_pairs[0], GSRT_EXCHANGE_SCATTER);
    post_step(&s, 1, 1);
    spoil(&s);
    run(&s);
    ck_assert(s.seen.has_ended);
    ck_assert_uint_eq(s.seen.end_reason, GSRT_EXIT_CRASH);
    ck_assert_uint_eq(s.seen.tokens_count, 0);
    close_scene(&s);
}

static void piece_too_long(scene *s)
{
    post_piece(s, 1, 0, 1, piece_bytes(s, 0) + 4);
}

static void piece_too_short(scene *s)
{
    post_piece(s, 1, 0, 1, piece_bytes(s, 0) - 4);
}

static void piece_twice(scene *s)
{
    post_piece(s, 1, 2, 1, piece_bytes(s, 2));
    post_piece(s, 1, 2, 1, piece_bytes(s, 2));
}

static void piece_of_nobody(scene *s)
{
    post_piece(s, 1, 0, 2, piece_bytes(s, 0));
}

/* A neighbour that speaks for the region itself. */
static void piece_of_its_own(scene *s)
{
    post_piece(s, 1, 0, 0, piece_bytes(s, 0));
}

static void piece_without_payload(scene *s)
{
    post(s, GSRT_KIND_PIECE, &(gsrt_msg_piece){.step = 1, .member = 1}, NULL);
}

static void step_with_a_wrong_token(scene *s)
{
    post_step(s, 2, s->model.workload->vocab_count);
}

static void broken_device(scene *s)
{
    s->seen.is_device_broken = true;
}

START_TEST(what_makes_no_sense_ends_it)
{
    expect_end(piece_too_long);
    expect_end(piece_too_short);
    expect_end(piece_twice);
    expect_end(piece_of_nobody);
    expect_end(piece_of_its_own);
    expect_end(piece_without_payload);
    expect_end(step_with_a_wrong_token);
    expect_end(broken_device);
}
END_TEST

/* The neighbour's rank is lost, and the next view has not come yet: the region does not fall with it. */
START_TEST(who_is_lost_is_not_spoken_to)
{
    static const gsrt_exchange exchanges[] = {GSRT_EXCHANGE_GATHER, GSRT_EXCHANGE_REDUCE, GSRT_EXCHANGE_SCATTER};
    for (size_t i = 0; i < sizeof exchanges / sizeof *exchanges; i++) {
        scene s;
        open_scene(&s, share_pairs[0], exchanges[i]);
        gsrt_node_rank_lost(s.node, THERE);
        ck_assert_uint_eq(gsrt_role_resolve(s.node, gsrt_address_of_role(GSRT_ROLE_REGION, 0, 1)), GSRT_NOBODY);
        post_step(&s, 1, 1);
        post_all_pieces(&s, 1); /* came before */
        run(&s);
        ck_assert(!s.seen.has_ended);
        ck_assert_uint_eq(s.seen.piece_count, 0);
        ck_assert_uint_eq(s.seen.tokens_count, 1);
        close_scene(&s);
    }
}
END_TEST

/* ---- moves ---- */

static void post_copy(scene *s, bool is_held, const uint32_t *blocks, uint32_t count)
{
    gsrt_msg_copy copy = {.region = s->neighbour, .is_held = is_held, .blocks = blocks, .blocks_count = count};
    post(s, GSRT_KIND_COPY, &copy, NULL);
}

/* While steps go on it is done at once, though a step is in hand; where they are held, after the last one. */
START_TEST(a_copy_waits_for_the_last_step_only_where_none_follows)
{
    static const uint32_t blocks[] = {3, 1, 2};
    for (int is_held = 0; is_held < 2; is_held++) {
        scene s;
        open_scene(&s, share_pairs[0], GSRT_EXCHANGE_GATHER);
        post_step(&s, 1, 1);
        run(&s);
        ck_assert_uint_eq(s.seen.tokens_count, 0); /* it waits for the neighbour's pieces */
        post_copy(&s, is_held, blocks, 3);
        run(&s);
        ck_assert_uint_eq(s.seen.pages_count, is_held ? 0 : 3);
        post_all_pieces(&s, 1);
        run(&s);
        ck_assert_uint_eq(s.seen.tokens_count, 1);
        ck_assert_uint_eq(s.seen.pages_count, 3);
        ck_assert_mem_eq(s.seen.pages_blocks, blocks, sizeof blocks);
        ck_assert_uint_eq(s.seen.copied_count, 1);
        ck_assert_uint_gt(s.seen.copied_bytes, 0);
        ck_assert_uint_eq(s.seen.copied_bytes, s.seen.pages_bytes);
        post_copy(&s, true, NULL, 0); /* nothing is left: that too is said */
        run(&s);
        ck_assert_uint_eq(s.seen.copied_count, 2);
        ck_assert_uint_eq(s.seen.copied_bytes, 0);
        ck_assert(!s.seen.has_ended);
        close_scene(&s);
    }
}
END_TEST

/* Copied is what the other side has said to have; the region goes on computing meanwhile. */
START_TEST(a_copy_is_done_when_all_is_there)
{
    static const uint32_t blocks[] = {0};
    scene s;
    open_scene(&s, share_pairs[0], GSRT_EXCHANGE_GATHER);
    s.seen.is_keeping_pages = true;
    post_copy(&s, false, blocks, 1);
    post_all_pieces(&s, 1);
    post_step(&s, 1, 1);
    run(&s);
    ck_assert_uint_eq(s.seen.tokens_count, 1);
    ck_assert_uint_eq(s.seen.pages_count, 1);
    ck_assert_uint_eq(s.seen.copied_count, 0);
    post(&s, GSRT_KIND_PAGES_TAKEN, &(gsrt_msg_pages_taken){.count = 1}, NULL);
    run(&s);
    ck_assert_uint_eq(s.seen.copied_count, 1);
    close_scene(&s);
}
END_TEST

static void copy_within_a_copy(scene *s)
{
    static const uint32_t blocks[] = {0};
    s->seen.is_keeping_pages = true;
    post_copy(s, false, blocks, 1);
    post_copy(s, false, blocks, 1);
}

static void more_taken_than_sent(scene *s)
{
    static const uint32_t blocks[] = {0};
    s->seen.is_keeping_pages = true;
    post_copy(s, false, blocks, 1);
    post(s, GSRT_KIND_PAGES_TAKEN, &(gsrt_msg_pages_taken){.count = 2}, NULL);
}

static void taken_of_nothing(scene *s)
{
    post(s, GSRT_KIND_PAGES_TAKEN, &(gsrt_msg_pages_taken){.count = 0}, NULL);
}

static void pages_too_short(scene *s)
{
    static const uint32_t blocks[] = {0};
    post(s, GSRT_KIND_PAGES, &(gsrt_msg_pages){.blocks = blocks, .blocks_count = 1}, gsrt_payload_create(4));
}

START_TEST(copies_that_make_no_sense_end_it)
{
    expect_end(copy_within_a_copy);
    expect_end(more_taken_than_sent);
    expect_end(taken_of_nothing);
    expect_end(pages_too_short);
}
END_TEST

int main(void)
{
    const TTest *tests[] = {steps_run_in_order_whenever_the_pieces_come,
                            who_is_lost_is_not_spoken_to,
                            what_makes_no_sense_ends_it,
                            a_copy_waits_for_the_last_step_only_where_none_follows,
                            a_copy_is_done_when_all_is_there,
                            copies_that_make_no_sense_end_it};
    return unit_run("region_actor", tests, sizeof tests / sizeof tests[0]);
}
