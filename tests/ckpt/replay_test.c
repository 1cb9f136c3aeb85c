/* The comparison of a replay with its trace, with a machine that adds: what is equal passes, every planted difference
 * is found where it is. The traces have a valid chain: they are written, and read back. */
#include "base/msgpack.h"
#include "ckpt/replay.h"
#include "ckpt/trace_writer.h"
#include "tests/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the machine: event n > 0 adds n and leads to n % 4 actions, the sum each, counted up; event 0 is refused ---- */

typedef struct adder {
    uint64_t sum, left;
} adder;

static uint64_t number_of(gsrt_span bytes, gsrt_status *out)
{
    gsrt_unpack unpack;
    gsrt_unpack_init(&unpack, bytes);
    uint64_t number = gsrt_unpack_uint(&unpack, UINT64_MAX);
    *out = gsrt_unpack_end(&unpack);
    return number;
}

static gsrt_status create(gsrt_span options, void **out)
{
    gsrt_status status;
    uint64_t first = number_of(options, &status);
    if (status != GSRT_OK)
        return status;
    adder *machine = calloc(1, sizeof *machine);
    ck_assert_ptr_nonnull(machine);
    machine->sum = first;
    *out = machine;
    return GSRT_OK;
}

static gsrt_status step(void *machine, gsrt_span event)
{
    gsrt_status status;
    adder *a = machine;
    uint64_t number = number_of(event, &status);
    if (status != GSRT_OK)
        return status;
    a->sum += number;
    a->left = number % 4;
    return number == 0 ? GSRT_EINVAL : GSRT_OK;
}

static gsrt_status append_number(gsrt_buffer *out, uint64_t number)
{
    gsrt_pack pack;
    gsrt_pack_init(&pack, out);
    gsrt_pack_uint(&pack, number);
    return gsrt_pack_end(&pack);
}

static gsrt_status draw(void *machine, gsrt_buffer *out)
{
    adder *a = machine;
    if (a->left == 0)
        return GSRT_EEMPTY;
    a->left--;
    return append_number(out, a->sum++);
}

static const char *action_name(gsrt_span action)
{
    gsrt_status status;
    (void)number_of(action, &status);
    return status == GSRT_OK ? "sum" : NULL;
}

static const gsrt_replay_kind kinds[] = {{"adder", create, free, step, draw, action_name},
                                         {"other", create, free, step, draw, action_name}};

/* ---- a trace from a script ---- */

typedef struct line {
    char what;  /* i init, e event, a action, l lost, z end */
    char actor; /* 0..9; for 'l' how many */
    uint8_t number;
    const char *machine; /* NULL: "adder" */
} line;

static gsrt_status keep(void *arg, gsrt_span bytes)
{
    return gsrt_buffer_append(arg, bytes.data, bytes.len);
}

static void write_line(gsrt_trace_writer *writer, const line *l)
{
    gsrt_buffer content;
    gsrt_buffer_init(&content, 64);
    ck_assert_int_eq(append_number(&content, l->number), GSRT_OK);
    gsrt_span machine = gsrt_span_of_text(l->machine == NULL ? "adder" : l->machine);
    uint64_t actor = (uint64_t)l->actor;
    gsrt_span bytes = gsrt_buffer_span(&content);
    if (l->what == 'i')
        gsrt_trace_write_init(writer, &(gsrt_trace_init){.actor = actor, .machine = machine, .content = bytes});
    if (l->what == 'e')
        gsrt_trace_write_event(writer, &(gsrt_trace_event){.actor = actor, .machine = machine, .content = bytes});
    if (l->what == 'a')
        gsrt_trace_write_action(writer, &(gsrt_trace_action){.actor = actor, .machine = machine, .content = bytes});
    if (l->what == 'l')
        gsrt_trace_write_lost(writer, &(gsrt_trace_lost){.frame_count = l->number});
    if (l->what == 'z')
        gsrt_trace_write_end(writer, &(gsrt_trace_end){0});
    gsrt_buffer_fini(&content);
}

