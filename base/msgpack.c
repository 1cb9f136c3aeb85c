#include "base/msgpack.h"

#include <msgpack/pack.h>

/* ---- writer: msgpack-c encodes, this is where its bytes go ---- */

static int write_bytes(void *data, const char *bytes, size_t len)
{
    gsrt_pack *pack = data;
    if (pack->status != GSRT_OK)
        return -1;
    if (pack->buffer != NULL) {
        uint8_t *room;
        pack->status = gsrt_buffer_extend(pack->buffer, len, &room);
        if (pack->status != GSRT_OK)
            return -1;
        memcpy(room, bytes, len);
    } else {
        if (len > pack->capacity - pack->len) {
            pack->status = GSRT_ELIMIT;
            return -1;
        }
        memcpy(pack->room + pack->len, bytes, len);
    }
    pack->len += len;
    return 0;
}

static msgpack_packer packer_of(gsrt_pack *pack)
{
    return (msgpack_packer){.data = pack, .callback = write_bytes};
}

void gsrt_pack_init(gsrt_pack *pack, gsrt_buffer *buffer)
{
    *pack = (gsrt_pack){.buffer = buffer};
}

void gsrt_pack_init_fixed(gsrt_pack *pack, void *room, size_t capacity)
{
    *pack = (gsrt_pack){.room = room, .capacity = capacity};
}

/* The results of msgpack-c's calls are those of write_bytes, which keeps the status itself. */

void gsrt_pack_nil(gsrt_pack *pack)
{
    msgpack_packer packer = packer_of(pack);
    (void)msgpack_pack_nil(&packer);
}

void gsrt_pack_bool(gsrt_pack *pack, bool value)
{
    msgpack_packer packer = packer_of(pack);
    (void)(value ? msgpack_pack_true(&packer) : msgpack_pack_false(&packer));
}

void gsrt_pack_uint(gsrt_pack *pack, uint64_t value)
{
    msgpack_packer packer = packer_of(pack);
    (void)msgpack_pack_uint64(&packer, value);
}

void gsrt_pack_int(gsrt_pack *pack, int64_t value)
{
    msgpack_packer packer = packer_of(pack);
    (void)msgpack_pack_int64(&packer, value);
}

void gsrt_pack_f32(gsrt_pack *pack, float value)
{
    msgpack_packer packer = packer_of(pack);
    (void)msgpack_pack_float(&packer, value);
}

void gsrt_pack_f64(gsrt_pack *pack, double value)
{
    msgpack_packer packer = packer_of(pack);
    (void)msgpack_pack_double(&packer, value);
}

void gsrt_pack_str(gsrt_pack *pack, gsrt_span text)
{
    if (text.len > UINT32_MAX) {
        pack->status = pack->status == GSRT_OK ? GSRT_ELIMIT : pack->status;
        return;
    }
    msgpack_packer packer = packer_of(pack);
    (void)msgpack_pack_str(&packer, text.len);
    if (text.len > 0)
        (void)msgpack_pack_str_body(&packer, text.data, text.len);
}

void gsrt_pack_text(gsrt_pack *pack, const char *text)
{
    gsrt_pack_str(pack, gsrt_span_of_text(text));
}

void gsrt_pack_bin(gsrt_pack *pack, gsrt_span bytes)
{
    if (bytes.len > UINT32_MAX) {
        pack->status = pack->status == GSRT_OK ? GSRT_ELIMIT : pack->status;
        return;
    }
    msgpack_packer packer = packer_of(pack);
    (void)msgpack_pack_bin(&packer, bytes.len);
    if (bytes.len > 0)
        (void)msgpack_pack_bin_body(&packer, bytes.data, bytes.len);
}

void gsrt_pack_array(gsrt_pack *pack, uint32_t count)
{
    msgpack_packer packer = packer_of(pack);
    (void)msgpack_pack_array(&packer, count);
}

void gsrt_pack_map(gsrt_pack *pack, uint32_t count)
{
    msgpack_packer packer = packer_of(pack);
    (void)msgpack_pack_map(&packer, count);
}

gsrt_status gsrt_pack_end(gsrt_pack *pack)
{
    if (pack->status != GSRT_OK && pack->buffer != NULL) {
        pack->buffer->len -= pack->len;
        pack->len = 0;
    }
    return pack->status;
}

/* ---- reader ---- */

/* One decoded head: what the first byte and the bytes that belong to it say. */
typedef struct head {
    gsrt_unpack_type type;
    size_t bytes;   /* of the head; values without content end here */
    uint64_t value; /* integer (two's complement), bool, float bits, or the length of the content */
} head;

static uint64_t read_big_endian(const uint8_t *bytes, size_t count)
{
    uint64_t value = 0;
    for (size_t i = 0; i < count; i++)
        value = value << 8 | bytes[i];
    return value;
}

