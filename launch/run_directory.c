#include "launch/run_directory.h"

#include "base/limits.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MODE = 0777 };

struct gsrt_run_directory {
    int descriptor;
    char path[]; /* zero-terminated */
};

/* mkdir -p for all but the last component. 0, or errno. */
static int make_parents(const char *path)
{
    char room[GSRT_PATH_BYTES_MAX + 1];
    (void)snprintf(room, sizeof room, "%s", path);
    for (char *slash = strchr(room + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = 0;
        if (mkdir(room, MODE) != 0 && errno != EEXIST)
            return errno;
        *slash = '/';
    }
    return 0;
}

/* Does the directory hold anything but "." and ".."? What cannot be read counts as something. */
static bool is_empty(const char *path)
{
    DIR *stream = opendir(path);
    if (stream == NULL)
        return false;
    bool found = false;
    for (struct dirent *entry = readdir(stream); entry != NULL && !found; entry = readdir(stream))
        found = strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
    (void)closedir(stream);
    return !found;
}

static gsrt_status open_at(const char *path, gsrt_run_directory **out, gsrt_diag *diag)
{
    size_t bytes = strlen(path) + 1;
    gsrt_run_directory *directory = malloc(sizeof *directory + bytes);
    if (directory == NULL)
        return GSRT_ENOMEM;
    memcpy(directory->path, path, bytes);
    directory->descriptor = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (directory->descriptor < 0) {
        int cause = errno;
        free(directory);
        return gsrt_diag_set(diag, GSRT_EINPUT, path, NULL, "the run directory cannot be opened: %s", strerror(cause));
    }
    *out = directory;
    return GSRT_OK;
}

static gsrt_status make_named(const char *wanted, gsrt_diag *diag)
{
    if (mkdir(wanted, MODE) == 0)
        return GSRT_OK;
    if (errno != EEXIST)
        return gsrt_diag_set(diag, GSRT_EINPUT, wanted, NULL,
                             "the run directory cannot be created: %s; choose another "
                             "with -o",
                             strerror(errno));
    struct stat facts;
    if (stat(wanted, &facts) == 0 && !S_ISDIR(facts.st_mode))
        return gsrt_diag_set(diag, GSRT_EINPUT, wanted, NULL,
                             "exists and is no directory; choose another run directory with -o");
    if (!is_empty(wanted))
        return gsrt_diag_set(
            diag, GSRT_EINPUT, wanted, NULL,
            "the run directory is not empty, and runs are not written over; choose another with -o, or "
            "remove it");
    return GSRT_OK;
}

/* mkdir decides which number is free, so that two runs started at once get two directories. */
static gsrt_status make_numbered(const char *name, char *path, size_t path_bytes, gsrt_diag *diag)
{
    for (int number = 1; number <= GSRT_RUN_NUMBER_MAX; number++) {
        (void)snprintf(path, path_bytes, "runs/%s-%d", name, number);
        if (mkdir(path, MODE) == 0)
            return GSRT_OK;
        if (errno != EEXIST)
            return gsrt_diag_set(diag, GSRT_EINPUT, path, NULL,
                                 "the run directory cannot be created: %s; choose another "
                                 "with -o",
                                 strerror(errno));
    }
    return gsrt_diag_set(diag, GSRT_EINPUT, "runs", NULL, "there are already %d runs of '%s'; remove some, or use -o",
                         GSRT_RUN_NUMBER_MAX, name);
}

static gsrt_status create_empty(const char *wanted, const char *name, gsrt_run_directory **out, gsrt_diag *diag)
{
    char path[GSRT_PATH_BYTES_MAX + 1];
    if (wanted != NULL && strlen(wanted) > GSRT_PATH_BYTES_MAX)
        return gsrt_diag_set(diag, GSRT_EINPUT, NULL, "-o", "the path is longer than %d bytes", GSRT_PATH_BYTES_MAX);
    (void)snprintf(path, sizeof path, "%s", wanted != NULL ? wanted : "runs/");
    for (size_t len = strlen(path); wanted != NULL && len > 1 && path[len - 1] == '/'; len--)
        path[len - 1] = 0;
    int cause = make_parents(path);
    if (cause != 0)
        return gsrt_diag_set(diag, GSRT_EINPUT, path, NULL,
                             "the run directory cannot be created: %s; choose another with -o", strerror(cause));
    gsrt_status status = wanted != NULL ? make_named(path, diag) : make_numbered(name, path, sizeof path, diag);
    return status == GSRT_OK ? open_at(path, out, diag) : status;
}

gsrt_status gsrt_run_directory_create_plain(const char *wanted, gsrt_run_directory **out, gsrt_diag *diag)
{
    return create_empty(wanted, NULL, out, diag);
}

gsrt_status gsrt_run_directory_create(const char *wanted, const char *name, gsrt_run_directory **out, gsrt_diag *diag)
{
    gsrt_run_directory *directory = NULL;
    gsrt_status status = create_empty(wanted, name, &directory, diag);
    static const char *const folders[] = {"trace", "incidents"};
    for (size_t i = 0; status == GSRT_OK && i < sizeof folders / sizeof folders[0]; i++) {
        if (mkdirat(directory->descriptor, folders[i], MODE) == 0)
            continue;
        status = gsrt_diag_set(diag, GSRT_EINPUT, directory->path, NULL,
                               "%s/ cannot be created: %s; choose another with -o", folders[i], strerror(errno));
        directory = gsrt_run_directory_free(directory);
    }
    if (status == GSRT_OK)
        *out = directory;
    return status;
}

gsrt_status gsrt_run_directory_open(const char *path, gsrt_run_directory **out, gsrt_diag *diag)
{
    return open_at(path, out, diag);
}

gsrt_run_directory *gsrt_run_directory_free(gsrt_run_directory *directory)
{
    if (directory == NULL)
        return NULL;
    (void)close(directory->descriptor);
    free(directory);
    return NULL;
}

const char *gsrt_run_directory_path(const gsrt_run_directory *directory)
{
    return directory->path;
}

static gsrt_status report_failure(const gsrt_run_directory *directory, const char *name, const char *what, int cause,
                                  gsrt_diag *diag)
{
    return gsrt_diag_set(diag, GSRT_EIO, name[0] == '/' ? NULL : directory->path, name, "cannot be %s: %s", what,
                         strerror(cause));
}

/* 0, or errno. */
static int write_all(int descriptor, gsrt_span bytes)
{
    while (bytes.len > 0) {
        ssize_t n = write(descriptor, bytes.data, bytes.len);
        if (n < 0 && errno != EINTR)
            return errno;
        size_t done = n > 0 ? (size_t)n : 0;
        bytes = gsrt_span_of(bytes.data + done, bytes.len - done);
    }
    return 0;
}

gsrt_status gsrt_run_directory_write(gsrt_run_directory *directory, const char *name, gsrt_span bytes, gsrt_diag *diag)
{
    char temporary[GSRT_PATH_BYTES_MAX + 1];
    int len = snprintf(temporary, sizeof temporary, "%s.part", name);
    if (len < 0 || (size_t)len >= sizeof temporary)
        return report_failure(directory, name, "written", ENAMETOOLONG, diag);
    int descriptor = openat(directory->descriptor, temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (descriptor < 0)
        return report_failure(directory, name, "written", errno, diag);
    int cause = write_all(descriptor, bytes);
    if (close(descriptor) != 0 && cause == 0)
        cause = errno;
    if (cause == 0 && renameat(directory->descriptor, temporary, directory->descriptor, name) != 0)
        cause = errno;
    if (cause == 0)
        return GSRT_OK;
    (void)unlinkat(directory->descriptor, temporary, 0);
    return report_failure(directory, name, "written", cause, diag);
}

static gsrt_status read_all(const gsrt_run_directory *directory, const char *name, int descriptor, gsrt_buffer *out,
                            gsrt_diag *diag)
{
    uint8_t room[4096];
    for (;;) {
        ssize_t n = read(descriptor, room, sizeof room);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return report_failure(directory, name, "read", errno, diag);
        if (n == 0)
            return GSRT_OK;
        gsrt_status status = gsrt_buffer_append(out, room, (size_t)n);
        if (status == GSRT_ELIMIT)
            return gsrt_diag_set(diag, GSRT_EINPUT, directory->path, name, "is larger than any such file can be");
        if (status != GSRT_OK)
            return status;
    }
}

gsrt_status gsrt_run_directory_read(gsrt_run_directory *directory, const char *name, gsrt_buffer *out, gsrt_diag *diag)
{
    int descriptor = openat(directory->descriptor, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (descriptor < 0 && errno == ENOENT)
        return GSRT_ENOTFOUND;
    if (descriptor < 0)
        return report_failure(directory, name, "opened for reading", errno, diag);
    gsrt_status status = read_all(directory, name, descriptor, out, diag);
    (void)close(descriptor);
    return status;
}

static gsrt_status open_growing(const gsrt_run_directory *directory, const char *name, int flags, int *out_descriptor,
                                gsrt_diag *diag)
{
    int descriptor = openat(directory->descriptor, name, O_RDWR | O_CLOEXEC | flags, 0666);
    if (descriptor < 0)
        return report_failure(directory, name, "opened for writing", errno, diag);
    *out_descriptor = descriptor;
    return GSRT_OK;
}

gsrt_status gsrt_run_directory_open_file(gsrt_run_directory *directory, const char *name, int *out_descriptor,
                                         gsrt_diag *diag)
{
    return open_growing(directory, name, O_CREAT | O_TRUNC, out_descriptor, diag);
}

gsrt_status gsrt_run_directory_reopen_file(gsrt_run_directory *directory, const char *name, int *out_descriptor,
                                           gsrt_diag *diag)
{
    return open_growing(directory, name, 0, out_descriptor, diag);
}

gsrt_status gsrt_run_directory_append_file(gsrt_run_directory *directory, const char *name, int *out_descriptor,
                                           gsrt_diag *diag)
{
    return open_growing(directory, name, O_CREAT | O_APPEND, out_descriptor, diag);
}