/* Replays it; frame 0 is RUN, so line n is frame n + 1. *out: gsrt_replay_free. */
static gsrt_status replay_of(const line *lines, size_t count, gsrt_replay **out, gsrt_diag *diag)
{
    gsrt_buffer bytes;
    gsrt_trace_writer writer;
    gsrt_trace_reader reader;
    gsrt_trace_frame frame;
    gsrt_buffer_init(&bytes, 1u << 20);
    ck_assert_int_eq(gsrt_trace_writer_init(&writer, keep, &bytes), GSRT_OK);
    gsrt_trace_write_run(&writer, &(gsrt_trace_run){.rank = 1});
    for (size_t i = 0; i < count; i++)
        write_line(&writer, &lines[i]);
    ck_assert_int_eq(gsrt_trace_writer_flush(&writer), GSRT_OK);
    gsrt_trace_writer_fini(&writer);
    ck_assert_int_eq(gsrt_replay_create(kinds, 2, out), GSRT_OK);
    ck_assert_int_eq(gsrt_trace_reader_init(&reader, gsrt_buffer_span(&bytes), "t", diag), GSRT_OK);
    gsrt_status status = GSRT_OK;
    while (status == GSRT_OK) {
        status = gsrt_trace_next(&reader, &frame, diag);
        if (status == GSRT_OK)
            status = gsrt_replay_feed(*out, &frame, "t", diag);
    }
    gsrt_buffer_fini(&bytes);
    return status;
}

#define REPLAY(lines, out, diag) replay_of(lines, sizeof(lines) / sizeof(lines)[0], out, diag)

static void expect_equal(const line *lines, size_t count)
{
    gsrt_replay *replay;
    gsrt_diag diag = {0};
    ck_assert_int_eq(replay_of(lines, count, &replay, &diag), GSRT_EEMPTY);
    ck_assert_ptr_null(gsrt_replay_first_difference(replay));
    ck_assert_uint_eq(gsrt_replay_difference_count(replay), 0);
    ck_assert_ptr_null(gsrt_replay_free(replay));
}

static bool is_text(gsrt_span span, const char *text)
{
    return gsrt_span_equal(span, gsrt_span_of_text(text));
}

static void expect_difference(const line *lines, size_t count, uint64_t frame, uint64_t event_frame, uint64_t actor,
                              const char *recorded, const char *decided)
{
    gsrt_replay *replay;
    gsrt_diag diag = {0};
    ck_assert_int_eq(replay_of(lines, count, &replay, &diag), GSRT_EEMPTY);
    const gsrt_replay_difference *d = gsrt_replay_first_difference(replay);
    ck_assert_ptr_nonnull(d);
    ck_assert_uint_eq(d->frame_number, frame);
    ck_assert_uint_eq(d->event_frame, event_frame);
    ck_assert_uint_eq(d->actor, actor);
    ck_assert_str_eq(d->machine, "adder");
    ck_assert_msg(is_text(d->recorded, recorded), "recorded '%.*s', expected '%s'", (int)d->recorded.len,
                  (const char *)d->recorded.data, recorded);
    ck_assert_msg(is_text(d->decided, decided), "decided '%.*s', expected '%s'", (int)d->decided.len,
                  (const char *)d->decided.data, decided);
    ck_assert_uint_eq(gsrt_replay_difference_count(replay), 1);
    gsrt_replay_free(replay);
}

/* Two machines, interleaved; the second event of actor 1 leads to nothing, its last is refused. */
static const line good[] = {{'i', 1, 10, NULL}, {'i', 2, 50, NULL}, {'e', 1, 2, NULL},  {'a', 1, 12, NULL},
                            {'e', 2, 1, NULL},  {'a', 1, 13, NULL}, {'a', 2, 51, NULL}, {'e', 1, 4, NULL},
                            {'e', 1, 3, NULL},  {'a', 1, 21, NULL}, {'a', 1, 22, NULL}, {'a', 1, 23, NULL},
                            {'e', 1, 0, NULL},  {'e', 2, 1, NULL},  {'a', 2, 53, NULL}, {'z', 0, 0, NULL}};
enum { GOOD_COUNT = sizeof good / sizeof good[0] };

START_TEST(what_was_recorded_is_equal)
{
    gsrt_replay *replay;
    gsrt_diag diag = {0};
    ck_assert_int_eq(REPLAY(good, &replay, &diag), GSRT_EEMPTY);
    ck_assert_ptr_null(gsrt_replay_first_difference(replay));
    const gsrt_replay_account *accounts = gsrt_replay_accounts(replay);
    ck_assert_uint_eq(accounts[0].machine_count, 2);
    ck_assert_uint_eq(accounts[0].event_count, 6);
    ck_assert_uint_eq(accounts[0].action_count, 7);
    ck_assert_uint_eq(accounts[0].skipped_count, 0);
    ck_assert_uint_eq(accounts[1].machine_count, 0);
    gsrt_replay_free(replay);
    for (size_t count = 0; count < GOOD_COUNT; count++)
        expect_equal(good, count); /* torn anywhere: what is missing was not written any more */
}
END_TEST

