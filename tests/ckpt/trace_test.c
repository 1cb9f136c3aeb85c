/* The trace: round trip, the chain, tears, bounds. What is written is readable msgpack; what was changed is refused. */
#include "base/msgpack.h"
#include "ckpt/trace.h"
#include "ckpt/trace_writer.h"
#include "tests/unit.h"

#include <msgpack.h>
#include <stdlib.h>
#include <xxhash.h>

static gsrt_status keep(void *arg, gsrt_span bytes)
{
    return gsrt_buffer_append(arg, bytes.data, bytes.len);
}

static const uint8_t content[] = {0x93, 0x01, 0xc0, 0xa2, 'o', 'k'}; /* [1, nil, "ok"] */

enum { FRAME_COUNT = 8 };

/* A trace with every kind of frame, FRAME_COUNT. Ends with END when has_end. */
static void write_sample(gsrt_buffer *out, bool has_end)
{
    gsrt_trace_writer writer;
    ck_assert_int_eq(gsrt_trace_writer_init(&writer, keep, out), GSRT_OK);
    const gsrt_trace_run run = {.run_id = UINT64_MAX,
                                .rank = 3,
                                .incarnation = 2,
                                .program = gsrt_span_of_text("gsrt 0.1"),
                                .world = gsrt_span_of_text("twin")};
    gsrt_trace_write_run(&writer, &run);
    const gsrt_trace_message message = {.time_ns = 70000,
                                        .is_sent = 1,
                                        .kind = 65,
                                        .epoch = 0x123456,
                                        .from = UINT64_C(1) << 40,
                                        .to = 127,
                                        .sequence = 128,
                                        .cause = 255,
                                        .call = 256,
                                        .body_bytes = 65535,
                                        .body_hash = UINT64_C(0xfedcba9876543210),
                                        .payload_bytes = 65536};
    gsrt_trace_write_message(&writer, &message);
    const gsrt_trace_event event = {.time_ns = UINT32_MAX,
                                    .actor = 7,
                                    .id = 8,
                                    .cause = 9,
                                    .machine = gsrt_span_of_text("scheduler"),
                                    .content = gsrt_span_of(content, sizeof content)};
    gsrt_trace_write_event(&writer, &event);
    const gsrt_trace_action action = {.time_ns = UINT64_C(0x100000000),
                                      .actor = 7,
                                      .id = 10,
                                      .cause = 8,
                                      .machine = gsrt_span_of_text("scheduler"),
                                      .content = gsrt_span_of(NULL, 0)};
    gsrt_trace_write_action(&writer, &action);
    const gsrt_trace_init init = {.time_ns = 4,
                                  .actor = UINT64_C(1) << 32,
                                  .id = 11,
                                  .machine = gsrt_span_of_text("membership"),
                                  .content = gsrt_span_of(content, sizeof content)};
    gsrt_trace_write_init(&writer, &init);
    const gsrt_trace_lost lost = {.time_ns = 4, .frame_count = 300};
    gsrt_trace_write_lost(&writer, &lost);
    const gsrt_trace_note note = {.time_ns = 5, .text = gsrt_span_of_text("a \"note\"\n")};
    gsrt_trace_write_note(&writer, &note);
    if (has_end) {
        const gsrt_trace_end end = {.time_ns = 6};
        gsrt_trace_write_end(&writer, &end);
    }
    ck_assert_int_eq(gsrt_trace_writer_flush(&writer), GSRT_OK);
    ck_assert_uint_eq(writer.byte_count, out->len);
    gsrt_trace_writer_fini(&writer);
}

/* Read to the end; the last status, and how many frames were good. */
static gsrt_status read_all(gsrt_span span, uint64_t *out_count, bool *out_is_torn)
{
    gsrt_trace_reader reader;
    gsrt_trace_frame frame;
    gsrt_diag diag = {0};
    *out_count = 0;
    *out_is_torn = false;
    gsrt_status status = gsrt_trace_reader_init(&reader, span, "t", &diag);
    while (status == GSRT_OK) {
        status = gsrt_trace_next(&reader, &frame, &diag);
        *out_count += status == GSRT_OK;
        *out_is_torn = reader.is_torn;
    }
    ck_assert_int_eq(diag.status, status == GSRT_EINPUT ? GSRT_EINPUT : GSRT_OK);
    return status;
}

