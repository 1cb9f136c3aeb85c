#include "mailbox/sentinel.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { NONCE_BYTES = 16, LEAVING = 'L', ONE_TRY_MS = 2000, BACKLOG = 1024 };

struct gsrt_sentinel {
    uint32_t rank, rank_count;
    int listener, epoll;
    gsrt_sentinel_place place;
    uint32_t peer_count; /* connections that are open */
    bool *is_leaving;    /* [rank_count] */
    int fds[];           /* [rank_count]; -1: none */
};

/* What the connecting side says after it got the nonce of the other: who it is, and that it knows the secret. The
 * answer is the proof of the accepting side over the same bytes, `role` differing. Ranks are little-endian. */
typedef struct hello {
    uint8_t role; /* 'c' in the connector's proof, 'a' in the acceptor's */
    uint8_t from[2], to[2];
    uint8_t nonces[2][NONCE_BYTES]; /* of the acceptor, of the connector */
} hello;

_Static_assert(sizeof(hello) == 37, "hashed as it lies in memory: no padding");

/* ---- blocking for a bounded time; used during gsrt_sentinel_connect only ---- */

static uint64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static bool await(int fd, short events, uint64_t deadline_ms)
{
    for (;;) {
        uint64_t now = now_ms();
        struct pollfd one = {.fd = fd, .events = events};
        int n = poll(&one, 1, now < deadline_ms ? (int)(deadline_ms - now) : 0);
        if (n > 0)
            return true;
        if (n == 0 || errno != EINTR)
            return false;
    }
}

static bool send_all(int fd, const void *data, size_t len, uint64_t deadline_ms)
{
    for (const uint8_t *at = data; len > 0;) {
        ssize_t n = send(fd, at, len, MSG_NOSIGNAL);
        if (n > 0) {
            at += n;
            len -= (size_t)n;
        } else if ((errno != EAGAIN && errno != EINTR) || !await(fd, POLLOUT, deadline_ms)) {
            return false;
        }
    }
    return true;
}

static bool receive_all(int fd, void *data, size_t len, uint64_t deadline_ms)
{
    for (uint8_t *at = data; len > 0;) {
        ssize_t n = recv(fd, at, len, 0);
        if (n > 0) {
            at += n;
            len -= (size_t)n;
        } else if (n == 0 || (errno != EAGAIN && errno != EINTR) || !await(fd, POLLIN, deadline_ms)) {
            return false;
        }
    }
    return true;
}

/* ---- this rank's place ---- */

/* Machine, host name and network namespace: who shares all three reaches the others over the loopback interface. */
static void name_host(char out[GSRT_HOST_BYTES_MAX])
{
    char boot[40] = "", name[64] = "";
    struct stat net = {0};
    FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");
    if (file != NULL) {
        if (fgets(boot, sizeof boot, file) == NULL)
            boot[0] = '\0';
        fclose(file);
    }
    boot[strcspn(boot, "\n")] = '\0';
    (void)gethostname(name, sizeof name - 1);
    (void)stat("/proc/self/ns/net", &net);
    (void)snprintf(out, GSRT_HOST_BYTES_MAX, "%s/%s/%llx", name, boot, (unsigned long long)net.st_ino);
}

static void list_addresses(gsrt_sentinel_place *place)
{
    struct ifaddrs *list;
    if (getifaddrs(&list) != 0)
        return;
    for (const struct ifaddrs *i = list; i != NULL && place->address_count < GSRT_SENTINEL_ADDRESS_COUNT_MAX;
         i = i->ifa_next) {
        bool is_usable = i->ifa_addr != NULL && i->ifa_addr->sa_family == AF_INET && (i->ifa_flags & IFF_UP) != 0 &&
                         (i->ifa_flags & IFF_LOOPBACK) == 0;
        if (is_usable)
            place->addresses[place->address_count++] =
                ((const struct sockaddr_in *)(const void *)i->ifa_addr)->sin_addr.s_addr;
    }
    freeifaddrs(list);
}

