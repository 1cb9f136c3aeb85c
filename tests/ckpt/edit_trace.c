/* Damages a trace on purpose, for tests/launch/replay.sh.
 *
 *   edit_trace IN OUT flip BYTE      one bit of that byte
 *   edit_trace IN OUT cut BYTES      only the first BYTES
 *   edit_trace IN OUT drop FRAME     without that frame
 *   edit_trace IN OUT change FRAME   one bit of that frame's content, and every checksum made right again
 *   edit_trace IN OUT frames         OUT becomes text: number, byte, kind of each frame
 */
#include "ckpt/trace.h"
#include "ckpt/trace_writer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BYTES_MAX = 64 << 20 };

static void must(bool is_true, const char *what)
{
    if (is_true)
        return;
    (void)fprintf(stderr, "edit_trace: %s\n", what);
    exit(1);
}

static void read_file(const char *path, gsrt_buffer *out)
{
    FILE *file = fopen(path, "rb");
    must(file != NULL, "no such trace");
    uint8_t room[4096];
    for (size_t n = fread(room, 1, sizeof room, file); n > 0; n = fread(room, 1, sizeof room, file))
        must(gsrt_buffer_append(out, room, n) == GSRT_OK, "the trace is too long");
    (void)fclose(file);
}

static gsrt_status keep(void *arg, gsrt_span bytes)
{
    return gsrt_buffer_append(arg, bytes.data, bytes.len);
}

static void write_frame(gsrt_trace_writer *writer, const gsrt_trace_frame *frame)
{
    switch (frame->kind) {
#define WRITE_KIND(NAME, number, name)                                                                                 \
    case GSRT_TRACE_##NAME: gsrt_trace_write_##name(writer, &frame->name); break;
        GSRT_TRACE_KINDS(WRITE_KIND)
#undef WRITE_KIND
    }
}

/* The last bit of what an event, an action or an init frame holds. */
static void change(gsrt_trace_frame *frame, gsrt_buffer *room)
{
    gsrt_span *content = frame->kind == GSRT_TRACE_INIT     ? &frame->init.content
                         : frame->kind == GSRT_TRACE_EVENT  ? &frame->event.content
                         : frame->kind == GSRT_TRACE_ACTION ? &frame->action.content
                                                            : NULL;
    must(content != NULL && content->len > 0, "that frame has no content");
    must(gsrt_buffer_append(room, content->data, content->len) == GSRT_OK, "no memory");
    room->data[room->len - 1] ^= 1;
    *content = gsrt_buffer_span(room);
}

/* Frame by frame into `out`. */
static void edit(gsrt_span in, const char *how, unsigned long wanted, gsrt_buffer *out)
{
    gsrt_trace_reader reader;
    gsrt_trace_frame frame;
    gsrt_trace_writer writer;
    gsrt_buffer room;
    bool is_list = strcmp(how, "frames") == 0, is_drop = strcmp(how, "drop") == 0, is_found = is_list;
    must(is_list || is_drop || strcmp(how, "change") == 0, "flip, cut, drop, change or frames");
    gsrt_buffer_init(&room, BYTES_MAX);
    must(gsrt_trace_writer_init(&writer, is_list || is_drop ? NULL : keep, out) == GSRT_OK, "no memory");
    must(gsrt_trace_reader_init(&reader, in, "in", NULL) == GSRT_OK, "no trace");
    if (is_drop)
        must(gsrt_buffer_append(out, in.data, reader.offset_bytes) == GSRT_OK, "no memory");
    while (gsrt_trace_next(&reader, &frame, NULL) == GSRT_OK) {
        bool is_it = !is_list && frame.number == wanted;
        is_found |= is_it;
        size_t bytes = reader.offset_bytes - frame.offset_bytes;
        if (is_list)
            must(gsrt_buffer_print(out, "%llu %zu %s\n", (unsigned long long)frame.number, frame.offset_bytes,
                                   gsrt_trace_kind_name(frame.kind)) == GSRT_OK,
                 "no memory");
        else if (is_drop)
            must(is_it || gsrt_buffer_append(out, in.data + frame.offset_bytes, bytes) == GSRT_OK, "no memory");
        else if (is_it)
            change(&frame, &room);
        write_frame(&writer, &frame);
    }
    must(is_found, "no such frame");
    must(gsrt_trace_writer_flush(&writer) == GSRT_OK, "no memory");
    gsrt_trace_writer_fini(&writer);
    gsrt_buffer_fini(&room);
}

int main(int argc, char **argv)
{
    must(argc == 4 || argc == 5, "IN OUT HOW [NUMBER]");
    unsigned long number = argc == 5 ? strtoul(argv[4], NULL, 10) : 0;
    gsrt_buffer in, out;
    gsrt_buffer_init(&in, BYTES_MAX);
    gsrt_buffer_init(&out, BYTES_MAX);
    read_file(argv[1], &in);
    if (strcmp(argv[3], "flip") == 0 || strcmp(argv[3], "cut") == 0) {
        must(number < in.len, "no such byte");
        must(gsrt_buffer_append(&out, in.data, argv[3][0] == 'f' ? in.len : number) == GSRT_OK, "no memory");
        if (argv[3][0] == 'f')
            out.data[number] ^= 0x20;
    } else {
        edit(gsrt_buffer_span(&in), argv[3], number, &out);
    }
    FILE *file = fopen(argv[2], "wb");
    must(file != NULL && fwrite(out.data, 1, out.len, file) == out.len && fclose(file) == 0, "cannot write OUT");
    gsrt_buffer_fini(&in);
    gsrt_buffer_fini(&out);
    return 0;
}
