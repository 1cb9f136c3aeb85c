#include "launch/campaign_run.h"

#include "launch/campaign_totals.h"
#include "launch/interrupt.h"

#include <errno.h>
#include <ftw.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { WORKERS_MAX = 64, SEEDS_PER_REPETITION = 50, KEPT_NAMES_MAX = 1000, LOOK_MS = 200, TREE_DEPTH = 16 };

typedef struct worker {
    pid_t pid;
    int pipe;      /* where its results come from; -1: it has done its share */
    uint64_t next; /* index of the seed that its next result is for */
} worker;

typedef struct campaign {
    const gsrt_options *options;
    gsrt_campaign_base base;
    gsrt_campaign_totals totals;
    gsrt_terminal terminal;
    gsrt_diag diag;
    FILE *nowhere;
    gsrt_terminal_options nowhere_options;
    char parent[GSRT_PATH_BYTES_MAX - 128]; /* of the run directories */
    pid_t pid;                              /* of the first process */
    worker workers[WORKERS_MAX];
    uint32_t worker_count;
    uint64_t begin_ns;
} campaign;

/* ---- directories ---- */

static int remove_one(const char *path, const struct stat *about, int type, struct FTW *at)
{
    (void)about;
    (void)type;
    (void)at;
    return remove(path);
}

static void remove_tree(const char *path)
{
    (void)nftw(path, remove_one, TREE_DEPTH, FTW_DEPTH | FTW_PHYS);
}

static void path_of(const campaign *c, uint64_t seed, const char *what, char path[GSRT_PATH_BYTES_MAX])
{
    (void)snprintf(path, GSRT_PATH_BYTES_MAX, "%s/.campaign-%ld-%" PRIu64 "%s", c->parent, (long)c->pid, seed, what);
}

static bool is_kept_anyway(const campaign *c)
{
    return c->options->seed_count == 1 && c->options->directory != NULL;
}

/* A seed that broke something keeps its directory, under the lowest name that is free. */
static void keep_tree(const campaign *c, uint64_t seed, const char *path)
{
    char name[GSRT_PATH_BYTES_MAX];
    for (int number = 1; number <= KEPT_NAMES_MAX; number++) {
        int len = snprintf(name, sizeof name, "%s/%s-seed-%" PRIu64, c->parent, c->base.name, seed);
        if (number > 1 && len > 0 && (size_t)len < sizeof name)
            (void)snprintf(name + len, sizeof name - (size_t)len, "-%d", number);
        if (rename(path, name) == 0 || (errno != EEXIST && errno != ENOTEMPTY))
            return;
    }
}

/* ---- one worker ---- */

/* Twice the same, or something depends on what it must not depend on. */
static void repeat(const campaign *c, uint64_t seed, gsrt_campaign_result *result)
{
    char path[GSRT_PATH_BYTES_MAX];
    gsrt_campaign_result again;
    path_of(c, seed, "-again", path);
    gsrt_campaign_run_seed(&c->base, seed, path, &again);
    remove_tree(path);
    result->is_repeated = true;
    if (again.digest == result->digest && again.event_count == result->event_count && again.end == result->end)
        return;
    if (result->end != GSRT_CAMPAIGN_BROKEN)
        (void)snprintf(result->why, sizeof result->why,
                       "two runs of it differ: digests %016" PRIx64 " and %016" PRIx64 ", %" PRIu64 " and %" PRIu64
                       " events",
                       result->digest, again.digest, result->event_count, again.event_count);
    result->end = GSRT_CAMPAIGN_BROKEN;
}

static void do_share(const campaign *c, uint64_t first, int pipe)
{
    _Static_assert(sizeof(gsrt_campaign_result) <= PIPE_BUF, "a result is written at once");
    for (uint64_t i = first; i < c->options->seed_count && !gsrt_interrupt_is_set(); i += c->worker_count) {
        char path[GSRT_PATH_BYTES_MAX];
        gsrt_campaign_result result;
        uint64_t seed = c->base.seed_first + i;
        path_of(c, seed, "", path);
        gsrt_campaign_run_seed(&c->base, seed, is_kept_anyway(c) ? c->options->directory : path, &result);
        if (i % SEEDS_PER_REPETITION == 0 && !gsrt_interrupt_is_set())
            repeat(c, seed, &result);
        if (gsrt_interrupt_is_set()) {
            remove_tree(path);
            return;
        }
        if (result.end == GSRT_CAMPAIGN_BROKEN && !is_kept_anyway(c))
            keep_tree(c, seed, path);
        else
            remove_tree(path);
        if (write(pipe, &result, sizeof result) != (ssize_t)sizeof result)
            return;
    }
}

