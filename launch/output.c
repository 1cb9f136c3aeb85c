#include "launch/output.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { POSITION_DIGITS = 20, OWNER_DIGITS = 10, LINE_BYTES = POSITION_DIGITS + 1 + OWNER_DIGITS + 1 };

/* ---- the position ---- */

/* Of the lines that are there whole. */
static off_t count_lines(int descriptor)
{
    struct stat about;
    return fstat(descriptor, &about) == 0 ? about.st_size / LINE_BYTES : 0;
}

static bool read_number(const char *digits, size_t count, uint64_t *out)
{
    uint64_t number = 0;
    for (size_t i = 0; i < count; i++) {
        if (digits[i] < '0' || digits[i] > '9' || number > (UINT64_MAX - 9) / 10)
            return false;
        number = 10 * number + (uint64_t)(digits[i] - '0');
    }
    *out = number;
    return true;
}

static gsrt_status read_line(int descriptor, off_t line, uint64_t *out, uint32_t *out_owner)
{
    char text[LINE_BYTES];
    uint64_t owner;
    if (pread(descriptor, text, sizeof text, line) != sizeof text || text[POSITION_DIGITS] != ' ' ||
        text[LINE_BYTES - 1] != '\n' || !read_number(text, POSITION_DIGITS, out) ||
        !read_number(text + POSITION_DIGITS + 1, OWNER_DIGITS, &owner) || owner > UINT32_MAX)
        return GSRT_EINPUT;
    *out_owner = (uint32_t)owner;
    return GSRT_OK;
}

static gsrt_status write_line(int descriptor, off_t line, uint64_t position, uint32_t owner)
{
    char text[LINE_BYTES + 1];
    (void)snprintf(text, sizeof text, "%0*" PRIu64 " %0*" PRIu32 "\n", POSITION_DIGITS, position, OWNER_DIGITS, owner);
    return pwrite(descriptor, text, LINE_BYTES, line) == LINE_BYTES ? GSRT_OK : GSRT_EIO;
}

gsrt_status gsrt_output_read_position(int descriptor, uint64_t *out, uint32_t *out_owner)
{
    off_t count = count_lines(descriptor);
    return count == 0 ? GSRT_EINPUT : read_line(descriptor, (count - 1) * LINE_BYTES, out, out_owner);
}

gsrt_status gsrt_output_add_position(int descriptor, uint64_t position, uint32_t owner)
{
    off_t line = count_lines(descriptor) * LINE_BYTES;
    return lseek(descriptor, line, SEEK_SET) == line ? write_line(descriptor, line, position, owner) : GSRT_EIO;
}

/* ---- the worker's end ---- */

gsrt_status gsrt_output_announce(int out, int descriptor)
{
    union {
        struct cmsghdr head;
        char room[CMSG_SPACE(sizeof(int))];
    } control = {0};
    char byte = 0; /* a descriptor travels with a byte, which is not part of the stream */
    struct iovec bytes = {.iov_base = &byte, .iov_len = 1};
    struct msghdr message = {
        .msg_iov = &bytes, .msg_iovlen = 1, .msg_control = control.room, .msg_controllen = sizeof control.room};
    struct cmsghdr *head = CMSG_FIRSTHDR(&message);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(head), &descriptor, sizeof descriptor);
    ssize_t n;
    while ((n = sendmsg(out, &message, MSG_NOSIGNAL)) < 0 && errno == EINTR) {
    }
    if (n < 0 && errno == ENOTSOCK)
        return GSRT_ENOTFOUND;
    return n == 1 ? GSRT_OK : GSRT_EIO;
}

/* ---- the keeper's end ---- */

gsrt_status gsrt_output_open(gsrt_output *output, int out, int *out_worker_end)
{
    int ends[2];
    *output = (gsrt_output){.socket = -1, .out = out, .descriptor = -1, .next_descriptor = -1};
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        return GSRT_EIO;
    output->socket = ends[0];
    *out_worker_end = ends[1];
    return GSRT_OK;
}

static void close_one(int *descriptor)
{
    if (*descriptor >= 0)
        close(*descriptor);
    *descriptor = -1;
}

/* What follows is counted in the line at the offset of this file, which came with it. */
static void take_descriptor(gsrt_output *output)
{
    close_one(&output->descriptor);
    output->descriptor = output->next_descriptor;
    output->next_descriptor = -1;
    output->line = lseek(output->descriptor, 0, SEEK_CUR);
    output->is_behind =
        output->line < 0 || read_line(output->descriptor, output->line, &output->position, &output->owner) != GSRT_OK;
}

