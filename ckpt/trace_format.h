/* What the reader and the writer of the trace must agree on. Private to ckpt/. */
#ifndef GSRT_CKPT_TRACE_FORMAT_H
#define GSRT_CKPT_TRACE_FORMAT_H

#include "ckpt/trace.h"

#include <xxhash.h>

static const uint8_t gsrt__trace_magic[GSRT_TRACE_MAGIC_BYTES] = {'G', 'S', 'R', 'T', 'T', 0, GSRT_TRACE_VERSION, 0};

/* The seed of the first frame's checksum: from the magic, so that the version is part of the chain. */
static inline uint64_t gsrt__trace_first_seed(void)
{
    return XXH3_64bits(gsrt__trace_magic, sizeof gsrt__trace_magic);
}

static inline uint64_t gsrt__trace_checksum(gsrt_span body, uint64_t previous)
{
    return XXH3_64bits_withSeed(body.data, body.len, previous);
}

static inline uint32_t gsrt__trace_length_check(uint32_t length, uint64_t previous)
{
    return ~length ^ (uint32_t)previous;
}

/* Little-endian integers; compilers make one load or store of them. */
static inline uint64_t gsrt__trace_load(const uint8_t *bytes, size_t count)
{
    uint64_t value = 0;
    for (size_t i = count; i-- > 0;)
        value = value << 8 | bytes[i];
    return value;
}

static inline void gsrt__trace_store(uint8_t *bytes, size_t count, uint64_t value)
{
    for (size_t i = 0; i < count; i++)
        bytes[i] = (uint8_t)(value >> 8 * i);
}

#endif
