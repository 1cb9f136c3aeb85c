#include "launch/keeper_impl.h"

#include "launch/interrupt.h"
#include "launch/start_mpirun.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { RESTART_MAX = 3, WINDOW_MS = 60000, HEAD_START_MS = 2, LINGER_MS = 200, GO_ON = -1 };

/* ---- starting a worker ---- */

/* In the child: become the worker. Does not return. */
static void become_worker(const gsrt__keeper *k, pid_t keeper, const int fds[4], int out)
{
    char numbers[96];
    int is_terminal = isatty(STDOUT_FILENO) == 1;
    for (int i = 0; i < 4; i++)
        if (fds[i] >= 0)
            (void)fcntl(fds[i], F_SETFD, 0);
    (void)snprintf(numbers, sizeof numbers, "%d,%d,%d,%d,%u,%u,%d", fds[0], fds[1], fds[2], fds[3], k->port,
                   k->incarnation, is_terminal);
    (void)sigprocmask(SIG_SETMASK, &k->mask, NULL);
    (void)setenv("UCX_LOG_FILE", "stderr", 0); /* read when UCX is loaded; standard output is the answer's */
    if (prctl(PR_SET_PDEATHSIG, SIGTERM) == 0 && getppid() == keeper && dup2(out, STDOUT_FILENO) >= 0 &&
        setenv(GSRT__KEEPER_VARIABLE, numbers, 1) == 0)
        (void)execv("/proc/self/exe", k->argv);
    fprintf(stderr, "gsrt: cannot start the worker: %s\n", strerror(errno));
    _exit(GSRT_EXIT_WORKER_LOST);
}

/* The ticket as a file without a name; -1: there is none, or no memory. */
static int write_ticket(const gsrt__keeper *k)
{
    int fd = k->has_ticket ? memfd_create("gsrt-ticket", MFD_CLOEXEC) : -1;
    for (size_t at = 0; fd >= 0 && at < k->ticket_bytes.len;) {
        ssize_t n = write(fd, k->ticket_bytes.data + at, k->ticket_bytes.len - at);
        if (n < 0 && errno != EINTR) {
            close(fd);
            return -1;
        }
        at += n > 0 ? (size_t)n : 0;
    }
    return fd;
}

static void close_all(const int *fds, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (fds[i] >= 0)
            close(fds[i]);
}

static int pipe_pair(int ends[2])
{
    int got[2];
    if (pipe2(got, O_CLOEXEC) != 0)
        return -1;
    ends[0] = got[1];
    ends[1] = got[0];
    return 0;
}

static int socket_pair(int ends[2])
{
    return socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends);
}

static bool open_pair(int (*make)(int ends[2]), int *out_ours, int *out_theirs)
{
    int ends[2];
    if (make(ends) != 0)
        return false;
    *out_ours = ends[0];
    *out_theirs = ends[1];
    return true;
}

static gsrt_status start_worker(gsrt__keeper *k)
{
    int theirs[4] = {-1, -1, write_ticket(k), -1}; /* pipe, channel, ticket, output */
    int ours[2] = {-1, -1};
    pid_t keeper = getpid(), worker = -1;
    if ((!k->has_ticket || theirs[2] >= 0) && open_pair(pipe_pair, &ours[0], &theirs[0]) &&
        open_pair(socket_pair, &ours[1], &theirs[1]) &&
        gsrt_output_open(&k->output, STDOUT_FILENO, &theirs[3]) == GSRT_OK)
        worker = fork();
    if (worker == 0)
        become_worker(k, keeper, (const int[]){theirs[0], theirs[1], k->worker_listener, theirs[2]}, theirs[3]);
    close_all(theirs, 4);
    if (worker < 0) {
        close_all(ours, 2);
        (void)gsrt_output_close(&k->output, 0);
        return GSRT_EIO;
    }
    k->worker = worker;
    k->pipe_end = ours[0];
    k->channel = ours[1];
    k->was_ordered = false;
    k->refused_ms = 0;
    k->continue_at_ms = UINT64_MAX;
    gsrt_channel_reader_init(&k->reader);
    return GSRT_OK;
}

/* ---- what the worker says ---- */

