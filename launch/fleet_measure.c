#include "launch/fleet_measure.h"

#include "backends/kernel_probe.h"
#include "backends/memory_probe.h"

#include <hwloc.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    PASSES = 9,
    PASSES_MAX = 128,
    LAUNCHES_A_PASS = 12, /* they are short, and one in a hundred is interrupted */
    MATRIX_WIDTH = 2048,
    ROWS = 512,
    MEMORY_BYTES_MIN = 512 << 20,
    CACHES = 4, /* at least so many times the last cache is read */
};

typedef struct measuring {
    gsrt_measuring how;
    hwloc_topology_t topology;
    gsrt_machine *machine;
    gsrt_findings *findings;
    gsrt_diag *diag;
} measuring;

/* Processing units of a set, which are neighbours in hwloc's order. */
typedef struct units {
    uint32_t first, count;
} units;

static units units_of(const measuring *m, hwloc_const_cpuset_t set)
{
    hwloc_obj_t first = hwloc_get_next_obj_inside_cpuset_by_type(m->topology, set, HWLOC_OBJ_PU, NULL);
    int count = hwloc_get_nbobjs_inside_cpuset_by_type(m->topology, set, HWLOC_OBJ_PU);
    if (first == NULL || count <= 0)
        return (units){0, 0};
    return (units){first->logical_index, count > GSRT_THREAD_COUNT_MAX ? GSRT_THREAD_COUNT_MAX : (uint32_t)count};
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The median; of many, without the outer twentieths. A pass that failed: nothing. */
static gsrt_measured spread_of(double *values, uint32_t count)
{
    qsort(values, count, sizeof *values, compare);
    if (count == 0 || values[0] <= 0)
        return (gsrt_measured){0};
    return (gsrt_measured){values[count / 2], values[count / 20], values[count - 1 - count / 20]};
}

static void note(const measuring *m, const char *what, uint32_t index, const char *why)
{
    char place[64];
    (void)snprintf(place, sizeof place, "this machine: %s%u", what, (unsigned)index);
    gsrt_findings_add(m->findings, "not_discovered", place, "could not be measured: %s", why);
}

/* ---- processors ---- */

/* The rate of one kind of work; *out_launch, where it is not NULL: seconds of a run instead. */
static gsrt_status measure_work(const measuring *m, gsrt_kernel_probe_options options, uint32_t run_count,
                                gsrt_measured *out_rate, gsrt_measured *out_seconds)
{
    double rates[PASSES_MAX], seconds[PASSES_MAX], packing;
    gsrt_kernel_probe *probe = NULL;
    gsrt_status status = gsrt_kernel_probe_create(&options, &probe, m->diag);
    if (status == GSRT_OK)
        status = gsrt_kernel_probe_pack(probe, &packing);
    if (status == GSRT_OK)
        (void)gsrt_kernel_probe_run(probe, options.row_count_max); /* touches everything */
    for (uint32_t i = 0; i < run_count && status == GSRT_OK; i++) {
        seconds[i] = gsrt_kernel_probe_run(probe, options.row_count_max);
        rates[i] = seconds[i] <= 0 ? 0 : gsrt_kernel_probe_operations(probe, options.row_count_max) / seconds[i];
    }
    if (status == GSRT_OK && out_rate != NULL)
        *out_rate = spread_of(rates, run_count);
    if (status == GSRT_OK && out_seconds != NULL)
        *out_seconds = spread_of(seconds, run_count);
    (void)gsrt_kernel_probe_free(probe);
    return status;
}

static gsrt_status measure_engine(const measuring *m, units at, gsrt_measured_engine *out)
{
    /* int8 products are how quantised weights are computed */
    static const struct {
        gsrt_dtype dtype;
        gsrt_format format;
    } products[] = {{GSRT_DTYPE_F32, GSRT_FORMAT_F32},
                    {GSRT_DTYPE_BF16, GSRT_FORMAT_BF16},
                    {GSRT_DTYPE_F16, GSRT_FORMAT_F16},
                    {GSRT_DTYPE_Q8_0, GSRT_FORMAT_I8}};
    gsrt_kernel_probe_options options = {.k = m->how.matrix_width,
                                         .output_count = m->how.matrix_width,
                                         .row_count_max = ROWS,
                                         .cpu_first = at.first,
                                         .thread_count = at.count};
    gsrt_status status = GSRT_OK;
    out->thread_count = at.count;
    for (size_t i = 0; i < sizeof products / sizeof products[0] && status == GSRT_OK; i++) {
        options.dtype = products[i].dtype;
        status = measure_work(m, options, m->how.pass_count, &out->rates[GSRT_CLASS_MATMUL][products[i].format], NULL);
    }
    options.kind = GSRT_PROBE_ELEMENTWISE;
    if (status == GSRT_OK)
        status = measure_work(m, options, m->how.pass_count, &out->rates[GSRT_CLASS_VECTOR][GSRT_FORMAT_F32], NULL);
    options = (gsrt_kernel_probe_options){.dtype = GSRT_DTYPE_F32,
                                          .k = 64,
                                          .output_count = 64 * at.count, /* something for everybody */
                                          .row_count_max = 1,
                                          .cpu_first = at.first,
                                          .thread_count = at.count};
    return status == GSRT_OK ? measure_work(m, options, m->how.pass_count * LAUNCHES_A_PASS, NULL, &out->launch)
                             : status;
}

static gsrt_status measure_engines(const measuring *m)
{
    int count = hwloc_get_nbobjs_by_type(m->topology, HWLOC_OBJ_PACKAGE);
    gsrt_status status = GSRT_OK;
    for (int i = 0; (i < count || i == 0) && i < GSRT_MACHINE_PACKAGES_MAX && status == GSRT_OK; i++) {
        hwloc_obj_t package = count <= 0 ? hwloc_get_root_obj(m->topology)
                                         : hwloc_get_obj_by_type(m->topology, HWLOC_OBJ_PACKAGE, (unsigned)i);
        units at = units_of(m, package->cpuset);
        gsrt_measured_engine *out = &m->machine->engines[i];
        (void)hwloc_set_cpubind(m->topology, package->cpuset, HWLOC_CPUBIND_THREAD);
        if (at.count > 0)
            status = measure_engine(m, at, out);
        if (status == GSRT_OK && out->rates[GSRT_CLASS_MATMUL][GSRT_FORMAT_F32].value <= 0)
            note(m, "cpu", (uint32_t)i, "a job failed, or it has no processing unit that we may use");
    }
    return status;
}

/* ---- memories ---- */

/* Far more than what caches hold, and no more than a quarter of the memory. */
static size_t bytes_to_read(const measuring *m, hwloc_obj_t memory)
{
    uint64_t caches = 0, most = memory->attr->numanode.local_memory / 4;
    int depth = hwloc_get_type_depth(m->topology, HWLOC_OBJ_L3CACHE);
    for (hwloc_obj_t at = NULL; depth >= 0 && (at = hwloc_get_next_obj_by_depth(m->topology, depth, at)) != NULL;)
        caches += at->attr->cache.size;
    uint64_t wanted = CACHES * caches > MEMORY_BYTES_MIN ? CACHES * caches : MEMORY_BYTES_MIN;
    wanted = m->how.memory_bytes > 0 ? m->how.memory_bytes : wanted;
    return (size_t)(most > 0 && wanted > most ? most : wanted);
}

static void measure_memory(const measuring *m, uint32_t index, hwloc_obj_t memory)
{
    hwloc_obj_t near = memory;
    while (near->parent != NULL && (near->cpuset == NULL || hwloc_bitmap_iszero(near->cpuset)))
        near = near->parent;
    units at = units_of(m, near->cpuset);
    gsrt_measured_memory *out = &m->machine->memories[index];
    gsrt_memory_probe *probe = at.count == 0 ? NULL : gsrt_memory_probe_create(bytes_to_read(m, memory), index);
    if (probe == NULL) {
        note(m, "numa", index, "the system gives us none of it");
        return;
    }
    double one[PASSES_MAX], all[PASSES_MAX];
    for (uint32_t i = 0; i < m->how.pass_count; i++) {
        one[i] = gsrt_memory_probe_run(probe, at.first, 1);
        all[i] = at.count == 1 ? one[i] : gsrt_memory_probe_run(probe, at.first, at.count);
    }
    (void)gsrt_memory_probe_free(probe);
    out->thread_count = at.count;
    out->one_thread = spread_of(one, m->how.pass_count);
    out->all_threads = spread_of(all, m->how.pass_count);
    if (out->all_threads.value <= 0)
        note(m, "numa", index, "threads could not be started");
}

static void measure_memories(const measuring *m)
{
    int count = hwloc_get_nbobjs_by_type(m->topology, HWLOC_OBJ_NUMANODE);
    for (int i = 0; i < count && i < GSRT_MACHINE_DOMAINS_MAX; i++)
        measure_memory(m, (uint32_t)i, hwloc_get_obj_by_type(m->topology, HWLOC_OBJ_NUMANODE, (unsigned)i));
}

/* ---- all ---- */

gsrt_status gsrt_fleet_measure(const gsrt_measuring *how, gsrt_machine *machine, gsrt_findings *findings,
                               gsrt_diag *diag)
{
    measuring m = {.how = *how, .machine = machine, .findings = findings, .diag = diag};
    m.how.pass_count = how->pass_count > 0 ? how->pass_count : PASSES;
    m.how.matrix_width = how->matrix_width > 0 ? how->matrix_width : MATRIX_WIDTH;
    if (m.how.pass_count * LAUNCHES_A_PASS > PASSES_MAX)
        return GSRT_EINVAL;
    if (hwloc_topology_init(&m.topology) != 0)
        return GSRT_ENOMEM;
    gsrt_status status = hwloc_topology_load(m.topology) == 0 ? GSRT_OK : GSRT_ENOMEM;
    hwloc_cpuset_t before = status == GSRT_OK ? hwloc_bitmap_alloc() : NULL;
    bool was_bound = before != NULL && hwloc_get_cpubind(m.topology, before, HWLOC_CPUBIND_THREAD) == 0;
    machine->pass_count = m.how.pass_count;
    if (status == GSRT_OK)
        status = measure_engines(&m);
    if (status == GSRT_OK)
        measure_memories(&m);
    if (was_bound)
        (void)hwloc_set_cpubind(m.topology, before, HWLOC_CPUBIND_THREAD);
    hwloc_bitmap_free(before);
    hwloc_topology_destroy(m.topology);
    return status;
}