static gsrt_status start_worker(campaign *c, worker *w)
{
    int ends[2];
    if (pipe(ends) != 0)
        return GSRT_EIO;
    pid_t pid = fork();
    if (pid < 0) {
        (void)close(ends[0]);
        (void)close(ends[1]);
        return GSRT_EIO;
    }
    if (pid == 0) {
        (void)close(ends[0]);
        do_share(c, w->next, ends[1]);
        _exit(0);
    }
    (void)close(ends[1]);
    w->pid = pid;
    w->pipe = ends[0];
    return GSRT_OK;
}

/* ---- the first process ---- */

static gsrt_status take_result(campaign *c, const gsrt_campaign_result *result)
{
    gsrt_status status = gsrt_campaign_totals_add(&c->totals, result);
    gsrt_terminal_progress(&c->terminal, "campaign", c->totals.seed_count, c->options->seed_count,
                           gsrt_outcome_clock_ns());
    return status;
}

/* Its pipe has ended: it has done its share, or died of the seed that it was at. */
static gsrt_status end_worker(campaign *c, worker *w)
{
    int how = 0;
    (void)close(w->pipe);
    w->pipe = -1;
    while (waitpid(w->pid, &how, 0) < 0 && errno == EINTR)
        ;
    if (w->next >= c->options->seed_count || gsrt_interrupt_is_set())
        return GSRT_OK;
    uint64_t seed = c->base.seed_first + w->next;
    gsrt_campaign_result result = {.seed = seed, .end = GSRT_CAMPAIGN_BROKEN};
    char path[GSRT_PATH_BYTES_MAX];
    (void)snprintf(result.why, sizeof result.why, "its process %s %d",
                   WIFSIGNALED(how) ? "died of signal" : "ended with",
                   WIFSIGNALED(how) ? WTERMSIG(how) : WEXITSTATUS(how));
    path_of(c, seed, "", path);
    keep_tree(c, seed, path);
    gsrt_status status = take_result(c, &result);
    w->next += c->worker_count;
    return status == GSRT_OK && w->next < c->options->seed_count ? start_worker(c, w) : status;
}

static gsrt_status read_worker(campaign *c, worker *w)
{
    gsrt_campaign_result result;
    size_t done = 0;
    while (done < sizeof result) {
        ssize_t n = read(w->pipe, (char *)&result + done, sizeof result - done);
        if (n == 0 || (n < 0 && errno != EINTR))
            return end_worker(c, w);
        done += n > 0 ? (size_t)n : 0;
    }
    w->next += c->worker_count;
    return take_result(c, &result);
}

static gsrt_status gather(campaign *c)
{
    gsrt_status status = GSRT_OK;
    while (status == GSRT_OK && !gsrt_interrupt_is_set()) {
        struct pollfd watched[WORKERS_MAX];
        uint32_t open_count = 0;
        for (uint32_t i = 0; i < c->worker_count; i++) {
            watched[i] = (struct pollfd){.fd = c->workers[i].pipe, .events = POLLIN};
            open_count += c->workers[i].pipe >= 0;
        }
        if (open_count == 0)
            return GSRT_OK;
        if (poll(watched, c->worker_count, LOOK_MS) <= 0)
            continue;
        for (uint32_t i = 0; i < c->worker_count && status == GSRT_OK; i++) {
            if (watched[i].revents != 0)
                status = read_worker(c, &c->workers[i]);
        }
    }
    return status == GSRT_OK ? GSRT_ECANCELED : status;
}

static void stop_workers(campaign *c)
{
    for (uint32_t i = 0; i < c->worker_count; i++) {
        worker *w = &c->workers[i];
        if (w->pipe < 0)
            continue;
        (void)kill(w->pid, SIGTERM);
        (void)close(w->pipe);
        while (waitpid(w->pid, NULL, 0) < 0 && errno == EINTR)
            ;
    }
}

