#include "mailbox/visit.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { LENGTH_BYTES = 4, PROOF_BYTES = 8, ONE_TRY_MS = 2000 };
enum { OUT_BYTES_MAX = GSRT_NOTE_BYTES_MAX + GSRT_NONCE_BYTES + LENGTH_BYTES + PROOF_BYTES };

uint64_t gsrt_visit_now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* What the proof is over. */
typedef struct claim {
    uint8_t role; /* 'c' by the caller, 'h' by the host */
    uint8_t nonces[2][GSRT_NONCE_BYTES];
    uint8_t note[PROOF_BYTES]; /* hashed with the secret */
} claim;
_Static_assert(sizeof(claim) == 41, "hashed as it lies in memory: no padding");

static uint64_t prove(const gsrt_visit *visit, bool is_by_caller, gsrt_span note)
{
    claim words = {.role = is_by_caller ? 'c' : 'h'};
    uint64_t hash = gsrt_secret_prove(visit->secret, note);
    memcpy(words.nonces, visit->nonces, sizeof words.nonces);
    if (is_by_caller && visit->is_timeless)
        memset(words.nonces[0], 0, sizeof words.nonces[0]);
    memcpy(words.note, &hash, sizeof hash);
    return gsrt_secret_prove(visit->secret, gsrt_span_of(&words, sizeof words));
}

static void put_length(uint8_t out[LENGTH_BYTES], size_t value)
{
    for (int i = 0; i < LENGTH_BYTES; i++)
        out[i] = (uint8_t)(value >> (8 * i));
}

static size_t get_length(const uint8_t in[LENGTH_BYTES])
{
    return (size_t)in[0] | (size_t)in[1] << 8 | (size_t)in[2] << 16 | (size_t)in[3] << 24;
}

static const size_t timeless_flag = (size_t)1 << 31; /* in the length */

/* Length, note, proof, to be written. */
static gsrt_status say(gsrt_visit *visit, gsrt_span note)
{
    uint8_t length[LENGTH_BYTES];
    uint64_t proof = prove(visit, visit->is_caller, note);
    put_length(length, note.len | (visit->is_caller && visit->is_timeless ? timeless_flag : 0));
    gsrt_status status = note.len > GSRT_NOTE_BYTES_MAX ? GSRT_ELIMIT : GSRT_OK;
    if (status == GSRT_OK)
        status = gsrt_buffer_append(&visit->out, length, sizeof length);
    if (status == GSRT_OK)
        status = gsrt_buffer_append(&visit->out, note.data, note.len);
    if (status == GSRT_OK)
        status = gsrt_buffer_append(&visit->out, &proof, sizeof proof);
    return status;
}

static void close_fd(gsrt_visit *visit)
{
    if (visit->fd >= 0)
        close(visit->fd);
    visit->fd = -1;
}

static void fail(gsrt_visit *visit)
{
    close_fd(visit);
    visit->state = GSRT_VISIT_FAILED;
}

/* ---- connecting ---- */

static bool try_address(gsrt_visit *visit, uint32_t address)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(visit->route.port), .sin_addr.s_addr = address};
    int yes = 1;
    visit->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (visit->fd < 0)
        return false;
    (void)setsockopt(visit->fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    visit->state = GSRT_VISIT_CONNECTING; /* also when it is there already: do_connect will see */
    if (connect(visit->fd, (const struct sockaddr *)&to, sizeof to) != 0 && errno != EINPROGRESS)
        close_fd(visit);
    return visit->fd >= 0;
}

/* The next address that can be tried, from the beginning of the conversation. */
static void try_next(gsrt_visit *visit)
{
    uint64_t now = gsrt_visit_now_ms();
    close_fd(visit);
    gsrt_buffer_reset(&visit->in);
    gsrt_buffer_reset(&visit->out);
    visit->out_at = 0;
    visit->has_nonce = visit->has_spoken = false;
    visit->try_until_ms = now + ONE_TRY_MS < visit->deadline_ms ? now + ONE_TRY_MS : visit->deadline_ms;
    while (visit->tried_count < visit->route.count && now < visit->deadline_ms)
        if (try_address(visit, visit->route.addresses[visit->tried_count++]))
            return;
    visit->state = GSRT_VISIT_FAILED;
}

