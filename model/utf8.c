#include "model/utf8.h"

static const uint8_t replacement[3] = {0xef, 0xbf, 0xbd};

/* Table 3-7 of the Unicode standard: length by first byte, and the narrower range of the second. */
int gsrt_utf8_measure(const uint8_t *bytes, size_t len)
{
    uint8_t first = bytes[0];
    if (first < 0x80)
        return 1;
    if (first < 0xc2 || first > 0xf4)
        return -1;
    size_t wanted = first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
    uint8_t low = 0x80, high = 0xbf;
    if (first == 0xe0)
        low = 0xa0;
    else if (first == 0xed)
        high = 0x9f;
    else if (first == 0xf0)
        low = 0x90;
    else if (first == 0xf4)
        high = 0x8f;
    for (size_t i = 1; i < wanted; i++) {
        if (i == len)
            return 0;
        if (bytes[i] < low || bytes[i] > high)
            return -(int)i;
        low = 0x80;
        high = 0xbf;
    }
    return (int)wanted;
}

/* One character, or a part of none, from the front of bytes; *used says how many bytes it took, 0: more are needed. */
static gsrt_status put(const uint8_t *bytes, size_t len, gsrt_buffer *out, size_t *used)
{
    int size = gsrt_utf8_measure(bytes, len);
    *used = (size_t)(size < 0 ? -size : size);
    if (size == 0)
        return GSRT_OK;
    return size > 0 ? gsrt_buffer_append(out, bytes, (size_t)size)
                    : gsrt_buffer_append(out, replacement, sizeof replacement);
}

/* Finish the held character with the first of `bytes`; *taken of them are used up. */
static gsrt_status finish_held(gsrt_utf8 *utf8, gsrt_span bytes, gsrt_buffer *out, size_t *taken)
{
    *taken = 0;
    while (utf8->held_count > 0 && *taken < bytes.len) {
        utf8->held[utf8->held_count++] = bytes.data[(*taken)++];
        size_t used;
        gsrt_status status = put(utf8->held, utf8->held_count, out, &used);
        if (status != GSRT_OK)
            return status;
        /* A malformed part never includes the byte that broke it: give that one back. */
        if (used > 0) {
            *taken -= utf8->held_count - used;
            utf8->held_count = 0;
        }
    }
    return GSRT_OK;
}

gsrt_status gsrt_utf8_push(gsrt_utf8 *utf8, gsrt_span bytes, gsrt_buffer *out)
{
    size_t at;
    gsrt_status status = finish_held(utf8, bytes, out, &at);
    while (status == GSRT_OK && at < bytes.len) {
        size_t used;
        status = put(bytes.data + at, bytes.len - at, out, &used);
        if (status == GSRT_OK && used == 0) {
            utf8->held_count = (uint8_t)(bytes.len - at);
            memcpy(utf8->held, bytes.data + at, bytes.len - at);
            break;
        }
        at += used;
    }
    return status;
}

gsrt_status gsrt_utf8_flush(gsrt_utf8 *utf8, gsrt_buffer *out)
{
    bool is_empty = utf8->held_count == 0;
    utf8->held_count = 0;
    return is_empty ? GSRT_OK : gsrt_buffer_append(out, replacement, sizeof replacement);
}
