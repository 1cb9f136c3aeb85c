/* Frames are msgpack, written here by hand because msgpack-c's calls, one per field, cost several times as much on this
 * path (docs/adr/0006-msgpack.md). The test reads the frames back with msgpack-c. */
#include "ckpt/trace_writer.h"

#include "ckpt/trace_format.h"

#include <stdlib.h>

enum { ROOM_BYTES = GSRT_TRACE_FLUSH_BYTES + GSRT_TRACE_HEAD_BYTES + GSRT_TRACE_FRAME_BYTES_MAX };

gsrt_status gsrt_trace_writer_init(gsrt_trace_writer *writer, gsrt_trace_sink *sink, void *sink_arg)
{
    uint8_t *room = malloc(ROOM_BYTES);
    if (room == NULL)
        return GSRT_ENOMEM;
    memcpy(room, gsrt__trace_magic, sizeof gsrt__trace_magic);
    *writer = (gsrt_trace_writer){.sink = sink,
                                  .sink_arg = sink_arg,
                                  .room = room,
                                  .len = sizeof gsrt__trace_magic,
                                  .byte_count = sizeof gsrt__trace_magic,
                                  .checksum = gsrt__trace_first_seed()};
    return GSRT_OK;
}

void gsrt_trace_writer_fini(gsrt_trace_writer *writer)
{
    free(writer->room);
    *writer = (gsrt_trace_writer){0};
}

static void empty_room(gsrt_trace_writer *writer)
{
    if (writer->status == GSRT_OK && writer->len > 0 && writer->sink != NULL)
        writer->status = writer->sink(writer->sink_arg, gsrt_span_of(writer->room, writer->len));
    writer->len = 0;
}

gsrt_status gsrt_trace_writer_flush(gsrt_trace_writer *writer)
{
    empty_room(writer);
    return writer->status;
}

/* Where the body of a frame of at most `length_max` bytes goes; NULL: not written, for the reason in status. */
static uint8_t *begin_frame(gsrt_trace_writer *writer, size_t length_max)
{
    if (writer->status == GSRT_OK && length_max > GSRT_TRACE_FRAME_BYTES_MAX)
        writer->status = GSRT_ELIMIT;
    return writer->status == GSRT_OK ? writer->room + writer->len + GSRT_TRACE_HEAD_BYTES : NULL;
}

static void end_frame(gsrt_trace_writer *writer, const uint8_t *body, size_t length)
{
    uint8_t *head = writer->room + writer->len;
    uint64_t checksum = gsrt__trace_checksum(gsrt_span_of(body, length), writer->checksum);
    gsrt__trace_store(head, 4, length);
    gsrt__trace_store(head + 4, 4, gsrt__trace_length_check((uint32_t)length, writer->checksum));
    gsrt__trace_store(head + 8, 8, checksum);
    writer->checksum = checksum;
    writer->frame_count++;
    writer->byte_count += GSRT_TRACE_HEAD_BYTES + length;
    writer->len += GSRT_TRACE_HEAD_BYTES + length;
    if (writer->len >= GSRT_TRACE_FLUSH_BYTES)
        empty_room(writer);
}

/* ---- msgpack's shortest encodings, as msgpack-c would choose them ---- */

static inline uint8_t *put_u32(uint8_t *at, uint8_t format, uint32_t value)
{
    uint32_t big_endian = __builtin_bswap32(value);
    at[0] = format;
    memcpy(at + 1, &big_endian, sizeof big_endian);
    return at + 5;
}

static inline uint8_t *put_uint(uint8_t *at, uint64_t value)
{
    if (value < 0x80) {
        at[0] = (uint8_t)value;
        return at + 1;
    }
    if (value <= UINT32_MAX) {
        if (value > UINT16_MAX)
            return put_u32(at, 0xce, (uint32_t)value);
        at[0] = value > UINT8_MAX ? 0xcd : 0xcc;
        at[1] = (uint8_t)(value > UINT8_MAX ? value >> 8 : value);
        at[2] = (uint8_t)value;
        return at + (value > UINT8_MAX ? 3 : 2);
    }
    uint64_t big_endian = __builtin_bswap64(value);
    at[0] = 0xcf;
    memcpy(at + 1, &big_endian, sizeof big_endian);
    return at + 9;
}

static inline uint8_t *put_span(uint8_t *at, uint8_t format, gsrt_span span)
{
    at = put_u32(at, format, (uint32_t)span.len);
    if (span.len > 0)
        memcpy(at, span.data, span.len);
    return at + span.len;
}

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "put_u32 and put_uint swap bytes");

/* ---- one encoder per kind, from the table ---- */

/* A span too long for any frame counts as just that, so that the sum cannot wrap. */
static inline size_t bytes_of(gsrt_span span)
{
    return 5 + (span.len > GSRT_TRACE_FRAME_BYTES_MAX ? GSRT_TRACE_FRAME_BYTES_MAX : span.len);
}

#define SIZE_u32(field) +5
#define SIZE_u64(field) +9
#define SIZE_text(field) +bytes_of(fields->field)
#define SIZE_bytes(field) +bytes_of(fields->field)
#define SIZE_FIELD(type, field, limit) SIZE_##type(field)
#define PUT_u32(field) at = put_uint(at, fields->field);
#define PUT_u64(field) at = put_uint(at, fields->field);
#define PUT_text(field) at = put_span(at, 0xdb, fields->field);
#define PUT_bytes(field) at = put_span(at, 0xc6, fields->field);
#define PUT_FIELD(type, field, limit) PUT_##type(field)
#define COUNT_FIELD(type, field, limit) +1
#define ENCODER(NAME, number, name)                                                                                    \
    _Static_assert(1 GSRT_TRACE_FIELDS_##NAME(COUNT_FIELD) <= 15, "the array's head is one byte");                     \
    static inline void encode_##name(gsrt_trace_writer *writer, const gsrt_trace_##name *fields)                       \
    {                                                                                                                  \
        size_t length_max = 2 GSRT_TRACE_FIELDS_##NAME(SIZE_FIELD);                                                    \
        uint8_t *body = begin_frame(writer, length_max);                                                               \
        if (body == NULL)                                                                                              \
            return;                                                                                                    \
        uint8_t *at = body;                                                                                            \
        *at++ = 0x90 | (1 GSRT_TRACE_FIELDS_##NAME(COUNT_FIELD));                                                      \
        *at++ = (number);                                                                                              \
        GSRT_TRACE_FIELDS_##NAME(PUT_FIELD) end_frame(writer, body, (size_t)(at - body));                              \
    }
GSRT_TRACE_KINDS(ENCODER)

#define WRITER(NAME, name)                                                                                             \
    void gsrt_trace_write_##name(gsrt_trace_writer *writer, const gsrt_trace_##name *fields)                           \
    {                                                                                                                  \
        encode_##name(writer, fields);                                                                                 \
    }
WRITER(RUN, run)
WRITER(MESSAGE, message)
WRITER(EVENT, event)
WRITER(ACTION, action)
WRITER(NOTE, note)
WRITER(INIT, init)
WRITER(LOST, lost)

void gsrt_trace_write_end(gsrt_trace_writer *writer, const gsrt_trace_end *fields)
{
    const gsrt_trace_end counted = {.time_ns = fields->time_ns, .frame_count = writer->frame_count};
    encode_end(writer, &counted);
}