static int descriptor_in(struct msghdr *message)
{
    int found = -1;
    for (struct cmsghdr *head = CMSG_FIRSTHDR(message); head != NULL; head = CMSG_NXTHDR(message, head))
        if (head->cmsg_level == SOL_SOCKET && head->cmsg_type == SCM_RIGHTS && head->cmsg_len == CMSG_LEN(sizeof found))
            memcpy(&found, CMSG_DATA(head), sizeof found);
    return found;
}

/* true: there is a chunk, or a descriptor was taken. The kernel ends a read after the byte that brings a descriptor. */
static bool fill(gsrt_output *output)
{
    union {
        struct cmsghdr head;
        char room[CMSG_SPACE(sizeof(int))];
    } control;
    struct iovec bytes = {.iov_base = output->chunk, .iov_len = sizeof output->chunk};
    struct msghdr message = {
        .msg_iov = &bytes, .msg_iovlen = 1, .msg_control = control.room, .msg_controllen = sizeof control.room};
    ssize_t n = output->socket < 0 ? 0 : recvmsg(output->socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return false;
    if (n <= 0) {
        close_one(&output->socket);
        return false;
    }
    output->next_descriptor = descriptor_in(&message);
    output->chunk_first = 0;
    output->chunk_last = (size_t)n - (output->next_descriptor >= 0);
    return true;
}

static void drop(gsrt_output *output)
{
    output->chunk_first = output->chunk_last;
}

/* What is written is counted before anything else is done: this process is not the one that is killed. */
static void write_some(gsrt_output *output)
{
    if (output->descriptor >= 0 && count_lines(output->descriptor) * LINE_BYTES != output->line + LINE_BYTES)
        output->is_behind = true;
    if (output->is_behind) {
        drop(output);
        return;
    }
    ssize_t n = write(output->out, output->chunk + output->chunk_first, output->chunk_last - output->chunk_first);
    if (n < 0) {
        if (errno != EAGAIN && errno != EINTR) { /* nobody reads: the worker shall know */
            drop(output);
            close_one(&output->socket);
        }
        return;
    }
    output->chunk_first += (size_t)n;
    output->position += (uint64_t)n;
    if (output->descriptor >= 0 &&
        write_line(output->descriptor, output->line, output->position, output->owner) != GSRT_OK)
        output->is_behind = true; /* the next leader would not know of more */
}

static bool can_write(const gsrt_output *output, int limit_ms)
{
    struct pollfd one = {.fd = output->out, .events = POLLOUT};
    return poll(&one, 1, limit_ms) == 1;
}

struct pollfd gsrt_output_poll(const gsrt_output *output)
{
    bool is_waiting = output->chunk_first < output->chunk_last;
    return (struct pollfd){.fd = is_waiting ? output->out : output->socket, .events = is_waiting ? POLLOUT : POLLIN};
}

static uint64_t now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

/* The chunk, and what comes with it. false: it is not all out within limit_ms. */
static bool empty(gsrt_output *output, int limit_ms)
{
    uint64_t until = now_ms() + (uint64_t)limit_ms;
    while (output->chunk_first < output->chunk_last) {
        uint64_t now = now_ms();
        if (!can_write(output, now < until ? (int)(until - now) : 0))
            return false;
        write_some(output);
    }
    if (output->next_descriptor >= 0)
        take_descriptor(output);
    return true;
}

void gsrt_output_work(gsrt_output *output)
{
    for (int i = 0; i < GSRT_OUTPUT_WORK_CHUNKS && empty(output, 0) && fill(output); i++) {
    }
}

bool gsrt_output_close(gsrt_output *output, int limit_ms)
{
    bool is_empty;
    while ((is_empty = empty(output, limit_ms)) && fill(output)) {
    }
    close_one(&output->socket);
    close_one(&output->descriptor);
    close_one(&output->next_descriptor);
    drop(output);
    return is_empty;
}

void gsrt_output_linger(int out, int limit_ms)
{
    uint64_t until = now_ms() + (uint64_t)limit_ms;
    int left = 0;
    unsigned long question = isatty(out) == 1 ? TIOCOUTQ : FIONREAD;
    struct pollfd reader = {.fd = out}; /* that it has gone is said unasked */
    while (ioctl(out, question, &left) == 0 && left > 0 && now_ms() < until && poll(&reader, 1, 1) == 0) {
    }
}
