/* msgpack: what the writer writes, msgpack-c and our reader both read back; what is not strict is refused. */
#include "base/msgpack.h"
#include "tests/unit.h"

#include <math.h>
#include <msgpack.h>

static gsrt_unpack reader_of(const void *bytes, size_t len)
{
    gsrt_unpack unpack;
    gsrt_unpack_init(&unpack, gsrt_span_of(bytes, len));
    return unpack;
}

/* Values at every edge between two encodings. */
static const uint64_t naturals[] = {0,      1,       0x7f,       0x80,        0xff,      0x100,
                                    0xffff, 0x10000, 0xffffffff, 0x100000000, INT64_MAX, UINT64_MAX};
static const int64_t integers[] = {
    0, -1, -32, -33, -128, -129, -32768, -32769, INT32_MIN, INT64_C(-2147483649), INT64_MIN, 127, 128, INT64_MAX};

START_TEST(integers_round_trip)
{
    for (size_t i = 0; i < sizeof naturals / sizeof naturals[0]; i++) {
        uint8_t room[16];
        gsrt_pack pack;
        gsrt_pack_init_fixed(&pack, room, sizeof room);
        gsrt_pack_uint(&pack, naturals[i]);
        ck_assert_int_eq(gsrt_pack_end(&pack), GSRT_OK);
        gsrt_unpack unpack = reader_of(room, pack.len);
        ck_assert_uint_eq(gsrt_unpack_uint(&unpack, UINT64_MAX), naturals[i]);
        ck_assert_int_eq(gsrt_unpack_end(&unpack), GSRT_OK);
        if (naturals[i] > 0) {
            unpack = reader_of(room, pack.len);
            ck_assert_uint_eq(gsrt_unpack_uint(&unpack, naturals[i] - 1), 0);
            ck_assert(!gsrt_unpack_is_ok(&unpack));
            ck_assert_uint_eq(unpack.offset, 0);
        }
    }
    for (size_t i = 0; i < sizeof integers / sizeof integers[0]; i++) {
        uint8_t room[16];
        gsrt_pack pack;
        gsrt_pack_init_fixed(&pack, room, sizeof room);
        gsrt_pack_int(&pack, integers[i]);
        ck_assert_int_eq(gsrt_pack_end(&pack), GSRT_OK);
        gsrt_unpack unpack = reader_of(room, pack.len);
        ck_assert_int_eq(gsrt_unpack_int(&unpack, INT64_MIN, INT64_MAX), integers[i]);
        ck_assert_int_eq(gsrt_unpack_end(&unpack), GSRT_OK);
        unpack = reader_of(room, pack.len);
        (void)gsrt_unpack_uint(&unpack, UINT64_MAX);
        ck_assert_int_eq(gsrt_unpack_is_ok(&unpack), integers[i] >= 0);
    }
}
END_TEST

START_TEST(signed_range_is_checked)
{
    static const uint8_t minus_two[] = {0xfe}, huge[] = {0xcf, 0xff, 0, 0, 0, 0, 0, 0, 0};
    gsrt_unpack unpack = reader_of(minus_two, 1);
    (void)gsrt_unpack_int(&unpack, -1, 5);
    ck_assert(!gsrt_unpack_is_ok(&unpack));
    unpack = reader_of(huge, sizeof huge);
    (void)gsrt_unpack_int(&unpack, INT64_MIN, INT64_MAX);
    ck_assert(!gsrt_unpack_is_ok(&unpack));
}
END_TEST

