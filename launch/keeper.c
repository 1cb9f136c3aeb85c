#include "launch/keeper.h"

#include "launch/interrupt.h"
#include "launch/start_mpirun.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* The worker's end of the pipe, as a number, in the environment of the worker only. */
static const char worker_variable[] = "GSRT_WORKER";

static int64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* ---- the keeper ---- */

/* In the child: become the worker. Does not return. */
static void become_worker(char **argv, pid_t keeper, int pipe_end, const sigset_t *mask)
{
    char number[16];
    (void)snprintf(number, sizeof number, "%d", pipe_end);
    (void)sigprocmask(SIG_SETMASK, mask, NULL);
    if (prctl(PR_SET_PDEATHSIG, SIGTERM) == 0 && getppid() == keeper && setenv(worker_variable, number, 1) == 0)
        (void)execv("/proc/self/exe", argv);
    fprintf(stderr, "gsrt: cannot start the worker: %s\n", strerror(errno));
    _exit(GSRT_EXIT_WORKER_LOST);
}

/* GSRT_OK | GSRT_EIO. *out_pipe: the end whose closing tells the worker that this process has gone. */
static gsrt_status start_worker(char **argv, const sigset_t *mask, pid_t *out_worker, int *out_pipe)
{
    int ends[2];
    pid_t keeper = getpid();
    if (pipe(ends) != 0)
        return GSRT_EIO;
    (void)fcntl(ends[1], F_SETFD, FD_CLOEXEC); /* so that the worker does not hold its own pipe open */
    pid_t worker = fork();
    if (worker == 0)
        become_worker(argv, keeper, ends[0], mask);
    close(ends[0]);
    if (worker < 0) {
        close(ends[1]);
        return GSRT_EIO;
    }
    *out_worker = worker;
    *out_pipe = ends[1];
    return GSRT_OK;
}

typedef struct outcome {
    int status;     /* of waitpid */
    bool was_asked; /* a signal was passed on before */
} outcome;

/* Wait for the worker's end; pass signals on. After the first of them, patience is limited. */
static outcome await_worker(pid_t worker, const sigset_t *watched)
{
    outcome end = {0};
    int64_t deadline_ms = INT64_MAX;
    for (;;) {
        if (waitpid(worker, &end.status, WNOHANG) == worker)
            return end;
        int64_t left_ms = end.was_asked ? deadline_ms - now_ms() : INT64_MAX;
        if (left_ms <= 0) {
            (void)kill(worker, SIGKILL);
            deadline_ms = INT64_MAX;
            continue;
        }
        struct timespec wait = {.tv_sec = left_ms / 1000, .tv_nsec = left_ms % 1000 * 1000000};
        siginfo_t info;
        int got = deadline_ms == INT64_MAX ? sigwaitinfo(watched, &info) : sigtimedwait(watched, &info, &wait);
        if (got != SIGINT && got != SIGTERM && got != SIGHUP)
            continue; /* SIGCHLD, or time is up */
        if (!end.was_asked)
            deadline_ms = now_ms() + GSRT_KEEPER_GRACE_MS;
        end.was_asked = true;
        (void)kill(worker, got);
        (void)kill(worker, SIGCONT); /* a stopped one must hear it too */
    }
}

static int exit_code_of(const outcome *end)
{
    if (WIFEXITED(end->status))
        return WEXITSTATUS(end->status);
    if (end->was_asked)
        return GSRT_EXIT_INTERRUPTED;
    const char *rank = getenv("PMIX_RANK");
    fprintf(stderr, "gsrt: the worker of rank %s was killed by signal %d (%s)\n", rank == NULL ? "0" : rank,
            WTERMSIG(end->status), strsignal(WTERMSIG(end->status)));
    return GSRT_EXIT_WORKER_LOST;
}

/* One worker, once: a lost worker ends the job. This is where the next incarnation will be started. */
int gsrt_keeper_run(char **argv)
{
    sigset_t watched, mask;
    sigemptyset(&watched);
    sigaddset(&watched, SIGINT);
    sigaddset(&watched, SIGTERM);
    sigaddset(&watched, SIGHUP);
    sigaddset(&watched, SIGCHLD);
    pid_t worker;
    int pipe_end;
    /* when mpirun itself is killed, nobody else would end this job */
    if (gsrt_mpirun_is_around())
        (void)prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (sigprocmask(SIG_BLOCK, &watched, &mask) != 0 || start_worker(argv, &mask, &worker, &pipe_end) != GSRT_OK) {
        fprintf(stderr, "gsrt: cannot start a process: %s\n", strerror(errno));
        return GSRT_EXIT_WORKER_LOST;
    }
    outcome end = await_worker(worker, &watched);
    close(pipe_end);
    return exit_code_of(&end);
}

/* ---- the worker ---- */

bool gsrt_keeper_is_worker(void)
{
    return getenv(worker_variable) != NULL;
}

gsrt_status gsrt_keeper_attach(void)
{
    const char *number = getenv(worker_variable);
    if (number == NULL)
        return GSRT_ESTATE;
    char *end;
    errno = 0;
    long fd = strtol(number, &end, 10);
    if (errno != 0 || *end != '\0' || end == number || fd < 0 || fd > 65535)
        return GSRT_ESTATE;
    (void)unsetenv(worker_variable);
    (void)fcntl((int)fd, F_SETFD, FD_CLOEXEC);
    return gsrt_interrupt_watch((int)fd);
}
