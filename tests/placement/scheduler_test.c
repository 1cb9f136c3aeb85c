/* The scheduler against a model of the device that answers each step: batches, chunks, prefixes, limits; and a random
 * run with the invariants checked after every event. */
#include "base/random.h"
#include "placement/block_pool.h"
#include "placement/scheduler.h"

#include <check.h>
#include <stdlib.h>

enum { STOP = 2, REQUESTS_MAX = 64, TOKENS_MAX = 4096, BLOCKS_MAX = 64 };

typedef struct world {
    gsrt_scheduler *scheduler;
    uint32_t answer[REQUESTS_MAX][TOKENS_MAX]; /* tokens emitted */
    uint32_t answer_count[REQUESTS_MAX];
    gsrt_finish finish[REQUESTS_MAX];
    uint32_t prefix[REQUESTS_MAX];
    uint64_t flights[GSRT_STAGE_COUNT_MAX]; /* steps out, oldest first */
    uint32_t flight_wanted[GSRT_STAGE_COUNT_MAX], flight_count;
    uint32_t flight_tokens[GSRT_STAGE_COUNT_MAX][GSRT_BATCH_ROWS_MAX]; /* what each wanted row will draw */
    uint32_t rows_max, sequences_max;
    uint64_t rows;
    uint32_t restored[REQUESTS_MAX]; /* positions that a RESTORE put there */
    uint32_t stepped[REQUESTS_MAX];  /* positions before the end of the last step that came back */
    uint32_t flight_requests[GSRT_STAGE_COUNT_MAX][8], flight_ends[GSRT_STAGE_COUNT_MAX][8];
    uint32_t flight_sequences[GSRT_STAGE_COUNT_MAX]; /* at most 8 are looked at */
    uint64_t snapshot_last;
    uint32_t snapshot_count;
    uint32_t prompt_counts[REQUESTS_MAX];
    uint32_t text[REQUESTS_MAX][TOKENS_MAX];              /* tokens of prompt and answer, by position */
    uint32_t pages[BLOCKS_MAX][GSRT_KV_BLOCK_POSITIONS];  /* of one region: what was written where, 0: nothing */
    uint32_t target[BLOCKS_MAX][GSRT_KV_BLOCK_POSITIONS]; /* of the region that it moves to */
    uint32_t copied[BLOCKS_MAX], copied_count;            /* blocks of the COPY that is out */
    bool is_copying, is_held, is_handed_over;
    uint32_t move_count;
} world;

/* The token after (request, position) depends on nothing else: as the bitwise contract promises. */
static uint32_t next_token(uint32_t request, uint32_t position)
{
    return 3 + (uint32_t)(gsrt_random_u64(7, request, position) % 500);
}

static world *world_create(const gsrt_scheduler_options *options)
{
    world *w = calloc(1, sizeof *w);
    ck_assert_ptr_nonnull(w);
    ck_assert_int_eq(gsrt_scheduler_create(options, &w->scheduler), GSRT_OK);
    return w;
}

static void world_free(world *w)
{
    ck_assert_ptr_null(gsrt_scheduler_free(w->scheduler));
    free(w);
}

/* A step reads all positions before its own, where they were written, and writes its own. */
static void use_pages(world *w, const gsrt_msg_step *step)
{
    uint32_t row = 0;
    const uint32_t *blocks = step->blocks;
    for (uint32_t i = 0; i < step->requests_count; blocks += step->block_counts[i++]) {
        for (uint32_t p = 0; p < step->positions[i]; p++)
            ck_assert_uint_eq(w->pages[blocks[p / GSRT_KV_BLOCK_POSITIONS]][p % GSRT_KV_BLOCK_POSITIONS],
                              w->text[step->requests[i]][p]);
        for (uint32_t k = 0; k < step->row_counts[i]; k++, row++) {
            uint32_t p = step->positions[i] + k;
            w->pages[blocks[p / GSRT_KV_BLOCK_POSITIONS]][p % GSRT_KV_BLOCK_POSITIONS] = step->tokens[row];
        }
    }
}

