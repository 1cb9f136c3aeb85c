/* The cpu device: a leader thread that takes jobs from a bounded queue and runs them with its pool of workers; while no
 * job waits it packs matrices, one panel at a time.
 *
 *     submit: owner thread -> queue (lock) -> gate -> leader -> done (on the leader)
 *
 * The leader waits at `gate`, whose number is raised by every submit, pack and close.
 */
#include "backends/device_impl.h"
#include "backends/pack.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

/* Matrices that wait to be packed grow by doubling; bounded by the model's tensors. */
typedef struct pack_list {
    gsrt_matrix **matrices; /* owned array of borrowed matrices */
    uint32_t first, count, capacity;
} pack_list;

typedef struct cpu_device {
    gsrt_device base;
    gsrt_device_options options;
    const gsrt_kernels *kernels;
    gsrt_pool *pool;
    gsrt_exec *exec;
    pthread_t leader;
    bool has_leader;
    char name[GSRT_PROCESSOR_NAME_MAX];
    gsrt_gate gate;

    pthread_mutex_t lock; /* guards what follows */
    gsrt_job *jobs[GSRT_DEVICE_JOBS_MAX];
    uint32_t job_first, job_count;
    pack_list packs;
    bool is_closing;
    gsrt_device_facts facts;
} cpu_device;

/* What the leader should do next. */
typedef struct next_step {
    gsrt_job *job;       /* NULL: none waits */
    gsrt_matrix *matrix; /* to pack; NULL: none waits */
    bool is_over;
} next_step;

static next_step take_next(cpu_device *self, bool is_packing_now)
{
    next_step next = {0};
    pthread_mutex_lock(&self->lock);
    if (self->job_count > 0) {
        next.job = self->jobs[self->job_first];
        self->job_first = (self->job_first + 1) % GSRT_DEVICE_JOBS_MAX;
        self->job_count--;
    } else if (self->is_closing) {
        next.is_over = true;
    } else if (!is_packing_now && self->packs.first < self->packs.count) {
        next.matrix = self->packs.matrices[self->packs.first++];
    }
    pthread_mutex_unlock(&self->lock);
    return next;
}

static void run_job(cpu_device *self, gsrt_job *job)
{
    uint64_t start_ns = gsrt__now_ns();
    gsrt_status status = gsrt__exec_run(self->exec, job);
    uint64_t work_ns = gsrt__now_ns() - start_ns;
    pthread_mutex_lock(&self->lock);
    self->facts.job_count++;
    self->facts.row_count += gsrt__job_counts_rows(job) ? job->row_count : 0;
    self->facts.busy_ns += work_ns;
    pthread_mutex_unlock(&self->lock);
    self->options.done(self->options.done_arg, job, status, work_ns);
}

static void note_packing(cpu_device *self, uint64_t ns, size_t bytes)
{
    pthread_mutex_lock(&self->lock);
    self->facts.pack_ns += ns;
    self->facts.packed_bytes += bytes;
    pthread_mutex_unlock(&self->lock);
}

/* A panel; returns true when the matrix is finished. */
static bool pack_panel(cpu_device *self, gsrt_packing *packing)
{
    size_t bytes = packing->packed->bytes;
    uint64_t start_ns = gsrt__now_ns();
    bool is_done = gsrt__packing_step(packing);
    note_packing(self, gsrt__now_ns() - start_ns, is_done ? bytes : 0);
    return is_done;
}

static void *leader_main(void *arg)
{
    cpu_device *self = arg;
    if (self->options.is_bound)
        (void)gsrt__bind_thread(self->options.cpu_first);
    (void)gsrt_mxcsr_set();
    gsrt_packing packing;
    bool is_packing = false;
    for (;;) {
        uint32_t seen = atomic_load_explicit(&self->gate.word, memory_order_acquire);
        next_step next = take_next(self, is_packing);
        if (next.job != NULL)
            run_job(self, next.job);
        else if (next.is_over)
            break;
        else if (is_packing)
            is_packing = !pack_panel(self, &packing);
        else if (next.matrix != NULL) /* out of memory: the matrix stays as it is in the file, only slower */
            is_packing = gsrt__packing_start(&packing, self->kernels, next.matrix) == GSRT_OK;
        else
            (void)gsrt__gate_wait(&self->gate, seen, self->options.spin_us);
    }
    if (is_packing)
        gsrt__packing_drop(&packing);
    return NULL;
}

