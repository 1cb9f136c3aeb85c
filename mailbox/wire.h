/* msgpack as base/msgpack.h reads and writes it, inlined: each message passes here four times.
 *
 * Writing is unchecked: the caller has bounded the size. Reading is a cursor with a sticky error, as in
 * base/msgpack.h; the two accept the same bytes (tests/mailbox/codec_test.c compares them, and msgpack-c).
 * Internal to mailbox/.
 */
#ifndef GSRT_MAILBOX_WIRE_H
#define GSRT_MAILBOX_WIRE_H

#include "base/span.h"

enum { GSRT__NUMBER_BYTES_MAX = 9, GSRT__HEAD_BYTES_MAX = 5 };

/* ---- writing ---- */

static inline uint8_t *gsrt__put_be16(uint8_t *at, uint8_t head, uint32_t value)
{
    uint16_t big = __builtin_bswap16((uint16_t)value);
    *at = head;
    memcpy(at + 1, &big, sizeof big);
    return at + 3;
}

static inline uint8_t *gsrt__put_be32(uint8_t *at, uint8_t head, uint32_t value)
{
    uint32_t big = __builtin_bswap32(value);
    *at = head;
    memcpy(at + 1, &big, sizeof big);
    return at + 5;
}

static inline uint8_t *gsrt__put_be64(uint8_t *at, uint8_t head, uint64_t value)
{
    uint64_t big = __builtin_bswap64(value);
    *at = head;
    memcpy(at + 1, &big, sizeof big);
    return at + 9;
}

static inline uint8_t *gsrt__put_uint(uint8_t *at, uint64_t value)
{
    if (value < 0x80) {
        *at = (uint8_t)value;
        return at + 1;
    }
    if (value > UINT32_MAX)
        return gsrt__put_be64(at, 0xcf, value);
    if (value > UINT16_MAX)
        return gsrt__put_be32(at, 0xce, (uint32_t)value);
    if (value > UINT8_MAX)
        return gsrt__put_be16(at, 0xcd, (uint32_t)value);
    at[0] = 0xcc;
    at[1] = (uint8_t)value;
    return at + 2;
}

static inline uint8_t *gsrt__put_int(uint8_t *at, int64_t value)
{
    if (value >= 0)
        return gsrt__put_uint(at, (uint64_t)value);
    if (value >= -32) {
        *at = (uint8_t)value;
        return at + 1;
    }
    if (value < INT32_MIN)
        return gsrt__put_be64(at, 0xd3, (uint64_t)value);
    if (value < INT16_MIN)
        return gsrt__put_be32(at, 0xd2, (uint32_t)value);
    if (value < INT8_MIN)
        return gsrt__put_be16(at, 0xd1, (uint32_t)value);
    at[0] = 0xd0;
    at[1] = (uint8_t)value;
    return at + 2;
}

static inline uint8_t *gsrt__put_bool(uint8_t *at, bool value)
{
    *at = value ? 0xc3 : 0xc2;
    return at + 1;
}

static inline uint8_t *gsrt__put_f32(uint8_t *at, float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return gsrt__put_be32(at, 0xca, bits);
}

static inline uint8_t *gsrt__put_f64(uint8_t *at, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return gsrt__put_be64(at, 0xcb, bits);
}

static inline uint8_t *gsrt__put_array(uint8_t *at, uint32_t count)
{
    if (count < 16) {
        *at = (uint8_t)(0x90 | count);
        return at + 1;
    }
    return count <= UINT16_MAX ? gsrt__put_be16(at, 0xdc, count) : gsrt__put_be32(at, 0xdd, count);
}

static inline uint8_t *gsrt__put_str(uint8_t *at, gsrt_span text)
{
    uint32_t len = (uint32_t)text.len;
    if (len < 32)
        *at++ = (uint8_t)(0xa0 | len);
    else if (len <= UINT8_MAX) {
        *at++ = 0xd9;
        *at++ = (uint8_t)len;
    } else
        at = len <= UINT16_MAX ? gsrt__put_be16(at, 0xda, len) : gsrt__put_be32(at, 0xdb, len);
    if (len > 0)
        memcpy(at, text.data, len);
    return at + len;
}

static inline uint8_t *gsrt__put_bin(uint8_t *at, gsrt_span bytes)
{
    uint32_t len = (uint32_t)bytes.len;
    if (len <= UINT8_MAX) {
        *at++ = 0xc4;
        *at++ = (uint8_t)len;
    } else
        at = len <= UINT16_MAX ? gsrt__put_be16(at, 0xc5, len) : gsrt__put_be32(at, 0xc6, len);
    if (len > 0)
        memcpy(at, bytes.data, len);
    return at + len;
}

static inline size_t gsrt__uint_bytes(uint64_t value)
{
    return value < 0x80 ? 1 : value <= UINT8_MAX ? 2 : value <= UINT16_MAX ? 3 : value <= UINT32_MAX ? 5 : 9;
}

/* ---- reading ---- */

typedef struct gsrt__cursor {
    const uint8_t *at, *end;
    bool has_failed; /* sticky; nothing is consumed after it */
} gsrt__cursor;

static inline gsrt__cursor gsrt__cursor_of(gsrt_span span)
{
    return (gsrt__cursor){.at = span.data, .end = span.data == NULL ? NULL : span.data + span.len};
}

static inline size_t gsrt__left(const gsrt__cursor *cursor)
{
    return (size_t)(cursor->end - cursor->at);
}

static inline uint64_t gsrt__refuse(gsrt__cursor *cursor)
{
    cursor->has_failed = true;
    cursor->at = cursor->end;
    return 0;
}

