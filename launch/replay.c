#include "launch/replay.h"

#include "base/limits.h"
#include "health/membership.h"
#include "launch/replay_impl.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- which traces there are ---- */

/* "rank-R.I.gsrtt", or "rank-R.I.gG.gsrtt" of a run that was resumed (ckpt/recorder.h). */
static bool parse_name(const char *name, gsrt__replayed_trace *out)
{
    char again[64];
    gsrt__replayed_trace read = {0};
    if (sscanf(name, "rank-%9u.%9u.g%9u.gsrtt", &read.rank, &read.incarnation, &read.generation) == 3)
        (void)snprintf(again, sizeof again, "rank-%u.%u.g%u.gsrtt", read.rank, read.incarnation, read.generation);
    else if (sscanf(name, "rank-%9u.%9u.gsrtt", &read.rank, &read.incarnation) == 2)
        (void)snprintf(again, sizeof again, "rank-%u.%u.gsrtt", read.rank, read.incarnation);
    else
        return false;
    if (strcmp(name, again) != 0)
        return false;
    *out = read;
    return true;
}

static bool is_trace(const char *name)
{
    size_t len = strlen(name), suffix = strlen(".gsrtt");
    return len > suffix && strcmp(name + len - suffix, ".gsrtt") == 0;
}

static int by_rank(const void *a, const void *b)
{
    const gsrt__replayed_trace *x = a, *y = b;
    if (x->generation != y->generation)
        return x->generation < y->generation ? -1 : 1;
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    return x->incarnation < y->incarnation ? -1 : x->incarnation > y->incarnation;
}

static gsrt_status add_trace(gsrt__replayed_run *run, const char *name, gsrt_diag *diag)
{
    gsrt__replayed_trace trace;
    if (!parse_name(name, &trace))
        return gsrt_diag_set(diag, GSRT_EINPUT, run->directory, name,
                             "no trace of a run has this name; take it out of trace/");
    gsrt__replayed_trace *traces = realloc(run->traces, (run->trace_count + 1) * sizeof *traces);
    if (traces == NULL)
        return GSRT_ENOMEM;
    run->traces = traces;
    size_t bytes = strlen(run->directory) + strlen(name) + sizeof "/trace/";
    trace.path = malloc(bytes);
    if (trace.path == NULL)
        return GSRT_ENOMEM;
    (void)snprintf(trace.path, bytes, "%s/trace/%s", run->directory, name);
    run->traces[run->trace_count++] = trace;
    return GSRT_OK;
}

static gsrt_status list(gsrt__replayed_run *run, gsrt_diag *diag)
{
    char path[GSRT_PATH_BYTES_MAX + 1];
    int len = snprintf(path, sizeof path, "%s/trace", run->directory);
    DIR *stream = len < 0 || (size_t)len >= sizeof path ? NULL : opendir(path);
    if (stream == NULL)
        return gsrt_diag_set(diag, GSRT_EINPUT, run->directory, NULL,
                             "trace/ cannot be read: %s; give the directory of a run", strerror(errno));
    gsrt_status status = GSRT_OK;
    for (struct dirent *entry = readdir(stream); entry != NULL && status == GSRT_OK; entry = readdir(stream)) {
        if (is_trace(entry->d_name))
            status = add_trace(run, entry->d_name, diag);
    }
    (void)closedir(stream);
    if (status == GSRT_OK && run->trace_count == 0)
        return gsrt_diag_set(diag, GSRT_EINPUT, path, NULL, "holds no trace; give the directory of a run");
    if (status == GSRT_OK)
        qsort(run->traces, run->trace_count, sizeof *run->traces, by_rank);
    return status;
}

/* ---- one trace ---- */