/* Nothing is copied twice in one COPY; what is copied while steps go on is not written by them. */
static void take_copy(world *w, const gsrt_msg_copy *copy)
{
    ck_assert(!w->is_copying);
    ck_assert(copy->blocks_count > 0 || copy->is_held);
    w->is_copying = true;
    ck_assert(copy->stage == 1 && copy->member == 2 && copy->region == 77);
    ck_assert(!copy->is_held || w->flight_count == 0);
    w->is_held |= copy->is_held;
    w->copied_count = copy->blocks_count;
    for (uint32_t i = 0; i < copy->blocks_count; i++) {
        for (uint32_t k = 0; k < i; k++)
            ck_assert_uint_ne(copy->blocks[i], copy->blocks[k]);
        w->copied[i] = copy->blocks[i];
    }
}

static void take_handover(world *w, const gsrt_msg_handover *handover)
{
    ck_assert(handover->stage == 1 && handover->member == 2);
    ck_assert_uint_eq(handover->bytes, 100 * (uint64_t)handover->block_count);
    ck_assert_uint_eq(w->flight_count, 0);
    w->is_held = w->is_handed_over = true;
}

/* The region that moves: what lies there when the copy is made, not when it was asked for. */
static void do_copy(world *w)
{
    for (uint32_t i = 0; i < w->copied_count; i++)
        memcpy(w->target[w->copied[i]], w->pages[w->copied[i]], sizeof w->pages[0]);
    gsrt_msg_copied copied = {.bytes = 100 * (uint64_t)w->copied_count};
    w->copied_count = 0;
    w->is_copying = false;
    ck_assert_int_eq(gsrt_scheduler_copied(w->scheduler, &copied), GSRT_OK);
}

/* The gateway: from now on the other region is the region, and has what was copied, nothing else. */
static void resume(world *w)
{
    memcpy(w->pages, w->target, sizeof w->pages);
    memset(w->target, 0, sizeof w->target);
    w->is_held = w->is_handed_over = false;
    w->move_count += 1;
    ck_assert_int_eq(gsrt_scheduler_resume(w->scheduler), GSRT_OK);
}

static gsrt_status move(world *w)
{
    return gsrt_scheduler_move(w->scheduler, &(gsrt_msg_move){.stage = 1, .member = 2, .region = 77});
}

static void take_step(world *w, const gsrt_msg_step *step)
{
    uint32_t row = 0, wanted = 0, at = w->flight_count++;
    ck_assert(!w->is_held);
    use_pages(w, step);
    w->flights[at] = step->step;
    w->flight_wanted[at] = step->wanted_count;
    w->rows += step->tokens_count;
    w->rows_max = step->tokens_count > w->rows_max ? step->tokens_count : w->rows_max;
    w->sequences_max = step->requests_count > w->sequences_max ? step->requests_count : w->sequences_max;
    for (uint32_t i = 0; i < step->requests_count; i++) {
        for (uint32_t k = 0; k < step->row_counts[i]; k++, row++) {
            if (wanted < step->wanted_count && step->wanted[wanted] == row)
                w->flight_tokens[at][wanted++] = next_token(step->requests[i], step->positions[i] + k);
        }
        ck_assert_uint_ge(step->block_counts[i], gsrt_kv_blocks_of(step->positions[i] + step->row_counts[i]));
        if (i < 8) {
            w->flight_requests[at][i] = step->requests[i];
            w->flight_ends[at][i] = step->positions[i] + step->row_counts[i];
        }
    }
    w->flight_sequences[at] = step->requests_count < 8 ? step->requests_count : 8;
    ck_assert_uint_eq(row, step->tokens_count);
    ck_assert_uint_eq(wanted, step->wanted_count);
}

/* Whole blocks only, all of whose positions have come back. */
static void take_snapshot(world *w, const gsrt_msg_snapshot *snapshot)
{
    uint32_t total = 0;
    ck_assert_uint_eq(snapshot->number, w->snapshot_last + 1);
    w->snapshot_last = snapshot->number;
    w->snapshot_count += 1;
    ck_assert_uint_gt(snapshot->requests_count, 0);
    ck_assert_uint_eq(snapshot->requests_count, snapshot->block_counts_count);
    for (uint32_t i = 0; i < snapshot->requests_count; i++) {
        uint32_t request = snapshot->requests[i];
        ck_assert(i == 0 || request > snapshot->requests[i - 1]);
        ck_assert_int_eq(w->finish[request], 0);
        ck_assert_uint_eq(snapshot->block_counts[i], w->stepped[request] / GSRT_KV_BLOCK_POSITIONS);
        total += snapshot->block_counts[i];
    }
    ck_assert_uint_eq(total, snapshot->blocks_count);
}

