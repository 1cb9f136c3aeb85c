/* What another rank may send: an envelope, then the body of its kind. Whatever is accepted is within the limits, can be
 * encoded again, and says the same then.
 */
#include "mailbox/body.h"
#include "mailbox/codec.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A failed check is a crash, which is what a fuzzer looks for. */
static void must(bool is_true)
{
    if (!is_true)
        abort();
}

static void check_body(const gsrt_envelope *envelope)
{
    gsrt_buffer scratch, again, text;
    gsrt_buffer_init(&scratch, GSRT_BODY_FLAT_BYTES_MAX);
    gsrt_buffer_init(&again, GSRT_BODY_FLAT_BYTES_MAX);
    gsrt_buffer_init(&text, 1 << 20);
    const void *body, *body_again;
    if (gsrt_body_decode(envelope->kind, envelope->body, &scratch, &body) == GSRT_OK) {
        must(gsrt_body_check(envelope->kind, body) == GSRT_OK);
        must(gsrt_body_print(envelope->kind, body, &text) == GSRT_OK);
        size_t room_bytes = gsrt_body_encoded_bytes_max(envelope->kind, body), len = 0;
        size_t flat_bytes = gsrt_body_flat_bytes(envelope->kind, body);
        uint8_t *room = malloc(room_bytes), *flat = malloc(flat_bytes);
        must(room != NULL && flat != NULL);
        must(gsrt_body_copy(envelope->kind, body, flat, flat_bytes) == GSRT_OK);
        must(gsrt_body_encode(envelope->kind, flat, room, room_bytes, &len) == GSRT_OK);
        must(gsrt_body_decode(envelope->kind, gsrt_span_of(room, len), &again, &body_again) == GSRT_OK);
        must(gsrt_body_flat_bytes(envelope->kind, body_again) == flat_bytes);
        free(room);
        free(flat);
    }
    gsrt_buffer_fini(&text);
    gsrt_buffer_fini(&again);
    gsrt_buffer_fini(&scratch);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    gsrt_envelope_expectation expectation = {.payload_bytes = 0};
    gsrt_envelope envelope;
    if (gsrt_envelope_decode(gsrt_span_of(data, size), &expectation, &envelope) != GSRT_OK)
        return 0;
    must(!gsrt_kind_is_local_only(envelope.kind));
    size_t len = 0;
    uint8_t *room = malloc(size);
    must(room != NULL && gsrt_envelope_encode(&envelope, room, size, &len) == GSRT_OK);
    must(len == size && memcmp(room, data, size) == 0);
    free(room);
    check_body(&envelope);
    return 0;
}
