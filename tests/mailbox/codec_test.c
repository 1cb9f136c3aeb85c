/* The codec: every kind comes back as it went, msgpack-c and our strict reader agree, everything else is refused. */
#include "mailbox/codec.h"

#include "base/msgpack.h"
#include "mailbox/wire.h"
#include "tests/mailbox/bodies.h"
#include "tests/unit.h"

#include <msgpack.h>
#include <stdlib.h>

enum { ROOM_BYTES = 1 << 16 };

static gsrt_envelope some_envelope(gsrt_kind kind, gsrt_span body)
{
    return (gsrt_envelope){
        .kind = kind,
        .epoch = 3,
        .from = gsrt_address_of_actor(1, 2, 3),
        .to = gsrt_address_of_role(GSRT_ROLE_REGION, 1, 0),
        .sequence = 300,
        .cause = UINT64_MAX,
        .call = 70000,
        .is_reply = true,
        .deadline_ns = 1u << 31,
        .body = body,
    };
}

START_TEST(every_kind_round_trips)
{
    const gsrt_kind_info *info = gsrt_kind_describe(bodies_kinds[_i]);
    bodies source;
    bodies_init(&source, (uint64_t)_i, 300);
    gsrt_buffer scratch;
    gsrt_buffer_init(&scratch, GSRT_BODY_FLAT_BYTES_MAX);
    uint8_t room[ROOM_BYTES];
    for (int round = 0; round < 50; round++) {
        const void *body = bodies_take(&source, info), *decoded = NULL;
        size_t len = 0;
        ck_assert_int_eq(gsrt_body_encode(info->kind, body, room, sizeof room, &len), GSRT_OK);
        ck_assert_uint_le(len, gsrt_body_encoded_bytes_max(info->kind, body));
        ck_assert_int_eq(gsrt_body_decode(info->kind, gsrt_span_of(room, len), &scratch, &decoded), GSRT_OK);
        ck_assert_msg(bodies_equal(info, body, decoded), "%s, round %d", info->name, round);
    }
    gsrt_buffer_fini(&scratch);
    bodies_fini(&source);
}
END_TEST

/* msgpack-c reads one array of as many values as the kind has fields; our strict reader passes over the same bytes. */
START_TEST(every_kind_is_msgpack)
{
    const gsrt_kind_info *info = gsrt_kind_describe(bodies_kinds[_i]);
    bodies source;
    bodies_init(&source, 100 + (uint64_t)_i, 70);
    uint8_t room[ROOM_BYTES];
    for (int round = 0; round < 20; round++) {
        size_t len = 0;
        ck_assert_int_eq(gsrt_body_encode(info->kind, bodies_take(&source, info), room, sizeof room, &len), GSRT_OK);
        msgpack_unpacked result;
        msgpack_unpacked_init(&result);
        size_t offset = 0;
        ck_assert_int_eq((int)msgpack_unpack_next(&result, (const char *)room, len, &offset),
                         (int)MSGPACK_UNPACK_SUCCESS);
        ck_assert_uint_eq(offset, len);
        ck_assert_int_eq((int)result.data.type, (int)MSGPACK_OBJECT_ARRAY);
        ck_assert_uint_eq(result.data.via.array.size, info->field_count);
        msgpack_unpacked_destroy(&result);
        gsrt_unpack unpack;
        gsrt_unpack_init(&unpack, gsrt_span_of(room, len));
        ck_assert_uint_eq(gsrt_unpack_skip(&unpack).len, len);
    }
    bodies_fini(&source);
}
END_TEST

