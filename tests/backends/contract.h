/* The contract of a table of kernels: every op equals the oracle, bit by bit. Instantiated by instruction set. */
#ifndef GSRT_TESTS_BACKENDS_CONTRACT_H
#define GSRT_TESTS_BACKENDS_CONTRACT_H

#include "backends/kernels.h"

/* Run all of it as a libcheck suite named after `name`; returns the number of failed checks. `effort` 1 is everything,
 * larger numbers skip shapes (an emulated instruction set is slow). */
int contract_run(const char *name, const gsrt_kernels *kernels, unsigned effort);

#endif
