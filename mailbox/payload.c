#include "mailbox/payload.h"

#include "base/limits.h"

#include <stdlib.h>

enum { ALIGN = 64 };

_Static_assert(sizeof(gsrt_payload) <= ALIGN, "the data starts one cache line after the head");

gsrt_payload *gsrt_payload_create(size_t len)
{
    if (len > GSRT_PAYLOAD_BYTES_MAX)
        return NULL;
    size_t bytes = ALIGN + (len + ALIGN - 1) / ALIGN * ALIGN;
    gsrt_payload *payload = aligned_alloc(ALIGN, bytes);
    if (payload == NULL)
        return NULL;
    atomic_init(&payload->references, 1);
    payload->len = len;
    payload->data = (uint8_t *)payload + ALIGN;
    return payload;
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
    if (payload != NULL && atomic_fetch_sub_explicit(&payload->references, 1, memory_order_acq_rel) == 1)
        free(payload);
    return NULL;
}
