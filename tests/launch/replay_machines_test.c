/* The machines of a run, replayed: each is moved by hand and recorded; its replay is equal, and no byte of an action
 * can be changed without a difference. */
#include "launch/replay_machines.h"

#include "actors/supervisor_machine.h"
#include "base/random.h"
#include "health/healer.h"
#include "health/membership.h"
#include "placement/scheduler_codec.h"
#include "tests/unit.h"

#include <string.h>

enum { FRAME_COUNT_MAX = 256 };

typedef struct recording {
    const char *machine;
    gsrt_buffer bytes; /* of all contents */
    struct {
        gsrt_trace_kind kind;
        size_t offset, len;
    } frames[FRAME_COUNT_MAX];
    size_t frame_count, mark;
} recording;

static void must(gsrt_status status)
{
    ck_assert_int_eq(status, GSRT_OK);
}

static void begin(recording *r, const char *machine)
{
    *r = (recording){.machine = machine};
    gsrt_buffer_init(&r->bytes, 64u << 20);
}

/* What was appended to bytes since the last call is one frame. */
static void add(recording *r, gsrt_trace_kind kind, gsrt_status status)
{
    must(status);
    ck_assert_uint_lt(r->frame_count, FRAME_COUNT_MAX);
    r->frames[r->frame_count].kind = kind;
    r->frames[r->frame_count].offset = r->mark;
    r->frames[r->frame_count].len = r->bytes.len - r->mark;
    r->frame_count++;
    r->mark = r->bytes.len;
}

static gsrt_trace_frame frame_of(const recording *r, size_t i)
{
    gsrt_trace_frame frame = {.kind = r->frames[i].kind, .number = i};
    gsrt_span content = gsrt_span_of(r->bytes.data + r->frames[i].offset, r->frames[i].len);
    gsrt_span machine = gsrt_span_of_text(r->machine);
    if (frame.kind == GSRT_TRACE_INIT)
        frame.init = (gsrt_trace_init){.actor = 7, .machine = machine, .content = content};
    else if (frame.kind == GSRT_TRACE_EVENT)
        frame.event = (gsrt_trace_event){.actor = 7, .machine = machine, .content = content};
    else
        frame.action = (gsrt_trace_action){.actor = 7, .machine = machine, .content = content};
    return frame;
}

/* GSRT_EINPUT: a frame was refused. *out_difference: where; UINT64_MAX: nowhere. */
static gsrt_status replay(const recording *r, uint64_t *out_difference)
{
    gsrt_replay *replay;
    gsrt_status status = GSRT_OK;
    must(gsrt_replay_create(gsrt_replay_machines, GSRT_REPLAY_MACHINE_COUNT, &replay));
    for (size_t i = 0; i < r->frame_count && status == GSRT_OK; i++) {
        gsrt_trace_frame frame = frame_of(r, i);
        status = gsrt_replay_feed(replay, &frame, "t", NULL);
    }
    gsrt_trace_frame end = {.kind = GSRT_TRACE_END, .number = r->frame_count};
    if (status == GSRT_OK)
        status = gsrt_replay_feed(replay, &end, "t", NULL);
    const gsrt_replay_difference *d = gsrt_replay_first_difference(replay);
    *out_difference = d == NULL ? UINT64_MAX : d->frame_number;
    if (d != NULL) {
        ck_assert_str_eq(d->machine, r->machine);
        ck_assert(d->recorded.len > 0 || d->decided.len > 0);
    }
    gsrt_replay_free(replay);
    return status;
}

static uint64_t action_count(const recording *r)
{
    uint64_t count = 0;
    for (size_t i = 0; i < r->frame_count; i++)
        count += r->frames[i].kind == GSRT_TRACE_ACTION;
    return count;
}

