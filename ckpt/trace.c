#include "ckpt/trace.h"

#include "base/msgpack.h"
#include "ckpt/trace_format.h"

#include <stdio.h>

static gsrt_status refuse(const gsrt_trace_reader *reader, gsrt_diag *diag, const char *what)
{
    char place[64];
    (void)snprintf(place, sizeof place, "frame %llu, byte %zu", (unsigned long long)reader->frame_number,
                   reader->offset_bytes);
    return gsrt_diag_set(diag, GSRT_EINPUT, reader->file, place, "%s; the trace is not what was written", what);
}

gsrt_status gsrt_trace_reader_init(gsrt_trace_reader *reader, gsrt_span span, const char *file, gsrt_diag *diag)
{
    if (span.len < GSRT_TRACE_MAGIC_BYTES || memcmp(span.data, gsrt__trace_magic, GSRT_TRACE_MAGIC_BYTES - 2) != 0)
        return gsrt_diag_set(diag, GSRT_EINPUT, file, "byte 0", "not a GSRT trace; expected a file named *.gsrtt");
    unsigned version = span.data[6] | (unsigned)span.data[7] << 8;
    if (version != GSRT_TRACE_VERSION)
        return gsrt_diag_set(diag, GSRT_EINPUT, file, "byte 6",
                             "trace format version %u, this program reads %d; use the version that wrote it", version,
                             (int)GSRT_TRACE_VERSION);
    *reader = (gsrt_trace_reader){
        .span = span, .file = file, .offset_bytes = GSRT_TRACE_MAGIC_BYTES, .checksum = gsrt__trace_first_seed()};
    return GSRT_OK;
}

/* ---- one decoder per kind, from the table ---- */

static uint64_t limit_of(uint64_t limit, uint64_t otherwise)
{
    return limit != 0 ? limit : otherwise;
}

#define READ_u32(field, limit) out->field = (uint32_t)gsrt_unpack_uint(unpack, limit_of(limit, UINT32_MAX));
#define READ_u64(field, limit) out->field = gsrt_unpack_uint(unpack, limit_of(limit, UINT64_MAX));
#define READ_text(field, limit) out->field = gsrt_unpack_str(unpack, limit);
#define READ_bytes(field, limit) out->field = gsrt_unpack_bin(unpack, limit);
#define READ_FIELD(type, field, limit) READ_##type(field, limit)
#define COUNT_FIELD(type, field, limit) +1
#define READER(NAME, number, name)                                                                                     \
    static void read_##name(gsrt_unpack *unpack, uint32_t count, gsrt_trace_##name *out)                               \
    {                                                                                                                  \
        if (count != 1 GSRT_TRACE_FIELDS_##NAME(COUNT_FIELD))                                                          \
            gsrt_unpack_fail(unpack);                                                                                  \
        GSRT_TRACE_FIELDS_##NAME(READ_FIELD)                                                                           \
    }
GSRT_TRACE_KINDS(READER)

static bool decode(gsrt_span body, gsrt_trace_frame *out)
{
    gsrt_unpack unpack;
    gsrt_unpack_init(&unpack, body);
    uint32_t count = gsrt_unpack_array(&unpack, 15);
    uint64_t kind = gsrt_unpack_uint(&unpack, UINT32_MAX);
    switch (kind) {
#define READ_KIND(NAME, number, name)                                                                                  \
    case number:                                                                                                       \
        out->kind = GSRT_TRACE_##NAME;                                                                                 \
        read_##name(&unpack, count, &out->name);                                                                       \
        break;
        GSRT_TRACE_KINDS(READ_KIND)
#undef READ_KIND
    default: return false;
    }
    return gsrt_unpack_end(&unpack) == GSRT_OK;
}

/* ---- the chain ---- */

static gsrt_status stop_torn(gsrt_trace_reader *reader)
{
    reader->is_torn = true;
    return GSRT_EEMPTY;
}

/* What the order of frames demands: RUN first and only first, END's count right. NULL: in order. */
static const char *check_order(const gsrt_trace_reader *reader, const gsrt_trace_frame *frame)
{
    if ((reader->frame_number == 0) != (frame->kind == GSRT_TRACE_RUN))
        return frame->kind == GSRT_TRACE_RUN ? "a second run frame" : "the first frame is not a run frame";
    if (frame->kind == GSRT_TRACE_END && frame->end.frame_count != reader->frame_number)
        return "the end frame counts other frames than there are";
    return NULL;
}

gsrt_status gsrt_trace_next(gsrt_trace_reader *reader, gsrt_trace_frame *out, gsrt_diag *diag)
{
    size_t left = reader->span.len - reader->offset_bytes;
    if (reader->has_ended)
        return left == 0 ? GSRT_EEMPTY : refuse(reader, diag, "bytes after the end frame");
    if (left < GSRT_TRACE_HEAD_BYTES)
        return stop_torn(reader);
    const uint8_t *head = reader->span.data + reader->offset_bytes;
    uint32_t length = (uint32_t)gsrt__trace_load(head, 4);
    if ((uint32_t)gsrt__trace_load(head + 4, 4) != gsrt__trace_length_check(length, reader->checksum))
        return refuse(reader, diag, "the length does not match its check");
    if (length > GSRT_TRACE_FRAME_BYTES_MAX)
        return refuse(reader, diag, "the frame is longer than GSRT_TRACE_FRAME_BYTES_MAX");
    if (length > left - GSRT_TRACE_HEAD_BYTES)
        return stop_torn(reader);
    gsrt_span body = gsrt_span_of(head + GSRT_TRACE_HEAD_BYTES, length);
    uint64_t checksum = gsrt__trace_checksum(body, reader->checksum);
    if (gsrt__trace_load(head + 8, 8) != checksum)
        return refuse(reader, diag, "the checksum does not match");
    gsrt_trace_frame frame = {
        .number = reader->frame_number, .offset_bytes = reader->offset_bytes, .checksum = checksum};
    if (!decode(body, &frame))
        return refuse(reader, diag, "the frame's content cannot be read by this version");
    const char *disorder = check_order(reader, &frame);
    if (disorder != NULL)
        return refuse(reader, diag, disorder);
    reader->offset_bytes += GSRT_TRACE_HEAD_BYTES + length;
    reader->frame_number++;
    reader->checksum = checksum;
    reader->has_ended = frame.kind == GSRT_TRACE_END;
    *out = frame;
    return GSRT_OK;
}