START_TEST(every_kind_round_trips)
{
    gsrt_buffer bytes;
    gsrt_buffer_init(&bytes, 1u << 16);
    write_sample(&bytes, true);
    gsrt_trace_reader reader;
    gsrt_trace_frame frame;
    ck_assert_int_eq(gsrt_trace_reader_init(&reader, gsrt_buffer_span(&bytes), "t", NULL), GSRT_OK);
    ck_assert_int_eq(gsrt_trace_next(&reader, &frame, NULL), GSRT_OK);
    ck_assert_int_eq(frame.kind, GSRT_TRACE_RUN);
    ck_assert_uint_eq(frame.run.run_id, UINT64_MAX);
    ck_assert_uint_eq(frame.run.rank, 3);
    ck_assert_uint_eq(frame.run.incarnation, 2);
    ck_assert(gsrt_span_equal(frame.run.world, gsrt_span_of_text("twin")));
    ck_assert_int_eq(gsrt_trace_next(&reader, &frame, NULL), GSRT_OK);
    ck_assert_int_eq(frame.kind, GSRT_TRACE_MESSAGE);
    ck_assert_uint_eq(frame.number, 1);
    ck_assert_uint_eq(frame.message.time_ns, 70000);
    ck_assert_uint_eq(frame.message.is_sent, 1);
    ck_assert_uint_eq(frame.message.kind, 65);
    ck_assert_uint_eq(frame.message.epoch, 0x123456);
    ck_assert_uint_eq(frame.message.from, UINT64_C(1) << 40);
    ck_assert_uint_eq(frame.message.to, 127);
    ck_assert_uint_eq(frame.message.sequence, 128);
    ck_assert_uint_eq(frame.message.cause, 255);
    ck_assert_uint_eq(frame.message.call, 256);
    ck_assert_uint_eq(frame.message.body_bytes, 65535);
    ck_assert_uint_eq(frame.message.body_hash, UINT64_C(0xfedcba9876543210));
    ck_assert_uint_eq(frame.message.payload_bytes, 65536);
    ck_assert_int_eq(gsrt_trace_next(&reader, &frame, NULL), GSRT_OK);
    ck_assert_int_eq(frame.kind, GSRT_TRACE_EVENT);
    ck_assert_uint_eq(frame.event.time_ns, UINT32_MAX);
    ck_assert_uint_eq(frame.event.cause, 9);
    ck_assert(gsrt_span_equal(frame.event.machine, gsrt_span_of_text("scheduler")));
    ck_assert(gsrt_span_equal(frame.event.content, gsrt_span_of(content, sizeof content)));
    ck_assert_int_eq(gsrt_trace_next(&reader, &frame, NULL), GSRT_OK);
    ck_assert_int_eq(frame.kind, GSRT_TRACE_ACTION);
    ck_assert_uint_eq(frame.action.time_ns, UINT64_C(0x100000000));
    ck_assert_uint_eq(frame.action.content.len, 0);
    ck_assert_int_eq(gsrt_trace_next(&reader, &frame, NULL), GSRT_OK);
    ck_assert_int_eq(frame.kind, GSRT_TRACE_INIT);
    ck_assert_uint_eq(frame.init.actor, UINT64_C(1) << 32);
    ck_assert(gsrt_span_equal(frame.init.machine, gsrt_span_of_text("membership")));
    ck_assert(gsrt_span_equal(frame.init.content, gsrt_span_of(content, sizeof content)));
    ck_assert_int_eq(gsrt_trace_next(&reader, &frame, NULL), GSRT_OK);
    ck_assert_int_eq(frame.kind, GSRT_TRACE_LOST);
    ck_assert_uint_eq(frame.lost.frame_count, 300);
    ck_assert_int_eq(gsrt_trace_next(&reader, &frame, NULL), GSRT_OK);
    ck_assert_int_eq(frame.kind, GSRT_TRACE_NOTE);
    ck_assert_int_eq(gsrt_trace_next(&reader, &frame, NULL), GSRT_OK);
    ck_assert_int_eq(frame.kind, GSRT_TRACE_END);
    ck_assert_uint_eq(frame.end.frame_count, FRAME_COUNT - 1);
    ck_assert_int_eq(gsrt_trace_next(&reader, &frame, NULL), GSRT_EEMPTY);
    ck_assert(!reader.is_torn);
    gsrt_buffer_fini(&bytes);
}
END_TEST

