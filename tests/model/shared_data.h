/* Where data made by others lies: $GSRT_SHARED_DATA, or ../shared/data beside the source tree. Tests that need it skip,
 * by name and with exit code 77, where it is absent. */
#ifndef GSRT_TESTS_MODEL_SHARED_DATA_H
#define GSRT_TESTS_MODEL_SHARED_DATA_H

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/span.h"

enum { SKIPPED = 77 };

static inline void shared_path(char *out, size_t size, const char *name)
{
    const char *folder = getenv("GSRT_SHARED_DATA"), *source = getenv("GSRT_SRCDIR");
    if (folder != NULL)
        (void)snprintf(out, size, "%s/%s", folder, name);
    else
        (void)snprintf(out, size, "%s/../shared/data/%s", source != NULL ? source : ".", name);
}

/* true, and a line that says so, where `name` is absent. */
static inline bool shared_is_absent(const char *test, const char *name)
{
    char path[512];
    shared_path(path, sizeof path, name);
    if (access(path, R_OK) == 0)
        return false;
    printf("SKIP %s: no %s (set GSRT_SHARED_DATA)\n", test, path);
    return true;
}

/* The whole file, owned, with a zero byte behind it; NULL data: it cannot be read. */
static inline gsrt_span read_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL)
        return gsrt_span_of(NULL, 0);
    size_t room = 1 << 16, len = 0, n;
    char *data = malloc(room);
    while (data != NULL && (n = fread(data + len, 1, room - 1 - len, file)) > 0) {
        len += n;
        if (len == room - 1)
            data = realloc(data, room *= 2);
    }
    (void)fclose(file);
    if (data != NULL)
        data[len] = 0;
    return gsrt_span_of(data, len);
}

static inline gsrt_span read_shared(const char *name)
{
    char path[512];
    shared_path(path, sizeof path, name);
    return read_file(path);
}

#endif
