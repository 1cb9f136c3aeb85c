/* A part in the making, and the thread that makes it durable. */
#include "ckpt/snapshot_impl.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

struct gsrt_snapshot_part {
    uint64_t number;
    size_t bytes;
    gsrt_snapshot_cells cells; /* .data: the file; owned */
    /* the writer */
    pthread_t thread;
    bool has_thread;
    gsrt_snapshot_stored_fn *done;
    void *arg;
    char directory[GSRT__SNAPSHOT_PATH_BYTES], path[GSRT__SNAPSHOT_PATH_BYTES];
};

gsrt_snapshot_part *gsrt_snapshot_part_create(uint64_t number, uint32_t head_dim, uint32_t cell_count)
{
    size_t bytes = gsrt_snapshot_cells_bytes(head_dim, cell_count);
    gsrt_snapshot_part *part = calloc(1, sizeof *part);
    uint8_t *data = part == NULL || bytes == 0 ? NULL : malloc(bytes);
    if (data == NULL) {
        free(part);
        return NULL;
    }
    part->number = number;
    part->bytes = bytes;
    gsrt_snapshot_cells_begin(&part->cells, data, number, head_dim, cell_count);
    return part;
}

gsrt_snapshot_cells *gsrt_snapshot_part_cells(gsrt_snapshot_part *part)
{
    return &part->cells;
}

gsrt_span gsrt_snapshot_part_bytes(const gsrt_snapshot_part *part)
{
    return gsrt_span_of(part->cells.data, part->bytes);
}

/* ---- files ---- */

int gsrt__snapshot_sync(const char *path)
{
    int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    if (descriptor < 0)
        return errno;
    int cause = fsync(descriptor) != 0 ? errno : 0;
    (void)close(descriptor);
    return cause;
}

int gsrt__snapshot_write(const char *path, gsrt_span bytes)
{
    int cause = 0, descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (descriptor < 0)
        return errno;
    while (bytes.len > 0 && cause == 0) {
        ssize_t n = write(descriptor, bytes.data, bytes.len);
        if (n < 0 && errno != EINTR)
            cause = errno;
        size_t written = n > 0 ? (size_t)n : 0;
        bytes = gsrt_span_of(bytes.data + written, bytes.len - written);
    }
    if (cause == 0 && fsync(descriptor) != 0)
        cause = errno;
    if (close(descriptor) != 0 && cause == 0)
        cause = errno;
    return cause;
}

/* ---- the writer ---- */

static int make_directory(const char *path)
{
    return mkdir(path, 0777) == 0 || errno == EEXIST ? 0 : errno;
}

static int store(const gsrt_snapshot_part *part)
{
    char above[GSRT__SNAPSHOT_PATH_BYTES];
    (void)snprintf(above, sizeof above, "%s", part->directory);
    *strrchr(above, '/') = 0; /* of .../snapshots/N.part */
    int cause = make_directory(above);
    if (cause == 0)
        cause = make_directory(part->directory);
    if (cause == 0)
        cause = gsrt__snapshot_write(part->path, gsrt_snapshot_part_bytes(part));
    return cause == 0 ? gsrt__snapshot_sync(part->directory) : cause;
}

static void *run(void *arg)
{
    const gsrt_snapshot_part *part = arg;
    uint64_t hash = XXH3_64bits(part->cells.data, part->bytes);
    part->done(part->arg, part->number, store(part) == 0 ? GSRT_OK : GSRT_EIO, part->bytes, hash);
    return NULL;
}

gsrt_status gsrt_snapshot_part_store(gsrt_snapshot_part *part, const char *directory, uint32_t stage, uint32_t member,
                                     gsrt_snapshot_stored_fn *done, void *arg)
{
    size_t room = sizeof part->directory;
    int a = snprintf(part->directory, room, "%s/snapshots/%llu.part", directory, (unsigned long long)part->number);
    int b = snprintf(part->path, room, "%.4100s/%u-%u", part->directory, stage, member);
    if (a < 0 || a > 4100 || b < 0 || (size_t)b >= room)
        return GSRT_ELIMIT;
    part->done = done;
    part->arg = arg;
    part->has_thread = pthread_create(&part->thread, NULL, run, part) == 0;
    return part->has_thread ? GSRT_OK : GSRT_ENOMEM;
}

gsrt_snapshot_part *gsrt_snapshot_part_free(gsrt_snapshot_part *part)
{
    if (part == NULL)
        return NULL;
    if (part->has_thread)
        (void)pthread_join(part->thread, NULL);
    free(part->cells.data);
    free(part);
    return NULL;
}
