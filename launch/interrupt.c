#include "launch/interrupt.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <unistd.h>

static volatile sig_atomic_t is_set;
static void (*_Atomic wake_function)(void *arg); /* lock-free, so good in a handler */
static void *_Atomic wake_argument;

static void set(void)
{
    if (!is_set)
        (void)alarm(GSRT_INTERRUPT_GRACE_S);
    is_set = 1;
    void (*wake)(void *) = atomic_load(&wake_function); /* pairs with the store in gsrt_interrupt_on_wake */
    if (wake != NULL)
        wake(atomic_load(&wake_argument));
}

static void on_signal(int signal_number)
{
    int error = errno;
    (void)signal_number;
    set();
    errno = error;
}

gsrt_status gsrt_interrupt_install(void)
{
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGIO};
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++)
        sigaddset(&action.sa_mask, signals[i]);
    for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++)
        if (sigaction(signals[i], &action, NULL) != 0)
            return GSRT_EIO;
    return GSRT_OK;
}

void gsrt_interrupt_on_wake(void (*wake)(void *arg), void *arg)
{
    atomic_store(&wake_function, NULL);
    atomic_store(&wake_argument, arg);
    atomic_store(&wake_function, wake);
    if (is_set && wake != NULL)
        wake(arg);
}

bool gsrt_interrupt_is_set(void)
{
    return is_set != 0;
}

/* The kernel sends SIGIO when the last writer of a pipe goes. */
gsrt_status gsrt_interrupt_watch(int fd)
{
    int flags = fcntl(fd, F_GETFL);
    if (flags < 0 || fcntl(fd, F_SETOWN, getpid()) != 0 || fcntl(fd, F_SETFL, flags | O_ASYNC | O_NONBLOCK) != 0)
        return GSRT_EIO;
    struct pollfd one = {.fd = fd};
    if (poll(&one, 1, 0) == 1 && (one.revents & (POLLHUP | POLLERR)) != 0)
        set(); /* it had gone before */
    return GSRT_OK;
}