START_TEST(every_truncation_is_refused)
{
    const gsrt_kind_info *info = gsrt_kind_describe(bodies_kinds[_i]);
    bodies source;
    bodies_init(&source, 200 + (uint64_t)_i, 20);
    gsrt_buffer scratch;
    gsrt_buffer_init(&scratch, GSRT_BODY_FLAT_BYTES_MAX);
    uint8_t room[ROOM_BYTES];
    size_t len = 0;
    ck_assert_int_eq(gsrt_body_encode(info->kind, bodies_take(&source, info), room, sizeof room - 1, &len), GSRT_OK);
    for (size_t cut = 0; cut < len; cut++) {
        uint8_t *exact = malloc(cut + 1); /* so that the address sanitizer sees a read past the end */
        memcpy(exact + 1, room, cut);
        const void *body = NULL;
        ck_assert_msg(gsrt_body_decode(info->kind, gsrt_span_of(exact + 1, cut), &scratch, &body) == GSRT_EDECODE,
                      "%s: %zu of %zu bytes", info->name, cut, len);
        ck_assert_ptr_null(body);
        free(exact);
    }
    room[len] = 0;
    const void *body = NULL;
    ck_assert_int_eq(gsrt_body_decode(info->kind, gsrt_span_of(room, len + 1), &scratch, &body), GSRT_EDECODE);
    gsrt_buffer_fini(&scratch);
    bodies_fini(&source);
}
END_TEST

/* Damaged bytes: whatever is still accepted is within the limits and can be encoded again. */
START_TEST(damage_is_refused_or_harmless)
{
    const gsrt_kind_info *info = gsrt_kind_describe(bodies_kinds[_i]);
    bodies source;
    bodies_init(&source, 300 + (uint64_t)_i, 20);
    gsrt_buffer scratch;
    gsrt_buffer_init(&scratch, GSRT_BODY_FLAT_BYTES_MAX);
    static uint8_t again[ROOM_BYTES * 2];
    uint8_t room[ROOM_BYTES];
    for (int round = 0; round < 400; round++) {
        size_t len = 0;
        ck_assert_int_eq(gsrt_body_encode(info->kind, bodies_take(&source, info), room, sizeof room, &len), GSRT_OK);
        for (int hit = 0; hit <= round % 3; hit++)
            room[bodies_number(&source, UINT32_MAX) % len] = (uint8_t)bodies_number(&source, UINT32_MAX);
        const void *body;
        if (gsrt_body_decode(info->kind, gsrt_span_of(room, len), &scratch, &body) == GSRT_OK)
            ck_assert_int_eq(gsrt_body_encode(info->kind, body, again, sizeof again, &len), GSRT_OK);
    }
    gsrt_buffer_fini(&scratch);
    bodies_fini(&source);
}
END_TEST

START_TEST(limits_hold_on_the_way_out_and_in)
{
    static uint32_t many[GSRT_BATCH_ROWS_MAX + 1];
    uint8_t room[ROOM_BYTES];
    size_t len = 7;
    gsrt_msg_step step = {.tokens = many, .tokens_count = GSRT_BATCH_ROWS_MAX};
    ck_assert_int_eq(gsrt_body_encode(GSRT_KIND_STEP, &step, room, sizeof room, &len), GSRT_OK);
    step.tokens_count++;
    ck_assert_int_eq(gsrt_body_encode(GSRT_KIND_STEP, &step, room, sizeof room, &len), GSRT_EINVAL);
    gsrt_msg_moved moved = {.rank = GSRT_RANK_COUNT_MAX + 1};
    ck_assert_int_eq(gsrt_body_encode(GSRT_KIND_MOVED, &moved, room, sizeof room, &len), GSRT_EINVAL);

    /* the same, written by somebody who does not care */
    gsrt_buffer scratch;
    gsrt_buffer_init(&scratch, GSRT_BODY_FLAT_BYTES_MAX);
    const void *body;
    gsrt_pack pack;
    for (uint64_t rank = GSRT_RANK_COUNT_MAX; rank <= GSRT_RANK_COUNT_MAX + 1; rank++) {
        gsrt_pack_init_fixed(&pack, room, sizeof room);
        gsrt_pack_array(&pack, 2);
        gsrt_pack_uint(&pack, 5);
        gsrt_pack_uint(&pack, rank);
        ck_assert_int_eq(gsrt_pack_end(&pack), GSRT_OK);
        ck_assert_int_eq(gsrt_body_decode(GSRT_KIND_MOVED, gsrt_span_of(room, pack.len), &scratch, &body),
                         rank > GSRT_RANK_COUNT_MAX ? GSRT_EDECODE : GSRT_OK);
    }
    ck_assert_int_eq(gsrt_body_decode((gsrt_kind)999, gsrt_span_of(room, pack.len), &scratch, &body), GSRT_EKIND);
    ck_assert_int_eq(gsrt_body_encode((gsrt_kind)999, &moved, room, sizeof room, &len), GSRT_EKIND);
    gsrt_buffer_fini(&scratch);
}
END_TEST