static uint64_t sign_extend(uint64_t value, size_t bytes)
{
    uint64_t sign = UINT64_C(1) << (8 * bytes - 1);
    return (value ^ sign) - sign;
}

/* The formats 0xc0..0xdf: type, and the bytes after the first that the head has. 0xc1 and ext stay NONE. */
static const struct {
    gsrt_unpack_type type;
    uint8_t extra;
} formats[32] = {
    [0x00] = {GSRT_UNPACK_NIL, 0},  [0x02] = {GSRT_UNPACK_BOOL, 0},  [0x03] = {GSRT_UNPACK_BOOL, 0},
    [0x04] = {GSRT_UNPACK_BIN, 1},  [0x05] = {GSRT_UNPACK_BIN, 2},   [0x06] = {GSRT_UNPACK_BIN, 4},
    [0x0a] = {GSRT_UNPACK_F32, 4},  [0x0b] = {GSRT_UNPACK_F64, 8},   [0x0c] = {GSRT_UNPACK_UINT, 1},
    [0x0d] = {GSRT_UNPACK_UINT, 2}, [0x0e] = {GSRT_UNPACK_UINT, 4},  [0x0f] = {GSRT_UNPACK_UINT, 8},
    [0x10] = {GSRT_UNPACK_INT, 1},  [0x11] = {GSRT_UNPACK_INT, 2},   [0x12] = {GSRT_UNPACK_INT, 4},
    [0x13] = {GSRT_UNPACK_INT, 8},  [0x19] = {GSRT_UNPACK_STR, 1},   [0x1a] = {GSRT_UNPACK_STR, 2},
    [0x1b] = {GSRT_UNPACK_STR, 4},  [0x1c] = {GSRT_UNPACK_ARRAY, 2}, [0x1d] = {GSRT_UNPACK_ARRAY, 4},
    [0x1e] = {GSRT_UNPACK_MAP, 2},  [0x1f] = {GSRT_UNPACK_MAP, 4},
};

/* Decode the head at the cursor without moving it; type NONE when there is none that we read. */
static head read_head(const gsrt_unpack *unpack)
{
    size_t left = gsrt_unpack_left(unpack);
    if (left == 0)
        return (head){0};
    const uint8_t *bytes = unpack->span.data + unpack->offset;
    uint8_t first = bytes[0];
    if (first <= 0x7f)
        return (head){GSRT_UNPACK_UINT, 1, first};
    if (first >= 0xe0)
        return (head){GSRT_UNPACK_INT, 1, sign_extend(first, 1)};
    if (first <= 0x8f)
        return (head){GSRT_UNPACK_MAP, 1, first & 0x0fu};
    if (first <= 0x9f)
        return (head){GSRT_UNPACK_ARRAY, 1, first & 0x0fu};
    if (first <= 0xbf)
        return (head){GSRT_UNPACK_STR, 1, first & 0x1fu};
    gsrt_unpack_type type = formats[first - 0xc0].type;
    size_t extra = formats[first - 0xc0].extra;
    if (type == GSRT_UNPACK_NONE || extra > left - 1)
        return (head){0};
    uint64_t value = read_big_endian(bytes + 1, extra);
    if (type == GSRT_UNPACK_BOOL)
        value = first & 1u;
    if (type == GSRT_UNPACK_INT)
        value = sign_extend(value, extra);
    return (head){type, 1 + extra, value};
}

static bool take_head(gsrt_unpack *unpack, gsrt_unpack_type type, uint64_t *out_value)
{
    head next = read_head(unpack);
    if (next.type == GSRT_UNPACK_NONE || next.type != type) {
        unpack->has_failed = true;
        return false;
    }
    unpack->offset += next.bytes;
    *out_value = next.value;
    return true;
}

gsrt_unpack_type gsrt_unpack_peek(const gsrt_unpack *unpack)
{
    return read_head(unpack).type;
}

uint64_t gsrt_unpack_uint(gsrt_unpack *unpack, uint64_t max)
{
    head next = read_head(unpack);
    bool is_natural = next.type == GSRT_UNPACK_UINT || (next.type == GSRT_UNPACK_INT && (int64_t)next.value >= 0);
    if (!is_natural || next.value > max) {
        unpack->has_failed = true;
        return 0;
    }
    unpack->offset += next.bytes;
    return next.value;
}

int64_t gsrt_unpack_int(gsrt_unpack *unpack, int64_t min, int64_t max)
{
    head next = read_head(unpack);
    bool is_integer =
        next.type == GSRT_UNPACK_INT || (next.type == GSRT_UNPACK_UINT && next.value <= (uint64_t)INT64_MAX);
    if (!is_integer || (int64_t)next.value < min || (int64_t)next.value > max) {
        unpack->has_failed = true;
        return 0;
    }
    unpack->offset += next.bytes;
    return (int64_t)next.value;
}

