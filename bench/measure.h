/* What every benchmark shares: the clock, binding to a processor, medians, and the record that a result is printed as.
 *
 * A record is one JSON line on standard output; bench/run gathers them. `ratio` is value / reference, and `wanted` says
 * what it should be ("" = no target). Any thread.
 */
#ifndef GSRT_BENCH_MEASURE_H
#define GSRT_BENCH_MEASURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Monotonic time. */
uint64_t gsrt_measure_now_ns(void);

/* Bind the calling thread to processing unit `index` mod count of those that this process was allowed at its first
 * call. false: the system refused, nothing changed. */
bool gsrt_measure_bind(unsigned index);

/* Processing units that this process was allowed. */
unsigned gsrt_measure_cpu_count(void);

/* The median of values[count], which are sorted in place; the mean of the middle two for an even count; NAN for none.
 */
double gsrt_measure_median(double *values, size_t count);

typedef struct gsrt_record {
    const char *group;   /* "decode" */
    const char *name;    /* "q8_0, 1 thread" */
    const char *unit;    /* of value and reference */
    double value;        /* ours */
    const char *against; /* what `reference` measures, in words; NULL: no reference */
    double reference;
    const char *wanted; /* ">= 1.25" or "<= 3", about the ratio; NULL: none */
    const char *note;   /* NULL: none */
} gsrt_record;

/* Print `record` as one line and flush. Strings must be plain UTF-8 without control bytes; quotes are escaped. */
void gsrt_record_print(const gsrt_record *record);

#endif