gsrt_status gsrt_sentinel_create(uint32_t rank, uint32_t rank_count, gsrt_sentinel **out, gsrt_diag *diag)
{
    gsrt_sentinel *s = calloc(1, sizeof *s + rank_count * sizeof s->fds[0]);
    if (s == NULL)
        return GSRT_ENOMEM;
    s->rank = rank;
    s->rank_count = rank_count;
    s->is_leaving = calloc(rank_count, sizeof *s->is_leaving);
    for (uint32_t i = 0; i < rank_count; i++)
        s->fds[i] = -1;
    s->epoll = epoll_create1(EPOLL_CLOEXEC);
    s->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_ANY)};
    socklen_t address_bytes = sizeof address;
    bool is_listening = s->is_leaving != NULL && s->epoll >= 0 && s->listener >= 0 &&
                        bind(s->listener, (const struct sockaddr *)&address, sizeof address) == 0 &&
                        listen(s->listener, BACKLOG) == 0 &&
                        getsockname(s->listener, (struct sockaddr *)&address, &address_bytes) == 0;
    if (!is_listening) {
        gsrt_status status =
            gsrt_diag_set(diag, GSRT_EIO, NULL, NULL, "cannot listen on a TCP port: %s", strerror(errno));
        gsrt_sentinel_free(s);
        return status;
    }
    s->place.port = ntohs(address.sin_port);
    name_host(s->place.host);
    list_addresses(&s->place);
    *out = s;
    return GSRT_OK;
}

gsrt_sentinel *gsrt_sentinel_free(gsrt_sentinel *sentinel)
{
    if (sentinel == NULL)
        return NULL;
    for (uint32_t peer = 0; peer < sentinel->rank_count; peer++)
        gsrt_sentinel_drop(sentinel, peer);
    if (sentinel->listener >= 0)
        close(sentinel->listener);
    if (sentinel->epoll >= 0)
        close(sentinel->epoll);
    free(sentinel->is_leaving);
    free(sentinel);
    return NULL;
}

const gsrt_sentinel_place *gsrt_sentinel_place_of(const gsrt_sentinel *sentinel)
{
    return &sentinel->place;
}

/* ---- connecting ---- */

static void put_rank(uint8_t out[2], uint32_t rank)
{
    out[0] = (uint8_t)rank;
    out[1] = (uint8_t)(rank >> 8);
}

static uint64_t prove(const gsrt_secret *secret, hello *words, uint8_t role)
{
    words->role = role;
    return gsrt_secret_prove(secret, gsrt_span_of(words, sizeof *words));
}

/* Keep an authenticated connection. */
static bool adopt(gsrt_sentinel *s, uint32_t peer, int fd)
{
    int yes = 1;
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    struct epoll_event event = {.events = EPOLLIN | EPOLLRDHUP, .data.u32 = peer};
    if (epoll_ctl(s->epoll, EPOLL_CTL_ADD, fd, &event) != 0)
        return false;
    s->fds[peer] = fd;
    s->peer_count++;
    return true;
}

/* The connector's half of the handshake with `peer`. */
static bool introduce(const gsrt_sentinel *s, uint32_t peer, int fd, const gsrt_secret *secret, uint64_t deadline_ms)
{
    hello words = {0};
    uint64_t proof, answer;
    put_rank(words.from, s->rank);
    put_rank(words.to, peer);
    if (!receive_all(fd, words.nonces[0], NONCE_BYTES, deadline_ms) ||
        gsrt_secret_draw(words.nonces[1], NONCE_BYTES) != GSRT_OK)
        return false;
    proof = prove(secret, &words, 'c');
    return send_all(fd, &words, sizeof words, deadline_ms) && send_all(fd, &proof, sizeof proof, deadline_ms) &&
           receive_all(fd, &answer, sizeof answer, deadline_ms) && answer == prove(secret, &words, 'a');
}