START_TEST(small_room_is_a_status)
{
    uint8_t data[100] = {1};
    gsrt_msg_ping ping = {.number = 1, .data = gsrt_span_of(data, sizeof data)};
    uint8_t room[256];
    size_t len = 0;
    bool has_worked = false;
    for (size_t capacity = 0; capacity < sizeof room; capacity++) {
        memset(room, 0xee, sizeof room);
        gsrt_status status = gsrt_body_encode(GSRT_KIND_PING, &ping, room, capacity, &len);
        ck_assert(status == GSRT_OK || (status == GSRT_ELIMIT && !has_worked));
        has_worked = status == GSRT_OK;
        for (size_t i = capacity; i < sizeof room; i++)
            ck_assert_uint_eq(room[i], 0xee);
    }
    ck_assert(has_worked);
    static uint8_t big[GSRT_BODY_BYTES_MAX];
    ping.data = gsrt_span_of(big, GSRT_BODY_BYTES_MAX - 64);
    static uint8_t wide[GSRT_BODY_BYTES_MAX + 64];
    ck_assert_int_eq(gsrt_body_encode(GSRT_KIND_PING, &ping, wide, sizeof wide, &len), GSRT_OK);
    ck_assert_uint_le(len, GSRT_BODY_BYTES_MAX);
}
END_TEST

/* Arrays whose worst case is larger than a body may be, but whose numbers are small: they do fit. */
START_TEST(many_small_numbers_fit)
{
    uint32_t count = GSRT_BODY_BYTES_MAX / 2;
    uint32_t *prompt = calloc(count, sizeof *prompt);
    uint8_t *room = malloc(GSRT_BODY_BYTES_MAX);
    gsrt_msg_submit submit = {.prompt = prompt, .prompt_count = count};
    size_t len = 0;
    ck_assert_uint_gt(gsrt_body_encoded_bytes_max(GSRT_KIND_SUBMIT, &submit), GSRT_BODY_BYTES_MAX);
    ck_assert_int_eq(gsrt_body_encode(GSRT_KIND_SUBMIT, &submit, room, GSRT_BODY_BYTES_MAX, &len), GSRT_OK);
    gsrt_buffer scratch;
    gsrt_buffer_init(&scratch, GSRT_BODY_FLAT_BYTES_MAX);
    const void *body;
    ck_assert_int_eq(gsrt_body_decode(GSRT_KIND_SUBMIT, gsrt_span_of(room, len), &scratch, &body), GSRT_OK);
    ck_assert_uint_eq(((const gsrt_msg_submit *)body)->prompt_count, count);
    for (uint32_t i = 0; i < count; i++)
        prompt[i] = UINT32_MAX;
    ck_assert_int_eq(gsrt_body_encode(GSRT_KIND_SUBMIT, &submit, room, GSRT_BODY_BYTES_MAX, &len), GSRT_ELIMIT);
    gsrt_buffer_fini(&scratch);
    free(room);
    free(prompt);
}
END_TEST

START_TEST(envelope_round_trips)
{
    uint8_t room[512];
    size_t len = 0;
    gsrt_span body = gsrt_span_of_text("body, not looked at");
    gsrt_payload *payload = gsrt_payload_create(1000);
    gsrt_envelope sent = some_envelope(GSRT_KIND_STEP, body), got = {0};
    sent.payload = payload;
    ck_assert_int_eq(gsrt_envelope_encode(&sent, room, sizeof room, &len), GSRT_OK);
    gsrt_envelope_expectation expectation = {.payload_bytes = 1000, .epoch_min = 3};
    ck_assert_int_eq(gsrt_envelope_decode(gsrt_span_of(room, len), &expectation, &got), GSRT_OK);
    ck_assert_int_eq((int)got.kind, (int)sent.kind);
    ck_assert_uint_eq(got.epoch, sent.epoch);
    ck_assert_uint_eq(got.from, sent.from);
    ck_assert_uint_eq(got.to, sent.to);
    ck_assert_uint_eq(got.sequence, sent.sequence);
    ck_assert_uint_eq(got.cause, sent.cause);
    ck_assert_uint_eq(got.call, sent.call);
    ck_assert(got.is_reply);
    ck_assert_uint_eq(got.deadline_ns, sent.deadline_ns);
    ck_assert(gsrt_span_equal(got.body, body));
    ck_assert_ptr_null(got.payload);
    gsrt_payload_unref(payload);
}
END_TEST

