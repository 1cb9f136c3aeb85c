/* Any bytes as a trace: read to the end and print every frame. A trace that is accepted has its checksums, so the
 * fuzzer also feeds the bytes as the bodies of frames whose checksums are right. */
#include "ckpt/trace.h"
#include "ckpt/trace_format.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_trace(gsrt_span span)
{
    gsrt_trace_reader reader;
    gsrt_trace_frame frame;
    gsrt_diag diag = {0};
    gsrt_buffer text;
    gsrt_buffer_init(&text, 8u << 20);
    gsrt_status status = gsrt_trace_reader_init(&reader, span, "fuzz", &diag);
    while (status == GSRT_OK) {
        status = gsrt_trace_next(&reader, &frame, &diag);
        gsrt_buffer_reset(&text);
        if (status == GSRT_OK && gsrt_trace_print(&frame, &text) != GSRT_OK)
            abort();
    }
    if ((status == GSRT_EINPUT) != (diag.status == GSRT_EINPUT))
        abort();
    gsrt_buffer_fini(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    read_trace(gsrt_span_of(data, size));

    /* the same bytes, cut into bodies by their own first bytes, with heads that are right */
    gsrt_buffer forged;
    gsrt_buffer_init(&forged, 8u << 20);
    gsrt_status status = gsrt_buffer_append(&forged, gsrt__trace_magic, sizeof gsrt__trace_magic);
    uint64_t checksum = gsrt__trace_first_seed();
    for (size_t at = 0; at < size && status == GSRT_OK;) {
        size_t length = data[at] % 128u;
        length = length > size - at - 1 ? size - at - 1 : length;
        gsrt_span body = gsrt_span_of(data + at + 1, length);
        uint8_t head[GSRT_TRACE_HEAD_BYTES];
        gsrt__trace_store(head, 4, length);
        gsrt__trace_store(head + 4, 4, gsrt__trace_length_check((uint32_t)length, checksum));
        checksum = gsrt__trace_checksum(body, checksum);
        gsrt__trace_store(head + 8, 8, checksum);
        status = gsrt_buffer_append(&forged, head, sizeof head);
        if (status == GSRT_OK)
            status = gsrt_buffer_append(&forged, body.data, body.len);
        at += 1 + length;
    }
    read_trace(gsrt_buffer_span(&forged));
    gsrt_buffer_fini(&forged);
    return 0;
}
