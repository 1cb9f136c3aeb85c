/* The messages that wait on a node: one FIFO of records for all its actors, in chunks that are used again.
 *
 *   head chunk                          tail chunk
 *   [ (done) | record | record ] -----> [ record | record |      free      ]
 *            ^ offset                                      ^ used
 *
 * Records never move, so a body stays good while its receiver sends. Copying a message costs one write to memory that
 * is mostly in the cache; malloc is only called while the queue grows past what it has been before. Memory: what waits,
 * plus at most GSRT__QUEUE_SPARE_CHUNKS chunks. Thread: one.
 */
#ifndef GSRT_ACTORS_QUEUE_H
#define GSRT_ACTORS_QUEUE_H

#include "base/span.h"
#include "mailbox/kinds.h"
#include "mailbox/payload.h"

enum { GSRT__QUEUE_CHUNK_BYTES = 64 * 1024, GSRT__QUEUE_SPARE_CHUNKS = 64, GSRT__RECORD_ALIGN = 16 };

enum {
    GSRT__RECORD_IS_REPLY = 1,
    GSRT__RECORD_IS_ENCODED = 2, /* the body is msgpack: decoded when it is delivered */
    GSRT__RECORD_IS_SIGNAL = 4,  /* the runtime looks at it before, or instead of, the actor */
    GSRT__RECORD_IS_SURE = 8,    /* a DOWN of a call that this node has ended itself */
    GSRT__RECORD_IS_COUNTED = 16 /* counts against the receiver's inbox */
};

typedef struct gsrt__record {
    uint32_t body_bytes;
    uint16_t kind;
    uint16_t flags;
    uint32_t slot; /* of the receiver, whose address must be `to` still */
    uint32_t epoch;
    gsrt_address from, to;
    uint64_t call; /* TIMER: the timer's handle */
    uint64_t cause;
    gsrt_address as; /* the receiver as the sender wrote it, maybe a role */
    gsrt_payload *payload;
    uint8_t body[]; /* flat copy, or encoded */
} gsrt__record;
_Static_assert(sizeof(gsrt__record) == 64, "one cache line before the body");

typedef struct gsrt__queue_chunk {
    struct gsrt__queue_chunk *next;
    uint32_t capacity, used;
    _Alignas(64) uint8_t data[];
} gsrt__queue_chunk;

typedef struct gsrt__queue {
    gsrt__queue_chunk *head, *tail; /* owned */
    gsrt__queue_chunk *spares;      /* owned */
    uint32_t head_offset;
    uint32_t spare_count;
    uint64_t count;
    uint64_t bytes, bytes_most; /* records and payloads that wait; the most ever */
} gsrt__queue;

static inline size_t gsrt__queue_record_bytes(size_t body_bytes)
{
    return (sizeof(gsrt__record) + body_bytes + GSRT__RECORD_ALIGN - 1) / GSRT__RECORD_ALIGN * GSRT__RECORD_ALIGN;
}

/* A spare chunk is taken at once, so that signals find room when memory runs out. false: no memory. */
bool gsrt__queue_init(gsrt__queue *queue);
void gsrt__queue_fini(gsrt__queue *queue); /* payloads are unref'ed */

/* The rare cases of the two below: the next chunk is needed, or one is done. */
bool gsrt__queue_make_room(gsrt__queue *queue, size_t bytes);
void gsrt__queue_advance(gsrt__queue *queue);

static inline uint64_t gsrt__queue_weight(const gsrt__record *record)
{
    return gsrt__queue_record_bytes(record->body_bytes) + (record->payload == NULL ? 0 : record->payload->len);
}

/* Room for a record with body_bytes at the end; of its header only body_bytes and payload are set. NULL: no memory.
 * `payload` (or NULL) is ref'ed and counted. */
static inline gsrt__record *gsrt__queue_append(gsrt__queue *queue, size_t body_bytes, gsrt_payload *payload)
{
    size_t bytes = gsrt__queue_record_bytes(body_bytes);
    if (queue->tail->capacity - queue->tail->used < bytes && !gsrt__queue_make_room(queue, bytes))
        return NULL;
    gsrt__record *record = (gsrt__record *)(void *)(queue->tail->data + queue->tail->used);
    queue->tail->used += (uint32_t)bytes;
    record->body_bytes = (uint32_t)body_bytes;
    record->payload = payload == NULL ? NULL : gsrt_payload_ref(payload);
    queue->count++;
    queue->bytes += gsrt__queue_weight(record);
    if (queue->bytes > queue->bytes_most)
        queue->bytes_most = queue->bytes;
    return record;
}
/* Undo the append that was just made. */
void gsrt__queue_retract(gsrt__queue *queue, gsrt__record *record);

/* The oldest; NULL: empty. It stays in the queue until removed. */
static inline gsrt__record *gsrt__queue_first(const gsrt__queue *queue)
{
    return queue->count == 0 ? NULL : (gsrt__record *)(void *)(queue->head->data + queue->head_offset);
}

/* Remove the oldest; its payload is unref'ed. */
static inline void gsrt__queue_remove_first(gsrt__queue *queue)
{
    gsrt__record *record = gsrt__queue_first(queue);
    queue->bytes -= gsrt__queue_weight(record);
    queue->head_offset += (uint32_t)gsrt__queue_record_bytes(record->body_bytes);
    if (record->payload != NULL)
        gsrt_payload_unref(record->payload);
    queue->count--;
    if (queue->head_offset == queue->head->used)
        gsrt__queue_advance(queue);
}

#endif
