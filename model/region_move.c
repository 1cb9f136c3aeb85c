#include "model/region_move.h"

#include "actors/courier.h"

#include <stdlib.h>
#include <string.h>

/* Where nothing is computed there are no pages, but sending them takes its time. */
static size_t page_bytes(const gsrt_region_options *o)
{
    const gsrt_lowered *l = o->lowered;
    if (o->kv != NULL)
        return gsrt_kv_page_bytes(o->kv);
    return (size_t)l->kv_layer_count * l->kv_head_count * GSRT_KV_BLOCK_POSITIONS * 2 * l->head_dim * sizeof(float);
}

static bool are_blocks(const gsrt_region_options *o, const uint32_t *blocks, uint32_t count)
{
    for (uint32_t i = 0; i < count && o->kv != NULL; i++) {
        if (blocks[i] >= gsrt_kv_block_count(o->kv))
            return false;
    }
    return true;
}

gsrt_status gsrt__region_copy_note(gsrt__region_copy *copy, const gsrt_region_options *o, const gsrt_msg_copy *message)
{
    if (copy->region != GSRT_NOBODY || message->region == GSRT_NOBODY ||
        !are_blocks(o, message->blocks, message->blocks_count))
        return GSRT_EINVAL;
    uint32_t *blocks = calloc(message->blocks_count + 1, sizeof *blocks);
    if (blocks == NULL)
        return GSRT_ENOMEM;
    if (message->blocks_count > 0)
        memcpy(blocks, message->blocks, message->blocks_count * sizeof *blocks);
    *copy = (gsrt__region_copy){
        .region = message->region, .blocks = blocks, .block_count = message->blocks_count, .is_held = message->is_held};
    return GSRT_OK;
}

void gsrt__region_copy_fini(gsrt__region_copy *copy)
{
    free(copy->blocks);
    *copy = (gsrt__region_copy){0};
}

static gsrt_payload *read_pages(const gsrt_region_options *o, const uint32_t *blocks, uint32_t count)
{
    size_t bytes = page_bytes(o);
    gsrt_payload *payload = gsrt_payload_create(count * bytes);
    for (uint32_t i = 0; payload != NULL && i < count; i++) {
        if (o->kv != NULL)
            gsrt_kv_page_read(o->kv, blocks[i], payload->data + i * bytes);
        else
            memset(payload->data + i * bytes, 0, bytes);
    }
    return payload;
}

gsrt_status gsrt__region_copy_go_on(gsrt__region_copy *copy, gsrt_actor *self, const gsrt_region_options *o)
{
    copy->has_begun = true;
    if (copy->taken_count == copy->block_count) {
        gsrt_msg_copied copied = {.bytes = copy->bytes};
        gsrt__region_copy_fini(copy);
        return gsrt_courier_send(self, gsrt_address_of_role(GSRT_ROLE_SCHEDULER, 0, 0), GSRT_KIND_COPIED, &copied,
                                 NULL);
    }
    size_t bytes = page_bytes(o), room = bytes == 0 ? copy->block_count : GSRT_PAGES_BYTES_MAX / bytes;
    uint32_t left = copy->block_count - copy->taken_count;
    uint32_t count = room == 0 ? 1 : room < left ? (uint32_t)room : left;
    const uint32_t *blocks = copy->blocks + copy->taken_count;
    gsrt_payload *payload = read_pages(o, blocks, count);
    if (payload == NULL)
        return GSRT_ENOMEM;
    copy->sent_count = count;
    copy->bytes += payload->len;
    gsrt_msg_pages message = {.blocks = blocks, .blocks_count = count};
    gsrt_status status = gsrt_courier_send(self, copy->region, GSRT_KIND_PAGES, &message, payload);
    gsrt_payload_unref(payload);
    return status;
}

gsrt_status gsrt__region_copy_taken(gsrt__region_copy *copy, gsrt_actor *self, const gsrt_region_options *o,
                                    const gsrt_msg_pages_taken *message)
{
    if (!copy->has_begun || message->count == 0 || message->count != copy->sent_count)
        return GSRT_EINVAL;
    copy->taken_count += copy->sent_count;
    copy->sent_count = 0;
    return gsrt__region_copy_go_on(copy, self, o);
}

gsrt_status gsrt__region_take_pages(gsrt_actor *self, const gsrt_region_options *o, const gsrt_message *message)
{
    const gsrt_msg_pages *pages = message->body;
    size_t bytes = page_bytes(o), len = message->payload == NULL ? 0 : message->payload->len;
    if (!are_blocks(o, pages->blocks, pages->blocks_count) || len != pages->blocks_count * bytes)
        return GSRT_EINVAL;
    for (uint32_t i = 0; i < pages->blocks_count && o->kv != NULL; i++)
        gsrt_kv_page_write(o->kv, pages->blocks[i], message->payload->data + i * bytes);
    gsrt_msg_pages_taken taken = {.count = pages->blocks_count};
    return gsrt_courier_send(self, message->from, GSRT_KIND_PAGES_TAKEN, &taken, NULL);
}