static gsrt_status run_workers(campaign *c)
{
    cpu_set_t processors;
    int count = sched_getaffinity(0, sizeof processors, &processors) == 0 ? CPU_COUNT(&processors) : 1;
    count = count > WORKERS_MAX ? WORKERS_MAX : count;
    c->worker_count = (uint32_t)count > c->options->seed_count ? c->options->seed_count : (uint32_t)count;
    gsrt_status status = GSRT_OK;
    for (uint32_t i = 0; i < c->worker_count; i++)
        c->workers[i] = (worker){.pipe = -1, .next = i};
    for (uint32_t i = 0; i < c->worker_count && status == GSRT_OK; i++)
        status = start_worker(c, &c->workers[i]);
    if (status == GSRT_OK)
        status = gather(c);
    if (status != GSRT_OK)
        stop_workers(c);
    return status;
}

/* ---- telling ---- */

static gsrt_status tell(campaign *c)
{
    gsrt_buffer text;
    double elapsed_s = (double)(gsrt_outcome_clock_ns() - c->begin_ns) / 1e9;
    gsrt_terminal_finish(&c->terminal);
    gsrt_buffer_init(&text, GSRT_TEXT_BYTES_MAX);
    gsrt_status status = c->options->is_json
                             ? gsrt_campaign_print_json(&c->totals, &c->base, elapsed_s, &text)
                             : gsrt_campaign_print(&c->totals, &c->base, c->options->scenario, elapsed_s, &text);
    bool is_told = c->options->is_json || !c->options->is_quiet || c->totals.end_counts[GSRT_CAMPAIGN_BROKEN] > 0;
    if (status == GSRT_OK && is_told && fwrite(text.data, 1, text.len, stdout) != text.len)
        status = GSRT_EIO;
    gsrt_buffer_fini(&text);
    return status;
}

static gsrt_status prepare(campaign *c)
{
    char path[GSRT_PATH_BYTES_MAX];
    const char *parent = c->options->directory != NULL && !is_kept_anyway(c) ? c->options->directory : "runs";
    if ((size_t)snprintf(c->parent, sizeof c->parent, "%s", parent) >= sizeof c->parent)
        return gsrt_diag_set(&c->diag, GSRT_EINPUT, parent, NULL, "this name is too long");
    c->nowhere = fopen("/dev/null", "w");
    if (c->nowhere == NULL)
        return gsrt_diag_set(&c->diag, GSRT_EIO, "/dev/null", NULL, "could not be opened");
    c->nowhere_options = (gsrt_terminal_options){.out = c->nowhere, .err = c->nowhere};
    gsrt_terminal_options terminal = gsrt_terminal_options_find();
    terminal.is_quiet = c->options->is_quiet;
    terminal.unit = "seeds";
    gsrt_status status = gsrt_terminal_init(&c->terminal, &terminal, 0);
    if (status != GSRT_OK)
        return status;
    path_of(c, 0, "-plain", path);
    status = gsrt_campaign_base_init(&c->base, c->options, &c->nowhere_options, path, &c->diag);
    remove_tree(path);
    return status;
}

int gsrt_campaign_run(const gsrt_options *options)
{
    campaign *c = calloc(1, sizeof *c);
    if (c == NULL || gsrt_interrupt_install() != GSRT_OK) {
        free(c);
        return 5;
    }
    c->options = options;
    c->pid = getpid();
    c->begin_ns = gsrt_outcome_clock_ns();
    gsrt_status status = prepare(c);
    if (status == GSRT_OK)
        status = run_workers(c);
    if (status == GSRT_OK)
        status = tell(c);
    int exit_code = status != GSRT_OK ? gsrt_exit_code(status) : c->totals.end_counts[GSRT_CAMPAIGN_BROKEN] > 0 ? 5 : 0;
    if (status != GSRT_OK && status != GSRT_ECANCELED)
        (void)fprintf(stderr, "gsrt: error: %s\n", c->diag.status != GSRT_OK ? c->diag.text : gsrt_status_text(status));
    (void)rmdir(c->parent); /* where nothing was kept, nothing stays */
    gsrt_campaign_base_fini(&c->base);
    gsrt_campaign_totals_fini(&c->totals);
    gsrt_terminal_fini(&c->terminal);
    if (c->nowhere != NULL)
        (void)fclose(c->nowhere);
    free(c);
    return exit_code;
}