START_TEST(every_changed_byte_is_refused)
{
    gsrt_buffer bytes;
    gsrt_buffer_init(&bytes, 1u << 16);
    write_sample(&bytes, true);
    static const uint8_t changes[] = {0x01, 0x80, 0xff, 0x10};
    for (size_t i = 0; i < bytes.len; i++) {
        for (size_t c = 0; c < sizeof changes; c++) {
            bytes.data[i] ^= changes[c];
            uint64_t count;
            bool is_torn;
            gsrt_status status = read_all(gsrt_buffer_span(&bytes), &count, &is_torn);
            ck_assert_msg(status == GSRT_EINPUT && !is_torn, "byte %zu ^ %02x was accepted: %s", i, changes[c],
                          gsrt_status_name(status));
            bytes.data[i] ^= changes[c];
        }
    }
    gsrt_buffer_fini(&bytes);
}
END_TEST

START_TEST(errors_name_file_frame_and_byte)
{
    gsrt_buffer bytes;
    gsrt_buffer_init(&bytes, 1u << 16);
    write_sample(&bytes, true);
    gsrt_trace_reader reader;
    gsrt_trace_frame frame;
    gsrt_diag diag = {0};
    ck_assert_int_eq(gsrt_trace_reader_init(&reader, gsrt_buffer_span(&bytes), "rank-3.2.gsrtt", &diag), GSRT_OK);
    ck_assert_int_eq(gsrt_trace_next(&reader, &frame, &diag), GSRT_OK);
    size_t second = reader.offset_bytes;
    bytes.data[second + GSRT_TRACE_HEAD_BYTES + 3] ^= 4;
    ck_assert_int_eq(gsrt_trace_next(&reader, &frame, &diag), GSRT_EINPUT);
    char expected[128];
    (void)snprintf(expected, sizeof expected, "rank-3.2.gsrtt: frame 1, byte %zu: the checksum does not match", second);
    ck_assert_msg(strncmp(diag.text, expected, strlen(expected)) == 0, "'%s' does not begin with '%s'", diag.text,
                  expected);
    ck_assert_uint_eq(reader.offset_bytes, second);
    gsrt_buffer_fini(&bytes);
}
END_TEST

START_TEST(every_truncation_is_torn_at_a_frame)
{
    gsrt_buffer bytes;
    gsrt_buffer_init(&bytes, 1u << 16);
    write_sample(&bytes, true);
    uint64_t before = 0;
    for (size_t len = 0; len < bytes.len; len++) {
        uint64_t count;
        bool is_torn;
        uint8_t *copy = malloc(len + 1); /* exact, so that the sanitizer sees a read past it */
        ck_assert_ptr_nonnull(copy);
        memcpy(copy, bytes.data, len);
        gsrt_status status = read_all(gsrt_span_of(copy, len), &count, &is_torn);
        if (len < GSRT_TRACE_MAGIC_BYTES)
            ck_assert_int_eq(status, GSRT_EINPUT);
        else
            ck_assert_msg(status == GSRT_EEMPTY && is_torn, "%zu bytes: %s", len, gsrt_status_name(status));
        ck_assert_uint_ge(count, before);
        ck_assert_uint_lt(count, FRAME_COUNT);
        before = count;
        free(copy);
    }
    ck_assert_uint_eq(before, FRAME_COUNT - 1);
    gsrt_buffer_reset(&bytes);
    write_sample(&bytes, false);
    uint64_t count;
    bool is_torn;
    ck_assert_int_eq(read_all(gsrt_buffer_span(&bytes), &count, &is_torn), GSRT_EEMPTY);
    ck_assert(is_torn);
    ck_assert_uint_eq(count, FRAME_COUNT - 1);
    gsrt_buffer_fini(&bytes);
}
END_TEST

