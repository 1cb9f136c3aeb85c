#include "launch/logits_file.h"

#include "base/limits.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { NONE = -1 };

struct gsrt_logits_file {
    gsrt_run_directory *directory;
    uint32_t request_count, vocab_count;
    int descriptor; /* of request_open; NONE: nothing is open */
    uint32_t request_open;
    char name[];
};

static void name_of(const gsrt_logits_file *file, uint32_t request, char room[GSRT_PATH_BYTES_MAX + 16])
{
    size_t bytes = GSRT_PATH_BYTES_MAX + 16;
    const char *slash = strrchr(file->name, '/');
    const char *base = slash == NULL ? file->name : slash + 1;
    const char *dot = strrchr(base, '.');
    if (file->request_count == 1)
        (void)snprintf(room, bytes, "%s", file->name);
    else if (dot == NULL || dot == base)
        (void)snprintf(room, bytes, "%s-%" PRIu32, file->name, request);
    else
        (void)snprintf(room, bytes, "%.*s-%" PRIu32 "%s", (int)(dot - file->name), file->name, request, dot);
}

static void close_open(gsrt_logits_file *file)
{
    if (file->descriptor != NONE)
        (void)close(file->descriptor);
    file->descriptor = NONE;
}

static gsrt_status open_request(gsrt_logits_file *file, uint32_t request, bool is_new, gsrt_diag *diag)
{
    if (file->descriptor != NONE && file->request_open == request)
        return GSRT_OK;
    close_open(file);
    char name[GSRT_PATH_BYTES_MAX + 16];
    name_of(file, request, name);
    file->request_open = request;
    return is_new ? gsrt_run_directory_open_file(file->directory, name, &file->descriptor, diag)
                  : gsrt_run_directory_reopen_file(file->directory, name, &file->descriptor, diag);
}

gsrt_status gsrt_logits_file_open(gsrt_run_directory *directory, const char *name, bool is_new, uint32_t request_count,
                                  uint32_t vocab_count, gsrt_logits_file **out, gsrt_diag *diag)
{
    size_t bytes = strlen(name) + 1;
    gsrt_logits_file *file = malloc(sizeof *file + bytes);
    if (file == NULL)
        return GSRT_ENOMEM;
    *file = (gsrt_logits_file){
        .directory = directory, .request_count = request_count, .vocab_count = vocab_count, .descriptor = NONE};
    memcpy(file->name, name, bytes);
    gsrt_status status = GSRT_OK;
    for (uint32_t request = request_count; request > 0 && status == GSRT_OK; request--)
        status = open_request(file, request - 1, is_new, diag);
    if (status != GSRT_OK) {
        (void)gsrt_logits_file_free(file);
        return status;
    }
    *out = file;
    return GSRT_OK;
}

gsrt_status gsrt_logits_file_write(gsrt_logits_file *file, uint32_t request, uint32_t position, const float *logits,
                                   gsrt_diag *diag)
{
    if (request >= file->request_count || position >= GSRT_CONTEXT_MAX)
        return GSRT_EINVAL;
    gsrt_status status = open_request(file, request, false, diag);
    size_t row_bytes = (size_t)file->vocab_count * sizeof *logits;
    size_t done = 0;
    while (status == GSRT_OK && done < row_bytes) {
        ssize_t n = pwrite(file->descriptor, (const char *)logits + done, row_bytes - done,
                           (off_t)((uint64_t)position * row_bytes + done));
        if (n < 0 && errno != EINTR)
            status =
                gsrt_diag_set(diag, GSRT_EIO, file->name, NULL, "the logits cannot be written: %s", strerror(errno));
        done += n > 0 ? (size_t)n : 0;
    }
    return status;
}

gsrt_logits_file *gsrt_logits_file_free(gsrt_logits_file *file)
{
    if (file == NULL)
        return NULL;
    close_open(file);
    free(file);
    return NULL;
}
