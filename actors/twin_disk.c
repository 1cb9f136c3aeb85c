#include "actors/twin_disk.h"

#include "base/random.h"

#include <stdlib.h>
#include <string.h>

/* What a file is, or was when it was last synced. */
typedef struct content {
    bool is_there;
    uint8_t *bytes; /* [len]; owned */
    size_t len;
} content;

typedef struct file {
    struct file *next; /* in the order in which they were first made */
    content now;
    content safe;      /* is_base_safe: unused; else what a death may bring back */
    size_t sure_len;   /* of now, when it survives: at least this */
    bool is_base_safe; /* the first sure_len bytes of now were synced */
    char name[];
} file;

struct gsrt_twin_disk {
    gsrt_disk disk; /* first */
    uint64_t seed;
    uint32_t rank;
    uint64_t draw_count;
    bool is_down;
    file *first;
};

static gsrt_twin_disk *self_of(gsrt_disk *disk)
{
    return (gsrt_twin_disk *)(void *)disk;
}

static void content_fini(content *c)
{
    free(c->bytes);
    *c = (content){0};
}

static file *find(gsrt_twin_disk *self, const char *name)
{
    for (file *f = self->first; f != NULL; f = f->next)
        if (strcmp(f->name, name) == 0)
            return f;
    return NULL;
}

static file *find_or_make(gsrt_twin_disk *self, const char *name)
{
    file *f = find(self, name);
    if (f != NULL)
        return f;
    size_t bytes = strlen(name) + 1;
    f = calloc(1, sizeof *f + bytes);
    if (f == NULL)
        return NULL;
    memcpy(f->name, name, bytes);
    f->is_base_safe = true; /* it is certain that it is not there */
    file **end = &self->first;
    while (*end != NULL)
        end = &(*end)->next;
    *end = f;
    return f;
}

/* `now` is about to become something else. */
static void keep_safe(file *f)
{
    if (f->is_base_safe) {
        f->safe = f->now;
        f->safe.len = f->sure_len;
    } else {
        content_fini(&f->now);
    }
    f->now = (content){0};
    f->sure_len = 0;
    f->is_base_safe = false;
}

/* What is there now stays. */
static void make_sure(file *f)
{
    content_fini(&f->safe);
    f->sure_len = f->now.len;
    f->is_base_safe = true;
}

static gsrt_status check(const gsrt_twin_disk *self, const char *name)
{
    return !gsrt_disk_is_name(name) ? GSRT_EINVAL : self->is_down ? GSRT_EIO : GSRT_OK;
}

static gsrt_status twin_write(gsrt_disk *disk, const char *name, gsrt_span bytes)
{
    gsrt_twin_disk *self = self_of(disk);
    gsrt_status status = check(self, name);
    if (status != GSRT_OK)
        return status;
    file *f = find_or_make(self, name);
    uint8_t *copy = malloc(bytes.len + 1);
    if (f == NULL || copy == NULL) {
        free(copy);
        return GSRT_ENOMEM;
    }
    if (bytes.len > 0)
        memcpy(copy, bytes.data, bytes.len);
    keep_safe(f);
    f->now = (content){.is_there = true, .bytes = copy, .len = bytes.len};
    f->sure_len = bytes.len;
    return GSRT_OK;
}

static gsrt_status twin_append(gsrt_disk *disk, const char *name, gsrt_span bytes)
{
    gsrt_twin_disk *self = self_of(disk);
    gsrt_status status = check(self, name);
    if (status != GSRT_OK)
        return status;
    file *f = find_or_make(self, name);
    if (f != NULL && !f->now.is_there && f->is_base_safe)
        keep_safe(f);
    uint8_t *grown = f == NULL ? NULL : realloc(f->now.bytes, f->now.len + bytes.len + 1);
    if (grown == NULL)
        return GSRT_ENOMEM;
    if (bytes.len > 0)
        memcpy(grown + f->now.len, bytes.data, bytes.len);
    f->now = (content){.is_there = true, .bytes = grown, .len = f->now.len + bytes.len};
    return GSRT_OK;
}

static gsrt_status twin_sync(gsrt_disk *disk, const char *name)
{
    gsrt_twin_disk *self = self_of(disk);
    gsrt_status status = check(self, name);
    if (status != GSRT_OK)
        return status;
    file *f = find(self, name);
    if (f == NULL || !f->now.is_there)
        return GSRT_ENOTFOUND;
    make_sure(f);
    for (file *other = self->first; other != NULL; other = other->next)
        if (!other->now.is_there) /* directories are synced with it: removals are certain */
            make_sure(other);
    return GSRT_OK;
}

static gsrt_status twin_read(gsrt_disk *disk, const char *name, gsrt_buffer *out)
{
    gsrt_twin_disk *self = self_of(disk);
    gsrt_status status = check(self, name);
    if (status != GSRT_OK)
        return status;
    const file *f = find(self, name);
    if (f == NULL || !f->now.is_there)
        return GSRT_ENOTFOUND;
    return gsrt_buffer_append(out, f->now.bytes, f->now.len);
}

static gsrt_status twin_remove(gsrt_disk *disk, const char *name)
{
    gsrt_twin_disk *self = self_of(disk);
    gsrt_status status = check(self, name);
    if (status != GSRT_OK)
        return status;
    file *f = find(self, name);
    if (f == NULL || !f->now.is_there)
        return GSRT_ENOTFOUND;
    keep_safe(f);
    return GSRT_OK;
}

static const gsrt_disk_ops twin_ops = {
    .write = twin_write, .append = twin_append, .sync = twin_sync, .read = twin_read, .remove = twin_remove};

gsrt_twin_disk *gsrt_twin_disk_create(uint64_t seed, uint32_t rank)
{
    gsrt_twin_disk *self = calloc(1, sizeof *self);
    if (self == NULL)
        return NULL;
    self->disk.ops = &twin_ops;
    self->seed = seed;
    self->rank = rank;
    return self;
}

gsrt_twin_disk *gsrt_twin_disk_free(gsrt_twin_disk *self)
{
    while (self != NULL && self->first != NULL) {
        file *f = self->first;
        self->first = f->next;
        content_fini(&f->now);
        content_fini(&f->safe);
        free(f);
    }
    free(self);
    return NULL;
}

gsrt_disk *gsrt_twin_disk_door(gsrt_twin_disk *self)
{
    return &self->disk;
}

/* ---- a death ---- */

static uint64_t draw(gsrt_twin_disk *self, uint64_t below)
{
    enum { STREAM = 0x6B73 }; /* 'disk': none of the network's */
    return gsrt_random_u64(self->seed, (uint64_t)STREAM << 48 | self->rank, self->draw_count++) % below;
}

static void lose(gsrt_twin_disk *self, file *f)
{
    if (!f->is_base_safe && draw(self, 2) == 0) { /* the rename, or the removal, had not happened */
        content_fini(&f->now);
        f->now = f->safe;
        f->safe = (content){0};
    } else if (f->now.len > f->sure_len) {
        f->now.len = f->sure_len + (size_t)draw(self, f->now.len - f->sure_len + 1);
    }
    make_sure(f);
}

void gsrt_twin_disk_fail(gsrt_twin_disk *self, bool is_lossy)
{
    self->is_down = true;
    for (file *f = self->first; f != NULL && is_lossy; f = f->next)
        lose(self, f);
}

void gsrt_twin_disk_mend(gsrt_twin_disk *self)
{
    self->is_down = false;
}