START_TEST(frames_cannot_be_moved_or_left_out)
{
    gsrt_buffer bytes, changed;
    gsrt_buffer_init(&bytes, 1u << 16);
    gsrt_buffer_init(&changed, 1u << 16);
    write_sample(&bytes, true);
    gsrt_trace_reader reader;
    gsrt_trace_frame frame;
    size_t starts[FRAME_COUNT + 1];
    ck_assert_int_eq(gsrt_trace_reader_init(&reader, gsrt_buffer_span(&bytes), "t", NULL), GSRT_OK);
    size_t frames = 0;
    while (gsrt_trace_next(&reader, &frame, NULL) == GSRT_OK)
        starts[frames++] = frame.offset_bytes;
    starts[frames] = bytes.len;
    for (size_t left_out = 0; left_out + 1 < frames; left_out++) {
        gsrt_buffer_reset(&changed);
        ck_assert_int_eq(gsrt_buffer_append(&changed, bytes.data, starts[left_out]), GSRT_OK);
        ck_assert_int_eq(
            gsrt_buffer_append(&changed, bytes.data + starts[left_out + 1], bytes.len - starts[left_out + 1]), GSRT_OK);
        uint64_t count;
        bool is_torn;
        ck_assert_int_eq(read_all(gsrt_buffer_span(&changed), &count, &is_torn), GSRT_EINPUT);
        ck_assert_uint_eq(count, left_out);
    }
    ck_assert_int_eq(gsrt_buffer_append(&bytes, "x", 1), GSRT_OK);
    uint64_t count;
    bool is_torn;
    ck_assert_int_eq(read_all(gsrt_buffer_span(&bytes), &count, &is_torn), GSRT_EINPUT);
    ck_assert_uint_eq(count, frames);
    gsrt_buffer_fini(&bytes);
    gsrt_buffer_fini(&changed);
}
END_TEST

START_TEST(a_stranger_with_good_checksums_is_refused)
{
    /* frames that are chained correctly but say what no writer says: unknown kind, a limit passed, a field missing */
    static const struct {
        size_t len;
        uint8_t body[8];
    } strangers[] = {{2, {0x91, 0x63}},
                     {3, {0x92, 0x05, 0x01}},
                     {1, {0xc0}},
                     {0, {0}},
                     {5, {0x93, 0x06, 0x01, 0x00, 0xc0}},
                     {3, {0x93, 0x06, 0x01}},
                     {4, {0x93, 0x06, 0x00, 0x09}}};
    for (size_t i = 0; i < sizeof strangers / sizeof strangers[0]; i++) {
        gsrt_buffer bytes;
        gsrt_buffer_init(&bytes, 1u << 16);
        write_sample(&bytes, false);
        gsrt_trace_reader reader;
        gsrt_trace_frame frame;
        ck_assert_int_eq(gsrt_trace_reader_init(&reader, gsrt_buffer_span(&bytes), "t", NULL), GSRT_OK);
        while (gsrt_trace_next(&reader, &frame, NULL) == GSRT_OK)
            continue;
        uint32_t head[4] = {(uint32_t)strangers[i].len, ~(uint32_t)strangers[i].len ^ (uint32_t)reader.checksum};
        uint64_t checksum = XXH3_64bits_withSeed(strangers[i].body, strangers[i].len, reader.checksum);
        memcpy(head + 2, &checksum, sizeof checksum);
        ck_assert_int_eq(gsrt_buffer_append(&bytes, head, sizeof head), GSRT_OK);
        ck_assert_int_eq(gsrt_buffer_append(&bytes, strangers[i].body, strangers[i].len), GSRT_OK);
        uint64_t count;
        bool is_torn;
        ck_assert_msg(read_all(gsrt_buffer_span(&bytes), &count, &is_torn) == GSRT_EINPUT, "stranger %zu", i);
        ck_assert_uint_eq(count, FRAME_COUNT - 1);
        gsrt_buffer_fini(&bytes);
    }
}
END_TEST

