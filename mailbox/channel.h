/* The channel between a worker and its own keeper: a local stream socket, inherited. Frames both ways, each a type and
 * a value of 32 bits; a ticket's bytes follow its frame. Never blocks. Thread: one per end.
 */
#ifndef GSRT_MAILBOX_CHANNEL_H
#define GSRT_MAILBOX_CHANNEL_H

#include "base/buffer.h"

enum { GSRT_CHANNEL_HEAD_BYTES = 5 };

typedef enum gsrt_channel_type {
    GSRT_CHANNEL_TICKET = 'T',    /* worker: value bytes follow, at most GSRT_TICKET_BYTES_MAX */
    GSRT_CHANNEL_FINISHED = 'F',  /* worker: the run is over; value: exit code */
    GSRT_CHANNEL_DEPOSITED = 'D', /* keeper: it holds the deposit of epoch `value` */
    GSRT_CHANNEL_RESTARTS = 'R',  /* worker: the budget: so many next incarnations, at most GSRT_KEEPER_RESTARTS_MAX */
    GSRT_CHANNEL_WINDOW = 'W',    /* worker: ...within so many ms */
} gsrt_channel_type;

typedef struct gsrt_channel_frame {
    gsrt_channel_type type;
    uint32_t value;
    gsrt_span ticket; /* borrowed until the next read */
} gsrt_channel_frame;

typedef struct gsrt_channel_reader {
    uint8_t head[GSRT_CHANNEL_HEAD_BYTES];
    size_t head_bytes;
    gsrt_buffer ticket;
    bool is_complete; /* the frame that was returned last is still here */
} gsrt_channel_reader;

void gsrt_channel_reader_init(gsrt_channel_reader *reader);
void gsrt_channel_reader_fini(gsrt_channel_reader *reader);

/* The next frame that is there whole. GSRT_OK | GSRT_EEMPTY: not yet | GSRT_ELINK: the other end has gone |
 * GSRT_EDECODE | GSRT_ENOMEM: nothing more can be read. */
GSRT_MUST_CHECK gsrt_status gsrt_channel_read(gsrt_channel_reader *reader, int fd, gsrt_channel_frame *out);

void gsrt_channel_write_head(uint8_t out[GSRT_CHANNEL_HEAD_BYTES], gsrt_channel_type type, uint32_t value);

#endif
