#include "base/buffer.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void gsrt_buffer_init(gsrt_buffer *buffer, size_t bytes_max)
{
    *buffer = (gsrt_buffer){.bytes_max = bytes_max};
}

void gsrt_buffer_fini(gsrt_buffer *buffer)
{
    free(buffer->data);
    *buffer = (gsrt_buffer){0};
}

gsrt_status gsrt_buffer_extend(gsrt_buffer *buffer, size_t len, uint8_t **out)
{
    if (len > buffer->bytes_max || buffer->len > buffer->bytes_max - len)
        return GSRT_ELIMIT;
    size_t need = buffer->len + len;
    if (need > buffer->capacity) {
        size_t capacity = buffer->capacity < 256 ? 256 : buffer->capacity;
        while (capacity < need)
            capacity = capacity > buffer->bytes_max / 2 ? buffer->bytes_max : capacity * 2;
        uint8_t *data = realloc(buffer->data, capacity);
        if (data == NULL)
            return GSRT_ENOMEM;
        buffer->data = data;
        buffer->capacity = capacity;
    }
    *out = buffer->data + buffer->len;
    buffer->len = need;
    return GSRT_OK;
}

gsrt_status gsrt_buffer_append(gsrt_buffer *buffer, const void *data, size_t len)
{
    uint8_t *room;
    if (len == 0)
        return GSRT_OK;
    gsrt_status status = gsrt_buffer_extend(buffer, len, &room);
    if (status == GSRT_OK)
        memcpy(room, data, len);
    return status;
}

gsrt_status gsrt_buffer_print(gsrt_buffer *buffer, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int n = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (n < 0)
        return GSRT_EINVAL;
    uint8_t *room;
    gsrt_status status = gsrt_buffer_extend(buffer, (size_t)n + 1, &room);
    if (status != GSRT_OK)
        return status;
    va_start(args, format);
    (void)vsnprintf((char *)room, (size_t)n + 1, format, args);
    va_end(args);
    buffer->len -= 1;
    return GSRT_OK;
}
