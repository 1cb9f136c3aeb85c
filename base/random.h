/* Random numbers without state: Philox4x32-10, keyed by a seed and addressed by a counter.
 * The same (seed, stream, counter) gives the same number on every machine, in any order of calls. Any thread. Cost:
 * about 20 ns. Source: Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC11; known answers in the test.
 */
#ifndef GSRT_BASE_RANDOM_H
#define GSRT_BASE_RANDOM_H

#include <stdint.h>

/* The raw block: out[4] = philox4x32-10(counter[4], key[2]). */
void gsrt_random_block(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4]);

/* 64 random bits for (seed, stream, counter). */
uint64_t gsrt_random_u64(uint64_t seed, uint64_t stream, uint64_t counter);

/* Uniform in [0, 1), 24 bits, exact in float: the top 24 bits times 2^-24. */
float gsrt_random_f32(uint64_t seed, uint64_t stream, uint64_t counter);

/* Uniform in [0, 1), 53 bits. */
double gsrt_random_f64(uint64_t seed, uint64_t stream, uint64_t counter);

#endif
