/* A directory of one test, and what is in it. */
#ifndef GSRT_TESTS_LAUNCH_SCRATCH_H
#define GSRT_TESTS_LAUNCH_SCRATCH_H

#include <check.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct scratch_directory {
    char path[256];
} scratch_directory;

static inline scratch_directory scratch_make(void)
{
    scratch_directory made;
    const char *room = getenv("TMPDIR");
    (void)snprintf(made.path, sizeof made.path, "%.200s/gsrt-test-XXXXXX", room == NULL ? "/tmp" : room);
    ck_assert_ptr_nonnull(mkdtemp(made.path));
    return made;
}

/* A new file for writing and reading; the caller closes it. */
static inline int scratch_open(const scratch_directory *scratch, const char *name)
{
    char path[512];
    (void)snprintf(path, sizeof path, "%s/%s", scratch->path, name);
    int descriptor = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    ck_assert_int_ge(descriptor, 0);
    return descriptor;
}

/* All bytes of a file, with a zero behind them; free them. out_len may be NULL. */
static inline char *scratch_read(const scratch_directory *scratch, const char *name, size_t *out_len)
{
    enum { BYTES_MAX = 1 << 20 };
    char path[512];
    (void)snprintf(path, sizeof path, "%s/%s", scratch->path, name);
    FILE *file = fopen(path, "rb");
    ck_assert_msg(file != NULL, "%s is not there", path);
    char *bytes = calloc(1, BYTES_MAX + 1);
    ck_assert_ptr_nonnull(bytes);
    size_t len = fread(bytes, 1, BYTES_MAX, file);
    (void)fclose(file);
    if (out_len != NULL)
        *out_len = len;
    return bytes;
}

static inline int scratch_has(const scratch_directory *scratch, const char *name)
{
    char path[512];
    struct stat facts;
    (void)snprintf(path, sizeof path, "%s/%s", scratch->path, name);
    return stat(path, &facts) == 0;
}

static inline void scratch_remove_at(const char *path)
{
    DIR *stream = opendir(path);
    for (struct dirent *entry = stream == NULL ? NULL : readdir(stream); entry != NULL; entry = readdir(stream)) {
        char below[1024];
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        (void)snprintf(below, sizeof below, "%.700s/%.255s", path, entry->d_name);
        if (entry->d_type == DT_DIR)
            scratch_remove_at(below);
        else
            (void)unlink(below);
    }
    if (stream != NULL)
        (void)closedir(stream);
    (void)rmdir(path);
}

static inline void scratch_remove(const scratch_directory *scratch)
{
    scratch_remove_at(scratch->path);
}

#endif