/* Replace the ticket that it holds, if the new one is sound and of this job, rank and incarnation. */
static gsrt_status keep_ticket(gsrt__keeper *k, gsrt_span bytes)
{
    gsrt_buffer copy;
    gsrt_ticket ticket;
    gsrt_buffer_init(&copy, GSRT_TICKET_BYTES_MAX);
    gsrt_status status = gsrt_buffer_append(&copy, bytes.data, bytes.len);
    if (status == GSRT_OK)
        status = gsrt_ticket_decode(gsrt_buffer_span(&copy), &ticket);
    if (status != GSRT_OK) {
        gsrt_buffer_fini(&copy);
        return status;
    }
    if (ticket.incarnation != k->incarnation ||
        (k->has_ticket && (ticket.rank != k->ticket.rank || ticket.rank_count != k->ticket.rank_count ||
                           memcmp(&ticket.secret, &k->secret, sizeof k->secret) != 0))) {
        gsrt_ticket_fini(&ticket);
        gsrt_buffer_fini(&copy);
        return GSRT_EDECODE;
    }
    if (k->has_ticket) {
        gsrt_ticket_fini(&k->ticket);
        gsrt_buffer_fini(&k->ticket_bytes);
    }
    k->has_ticket = true;
    k->ticket = ticket;
    k->ticket_bytes = copy;
    k->secret = ticket.secret;
    return GSRT_OK;
}

static void lose_channel(gsrt__keeper *k)
{
    close_all(&k->channel, 1);
    k->channel = -1;
}

static void hear_worker(gsrt__keeper *k)
{
    gsrt_channel_frame frame;
    gsrt_status status = GSRT_EEMPTY;
    while (k->channel >= 0 && (status = gsrt_channel_read(&k->reader, k->channel, &frame)) == GSRT_OK) {
        if (frame.type == GSRT_CHANNEL_FINISHED) {
            k->is_finished = true;
            k->finished_code = (int)(frame.value & 0xff);
        } else if (frame.type == GSRT_CHANNEL_RESTARTS && frame.value <= GSRT_KEEPER_RESTARTS_MAX) {
            k->restarts.max = k->has_own_restarts ? k->restarts.max : frame.value;
        } else if (frame.type == GSRT_CHANNEL_WINDOW) {
            k->window_ms = k->has_own_window ? k->window_ms : frame.value;
        } else if (frame.type == GSRT_CHANNEL_TICKET && keep_ticket(k, frame.ticket) == GSRT_OK) {
            k->must_say_deposited = true;
        }
    }
    if (status != GSRT_EEMPTY)
        lose_channel(k);
}

static void say_deposited(gsrt__keeper *k)
{
    uint8_t head[GSRT_CHANNEL_HEAD_BYTES];
    gsrt_channel_write_head(head, GSRT_CHANNEL_DEPOSITED, k->ticket.deposit.epoch);
    ssize_t n = k->channel < 0 ? 0 : send(k->channel, head, sizeof head, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n < 0 && errno == EAGAIN)
        return; /* it does not read: later */
    k->must_say_deposited = false;
    if (n >= 0 && n != sizeof head)
        lose_channel(k); /* cannot be taken up again in the middle */
}

/* ---- its end ---- */

static int conclude(const gsrt__keeper *k, int status)
{
    const char *rank = getenv("PMIX_RANK");
    if (k->is_finished)
        return k->finished_code;
    if (WIFSIGNALED(status))
        fprintf(stderr, "gsrt: the worker of rank %s was killed by signal %d (%s)\n", rank == NULL ? "0" : rank,
                WTERMSIG(status), strsignal(WTERMSIG(status)));
    return GSRT_EXIT_WORKER_LOST;
}

/* true: one more is within the budget, and counted. */
static bool take(const gsrt__keeper *k, gsrt__keeper_budget *budget)
{
    uint64_t now = gsrt_visit_now_ms();
    if (budget->max == 0 || k->incarnation == GSRT_INCARNATION_MAX)
        return false;
    uint64_t *oldest = &budget->taken_ms[budget->count % budget->max];
    if (budget->count >= budget->max && now - *oldest < k->window_ms)
        return false;
    *oldest = now;
    budget->count++;
    return true;
}

