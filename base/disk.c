#include "base/disk.h"

#include "base/limits.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { DIRECTORY_MODE = 0777, FILE_MODE = 0666 };

static const char part[] = ".part";

typedef struct directory {
    gsrt_disk disk; /* first */
    int descriptor;
} directory;

static bool is_name_byte(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' ||
           c == '-';
}

bool gsrt_disk_is_name(const char *name)
{
    size_t len = strlen(name), start = 0;
    if (len > GSRT_PATH_BYTES_MAX - sizeof part)
        return false;
    for (size_t i = 0; i <= len; i++) {
        if (i < len && name[i] != '/') {
            if (!is_name_byte(name[i]))
                return false;
            continue;
        }
        size_t bytes = i - start;
        if (bytes == 0 || (bytes == 1 && name[start] == '.') || (bytes == 2 && memcmp(name + start, "..", 2) == 0))
            return false;
        start = i + 1;
    }
    return true;
}

static int descriptor_of(gsrt_disk *disk)
{
    return ((const directory *)(const void *)disk)->descriptor;
}

/* GSRT_ENOTFOUND where that is why. */
static gsrt_status failed(void)
{
    return errno == ENOENT ? GSRT_ENOTFOUND : GSRT_EIO;
}

/* The directories of `name`. */
static gsrt_status make_parents(int descriptor, const char *name)
{
    char path[GSRT_PATH_BYTES_MAX + 1];
    (void)snprintf(path, sizeof path, "%s", name);
    for (char *slash = strchr(path, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = 0;
        if (mkdirat(descriptor, path, DIRECTORY_MODE) != 0 && errno != EEXIST)
            return GSRT_EIO;
        *slash = '/';
    }
    return GSRT_OK;
}

static gsrt_status write_all(int file, gsrt_span bytes)
{
    while (bytes.len > 0) {
        ssize_t n = write(file, bytes.data, bytes.len);
        if (n < 0 && errno != EINTR)
            return GSRT_EIO;
        size_t done = n > 0 ? (size_t)n : 0;
        bytes = gsrt_span_of(bytes.data + done, bytes.len - done);
    }
    return GSRT_OK;
}

static gsrt_status put(int descriptor, const char *path, int flags, gsrt_span bytes, bool is_synced)
{
    int file = openat(descriptor, path, O_WRONLY | O_CREAT | O_CLOEXEC | flags, FILE_MODE);
    if (file < 0)
        return GSRT_EIO;
    gsrt_status status = write_all(file, bytes);
    if (status == GSRT_OK && is_synced && fdatasync(file) != 0)
        status = GSRT_EIO;
    if (close(file) != 0)
        status = GSRT_EIO;
    return status;
}

/* Synced before the rename, or a power cut could leave the new name with nothing in it. */
static gsrt_status directory_write(gsrt_disk *disk, const char *name, gsrt_span bytes)
{
    char path[GSRT_PATH_BYTES_MAX + 1];
    int descriptor = descriptor_of(disk);
    if (!gsrt_disk_is_name(name))
        return GSRT_EINVAL;
    (void)snprintf(path, sizeof path, "%s%s", name, part);
    gsrt_status status = make_parents(descriptor, name);
    if (status == GSRT_OK)
        status = put(descriptor, path, O_TRUNC, bytes, true);
    if (status == GSRT_OK && renameat(descriptor, path, descriptor, name) != 0)
        status = GSRT_EIO;
    if (status == GSRT_OK)
        return GSRT_OK;
    int cause = errno;
    (void)unlinkat(descriptor, path, 0);
    errno = cause;
    return status;
}

static gsrt_status directory_append(gsrt_disk *disk, const char *name, gsrt_span bytes)
{
    int descriptor = descriptor_of(disk);
    if (!gsrt_disk_is_name(name))
        return GSRT_EINVAL;
    gsrt_status status = make_parents(descriptor, name);
    return status == GSRT_OK ? put(descriptor, name, O_APPEND, bytes, false) : status;
}

static gsrt_status sync_one(int descriptor, const char *path, int flags)
{
    int file = openat(descriptor, path, O_RDONLY | O_CLOEXEC | flags);
    if (file < 0)
        return failed();
    gsrt_status status = fsync(file) == 0 ? GSRT_OK : GSRT_EIO;
    (void)close(file);
    return status;
}

/* The file, and the directories that lead to it. */
static gsrt_status directory_sync(gsrt_disk *disk, const char *name)
{
    char path[GSRT_PATH_BYTES_MAX + 1];
    int descriptor = descriptor_of(disk);
    if (!gsrt_disk_is_name(name))
        return GSRT_EINVAL;
    gsrt_status status = sync_one(descriptor, name, 0);
    (void)snprintf(path, sizeof path, "%s", name);
    for (char *slash = strrchr(path, '/'); status == GSRT_OK && slash != NULL; slash = strrchr(path, '/')) {
        *slash = 0;
        status = sync_one(descriptor, path, O_DIRECTORY);
    }
    return status == GSRT_OK ? sync_one(descriptor, ".", O_DIRECTORY) : status;
}

static gsrt_status read_all(int file, gsrt_buffer *out)
{
    enum { PIECE_BYTES = 64 * 1024 };
    for (;;) {
        uint8_t piece[PIECE_BYTES];
        ssize_t n = read(file, piece, sizeof piece);
        if (n == 0)
            return GSRT_OK;
        if (n < 0 && errno != EINTR)
            return GSRT_EIO;
        gsrt_status status = n > 0 ? gsrt_buffer_append(out, piece, (size_t)n) : GSRT_OK;
        if (status != GSRT_OK)
            return status;
    }
}

static gsrt_status directory_read(gsrt_disk *disk, const char *name, gsrt_buffer *out)
{
    if (!gsrt_disk_is_name(name))
        return GSRT_EINVAL;
    int file = openat(descriptor_of(disk), name, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return failed();
    size_t before = out->len;
    gsrt_status status = read_all(file, out);
    if (status != GSRT_OK)
        out->len = before;
    (void)close(file);
    return status;
}

static gsrt_status directory_remove(gsrt_disk *disk, const char *name)
{
    if (!gsrt_disk_is_name(name))
        return GSRT_EINVAL;
    return unlinkat(descriptor_of(disk), name, 0) == 0 ? GSRT_OK : failed();
}

static const gsrt_disk_ops directory_ops = {.write = directory_write,
                                            .append = directory_append,
                                            .sync = directory_sync,
                                            .read = directory_read,
                                            .remove = directory_remove};

gsrt_status gsrt_disk_open(const char *path, gsrt_disk **out, gsrt_diag *diag)
{
    directory *self = malloc(sizeof *self);
    if (self == NULL)
        return GSRT_ENOMEM;
    *self = (directory){.disk.ops = &directory_ops, .descriptor = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
    if (self->descriptor < 0) {
        int cause = errno;
        free(self);
        return gsrt_diag_set(diag, GSRT_EINPUT, path, NULL, "the directory cannot be opened: %s", strerror(cause));
    }
    *out = &self->disk;
    return GSRT_OK;
}

gsrt_disk *gsrt_disk_close(gsrt_disk *disk)
{
    if (disk == NULL)
        return NULL;
    (void)close(descriptor_of(disk));
    free(disk);
    return NULL;
}
