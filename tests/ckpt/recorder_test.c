/* The recorder: files and sinks get the same bytes, errors are told once, a trace is never overwritten. */
#include "ckpt/recorder.h"
#include "tests/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

static gsrt_status keep(void *arg, gsrt_span bytes)
{
    return gsrt_buffer_append(arg, bytes.data, bytes.len);
}

static void record_something(gsrt_recorder *recorder)
{
    gsrt_payload payload = {.len = 4096};
    const gsrt_envelope envelope = {.kind = GSRT_KIND_PING,
                                    .from = 1,
                                    .to = 2,
                                    .sequence = 3,
                                    .cause = 4,
                                    .body = gsrt_span_of_text("body"),
                                    .payload = &payload};
    gsrt_recorder_message(recorder, 10, &envelope, true);
    gsrt_recorder_message(recorder, 11, &envelope, false);
    gsrt_recorder_event(recorder, 12, 2, 100, 4, "scheduler", gsrt_span_of("\x91\x01", 2));
    gsrt_recorder_action(recorder, 12, 2, 101, 100, "scheduler", gsrt_span_of("\x91\x02", 2));
    gsrt_recorder_note(recorder, 13, "note");
}

static gsrt_buffer read_file(const char *path)
{
    gsrt_buffer bytes;
    gsrt_buffer_init(&bytes, 1u << 20);
    FILE *file = fopen(path, "rb");
    ck_assert_msg(file != NULL, "no file %s", path);
    uint8_t room[4096];
    size_t n;
    while ((n = fread(room, 1, sizeof room, file)) > 0)
        ck_assert_int_eq(gsrt_buffer_append(&bytes, room, n), GSRT_OK);
    (void)fclose(file);
    return bytes;
}

START_TEST(file_and_sink_agree)
{
    char directory[] = "recorder_test.XXXXXX";
    ck_assert_ptr_nonnull(mkdtemp(directory));
    gsrt_diag diag = {0};
    gsrt_buffer memory;
    gsrt_buffer_init(&memory, 1u << 20);
    gsrt_recorder *recorders[3];
    gsrt_recorder_options options = {.directory = directory, .rank = 5, .incarnation = 1, .run_id = 77};
    ck_assert_int_eq(gsrt_recorder_open(&options, &recorders[0], &diag), GSRT_OK);
    options.directory = NULL;
    ck_assert_int_eq(gsrt_recorder_open(&options, &recorders[1], &diag), GSRT_OK); /* the checksum only */
    options.sink = keep;
    options.sink_arg = &memory;
    ck_assert_int_eq(gsrt_recorder_open(&options, &recorders[2], &diag), GSRT_OK);
    for (int i = 0; i < 3; i++) {
        record_something(recorders[i]);
        ck_assert_uint_eq(gsrt_recorder_frame_count(recorders[i]), 6);
        ck_assert_uint_eq(gsrt_recorder_checksum(recorders[i]), gsrt_recorder_checksum(recorders[0]));
    }
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(gsrt_recorder_close(recorders[i], 20, &diag), GSRT_OK);

    char path[128];
    (void)snprintf(path, sizeof path, "%s/trace/rank-5.1.gsrtt", directory);
    gsrt_buffer file = read_file(path);
    ck_assert(gsrt_span_equal(gsrt_buffer_span(&file), gsrt_buffer_span(&memory)));
    gsrt_trace_reader reader;
    gsrt_trace_frame frame;
    ck_assert_int_eq(gsrt_trace_reader_init(&reader, gsrt_buffer_span(&file), path, &diag), GSRT_OK);
    while (gsrt_trace_next(&reader, &frame, &diag) == GSRT_OK) {
        if (frame.kind == GSRT_TRACE_MESSAGE) {
            ck_assert_uint_eq(frame.message.body_bytes, 4);
            ck_assert_uint_eq(frame.message.payload_bytes, 4096);
            ck_assert_uint_eq(frame.message.is_sent, frame.number == 1);
        }
    }
    ck_assert_str_eq(diag.text, "");
    ck_assert(reader.has_ended && !reader.is_torn);
    ck_assert_uint_eq(reader.frame_number, 7);

    /* a second recorder of the same rank and incarnation must not destroy what is there */
    options.directory = directory;
    gsrt_recorder *second = NULL;
    ck_assert_int_eq(gsrt_recorder_open(&options, &second, &diag), GSRT_EIO);
    ck_assert_ptr_null(second);
    ck_assert_ptr_nonnull(strstr(diag.text, "already there"));
    gsrt_buffer_fini(&file);
    gsrt_buffer_fini(&memory);
    ck_assert_int_eq(unlink(path), 0);
    (void)snprintf(path, sizeof path, "%s/trace", directory);
    ck_assert_int_eq(rmdir(path), 0);
    ck_assert_int_eq(rmdir(directory), 0);
}
END_TEST

