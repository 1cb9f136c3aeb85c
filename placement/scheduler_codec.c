#include "placement/scheduler_codec.h"

#include "base/msgpack.h"
#include "mailbox/codec.h"

enum { OPTIONS_FIELD_COUNT = 9, RECORD_FIELD_COUNT = 2 };

gsrt_status gsrt_scheduler_options_encode(const gsrt_scheduler_options *options, gsrt_buffer *buffer)
{
    gsrt_pack pack;
    gsrt_pack_init(&pack, buffer);
    gsrt_pack_array(&pack, OPTIONS_FIELD_COUNT);
    gsrt_pack_uint(&pack, options->prefill_chunk);
    gsrt_pack_uint(&pack, options->batch_requests);
    gsrt_pack_uint(&pack, options->block_count);
    gsrt_pack_uint(&pack, options->window);
    gsrt_pack_uint(&pack, options->context_max);
    gsrt_pack_bool(&pack, options->is_reusing_prefixes);
    gsrt_pack_uint(&pack, options->snapshot_tokens);
    gsrt_pack_uint(&pack, options->snapshot_first);
    gsrt_pack_array(&pack, options->stop_count);
    for (uint32_t i = 0; i < options->stop_count; i++)
        gsrt_pack_uint(&pack, options->stops[i]);
    return gsrt_pack_end(&pack);
}

gsrt_status gsrt_scheduler_options_decode(gsrt_span bytes, uint32_t *stops, gsrt_scheduler_options *out)
{
    gsrt_unpack unpack;
    gsrt_scheduler_options options = {.stops = stops};
    gsrt_unpack_init(&unpack, bytes);
    gsrt_unpack_record(&unpack, OPTIONS_FIELD_COUNT);
    options.prefill_chunk = (uint32_t)gsrt_unpack_uint(&unpack, GSRT_BATCH_ROWS_MAX);
    options.batch_requests = (uint32_t)gsrt_unpack_uint(&unpack, GSRT_BATCH_SEQUENCES_MAX);
    options.block_count = (uint32_t)gsrt_unpack_uint(&unpack, GSRT_KV_BLOCK_COUNT_MAX);
    options.window = (uint32_t)gsrt_unpack_uint(&unpack, GSRT_STAGE_COUNT_MAX);
    options.context_max = (uint32_t)gsrt_unpack_uint(&unpack, UINT32_MAX);
    options.is_reusing_prefixes = gsrt_unpack_bool(&unpack);
    options.snapshot_tokens = (uint32_t)gsrt_unpack_uint(&unpack, UINT32_MAX);
    options.snapshot_first = gsrt_unpack_uint(&unpack, UINT64_MAX);
    options.stop_count = gsrt_unpack_array(&unpack, GSRT_SCHEDULER_STOPS_MAX);
    for (uint32_t i = 0; i < options.stop_count; i++)
        stops[i] = (uint32_t)gsrt_unpack_uint(&unpack, UINT32_MAX);
    if (gsrt_unpack_end(&unpack) != GSRT_OK)
        return GSRT_EDECODE;
    *out = options;
    return GSRT_OK;
}

gsrt_status gsrt_scheduler_record_encode(gsrt_kind kind, const void *body, gsrt_buffer *buffer)
{
    size_t start = buffer->len, len, room_bytes = gsrt_body_encoded_bytes_max(kind, body);
    uint8_t *room;
    gsrt_pack pack;
    gsrt_pack_init(&pack, buffer);
    gsrt_pack_array(&pack, RECORD_FIELD_COUNT);
    gsrt_pack_uint(&pack, kind);
    gsrt_status status = gsrt_pack_end(&pack);
    if (status == GSRT_OK)
        status = gsrt_buffer_extend(buffer, room_bytes, &room);
    if (status == GSRT_OK)
        status = gsrt_body_encode(kind, body, room, room_bytes, &len);
    buffer->len = status == GSRT_OK ? buffer->len - room_bytes + len : start;
    return status;
}

gsrt_status gsrt_scheduler_action_encode(const gsrt_scheduler_action *action, gsrt_buffer *buffer)
{
    const void *body = action->kind == GSRT_KIND_STEP       ? (const void *)&action->step
                       : action->kind == GSRT_KIND_TOKEN    ? (const void *)&action->token
                       : action->kind == GSRT_KIND_RESTORE  ? (const void *)&action->restore
                       : action->kind == GSRT_KIND_SNAPSHOT ? (const void *)&action->snapshot
                       : action->kind == GSRT_KIND_COPY     ? (const void *)&action->copy
                       : action->kind == GSRT_KIND_HANDOVER ? (const void *)&action->handover
                                                            : (const void *)&action->finished;
    return gsrt_scheduler_record_encode(action->kind, body, buffer);
}

/* *out_body: the bytes after the kind. */
static gsrt_status read_kind(gsrt_span bytes, gsrt_kind *out_kind, gsrt_span *out_body)
{
    gsrt_unpack unpack;
    gsrt_unpack_init(&unpack, bytes);
    gsrt_unpack_record(&unpack, RECORD_FIELD_COUNT);
    uint64_t kind = gsrt_unpack_uint(&unpack, UINT16_MAX);
    if (!gsrt_unpack_is_ok(&unpack))
        return GSRT_EDECODE;
    *out_kind = (gsrt_kind)kind;
    *out_body = gsrt_span_of(bytes.data + unpack.offset, bytes.len - unpack.offset);
    return GSRT_OK;
}

gsrt_status gsrt_scheduler_record_kind(gsrt_span bytes, gsrt_kind *out_kind)
{
    gsrt_span body;
    return read_kind(bytes, out_kind, &body);
}

gsrt_status gsrt_scheduler_record_decode(gsrt_span bytes, gsrt_buffer *scratch, gsrt_kind *out_kind,
                                         const void **out_body)
{
    gsrt_span body;
    gsrt_kind kind;
    gsrt_status status = read_kind(bytes, &kind, &body);
    if (status == GSRT_OK)
        status = gsrt_body_decode(kind, body, scratch, out_body);
    if (status == GSRT_OK)
        *out_kind = kind;
    return status;
}
