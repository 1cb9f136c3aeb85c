/* Borrowed bytes, and the only way to cut them: checked against their length. */
#ifndef GSRT_BASE_SPAN_H
#define GSRT_BASE_SPAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef struct gsrt_span {
    const uint8_t *data; /* [len]; borrowed; may be NULL when len is 0 */
    size_t len;          /* bytes */
} gsrt_span;

static inline gsrt_span gsrt_span_of(const void *data, size_t len)
{
    return (gsrt_span){.data = (const uint8_t *)data, .len = len};
}

static inline gsrt_span gsrt_span_of_text(const char *text)
{
    return gsrt_span_of(text, strlen(text));
}

/* Cut `len` bytes at `offset` out of `from`. false, and *out untouched, when they do not lie within it. */
static inline bool gsrt_span_cut(gsrt_span from, size_t offset, size_t len, gsrt_span *out)
{
    if (offset > from.len || len > from.len - offset)
        return false;
    *out = (gsrt_span){.data = from.data == NULL ? NULL : from.data + offset, .len = len};
    return true;
}

static inline bool gsrt_span_equal(gsrt_span a, gsrt_span b)
{
    return a.len == b.len && (a.len == 0 || memcmp(a.data, b.data, a.len) == 0);
}

/* Sizes from outside are multiplied and added only by these: false on overflow, *out untouched. */
static inline bool gsrt_size_mul(size_t a, size_t b, size_t *out)
{
    size_t product;
    if (__builtin_mul_overflow(a, b, &product))
        return false;
    *out = product;
    return true;
}

static inline bool gsrt_size_add(size_t a, size_t b, size_t *out)
{
    size_t sum;
    if (__builtin_add_overflow(a, b, &sum))
        return false;
    *out = sum;
    return true;
}

#endif