bool gsrt_unpack_bool(gsrt_unpack *unpack)
{
    uint64_t value;
    return take_head(unpack, GSRT_UNPACK_BOOL, &value) && value != 0;
}

void gsrt_unpack_nil(gsrt_unpack *unpack)
{
    uint64_t value;
    (void)take_head(unpack, GSRT_UNPACK_NIL, &value);
}

float gsrt_unpack_f32(gsrt_unpack *unpack)
{
    uint64_t value;
    if (!take_head(unpack, GSRT_UNPACK_F32, &value))
        return 0;
    uint32_t bits = (uint32_t)value;
    float number;
    memcpy(&number, &bits, sizeof number);
    return number;
}

double gsrt_unpack_f64(gsrt_unpack *unpack)
{
    uint64_t value;
    if (!take_head(unpack, GSRT_UNPACK_F64, &value))
        return 0;
    double number;
    memcpy(&number, &value, sizeof number);
    return number;
}

/* The content that belongs to a str or bin head. */
static gsrt_span take_bytes(gsrt_unpack *unpack, gsrt_unpack_type type, size_t bytes_max)
{
    head next = read_head(unpack);
    gsrt_span content;
    bool is_good = next.type == type && next.value <= bytes_max &&
                   gsrt_span_cut(unpack->span, unpack->offset + next.bytes, (size_t)next.value, &content);
    if (!is_good) {
        unpack->has_failed = true;
        return (gsrt_span){0};
    }
    unpack->offset += next.bytes + content.len;
    return content;
}

gsrt_span gsrt_unpack_str(gsrt_unpack *unpack, size_t bytes_max)
{
    return take_bytes(unpack, GSRT_UNPACK_STR, bytes_max);
}

gsrt_span gsrt_unpack_bin(gsrt_unpack *unpack, size_t bytes_max)
{
    return take_bytes(unpack, GSRT_UNPACK_BIN, bytes_max);
}

/* A value takes at least one byte, a pair two: larger counts are lies. */
static bool is_count_possible(const gsrt_unpack *unpack, head next)
{
    size_t left = gsrt_unpack_left(unpack) - next.bytes;
    return next.value <= GSRT_MSGPACK_ITEMS_MAX && next.value <= (next.type == GSRT_UNPACK_MAP ? left / 2 : left);
}

static uint32_t take_count(gsrt_unpack *unpack, gsrt_unpack_type type, uint32_t count_max)
{
    head next = read_head(unpack);
    if (next.type != type || next.value > count_max || !is_count_possible(unpack, next)) {
        unpack->has_failed = true;
        return 0;
    }
    unpack->offset += next.bytes;
    return (uint32_t)next.value;
}

uint32_t gsrt_unpack_array(gsrt_unpack *unpack, uint32_t count_max)
{
    return take_count(unpack, GSRT_UNPACK_ARRAY, count_max);
}

uint32_t gsrt_unpack_map(gsrt_unpack *unpack, uint32_t count_max)
{
    return take_count(unpack, GSRT_UNPACK_MAP, count_max);
}

void gsrt_unpack_record(gsrt_unpack *unpack, uint32_t count)
{
    size_t offset = unpack->offset;
    if (take_count(unpack, GSRT_UNPACK_ARRAY, count) != count && !unpack->has_failed) {
        unpack->offset = offset;
        unpack->has_failed = true;
    }
}

gsrt_span gsrt_unpack_skip(gsrt_unpack *unpack)
{
    size_t start = unpack->offset;
    uint64_t pending[GSRT_MSGPACK_DEPTH_MAX + 1] = {1}; /* values still to pass, by depth */
    size_t depth = 0;
    for (;;) {
        while (pending[depth] == 0) {
            if (depth == 0)
                return gsrt_span_of(unpack->span.data + start, unpack->offset - start);
            depth--;
        }
        pending[depth]--;
        head next = read_head(unpack);
        bool is_nested = next.type == GSRT_UNPACK_ARRAY || next.type == GSRT_UNPACK_MAP;
        if (next.type == GSRT_UNPACK_STR || next.type == GSRT_UNPACK_BIN) {
            (void)take_bytes(unpack, next.type, SIZE_MAX);
        } else if (next.type == GSRT_UNPACK_NONE ||
                   (is_nested && (depth == GSRT_MSGPACK_DEPTH_MAX || !is_count_possible(unpack, next)))) {
            unpack->has_failed = true;
        } else {
            unpack->offset += next.bytes;
        }
        if (unpack->has_failed)
            return (gsrt_span){0};
        if (is_nested)
            pending[++depth] = next.type == GSRT_UNPACK_MAP ? 2 * next.value : next.value;
    }
}

gsrt_status gsrt_unpack_end(gsrt_unpack *unpack)
{
    if (unpack->has_failed || unpack->offset != unpack->span.len) {
        unpack->has_failed = true;
        return GSRT_EDECODE;
    }
    return GSRT_OK;
}
