/* A table by request, of lists of parts by block. Beside them, for each (layer, head), how many leading blocks are
 * held: kept up to date by put, because the leader, the streaming regions and gatherings ask for nothing else. */
#include "ckpt/replica.h"

#include "base/limits.h"
#include "ckpt/snapshot_impl.h"

#include <stdlib.h>

typedef struct part {
    struct part *next; /* of the same block */
    gsrt_payload *payload;
    gsrt_snapshot_view view;
} part;

typedef struct kept {
    part **blocks; /* [block_capacity] */
    uint32_t block_capacity;
    uint32_t *counts; /* [cell_count of the replica]; NULL: nothing is held */
    bool is_over;
} kept;

struct gsrt_replica {
    gsrt_snapshot_shape shape;
    size_t bytes_max;
    kept requests[GSRT_REQUEST_COUNT_MAX];
    gsrt_replica_facts facts;
};

static uint32_t cell_count_of(const gsrt_replica *r)
{
    return r->shape.layer_count * r->shape.kv_head_count;
}

gsrt_replica *gsrt_replica_create(const gsrt_snapshot_shape *shape, size_t bytes_max)
{
    gsrt_replica *r = calloc(1, sizeof *r);
    if (r != NULL) {
        r->shape = *shape;
        r->bytes_max = bytes_max;
    }
    return r;
}

static void drop(gsrt_replica *r, kept *of)
{
    for (uint32_t block = 0; block < of->block_capacity; block++) {
        while (of->blocks[block] != NULL) {
            part *first = of->blocks[block];
            of->blocks[block] = first->next;
            r->facts.bytes -= first->payload->len;
            gsrt_payload_unref(first->payload);
            free(first);
        }
    }
    free(of->blocks);
    free(of->counts);
    *of = (kept){.is_over = of->is_over};
}

gsrt_replica *gsrt_replica_free(gsrt_replica *r)
{
    for (uint32_t i = 0; r != NULL && i < GSRT_REQUEST_COUNT_MAX; i++)
        drop(r, &r->requests[i]);
    free(r);
    return NULL;
}

void gsrt_replica_forget(gsrt_replica *r, uint32_t request)
{
    if (request >= GSRT_REQUEST_COUNT_MAX)
        return;
    drop(r, &r->requests[request]);
    r->requests[request].is_over = true;
}

/* ---- finding ---- */

