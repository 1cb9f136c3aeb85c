#include "backends/pages.h"

#include <stdlib.h>
#include <sys/mman.h>

enum {
    HUGE_BYTES = 2 << 20,
    LARGE_BYTES = 512 << 10, /* from here on the rest of a huge page is worth its speed */
};

static size_t round_up(size_t bytes, size_t unit)
{
    return (bytes + unit - 1) / unit * unit;
}

/* At a huge page's boundary, so that it can have huge pages throughout. */
static uint8_t *map_huge(size_t bytes)
{
    uint8_t *at = mmap(NULL, bytes + HUGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED)
        return NULL;
    size_t skip = (HUGE_BYTES - (uintptr_t)at % HUGE_BYTES) % HUGE_BYTES;
    if (skip > 0)
        munmap(at, skip);
    if (HUGE_BYTES - skip > 0)
        munmap(at + skip + bytes, HUGE_BYTES - skip);
    (void)madvise(at + skip, bytes, MADV_HUGEPAGE); /* a wish: without it only the speed differs */
    return at + skip;
}

uint8_t *gsrt__pages_create(size_t bytes)
{
    if (bytes > SIZE_MAX / 2)
        return NULL;
    if (bytes >= LARGE_BYTES)
        return map_huge(round_up(bytes, HUGE_BYTES));
    return aligned_alloc(64, bytes == 0 ? 64 : round_up(bytes, 64));
}

void gsrt__pages_free(uint8_t *data, size_t bytes)
{
    if (data != NULL && bytes >= LARGE_BYTES)
        munmap(data, round_up(bytes, HUGE_BYTES));
    else
        free(data);
}
