#include "mailbox/codec.h"

#include "mailbox/wire.h"

/* ---- writing, into room whose size was bounded beforehand ---- */

/* A field's place in the body. */
static inline const uint8_t *place_of(const gsrt_field_info *field, const void *body)
{
    return (const uint8_t *)body + field->offset;
}

static inline uint32_t count_of(const gsrt_field_info *field, const void *body)
{
    uint32_t count;
    memcpy(&count, (const uint8_t *)body + field->count_offset, sizeof count);
    return count;
}

static inline const void *array_of(const gsrt_field_info *field, const void *body)
{
    const void *array;
    memcpy(&array, place_of(field, body), sizeof array);
    return array;
}

static inline gsrt_span span_of(const gsrt_field_info *field, const void *body)
{
    gsrt_span span;
    memcpy(&span, place_of(field, body), sizeof span);
    return span;
}

#define SCALAR_OF(T, field, body) (*(const T *)(const void *)place_of(field, body))

static inline bool is_past(uint64_t limit, uint64_t value)
{
    return limit != 0 && value > limit;
}

/* Room that a field takes at most, without looking at each element. */
static size_t field_bytes_max(const gsrt_field_info *field, const void *body)
{
    switch (field->type) {
    case GSRT_FIELD_TYPE_u32:
    case GSRT_FIELD_TYPE_u64:
    case GSRT_FIELD_TYPE_i64:
    case GSRT_FIELD_TYPE_f32:
    case GSRT_FIELD_TYPE_f64:
    case GSRT_FIELD_TYPE_boolean: return GSRT__NUMBER_BYTES_MAX;
    case GSRT_FIELD_TYPE_text:
    case GSRT_FIELD_TYPE_bytes: return GSRT__HEAD_BYTES_MAX + span_of(field, body).len;
    case GSRT_FIELD_TYPE_u64s: return GSRT__HEAD_BYTES_MAX + (size_t)9 * count_of(field, body);
    case GSRT_FIELD_TYPE_u32s:
    case GSRT_FIELD_TYPE_f32s: break;
    }
    return GSRT__HEAD_BYTES_MAX + (size_t)5 * count_of(field, body);
}

/* The same for an array, element by element. */
static size_t array_bytes(const gsrt_field_info *field, const void *body)
{
    size_t bytes = GSRT__HEAD_BYTES_MAX;
    uint32_t count = count_of(field, body);
    const void *array = array_of(field, body);
    if (field->type == GSRT_FIELD_TYPE_u32s)
        for (uint32_t i = 0; i < count; i++)
            bytes += gsrt__uint_bytes(((const uint32_t *)array)[i]);
    else if (field->type == GSRT_FIELD_TYPE_u64s)
        for (uint32_t i = 0; i < count; i++)
            bytes += gsrt__uint_bytes(((const uint64_t *)array)[i]);
    else
        bytes += (size_t)5 * count;
    return bytes;
}

/* Where the fields go. */
typedef struct writer {
    uint8_t *at;
    const uint8_t *end;
    gsrt_status status;
} writer;

static inline bool has_room(const writer *out, size_t bytes)
{
    return (size_t)(out->end - out->at) >= bytes;
}

/* The number may be written: it is within the limit, and there is room. */
static inline bool may_put(writer *out, uint64_t limit, uint64_t value)
{
    if (is_past(limit, value))
        out->status = GSRT_EINVAL;
    else if (!has_room(out, GSRT__NUMBER_BYTES_MAX))
        out->status = GSRT_ELIMIT;
    return out->status == GSRT_OK;
}

static inline bool may_put_span(writer *out, uint64_t limit, gsrt_span span)
{
    if (span.len > limit || (span.len > 0 && span.data == NULL))
        out->status = GSRT_EINVAL;
    else if (!has_room(out, GSRT__HEAD_BYTES_MAX + span.len))
        out->status = GSRT_ELIMIT;
    return out->status == GSRT_OK;
}

/* Writing itself is unchecked, so the size is bounded first: cheaply, and element by element only if that does not fit.
 */
static void put_array(writer *out, const gsrt_field_info *field, const void *body)
{
    uint32_t count = count_of(field, body);
    const void *array = array_of(field, body);
    if (count > field->limit || (count > 0 && array == NULL))
        out->status = GSRT_EINVAL;
    else if (!has_room(out, field_bytes_max(field, body)) && !has_room(out, array_bytes(field, body)))
        out->status = GSRT_ELIMIT;
    if (out->status != GSRT_OK)
        return;
    uint8_t *at = gsrt__put_array(out->at, count);
    for (uint32_t i = 0; i < count; i++) {
        if (field->type == GSRT_FIELD_TYPE_u32s)
            at = gsrt__put_uint(at, ((const uint32_t *)array)[i]);
        else if (field->type == GSRT_FIELD_TYPE_u64s)
            at = gsrt__put_uint(at, ((const uint64_t *)array)[i]);
        else
            at = gsrt__put_f32(at, ((const float *)array)[i]);
    }
    out->at = at;
}