/* Every action, changed by one: found at its frame. */
START_TEST(a_changed_action_is_found_where_it_is)
{
    static const uint64_t event_frames[GOOD_COUNT] = {
        [3] = 3, [5] = 3, [6] = 5, [9] = 9, [10] = 9, [11] = 9, [14] = 14};
    for (size_t i = 0; i < GOOD_COUNT; i++) {
        line lines[GOOD_COUNT];
        char recorded[32], decided[32];
        memcpy(lines, good, sizeof lines);
        if (lines[i].what != 'a')
            continue;
        (void)snprintf(decided, sizeof decided, "sum %u", lines[i].number);
        lines[i].number++;
        (void)snprintf(recorded, sizeof recorded, "sum %u", lines[i].number);
        expect_difference(lines, GOOD_COUNT, i + 1, event_frames[i], (uint64_t)lines[i].actor, recorded, decided);
    }
}
END_TEST

START_TEST(a_missing_action_is_found_at_the_next_event)
{
    static const line missing[] = {{'i', 1, 10, NULL}, {'e', 1, 2, NULL}, {'a', 1, 12, NULL}, {'e', 1, 4, NULL}};
    expect_difference(missing, 4, 4, 2, 1, "", "sum 13");
    static const line at_end[] = {{'i', 1, 10, NULL}, {'e', 1, 1, NULL}, {'z', 0, 0, NULL}};
    expect_difference(at_end, 3, 3, 2, 1, "", "sum 11");
    static const line again[] = {{'i', 1, 10, NULL}, {'e', 1, 1, NULL}, {'i', 1, 10, NULL}, {'z', 0, 0, NULL}};
    expect_difference(again, 4, 3, 2, 1, "", "sum 11");
}
END_TEST

START_TEST(an_action_too_many_is_found)
{
    static const line more[] = {{'i', 1, 10, NULL}, {'e', 1, 1, NULL}, {'a', 1, 11, NULL}, {'a', 1, 12, NULL}};
    expect_difference(more, 4, 4, 2, 1, "sum 12", "");
    static const line refused[] = {{'i', 1, 10, NULL}, {'e', 1, 0, NULL}, {'a', 1, 10, NULL}};
    expect_difference(refused, 3, 3, 2, 1, "sum 10", "");
    static const line first[] = {{'i', 1, 10, NULL}, {'a', 1, 10, NULL}};
    expect_difference(first, 2, 2, 1, 1, "sum 10", "");
}
END_TEST

/* A changed event, or other options, show in the actions that follow. */
START_TEST(a_changed_cause_is_found_in_its_effects)
{
    line lines[GOOD_COUNT];
    memcpy(lines, good, sizeof lines);
    lines[2].number = 6;
    expect_difference(lines, GOOD_COUNT, 4, 3, 1, "sum 12", "sum 16");
    memcpy(lines, good, sizeof lines);
    lines[1].number = 49;
    expect_difference(lines, GOOD_COUNT, 7, 5, 2, "sum 51", "sum 50");
}
END_TEST

START_TEST(after_a_difference_the_others_go_on)
{
    line lines[GOOD_COUNT];
    gsrt_replay *replay;
    memcpy(lines, good, sizeof lines);
    lines[5].number = 99;
    lines[14].number = 99;
    ck_assert_int_eq(REPLAY(lines, &replay, NULL), GSRT_EEMPTY);
    ck_assert_uint_eq(gsrt_replay_difference_count(replay), 2);
    ck_assert_uint_eq(gsrt_replay_first_difference(replay)->frame_number, 6);
    ck_assert_uint_eq(gsrt_replay_accounts(replay)[0].skipped_count, 6); /* of the first machine */
    gsrt_replay_free(replay);
}
END_TEST

START_TEST(after_a_loss_only_later_machines_are_compared)
{
    static const line lines[] = {{'i', 1, 10, NULL}, {'e', 1, 1, NULL},  {'l', 0, 5, NULL},  {'e', 1, 1, NULL},
                                 {'a', 1, 99, NULL}, {'e', 7, 1, NULL},  {'i', 3, 20, NULL}, {'e', 3, 1, NULL},
                                 {'a', 3, 21, NULL}, {'i', 4, 20, NULL}, {'e', 4, 1, NULL},  {'a', 4, 99, NULL}};
    gsrt_replay *replay;
    ck_assert_int_eq(REPLAY(lines, &replay, NULL), GSRT_EEMPTY);
    ck_assert_uint_eq(gsrt_replay_lost_count(replay), 5);
    ck_assert_uint_eq(gsrt_replay_accounts(replay)[0].skipped_count, 3);
    ck_assert_uint_eq(gsrt_replay_difference_count(replay), 1);
    ck_assert_uint_eq(gsrt_replay_first_difference(replay)->frame_number, 12);
    gsrt_replay_free(replay);
}
END_TEST

