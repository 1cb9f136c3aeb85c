#include "mailbox/secret.h"

#include <errno.h>
#include <sys/random.h>

gsrt_status gsrt_secret_draw(void *out, size_t len)
{
    uint8_t *at = out;
    while (len > 0) {
        ssize_t n = getrandom(at, len, 0);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return GSRT_EIO;
        at += n;
        len -= (size_t)n;
    }
    return GSRT_OK;
}

static uint64_t rotate(uint64_t x, unsigned bits)
{
    return x << bits | x >> (64 - bits);
}

static void mix(uint64_t v[4], int rounds)
{
    for (int i = 0; i < rounds; i++) {
        v[0] += v[1];
        v[1] = rotate(v[1], 13) ^ v[0];
        v[0] = rotate(v[0], 32);
        v[2] += v[3];
        v[3] = rotate(v[3], 16) ^ v[2];
        v[0] += v[3];
        v[3] = rotate(v[3], 21) ^ v[0];
        v[2] += v[1];
        v[1] = rotate(v[1], 17) ^ v[2];
        v[2] = rotate(v[2], 32);
    }
}

static uint64_t read_le64(const uint8_t *bytes, size_t len)
{
    uint64_t value = 0;
    for (size_t i = 0; i < len; i++)
        value |= (uint64_t)bytes[i] << (8 * i);
    return value;
}

uint64_t gsrt_secret_prove(const gsrt_secret *secret, gsrt_span bytes)
{
    uint64_t k0 = read_le64(secret->bytes, 8), k1 = read_le64(secret->bytes + 8, 8);
    uint64_t v[4] = {k0 ^ 0x736f6d6570736575u, k1 ^ 0x646f72616e646f6du, k0 ^ 0x6c7967656e657261u,
                     k1 ^ 0x7465646279746573u};
    size_t whole = bytes.len / 8 * 8;
    for (size_t at = 0; at <= whole; at += 8) {
        uint64_t word = at < whole ? read_le64(bytes.data + at, 8)
                                   : read_le64(bytes.data + at, bytes.len - at) | (uint64_t)bytes.len << 56;
        v[3] ^= word;
        mix(v, 2);
        v[0] ^= word;
    }
    v[2] ^= 0xff;
    mix(v, 4);
    return v[0] ^ v[1] ^ v[2] ^ v[3];
}