static void drain(world *w)
{
    gsrt_scheduler_action action;
    while (gsrt_scheduler_poll(w->scheduler, &action)) {
        ck_assert(gsrt_scheduler_check(w->scheduler));
        if (action.kind == GSRT_KIND_STEP) {
            take_step(w, &action.step);
        } else if (action.kind == GSRT_KIND_RESTORE) {
            ck_assert_uint_eq(w->restored[action.restore.request], 0);
            for (uint32_t p = 0; p < action.restore.blocks_count * GSRT_KV_BLOCK_POSITIONS; p++)
                w->pages[action.restore.blocks[p / GSRT_KV_BLOCK_POSITIONS]][p % GSRT_KV_BLOCK_POSITIONS] =
                    w->text[action.restore.request][p];
            w->restored[action.restore.request] = action.restore.blocks_count * GSRT_KV_BLOCK_POSITIONS;
            w->stepped[action.restore.request] = w->restored[action.restore.request];
        } else if (action.kind == GSRT_KIND_SNAPSHOT) {
            take_snapshot(w, &action.snapshot);
        } else if (action.kind == GSRT_KIND_COPY) {
            take_copy(w, &action.copy);
        } else if (action.kind == GSRT_KIND_HANDOVER) {
            take_handover(w, &action.handover);
        } else if (action.kind == GSRT_KIND_TOKEN) {
            uint32_t request = action.token.request;
            if (w->answer_count[request] == 0) /* those of restored positions are not drawn */
                w->answer_count[request] = action.token.index;
            ck_assert_uint_eq(action.token.index, w->answer_count[request]);
            w->text[request][w->prompt_counts[request] + action.token.index] = action.token.token;
            w->answer[request][w->answer_count[request]++] = action.token.token;
        } else {
            ck_assert_int_eq(w->finish[action.finished.request], 0);
            w->finish[action.finished.request] = (gsrt_finish)action.finished.reason;
            w->prefix[action.finished.request] = action.finished.prefix_tokens;
        }
    }
}

static gsrt_status answer_oldest(world *w)
{
    uint64_t hashes[GSRT_BATCH_ROWS_MAX] = {0};
    gsrt_msg_tokens tokens = {.step = w->flights[0],
                              .tokens = w->flight_tokens[0],
                              .tokens_count = w->flight_wanted[0],
                              .hash_lows = hashes,
                              .hash_lows_count = w->flight_wanted[0],
                              .hash_highs = hashes,
                              .hash_highs_count = w->flight_wanted[0]};
    gsrt_status status = gsrt_scheduler_tokens(w->scheduler, &tokens);
    for (uint32_t i = 0; status == GSRT_OK && i < w->flight_sequences[0]; i++)
        w->stepped[w->flight_requests[0][i]] = w->flight_ends[0][i];
    w->flight_count -= 1;
    memmove(w->flight_requests, w->flight_requests + 1, w->flight_count * sizeof w->flight_requests[0]);
    memmove(w->flight_ends, w->flight_ends + 1, w->flight_count * sizeof w->flight_ends[0]);
    memmove(w->flight_sequences, w->flight_sequences + 1, w->flight_count * sizeof w->flight_sequences[0]);
    memmove(w->flights, w->flights + 1, w->flight_count * sizeof w->flights[0]);
    memmove(w->flight_wanted, w->flight_wanted + 1, w->flight_count * sizeof w->flight_wanted[0]);
    memmove(w->flight_tokens, w->flight_tokens + 1, w->flight_count * sizeof w->flight_tokens[0]);
    return status;
}

static void run_out(world *w)
{
    drain(w);
    while (w->flight_count > 0) {
        ck_assert_int_eq(answer_oldest(w), GSRT_OK);
        ck_assert(gsrt_scheduler_check(w->scheduler));
        drain(w);
    }
}

static gsrt_status submit_message(world *w, const gsrt_msg_submit *message)
{
    w->prompt_counts[message->request] = message->prompt_count;
    memcpy(w->text[message->request], message->prompt, message->prompt_count * sizeof *message->prompt);
    if (message->known_count > 0)
        memcpy(w->text[message->request] + message->prompt_count, message->known,
               message->known_count * sizeof *message->known);
    return gsrt_scheduler_submit(w->scheduler, message);
}