START_TEST(bodies_change_the_checksum)
{
    gsrt_recorder *a, *b;
    gsrt_recorder_options options = {.rank = 1};
    ck_assert_int_eq(gsrt_recorder_open(&options, &a, NULL), GSRT_OK);
    ck_assert_int_eq(gsrt_recorder_open(&options, &b, NULL), GSRT_OK);
    gsrt_envelope envelope = {.kind = GSRT_KIND_PING, .from = 1, .to = 2, .body = gsrt_span_of_text("same")};
    gsrt_recorder_message(a, 1, &envelope, true);
    gsrt_recorder_message(b, 1, &envelope, true);
    ck_assert_uint_eq(gsrt_recorder_checksum(a), gsrt_recorder_checksum(b));
    gsrt_recorder_message(a, 2, &envelope, true);
    envelope.body = gsrt_span_of_text("Same");
    gsrt_recorder_message(b, 2, &envelope, true);
    ck_assert_uint_ne(gsrt_recorder_checksum(a), gsrt_recorder_checksum(b));
    ck_assert_int_eq(gsrt_recorder_close(a, 3, NULL), GSRT_OK);
    ck_assert_int_eq(gsrt_recorder_abandon(b, NULL), GSRT_OK);
}
END_TEST

/* Bodies of all sizes around what is put off, events in between: the trace is what it would be if nothing were put off.
 */
START_TEST(what_is_put_off_is_in_order_and_whole)
{
    enum { COUNT = 200 };
    uint8_t body[COUNT];
    gsrt_buffer memory;
    gsrt_buffer_init(&memory, 1u << 20);
    gsrt_recorder *at_once, *late;
    gsrt_recorder_options options = {.rank = 1};
    ck_assert_int_eq(gsrt_recorder_open(&options, &at_once, NULL), GSRT_OK);
    options.sink = keep;
    options.sink_arg = &memory;
    ck_assert_int_eq(gsrt_recorder_open(&options, &late, NULL), GSRT_OK);
    for (uint32_t i = 0; i < COUNT; i++) {
        memset(body, (int)(uint8_t)i, sizeof body); /* borrowed for the call only */
        gsrt_envelope envelope = {.kind = GSRT_KIND_PING, .from = 1, .to = 2, .sequence = i, .body = {body, i}};
        gsrt_recorder_message(late, i, &envelope, i % 2 == 0);
        gsrt_recorder_message(at_once, i, &envelope, i % 2 == 0);
        gsrt_recorder_catch_up(at_once);
        if (i % 70 == 69) {
            gsrt_recorder_event(late, i, 2, i, 4, "scheduler", gsrt_span_of("\x91\x01", 2));
            gsrt_recorder_event(at_once, i, 2, i, 4, "scheduler", gsrt_span_of("\x91\x01", 2));
        }
    }
    ck_assert_uint_eq(gsrt_recorder_checksum(late), gsrt_recorder_checksum(at_once));
    ck_assert_int_eq(gsrt_recorder_close(at_once, COUNT, NULL), GSRT_OK);
    ck_assert_int_eq(gsrt_recorder_close(late, COUNT, NULL), GSRT_OK);

    gsrt_trace_reader reader;
    gsrt_trace_frame frame;
    uint32_t next = 0, events = 0;
    ck_assert_int_eq(gsrt_trace_reader_init(&reader, gsrt_buffer_span(&memory), "t", NULL), GSRT_OK);
    while (gsrt_trace_next(&reader, &frame, NULL) == GSRT_OK) {
        if (frame.kind == GSRT_TRACE_EVENT) {
            events++;
            ck_assert_uint_eq(frame.event.id, next - 1);
        }
        if (frame.kind != GSRT_TRACE_MESSAGE)
            continue;
        memset(body, (int)next, sizeof body);
        ck_assert_uint_eq(frame.message.sequence, next);
        ck_assert_uint_eq(frame.message.body_bytes, next);
        ck_assert_uint_eq(frame.message.body_hash, XXH3_64bits(body, next));
        next++;
    }
    ck_assert(reader.has_ended);
    ck_assert_uint_eq(next, COUNT);
    ck_assert_uint_eq(events, COUNT / 70);
    gsrt_buffer_fini(&memory);
}
END_TEST

START_TEST(a_directory_that_is_not_there_is_named)
{
    gsrt_diag diag = {0};
    gsrt_recorder *recorder = NULL;
    const gsrt_recorder_options options = {.directory = "no/such/directory"};
    ck_assert_int_eq(gsrt_recorder_open(&options, &recorder, &diag), GSRT_EIO);
    ck_assert_ptr_null(recorder);
    ck_assert_ptr_nonnull(strstr(diag.text, "no/such/directory/trace: could not make the directory"));
    ck_assert_int_eq(gsrt_recorder_close(NULL, 0, NULL), GSRT_OK);
}
END_TEST

