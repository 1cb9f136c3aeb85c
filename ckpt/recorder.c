#include "ckpt/recorder.h"

#include "ckpt/trace_writer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

enum { PUT_OFF_MAX = 32, PUT_OFF_BODY_BYTES = 96 };

/* A message that is not in the trace yet. A small body is kept, a large one hashed at once. */
typedef struct put_off_message {
    gsrt_trace_message message;
    uint8_t body[PUT_OFF_BODY_BYTES];
} put_off_message;

struct gsrt_recorder {
    gsrt_trace_writer writer;
    uint32_t put_off_count;
    put_off_message put_off[PUT_OFF_MAX]; /* oldest first; they come before anything that is written now */
    bool is_held;                         /* in memory, until it is placed */
    gsrt_buffer held;                     /* the trace so far, where is_held */
    uint64_t lost_count;                  /* frames that did not fit */
    uint32_t rank, incarnation;
    int fd;          /* -1: no file */
    int write_errno; /* of the write that failed */
    char path[4096];
};

static gsrt_status write_file(void *arg, gsrt_span bytes)
{
    gsrt_recorder *recorder = arg;
    while (bytes.len > 0) {
        ssize_t n = write(recorder->fd, bytes.data, bytes.len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) {
            recorder->write_errno = n < 0 ? errno : EIO;
            return GSRT_EIO;
        }
        bytes = gsrt_span_of(bytes.data + n, bytes.len - (size_t)n);
    }
    return GSRT_OK;
}

static gsrt_status hold(void *arg, gsrt_span bytes)
{
    gsrt_recorder *recorder = arg;
    return gsrt_buffer_append(&recorder->held, bytes.data, bytes.len);
}

/* Whether there is room for one more frame. After the first that is lost all are, until the trace has its place. */
static bool is_kept(gsrt_recorder *recorder)
{
    if (!recorder->is_held || (recorder->lost_count == 0 && recorder->writer.byte_count < GSRT_TRACE_HELD_BYTES))
        return true;
    recorder->lost_count++;
    return false;
}