/* Of this conversation nothing will come. */
static void give_up(gsrt_visit *visit)
{
    if (visit->is_caller)
        try_next(visit);
    else
        fail(visit);
}

gsrt_status gsrt_visit_call(gsrt_visit *visit, const gsrt_route *route, const gsrt_secret *secret, gsrt_span note,
                            bool is_timeless, uint64_t deadline_ms)
{
    *visit = (gsrt_visit){.fd = -1,
                          .is_caller = true,
                          .is_timeless = is_timeless,
                          .secret = secret,
                          .deadline_ms = deadline_ms,
                          .route = *route};
    gsrt_buffer_init(&visit->in, OUT_BYTES_MAX);
    gsrt_buffer_init(&visit->out, OUT_BYTES_MAX);
    gsrt_buffer_init(&visit->note, GSRT_NOTE_BYTES_MAX);
    gsrt_status status = gsrt_buffer_append(&visit->note, note.data, note.len);
    if (status == GSRT_OK)
        try_next(visit);
    return status;
}

gsrt_status gsrt_visit_receive(gsrt_visit *visit, int fd, const gsrt_secret *secret, uint64_t deadline_ms)
{
    int yes = 1;
    *visit = (gsrt_visit){.fd = fd,
                          .secret = secret,
                          .deadline_ms = deadline_ms,
                          .try_until_ms = deadline_ms,
                          .has_nonce = true,
                          .state = GSRT_VISIT_WRITING};
    gsrt_buffer_init(&visit->in, OUT_BYTES_MAX);
    gsrt_buffer_init(&visit->out, OUT_BYTES_MAX);
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    gsrt_status status = gsrt_secret_draw(visit->nonces[0], GSRT_NONCE_BYTES);
    if (status == GSRT_OK)
        status = gsrt_buffer_append(&visit->out, visit->nonces[0], GSRT_NONCE_BYTES);
    if (status != GSRT_OK)
        gsrt_visit_fini(visit);
    return status;
}

/* ---- the conversation ---- */

/* Have `need` bytes in `in`. false: not yet, or the other has gone. */
static bool have(gsrt_visit *visit, size_t need)
{
    while (visit->in.len < need) {
        uint8_t piece[4096];
        size_t want = need - visit->in.len < sizeof piece ? need - visit->in.len : sizeof piece;
        ssize_t n = recv(visit->fd, piece, want, 0);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            return false;
        if (n <= 0 || gsrt_buffer_append(&visit->in, piece, (size_t)n) != GSRT_OK) {
            give_up(visit);
            return false;
        }
    }
    return true;
}

/* The caller says its note. */
static void speak(gsrt_visit *visit)
{
    visit->has_spoken = true;
    visit->state = GSRT_VISIT_WRITING;
    if (gsrt_secret_draw(visit->nonces[1], GSRT_NONCE_BYTES) != GSRT_OK ||
        gsrt_buffer_append(&visit->out, visit->nonces[1], GSRT_NONCE_BYTES) != GSRT_OK ||
        say(visit, gsrt_buffer_span(&visit->note)) != GSRT_OK)
        fail(visit);
}

/* The caller has the host's nonce. */
static void take_nonce(gsrt_visit *visit)
{
    memcpy(visit->nonces[0], visit->in.data, GSRT_NONCE_BYTES);
    gsrt_buffer_reset(&visit->in);
    visit->has_nonce = true;
    if (!visit->has_spoken)
        speak(visit);
}

/* Bytes before the length: the caller's nonce. */
static size_t prefix_bytes(const gsrt_visit *visit)
{
    return visit->is_caller ? 0 : GSRT_NONCE_BYTES;
}

static void read_note(gsrt_visit *visit)
{
    size_t head = prefix_bytes(visit) + LENGTH_BYTES;
    if (!have(visit, head))
        return;
    size_t len = get_length(visit->in.data + prefix_bytes(visit));
    if (!visit->is_caller) {
        visit->is_timeless = (len & timeless_flag) != 0;
        len &= ~timeless_flag;
    }
    if (len > GSRT_NOTE_BYTES_MAX) {
        give_up(visit);
        return;
    }
    if (!have(visit, head + len + PROOF_BYTES))
        return;
    uint64_t proof;
    memcpy(&proof, visit->in.data + head + len, sizeof proof);
    if (!visit->is_caller)
        memcpy(visit->nonces[1], visit->in.data, GSRT_NONCE_BYTES);
    if (proof != prove(visit, !visit->is_caller, gsrt_span_of(visit->in.data + head, len)))
        give_up(visit);
    else
        visit->state = visit->is_caller ? GSRT_VISIT_DONE : GSRT_VISIT_HEARD;
}

