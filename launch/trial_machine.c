/* A run by ranks of this machine: gsrt-launch, which starts mpirun, as a child process. */
#include "base/limits.h"
#include "launch/interrupt.h"
#include "launch/start_mpirun.h"
#include "launch/trial.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MODE = 0777, FILE_MODE = 0666 };

extern char **environ;

/* Where a run is kept, and the files beside it while it goes on. */
typedef struct places {
    char directory[GSRT_PATH_BYTES_MAX];
    char scenario[GSRT_PATH_BYTES_MAX]; /* "DIRECTORY.yaml" */
    char output[GSRT_PATH_BYTES_MAX];   /* "DIRECTORY.log": what it shows; left where it fails */
    char program[GSRT_PATH_BYTES_MAX];  /* gsrt-launch */
} places;

static gsrt_status find_program(char *program, size_t bytes, gsrt_diag *diag)
{
    ssize_t len = readlink("/proc/self/exe", program, bytes - 1);
    if (len <= 0)
        return gsrt_diag_set(diag, GSRT_EIO, "/proc/self/exe", NULL, "cannot be read: %s", strerror(errno));
    program[len] = '\0';
    char *slash = strrchr(program, '/');
    size_t room = bytes - (size_t)(slash - program);
    if ((size_t)snprintf(slash, room, "/gsrt-launch") >= room || access(program, X_OK) != 0)
        return gsrt_diag_set(diag, GSRT_EINPUT, program, NULL,
                             "is not there to run; install it beside gsrt, or leave '--live' out");
    return GSRT_OK;
}

static gsrt_status find_places(const char *directory, places *out, gsrt_diag *diag)
{
    bool fits = (size_t)snprintf(out->directory, sizeof out->directory, "%s", directory) < sizeof out->directory;
    fits = fits && (size_t)snprintf(out->scenario, sizeof out->scenario, "%s.yaml", directory) < sizeof out->scenario;
    fits = fits && (size_t)snprintf(out->output, sizeof out->output, "%s.log", directory) < sizeof out->output;
    if (!fits)
        return gsrt_diag_set(diag, GSRT_EINPUT, directory, NULL, "this name is too long");
    return find_program(out->program, sizeof out->program, diag);
}

static gsrt_status failed(const char *path, const char *what, gsrt_diag *diag)
{
    return gsrt_diag_set(diag, GSRT_EIO, path, NULL, "cannot be %s: %s", what, strerror(errno));
}

/* The folder around `path`, and the scenario in it. */
static gsrt_status write_scenario(const gsrt_scenario *scenario, const char *path, gsrt_diag *diag)
{
    char folder[GSRT_PATH_BYTES_MAX];
    gsrt_buffer text;
    (void)snprintf(folder, sizeof folder, "%.*s", (int)(strrchr(path, '/') - path), path);
    if (mkdir(folder, MODE) != 0 && errno != EEXIST)
        return failed(folder, "created", diag);
    gsrt_buffer_init(&text, GSRT_SCENARIO_BYTES_MAX);
    gsrt_status status = gsrt_scenario_print(scenario, &text);
    FILE *file = status == GSRT_OK ? fopen(path, "wx") : NULL;
    if (status == GSRT_OK && file == NULL)
        status = failed(path, "created", diag);
    if (status == GSRT_OK && fwrite(text.data, 1, text.len, file) != text.len)
        status = failed(path, "written", diag);
    if (file != NULL && fclose(file) != 0 && status == GSRT_OK)
        status = failed(path, "written", diag);
    gsrt_buffer_fini(&text);
    return status;
}

/* Ctrl-C reaches the child by itself; a signal to this process alone does not. From a handler. */
static void pass_on(void *arg)
{
    (void)kill(*(const pid_t *)arg, SIGINT);
}

static gsrt_status await(pid_t child, int *out_code, gsrt_diag *diag)
{
    int how;
    gsrt_interrupt_on_wake(pass_on, &child);
    while (waitpid(child, &how, 0) < 0) {
        if (errno != EINTR)
            return failed("the run", "waited for", diag);
    }
    gsrt_interrupt_on_wake(NULL, NULL);
    *out_code = WIFEXITED(how) ? WEXITSTATUS(how) : 128 + WTERMSIG(how);
    return GSRT_OK;
}

static gsrt_status launch(places *at, uint32_t rank_count, int *out_code, gsrt_diag *diag)
{
    char count[16], ranks[] = "-n", quiet[] = "-q", out[] = "-o";
    (void)snprintf(count, sizeof count, "%u", rank_count);
    char *const words[] = {at->program, at->scenario, ranks, count, quiet, out, at->directory, NULL};
    posix_spawn_file_actions_t files;
    pid_t child;
    if (posix_spawn_file_actions_init(&files) != 0)
        return GSRT_ENOMEM;
    int error = posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    if (error == 0)
        error =
            posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, at->output, O_WRONLY | O_CREAT | O_EXCL, FILE_MODE);
    if (error == 0)
        error = posix_spawn_file_actions_adddup2(&files, STDOUT_FILENO, STDERR_FILENO);
    if (error == 0)
        error = posix_spawn(&child, at->program, &files, NULL, words, environ);
    (void)posix_spawn_file_actions_destroy(&files);
    if (error != 0) {
        errno = error;
        return failed(at->program, "started", diag);
    }
    return await(child, out_code, diag);
}

static gsrt_status run(const gsrt_scenario *scenario, uint32_t rank_count, places *at, gsrt_trial *out, gsrt_diag *diag)
{
    gsrt_status status = write_scenario(scenario, at->scenario, diag);
    if (status == GSRT_OK)
        status = launch(at, rank_count, &out->exit_code, diag);
    (void)unlink(at->scenario); /* the run has it as its own */
    if (status != GSRT_OK)
        return status;
    if (gsrt_interrupt_is_set() || out->exit_code == GSRT_EXIT_INTERRUPTED)
        return gsrt_diag_set(diag, GSRT_ECANCELED, at->directory, NULL,
                             "interrupted; what was rehearsed until then is left there");
    if (out->exit_code == 0)
        (void)unlink(at->output);
    (void)snprintf(out->why, sizeof out->why, "on this machine it ends with exit code %d: see %.100s", out->exit_code,
                   at->output);
    if (access(at->directory, F_OK) != 0) /* it ended before it began */
        return GSRT_OK;
    status = gsrt_trial_read_report(at->directory, &out->report, diag);
    return status == GSRT_OK || out->exit_code == 0 ? status : GSRT_OK; /* it may have failed before it had one */
}

gsrt_status gsrt_try_on_machine(const gsrt_options *options, gsrt_scenario *scenario, uint32_t rank_count,
                                const char *directory, gsrt_trial *out, gsrt_diag *diag)
{
    places at = {0};
    (void)options;
    *out = (gsrt_trial){.exit_code = 5};
    gsrt_status status = gsrt_interrupt_install();
    if (status == GSRT_OK && gsrt_mpirun_is_around())
        status = gsrt_diag_set(diag, GSRT_EINPUT, NULL, "--live", "starts mpirun itself; start gsrt without it");
    if (status == GSRT_OK)
        status = find_places(directory, &at, diag);
    if (status == GSRT_OK)
        status = run(scenario, rank_count, &at, out, diag);
    (void)gsrt_scenario_free(scenario);
    return status;
}