/* Go on with the word until all have heard it, HEAD_START_MS at most. */
static void speak(gsrt__keeper *k)
{
    static struct pollfd fds[1 + GSRT__KEEPER_GUEST_COUNT_MAX + GSRT_RANK_COUNT_MAX];
    uint64_t until_ms = gsrt_visit_now_ms() + HEAD_START_MS;
    for (gsrt__keeper_desk_work(k); k->word_count > 0; gsrt__keeper_desk_work(k)) {
        uint64_t now = gsrt_visit_now_ms();
        if (now >= until_ms)
            return;
        (void)poll(fds, gsrt__keeper_desk_poll(k, fds), (int)(until_ms - now));
    }
}

/* Say so, and start the next one. GO_ON, or the exit code of this process. */
static int on_death(gsrt__keeper *k, int status)
{
    bool wants_next = WIFEXITED(status) && WEXITSTATUS(status) == GSRT_EXIT_AGAIN;
    bool has_next = take(k, wants_next ? &k->agains : &k->restarts);
    k->has_word = true;
    k->word = (gsrt_keeper_word){.rank = k->ticket.rank,
                                 .incarnation = k->incarnation,
                                 .is_last = !has_next,
                                 .was_ordered = k->was_ordered,
                                 .deposit = k->ticket.deposit};
    k->last_heard_ms = gsrt_visit_now_ms();
    gsrt__keeper_say_word(k, true);
    if (has_next) {
        speak(k); /* before the new process takes the cores */
        k->incarnation++;
        if (start_worker(k) == GSRT_OK) {
            k->say_again_ms = UINT64_MAX;
            return GO_ON;
        }
        k->incarnation--;
        k->word.is_last = true;
        gsrt__keeper_say_word(k, true);
    }
    close_all(&k->worker_listener, 1); /* who calls is refused at once */
    k->worker_listener = -1;
    fprintf(stderr, "gsrt: rank %u: the worker is not started again (%u restarts)\n", k->ticket.rank,
            k->restarts.count + k->agains.count);
    return k->ticket.rank_count > 1 ? GO_ON : conclude(k, status);
}

/* GO_ON, or the exit code of this process. */
static int reap(gsrt__keeper *k)
{
    int status;
    if (k->worker == 0 || waitpid(k->worker, &status, WNOHANG) != k->worker)
        return GO_ON;
    hear_worker(k); /* what it said last */
    lose_channel(k);
    bool is_shown = gsrt_output_close(&k->output, GSRT_KEEPER_GRACE_MS); /* before its death is known */
    if (!is_shown && WIFEXITED(status) && WEXITSTATUS(status) != GSRT_EXIT_AGAIN)
        fprintf(stderr, "gsrt: the end of the text is missing: standard output was not read\n");
    gsrt_channel_reader_fini(&k->reader);
    close_all(&k->pipe_end, 1);
    k->worker = 0;
    k->must_say_deposited = false;
    if (WIFEXITED(status)) {
        int code = WEXITSTATUS(status);
        bool was_in_a_view = k->has_ticket && (k->ticket.deposit.epoch > 0 || k->incarnation > 0);
        bool wants_next = k->has_ticket && code == GSRT_EXIT_AGAIN;
        if (k->is_finished && !k->was_asked)
            return k->finished_code; /* whatever kept this worker from the end of the run */
        if (code == GSRT_EXIT_GIVEN_UP)
            return GSRT_EXIT_WORKER_LOST;
        if (k->was_asked || code == 0 || (!wants_next && !was_in_a_view))
            return code == GSRT_EXIT_AGAIN ? GSRT_EXIT_INTERRUPTED : code;
    } else if (k->was_asked) {
        return GSRT_EXIT_INTERRUPTED;
    } else if (!k->has_ticket || k->is_finished) {
        return conclude(k, status);
    }
    return on_death(k, status);
}

/* ---- the loop ---- */

