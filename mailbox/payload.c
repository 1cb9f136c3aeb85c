#include "mailbox/payload.h"

#include "base/limits.h"

#include <malloc.h>
#include <stdlib.h>

enum { ALIGN = 64 };

_Static_assert(sizeof(gsrt_payload) <= ALIGN, "the data starts one cache line after the head");

gsrt_payload *gsrt_payload_create(size_t len)
{
    if (len > GSRT_PAYLOAD_BYTES_MAX)
        return NULL;
    /* Not aligned_alloc: what glibc cuts off around an aligned block stays in its caches, so that the block fits no
     * later one of its size when it is freed. */
    uint8_t *block = malloc(2 * ALIGN + len);
    if (block == NULL)
        return NULL;
    gsrt_payload *payload = (gsrt_payload *)(void *)(block + (ALIGN - (uintptr_t)block % ALIGN));
    atomic_init(&payload->references, 1);
    payload->len = len;
    payload->block = block;
    payload->data = (uint8_t *)payload + ALIGN;
    payload->whole = NULL;
    return payload;
}

gsrt_payload *gsrt_payload_view(gsrt_payload *whole, size_t first, size_t len)
{
    if (first % ALIGN != 0 || first > whole->len || len > whole->len - first)
        return NULL;
    gsrt_payload *view = malloc(sizeof *view);
    if (view == NULL)
        return NULL;
    atomic_init(&view->references, 1);
    view->len = len;
    view->block = view;
    view->data = whole->data + first;
    view->whole = gsrt_payload_ref(whole);
    return view;
}

gsrt_payload *gsrt_payload_ref(gsrt_payload *payload)
{
    if (payload != NULL)
        atomic_fetch_add_explicit(&payload->references, 1, memory_order_relaxed);
    return payload;
}

gsrt_payload *gsrt_payload_unref(gsrt_payload *payload)
{
    /* release: our reads are done before the count drops; acquire: the last one sees all of them before it frees */
    while (payload != NULL && atomic_fetch_sub_explicit(&payload->references, 1, memory_order_acq_rel) == 1) {
        gsrt_payload *whole = payload->whole;
        free(payload->block);
        payload = whole;
    }
    return NULL;
}

void gsrt_payload_keep_memory(void)
{
    /* the largest block that glibc lets one keep in the heap; larger ones are mapped each time */
    enum { LARGEST_KEPT_BYTES = 32 << 20 };
    (void)mallopt(M_MMAP_THRESHOLD, LARGEST_KEPT_BYTES);
    (void)mallopt(M_TRIM_THRESHOLD, GSRT_SEND_BYTES_IN_FLIGHT_MAX);
}