START_TEST(abandoned_traces_are_torn)
{
    gsrt_buffer memory;
    gsrt_buffer_init(&memory, 1u << 20);
    gsrt_recorder *recorder;
    const gsrt_recorder_options options = {.sink = keep, .sink_arg = &memory};
    ck_assert_int_eq(gsrt_recorder_open(&options, &recorder, NULL), GSRT_OK);
    record_something(recorder);
    ck_assert_int_eq(gsrt_recorder_abandon(recorder, NULL), GSRT_OK);
    gsrt_trace_reader reader;
    gsrt_trace_frame frame;
    ck_assert_int_eq(gsrt_trace_reader_init(&reader, gsrt_buffer_span(&memory), "t", NULL), GSRT_OK);
    gsrt_status status = GSRT_OK;
    while (status == GSRT_OK)
        status = gsrt_trace_next(&reader, &frame, NULL);
    ck_assert_int_eq(status, GSRT_EEMPTY);
    ck_assert(reader.is_torn);
    ck_assert_uint_eq(reader.frame_number, 6);
    ck_assert_uint_eq(reader.offset_bytes, memory.len);
    gsrt_buffer_fini(&memory);
}
END_TEST

static gsrt_status refuse(void *arg, gsrt_span bytes)
{
    (void)arg;
    (void)bytes;
    return GSRT_EIO;
}

START_TEST(a_failed_write_is_told_at_close)
{
    gsrt_diag diag = {0};
    gsrt_recorder *recorder;
    const gsrt_recorder_options options = {.sink = refuse};
    ck_assert_int_eq(gsrt_recorder_open(&options, &recorder, &diag), GSRT_OK);
    record_something(recorder);
    ck_assert_int_eq(gsrt_recorder_status(recorder), GSRT_OK);
    ck_assert_int_eq(gsrt_recorder_flush(recorder), GSRT_EIO);
    ck_assert_int_eq(gsrt_recorder_status(recorder), GSRT_EIO);
    record_something(recorder);
    ck_assert_int_eq(gsrt_recorder_close(recorder, 1, &diag), GSRT_EIO);
    ck_assert_ptr_nonnull(strstr(diag.text, "could not write the trace"));
}
END_TEST

static uint64_t count_kind(gsrt_span bytes, gsrt_trace_kind kind, uint64_t *out_lost)
{
    gsrt_trace_reader reader;
    gsrt_trace_frame frame;
    gsrt_diag diag = {0};
    uint64_t count = 0;
    ck_assert_int_eq(gsrt_trace_reader_init(&reader, bytes, "t", &diag), GSRT_OK);
    while (gsrt_trace_next(&reader, &frame, &diag) == GSRT_OK) {
        count += frame.kind == kind;
        if (frame.kind == GSRT_TRACE_LOST)
            *out_lost = frame.lost.frame_count;
    }
    ck_assert_str_eq(diag.text, "");
    ck_assert(reader.has_ended);
    return count;
}

/* Recorded before its directory is known: the file is what it would be if it had been known. */
START_TEST(a_held_trace_is_whole_when_it_is_placed)
{
    char held_in[] = "recorder_test.XXXXXX", path[128];
    ck_assert_ptr_nonnull(mkdtemp(held_in));
    gsrt_diag diag = {0};
    gsrt_buffer memory;
    gsrt_buffer_init(&memory, 1u << 20);
    gsrt_recorder *held, *known;
    gsrt_recorder_options options = {.is_held = true, .rank = 2, .incarnation = 3};
    ck_assert_int_eq(gsrt_recorder_open(&options, &held, &diag), GSRT_OK);
    options = (gsrt_recorder_options){.rank = 2, .incarnation = 3, .sink = keep, .sink_arg = &memory};
    ck_assert_int_eq(gsrt_recorder_open(&options, &known, &diag), GSRT_OK);
    gsrt_recorder *both[] = {held, known};
    for (int i = 0; i < 2; i++) {
        gsrt_recorder_init(both[i], 9, 2, 99, 0, "scheduler", gsrt_span_of("\x90", 1));
        record_something(both[i]);
        if (i == 0) {
            ck_assert_int_eq(gsrt_recorder_place(held, "no/such/directory", 0, 14, NULL), GSRT_EIO);
            ck_assert_int_eq(gsrt_recorder_place(held, held_in, 0, 14, &diag), GSRT_OK);
            ck_assert_int_eq(gsrt_recorder_place(held, held_in, 0, 14, NULL), GSRT_ESTATE);
        }
        record_something(both[i]);
        ck_assert_int_eq(gsrt_recorder_close(both[i], 20, &diag), GSRT_OK);
    }
    ck_assert_str_eq(diag.text, "");
    (void)snprintf(path, sizeof path, "%s/trace/rank-2.3.gsrtt", held_in);
    gsrt_buffer file = read_file(path);
    ck_assert(gsrt_span_equal(gsrt_buffer_span(&file), gsrt_buffer_span(&memory)));
    uint64_t lost = 0;
    ck_assert_uint_eq(count_kind(gsrt_buffer_span(&file), GSRT_TRACE_INIT, &lost), 1);
    ck_assert_uint_eq(lost, 0);
    gsrt_buffer_fini(&file);
    gsrt_buffer_fini(&memory);
    ck_assert_int_eq(unlink(path), 0);
    (void)snprintf(path, sizeof path, "%s/trace", held_in);
    ck_assert_int_eq(rmdir(path), 0);
    ck_assert_int_eq(rmdir(held_in), 0);
}
END_TEST

