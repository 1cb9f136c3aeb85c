#include "ckpt/snapshot.h"

#include "base/limits.h"
#include "ckpt/snapshot_impl.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

enum { PATH_BYTES = GSRT__SNAPSHOT_PATH_BYTES };

/* ---- which there are ---- */

/* "12" or "12.part"; 0: neither. */
static uint64_t number_of(const char *name, bool *out_is_committed)
{
    char *end;
    if (name[0] < '1' || name[0] > '9')
        return 0;
    errno = 0;
    unsigned long long number = strtoull(name, &end, 10);
    *out_is_committed = *end == 0;
    return errno == 0 && (*end == 0 || strcmp(end, ".part") == 0) ? number : 0;
}

static void each(const char *directory, void (*visit)(void *arg, uint64_t number, bool is_committed), void *arg)
{
    char path[PATH_BYTES];
    (void)snprintf(path, sizeof path, "%.4090s/snapshots", directory);
    DIR *stream = opendir(path);
    for (struct dirent *entry = stream == NULL ? NULL : readdir(stream); entry != NULL; entry = readdir(stream)) {
        bool is_committed;
        uint64_t number = number_of(entry->d_name, &is_committed);
        if (number != 0)
            visit(arg, number, is_committed);
    }
    if (stream != NULL)
        (void)closedir(stream);
}

static void take_highest(void *arg, uint64_t number, bool is_committed)
{
    uint64_t *highest = arg;
    (void)is_committed;
    *highest = number > *highest ? number : *highest;
}

uint64_t gsrt_snapshot_next_number(const char *directory)
{
    uint64_t highest = 0;
    each(directory, take_highest, &highest);
    return highest + 1;
}

typedef struct below {
    uint64_t limit, found; /* the highest committed one below the limit */
} below;

static void take_below(void *arg, uint64_t number, bool is_committed)
{
    below *b = arg;
    if (is_committed && number < b->limit && number > b->found)
        b->found = number;
}

static uint64_t committed_below(const char *directory, uint64_t limit)
{
    below b = {.limit = limit};
    each(directory, take_below, &b);
    return b.found;
}

/* ---- commit ---- */

static void remove_all(const char *path)
{
    DIR *stream = opendir(path);
    for (struct dirent *entry = stream == NULL ? NULL : readdir(stream); entry != NULL; entry = readdir(stream)) {
        if (entry->d_name[0] != '.')
            (void)unlinkat(dirfd(stream), entry->d_name, 0);
    }
    if (stream != NULL)
        (void)closedir(stream);
    (void)rmdir(path);
}

typedef struct cleaning {
    const char *directory;
    uint64_t newest, kept;
} cleaning;

static void clean(void *arg, uint64_t number, bool is_committed)
{
    const cleaning *c = arg;
    char path[PATH_BYTES];
    if (number >= c->newest || (is_committed && number == c->kept))
        return;
    (void)snprintf(path, sizeof path, "%.4090s/snapshots/%" PRIu64 "%s", c->directory, number,
                   is_committed ? "" : ".part");
    /* a committed one first loses its name: one that is half removed must not be found */
    if (is_committed) {
        char away[PATH_BYTES];
        (void)snprintf(away, sizeof away, "%.4090s/snapshots/%" PRIu64 ".part", c->directory, number);
        if (rename(path, away) == 0)
            remove_all(away);
        return;
    }
    remove_all(path);
}

gsrt_status gsrt_snapshot_commit(const char *directory, const gsrt_snapshot_manifest *manifest, gsrt_diag *diag)
{
    char above[PATH_BYTES], from[PATH_BYTES], to[PATH_BYTES], path[PATH_BYTES];
    gsrt_buffer bytes;
    (void)snprintf(above, sizeof above, "%.4090s/snapshots", directory);
    (void)snprintf(to, sizeof to, "%.4110s/%" PRIu64, above, manifest->number);
    (void)snprintf(from, sizeof from, "%.4150s.part", to);
    (void)snprintf(path, sizeof path, "%.4160s/manifest", from);
    gsrt_buffer_init(&bytes, SIZE_MAX / 2);
    gsrt_status status = gsrt_snapshot_manifest_write(manifest, &bytes);
    int cause = status == GSRT_OK ? gsrt__snapshot_write(path, gsrt_buffer_span(&bytes)) : 0;
    gsrt_buffer_fini(&bytes);
    if (status != GSRT_OK)
        return status;
    if (cause == 0)
        cause = gsrt__snapshot_sync(from);
    if (cause == 0 && rename(from, to) != 0)
        cause = errno;
    if (cause == 0)
        cause = gsrt__snapshot_sync(above);
    if (cause != 0)
        return gsrt_diag_set(diag, GSRT_EIO, to, NULL, "the snapshot cannot be committed: %s", strerror(cause));
    cleaning c = {
        .directory = directory, .newest = manifest->number, .kept = committed_below(directory, manifest->number)};
    each(directory, clean, &c);
    return GSRT_OK;
}

