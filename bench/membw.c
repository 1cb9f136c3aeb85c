/* membw [MIB [PASSES]]: read bandwidth of the memory with 1 and 2 threads, median and best of some passes. */
#include "backends/memory_probe.h"
#include "bench/measure.h"

#include <stdio.h>
#include <stdlib.h>

enum { MIB_DEFAULT = 1536, PASSES_DEFAULT = 9, PASSES_MAX = 101 };

int main(int argc, char **argv)
{
    long mib = argc > 1 ? strtol(argv[1], NULL, 10) : MIB_DEFAULT;
    long passes = argc > 2 ? strtol(argv[2], NULL, 10) : PASSES_DEFAULT;
    if (argc > 3 || mib < 1 || mib > 1 << 20 || passes < 1 || passes > PASSES_MAX) {
        fprintf(stderr, "usage: membw [MIB [PASSES]], 1 to %d passes\n", PASSES_MAX);
        return 1;
    }
    gsrt_memory_probe *membw = gsrt_memory_probe_create((size_t)mib << 20, GSRT_MEMORY_ANYWHERE);
    if (membw == NULL) {
        fprintf(stderr, "membw: no memory for %ld MiB; name less\n", mib);
        return 2;
    }
    for (unsigned threads = 1; threads <= 2; threads++) {
        double rates[PASSES_MAX], best = 0;
        for (long i = 0; i < passes; i++) {
            rates[i] = gsrt_memory_probe_run(membw, 0, threads) * 1e-9;
            best = rates[i] > best ? rates[i] : best;
        }
        char name[64], note[128];
        snprintf(name, sizeof name, "read bandwidth, %u thread%s", threads, threads == 1 ? "" : "s");
        snprintf(note, sizeof note, "%s; best %.1f; %ld MiB, %ld passes", gsrt_memory_probe_kind(), best, mib, passes);
        gsrt_record_print(&(gsrt_record){.group = "memory",
                                         .name = name,
                                         .unit = "GB/s",
                                         .value = gsrt_measure_median(rates, (size_t)passes),
                                         .note = note});
    }
    gsrt_memory_probe_free(membw);
    return 0;
}
