#include "actors/queue.h"

#include <assert.h>
#include <stdlib.h>

static gsrt__queue_chunk *chunk_create(size_t capacity)
{
    gsrt__queue_chunk *chunk = aligned_alloc(64, (sizeof(gsrt__queue_chunk) + capacity + 63) / 64 * 64);
    if (chunk != NULL)
        *chunk = (gsrt__queue_chunk){.capacity = (uint32_t)capacity};
    return chunk;
}

bool gsrt__queue_init(gsrt__queue *queue)
{
    *queue = (gsrt__queue){0};
    queue->head = queue->tail = chunk_create(GSRT__QUEUE_CHUNK_BYTES);
    queue->spares = chunk_create(GSRT__QUEUE_CHUNK_BYTES);
    queue->spare_count = 1;
    return queue->head != NULL && queue->spares != NULL;
}

static void free_chunks(gsrt__queue_chunk *chunk)
{
    while (chunk != NULL) {
        gsrt__queue_chunk *next = chunk->next;
        free(chunk);
        chunk = next;
    }
}

void gsrt__queue_fini(gsrt__queue *queue)
{
    while (queue->count > 0)
        gsrt__queue_remove_first(queue);
    free_chunks(queue->head);
    free_chunks(queue->spares);
    *queue = (gsrt__queue){0};
}

/* A chunk with room for `bytes` at the end of the chain. */
static bool add_chunk(gsrt__queue *queue, size_t bytes)
{
    gsrt__queue_chunk *chunk = NULL;
    if (bytes > GSRT__QUEUE_CHUNK_BYTES) {
        chunk = chunk_create(bytes);
    } else if (queue->spares != NULL && queue->spare_count > 1) {
        chunk = queue->spares;
    } else {
        chunk = chunk_create(GSRT__QUEUE_CHUNK_BYTES);
        if (chunk == NULL)
            chunk = queue->spares; /* the reserve */
    }
    if (chunk == NULL)
        return false;
    if (chunk == queue->spares) {
        queue->spares = chunk->next;
        queue->spare_count--;
    }
    chunk->next = NULL;
    chunk->used = 0;
    queue->tail->next = chunk;
    queue->tail = chunk;
    return true;
}

static void retire_chunk(gsrt__queue *queue, gsrt__queue_chunk *chunk)
{
    if (chunk->capacity != GSRT__QUEUE_CHUNK_BYTES || queue->spare_count >= GSRT__QUEUE_SPARE_CHUNKS) {
        free(chunk);
        return;
    }
    chunk->next = queue->spares;
    queue->spares = chunk;
    queue->spare_count++;
}

/* The head moves on over chunks that are used up; an empty queue starts its chunk again, which keeps it in the cache.
 */
void gsrt__queue_advance(gsrt__queue *queue)
{
    while (queue->head_offset == queue->head->used) {
        queue->head_offset = 0;
        if (queue->head == queue->tail) {
            queue->head->used = 0;
            break;
        }
        gsrt__queue_chunk *done = queue->head;
        queue->head = done->next;
        retire_chunk(queue, done);
    }
}

bool gsrt__queue_make_room(gsrt__queue *queue, size_t bytes)
{
    if (!add_chunk(queue, bytes))
        return false;
    gsrt__queue_advance(queue); /* the head was empty, and its chunk too small */
    return true;
}

void gsrt__queue_retract(gsrt__queue *queue, gsrt__record *record)
{
    size_t bytes = gsrt__queue_record_bytes(record->body_bytes);
    assert(queue->count > 0 && (uint8_t *)record + bytes == queue->tail->data + queue->tail->used);
    queue->bytes -= gsrt__queue_weight(record);
    gsrt_payload_unref(record->payload);
    queue->tail->used -= (uint32_t)bytes;
    queue->count--;
}