/* The `width` bytes after the head; the caller has checked that they are there. */
static inline uint64_t gsrt__big_endian(const uint8_t *at, size_t width)
{
    uint64_t value = 0;
    for (size_t i = 0; i < width; i++)
        value = value << 8 | at[i];
    return value;
}

/* An integer of any width: *out its bits, *out_is_negative its sign. */
static inline bool gsrt__take_integer(gsrt__cursor *cursor, uint64_t *out, bool *out_is_negative)
{
    size_t left = gsrt__left(cursor);
    if (left == 0)
        return false;
    uint8_t head = *cursor->at;
    *out_is_negative = false;
    if (head < 0x80) {
        *out = head;
        cursor->at += 1;
        return true;
    }
    if (head == 0xcf && left >= 9) { /* addresses, causes */
        memcpy(out, cursor->at + 1, 8);
        *out = __builtin_bswap64(*out);
        cursor->at += 9;
        return true;
    }
    if (head >= 0xe0) {
        *out = (uint64_t)(int64_t)(int8_t)head;
        *out_is_negative = true;
        cursor->at += 1;
        return true;
    }
    if (head < 0xcc || head > 0xd3)
        return false;
    size_t width = (size_t)1 << (head & 3u);
    if (width >= left)
        return false;
    *out = gsrt__big_endian(cursor->at + 1, width);
    if (head >= 0xd0) {
        unsigned shift = (unsigned)(64 - 8 * width);
        int64_t value = (int64_t)(*out << shift) >> shift;
        *out = (uint64_t)value;
        *out_is_negative = value < 0;
    }
    cursor->at += 1 + width;
    return true;
}

static inline uint64_t gsrt__take_uint(gsrt__cursor *cursor, uint64_t max)
{
    uint64_t value;
    bool is_negative;
    if (!gsrt__take_integer(cursor, &value, &is_negative) || is_negative || value > max)
        return gsrt__refuse(cursor);
    return value;
}

static inline int64_t gsrt__take_int(gsrt__cursor *cursor)
{
    uint64_t value;
    bool is_negative;
    if (!gsrt__take_integer(cursor, &value, &is_negative) || (!is_negative && value > (uint64_t)INT64_MAX))
        return (int64_t)gsrt__refuse(cursor);
    return (int64_t)value;
}

static inline bool gsrt__take_bool(gsrt__cursor *cursor)
{
    if (gsrt__left(cursor) == 0 || (*cursor->at & 0xfeu) != 0xc2)
        return gsrt__refuse(cursor) != 0;
    return (*cursor->at++ & 1u) != 0;
}

static inline float gsrt__take_f32(gsrt__cursor *cursor)
{
    float value = 0;
    if (gsrt__left(cursor) < 5 || *cursor->at != 0xca)
        return (float)gsrt__refuse(cursor);
    uint32_t bits;
    memcpy(&bits, cursor->at + 1, sizeof bits);
    bits = __builtin_bswap32(bits);
    memcpy(&value, &bits, sizeof value);
    cursor->at += 5;
    return value;
}

static inline double gsrt__take_f64(gsrt__cursor *cursor)
{
    double value = 0;
    if (gsrt__left(cursor) < 9 || *cursor->at != 0xcb)
        return (double)gsrt__refuse(cursor);
    uint64_t bits;
    memcpy(&bits, cursor->at + 1, sizeof bits);
    bits = __builtin_bswap64(bits);
    memcpy(&value, &bits, sizeof value);
    cursor->at += 9;
    return value;
}

/* A length or count whose head is `short_head` | value below short_count, or long_head and its successors with 1, 2, 4
 * bytes (first_width: the width of long_head itself). SIZE_MAX: refused. */
static inline size_t gsrt__take_length(gsrt__cursor *cursor, uint8_t short_head, uint8_t short_count, uint8_t long_head,
                                       size_t first_width)
{
    size_t left = gsrt__left(cursor);
    if (left == 0)
        return SIZE_MAX;
    uint8_t head = *cursor->at;
    if (head >= short_head && head - short_head < short_count) {
        cursor->at += 1;
        return (size_t)(head - short_head);
    }
    if (head < long_head || head - long_head > 2)
        return SIZE_MAX;
    size_t width = first_width << (head - long_head);
    if (width > 4 || width >= left)
        return SIZE_MAX;
    size_t length = (size_t)gsrt__big_endian(cursor->at + 1, width);
    cursor->at += 1 + width;
    return length;
}

static inline gsrt_span gsrt__take_content(gsrt__cursor *cursor, size_t len, size_t bytes_max)
{
    if (len > bytes_max || len > gsrt__left(cursor)) {
        (void)gsrt__refuse(cursor);
        return (gsrt_span){0};
    }
    gsrt_span content = gsrt_span_of(cursor->at, len);
    cursor->at += len;
    return content;
}

static inline gsrt_span gsrt__take_str(gsrt__cursor *cursor, size_t bytes_max)
{
    return gsrt__take_content(cursor, gsrt__take_length(cursor, 0xa0, 32, 0xd9, 1), bytes_max);
}

static inline gsrt_span gsrt__take_bin(gsrt__cursor *cursor, size_t bytes_max)
{
    return gsrt__take_content(cursor, gsrt__take_length(cursor, 0xc4, 0, 0xc4, 1), bytes_max);
}

/* A count of at most count_max, and no more than the bytes that are left can hold. */
static inline uint32_t gsrt__take_array(gsrt__cursor *cursor, uint64_t count_max)
{
    size_t count = gsrt__take_length(cursor, 0x90, 16, 0xdc, 2);
    if (count > count_max || count > gsrt__left(cursor))
        return (uint32_t)gsrt__refuse(cursor);
    return (uint32_t)count;
}

#endif