static gsrt_device *cpu_free(gsrt_device *device)
{
    cpu_device *self = (cpu_device *)device;
    if (self->has_leader) {
        pthread_mutex_lock(&self->lock);
        self->is_closing = true;
        pthread_mutex_unlock(&self->lock);
        (void)gsrt__gate_add(&self->gate, 1);
        pthread_join(self->leader, NULL);
    }
    gsrt__exec_free(self->exec);
    gsrt__pool_free(self->pool);
    free(self->packs.matrices);
    pthread_mutex_destroy(&self->lock);
    free(self);
    return NULL;
}

static gsrt_status cpu_submit(gsrt_device *device, gsrt_job *job)
{
    cpu_device *self = (cpu_device *)device;
    gsrt_status status = GSRT_EFULL;
    pthread_mutex_lock(&self->lock);
    if (self->job_count < GSRT_DEVICE_JOBS_MAX) {
        self->jobs[(self->job_first + self->job_count++) % GSRT_DEVICE_JOBS_MAX] = job;
        status = GSRT_OK;
    }
    pthread_mutex_unlock(&self->lock);
    if (status == GSRT_OK)
        (void)gsrt__gate_add(&self->gate, 1);
    return status;
}

static bool list_append(pack_list *list, gsrt_matrix *matrix)
{
    if (list->count == list->capacity) {
        uint32_t capacity = list->capacity == 0 ? 64 : list->capacity * 2;
        gsrt_matrix **grown = realloc(list->matrices, capacity * sizeof *grown);
        if (grown == NULL)
            return false;
        list->matrices = grown;
        list->capacity = capacity;
    }
    list->matrices[list->count++] = matrix;
    return true;
}

static gsrt_status cpu_pack(gsrt_device *device, gsrt_matrix *matrix)
{
    cpu_device *self = (cpu_device *)device;
    if (!self->options.is_packing)
        return GSRT_OK;
    pthread_mutex_lock(&self->lock);
    bool is_listed = list_append(&self->packs, matrix);
    pthread_mutex_unlock(&self->lock);
    if (!is_listed)
        return GSRT_ENOMEM;
    (void)gsrt__gate_add(&self->gate, 1);
    return GSRT_OK;
}

static void cpu_read_facts(const gsrt_device *device, gsrt_device_facts *out)
{
    cpu_device *self = (cpu_device *)(uintptr_t)device; /* the lock is not part of what is read */
    pthread_mutex_lock(&self->lock);
    *out = self->facts;
    pthread_mutex_unlock(&self->lock);
}

gsrt_status gsrt_device_create_cpu(const gsrt_device_options *options, gsrt_device **out, gsrt_diag *diag)
{
    static const gsrt_device_ops ops = {
        .kind = "cpu",
        .free = cpu_free,
        .submit = cpu_submit,
        .pack = cpu_pack,
        .read_facts = cpu_read_facts,
    };
    uint32_t thread_count = options->thread_count == 0 ? 1 : options->thread_count;
    if (thread_count > GSRT_THREAD_COUNT_MAX)
        return gsrt_diag_set(diag, GSRT_ELIMIT, NULL, "device", "%u threads; at most %d are possible", thread_count,
                             GSRT_THREAD_COUNT_MAX);
    const gsrt_kernels *kernels = gsrt_kernels_of(options->isa);
    if (kernels == NULL)
        return gsrt_diag_set(diag, GSRT_EUNSUPPORTED, NULL, "device", "the %s kernels were not built",
                             gsrt_isa_name(options->isa));
    cpu_device *self = calloc(1, sizeof *self);
    if (self == NULL)
        return gsrt_diag_set(diag, GSRT_ENOMEM, NULL, "device", "out of memory");
    self->base.ops = &ops;
    self->options = *options;
    self->kernels = kernels;
    pthread_mutex_init(&self->lock, NULL);
    gsrt__processor_name(self->name);
    self->facts =
        (gsrt_device_facts){.kind = ops.kind, .name = self->name, .isa = options->isa, .thread_count = thread_count};
    self->pool = gsrt__pool_create(&(gsrt_pool_options){.thread_count = thread_count,
                                                        .spin_us = options->spin_us,
                                                        .is_bound = options->is_bound,
                                                        .cpu_first = options->cpu_first});
    self->exec = self->pool == NULL ? NULL : gsrt__exec_create(kernels, self->pool);
    self->has_leader = self->exec != NULL && pthread_create(&self->leader, NULL, leader_main, self) == 0;
    if (!self->has_leader) {
        cpu_free(&self->base);
        return gsrt_diag_set(diag, GSRT_ENOMEM, NULL, "device", "could not start %u compute threads", thread_count);
    }
    *out = &self->base;
    return GSRT_OK;
}