/* Equal as recorded; another action with each byte changed; anything but a crash with other causes. */
static void check(recording *r, uint64_t actions_least)
{
    uint64_t at;
    ck_assert_uint_ge(action_count(r), actions_least);
    must(replay(r, &at));
    ck_assert_msg(at == UINT64_MAX, "%s differs at frame %llu", r->machine, (unsigned long long)at);
    for (size_t i = 0; i < r->frame_count; i++) {
        size_t stride = r->frames[i].len / 40 + 1; /* of a long one a part */
        for (size_t byte = 0; byte < r->frames[i].len; byte += stride) {
            uint8_t *changed = &r->bytes.data[r->frames[i].offset + byte];
            uint8_t mask = (uint8_t)(1u << (byte % 8));
            *changed ^= mask;
            gsrt_status status = replay(r, &at);
            ck_assert(status == GSRT_OK || status == GSRT_EINPUT || status == GSRT_ENOMEM);
            if (r->frames[i].kind == GSRT_TRACE_ACTION)
                ck_assert_msg(status == GSRT_OK && at == i, "%s: frame %zu, byte %zu", r->machine, i, byte);
            *changed ^= mask;
        }
    }
    gsrt_buffer_fini(&r->bytes);
}

/* ---- membership: rank 0 of 3; rank 1 falls silent, dies, comes back ---- */

static void move_membership(recording *r, gsrt_membership *machine, const gsrt_membership_event *event)
{
    gsrt_membership_action action;
    add(r, GSRT_TRACE_EVENT, gsrt_membership_event_encode(event, &r->bytes));
    if (gsrt_membership_step(machine, event) != GSRT_OK)
        return;
    while (gsrt_membership_poll(machine, &action)) {
        ck_assert_ptr_nonnull(gsrt_membership_action_name(action.kind));
        add(r, GSRT_TRACE_ACTION, gsrt_membership_action_encode(&action, &r->bytes));
    }
}

static void record_membership(recording *r, const uint32_t *first)
{
    const gsrt_membership_options options = {.rank = 0,
                                             .rank_count = 3,
                                             .lease_ns = 1000,
                                             .detection_ns = 50,
                                             .retry_ns = 20,
                                             .takeover_ns = 100,
                                             .contact_ns = 50,
                                             .first = first};
    const gsrt_membership_event events[] = {
        {.kind = GSRT_MEMBERSHIP_BEGIN, .now_ns = 10},
        {.kind = GSRT_MEMBERSHIP_DEPOSITED, .now_ns = 12, .epoch = 1},
        {.kind = GSRT_MEMBERSHIP_MESSAGE,
         .now_ns = 20,
         .message = {.type = GSRT_MEMBERSHIP_PONG, .from_rank = 2, .epoch = 1, .time_ns = 12}},
        {.kind = GSRT_MEMBERSHIP_TICK, .now_ns = 70},
        {.kind = GSRT_MEMBERSHIP_SUSPECT, .now_ns = 80, .rank = 1},
        {.kind = GSRT_MEMBERSHIP_WORD,
         .now_ns = 90,
         .word = {.rank = 1, .was_ordered = true, .deposit = {.epoch = 1, .ballot = UINT64_MAX, .rank_count = 3}}},
        {.kind = GSRT_MEMBERSHIP_TICK, .now_ns = 200},
        {.kind = GSRT_MEMBERSHIP_JOIN_ASKED, .now_ns = 210, .rank = 1, .incarnation = 1},
        {.kind = GSRT_MEMBERSHIP_UNREACHABLE, .now_ns = 220, .rank = 2},
        {.kind = GSRT_MEMBERSHIP_TICK, .now_ns = 5000},
        {.kind = GSRT_MEMBERSHIP_TICK, .now_ns = 4000}, /* back in time */
        {.kind = GSRT_MEMBERSHIP_SUSPECT, .now_ns = 6000, .rank = 9},
    };
    gsrt_membership *machine;
    begin(r, "membership");
    must(gsrt_membership_create(&options, &machine));
    add(r, GSRT_TRACE_INIT, gsrt_membership_options_encode(&options, &r->bytes));
    for (size_t i = 0; i < sizeof events / sizeof events[0]; i++)
        move_membership(r, machine, &events[i]);
    gsrt_membership_free(machine);
}