static void put_field(writer *out, const gsrt_field_info *field, const void *body)
{
    gsrt_span span;
    switch (field->type) {
    case GSRT_FIELD_TYPE_u32:
        if (may_put(out, field->limit, SCALAR_OF(uint32_t, field, body)))
            out->at = gsrt__put_uint(out->at, SCALAR_OF(uint32_t, field, body));
        break;
    case GSRT_FIELD_TYPE_u64:
        if (may_put(out, field->limit, SCALAR_OF(uint64_t, field, body)))
            out->at = gsrt__put_uint(out->at, SCALAR_OF(uint64_t, field, body));
        break;
    case GSRT_FIELD_TYPE_i64:
        if (may_put(out, 0, 0))
            out->at = gsrt__put_int(out->at, SCALAR_OF(int64_t, field, body));
        break;
    case GSRT_FIELD_TYPE_f32:
        if (may_put(out, 0, 0))
            out->at = gsrt__put_f32(out->at, SCALAR_OF(float, field, body));
        break;
    case GSRT_FIELD_TYPE_f64:
        if (may_put(out, 0, 0))
            out->at = gsrt__put_f64(out->at, SCALAR_OF(double, field, body));
        break;
    case GSRT_FIELD_TYPE_boolean:
        if (may_put(out, 0, 0))
            out->at = gsrt__put_bool(out->at, SCALAR_OF(bool, field, body));
        break;
    case GSRT_FIELD_TYPE_text:
        span = span_of(field, body);
        if (may_put_span(out, field->limit, span))
            out->at = gsrt__put_str(out->at, span);
        break;
    case GSRT_FIELD_TYPE_bytes:
        span = span_of(field, body);
        if (may_put_span(out, field->limit, span))
            out->at = gsrt__put_bin(out->at, span);
        break;
    case GSRT_FIELD_TYPE_u32s:
    case GSRT_FIELD_TYPE_u64s:
    case GSRT_FIELD_TYPE_f32s: put_array(out, field, body); break;
    }
}

size_t gsrt_body_encoded_bytes_max(gsrt_kind kind, const void *body)
{
    const gsrt_kind_info *info = gsrt_kind_describe((uint64_t)kind);
    if (info == NULL)
        return 0;
    size_t total = GSRT__HEAD_BYTES_MAX;
    for (uint32_t i = 0; i < info->field_count; i++)
        total += field_bytes_max(&info->fields[i], body);
    return total;
}

/* One walk over the fields. */
gsrt_status gsrt_body_encode(gsrt_kind kind, const void *body, void *room, size_t capacity, size_t *out_len)
{
    const gsrt_kind_info *info = gsrt_kind_describe((uint64_t)kind);
    if (info == NULL)
        return GSRT_EKIND;
    if (capacity > GSRT_BODY_BYTES_MAX)
        capacity = GSRT_BODY_BYTES_MAX;
    if (capacity < GSRT__HEAD_BYTES_MAX)
        return GSRT_ELIMIT;
    writer out = {.at = gsrt__put_array(room, info->field_count), .end = (const uint8_t *)room + capacity};
    for (uint32_t i = 0; i < info->field_count && out.status == GSRT_OK; i++)
        put_field(&out, &info->fields[i], body);
    if (out.status == GSRT_OK)
        *out_len = (size_t)(out.at - (uint8_t *)room);
    return out.status;
}

/* ---- reading ---- */

/* Where decoded arrays go: memory that was sized for the worst case beforehand. */
typedef struct carver {
    uint8_t *at, *end;
} carver;

static void *carve(carver *room, uint32_t count, size_t element_bytes)
{
    size_t bytes = ((size_t)count * element_bytes + 7) / 8 * 8;
    if (bytes > (size_t)(room->end - room->at))
        return NULL;
    void *array = room->at;
    room->at += bytes;
    return array;
}

static void take_array(gsrt__cursor *cursor, const gsrt_field_info *field, uint8_t *body, carver *room)
{
    uint32_t count = gsrt__take_array(cursor, field->limit);
    void *array = carve(room, count, field->type == GSRT_FIELD_TYPE_u64s ? sizeof(uint64_t) : sizeof(uint32_t));
    if (array == NULL) {
        (void)gsrt__refuse(cursor);
        return;
    }
    for (uint32_t i = 0; i < count && !cursor->has_failed; i++) {
        if (field->type == GSRT_FIELD_TYPE_u32s)
            ((uint32_t *)array)[i] = (uint32_t)gsrt__take_uint(cursor, UINT32_MAX);
        else if (field->type == GSRT_FIELD_TYPE_u64s)
            ((uint64_t *)array)[i] = gsrt__take_uint(cursor, UINT64_MAX);
        else
            ((float *)array)[i] = gsrt__take_f32(cursor);
    }
    memcpy(body + field->offset, &array, sizeof array);
    memcpy(body + field->count_offset, &count, sizeof count);
}