static gsrt_status open_file(gsrt_recorder *recorder, const char *directory, uint32_t generation, gsrt_diag *diag)
{
    int n = snprintf(recorder->path, sizeof recorder->path, "%s/trace", directory);
    if (n < 0 || (size_t)n > sizeof recorder->path - 64)
        return gsrt_diag_set(diag, GSRT_EIO, directory, NULL, "the path is too long; choose a shorter one");
    if (mkdir(recorder->path, 0777) != 0 && errno != EEXIST)
        return gsrt_diag_set(diag, GSRT_EIO, recorder->path, NULL, "could not make the directory: %s", strerror(errno));
    char generation_text[16] = "";
    if (generation > 0)
        (void)snprintf(generation_text, sizeof generation_text, ".g%u", generation);
    (void)snprintf(recorder->path + n, sizeof recorder->path - (size_t)n, "/rank-%u.%u%s.gsrtt", recorder->rank,
                   recorder->incarnation, generation_text);
    recorder->fd = open(recorder->path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (recorder->fd < 0 && errno == EEXIST)
        return gsrt_diag_set(diag, GSRT_EIO, recorder->path, NULL,
                             "a trace of this rank is already there; choose another directory or remove it");
    if (recorder->fd < 0)
        return gsrt_diag_set(diag, GSRT_EIO, recorder->path, NULL, "could not create the trace: %s", strerror(errno));
    return GSRT_OK;
}

static gsrt_recorder *recorder_free(gsrt_recorder *recorder)
{
    if (recorder != NULL) {
        gsrt_trace_writer_fini(&recorder->writer);
        gsrt_buffer_fini(&recorder->held);
        if (recorder->fd >= 0)
            (void)close(recorder->fd);
        free(recorder);
    }
    return NULL;
}

gsrt_status gsrt_recorder_open(const gsrt_recorder_options *options, gsrt_recorder **out, gsrt_diag *diag)
{
    gsrt_recorder *recorder = calloc(1, sizeof *recorder);
    if (recorder == NULL)
        return gsrt_diag_set(diag, GSRT_ENOMEM, NULL, NULL, "no memory for the recorder");
    recorder->fd = -1;
    recorder->is_held = options->is_held;
    recorder->rank = options->rank;
    recorder->incarnation = options->incarnation;
    gsrt_buffer_init(&recorder->held, GSRT_TRACE_HELD_BYTES + GSRT_TRACE_HEAD_BYTES + GSRT_TRACE_FRAME_BYTES_MAX);
    bool is_file = options->directory != NULL, is_own = is_file || options->is_held;
    gsrt_trace_sink *sink = is_file ? write_file : options->is_held ? hold : options->sink;
    gsrt_status status = is_file ? open_file(recorder, options->directory, 0, diag) : GSRT_OK;
    if (status == GSRT_OK &&
        gsrt_trace_writer_init(&recorder->writer, sink, is_own ? recorder : options->sink_arg) != GSRT_OK)
        status = gsrt_diag_set(diag, GSRT_ENOMEM, NULL, NULL, "no memory for the recorder");
    if (status != GSRT_OK) {
        recorder = recorder_free(recorder);
        return status;
    }
    const char *program = options->program != NULL ? options->program : "gsrt";
    const gsrt_trace_run run = {.time_ns = options->now_ns,
                                .run_id = options->run_id,
                                .rank = options->rank,
                                .incarnation = options->incarnation,
                                .program = gsrt_span_of_text(program),
                                .world = gsrt_span_of_text(options->is_twin ? "twin" : "real")};
    gsrt_trace_write_run(&recorder->writer, &run);
    *out = recorder;
    return GSRT_OK;
}

gsrt_status gsrt_recorder_place(gsrt_recorder *recorder, const char *directory, uint32_t generation, uint64_t now_ns,
                                gsrt_diag *diag)
{
    if (!recorder->is_held)
        return gsrt_diag_set(diag, GSRT_ESTATE, directory, NULL, "the trace has its place already");
    gsrt_recorder_catch_up(recorder);
    gsrt_status status = gsrt_trace_writer_flush(&recorder->writer);
    if (status != GSRT_OK)
        return gsrt_diag_set(diag, status, NULL, NULL, "could not keep the trace in memory: %s",
                             gsrt_status_text(status));
    status = open_file(recorder, directory, generation, diag);
    if (status != GSRT_OK)
        return status;
    recorder->is_held = false;
    recorder->writer.sink = write_file;
    recorder->writer.status = write_file(recorder, gsrt_buffer_span(&recorder->held)); /* told as of any write */
    gsrt_buffer_fini(&recorder->held);
    const gsrt_trace_lost lost = {.time_ns = now_ns, .frame_count = recorder->lost_count};
    if (lost.frame_count > 0)
        gsrt_trace_write_lost(&recorder->writer, &lost);
    return GSRT_OK;
}

/* Packing and hashing take longer than sending: they wait until the node is idle, or something else is to be written.
 */
void gsrt_recorder_catch_up(void *arg)
{
    gsrt_recorder *recorder = arg;
    for (uint32_t i = 0; i < recorder->put_off_count; i++) {
        put_off_message *put_off = &recorder->put_off[i];
        if (!is_kept(recorder))
            continue;
        if (put_off->message.body_bytes <= PUT_OFF_BODY_BYTES)
            put_off->message.body_hash = XXH3_64bits(put_off->body, put_off->message.body_bytes);
        gsrt_trace_write_message(&recorder->writer, &put_off->message);
    }
    recorder->put_off_count = 0;
}

void gsrt_recorder_message(void *arg, uint64_t now_ns, const gsrt_envelope *envelope, bool is_sent)
{
    gsrt_recorder *recorder = arg;
    if (recorder->put_off_count == PUT_OFF_MAX)
        gsrt_recorder_catch_up(recorder);
    put_off_message *put_off = &recorder->put_off[recorder->put_off_count++];
    put_off->message = (gsrt_trace_message){
        .time_ns = now_ns,
        .is_sent = is_sent,
        .kind = (uint32_t)envelope->kind,
        .epoch = envelope->epoch,
        .from = envelope->from,
        .to = envelope->to,
        .sequence = envelope->sequence,
        .cause = envelope->cause,
        .call = envelope->call,
        .body_bytes = (uint32_t)envelope->body.len,
        .payload_bytes = envelope->payload == NULL ? 0 : (uint32_t)envelope->payload->len,
    };
    if (envelope->body.len > PUT_OFF_BODY_BYTES)
        put_off->message.body_hash = XXH3_64bits(envelope->body.data, envelope->body.len);
    else if (envelope->body.len > 0)
        memcpy(put_off->body, envelope->body.data, envelope->body.len);
}

void gsrt_recorder_init(void *arg, uint64_t now_ns, gsrt_address actor, uint64_t id, uint64_t cause,
                        const char *machine, gsrt_span bytes)
{
    gsrt_recorder *recorder = arg;
    const gsrt_trace_init init = {.time_ns = now_ns,
                                  .actor = actor,
                                  .id = id,
                                  .cause = cause,
                                  .machine = gsrt_span_of_text(machine),
                                  .content = bytes};
    gsrt_recorder_catch_up(recorder);
    if (is_kept(recorder))
        gsrt_trace_write_init(&recorder->writer, &init);
}

void gsrt_recorder_event(void *arg, uint64_t now_ns, gsrt_address actor, uint64_t id, uint64_t cause,
                         const char *machine, gsrt_span bytes)
{
    gsrt_recorder *recorder = arg;
    const gsrt_trace_event event = {.time_ns = now_ns,
                                    .actor = actor,
                                    .id = id,
                                    .cause = cause,
                                    .machine = gsrt_span_of_text(machine),
                                    .content = bytes};
    gsrt_recorder_catch_up(recorder);
    if (is_kept(recorder))
        gsrt_trace_write_event(&recorder->writer, &event);
}

void gsrt_recorder_action(void *arg, uint64_t now_ns, gsrt_address actor, uint64_t id, uint64_t cause,
                          const char *machine, gsrt_span bytes)
{
    gsrt_recorder *recorder = arg;
    const gsrt_trace_action action = {.time_ns = now_ns,
                                      .actor = actor,
                                      .id = id,
                                      .cause = cause,
                                      .machine = gsrt_span_of_text(machine),
                                      .content = bytes};
    gsrt_recorder_catch_up(recorder);
    if (is_kept(recorder))
        gsrt_trace_write_action(&recorder->writer, &action);
}

void gsrt_recorder_note(gsrt_recorder *recorder, uint64_t now_ns, const char *text)
{
    const gsrt_trace_note note = {.time_ns = now_ns, .text = gsrt_span_of_text(text)};
    gsrt_recorder_catch_up(recorder);
    if (is_kept(recorder))
        gsrt_trace_write_note(&recorder->writer, &note);
}

gsrt_status gsrt_recorder_flush(gsrt_recorder *recorder)
{
    gsrt_recorder_catch_up(recorder);
    return gsrt_trace_writer_flush(&recorder->writer);
}

gsrt_status gsrt_recorder_status(gsrt_recorder *recorder)
{
    gsrt_recorder_catch_up(recorder);
    return recorder->writer.status;
}

uint64_t gsrt_recorder_checksum(gsrt_recorder *recorder)
{
    gsrt_recorder_catch_up(recorder);
    return recorder->writer.checksum;
}

uint64_t gsrt_recorder_frame_count(gsrt_recorder *recorder)
{
    gsrt_recorder_catch_up(recorder);
    return recorder->writer.frame_count;
}

uint64_t gsrt_recorder_byte_count(gsrt_recorder *recorder)
{
    gsrt_recorder_catch_up(recorder);
    return recorder->writer.byte_count;
}

/* Flush, free, and say what went wrong since open. */
static gsrt_status finish(gsrt_recorder *recorder, gsrt_diag *diag)
{
    gsrt_status status = recorder->is_held ? GSRT_OK : gsrt_recorder_flush(recorder); /* held: of no use to anybody */
    const char *path = recorder->fd >= 0 ? recorder->path : NULL;
    if (status != GSRT_OK)
        (void)gsrt_diag_set(diag, status, path, NULL, "could not write the trace: %s; do not trust it",
                            recorder->write_errno != 0 ? strerror(recorder->write_errno) : gsrt_status_text(status));
    recorder = recorder_free(recorder);
    return status;
}

gsrt_status gsrt_recorder_close(gsrt_recorder *recorder, uint64_t now_ns, gsrt_diag *diag)
{
    if (recorder == NULL)
        return GSRT_OK;
    const gsrt_trace_end end = {.time_ns = now_ns};
    gsrt_recorder_catch_up(recorder);
    gsrt_trace_write_end(&recorder->writer, &end);
    return finish(recorder, diag);
}

gsrt_status gsrt_recorder_abandon(gsrt_recorder *recorder, gsrt_diag *diag)
{
    return recorder == NULL ? GSRT_OK : finish(recorder, diag);
}
