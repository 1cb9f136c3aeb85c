/* The profile device: a cpu device computes the numbers; a job is done when its simulated time, stretched by
 * time_scale, has passed. Everything about time, power and heat is simulated. A job whose CPU time was longer than that
 * is late: it is delivered at once and counted, so that it can be left out where predictions are compared.
 *
 * Simulated time runs while jobs run and, between jobs, with the clock (divided by time_scale).
 */
#include "backends/device_impl.h"
#include "backends/profile_impl.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

typedef struct profile_device {
    gsrt_device base;
    gsrt_device_options options; /* the owner's */
    gsrt_device *cpu;            /* owned; calls on_computed on its leader */
    double time_scale;
    uint64_t ended_ns; /* leader only: when the last job was delivered */

    pthread_mutex_t lock; /* guards what follows */
    gsrt_profile_state state;
    uint64_t busy_ns, late_count; /* busy: simulated */
} profile_device;

static void sleep_until(uint64_t ns)
{
    struct timespec until = {.tv_sec = (time_t)(ns / 1000000000u), .tv_nsec = (long)(ns % 1000000000u)};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) != 0)
        ;
}

/* On the cpu device's leader: the numbers are there; deliver them when their time has come. */
static void on_computed(void *arg, gsrt_job *job, gsrt_status status, uint64_t cpu_ns)
{
    profile_device *self = arg;
    uint64_t now_ns = gsrt__now_ns(), start_ns = now_ns - cpu_ns;
    uint64_t idle_ns = start_ns > self->ended_ns ? start_ns - self->ended_ns : 0;
    gsrt_job_cost cost = gsrt_job_cost_of(job);

    pthread_mutex_lock(&self->lock);
    gsrt__profile_idle(&self->state, self->options.profile, (uint64_t)((double)idle_ns / self->time_scale));
    uint64_t work_ns = gsrt__profile_work(&self->state, self->options.profile, &cost, job->row_count);
    uint64_t end_ns = start_ns + (uint64_t)((double)work_ns * self->time_scale);
    self->busy_ns += work_ns;
    self->late_count += end_ns < now_ns;
    pthread_mutex_unlock(&self->lock);

    if (end_ns > now_ns)
        sleep_until(end_ns);
    self->ended_ns = end_ns > now_ns ? end_ns : now_ns;
    self->options.done(self->options.done_arg, job, status, work_ns);
}

static gsrt_device *profile_free(gsrt_device *device)
{
    profile_device *self = (profile_device *)device;
    gsrt_device_free(self->cpu);
    pthread_mutex_destroy(&self->lock);
    free(self);
    return NULL;
}

static gsrt_status profile_submit(gsrt_device *device, gsrt_job *job)
{
    return gsrt_device_submit(((profile_device *)device)->cpu, job);
}

static gsrt_status profile_pack(gsrt_device *device, gsrt_matrix *matrix)
{
    return gsrt_device_pack(((profile_device *)device)->cpu, matrix);
}

static void profile_read_facts(const gsrt_device *device, gsrt_device_facts *out)
{
    profile_device *self = (profile_device *)(uintptr_t)device; /* the lock is not part of what is read */
    gsrt_device_facts facts;
    gsrt_device_read_facts(self->cpu, &facts);
    facts.kind = self->base.ops->kind;
    facts.name = self->options.profile->declared.name;
    facts.is_simulated = true;
    facts.memory_bytes_max = (uint64_t)self->options.profile->declared.memory_bytes.value;
    pthread_mutex_lock(&self->lock);
    facts.busy_ns = self->busy_ns;
    facts.late_count = self->late_count;
    facts.energy_j = self->state.energy_j;
    facts.temperature_c = self->state.temperature_c;
    facts.throttled_ns = self->state.throttled_ns;
    pthread_mutex_unlock(&self->lock);
    *out = facts;
}

gsrt_status gsrt_device_create_profile(const gsrt_device_options *options, gsrt_device **out, gsrt_diag *diag)
{
    static const gsrt_device_ops ops = {
        .kind = "profile",
        .free = profile_free,
        .submit = profile_submit,
        .pack = profile_pack,
        .read_facts = profile_read_facts,
    };
    if (options->profile == NULL)
        return gsrt_diag_set(diag, GSRT_EINVAL, NULL, "device", "a profile device needs a profile");
    profile_device *self = calloc(1, sizeof *self);
    if (self == NULL)
        return gsrt_diag_set(diag, GSRT_ENOMEM, NULL, "device", "out of memory");
    self->base.ops = &ops;
    self->options = *options;
    self->time_scale = options->time_scale > 0.0 ? options->time_scale : 1.0;
    self->ended_ns = gsrt__now_ns();
    pthread_mutex_init(&self->lock, NULL);
    gsrt__profile_state_init(&self->state, options->profile, options->profile_seed);
    gsrt_device_options inner = *options;
    inner.profile = NULL;
    inner.done = on_computed;
    inner.done_arg = self;
    gsrt_status status = gsrt_device_create_cpu(&inner, &self->cpu, diag);
    if (status != GSRT_OK) {
        profile_free(&self->base);
        return status;
    }
    *out = &self->base;
    return GSRT_OK;
}