/* Mapped: a trace may be larger than memory. *out_span empty for an empty file. */
static gsrt_status map(const char *path, gsrt_span *out_span, gsrt_diag *diag)
{
    struct stat facts = {0};
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    bool is_open = fd >= 0 && fstat(fd, &facts) == 0 && S_ISREG(facts.st_mode);
    void *bytes = NULL;
    if (is_open && facts.st_size > 0)
        bytes = mmap(NULL, (size_t)facts.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    int cause = errno;
    if (fd >= 0)
        (void)close(fd);
    if (!is_open || bytes == MAP_FAILED)
        return gsrt_diag_set(diag, GSRT_EINPUT, path, NULL, "the trace cannot be read: %s",
                             fd >= 0 && !is_open ? "no file" : strerror(cause));
    *out_span = gsrt_span_of(bytes, (size_t)facts.st_size);
    return GSRT_OK;
}

/* Whose trace it is must be what its name says. */
static gsrt_status take_run(gsrt__replayed_trace *trace, const gsrt_trace_run *run)
{
    (void)snprintf(trace->world, sizeof trace->world, "%.*s", (int)run->world.len, (const char *)run->world.data);
    if (run->rank == trace->rank && run->incarnation == trace->incarnation)
        return GSRT_OK;
    return gsrt_diag_set(&trace->damage, GSRT_EINPUT, trace->path, "frame 0",
                         "this is the trace of rank %u, incarnation %u; the file has another one's name", run->rank,
                         run->incarnation);
}

/* The membership machine of each rank knows how many there are. */
static void take_rank_count(gsrt__replayed_run *run, const gsrt_trace_init *init)
{
    uint32_t first[GSRT_RANK_COUNT_MAX];
    gsrt_membership_options options;
    if (gsrt_span_equal(init->machine, gsrt_span_of_text("membership")) &&
        gsrt_membership_options_decode(init->content, first, &options) == GSRT_OK)
        run->rank_count = options.rank_count;
}

/* Frame by frame to its end, or to where it is damaged. */
static gsrt_status read_frames(gsrt__replayed_run *run, gsrt__replayed_trace *trace, gsrt_span span)
{
    gsrt_trace_reader reader;
    gsrt_trace_frame frame;
    gsrt_status status = gsrt_trace_reader_init(&reader, span, trace->path, &trace->damage);
    if (status != GSRT_OK)
        return status;
    while ((status = gsrt_trace_next(&reader, &frame, &trace->damage)) == GSRT_OK) {
        trace->frame_count = reader.frame_number;
        if (frame.kind == GSRT_TRACE_RUN)
            status = take_run(trace, &frame.run);
        if (frame.kind == GSRT_TRACE_INIT)
            take_rank_count(run, &frame.init);
        if (status == GSRT_OK)
            status = gsrt_replay_feed(trace->replay, &frame, trace->path, &trace->damage);
        if (status != GSRT_OK)
            return status;
    }
    trace->is_torn = reader.is_torn;
    trace->torn_at_bytes = reader.offset_bytes;
    return status == GSRT_EEMPTY ? GSRT_OK : status;
}

/* GSRT_OK, whatever is found | GSRT_ENOMEM. */
static gsrt_status replay_trace(gsrt__replayed_run *run, gsrt__replayed_trace *trace)
{
    gsrt_span span;
    gsrt_status status = gsrt_replay_create(gsrt_replay_machines, GSRT_REPLAY_MACHINE_COUNT, &trace->replay);
    if (status != GSRT_OK)
        return status;
    status = map(trace->path, &span, &trace->damage);
    if (status == GSRT_OK) {
        status = read_frames(run, trace, span);
        if (span.len > 0)
            (void)munmap((void *)(uintptr_t)span.data, span.len);
    }
    run->is_damaged |= trace->damage.status != GSRT_OK;
    run->is_different |= gsrt_replay_difference_count(trace->replay) > 0;
    return status == GSRT_EINPUT ? GSRT_OK : status;
}

/* ---- the run ---- */

bool gsrt__replayed_run_has_rank(const gsrt__replayed_run *run, uint32_t rank)
{
    for (uint32_t i = 0; i < run->trace_count; i++) {
        if (run->traces[i].rank == rank)
            return true;
    }
    return false;
}

static gsrt_status print(const gsrt__replayed_run *run, const gsrt_options *options)
{
    gsrt_buffer text;
    gsrt_buffer_init(&text, GSRT_REPORT_BYTES_MAX);
    gsrt_status status = options->is_json ? gsrt__replayed_run_print_json(run, &text)
                                          : gsrt__replayed_run_print(run, options->is_quiet, &text);
    if (status == GSRT_OK && fwrite(text.data, 1, text.len, stdout) != text.len)
        status = GSRT_EIO;
    gsrt_buffer_fini(&text);
    return status;
}

int gsrt_replay_run(const gsrt_options *options)
{
    gsrt__replayed_run run = {.directory = options->run};
    gsrt_diag diag = {0};
    gsrt_status status = list(&run, &diag);
    for (uint32_t i = 0; i < run.trace_count && status == GSRT_OK; i++)
        status = replay_trace(&run, &run.traces[i]);
    if (status == GSRT_OK)
        status = print(&run, options);
    if (status != GSRT_OK)
        (void)fprintf(stderr, "gsrt: error: %s\n", diag.status == GSRT_OK ? gsrt_status_text(status) : diag.text);
    for (uint32_t i = 0; i < run.trace_count; i++) {
        gsrt_replay_free(run.traces[i].replay);
        free(run.traces[i].path);
    }
    free(run.traces);
    if (status == GSRT_OK && run.is_damaged)
        status = GSRT_EINPUT;
    else if (status == GSRT_OK && run.is_different)
        status = GSRT_ECONTRACT;
    return gsrt_exit_code(status);
}