START_TEST(membership)
{
    recording r;
    record_membership(&r, NULL);
    check(&r, 10);
    static const uint32_t first[] = {0, 4, 0};
    record_membership(&r, first);
    check(&r, 10);
    static const uint32_t joiner[] = {GSRT_NOT_A_MEMBER, 0, 0};
    record_membership(&r, joiner);
    check(&r, 2);
}
END_TEST

/* ---- scheduler: two requests that share a prefix, and a device that answers anything ---- */

static void draw_scheduler(recording *r, gsrt_scheduler *machine, gsrt_msg_tokens *tokens)
{
    static uint32_t drawn[GSRT_BATCH_ROWS_MAX];
    static uint64_t hashes[GSRT_BATCH_ROWS_MAX];
    gsrt_scheduler_action action;
    *tokens = (gsrt_msg_tokens){0};
    while (gsrt_scheduler_poll(machine, &action)) {
        add(r, GSRT_TRACE_ACTION, gsrt_scheduler_action_encode(&action, &r->bytes));
        if (action.kind != GSRT_KIND_STEP)
            continue;
        for (uint32_t i = 0; i < action.step.wanted_count; i++) {
            drawn[i] = 3 + (uint32_t)(gsrt_random_u64(1, action.step.step, i) % 50);
            hashes[i] = gsrt_random_u64(2, action.step.step, i);
        }
        *tokens = (gsrt_msg_tokens){.step = action.step.step,
                                    .tokens = drawn,
                                    .tokens_count = action.step.wanted_count,
                                    .hash_lows = hashes,
                                    .hash_lows_count = action.step.wanted_count,
                                    .hash_highs = hashes,
                                    .hash_highs_count = action.step.wanted_count};
    }
}

START_TEST(scheduler)
{
    static const uint32_t stops[] = {2}, known[] = {5};
    uint32_t prompt[150];
    for (uint32_t i = 0; i < 150; i++)
        prompt[i] = 3 + i;
    const gsrt_scheduler_options options = {.prefill_chunk = 100,
                                            .batch_requests = 2,
                                            .block_count = 8,
                                            .window = 1,
                                            .context_max = 200,
                                            .is_reusing_prefixes = true,
                                            .stops = stops,
                                            .stop_count = 1};
    const gsrt_msg_submit submits[] = {
        {.request = 0, .prompt = prompt, .prompt_count = 150, .max_tokens = 4, .temperature = 0.5f, .seed = 9},
        {.request = 1, .prompt = prompt, .prompt_count = 140, .known = known, .known_count = 1, .max_tokens = 6},
        {.request = 2, .prompt = prompt, .prompt_count = 150, .max_tokens = 100}, /* never fits */
    };
    recording r;
    gsrt_scheduler *machine;
    gsrt_msg_tokens tokens, next;
    begin(&r, "scheduler");
    must(gsrt_scheduler_create(&options, &machine));
    add(&r, GSRT_TRACE_INIT, gsrt_scheduler_options_encode(&options, &r.bytes));
    tokens.step = 0;
    for (size_t i = 0; i < 3; i++) {
        add(&r, GSRT_TRACE_EVENT, gsrt_scheduler_record_encode(GSRT_KIND_SUBMIT, &submits[i], &r.bytes));
        must(gsrt_scheduler_submit(machine, &submits[i]));
        draw_scheduler(&r, machine, &next);
        tokens = i == 0 ? next : tokens;
    }
    while (tokens.step != 0) {
        add(&r, GSRT_TRACE_EVENT, gsrt_scheduler_record_encode(GSRT_KIND_TOKENS, &tokens, &r.bytes));
        must(gsrt_scheduler_tokens(machine, &tokens));
        draw_scheduler(&r, machine, &tokens);
    }
    gsrt_scheduler_free(machine);
    check(&r, 3 + 4 + 6 + 3); /* steps, tokens, ends */
}
END_TEST