static uint64_t limit_of(const gsrt_field_info *field, uint64_t widest)
{
    return field->limit == 0 || field->limit > widest ? widest : field->limit;
}

static void take_field(gsrt__cursor *cursor, const gsrt_field_info *field, uint8_t *body, carver *room)
{
    uint8_t *place = body + field->offset;
    switch (field->type) {
    case GSRT_FIELD_TYPE_u32:
        *(uint32_t *)(void *)place = (uint32_t)gsrt__take_uint(cursor, limit_of(field, UINT32_MAX));
        break;
    case GSRT_FIELD_TYPE_u64: *(uint64_t *)(void *)place = gsrt__take_uint(cursor, limit_of(field, UINT64_MAX)); break;
    case GSRT_FIELD_TYPE_i64: *(int64_t *)(void *)place = gsrt__take_int(cursor); break;
    case GSRT_FIELD_TYPE_f32: *(float *)(void *)place = gsrt__take_f32(cursor); break;
    case GSRT_FIELD_TYPE_f64: *(double *)(void *)place = gsrt__take_f64(cursor); break;
    case GSRT_FIELD_TYPE_boolean: *(bool *)place = gsrt__take_bool(cursor); break;
    case GSRT_FIELD_TYPE_text: *(gsrt_span *)(void *)place = gsrt__take_str(cursor, (size_t)field->limit); break;
    case GSRT_FIELD_TYPE_bytes: *(gsrt_span *)(void *)place = gsrt__take_bin(cursor, (size_t)field->limit); break;
    case GSRT_FIELD_TYPE_u32s:
    case GSRT_FIELD_TYPE_u64s:
    case GSRT_FIELD_TYPE_f32s: take_array(cursor, field, body, room); break;
    }
}

gsrt_status gsrt_body_decode(gsrt_kind kind, gsrt_span bytes, gsrt_buffer *scratch, const void **out_body)
{
    const gsrt_kind_info *info = gsrt_kind_describe((uint64_t)kind);
    if (info == NULL)
        return GSRT_EKIND;
    if (bytes.len > GSRT_BODY_BYTES_MAX)
        return GSRT_EDECODE;
    size_t struct_bytes = ((size_t)info->body_bytes + 7) / 8 * 8;
    /* each element took at least one byte of the wire and takes at most eight here; alignment: below 8 per array */
    size_t need = struct_bytes + (info->is_flat ? 0 : 8 * (bytes.len + info->field_count));
    uint8_t *body;
    gsrt_buffer_reset(scratch);
    gsrt_status status = gsrt_buffer_extend(scratch, need, &body);
    if (status != GSRT_OK)
        return status;
    for (size_t i = 0; i < struct_bytes; i += 8) /* small: a call of memset costs more */
        memset(body + i, 0, 8);
    carver room = {body + struct_bytes, body + need};
    gsrt__cursor cursor = gsrt__cursor_of(bytes);
    if (gsrt__take_array(&cursor, info->field_count) != info->field_count)
        return GSRT_EDECODE;
    for (uint32_t i = 0; i < info->field_count && !cursor.has_failed; i++)
        take_field(&cursor, &info->fields[i], body, &room);
    if (cursor.has_failed || gsrt__left(&cursor) != 0)
        return GSRT_EDECODE;
    *out_body = body;
    return GSRT_OK;
}

/* ---- the envelope: every number at full width, so a header has one length and one shape ---- */

enum { HEADER_BYTES = 69, HEADER_FIELD_COUNT = 11 };

_Static_assert((int)HEADER_BYTES <= GSRT_HEADER_BYTES_MAX, "the header fits the limit");
_Static_assert((int)GSRT_KIND_LOGITS < 256, "a kind's number is written in one byte");

/* The msgpack heads of the fields, and where they stand. */
enum {
    AT_ARRAY = 0,
    AT_VERSION = 1,
    AT_KIND = 2,
    AT_EPOCH = 4,
    AT_FROM = 9,
    AT_TO = 18,
    AT_SEQUENCE = 27,
    AT_CAUSE = 36,
    AT_CALL = 45,
    AT_IS_REPLY = 54,
    AT_DEADLINE = 55,
    AT_PAYLOAD = 64,
    HEAD_ARRAY = 0x90 | HEADER_FIELD_COUNT,
    HEAD_U8 = 0xcc,
    HEAD_U32 = 0xce,
    HEAD_U64 = 0xcf,
    HEAD_FALSE = 0xc2,
};

