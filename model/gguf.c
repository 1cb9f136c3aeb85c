#include "model/gguf_impl.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* The most that the tables and names of the largest legal header take: see the limits of keys, tensors and names. */
enum { ARENA_BYTES_MAX = 64 << 20 };

static gsrt_status create(gsrt_span bytes, const char *name, gsrt_gguf **out, gsrt_diag *diag)
{
    gsrt_gguf *gguf = calloc(1, sizeof *gguf);
    if (gguf == NULL)
        return gsrt_diag_set(diag, GSRT_ENOMEM, name, NULL, "no memory to open the file");
    gsrt_arena_init(&gguf->arena, ARENA_BYTES_MAX);
    gguf->bytes = bytes;
    gguf->name = gsrt_arena_copy_text(&gguf->arena, name, strlen(name));
    gsrt_status status = gguf->name == NULL ? gsrt_diag_set(diag, GSRT_ENOMEM, name, NULL, "no memory to open the file")
                                            : gsrt__gguf_parse(gguf, diag);
    if (status != GSRT_OK)
        gsrt_gguf_free(gguf);
    else
        *out = gguf;
    return status;
}

gsrt_status gsrt_gguf_open_span(gsrt_span bytes, const char *name, gsrt_gguf **out, gsrt_diag *diag)
{
    return create(bytes, name, out, diag);
}

static gsrt_status fail_open(const char *path, const char *what, gsrt_diag *diag)
{
    return gsrt_diag_set(diag, GSRT_EINPUT, path, NULL, "%s: %s; name a readable GGUF file", what, strerror(errno));
}

/* Map the file behind `fd`. */
static gsrt_status map(int fd, const char *path, gsrt_span *out, gsrt_diag *diag)
{
    struct stat info;
    if (fstat(fd, &info) != 0)
        return fail_open(path, "could not examine the model file", diag);
    if (S_ISDIR(info.st_mode))
        return gsrt_diag_set(diag, GSRT_EINPUT, path, NULL, "is a directory; name the GGUF file in it");
    if (!S_ISREG(info.st_mode))
        return gsrt_diag_set(diag, GSRT_EINPUT, path, NULL, "is not a regular file; name a GGUF file");
    if (info.st_size == 0)
        return gsrt_diag_set(diag, GSRT_EINPUT, path, NULL, "the file is empty; fetch or convert it again");
    void *data = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (data == MAP_FAILED)
        return fail_open(path, "could not map the model file", diag);
    *out = gsrt_span_of(data, (size_t)info.st_size);
    return GSRT_OK;
}

gsrt_status gsrt_gguf_open(const char *path, gsrt_gguf **out, gsrt_diag *diag)
{
    /* Not blocking: a FIFO without a writer must give an error, not hang. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return fail_open(path, "could not open the model file", diag);
    gsrt_span bytes;
    gsrt_status status = map(fd, path, &bytes, diag);
    (void)close(fd);
    if (status != GSRT_OK)
        return status;
    gsrt_gguf *gguf = NULL;
    status = create(bytes, path, &gguf, diag);
    if (status != GSRT_OK) {
        (void)munmap((void *)(uintptr_t)bytes.data, bytes.len);
        return status;
    }
    gguf->mapping = (void *)(uintptr_t)bytes.data;
    *out = gguf;
    return GSRT_OK;
}

gsrt_gguf *gsrt_gguf_free(gsrt_gguf *gguf)
{
    if (gguf == NULL)
        return NULL;
    if (gguf->mapping != NULL)
        (void)munmap(gguf->mapping, gguf->bytes.len);
    gsrt_arena_fini(&gguf->arena);
    free(gguf);
    return NULL;
}

const char *gsrt_gguf_name(const gsrt_gguf *gguf)
{
    return gguf->name;
}

gsrt_span gsrt_gguf_bytes(const gsrt_gguf *gguf)
{
    return gguf->bytes;
}

bool gsrt_gguf_is_mapped(const gsrt_gguf *gguf)
{
    return gguf->mapping != NULL;
}

uint32_t gsrt_gguf_version(const gsrt_gguf *gguf)
{
    return gguf->version;
}

uint32_t gsrt_gguf_key_count(const gsrt_gguf *gguf)
{
    return gguf->key_count;
}

uint32_t gsrt_gguf_tensor_count(const gsrt_gguf *gguf)
{
    return gguf->tensor_count;
}

const gsrt_gguf_tensor *gsrt_gguf_tensor_at(const gsrt_gguf *gguf, uint32_t index)
{
    return index < gguf->tensor_count ? &gguf->tensors[index] : NULL;
}

const gsrt_gguf_tensor *gsrt_gguf_tensor_find(const gsrt_gguf *gguf, const char *name)
{
    size_t low = 0, high = gguf->tensor_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = strcmp(name, gguf->by_name[middle]->name);
        if (order == 0)
            return gguf->by_name[middle];
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return NULL;
}

const gsrt__gguf_entry *gsrt__gguf_find(const gsrt_gguf *gguf, const char *key)
{
    size_t low = 0, high = gguf->key_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = strcmp(key, gguf->entries[middle].key);
        if (order == 0)
            return &gguf->entries[middle];
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return NULL;
}

bool gsrt_gguf_has(const gsrt_gguf *gguf, const char *key)
{
    return gsrt__gguf_find(gguf, key) != NULL;
}