START_TEST(another_version_is_refused_by_name)
{
    gsrt_buffer bytes;
    gsrt_buffer_init(&bytes, 1u << 16);
    write_sample(&bytes, true);
    bytes.data[6] = 9;
    gsrt_trace_reader reader;
    gsrt_diag diag = {0};
    ck_assert_int_eq(gsrt_trace_reader_init(&reader, gsrt_buffer_span(&bytes), "t", &diag), GSRT_EINPUT);
    ck_assert_ptr_nonnull(strstr(diag.text, "trace format version 9, this program reads 2"));
    gsrt_buffer_fini(&bytes);
}
END_TEST

START_TEST(bodies_are_shortest_msgpack)
{
    gsrt_buffer bytes;
    gsrt_buffer_init(&bytes, 1u << 16);
    write_sample(&bytes, true);
    gsrt_trace_reader reader;
    gsrt_trace_frame frame;
    ck_assert_int_eq(gsrt_trace_reader_init(&reader, gsrt_buffer_span(&bytes), "t", NULL), GSRT_OK);
    while (gsrt_trace_next(&reader, &frame, NULL) == GSRT_OK) {
        const char *body = (const char *)bytes.data + frame.offset_bytes + GSRT_TRACE_HEAD_BYTES;
        size_t len = reader.offset_bytes - frame.offset_bytes - GSRT_TRACE_HEAD_BYTES, offset = 0;
        msgpack_unpacked result;
        msgpack_unpacked_init(&result);
        ck_assert_int_eq(msgpack_unpack_next(&result, body, len, &offset), MSGPACK_UNPACK_SUCCESS);
        ck_assert_uint_eq(offset, len);
        ck_assert_int_eq(result.data.type, MSGPACK_OBJECT_ARRAY);
        if (frame.kind == GSRT_TRACE_MESSAGE) { /* integers only: msgpack-c writes exactly the same */
            msgpack_sbuffer packed;
            msgpack_sbuffer_init(&packed);
            msgpack_packer packer;
            msgpack_packer_init(&packer, &packed, msgpack_sbuffer_write);
            (void)msgpack_pack_object(&packer, result.data);
            ck_assert_uint_eq(packed.size, len);
            ck_assert_int_eq(memcmp(packed.data, body, len), 0);
            msgpack_sbuffer_destroy(&packed);
        }
        msgpack_unpacked_destroy(&result);
    }
    gsrt_buffer_fini(&bytes);
}
END_TEST

static gsrt_status count_bytes(void *arg, gsrt_span bytes)
{
    size_t *counts = arg; /* [0] total, [1] largest piece */
    counts[0] += bytes.len;
    if (bytes.len > counts[1])
        counts[1] = bytes.len;
    return GSRT_OK;
}

START_TEST(memory_is_bounded)
{
    size_t counts[2] = {0, 0};
    gsrt_trace_writer writer;
    ck_assert_int_eq(gsrt_trace_writer_init(&writer, count_bytes, counts), GSRT_OK);
    const uint8_t *room = writer.room;
    const gsrt_trace_message message = {.time_ns = 1, .kind = 65};
    for (int i = 0; i < 100000; i++)
        gsrt_trace_write_message(&writer, &message);
    ck_assert_ptr_eq(writer.room, room);
    ck_assert_uint_lt(counts[1], GSRT_TRACE_FLUSH_BYTES + 256);
    uint8_t *large = calloc(1, GSRT_TRACE_FRAME_BYTES_MAX);
    ck_assert_ptr_nonnull(large);
    const gsrt_trace_event event = {.machine = gsrt_span_of_text("m"),
                                    .content = gsrt_span_of(large, GSRT_TRACE_FRAME_BYTES_MAX - 100)};
    gsrt_trace_write_event(&writer, &event);
    ck_assert_int_eq(gsrt_trace_writer_flush(&writer), GSRT_OK);
    ck_assert_uint_eq(counts[0], writer.byte_count);
    free(large);
    gsrt_trace_writer_fini(&writer);
}
END_TEST