gsrt_status gsrt_envelope_encode(const gsrt_envelope *envelope, void *room, size_t capacity, size_t *out_len)
{
    gsrt_span body = envelope->body;
    if (!gsrt_kind_is_known((uint64_t)envelope->kind))
        return GSRT_EKIND;
    if (body.len > GSRT_BODY_BYTES_MAX || capacity < HEADER_BYTES || capacity - HEADER_BYTES < body.len)
        return GSRT_ELIMIT;
    uint8_t *at = room;
    at[AT_ARRAY] = HEAD_ARRAY;
    at[AT_VERSION] = GSRT_ENVELOPE_VERSION;
    at[AT_KIND] = HEAD_U8;
    at[AT_KIND + 1] = (uint8_t)envelope->kind;
    (void)gsrt__put_be32(at + AT_EPOCH, HEAD_U32, envelope->epoch);
    (void)gsrt__put_be64(at + AT_FROM, HEAD_U64, envelope->from);
    (void)gsrt__put_be64(at + AT_TO, HEAD_U64, envelope->to);
    (void)gsrt__put_be64(at + AT_SEQUENCE, HEAD_U64, envelope->sequence);
    (void)gsrt__put_be64(at + AT_CAUSE, HEAD_U64, envelope->cause);
    (void)gsrt__put_be64(at + AT_CALL, HEAD_U64, envelope->call);
    at[AT_IS_REPLY] = (uint8_t)(HEAD_FALSE | envelope->is_reply);
    (void)gsrt__put_be64(at + AT_DEADLINE, HEAD_U64, envelope->deadline_ns);
    (void)gsrt__put_be32(at + AT_PAYLOAD, HEAD_U32, envelope->payload == NULL ? 0 : (uint32_t)envelope->payload->len);
    if (body.len > 0)
        memcpy(at + HEADER_BYTES, body.data, body.len);
    *out_len = HEADER_BYTES + body.len;
    return GSRT_OK;
}

static uint32_t read_be32(const uint8_t *at)
{
    uint32_t value;
    memcpy(&value, at, sizeof value);
    return __builtin_bswap32(value);
}

static uint64_t read_be64(const uint8_t *at)
{
    uint64_t value;
    memcpy(&value, at, sizeof value);
    return __builtin_bswap64(value);
}

/* All heads at once, without a branch per field. */
static bool is_header(const uint8_t *at)
{
    unsigned wrong = (unsigned)(at[AT_ARRAY] ^ HEAD_ARRAY) | (unsigned)(at[AT_VERSION] ^ GSRT_ENVELOPE_VERSION) |
                     (unsigned)(at[AT_KIND] ^ HEAD_U8) | (unsigned)(at[AT_EPOCH] ^ HEAD_U32) |
                     (unsigned)(at[AT_FROM] ^ HEAD_U64) | (unsigned)(at[AT_TO] ^ HEAD_U64) |
                     (unsigned)(at[AT_SEQUENCE] ^ HEAD_U64) | (unsigned)(at[AT_CAUSE] ^ HEAD_U64) |
                     (unsigned)(at[AT_CALL] ^ HEAD_U64) | (unsigned)((at[AT_IS_REPLY] & 0xfe) ^ HEAD_FALSE) |
                     (unsigned)(at[AT_DEADLINE] ^ HEAD_U64) | (unsigned)(at[AT_PAYLOAD] ^ HEAD_U32);
    return wrong == 0;
}

gsrt_status gsrt_envelope_decode(gsrt_span bytes, const gsrt_envelope_expectation *expectation, gsrt_envelope *out)
{
    const uint8_t *at = bytes.data;
    if (bytes.len < HEADER_BYTES || bytes.len - HEADER_BYTES > GSRT_BODY_BYTES_MAX || !is_header(at) ||
        read_be32(at + AT_PAYLOAD + 1) != expectation->payload_bytes)
        return GSRT_EDECODE;
    const gsrt_kind_info *info = gsrt_kind_describe(at[AT_KIND + 1]);
    if (info == NULL || info->is_local_only)
        return GSRT_EKIND;
    uint32_t epoch = read_be32(at + AT_EPOCH + 1);
    if (epoch < expectation->epoch_min)
        return GSRT_ESTALE;
    *out = (gsrt_envelope){
        .kind = info->kind,
        .epoch = epoch,
        .from = read_be64(at + AT_FROM + 1),
        .to = read_be64(at + AT_TO + 1),
        .sequence = read_be64(at + AT_SEQUENCE + 1),
        .cause = read_be64(at + AT_CAUSE + 1),
        .call = read_be64(at + AT_CALL + 1),
        .is_reply = (at[AT_IS_REPLY] & 1) != 0,
        .deadline_ns = read_be64(at + AT_DEADLINE + 1),
        .body = gsrt_span_of(at + HEADER_BYTES, bytes.len - HEADER_BYTES),
    };
    return GSRT_OK;
}