START_TEST(envelope_header_is_msgpack)
{
    uint8_t room[512];
    size_t len = 0, offset = 0;
    gsrt_envelope sent = some_envelope(GSRT_KIND_STEP, (gsrt_span){0});
    ck_assert_int_eq(gsrt_envelope_encode(&sent, room, sizeof room, &len), GSRT_OK);
    msgpack_unpacked result;
    msgpack_unpacked_init(&result);
    ck_assert_int_eq((int)msgpack_unpack_next(&result, (const char *)room, len, &offset), (int)MSGPACK_UNPACK_SUCCESS);
    ck_assert_uint_eq(offset, len);
    const msgpack_object *fields = result.data.via.array.ptr;
    ck_assert_uint_eq(result.data.via.array.size, 11);
    ck_assert_uint_eq(fields[0].via.u64, GSRT_ENVELOPE_VERSION);
    ck_assert_uint_eq(fields[1].via.u64, GSRT_KIND_STEP);
    ck_assert_uint_eq(fields[2].via.u64, sent.epoch);
    ck_assert_uint_eq(fields[3].via.u64, sent.from);
    ck_assert_uint_eq(fields[4].via.u64, sent.to);
    ck_assert_uint_eq(fields[5].via.u64, sent.sequence);
    ck_assert_uint_eq(fields[6].via.u64, sent.cause);
    ck_assert_uint_eq(fields[7].via.u64, sent.call);
    ck_assert(fields[8].via.boolean);
    ck_assert_uint_eq(fields[9].via.u64, sent.deadline_ns);
    ck_assert_uint_eq(fields[10].via.u64, 0);
    msgpack_unpacked_destroy(&result);
}
END_TEST

START_TEST(envelope_refusals)
{
    uint8_t room[512];
    size_t len = 0;
    gsrt_envelope sent = some_envelope(GSRT_KIND_STEP, gsrt_span_of_text("x")), got;
    gsrt_envelope_expectation expectation = {.epoch_min = 3};
    ck_assert_int_eq(gsrt_envelope_encode(&sent, room, sizeof room, &len), GSRT_OK);
    for (size_t cut = 0; cut + 1 < len; cut++)
        ck_assert_int_eq(gsrt_envelope_decode(gsrt_span_of(room, cut), &expectation, &got), GSRT_EDECODE);
    expectation.epoch_min = 4;
    ck_assert_int_eq(gsrt_envelope_decode(gsrt_span_of(room, len), &expectation, &got), GSRT_ESTALE);
    expectation.epoch_min = 0;
    expectation.payload_bytes = 1; /* something came beside it that it does not speak of */
    ck_assert_int_eq(gsrt_envelope_decode(gsrt_span_of(room, len), &expectation, &got), GSRT_EDECODE);
    expectation.payload_bytes = 0;
    room[1] = GSRT_ENVELOPE_VERSION + 1;
    ck_assert_int_eq(gsrt_envelope_decode(gsrt_span_of(room, len), &expectation, &got), GSRT_EDECODE);
    room[1] = GSRT_ENVELOPE_VERSION;
    for (unsigned kind = 0; kind < 256; kind++) {
        room[3] = (uint8_t)kind;
        gsrt_status status = gsrt_envelope_decode(gsrt_span_of(room, len), &expectation, &got);
        bool is_welcome = gsrt_kind_is_known(kind) && !gsrt_kind_is_local_only((gsrt_kind)kind);
        ck_assert_int_eq(status, is_welcome ? GSRT_OK : GSRT_EKIND);
    }
    sent.kind = (gsrt_kind)200;
    ck_assert_int_eq(gsrt_envelope_encode(&sent, room, sizeof room, &len), GSRT_EKIND);
    sent.kind = GSRT_KIND_PING;
    ck_assert_int_eq(gsrt_envelope_encode(&sent, room, 69, &len), GSRT_ELIMIT);
}
END_TEST