static bool try_address(gsrt_sentinel *s, uint32_t peer, uint32_t address, uint16_t port, const gsrt_secret *secret,
                        uint64_t deadline_ms)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = address};
    uint64_t until_ms = now_ms() + ONE_TRY_MS < deadline_ms ? now_ms() + ONE_TRY_MS : deadline_ms;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return false;
    int error = 0;
    socklen_t error_bytes = sizeof error;
    bool is_connected = connect(fd, (const struct sockaddr *)&to, sizeof to) == 0 ||
                        (errno == EINPROGRESS && await(fd, POLLOUT, until_ms) &&
                         getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &error_bytes) == 0 && error == 0);
    /* the other may still be connecting to those below it: the handshake has the whole time */
    if (is_connected && introduce(s, peer, fd, secret, deadline_ms) && adopt(s, peer, fd))
        return true;
    close(fd);
    return false;
}

/* true: `address` lies in a network of one of ours (by its first 24 bits: only an order of tries). */
static bool is_near(const gsrt_sentinel *s, uint32_t address)
{
    for (uint32_t i = 0; i < s->place.address_count; i++)
        if (((s->place.addresses[i] ^ address) & htonl(0xffffff00u)) == 0)
            return true;
    return false;
}

static bool reach(gsrt_sentinel *s, uint32_t peer, const gsrt_sentinel_place *place, const gsrt_secret *secret,
                  uint64_t deadline_ms)
{
    if (strcmp(place->host, s->place.host) == 0 &&
        try_address(s, peer, htonl(INADDR_LOOPBACK), place->port, secret, deadline_ms))
        return true;
    for (int near = 1; near >= 0; near--)
        for (uint32_t i = 0; i < place->address_count && now_ms() < deadline_ms; i++)
            if (is_near(s, place->addresses[i]) == (near == 1) &&
                try_address(s, peer, place->addresses[i], place->port, secret, deadline_ms))
                return true;
    return false;
}

/* Take one connection and hear who it is; strangers are turned away. false: nobody came in time. */
static bool accept_one(gsrt_sentinel *s, const gsrt_secret *secret, uint64_t deadline_ms)
{
    if (!await(s->listener, POLLIN, deadline_ms))
        return false;
    int fd = accept4(s->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0)
        return errno == EAGAIN || errno == EINTR || errno == ECONNABORTED;
    uint64_t until_ms = now_ms() + ONE_TRY_MS < deadline_ms ? now_ms() + ONE_TRY_MS : deadline_ms;
    uint8_t nonce[NONCE_BYTES];
    hello words;
    uint64_t proof;
    bool has_spoken = gsrt_secret_draw(nonce, sizeof nonce) == GSRT_OK && send_all(fd, nonce, sizeof nonce, until_ms) &&
                      receive_all(fd, &words, sizeof words, until_ms) &&
                      receive_all(fd, &proof, sizeof proof, until_ms);
    uint32_t from = has_spoken ? (uint32_t)(words.from[0] | words.from[1] << 8) : 0;
    bool is_ours = has_spoken && from < s->rank_count && from > s->rank && s->fds[from] < 0 &&
                   (uint32_t)(words.to[0] | words.to[1] << 8) == s->rank &&
                   memcmp(words.nonces[0], nonce, sizeof nonce) == 0 && proof == prove(secret, &words, 'c');
    uint64_t answer = is_ours ? prove(secret, &words, 'a') : 0;
    if (!is_ours || !send_all(fd, &answer, sizeof answer, until_ms) || !adopt(s, from, fd))
        close(fd);
    return true;
}