static gsrt_status submit(world *w, uint32_t request, uint32_t prompt_count, uint32_t max_tokens, uint32_t seed)
{
    static uint32_t prompt[TOKENS_MAX];
    for (uint32_t i = 0; i < prompt_count; i++)
        prompt[i] = 3 + (uint32_t)(gsrt_random_u64(seed, 1, i) % 500);
    gsrt_msg_submit message = {.request = request,
                               .prompt = prompt,
                               .prompt_count = prompt_count,
                               .max_tokens = max_tokens,
                               .is_ignoring_eos = true};
    return submit_message(w, &message);
}

/* The answer of a request is what its positions say, whatever else is going on. */
static void check_answer(const world *w, uint32_t request, uint32_t prompt_count, uint32_t max_tokens)
{
    ck_assert_int_eq(w->finish[request], GSRT_FINISH_LENGTH);
    ck_assert_uint_eq(w->answer_count[request], max_tokens);
    for (uint32_t i = 0; i < max_tokens; i++)
        ck_assert_uint_eq(w->answer[request][i], next_token(request, prompt_count + i - 1));
}

static gsrt_scheduler_options usual(void)
{
    static const uint32_t stops[] = {STOP};
    return (gsrt_scheduler_options){.prefill_chunk = 64,
                                    .batch_requests = 8,
                                    .block_count = 64,
                                    .window = 1,
                                    .context_max = 1024,
                                    .is_reusing_prefixes = true,
                                    .stops = stops,
                                    .stop_count = 1};
}

/* After a restart: whatever is known of the answer is drawn again, then the answer goes on to its end, once. */
START_TEST(known_tokens_are_drawn_again)
{
    enum { PROMPT = 70, ANSWER = 20 };
    for (uint32_t known_count = 0; known_count <= ANSWER; known_count++) {
        gsrt_scheduler_options options = usual();
        options.prefill_chunk = 1 + known_count * 5;
        options.window = 1 + known_count % 3;
        world *w = world_create(&options);
        uint32_t prompt[PROMPT], known[ANSWER];
        for (uint32_t i = 0; i < PROMPT; i++)
            prompt[i] = 3 + i;
        for (uint32_t i = 0; i < known_count; i++)
            known[i] = next_token(0, PROMPT + i - 1);
        gsrt_msg_submit message = {.prompt = prompt,
                                   .prompt_count = PROMPT,
                                   .known = known,
                                   .known_count = known_count,
                                   .max_tokens = ANSWER,
                                   .is_ignoring_eos = true};
        ck_assert_int_eq(submit_message(w, &message), GSRT_OK);
        run_out(w);
        check_answer(w, 0, PROMPT, ANSWER);
        ck_assert_uint_eq(w->rows, PROMPT + ANSWER - 1);
        world_free(w);
    }
}
END_TEST

/* From a snapshot: what it holds is not computed again, and what follows is the same. */
START_TEST(restored_positions_are_not_computed_again)
{
    enum { ANSWER = 150 };
    static const uint32_t prompts[] = {1, 63, 64, 65, 130};
    for (size_t p = 0; p < sizeof prompts / sizeof prompts[0]; p++) {
        for (uint32_t known_count = 0; known_count <= ANSWER; known_count += 7) {
            uint32_t prompt_count = prompts[p], prompt[130], known[ANSWER];
            uint32_t prefill = prompt_count + known_count;
            for (uint32_t i = 0; i < prompt_count; i++)
                prompt[i] = 3 + i;
            for (uint32_t i = 0; i < known_count; i++)
                known[i] = next_token(0, prompt_count + i - 1);
            for (uint32_t restored = 0; restored <= prefill + 64; restored += 32) {
                gsrt_scheduler_options options = usual();
                options.prefill_chunk = 1 + known_count;
                world *w = world_create(&options);
                gsrt_msg_submit message = {.prompt = prompt,
                                           .prompt_count = prompt_count,
                                           .known = known,
                                           .known_count = known_count,
                                           .restored = restored,
                                           .max_tokens = ANSWER + 1,
                                           .is_ignoring_eos = true};
                bool is_good = restored % GSRT_KV_BLOCK_POSITIONS == 0 && restored < prefill;
                ck_assert_int_eq(submit_message(w, &message), is_good ? GSRT_OK : GSRT_EINVAL);
                if (is_good) {
                    run_out(w);
                    uint32_t first = restored >= prompt_count ? restored + 1 - prompt_count : 0;
                    ck_assert_uint_eq(w->restored[0], restored);
                    ck_assert_uint_eq(w->rows, prompt_count + ANSWER - restored);
                    ck_assert_uint_eq(w->answer_count[0], ANSWER + 1);
                    ck_assert_int_eq(w->finish[0], GSRT_FINISH_LENGTH);
                    for (uint32_t i = 0; i <= ANSWER; i++)
                        ck_assert_uint_eq(w->answer[0][i], i < first ? 0 : next_token(0, prompt_count + i - 1));
                }
                world_free(w);
            }
        }
    }
}
END_TEST

