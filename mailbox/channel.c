#include "mailbox/channel.h"

#include "base/limits.h"

#include <errno.h>
#include <sys/socket.h>

void gsrt_channel_reader_init(gsrt_channel_reader *reader)
{
    *reader = (gsrt_channel_reader){0};
    gsrt_buffer_init(&reader->ticket, GSRT_TICKET_BYTES_MAX);
}

void gsrt_channel_reader_fini(gsrt_channel_reader *reader)
{
    gsrt_buffer_fini(&reader->ticket);
}

void gsrt_channel_write_head(uint8_t out[GSRT_CHANNEL_HEAD_BYTES], gsrt_channel_type type, uint32_t value)
{
    out[0] = (uint8_t)type;
    for (int i = 0; i < 4; i++)
        out[1 + i] = (uint8_t)(value >> (8 * i));
}

static uint32_t value_of(const gsrt_channel_reader *reader)
{
    return (uint32_t)reader->head[1] | (uint32_t)reader->head[2] << 8 | (uint32_t)reader->head[3] << 16 |
           (uint32_t)reader->head[4] << 24;
}

static bool is_type(uint8_t byte)
{
    return byte == GSRT_CHANNEL_TICKET || byte == GSRT_CHANNEL_FINISHED || byte == GSRT_CHANNEL_DEPOSITED ||
           byte == GSRT_CHANNEL_RESTARTS || byte == GSRT_CHANNEL_WINDOW;
}

/* GSRT_OK: at least a byte. */
static gsrt_status receive(int fd, void *room, size_t len, size_t *out_len)
{
    for (;;) {
        ssize_t n = recv(fd, room, len, MSG_DONTWAIT);
        if (n > 0) {
            *out_len = (size_t)n;
            return GSRT_OK;
        }
        if (n == 0 || (errno != EAGAIN && errno != EINTR))
            return GSRT_ELINK;
        if (errno == EAGAIN)
            return GSRT_EEMPTY;
    }
}

gsrt_status gsrt_channel_read(gsrt_channel_reader *reader, int fd, gsrt_channel_frame *out)
{
    gsrt_status status = GSRT_OK;
    size_t n;
    if (reader->is_complete) {
        reader->is_complete = false;
        reader->head_bytes = 0;
        gsrt_buffer_reset(&reader->ticket);
    }
    while (reader->head_bytes < sizeof reader->head && status == GSRT_OK) {
        status = receive(fd, reader->head + reader->head_bytes, sizeof reader->head - reader->head_bytes, &n);
        reader->head_bytes += status == GSRT_OK ? n : 0;
    }
    if (status != GSRT_OK)
        return status;
    uint32_t value = value_of(reader);
    size_t follow = reader->head[0] == GSRT_CHANNEL_TICKET ? value : 0;
    if (!is_type(reader->head[0]) || follow > GSRT_TICKET_BYTES_MAX)
        return GSRT_EDECODE;
    while (reader->ticket.len < follow) {
        uint8_t piece[16384];
        size_t want = follow - reader->ticket.len < sizeof piece ? follow - reader->ticket.len : sizeof piece;
        status = receive(fd, piece, want, &n);
        if (status == GSRT_OK)
            status = gsrt_buffer_append(&reader->ticket, piece, n);
        if (status != GSRT_OK)
            return status;
    }
    reader->is_complete = true;
    *out = (gsrt_channel_frame){
        .type = (gsrt_channel_type)reader->head[0], .value = value, .ticket = gsrt_buffer_span(&reader->ticket)};
    return GSRT_OK;
}
