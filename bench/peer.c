#include "bench/peer.h"

#include "bench/measure.h"

#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

enum { ANSWER_BYTES_MAX = 65536 };

static gsrt_status read_answer(gsrt_peer *peer, char *line, gsrt_diag *diag)
{
    if (fgets(line, ANSWER_BYTES_MAX, peer->from) == NULL)
        return gsrt_diag_set(diag, GSRT_EIO, "peer", NULL, "it ended without an answer");
    line[strcspn(line, "\n")] = '\0';
    if (strncmp(line, "error", 5) == 0)
        return gsrt_diag_set(diag, GSRT_EIO, "peer", NULL, "%.400s", line);
    return GSRT_OK;
}

/* Both pipes, child's ends first: in[0] -> child's input, out[1] -> child's output. */
static bool spawn(char *const *argv, gsrt_peer *peer)
{
    int in[2], out[2];
    if (pipe2(in, O_CLOEXEC) != 0)
        return false;
    if (pipe2(out, O_CLOEXEC) != 0) {
        close(in[0]);
        close(in[1]);
        return false;
    }
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, in[0], STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
    bool is_started = posix_spawn(&peer->pid, argv[0], &actions, NULL, argv, environ) == 0;
    posix_spawn_file_actions_destroy(&actions);
    close(in[0]);
    close(out[1]);
    if (!is_started)
        peer->pid = 0;
    peer->to = fdopen(in[1], "w");
    peer->from = fdopen(out[0], "r");
    return is_started && peer->to != NULL && peer->from != NULL;
}

gsrt_status gsrt_peer_start(char *const *argv, gsrt_peer *out, gsrt_diag *diag)
{
    gsrt_peer peer = {0};
    signal(SIGPIPE, SIG_IGN); /* a peer that died is an error, not our end */
    uint64_t begin_ns = gsrt_measure_now_ns();
    char *line = malloc(ANSWER_BYTES_MAX);
    if (line == NULL)
        return gsrt_diag_set(diag, GSRT_ENOMEM, argv[0], NULL, "no memory; free some");
    gsrt_status status = GSRT_OK;
    if (!spawn(argv, &peer))
        status = gsrt_diag_set(diag, GSRT_EIO, argv[0], NULL, "could not be started; build it with make bench");
    if (status == GSRT_OK)
        status = read_answer(&peer, line, diag);
    if (status == GSRT_OK && sscanf(line, "ready %*u %63s", peer.variant) != 1)
        status = gsrt_diag_set(diag, GSRT_EIO, argv[0], NULL, "did not say 'ready'");
    peer.start_ns = gsrt_measure_now_ns() - begin_ns;
    free(line);
    if (status == GSRT_OK)
        *out = peer;
    else
        gsrt_peer_stop(&peer);
    return status;
}

gsrt_status gsrt_peer_ask(gsrt_peer *peer, const char *verb, uint32_t number, uint64_t *values, size_t values_max,
                          size_t *out_count, gsrt_diag *diag)
{
    fprintf(peer->to, "%s %u\n", verb, number);
    fflush(peer->to);
    char *line = malloc(ANSWER_BYTES_MAX);
    if (line == NULL)
        return gsrt_diag_set(diag, GSRT_ENOMEM, "peer", NULL, "no memory; free some");
    gsrt_status status = read_answer(peer, line, diag);
    size_t count = 0;
    char *at = status == GSRT_OK ? strchr(line, ' ') : NULL;
    while (at != NULL && count < values_max) {
        values[count++] = strtoull(at, &at, 10);
        at = *at == ' ' ? at : NULL;
    }
    free(line);
    if (status == GSRT_OK && out_count != NULL)
        *out_count = count;
    return status;
}

void gsrt_peer_stop(gsrt_peer *peer)
{
    if (peer->to != NULL)
        fclose(peer->to); /* end of its input: it ends */
    if (peer->from != NULL)
        fclose(peer->from);
    if (peer->pid > 0) {
        kill(peer->pid, SIGTERM);
        waitpid(peer->pid, NULL, 0);
    }
    *peer = (gsrt_peer){0};
}