START_TEST(snapshots_come_between_steps)
{
    for (uint32_t window = 1; window <= 3; window++) {
        for (uint32_t every = 1; every <= 40; every += 13) {
            gsrt_scheduler_options options = usual();
            options.window = window;
            options.snapshot_tokens = every;
            options.snapshot_first = 1;
            world *w = world_create(&options);
            for (uint32_t request = 0; request < 5; request++)
                ck_assert_int_eq(submit(w, request, 20 + 30 * request, 100, 1 + request), GSRT_OK);
            run_out(w);
            ck_assert_uint_ge(w->snapshot_count, 1);
            ck_assert_uint_le(w->snapshot_count, 500 / every);
            for (uint32_t request = 0; request < 5; request++)
                ck_assert_uint_eq(w->answer_count[request], 100);
            world_free(w);
        }
    }
}
END_TEST

/* Whole blocks while steps go on, the rest while none does; then nobody computes until the gateway has said so. */
START_TEST(a_region_moves_between_two_steps)
{
    gsrt_scheduler_options options = usual();
    options.snapshot_tokens = 1;
    options.snapshot_first = 1;
    world *w = world_create(&options);
    ck_assert_int_eq(submit(w, 0, 100, 40, 1), GSRT_OK);
    drain(w);
    while (w->answer_count[0] < 20) {
        ck_assert_int_eq(answer_oldest(w), GSRT_OK);
        drain(w);
    }
    uint32_t snapshots = w->snapshot_count;
    ck_assert_int_eq(gsrt_scheduler_resume(w->scheduler), GSRT_EINVAL);
    ck_assert_int_eq(gsrt_scheduler_copied(w->scheduler, &(gsrt_msg_copied){0}), GSRT_EINVAL);
    ck_assert_int_eq(move(w), GSRT_OK);
    ck_assert_int_eq(move(w), GSRT_EINVAL);
    drain(w);
    ck_assert_uint_eq(w->copied_count, 1); /* of 120 positions 64 are whole */
    ck_assert_int_eq(answer_oldest(w), GSRT_OK);
    drain(w);
    ck_assert_uint_eq(w->flight_count, 1); /* it goes on meanwhile */
    ck_assert(!gsrt_scheduler_is_held(w->scheduler));
    do_copy(w);
    drain(w);
    ck_assert(gsrt_scheduler_is_held(w->scheduler));
    ck_assert(!w->is_copying); /* a step is still out */
    ck_assert_int_eq(answer_oldest(w), GSRT_OK);
    drain(w);
    ck_assert_uint_eq(w->copied_count, 1); /* the block that is half full */
    ck_assert_int_eq(gsrt_scheduler_resume(w->scheduler), GSRT_EINVAL);
    do_copy(w);
    drain(w);
    ck_assert(w->is_handed_over && w->flight_count == 0);
    ck_assert_uint_eq(w->snapshot_count, snapshots); /* its part might never become durable */
    resume(w);
    run_out(w);
    ck_assert_uint_gt(w->snapshot_count, snapshots);
    check_answer(w, 0, 100, 40);
    world_free(w);
}
END_TEST