static void do_read(gsrt_visit *visit)
{
    if (!visit->has_nonce && have(visit, GSRT_NONCE_BYTES))
        take_nonce(visit);
    if (visit->has_nonce && visit->state == GSRT_VISIT_READING)
        read_note(visit);
}

static void do_write(gsrt_visit *visit, bool is_last)
{
    while (visit->out_at < visit->out.len) {
        ssize_t n = send(visit->fd, visit->out.data + visit->out_at, visit->out.len - visit->out_at, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            return;
        if (n <= 0) {
            give_up(visit);
            return;
        }
        visit->out_at += (size_t)n;
    }
    gsrt_buffer_reset(&visit->out);
    visit->out_at = 0;
    visit->state = is_last ? GSRT_VISIT_DONE : GSRT_VISIT_READING;
}

static void do_connect(gsrt_visit *visit)
{
    int error = 0;
    socklen_t error_bytes = sizeof error;
    struct pollfd one = {.fd = visit->fd, .events = POLLOUT};
    if (poll(&one, 1, 0) == 0)
        return;
    if (getsockopt(visit->fd, SOL_SOCKET, SO_ERROR, &error, &error_bytes) != 0 || error != 0) {
        give_up(visit);
        return;
    }
    visit->state = GSRT_VISIT_READING;
    visit->try_until_ms = visit->deadline_ms; /* it exists: it may take its time */
    if (visit->is_timeless)
        speak(visit);
}

gsrt_visit_state gsrt_visit_move(gsrt_visit *visit)
{
    for (;;) {
        gsrt_visit_state before = visit->state;
        uint32_t tried = visit->tried_count;
        if (gsrt_visit_events(visit) != 0 && gsrt_visit_now_ms() >= visit->try_until_ms)
            give_up(visit);
        else if (before == GSRT_VISIT_CONNECTING)
            do_connect(visit);
        else if (before == GSRT_VISIT_READING)
            do_read(visit);
        else if (before == GSRT_VISIT_WRITING)
            do_write(visit, !visit->is_caller && visit->in.len > 0);
        if (visit->state == before && visit->tried_count == tried)
            return visit->state;
    }
}

short gsrt_visit_events(const gsrt_visit *visit)
{
    if (visit->state == GSRT_VISIT_READING)
        return POLLIN;
    return visit->state == GSRT_VISIT_CONNECTING || visit->state == GSRT_VISIT_WRITING ? POLLOUT : 0;
}

uint64_t gsrt_visit_due_ms(const gsrt_visit *visit)
{
    return gsrt_visit_events(visit) == 0 ? UINT64_MAX : visit->try_until_ms;
}

gsrt_span gsrt_visit_note(const gsrt_visit *visit)
{
    size_t head = prefix_bytes(visit) + LENGTH_BYTES;
    return gsrt_span_of(visit->in.data + head, visit->in.len - head - PROOF_BYTES);
}

gsrt_status gsrt_visit_answer(gsrt_visit *visit, gsrt_span note)
{
    gsrt_status status = say(visit, note);
    visit->state = GSRT_VISIT_WRITING;
    if (status == GSRT_OK)
        (void)gsrt_visit_move(visit);
    else
        fail(visit);
    return status;
}

int gsrt_visit_take(gsrt_visit *visit)
{
    int fd = visit->fd;
    visit->fd = -1;
    return fd;
}

void gsrt_visit_fini(gsrt_visit *visit)
{
    if (visit->state != GSRT_VISIT_IDLE)
        close_fd(visit);
    gsrt_buffer_fini(&visit->in);
    gsrt_buffer_fini(&visit->out);
    gsrt_buffer_fini(&visit->note);
    *visit = (gsrt_visit){.fd = -1};
}