static bool find(const part *p, const gsrt_snapshot_cell *cell, uint32_t *out)
{
    uint32_t low = 0, high = p->view.cell_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (gsrt__snapshot_compare(&p->view.cells[middle], cell) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    *out = low;
    return low < p->view.cell_count && gsrt__snapshot_compare(&p->view.cells[low], cell) == 0;
}

static const part *part_with(const gsrt_replica *r, const gsrt_snapshot_cell *cell, uint32_t *out_at)
{
    if (cell->request >= GSRT_REQUEST_COUNT_MAX || cell->block >= r->requests[cell->request].block_capacity)
        return NULL;
    for (const part *p = r->requests[cell->request].blocks[cell->block]; p != NULL; p = p->next) {
        if (find(p, cell, out_at))
            return p;
    }
    return NULL;
}

bool gsrt_replica_get(const gsrt_replica *r, const gsrt_snapshot_cell *cell, const float **out_k, const float **out_v)
{
    size_t floats = (size_t)GSRT_KV_BLOCK_POSITIONS * r->shape.head_dim;
    uint32_t at;
    const part *p = part_with(r, cell, &at);
    if (p == NULL)
        return false;
    *out_k = p->view.floats + at * 2 * floats;
    *out_v = *out_k + floats;
    return true;
}

gsrt_payload *gsrt_replica_part_of(const gsrt_replica *r, const gsrt_snapshot_cell *cell)
{
    uint32_t at;
    const part *p = part_with(r, cell, &at);
    return p == NULL ? NULL : p->payload;
}

const uint32_t *gsrt_replica_counts(const gsrt_replica *r, uint32_t request)
{
    return request < GSRT_REQUEST_COUNT_MAX ? r->requests[request].counts : NULL;
}

/* ---- taking ---- */

bool gsrt_replica_has_room(const gsrt_replica *r, size_t bytes)
{
    return r->facts.bytes <= r->bytes_max && bytes <= r->bytes_max - r->facts.bytes;
}

static gsrt_status read_part(const gsrt_replica *r, const gsrt_payload *payload, gsrt_snapshot_view *out)
{
    gsrt_diag diag = {0};
    if (payload == NULL ||
        gsrt_snapshot_view_read(gsrt_span_of(payload->data, payload->len), "CELLS", out, &diag) != GSRT_OK ||
        out->head_dim != r->shape.head_dim || out->cell_count == 0)
        return GSRT_EINPUT;
    const gsrt_snapshot_cell *first = &out->cells[0];
    if (first->request >= GSRT_REQUEST_COUNT_MAX || first->block >= GSRT_CONTEXT_MAX / GSRT_KV_BLOCK_POSITIONS)
        return GSRT_EINPUT;
    for (uint32_t i = 0; i < out->cell_count; i++) {
        const gsrt_snapshot_cell *cell = &out->cells[i];
        if (cell->request != first->request || cell->block != first->block || cell->layer >= r->shape.layer_count ||
            cell->head >= r->shape.kv_head_count)
            return GSRT_EINPUT;
    }
    return GSRT_OK;
}

static bool has_all(const gsrt_replica *r, const gsrt_snapshot_view *view)
{
    uint32_t at;
    for (uint32_t i = 0; i < view->cell_count; i++) {
        if (part_with(r, &view->cells[i], &at) == NULL)
            return false;
    }
    return true;
}

static gsrt_status make_room(const gsrt_replica *r, kept *of, uint32_t block)
{
    if (of->counts == NULL)
        of->counts = calloc(cell_count_of(r), sizeof *of->counts);
    if (of->counts == NULL)
        return GSRT_ENOMEM;
    if (block < of->block_capacity)
        return GSRT_OK;
    uint32_t capacity = 2 * block + 4;
    part **blocks = realloc(of->blocks, capacity * sizeof *blocks);
    if (blocks == NULL)
        return GSRT_ENOMEM;
    for (uint32_t i = of->block_capacity; i < capacity; i++)
        blocks[i] = NULL;
    of->blocks = blocks;
    of->block_capacity = capacity;
    return GSRT_OK;
}

/* Parts may come in any order: a gap that is filled lets the count run on over what lies behind it. */
static void count(const gsrt_replica *r, kept *of, const gsrt_snapshot_view *view)
{
    uint32_t at;
    for (uint32_t i = 0; i < view->cell_count; i++) {
        gsrt_snapshot_cell cell = view->cells[i];
        uint32_t *leading = &of->counts[cell.layer * r->shape.kv_head_count + cell.head];
        if (*leading != cell.block)
            continue;
        do
            cell.block = ++*leading;
        while (part_with(r, &cell, &at) != NULL);
    }
}

gsrt_status gsrt_replica_put(gsrt_replica *r, gsrt_payload *payload, bool is_bounded, gsrt_snapshot_view *out)
{
    gsrt_snapshot_view view;
    gsrt_status status = read_part(r, payload, &view);
    if (status != GSRT_OK)
        return status;
    if (out != NULL)
        *out = view;
    kept *of = &r->requests[view.cells[0].request];
    if (is_bounded && of->is_over)
        return GSRT_ESTATE;
    if (has_all(r, &view))
        return GSRT_OK;
    if (is_bounded && !gsrt_replica_has_room(r, payload->len)) {
        r->facts.left_out += 1;
        return GSRT_EFULL;
    }
    part *p = malloc(sizeof *p);
    status = p == NULL ? GSRT_ENOMEM : make_room(r, of, view.cells[0].block);
    if (status != GSRT_OK) {
        free(p);
        return status;
    }
    part **first = &of->blocks[view.cells[0].block];
    *p = (part){.next = *first, .payload = gsrt_payload_ref(payload), .view = view};
    *first = p;
    of->is_over = false;
    count(r, of, &view);
    r->facts.bytes += payload->len;
    if (r->facts.bytes > r->facts.bytes_highest)
        r->facts.bytes_highest = r->facts.bytes;
    return GSRT_OK;
}

/* ---- telling ---- */

/* {request, run_count, run_count times {blocks, cells}}: cells by layer, then head, in runs of equal counts. */
static gsrt_status tell_request(const gsrt_replica *r, uint32_t request, gsrt_buffer *out)
{
    const uint32_t *counts = r->requests[request].counts;
    uint32_t head[2] = {request, 0}, cells = cell_count_of(r);
    size_t at = out->len;
    gsrt_status status = gsrt_buffer_append(out, head, sizeof head);
    for (uint32_t first = 0, end; first < cells && status == GSRT_OK; first = end) {
        for (end = first + 1; end < cells && counts[end] == counts[first];)
            end++;
        uint32_t run[2] = {counts[first], end - first};
        status = gsrt_buffer_append(out, run, sizeof run);
        head[1] += 1;
    }
    if (status == GSRT_OK)
        memcpy(out->data + at, head, sizeof head);
    return status;
}

gsrt_status gsrt_replica_tell(const gsrt_replica *r, uint32_t number_max, gsrt_buffer *out)
{
    gsrt_status status = GSRT_OK;
    size_t begin = out->len;
    for (uint32_t request = 0; request < GSRT_REQUEST_COUNT_MAX && status == GSRT_OK; request++) {
        size_t before = out->len;
        if (r->requests[request].counts == NULL)
            continue;
        status = tell_request(r, request, out);
        if (status != GSRT_OK || out->len - begin > (size_t)number_max * sizeof(uint32_t)) {
            out->len = before;
            break;
        }
    }
    return status;
}

void gsrt_replica_read_facts(const gsrt_replica *r, gsrt_replica_facts *out)
{
    *out = r->facts;
}