/* The new region has no snapshot: whoever is restored from one is restored before. */
START_TEST(a_move_waits_for_those_who_are_to_be_restored)
{
    gsrt_scheduler_options options = usual();
    options.batch_requests = 1;
    world *w = world_create(&options);
    uint32_t prompt[130];
    for (uint32_t i = 0; i < 130; i++)
        prompt[i] = 3 + i;
    ck_assert_int_eq(submit(w, 0, 10, 20, 1), GSRT_OK);
    gsrt_msg_submit message = {.request = 1,
                               .prompt = prompt,
                               .prompt_count = 130,
                               .max_tokens = 20,
                               .restored = 128,
                               .is_ignoring_eos = true};
    ck_assert_int_eq(submit_message(w, &message), GSRT_OK);
    drain(w);
    ck_assert_int_eq(answer_oldest(w), GSRT_OK);
    ck_assert_int_eq(move(w), GSRT_OK);
    drain(w);
    while (w->finish[0] == 0) {
        ck_assert(!gsrt_scheduler_is_held(w->scheduler));
        ck_assert_int_eq(answer_oldest(w), GSRT_OK);
        drain(w);
    }
    ck_assert_uint_eq(w->restored[1], 128);
    ck_assert(!w->is_copying && w->flight_count == 1); /* the rest of the prompt is computed first */
    ck_assert_int_eq(answer_oldest(w), GSRT_OK);
    drain(w);
    ck_assert_uint_eq(w->copied_count, 2); /* what was restored */
    do_copy(w);
    drain(w);
    ck_assert_int_eq(answer_oldest(w), GSRT_OK);
    drain(w);
    ck_assert_uint_eq(w->copied_count, 1);
    do_copy(w);
    drain(w);
    resume(w);
    run_out(w);
    check_answer(w, 1, 130, 20);
    world_free(w);
}
END_TEST

START_TEST(known_tokens_that_cannot_be_are_refused)
{
    gsrt_scheduler_options options = usual();
    world *w = world_create(&options);
    uint32_t prompt[] = {5}, known[] = {7, STOP, 9, 11};
    gsrt_msg_submit message = {.prompt = prompt, .prompt_count = 1, .known = known, .known_count = 3, .max_tokens = 10};
    ck_assert_int_eq(submit_message(w, &message), GSRT_EINVAL); /* goes on after its end */
    message.known_count = 4;
    message.max_tokens = 3;
    ck_assert_int_eq(submit_message(w, &message), GSRT_EINVAL);
    message.known_count = 2;
    message.max_tokens = 10;
    ck_assert_int_eq(submit_message(w, &message), GSRT_OK); /* its end was known */
    world_free(w);
}
END_TEST

START_TEST(one_request_is_prefilled_in_chunks_then_decoded)
{
    gsrt_scheduler_options options = usual();
    options.prefill_chunk = 7;
    world *w = world_create(&options);
    ck_assert_int_eq(submit(w, 0, 30, 10, 1), GSRT_OK);
    run_out(w);
    check_answer(w, 0, 30, 10);
    ck_assert_uint_eq(w->rows_max, 7);
    ck_assert_uint_eq(w->rows, 30 + 9); /* the last token is drawn, not computed */
    world_free(w);
}
END_TEST

START_TEST(requests_are_decoded_together)
{
    gsrt_scheduler_options options = usual();
    world *w = world_create(&options);
    for (uint32_t i = 0; i < 8; i++)
        ck_assert_int_eq(submit(w, i, 5 + i, 20, i), GSRT_OK);
    run_out(w);
    for (uint32_t i = 0; i < 8; i++)
        check_answer(w, i, 5 + i, 20);
    ck_assert_uint_eq(w->sequences_max, 8);
    world_free(w);
}
END_TEST

START_TEST(a_known_prefix_is_reused_in_whole_blocks_but_the_last_row)
{
    gsrt_scheduler_options options = usual();
    world *w = world_create(&options);
    ck_assert_int_eq(submit(w, 0, 200, 4, 9), GSRT_OK);
    run_out(w);
    uint64_t rows = w->rows;
    ck_assert_int_eq(submit(w, 1, 200, 4, 9), GSRT_OK);
    run_out(w);
    ck_assert_uint_eq(w->prefix[0], 0);
    ck_assert_uint_eq(w->prefix[1], 192);
    ck_assert_uint_eq(w->rows - rows, 200 - 192 + 3);
    check_answer(w, 1, 200, 4);
    ck_assert_int_eq(submit(w, 2, 128, 4, 9), GSRT_OK); /* all of it is known: its last block is computed again */
    run_out(w);
    ck_assert_uint_eq(w->prefix[2], 64);
    ck_assert_int_eq(submit(w, 3, 200, 4, 10), GSRT_OK); /* another prompt */
    run_out(w);
    ck_assert_uint_eq(w->prefix[3], 0);
    world_free(w);
}
END_TEST

