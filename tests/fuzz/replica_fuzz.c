/* Any bytes as what comes from another rank: a part for the replica, and what a replica of somebody is said to hold.
 * What is accepted is within its bytes, is found again, and what is drawn on it names only those who hold it. */
#include "ckpt/holdings.h"
#include "ckpt/replica.h"

#include "base/limits.h"

#include <stdlib.h>
#include <string.h>

enum { LAYERS = 2, HEADS = 2, RANKS = 2 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void put(const gsrt_snapshot_shape *shape, const uint8_t *data, size_t size)
{
    gsrt_replica *replica = gsrt_replica_create(shape, SIZE_MAX / 2);
    gsrt_payload *payload = gsrt_payload_create(size);
    gsrt_snapshot_view view;
    const float *k, *v;
    if (replica == NULL || payload == NULL)
        abort();
    if (size > 0)
        memcpy(payload->data, data, size);
    if (gsrt_replica_put(replica, payload, true, &view) == GSRT_OK) {
        for (uint32_t i = 0; i < view.cell_count; i++) {
            if (!gsrt_replica_get(replica, &view.cells[i], &k, &v) || (const uint8_t *)k < payload->data ||
                (const uint8_t *)(v + GSRT_KV_BLOCK_POSITIONS * shape->head_dim) > payload->data + size)
                abort();
        }
        gsrt_replica_forget(replica, view.cells[0].request);
    }
    gsrt_payload_unref(payload);
    gsrt_replica_free(replica);
}

static void note(const gsrt_snapshot_shape *shape, const uint8_t *data, size_t size)
{
    const bool is_there[RANKS] = {true, true};
    uint32_t count = (uint32_t)(size / sizeof(uint32_t));
    uint32_t *numbers = malloc(count * sizeof *numbers + 1); /* aligned, and just as long as it says */
    gsrt_holdings *holdings = gsrt_holdings_create(shape, RANKS);
    if (numbers == NULL || holdings == NULL)
        abort();
    if (count > 0)
        memcpy(numbers, data, count * sizeof *numbers);
    if (gsrt_holdings_note(holdings, 1, numbers, count) == GSRT_OK && count > 0) {
        uint32_t block_count = gsrt_holdings_blocks(holdings, numbers[0], is_there);
        gsrt_holdings_need need = {
            .to = 0, .request = numbers[0], .block_count = block_count, .layer_count = LAYERS, .head_count = HEADS};
        gsrt_buffer out;
        gsrt_buffer_init(&out, 1u << 20);
        if (gsrt_holdings_draw(holdings, &need, is_there, &out) != GSRT_OK ||
            (block_count > 0 && out.len != sizeof(gsrt_transfer)))
            abort(); /* rank 1 gives all of it, in one run */
        gsrt_buffer_fini(&out);
    }
    gsrt_holdings_free(holdings);
    free(numbers);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const gsrt_snapshot_shape shape = {.layer_count = LAYERS, .kv_head_count = HEADS, .head_dim = 1};
    put(&shape, data, size);
    note(&shape, data, size);
    return 0;
}