/* ---- supervisor ---- */

START_TEST(supervisor)
{
    static const gsrt_supervisor_event events[] = {
        {.kind = GSRT_SUPERVISOR_BEGIN, .now_ns = 1},
        {.kind = GSRT_SUPERVISOR_STARTED, .child = 0, .now_ns = 2},
        {.kind = GSRT_SUPERVISOR_STARTED, .child = 1, .now_ns = 3},
        {.kind = GSRT_SUPERVISOR_ENDED, .child = 0, .is_abnormal = true, .now_ns = 9},
        {.kind = GSRT_SUPERVISOR_ENDED, .child = 1, .now_ns = 10},
        {.kind = GSRT_SUPERVISOR_REFUSED, .child = 0, .now_ns = 11},
        {.kind = GSRT_SUPERVISOR_END, .now_ns = 12},
    };
    const gsrt_supervisor_plan plan = {.strategy = GSRT_ONE_FOR_ALL,
                                       .restart_max = 2,
                                       .window_ns = 100,
                                       .child_count = 2,
                                       .when = {GSRT_PERMANENT, GSRT_TRANSIENT}};
    recording r;
    gsrt_supervisor_machine machine;
    begin(&r, "supervisor");
    must(gsrt_supervisor_machine_init(&machine, &plan));
    add(&r, GSRT_TRACE_INIT, gsrt_supervisor_plan_encode(&plan, &r.bytes));
    for (size_t i = 0; i < sizeof events / sizeof events[0]; i++) {
        add(&r, GSRT_TRACE_EVENT, gsrt_supervisor_event_encode(&events[i], &r.bytes));
        gsrt_supervisor_action action = gsrt_supervisor_machine_step(&machine, &events[i]);
        add(&r, GSRT_TRACE_ACTION, gsrt_supervisor_action_encode(&action, &r.bytes));
    }
    check(&r, sizeof events / sizeof events[0]);
}
END_TEST

/* ---- healer: somebody of three is lost, with and without a next incarnation, and then everybody ---- */

START_TEST(healer)
{
    gsrt_plan_carrier c = {.stage_count = 2,
                           .layers = {0, 2, 3, 4},
                           .member_counts = {2, 1},
                           .ranks = {0, 1, 2},
                           .shares = {3, 5, 1},
                           .role_count = 3,
                           .spares = {3},
                           .spare_count = 1};
    static const bool there[][4] = {
        {true, false, true, true}, {true, false, true, false}, {false, false, false, false}};
    recording r;
    gsrt_plan *plan;
    must(gsrt_plan_unpack(&c, &plan));
    begin(&r, "healer");
    add(&r, GSRT_TRACE_INIT, gsrt_heal_options_encode(plan, 4, &r.bytes));
    for (int i = 0; i < 6; i++) {
        gsrt_heal_question question = {.full = plan,
                                       .is_there = there[i % 3],
                                       .rank_count = 4,
                                       .is_last = i > 2,
                                       .respawn_ns = 40000000,
                                       .take_ns = 5000000,
                                       .recompute_ns = 10000000,
                                       .step_ns = 1000000,
                                       .steps_left = 100};
        gsrt_heal_answer answer;
        add(&r, GSRT_TRACE_EVENT, gsrt_heal_question_encode(&question, &r.bytes));
        if (gsrt_heal(&question, &answer) == GSRT_OK)
            add(&r, GSRT_TRACE_ACTION, gsrt_heal_answer_encode(&answer, &r.bytes));
    }
    gsrt_plan_free(plan);
    check(&r, 5);
}
END_TEST

int main(void)
{
    const TTest *tests[] = {membership, scheduler, supervisor, healer};
    return unit_run("replay_machines", tests, sizeof tests / sizeof tests[0]);
}
