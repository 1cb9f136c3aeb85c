/* The worker's side: what the keeper handed over. */
#include "launch/keeper_impl.h"

#include "launch/interrupt.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

bool gsrt_keeper_is_worker(void)
{
    return getenv(GSRT__KEEPER_VARIABLE) != NULL;
}

static bool parse(const char *text, long numbers[GSRT__KEEPER_NUMBER_COUNT])
{
    for (int i = 0; i < GSRT__KEEPER_NUMBER_COUNT; i++) {
        char *end;
        errno = 0;
        numbers[i] = strtol(text, &end, 10);
        bool is_last = i == GSRT__KEEPER_NUMBER_COUNT - 1;
        if (errno != 0 || end == text || *end != (is_last ? '\0' : ',') || numbers[i] < -1 || numbers[i] > 65535)
            return false;
        text = end + 1;
    }
    return numbers[0] >= 0 && numbers[1] >= 0 && numbers[2] >= 0 && numbers[4] > 0 && numbers[5] >= 0 &&
           numbers[5] <= GSRT_INCARNATION_MAX && (numbers[6] == 0 || numbers[6] == 1);
}

static gsrt_status read_ticket(int fd, gsrt_buffer *out)
{
    struct stat facts;
    uint8_t *room;
    if (fstat(fd, &facts) != 0 || facts.st_size <= 0 || facts.st_size > (off_t)GSRT_TICKET_BYTES_MAX)
        return GSRT_EIO;
    size_t bytes = (size_t)facts.st_size;
    gsrt_status status = gsrt_buffer_extend(out, bytes, &room);
    for (size_t at = 0; status == GSRT_OK && at < bytes;) {
        ssize_t n = pread(fd, room + at, bytes - at, (off_t)at);
        if (n <= 0 && errno != EINTR)
            status = GSRT_EIO;
        at += n > 0 ? (size_t)n : 0;
    }
    return status;
}

gsrt_status gsrt_keeper_attach(gsrt_keeper_handover *out)
{
    const char *text = getenv(GSRT__KEEPER_VARIABLE);
    long n[GSRT__KEEPER_NUMBER_COUNT];
    if (text == NULL || !parse(text, n))
        return GSRT_ESTATE;
    (void)unsetenv(GSRT__KEEPER_VARIABLE);
    for (int i = 0; i < 4; i++)
        if (n[i] >= 0 && fcntl((int)n[i], F_SETFD, FD_CLOEXEC) != 0)
            return GSRT_ESTATE;
    gsrt_keeper_handover handover = {.incarnation = (uint32_t)n[5],
                                     .pipe = (int)n[0],
                                     .channel = (int)n[1],
                                     .listener = (int)n[2],
                                     .keeper_port = (uint16_t)n[4],
                                     .is_out_terminal = n[6] == 1};
    gsrt_buffer_init(&handover.ticket, GSRT_TICKET_BYTES_MAX);
    gsrt_status status = gsrt_interrupt_watch((int)n[0]);
    if (status == GSRT_OK && n[3] >= 0)
        status = read_ticket((int)n[3], &handover.ticket);
    if (n[3] >= 0)
        close((int)n[3]);
    if (status == GSRT_OK)
        *out = handover;
    else
        gsrt_keeper_handover_fini(&handover);
    return status;
}

void gsrt_keeper_tell_finished(const gsrt_keeper_handover *handover, int exit_code)
{
    uint8_t head[GSRT_CHANNEL_HEAD_BYTES];
    gsrt_channel_write_head(head, GSRT_CHANNEL_FINISHED, (uint32_t)exit_code);
    ssize_t n = send(handover->channel, head, sizeof head, MSG_NOSIGNAL);
    (void)n; /* it does not listen: it is gone */
}

bool gsrt_keeper_is_gone(const gsrt_keeper_handover *handover)
{
    struct pollfd one = {.fd = handover->pipe};
    return poll(&one, 1, 0) == 1 && (one.revents & (POLLHUP | POLLERR)) != 0;
}

void gsrt_keeper_handover_fini(gsrt_keeper_handover *handover)
{
    if (handover->pipe > 0)
        close(handover->pipe);
    if (handover->channel > 0)
        close(handover->channel);
    if (handover->listener > 0)
        close(handover->listener);
    gsrt_buffer_fini(&handover->ticket);
    *handover = (gsrt_keeper_handover){.pipe = -1, .channel = -1, .listener = -1};
}