START_TEST(what_can_never_fit_is_refused_and_the_others_go_on)
{
    gsrt_scheduler_options options = usual();
    options.block_count = 4;
    world *w = world_create(&options);
    ck_assert_int_eq(submit(w, 0, 200, 200, 1), GSRT_OK);
    ck_assert_int_eq(submit(w, 1, 1000, 100, 1), GSRT_OK);
    ck_assert_int_eq(submit(w, 2, 100, 50, 1), GSRT_OK);
    ck_assert_int_eq(submit(w, 3, 100, 50, 2), GSRT_OK); /* waits until 2 has ended */
    run_out(w);
    ck_assert_int_eq(w->finish[0], GSRT_FINISH_REFUSED);
    ck_assert_int_eq(w->finish[1], GSRT_FINISH_REFUSED);
    check_answer(w, 2, 100, 50);
    check_answer(w, 3, 100, 50);
    ck_assert_uint_eq(w->sequences_max, 1);
    world_free(w);
}
END_TEST

START_TEST(a_pipeline_is_kept_full)
{
    gsrt_scheduler_options options = usual();
    options.window = 3;
    world *w = world_create(&options);
    for (uint32_t i = 0; i < 6; i++)
        ck_assert_int_eq(submit(w, i, 10, 30, i), GSRT_OK);
    drain(w);
    for (int i = 0; i < 12; i++) {
        ck_assert_int_eq(answer_oldest(w), GSRT_OK);
        drain(w);
    }
    ck_assert_uint_eq(w->flight_count, 3);
    run_out(w);
    for (uint32_t i = 0; i < 6; i++)
        check_answer(w, i, 10, 30);
    world_free(w);
}
END_TEST

START_TEST(answers_out_of_order_are_refused)
{
    gsrt_scheduler_options options = usual();
    world *w = world_create(&options);
    ck_assert_int_eq(submit(w, 0, 3, 3, 1), GSRT_OK);
    ck_assert_int_eq(submit(w, 0, 3, 3, 1), GSRT_EINVAL); /* the number is taken */
    drain(w);
    w->flights[0] += 1;
    gsrt_msg_tokens wrong = {.step = w->flights[0]};
    ck_assert_int_eq(gsrt_scheduler_tokens(w->scheduler, &wrong), GSRT_EINVAL);
    w->flights[0] -= 1;
    wrong.step = w->flights[0]; /* right step, no entries */
    ck_assert_int_eq(gsrt_scheduler_tokens(w->scheduler, &wrong), GSRT_EINVAL);
    run_out(w);
    check_answer(w, 0, 3, 3);
    world_free(w);
}
END_TEST

/* At any time one may be asked for; the copies and the gateway take their time. */
static void move_about(world *w, uint64_t seed, uint64_t *draw)
{
    if (gsrt_random_u64(seed, 3, (*draw)++) % 4 == 0) {
        gsrt_status status = move(w); /* one may be going on */
        ck_assert(status == GSRT_OK || status == GSRT_EINVAL);
    }
    if (w->is_copying && gsrt_random_u64(seed, 3, (*draw)++) % 3 == 0)
        do_copy(w);
    if (w->is_handed_over && gsrt_random_u64(seed, 3, (*draw)++) % 3 == 0)
        resume(w);
}

