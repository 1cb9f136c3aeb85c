#include "base/random.h"

static void round_once(uint32_t x[4], const uint32_t key[2])
{
    uint64_t a = (uint64_t)0xD2511F53u * x[0];
    uint64_t b = (uint64_t)0xCD9E8D57u * x[2];
    uint32_t next[4] = {(uint32_t)(b >> 32) ^ x[1] ^ key[0], (uint32_t)b, (uint32_t)(a >> 32) ^ x[3] ^ key[1],
                        (uint32_t)a};
    for (int i = 0; i < 4; i++)
        x[i] = next[i];
}

void gsrt_random_block(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4])
{
    uint32_t x[4] = {counter[0], counter[1], counter[2], counter[3]};
    uint32_t k[2] = {key[0], key[1]};
    for (int i = 0; i < 10; i++) {
        round_once(x, k);
        k[0] += 0x9E3779B9u;
        k[1] += 0xBB67AE85u;
    }
    for (int i = 0; i < 4; i++)
        out[i] = x[i];
}

uint64_t gsrt_random_u64(uint64_t seed, uint64_t stream, uint64_t counter)
{
    uint32_t out[4];
    uint32_t block[4] = {(uint32_t)counter, (uint32_t)(counter >> 32), (uint32_t)stream, (uint32_t)(stream >> 32)};
    uint32_t key[2] = {(uint32_t)seed, (uint32_t)(seed >> 32)};
    gsrt_random_block(block, key, out);
    return (uint64_t)out[1] << 32 | out[0];
}

float gsrt_random_f32(uint64_t seed, uint64_t stream, uint64_t counter)
{
    return (float)(gsrt_random_u64(seed, stream, counter) >> 40) * 0x1p-24f;
}

double gsrt_random_f64(uint64_t seed, uint64_t stream, uint64_t counter)
{
    return (double)(gsrt_random_u64(seed, stream, counter) >> 11) * 0x1p-53;
}
