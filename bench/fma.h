/* The peak of fused multiply-add of this core: the limit that products of matrices are held against. */
#ifndef GSRT_BENCH_FMA_H
#define GSRT_BENCH_FMA_H

/* Fused multiply-adds of binary32 per second of one core, in the widest registers that it has. About 10 ms; pins
 * nothing. */
double gsrt_fma_peak(void);

#endif