START_TEST(random_runs_keep_every_invariant)
{
    gsrt_scheduler_options options = usual();
    uint64_t seed = (uint64_t)_i, draw = 0;
    options.prefill_chunk = 1 + (uint32_t)(gsrt_random_u64(seed, 2, draw++) % 100);
    options.batch_requests = 1 + (uint32_t)(gsrt_random_u64(seed, 2, draw++) % 8);
    options.window = 1 + (uint32_t)(gsrt_random_u64(seed, 2, draw++) % 4);
    options.block_count = 6 + (uint32_t)(gsrt_random_u64(seed, 2, draw++) % 20);
    world *w = world_create(&options);
    uint32_t prompts[REQUESTS_MAX], lengths[REQUESTS_MAX], submitted = 0;
    while (submitted < 24 || w->flight_count > 0 || w->is_copying || w->is_handed_over) {
        if (submitted < 24 && (w->flight_count == 0 || gsrt_random_u64(seed, 2, draw++) % 3 == 0)) {
            prompts[submitted] = 1 + (uint32_t)(gsrt_random_u64(seed, 2, draw++) % 250);
            lengths[submitted] = 1 + (uint32_t)(gsrt_random_u64(seed, 2, draw++) % 60);
            uint32_t kind = (uint32_t)(gsrt_random_u64(seed, 2, draw++) % 3); /* three prompts that share beginnings */
            ck_assert_int_eq(submit(w, submitted, prompts[submitted], lengths[submitted], kind), GSRT_OK);
            submitted += 1;
        } else if (w->flight_count > 0) {
            ck_assert_int_eq(answer_oldest(w), GSRT_OK);
        }
        move_about(w, seed, &draw);
        ck_assert(gsrt_scheduler_check(w->scheduler));
        drain(w);
    }
    for (uint32_t i = 0; i < submitted; i++)
        check_answer(w, i, prompts[i], lengths[i]);
    ck_assert_uint_gt(w->move_count, 3);
    world_free(w);
}
END_TEST

START_TEST(blocks_are_shared_noted_and_taken_oldest_first)
{
    uint32_t a[GSRT_KV_BLOCK_POSITIONS] = {1}, b[GSRT_KV_BLOCK_POSITIONS] = {2};
    gsrt_block_pool *pool = gsrt_block_pool_create(3);
    ck_assert_ptr_nonnull(pool);
    uint32_t first = gsrt_block_pool_take(pool), second = gsrt_block_pool_take(pool);
    ck_assert_uint_eq(gsrt_block_pool_note(pool, first, GSRT_NO_BLOCK, a), first);
    ck_assert_uint_eq(gsrt_block_pool_note(pool, second, first, b), second);
    ck_assert_uint_eq(gsrt_block_pool_find(pool, GSRT_NO_BLOCK, a), first);
    ck_assert_uint_eq(gsrt_block_pool_find(pool, first, b), second);
    ck_assert_uint_eq(gsrt_block_pool_find(pool, GSRT_NO_BLOCK, b), GSRT_NO_BLOCK);
    gsrt_block_pool_unref(pool, second);
    gsrt_block_pool_unref(pool, first);
    ck_assert_uint_eq(gsrt_block_pool_find(pool, GSRT_NO_BLOCK, a), first); /* free, and still known */
    ck_assert_uint_ne(gsrt_block_pool_take(pool), first);                   /* the one that was never used */
    ck_assert_uint_eq(gsrt_block_pool_take(pool), second);
    ck_assert_uint_eq(gsrt_block_pool_take(pool), first); /* now it holds something else ... */
    ck_assert_uint_eq(gsrt_block_pool_find(pool, GSRT_NO_BLOCK, a), GSRT_NO_BLOCK);
    ck_assert_uint_eq(gsrt_block_pool_find(pool, first, b), GSRT_NO_BLOCK); /* ... so what followed it is unknown too */
    ck_assert_uint_eq(gsrt_block_pool_take(pool), GSRT_NO_BLOCK);
    ck_assert(gsrt_block_pool_check(pool));
    ck_assert_ptr_null(gsrt_block_pool_free(pool));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("scheduler");
    TCase *cases = tcase_create("scheduler");
    tcase_add_test(cases, known_tokens_are_drawn_again);
    tcase_add_test(cases, restored_positions_are_not_computed_again);
    tcase_add_test(cases, snapshots_come_between_steps);
    tcase_add_test(cases, a_region_moves_between_two_steps);
    tcase_add_test(cases, a_move_waits_for_those_who_are_to_be_restored);
    tcase_add_test(cases, known_tokens_that_cannot_be_are_refused);
    tcase_add_test(cases, one_request_is_prefilled_in_chunks_then_decoded);
    tcase_add_test(cases, requests_are_decoded_together);
    tcase_add_test(cases, a_known_prefix_is_reused_in_whole_blocks_but_the_last_row);
    tcase_add_test(cases, what_can_never_fit_is_refused_and_the_others_go_on);
    tcase_add_test(cases, a_pipeline_is_kept_full);
    tcase_add_test(cases, answers_out_of_order_are_refused);
    tcase_add_loop_test(cases, random_runs_keep_every_invariant, 0, 60);
    tcase_add_test(cases, blocks_are_shared_noted_and_taken_oldest_first);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