/* ---- reading ---- */

typedef struct mapping {
    void *data;
    size_t bytes;
    gsrt_snapshot_view view;
} mapping;

struct gsrt_snapshot {
    gsrt_snapshot_manifest manifest; /* borrows from `manifest_map` */
    mapping manifest_map;
    mapping *parts; /* [manifest.file_count] */
};

static gsrt_status map(const char *path, mapping *out, gsrt_diag *diag)
{
    struct stat facts;
    int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (descriptor < 0)
        return gsrt_diag_set(diag, GSRT_EINPUT, path, NULL, "cannot be opened: %s", strerror(errno));
    gsrt_status status = GSRT_OK;
    if (fstat(descriptor, &facts) != 0 || !S_ISREG(facts.st_mode) || facts.st_size <= 0)
        status = gsrt_diag_set(diag, GSRT_EINPUT, path, NULL, "it is empty, or no file");
    size_t bytes = status == GSRT_OK ? (size_t)facts.st_size : 0;
    void *data = status == GSRT_OK ? mmap(NULL, bytes, PROT_READ, MAP_PRIVATE, descriptor, 0) : MAP_FAILED;
    (void)close(descriptor);
    if (status == GSRT_OK && data == MAP_FAILED)
        return gsrt_diag_set(diag, GSRT_EINPUT, path, NULL, "cannot be read: %s", strerror(errno));
    if (status == GSRT_OK)
        *out = (mapping){.data = data, .bytes = bytes};
    return status;
}

static void unmap(mapping *m)
{
    if (m->data != NULL)
        (void)munmap(m->data, m->bytes);
    m->data = NULL;
}

gsrt_snapshot *gsrt_snapshot_free(gsrt_snapshot *snapshot)
{
    if (snapshot == NULL)
        return NULL;
    for (uint32_t i = 0; snapshot->parts != NULL && i < snapshot->manifest.file_count; i++)
        unmap(&snapshot->parts[i]);
    unmap(&snapshot->manifest_map);
    free(snapshot->parts);
    free(snapshot);
    return NULL;
}

static gsrt_status open_part(gsrt_snapshot *s, const char *path, uint32_t i, bool is_checked, gsrt_diag *diag)
{
    const gsrt_snapshot_file *file = &s->manifest.files[i];
    mapping *m = &s->parts[i];
    gsrt_status status = map(path, m, diag);
    if (status != GSRT_OK)
        return status;
    if (m->bytes != file->bytes)
        return gsrt_diag_set(diag, GSRT_EINPUT, path, NULL, "it has %zu bytes, and should have %" PRIu64, m->bytes,
                             file->bytes);
    if (is_checked && XXH3_64bits(m->data, m->bytes) != file->hash)
        return gsrt_diag_set(diag, GSRT_EINPUT, path, NULL, "its checksum is wrong");
    status = gsrt_snapshot_view_read(gsrt_span_of(m->data, m->bytes), path, &m->view, diag);
    if (status == GSRT_OK && (m->view.number != s->manifest.number || m->view.head_dim != s->manifest.shape.head_dim))
        status = gsrt_diag_set(diag, GSRT_EINPUT, path, NULL, "it belongs to another snapshot");
    return status;
}

/* Every cell of every request is there; since a part has none twice, the sum says whether two parts share one. */
static gsrt_status check_cells(const gsrt_snapshot *s, const char *path, gsrt_diag *diag)
{
    const gsrt_snapshot_manifest *m = &s->manifest;
    uint64_t wanted = 0, found = 0;
    const float *k, *v;
    for (uint32_t i = 0; i < m->file_count; i++)
        found += s->parts[i].view.cell_count;
    for (uint32_t i = 0; i < m->request_count; i++)
        wanted += (uint64_t)m->requests[i].block_count * m->shape.layer_count * m->shape.kv_head_count;
    if (found != wanted)
        return gsrt_diag_set(diag, GSRT_EINPUT, path, NULL,
                             "its parts hold %" PRIu64 " cells, and should hold %" PRIu64, found, wanted);
    for (uint32_t i = 0; i < m->request_count; i++) {
        gsrt_snapshot_cell cell = {.request = m->requests[i].request};
        for (cell.layer = 0; cell.layer < m->shape.layer_count; cell.layer++)
            for (cell.head = 0; cell.head < m->shape.kv_head_count; cell.head++)
                for (cell.block = 0; cell.block < m->requests[i].block_count; cell.block++)
                    if (!gsrt_snapshot_get(s, &cell, &k, &v))
                        return gsrt_diag_set(diag, GSRT_EINPUT, path, NULL,
                                             "request %u, layer %u, head %u, block %u is missing", cell.request,
                                             cell.layer, cell.head, cell.block);
    }
    return GSRT_OK;
}