/* GO_ON, or the exit code of this process. */
static int take_signals(gsrt__keeper *k)
{
    struct signalfd_siginfo info;
    while (read(k->signals, &info, sizeof info) == (ssize_t)sizeof info) {
        int got = (int)info.ssi_signo;
        if (got == SIGCHLD)
            continue;
        if (k->worker == 0)
            return GSRT_EXIT_INTERRUPTED;
        if (!k->was_asked)
            k->kill_at_ms = gsrt_visit_now_ms() + GSRT_KEEPER_GRACE_MS;
        k->was_asked = true;
        (void)kill(k->worker, got);
        (void)kill(k->worker, SIGCONT); /* a stopped one must hear it too */
    }
    return reap(k);
}

/* Its worker is named by the last view that it knew. */
static bool is_member(const gsrt__keeper *k)
{
    const gsrt_deposit *deposit = &k->ticket.deposit;
    return k->has_ticket && deposit->epoch > 0 && deposit->incarnations[k->ticket.rank] == k->incarnation;
}

/* Of a drill that slows the worker. The next incarnation is as slow; one that another drill stopped stays so. */
static void take_turn(gsrt__keeper *k, uint64_t now)
{
    bool is_over = now >= k->slow_until_ms || k->was_asked || k->is_finished;
    k->is_slow_stopped = !is_over && !k->is_slow_stopped;
    k->slow_turn_ms = now + (k->is_slow_stopped ? k->slow_stop_ms : k->slow_run_ms);
    if (k->is_slow_stopped && k->slow_turn_ms > k->slow_until_ms)
        k->slow_turn_ms = k->slow_until_ms;
    if (is_over)
        k->slow_until_ms = 0;
    if (k->worker != 0 && k->continue_at_ms == UINT64_MAX)
        (void)kill(k->worker, k->is_slow_stopped ? SIGSTOP : SIGCONT);
}

static void take_time(gsrt__keeper *k)
{
    uint64_t now = gsrt_visit_now_ms();
    if (now >= k->kill_at_ms && k->worker != 0) {
        (void)kill(k->worker, SIGKILL);
        k->kill_at_ms = UINT64_MAX;
    }
    if (k->is_finished && !k->has_end && k->worker != 0) {
        k->has_end = true;
        k->kill_at_ms = k->kill_at_ms == UINT64_MAX ? now + GSRT_KEEPER_END_MS : k->kill_at_ms;
        if (!is_member(k)) /* nobody else tells it */
            (void)kill(k->worker, SIGTERM);
    }
    if (now >= k->continue_at_ms) {
        k->continue_at_ms = UINT64_MAX;
        if (k->worker != 0)
            (void)kill(k->worker, SIGCONT);
    }
    if (k->slow_until_ms != 0 && now >= k->slow_turn_ms)
        take_turn(k, now);
}

static int time_to_wait_ms(const gsrt__keeper *k)
{
    uint64_t now = gsrt_visit_now_ms(), due = gsrt__keeper_desk_due_ms(k);
    due = k->kill_at_ms < due ? k->kill_at_ms : due;
    due = k->continue_at_ms < due ? k->continue_at_ms : due;
    due = k->slow_until_ms != 0 && k->slow_turn_ms < due ? k->slow_turn_ms : due;
    if (due == UINT64_MAX)
        return -1;
    return due <= now ? 0 : due - now > 60000 ? 60000 : (int)(due - now);
}

/* Without a worker. GO_ON, or the exit code of this process. */
static int be_alone(const gsrt__keeper *k)
{
    if (k->worker != 0)
        return GO_ON;
    if (k->is_finished)
        return k->finished_code;
    return gsrt_visit_now_ms() - k->last_heard_ms >= GSRT_KEEPER_ALONE_MS ? GSRT_EXIT_WORKER_LOST : GO_ON;
}