START_TEST(longer_encodings_are_accepted)
{
    static const uint8_t five_as_u64[] = {0xcf, 0, 0, 0, 0, 0, 0, 0, 5}, five_as_i8[] = {0xd0, 5},
                         empty_str32[] = {0xdb, 0, 0, 0, 0};
    gsrt_unpack unpack = reader_of(five_as_u64, sizeof five_as_u64);
    ck_assert_uint_eq(gsrt_unpack_uint(&unpack, 255), 5);
    ck_assert_int_eq(gsrt_unpack_end(&unpack), GSRT_OK);
    unpack = reader_of(five_as_i8, sizeof five_as_i8);
    ck_assert_uint_eq(gsrt_unpack_uint(&unpack, 255), 5);
    ck_assert_int_eq(gsrt_unpack_end(&unpack), GSRT_OK);
    unpack = reader_of(empty_str32, sizeof empty_str32);
    ck_assert_uint_eq(gsrt_unpack_str(&unpack, 10).len, 0);
    ck_assert_int_eq(gsrt_unpack_end(&unpack), GSRT_OK);
}
END_TEST

static void write_everything(gsrt_pack *pack)
{
    gsrt_pack_map(pack, 2);
    gsrt_pack_text(pack, "list");
    gsrt_pack_array(pack, 8);
    gsrt_pack_nil(pack);
    gsrt_pack_bool(pack, true);
    gsrt_pack_bool(pack, false);
    gsrt_pack_int(pack, -7);
    gsrt_pack_uint(pack, 70000);
    gsrt_pack_f32(pack, 1.5f);
    gsrt_pack_f64(pack, -0.0);
    gsrt_pack_array(pack, 0);
    gsrt_pack_text(pack, "bytes");
    gsrt_pack_bin(pack, gsrt_span_of("\0\1\2", 3));
}

static gsrt_status read_everything(gsrt_unpack *unpack)
{
    ck_assert_uint_le(gsrt_unpack_map(unpack, 2), 2);
    (void)gsrt_unpack_str(unpack, 16);
    gsrt_unpack_record(unpack, 8);
    gsrt_unpack_nil(unpack);
    bool yes = gsrt_unpack_bool(unpack);
    bool no = gsrt_unpack_bool(unpack);
    int64_t minus = gsrt_unpack_int(unpack, -100, 100);
    uint64_t plus = gsrt_unpack_uint(unpack, 100000);
    float f = gsrt_unpack_f32(unpack);
    double d = gsrt_unpack_f64(unpack);
    uint32_t none = gsrt_unpack_array(unpack, 0);
    (void)gsrt_unpack_str(unpack, 16);
    gsrt_span bytes = gsrt_unpack_bin(unpack, 16);
    gsrt_status status = gsrt_unpack_end(unpack);
    if (status == GSRT_OK) {
        ck_assert(yes && !no);
        ck_assert_int_eq(minus, -7);
        ck_assert_uint_eq(plus, 70000);
        ck_assert(f == 1.5f && d == 0 && signbit(d));
        ck_assert_uint_eq(none, 0);
        ck_assert(gsrt_span_equal(bytes, gsrt_span_of("\0\1\2", 3)));
    }
    return status;
}

START_TEST(every_type_round_trips)
{
    gsrt_buffer buffer;
    gsrt_buffer_init(&buffer, 4096);
    gsrt_pack pack;
    gsrt_pack_init(&pack, &buffer);
    write_everything(&pack);
    ck_assert_int_eq(gsrt_pack_end(&pack), GSRT_OK);
    ck_assert_uint_eq(pack.len, buffer.len);
    gsrt_unpack unpack;
    gsrt_unpack_init(&unpack, gsrt_buffer_span(&buffer));
    ck_assert_int_eq(read_everything(&unpack), GSRT_OK);
    gsrt_buffer_fini(&buffer);
}
END_TEST

START_TEST(every_truncation_is_refused)
{
    uint8_t room[256];
    gsrt_pack pack;
    gsrt_pack_init_fixed(&pack, room, sizeof room);
    write_everything(&pack);
    ck_assert_int_eq(gsrt_pack_end(&pack), GSRT_OK);
    for (size_t len = 0; len < pack.len; len++) {
        gsrt_unpack unpack = reader_of(room, len);
        ck_assert_msg(read_everything(&unpack) == GSRT_EDECODE, "%zu of %zu bytes were accepted", len, pack.len);
        unpack = reader_of(room, len);
        ck_assert_msg(gsrt_unpack_skip(&unpack).len == 0, "%zu of %zu bytes were skipped", len, pack.len);
    }
    room[pack.len] = 0xc0;
    gsrt_unpack unpack = reader_of(room, pack.len + 1);
    ck_assert_int_eq(read_everything(&unpack), GSRT_EDECODE);
}
END_TEST

