#include "launch/child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { EXIT_UNSAID = 125 }; /* it had something to say, and could not */

static void set_limits(const gsrt_child_limits *limits)
{
    const struct rlimit time_s = {limits->cpu_s, limits->cpu_s}, core = {0, 0};
    (void)setrlimit(RLIMIT_CPU, &time_s);
    (void)setrlimit(RLIMIT_CORE, &core);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    const struct rlimit bytes = {limits->bytes, limits->bytes};
    if (limits->bytes > 0)
        (void)setrlimit(RLIMIT_AS, &bytes); /* sanitizers map much more, and use little of it */
#endif
    (void)alarm(2 * limits->cpu_s);
    int nowhere = open("/dev/null", O_WRONLY);
    if (nowhere >= 0)
        (void)dup2(nowhere, STDERR_FILENO); /* what is wrong is said by the parent, once */
}

/* Never returns. */
static void be_child(const gsrt_child_limits *limits, gsrt_child_fn *fn, void *arg, int to)
{
    set_limits(limits);
    gsrt_buffer out;
    gsrt_buffer_init(&out, limits->out_bytes_max);
    int code = fn(arg, &out);
    for (size_t done = 0; code == 0 && done < out.len;) {
        ssize_t n = write(to, out.data + done, out.len - done);
        if (n <= 0)
            _exit(EXIT_UNSAID);
        done += (size_t)n;
    }
    _exit(code);
}

/* All that comes, up to the ceiling. */
static gsrt_status take_all(int from, gsrt_buffer *out)
{
    uint8_t part[4096];
    for (;;) {
        ssize_t n = read(from, part, sizeof part);
        if (n == 0)
            return GSRT_OK;
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return GSRT_EIO;
        gsrt_status status = gsrt_buffer_append(out, part, (size_t)n);
        if (status != GSRT_OK)
            return status;
    }
}

gsrt_status gsrt_child_run(const gsrt_child_limits *limits, gsrt_child_fn *fn, void *arg, gsrt_buffer *out,
                           int *out_how)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return GSRT_EIO;
    pid_t child = fork();
    if (child == 0) {
        (void)close(ends[0]);
        be_child(limits, fn, arg, ends[1]);
    }
    (void)close(ends[1]);
    gsrt_status status = child < 0 ? GSRT_EIO : take_all(ends[0], out);
    (void)close(ends[0]);
    while (child > 0 && waitpid(child, out_how, 0) < 0) {
        if (errno != EINTR)
            return GSRT_EIO;
    }
    return status;
}

const char *gsrt_child_end(int how, char *room, size_t room_bytes)
{
    if (WIFSIGNALED(how) && (WTERMSIG(how) == SIGALRM || WTERMSIG(how) == SIGXCPU || WTERMSIG(how) == SIGKILL))
        (void)snprintf(room, room_bytes, "takes too long");
    else if (WIFSIGNALED(how))
        (void)snprintf(room, room_bytes, "ended with signal %d", WTERMSIG(how));
    else
        (void)snprintf(room, room_bytes, "gave up (%d)", WEXITSTATUS(how));
    return room;
}