static int serve(gsrt__keeper *k)
{
    static struct pollfd fds[3 + 1 + GSRT__KEEPER_GUEST_COUNT_MAX + GSRT_RANK_COUNT_MAX];
    for (;;) {
        bool must_write = k->must_say_deposited && k->channel >= 0;
        fds[0] = (struct pollfd){.fd = k->signals, .events = POLLIN};
        fds[1] = (struct pollfd){.fd = k->channel, .events = must_write ? POLLIN | POLLOUT : POLLIN};
        fds[2] = gsrt_output_poll(&k->output);
        uint32_t count = 3 + gsrt__keeper_desk_poll(k, fds + 3);
        (void)poll(fds, count, time_to_wait_ms(k));
        hear_worker(k);
        gsrt_output_work(&k->output);
        if (k->must_say_deposited)
            say_deposited(k);
        int code = take_signals(k);
        if (code == GO_ON) {
            gsrt__keeper_desk_work(k);
            take_time(k);
            code = be_alone(k);
        }
        if (code != GO_ON)
            return code;
    }
}

/* ---- opening and closing ---- */

static bool is_set(const char *variable)
{
    const char *text = getenv(variable);
    return text != NULL && *text != '\0';
}

static bool read_number(const char *variable, uint32_t max, uint32_t *inout)
{
    const char *text = getenv(variable);
    char *end;
    if (text == NULL || *text == '\0')
        return true;
    errno = 0;
    unsigned long value = strtoul(text, &end, 10);
    if (errno != 0 || *end != '\0' || text[0] < '0' || text[0] > '9' || value > max) {
        fprintf(stderr, "gsrt: %s: '%s' is not a number from 0 to %u\n", variable, text, max);
        return false;
    }
    *inout = (uint32_t)value;
    return true;
}

static bool open_keeper(gsrt__keeper *k)
{
    sigset_t watched;
    sigemptyset(&watched);
    sigaddset(&watched, SIGINT);
    sigaddset(&watched, SIGTERM);
    sigaddset(&watched, SIGHUP);
    sigaddset(&watched, SIGCHLD);
    /* when mpirun itself is killed, nobody else would end this job */
    if (gsrt_mpirun_is_around())
        (void)prctl(PR_SET_PDEATHSIG, SIGTERM);
    gsrt_place_find(&k->place);
    sigset_t blocked = watched;
    sigaddset(&blocked, SIGPIPE); /* of standard output: the worker shall know, not this process end */
    if (sigprocmask(SIG_BLOCK, &blocked, &k->mask) != 0 ||
        (k->signals = signalfd(-1, &watched, SFD_CLOEXEC | SFD_NONBLOCK)) < 0 ||
        gsrt_place_listen(&k->listener, &k->port) != GSRT_OK ||
        gsrt_place_listen(&k->worker_listener, &k->worker_port) != GSRT_OK || start_worker(k) != GSRT_OK) {
        fprintf(stderr, "gsrt: cannot start a process: %s\n", strerror(errno));
        return false;
    }
    return true;
}

int gsrt_keeper_run(char **argv)
{
    gsrt__keeper *k = calloc(1, sizeof *k);
    int code = GSRT_EXIT_WORKER_LOST;
    if (k == NULL)
        return code;
    *k = (gsrt__keeper){.argv = argv,
                        .restarts.max = RESTART_MAX,
                        .agains.max = GSRT_KEEPER_AGAINS_MAX,
                        .window_ms = WINDOW_MS,
                        .has_own_restarts = is_set("GSRT_RESTART_MAX"),
                        .has_own_window = is_set("GSRT_RESTART_WINDOW_MS"),
                        .signals = -1,
                        .listener = -1,
                        .worker_listener = -1,
                        .channel = -1,
                        .pipe_end = -1,
                        .kill_at_ms = UINT64_MAX,
                        .continue_at_ms = UINT64_MAX,
                        .say_again_ms = UINT64_MAX};
    if (!read_number("GSRT_RESTART_MAX", GSRT_KEEPER_RESTARTS_MAX, &k->restarts.max) ||
        !read_number("GSRT_RESTART_WINDOW_MS", UINT32_MAX, &k->window_ms))
        code = 1;
    else if (open_keeper(k))
        code = serve(k);
    if (k->was_asked)
        gsrt_output_linger(STDOUT_FILENO, LINGER_MS);
    gsrt__keeper_desk_fini(k);
    close_all((const int[]){k->signals, k->listener, k->worker_listener, k->channel}, 4);
    if (k->has_ticket)
        gsrt_ticket_fini(&k->ticket);
    gsrt_buffer_fini(&k->ticket_bytes);
    free(k);
    return code;
}