START_TEST(machines_are_kept_apart_by_kind_and_actor)
{
    static const line lines[] = {{'i', 1, 10, NULL},   {'i', 1, 20, "other"}, {'i', 1, 0, "stranger"},
                                 {'e', 1, 1, "other"}, {'e', 1, 2, NULL},     {'a', 1, 21, "other"},
                                 {'a', 1, 12, NULL},   {'a', 1, 13, NULL},    {'e', 1, 1, "stranger"},
                                 {'z', 0, 0, NULL}};
    gsrt_replay *replay;
    ck_assert_int_eq(REPLAY(lines, &replay, NULL), GSRT_EEMPTY);
    ck_assert_ptr_null(gsrt_replay_first_difference(replay));
    ck_assert_uint_eq(gsrt_replay_accounts(replay)[1].action_count, 1);
    ck_assert_str_eq(gsrt_replay_accounts(replay)[1].name, "other");
    ck_assert_uint_eq(gsrt_replay_unknown_count(replay), 2);
    gsrt_replay_free(replay);
}
END_TEST

static void expect_refused(const line *lines, size_t count, const char *what)
{
    gsrt_replay *replay;
    gsrt_diag diag = {0};
    ck_assert_int_eq(replay_of(lines, count, &replay, &diag), GSRT_EINPUT);
    ck_assert_msg(strncmp(diag.text, what, strlen(what)) == 0, "'%s' does not begin with '%s'", diag.text, what);
    gsrt_replay_free(replay);
}

static gsrt_status know_nothing(void *machine, gsrt_span event)
{
    (void)machine;
    (void)event;
    return GSRT_EDECODE;
}

static gsrt_status begin_nothing(gsrt_span options, void **out)
{
    (void)options;
    (void)out;
    return GSRT_EINVAL;
}

START_TEST(what_cannot_have_been_recorded_is_refused)
{
    static const line before[] = {{'e', 1, 1, NULL}};
    expect_refused(before, 1, "t: frame 1, byte ");
    static const line other_actor[] = {{'i', 1, 1, NULL}, {'a', 2, 1, NULL}};
    expect_refused(other_actor, 2, "t: frame 2, byte ");
    const gsrt_replay_kind unable[] = {{"adder", begin_nothing, free, step, draw, action_name},
                                       {"other", create, free, know_nothing, draw, action_name}};
    uint8_t one = 1;
    gsrt_replay *replay;
    gsrt_diag diag = {0};
    gsrt_trace_frame frame = {.kind = GSRT_TRACE_INIT,
                              .init = {.machine = gsrt_span_of_text("adder"), .content = gsrt_span_of(&one, 1)}};
    ck_assert_int_eq(gsrt_replay_create(unable, 2, &replay), GSRT_OK);
    ck_assert_int_eq(gsrt_replay_feed(replay, &frame, "t", &diag), GSRT_EINPUT);
    ck_assert_ptr_nonnull(strstr(diag.text, "cannot have begun with these options"));
    frame.init.machine = gsrt_span_of_text("other");
    ck_assert_int_eq(gsrt_replay_feed(replay, &frame, "t", NULL), GSRT_OK);
    frame.kind = GSRT_TRACE_EVENT;
    frame.event = (gsrt_trace_event){.machine = gsrt_span_of_text("other"), .content = gsrt_span_of(&one, 1)};
    diag = (gsrt_diag){0};
    ck_assert_int_eq(gsrt_replay_feed(replay, &frame, "t", &diag), GSRT_EINPUT);
    ck_assert_ptr_nonnull(strstr(diag.text, "knows no such event"));
    gsrt_replay_free(replay);
    ck_assert_int_eq(gsrt_replay_create(unable, GSRT_REPLAY_KIND_COUNT_MAX + 1, &replay), GSRT_EINVAL);
}
END_TEST

int main(void)
{
    const TTest *tests[] = {what_was_recorded_is_equal,
                            a_changed_action_is_found_where_it_is,
                            a_missing_action_is_found_at_the_next_event,
                            an_action_too_many_is_found,
                            a_changed_cause_is_found_in_its_effects,
                            after_a_difference_the_others_go_on,
                            after_a_loss_only_later_machines_are_compared,
                            machines_are_kept_apart_by_kind_and_actor,
                            what_cannot_have_been_recorded_is_refused};
    return unit_run("replay", tests, sizeof tests / sizeof tests[0]);
}