START_TEST(fixed_room_too_small_is_a_status)
{
    uint8_t room[256];
    gsrt_pack pack;
    gsrt_pack_init_fixed(&pack, room, sizeof room);
    write_everything(&pack);
    size_t full = pack.len;
    for (size_t capacity = 0; capacity <= full; capacity++) {
        gsrt_pack_init_fixed(&pack, room, capacity);
        write_everything(&pack);
        ck_assert_int_eq(gsrt_pack_end(&pack), capacity == full ? GSRT_OK : GSRT_ELIMIT);
        ck_assert_uint_le(pack.len, capacity);
    }
    gsrt_buffer buffer;
    gsrt_buffer_init(&buffer, full + 2);
    ck_assert_int_eq(gsrt_buffer_append(&buffer, "abc", 3), GSRT_OK);
    gsrt_pack_init(&pack, &buffer);
    write_everything(&pack);
    ck_assert_int_eq(gsrt_pack_end(&pack), GSRT_ELIMIT);
    ck_assert_uint_eq(buffer.len, 3);
    gsrt_buffer_fini(&buffer);
}
END_TEST

START_TEST(counts_that_cannot_be_are_refused)
{
    static const uint8_t array32[] = {0xdd, 0xff, 0xff, 0xff, 0xff, 1}, map16[] = {0xde, 0, 2, 1, 1, 1};
    gsrt_unpack unpack = reader_of(array32, sizeof array32);
    ck_assert_uint_eq(gsrt_unpack_array(&unpack, UINT32_MAX), 0);
    ck_assert(!gsrt_unpack_is_ok(&unpack));
    unpack = reader_of(map16, sizeof map16);
    ck_assert_uint_eq(gsrt_unpack_map(&unpack, 10), 0);
    ck_assert(!gsrt_unpack_is_ok(&unpack));
    unpack = reader_of(map16, sizeof map16);
    ck_assert_uint_eq(gsrt_unpack_skip(&unpack).len, 0);
    ck_assert(!gsrt_unpack_is_ok(&unpack));
    static const uint8_t two[] = {0x92, 1, 2};
    unpack = reader_of(two, sizeof two);
    gsrt_unpack_record(&unpack, 3);
    ck_assert(!gsrt_unpack_is_ok(&unpack));
    unpack = reader_of(two, sizeof two);
    gsrt_unpack_record(&unpack, 1);
    ck_assert(!gsrt_unpack_is_ok(&unpack));
}
END_TEST

START_TEST(strings_past_their_bound_are_refused)
{
    static const uint8_t text[] = {0xa3, 'a', 'b', 'c'};
    gsrt_unpack unpack = reader_of(text, sizeof text);
    (void)gsrt_unpack_str(&unpack, 2);
    ck_assert(!gsrt_unpack_is_ok(&unpack));
    unpack = reader_of(text, sizeof text);
    (void)gsrt_unpack_bin(&unpack, 10);
    ck_assert(!gsrt_unpack_is_ok(&unpack));
    unpack = reader_of(text, sizeof text);
    ck_assert(gsrt_span_equal(gsrt_unpack_str(&unpack, 3), gsrt_span_of_text("abc")));
    ck_assert_int_eq(gsrt_unpack_end(&unpack), GSRT_OK);
}
END_TEST