/* More than is held: what was recorded first is kept, then a frame says how many are missing, then it goes on. */
START_TEST(what_does_not_fit_is_counted)
{
    enum { MESSAGES = 200000 };
    char directory[] = "recorder_test.XXXXXX", path[128];
    ck_assert_ptr_nonnull(mkdtemp(directory));
    gsrt_diag diag = {0};
    gsrt_recorder *recorder;
    const gsrt_recorder_options options = {.is_held = true};
    ck_assert_int_eq(gsrt_recorder_open(&options, &recorder, &diag), GSRT_OK);
    gsrt_envelope envelope = {.kind = GSRT_KIND_PING, .from = 1, .to = 2, .body = gsrt_span_of_text("body")};
    for (uint32_t i = 0; i < MESSAGES; i++)
        gsrt_recorder_message(recorder, i, &envelope, true);
    ck_assert_uint_lt(gsrt_recorder_byte_count(recorder), GSRT_TRACE_HELD_BYTES + 1024);
    ck_assert_int_eq(gsrt_recorder_place(recorder, directory, 0, MESSAGES, &diag), GSRT_OK);
    record_something(recorder);
    uint64_t frame_count = gsrt_recorder_frame_count(recorder), lost = 0;
    ck_assert_int_eq(gsrt_recorder_close(recorder, MESSAGES, &diag), GSRT_OK);
    (void)snprintf(path, sizeof path, "%s/trace/rank-0.0.gsrtt", directory);
    FILE *file = fopen(path, "rb");
    ck_assert_ptr_nonnull(file);
    gsrt_buffer bytes;
    uint8_t *room;
    gsrt_buffer_init(&bytes, 8u << 20);
    ck_assert_int_eq(gsrt_buffer_extend(&bytes, 8u << 20, &room), GSRT_OK);
    bytes.len = fread(room, 1, bytes.len, file);
    (void)fclose(file);
    uint64_t kept = count_kind(gsrt_buffer_span(&bytes), GSRT_TRACE_MESSAGE, &lost) - 2; /* two were recorded later */
    ck_assert_uint_gt(lost, 0);
    ck_assert_uint_eq(kept + lost, MESSAGES);
    ck_assert_uint_eq(frame_count, 1 + kept + 1 + 5); /* RUN, LOST, the later ones */
    gsrt_buffer_fini(&bytes);
    ck_assert_int_eq(unlink(path), 0);
    (void)snprintf(path, sizeof path, "%s/trace", directory);
    ck_assert_int_eq(rmdir(path), 0);
    ck_assert_int_eq(rmdir(directory), 0);
}
END_TEST

START_TEST(a_trace_that_was_never_placed_leaves_nothing)
{
    gsrt_diag diag = {0};
    gsrt_recorder *recorder;
    const gsrt_recorder_options options = {.is_held = true};
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(gsrt_recorder_open(&options, &recorder, &diag), GSRT_OK);
        record_something(recorder);
        ck_assert_int_eq(i == 0 ? gsrt_recorder_close(recorder, 1, &diag) : gsrt_recorder_abandon(recorder, &diag),
                         GSRT_OK);
    }
    ck_assert_str_eq(diag.text, "");
    ck_assert_int_ne(access("trace", F_OK), 0);
}
END_TEST

int main(void)
{
    const TTest *tests[] = {file_and_sink_agree,
                            bodies_change_the_checksum,
                            what_is_put_off_is_in_order_and_whole,
                            a_directory_that_is_not_there_is_named,
                            abandoned_traces_are_torn,
                            a_failed_write_is_told_at_close,
                            a_held_trace_is_whole_when_it_is_placed,
                            what_does_not_fit_is_counted,
                            a_trace_that_was_never_placed_leaves_nothing};
    return unit_run("recorder", tests, sizeof tests / sizeof tests[0]);
}