START_TEST(a_frame_too_large_ends_the_trace)
{
    gsrt_buffer bytes;
    gsrt_buffer_init(&bytes, 4u << 20);
    gsrt_trace_writer writer;
    ck_assert_int_eq(gsrt_trace_writer_init(&writer, keep, &bytes), GSRT_OK);
    const gsrt_trace_note huge = {.text = gsrt_span_of("", SIZE_MAX)}; /* its bytes are never looked at */
    gsrt_trace_write_note(&writer, &huge);
    const gsrt_trace_note small = {.text = gsrt_span_of_text("after the hole")};
    gsrt_trace_write_note(&writer, &small);
    ck_assert_int_eq(gsrt_trace_writer_flush(&writer), GSRT_ELIMIT);
    ck_assert_uint_eq(writer.frame_count, 0);
    gsrt_trace_writer_fini(&writer);
    gsrt_buffer_fini(&bytes);
}
END_TEST

static gsrt_status fail_third(void *arg, gsrt_span bytes)
{
    int *calls = arg;
    (void)bytes;
    return ++*calls == 3 ? GSRT_EIO : GSRT_OK;
}

START_TEST(a_failed_sink_is_asked_no_more)
{
    int calls = 0;
    gsrt_trace_writer writer;
    ck_assert_int_eq(gsrt_trace_writer_init(&writer, fail_third, &calls), GSRT_OK);
    const gsrt_trace_note note = {.text = gsrt_span_of_text("n")};
    for (int i = 0; i < 10; i++) {
        gsrt_trace_write_note(&writer, &note);
        ck_assert_int_eq(gsrt_trace_writer_flush(&writer), i < 2 ? GSRT_OK : GSRT_EIO);
    }
    ck_assert_int_eq(calls, 3);
    gsrt_trace_writer_fini(&writer);
}
END_TEST

START_TEST(prints_one_line_of_json_per_frame)
{
    gsrt_buffer bytes, text;
    gsrt_buffer_init(&bytes, 1u << 16);
    gsrt_buffer_init(&text, 1u << 16);
    write_sample(&bytes, true);
    gsrt_trace_reader reader;
    gsrt_trace_frame frame;
    ck_assert_int_eq(gsrt_trace_reader_init(&reader, gsrt_buffer_span(&bytes), "t", NULL), GSRT_OK);
    while (gsrt_trace_next(&reader, &frame, NULL) == GSRT_OK) {
        if (frame.kind == GSRT_TRACE_EVENT || frame.kind == GSRT_TRACE_NOTE) {
            ck_assert_int_eq(gsrt_trace_print(&frame, &text), GSRT_OK);
            ck_assert_int_eq(gsrt_buffer_append(&text, "|", 1), GSRT_OK);
        }
    }
    ck_assert_int_eq(gsrt_buffer_append(&text, "", 1), GSRT_OK);
    ck_assert_str_eq((const char *)text.data,
                     "{\"frame\":2,\"type\":\"event\",\"time_ns\":4294967295,\"actor\":7,\"id\":8,\"cause\":9,"
                     "\"machine\":\"scheduler\",\"content\":[1,null,\"ok\"]}|"
                     "{\"frame\":6,\"type\":\"note\",\"time_ns\":5,\"text\":\"a \\\"note\\\"\\n\"}|");
    gsrt_buffer_fini(&bytes);
    gsrt_buffer_fini(&text);
}
END_TEST

int main(void)
{
    const TTest *tests[] = {every_kind_round_trips,
                            every_changed_byte_is_refused,
                            errors_name_file_frame_and_byte,
                            every_truncation_is_torn_at_a_frame,
                            frames_cannot_be_moved_or_left_out,
                            a_stranger_with_good_checksums_is_refused,
                            another_version_is_refused_by_name,
                            bodies_are_shortest_msgpack,
                            memory_is_bounded,
                            a_frame_too_large_ends_the_trace,
                            a_failed_sink_is_asked_no_more,
                            prints_one_line_of_json_per_frame};
    return unit_run("trace", tests, sizeof tests / sizeof tests[0]);
}