START_TEST(skip_stops_at_the_depth_limit)
{
    uint8_t nested[GSRT_MSGPACK_DEPTH_MAX + 2];
    memset(nested, 0x91, sizeof nested);
    nested[GSRT_MSGPACK_DEPTH_MAX] = 1;
    gsrt_unpack unpack = reader_of(nested, GSRT_MSGPACK_DEPTH_MAX + 1);
    ck_assert_uint_eq(gsrt_unpack_skip(&unpack).len, GSRT_MSGPACK_DEPTH_MAX + 1);
    nested[GSRT_MSGPACK_DEPTH_MAX] = 0x91;
    nested[GSRT_MSGPACK_DEPTH_MAX + 1] = 1;
    unpack = reader_of(nested, sizeof nested);
    (void)gsrt_unpack_skip(&unpack);
    ck_assert(!gsrt_unpack_is_ok(&unpack));
}
END_TEST

START_TEST(ext_and_reserved_are_refused)
{
    for (unsigned first = 0; first < 256; first++) {
        bool is_foreign = first == 0xc1 || (first >= 0xc7 && first <= 0xc9) || (first >= 0xd4 && first <= 0xd8);
        uint8_t bytes[16] = {(uint8_t)first};
        gsrt_unpack unpack = reader_of(bytes, sizeof bytes);
        ck_assert_msg((gsrt_unpack_peek(&unpack) == GSRT_UNPACK_NONE) == is_foreign, "first byte %02x", first);
    }
}
END_TEST

/* Random bytes: whatever our reader accepts as one whole value, msgpack-c accepts with the same length. */
START_TEST(agrees_with_msgpack_c_on_random_input)
{
    uint32_t state = 1;
    int accepted = 0;
    for (int round = 0; round < 20000; round++) {
        uint8_t bytes[24];
        for (size_t i = 0; i < sizeof bytes; i++) {
            state = state * 1664525u + 1013904223u;
            bytes[i] = (uint8_t)(state >> 24);
        }
        gsrt_unpack unpack = reader_of(bytes, sizeof bytes);
        size_t len = gsrt_unpack_skip(&unpack).len;
        if (len == 0)
            continue;
        accepted++;
        msgpack_unpacked result;
        msgpack_unpacked_init(&result);
        size_t offset = 0;
        msgpack_unpack_return code = msgpack_unpack_next(&result, (const char *)bytes, sizeof bytes, &offset);
        ck_assert_msg(code == MSGPACK_UNPACK_SUCCESS || code == MSGPACK_UNPACK_EXTRA_BYTES, "round %d: code %d", round,
                      (int)code);
        ck_assert_uint_eq(offset, len);
        msgpack_unpacked_destroy(&result);
    }
    ck_assert_int_gt(accepted, 5000);
}
END_TEST

START_TEST(failure_is_sticky_and_harmless)
{
    static const uint8_t bytes[] = {0xc3, 5};
    gsrt_unpack unpack = reader_of(bytes, sizeof bytes);
    ck_assert_uint_eq(gsrt_unpack_uint(&unpack, 9), 0);
    ck_assert(!gsrt_unpack_bool(&unpack));
    ck_assert_uint_eq(gsrt_unpack_left(&unpack), 0);
    ck_assert_uint_eq(unpack.offset, 0);
    ck_assert_uint_eq(gsrt_unpack_skip(&unpack).len, 0);
    ck_assert_int_eq(gsrt_unpack_end(&unpack), GSRT_EDECODE);
}
END_TEST

int main(void)
{
    const TTest *tests[] = {integers_round_trip,
                            signed_range_is_checked,
                            longer_encodings_are_accepted,
                            every_type_round_trips,
                            every_truncation_is_refused,
                            fixed_room_too_small_is_a_status,
                            counts_that_cannot_be_are_refused,
                            strings_past_their_bound_are_refused,
                            skip_stops_at_the_depth_limit,
                            ext_and_reserved_are_refused,
                            agrees_with_msgpack_c_on_random_input,
                            failure_is_sticky_and_harmless};
    return unit_run("msgpack", tests, sizeof tests / sizeof tests[0]);
}