gsrt_status gsrt_sentinel_connect(gsrt_sentinel *sentinel, const gsrt_sentinel_place *places, const gsrt_secret *secret,
                                  uint32_t timeout_ms, gsrt_diag *diag)
{
    uint64_t deadline_ms = now_ms() + timeout_ms;
    char text[32];
    for (uint32_t peer = 0; peer < sentinel->rank; peer++) {
        (void)snprintf(text, sizeof text, "rank %u", peer);
        if (!reach(sentinel, peer, &places[peer], secret, deadline_ms))
            return gsrt_diag_set(diag, GSRT_ELINK, NULL, text,
                                 "cannot be reached over TCP from rank %u (host %s, port %u); is there a firewall "
                                 "between the hosts",
                                 sentinel->rank, places[peer].host, places[peer].port);
    }
    while (sentinel->peer_count + 1 < sentinel->rank_count)
        if (!accept_one(sentinel, secret, deadline_ms))
            break;
    for (uint32_t peer = sentinel->rank + 1; peer < sentinel->rank_count; peer++) {
        (void)snprintf(text, sizeof text, "rank %u", peer);
        if (sentinel->fds[peer] < 0)
            return gsrt_diag_set(diag, GSRT_ETIMEDOUT, NULL, text, "has not connected to rank %u within %u ms",
                                 sentinel->rank, timeout_ms);
    }
    close(sentinel->listener);
    sentinel->listener = -1;
    return GSRT_OK;
}

/* ---- watching ---- */

int gsrt_sentinel_fd(const gsrt_sentinel *sentinel)
{
    return sentinel->epoll;
}

gsrt_status gsrt_sentinel_watch(gsrt_sentinel *sentinel, int fd)
{
    struct epoll_event event = {.events = EPOLLIN, .data.u32 = UINT32_MAX}; /* no peer: poll passes over it */
    return epoll_ctl(sentinel->epoll, EPOLL_CTL_ADD, fd, &event) == 0 ? GSRT_OK : GSRT_EIO;
}

/* What came on the connection of `peer`. true: it is gone. */
static bool is_gone(gsrt_sentinel *s, uint32_t peer)
{
    uint8_t said[16];
    for (;;) {
        ssize_t n = recv(s->fds[peer], said, sizeof said, 0);
        if (n > 0)
            s->is_leaving[peer] = said[n - 1] == LEAVING;
        else if (n == 0 || (errno != EAGAIN && errno != EINTR))
            return true;
        else if (errno == EAGAIN)
            return s->is_leaving[peer]; /* its word is enough */
    }
}

bool gsrt_sentinel_poll(gsrt_sentinel *sentinel, uint32_t *out_peer, bool *out_is_leaving)
{
    struct epoll_event events[16];
    int n = epoll_wait(sentinel->epoll, events, 16, 0);
    for (int i = 0; i < n; i++) {
        uint32_t peer = events[i].data.u32;
        if (peer >= sentinel->rank_count || sentinel->fds[peer] < 0 || !is_gone(sentinel, peer))
            continue;
        *out_peer = peer;
        *out_is_leaving = sentinel->is_leaving[peer];
        gsrt_sentinel_drop(sentinel, peer);
        return true;
    }
    return false;
}

void gsrt_sentinel_drop(gsrt_sentinel *sentinel, uint32_t peer)
{
    if (peer >= sentinel->rank_count || sentinel->fds[peer] < 0)
        return;
    close(sentinel->fds[peer]); /* leaves the epoll set by itself */
    sentinel->fds[peer] = -1;
    sentinel->peer_count--;
}

void gsrt_sentinel_leave(gsrt_sentinel *sentinel)
{
    uint8_t word = LEAVING;
    for (uint32_t peer = 0; peer < sentinel->rank_count; peer++)
        if (sentinel->fds[peer] >= 0)
            (void)send(sentinel->fds[peer], &word, 1, MSG_NOSIGNAL | MSG_DONTWAIT);
}

uint32_t gsrt_sentinel_peer_count(const gsrt_sentinel *sentinel)
{
    return sentinel->peer_count;
}
