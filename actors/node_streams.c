/* The sequences of an actor that moves: they go with it, so that whoever heard from it, or is heard by it, sees one
 * stream that goes on.
 *
 *   [ [is_sent, other, last], ... ]   by (is_sent, other): the same bytes for the same streams
 */
#include "actors/node_impl.h"
#include "base/msgpack.h"

#include <stdlib.h>

typedef struct stream {
    bool is_sent; /* by the actor; else to it */
    uint64_t other, last;
} stream;

static int compare(const void *a, const void *b)
{
    const stream *x = a, *y = b;
    if (x->is_sent != y->is_sent)
        return x->is_sent ? 1 : -1;
    return (x->other > y->other) - (x->other < y->other);
}

/* Append the streams of `actor` in one of the maps, whose keys are (from, to). */
static uint32_t collect(const gsrt__map *map, gsrt_address actor, bool is_sent, stream *out)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < map->capacity; i++) {
        const gsrt__map_entry *entry = &map->entries[i];
        if (entry->a != 0 && (is_sent ? entry->a : entry->b) == actor)
            out[count++] = (stream){is_sent, is_sent ? entry->b : entry->a, entry->value};
    }
    return count;
}

gsrt_status gsrt_node_pack_streams(const gsrt_node *node, gsrt_address actor, gsrt_buffer *out)
{
    stream *streams = malloc(((size_t)node->seen.count + node->sent.count + 1) * sizeof *streams);
    if (streams == NULL)
        return GSRT_ENOMEM;
    uint32_t count = collect(&node->seen, actor, false, streams);
    count += collect(&node->sent, actor, true, streams + count);
    qsort(streams, count, sizeof *streams, compare);
    gsrt_pack pack;
    gsrt_pack_init(&pack, out);
    gsrt_pack_array(&pack, count);
    for (uint32_t i = 0; i < count; i++) {
        gsrt_pack_array(&pack, 3);
        gsrt_pack_bool(&pack, streams[i].is_sent);
        gsrt_pack_uint(&pack, streams[i].other);
        gsrt_pack_uint(&pack, streams[i].last);
    }
    free(streams);
    return gsrt_pack_end(&pack);
}

static gsrt_status take_over(gsrt_node *node, gsrt_address actor, const stream *given)
{
    gsrt__map *map = given->is_sent ? &node->sent : &node->seen;
    uint64_t *last;
    gsrt_status status =
        gsrt__map_put(map, given->is_sent ? actor : given->other, given->is_sent ? given->other : actor, &last);
    if (status != GSRT_OK)
        return status;
    if (given->last > *last)
        *last = given->last;
    if (given->is_sent && *last > node->sent_most)
        node->sent_most = *last;
    return GSRT_OK;
}

gsrt_status gsrt__streams_unpack(gsrt_node *node, gsrt_address actor, gsrt_span streams)
{
    if (streams.len == 0)
        return GSRT_OK;
    for (int pass = 0; pass < 2; pass++) { /* first all is read, then all is taken over */
        gsrt_unpack unpack;
        gsrt_unpack_init(&unpack, streams);
        uint32_t count = gsrt_unpack_array(&unpack, 2 * GSRT_STREAM_COUNT_MAX);
        for (uint32_t i = 0; i < count && gsrt_unpack_is_ok(&unpack); i++) {
            stream one;
            gsrt_unpack_record(&unpack, 3);
            one.is_sent = gsrt_unpack_bool(&unpack);
            one.other = gsrt_unpack_uint(&unpack, UINT64_MAX);
            one.last = gsrt_unpack_uint(&unpack, UINT64_MAX / 2);
            if (one.other == GSRT_NOBODY)
                gsrt_unpack_fail(&unpack);
            gsrt_status status = pass == 0 ? GSRT_OK : take_over(node, actor, &one);
            if (status != GSRT_OK)
                return status;
        }
        gsrt_status status = gsrt_unpack_end(&unpack);
        if (status != GSRT_OK)
            return status;
    }
    return GSRT_OK;
}