/* wire.h and base/msgpack.h: the same bytes out, and the same answers about random bytes. */
START_TEST(wire_agrees_with_base)
{
    uint8_t ours[32], theirs[32];
    for (uint64_t i = 0; i < 20000; i++) {
        uint64_t value = gsrt_random_u64(5, 0, i) >> (i % 64);
        gsrt_pack pack;
        gsrt_pack_init_fixed(&pack, theirs, sizeof theirs);
        gsrt_pack_uint(&pack, value);
        gsrt_pack_int(&pack, -(int64_t)(value >> 1));
        size_t len = (size_t)(gsrt__put_int(gsrt__put_uint(ours, value), -(int64_t)(value >> 1)) - ours);
        ck_assert_uint_eq(len, pack.len);
        ck_assert_mem_eq(ours, theirs, len);

        uint64_t noise = gsrt_random_u64(6, 0, i);
        memcpy(ours, &noise, sizeof noise);
        memcpy(ours + 8, &value, sizeof value);
        ours[0] = (uint8_t)i;
        gsrt_span span = gsrt_span_of(ours, i % 17);
        for (int what = 0; what < 8; what++) {
            gsrt__cursor cursor = gsrt__cursor_of(span);
            gsrt_unpack unpack;
            gsrt_unpack_init(&unpack, span);
            uint64_t a = 0, b = 0;
            switch (what) {
            case 0: a = gsrt__take_uint(&cursor, noise), b = gsrt_unpack_uint(&unpack, noise); break;
            case 1:
                a = (uint64_t)gsrt__take_int(&cursor), b = (uint64_t)gsrt_unpack_int(&unpack, INT64_MIN, INT64_MAX);
                break;
            case 2: a = gsrt__take_bool(&cursor), b = gsrt_unpack_bool(&unpack); break;
            case 3: a = gsrt__take_str(&cursor, 9).len, b = gsrt_unpack_str(&unpack, 9).len; break;
            case 4: a = gsrt__take_bin(&cursor, 9).len, b = gsrt_unpack_bin(&unpack, 9).len; break;
            case 5: a = gsrt__take_array(&cursor, 9), b = gsrt_unpack_array(&unpack, 9); break;
            case 6: gsrt__take_f32(&cursor), gsrt_unpack_f32(&unpack); break;
            default: gsrt__take_f64(&cursor), gsrt_unpack_f64(&unpack); break;
            }
            ck_assert_msg(cursor.has_failed == !gsrt_unpack_is_ok(&unpack), "reader %d, head %02x", what, ours[0]);
            ck_assert_uint_eq(a, b);
            if (!cursor.has_failed)
                ck_assert_uint_eq(gsrt__left(&cursor), gsrt_unpack_left(&unpack));
        }
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("codec");
    TCase *tcase = tcase_create("codec");
    tcase_add_loop_test(tcase, every_kind_round_trips, 0, BODIES_KIND_COUNT);
    tcase_add_loop_test(tcase, every_kind_is_msgpack, 0, BODIES_KIND_COUNT);
    tcase_add_loop_test(tcase, every_truncation_is_refused, 0, BODIES_KIND_COUNT);
    tcase_add_loop_test(tcase, damage_is_refused_or_harmless, 0, BODIES_KIND_COUNT);
    tcase_add_test(tcase, limits_hold_on_the_way_out_and_in);
    tcase_add_test(tcase, small_room_is_a_status);
    tcase_add_test(tcase, many_small_numbers_fit);
    tcase_add_test(tcase, envelope_round_trips);
    tcase_add_test(tcase, envelope_header_is_msgpack);
    tcase_add_test(tcase, envelope_refusals);
    tcase_add_test(tcase, wire_agrees_with_base);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