static gsrt_status open_all(gsrt_snapshot *s, const char *directory, uint64_t number, bool is_checked, gsrt_diag *diag)
{
    char above[PATH_BYTES], path[PATH_BYTES];
    (void)snprintf(above, sizeof above, "%.4090s/snapshots/%" PRIu64, directory, number);
    (void)snprintf(path, sizeof path, "%.4150s/manifest", above);
    gsrt_status status = map(path, &s->manifest_map, diag);
    if (status == GSRT_OK)
        status = gsrt_snapshot_manifest_read(gsrt_span_of(s->manifest_map.data, s->manifest_map.bytes), path,
                                             &s->manifest, diag);
    if (status == GSRT_OK && s->manifest.number != number)
        status = gsrt_diag_set(diag, GSRT_EINPUT, path, NULL, "it belongs to another snapshot");
    if (status != GSRT_OK) {
        s->manifest.file_count = 0;
        return status;
    }
    s->parts = calloc(s->manifest.file_count + 1, sizeof *s->parts);
    if (s->parts == NULL)
        return GSRT_ENOMEM;
    for (uint32_t i = 0; i < s->manifest.file_count && status == GSRT_OK; i++) {
        (void)snprintf(path, sizeof path, "%.4150s/%u-%u", above, s->manifest.files[i].stage,
                       s->manifest.files[i].member);
        status = open_part(s, path, i, is_checked, diag);
    }
    return status == GSRT_OK && is_checked ? check_cells(s, above, diag) : status;
}

gsrt_status gsrt_snapshot_open(const char *directory, uint64_t number, bool is_checked, gsrt_snapshot **out,
                               gsrt_diag *diag)
{
    gsrt_snapshot *snapshot = calloc(1, sizeof *snapshot);
    if (snapshot == NULL)
        return GSRT_ENOMEM;
    gsrt_status status = open_all(snapshot, directory, number, is_checked, diag);
    if (status == GSRT_OK)
        *out = snapshot;
    else
        gsrt_snapshot_free(snapshot);
    return status;
}

gsrt_status gsrt_snapshot_find(const char *directory, const gsrt_snapshot_shape *shape,
                               void (*refused)(void *arg, uint64_t number, const char *why), void *arg,
                               gsrt_snapshot **out)
{
    gsrt_snapshot *snapshot = NULL;
    for (uint64_t number = committed_below(directory, UINT64_MAX); number != 0 && snapshot == NULL;
         number = committed_below(directory, number)) {
        gsrt_diag diag = {0};
        gsrt_status status = gsrt_snapshot_open(directory, number, true, &snapshot, &diag);
        if (status == GSRT_ENOMEM)
            return status;
        if (status == GSRT_OK && memcmp(&snapshot->manifest.shape, shape, sizeof *shape) != 0) {
            snapshot = gsrt_snapshot_free(snapshot);
            (void)gsrt_diag_set(&diag, GSRT_EINPUT, NULL, NULL, "it is another model's");
        }
        if (snapshot == NULL)
            refused(arg, number, diag.text);
    }
    *out = snapshot;
    return GSRT_OK;
}

const gsrt_snapshot_manifest *gsrt_snapshot_manifest_of(const gsrt_snapshot *snapshot)
{
    return &snapshot->manifest;
}

uint32_t gsrt_snapshot_blocks(const gsrt_snapshot *snapshot, uint32_t request)
{
    for (uint32_t i = 0; i < snapshot->manifest.request_count; i++) {
        if (snapshot->manifest.requests[i].request == request)
            return snapshot->manifest.requests[i].block_count;
    }
    return 0;
}

bool gsrt_snapshot_get(const gsrt_snapshot *snapshot, const gsrt_snapshot_cell *cell, const float **out_k,
                       const float **out_v)
{
    size_t floats = (size_t)GSRT_KV_BLOCK_POSITIONS * snapshot->manifest.shape.head_dim;
    for (uint32_t i = 0; i < snapshot->manifest.file_count; i++) {
        const gsrt_snapshot_view *view = &snapshot->parts[i].view;
        uint32_t low = 0, high = view->cell_count;
        while (low < high) {
            uint32_t middle = low + (high - low) / 2;
            if (gsrt__snapshot_compare(&view->cells[middle], cell) < 0)
                low = middle + 1;
            else
                high = middle;
        }
        if (low == view->cell_count || gsrt__snapshot_compare(&view->cells[low], cell) != 0)
            continue;
        *out_k = view->floats + low * 2 * floats;
        *out_v = *out_k + floats;
        return true;
    }
    return false;
}
