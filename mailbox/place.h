/* Where a process can be reached over TCP: its host, a port there, and the host's addresses.
 * Thread: any; no state.
 */
#ifndef GSRT_MAILBOX_PLACE_H
#define GSRT_MAILBOX_PLACE_H

#include "base/msgpack.h"

enum { GSRT_PLACE_ADDRESS_COUNT_MAX = 8, GSRT_HOST_BYTES_MAX = 128, GSRT_PLACE_FIELD_COUNT = 3 };

typedef struct gsrt_place {
    char host[GSRT_HOST_BYTES_MAX]; /* equal for processes that reach each other over the loopback interface */
    uint16_t port;
    uint32_t address_count;
    uint32_t addresses[GSRT_PLACE_ADDRESS_COUNT_MAX]; /* IPv4, network byte order */
} gsrt_place;

/* Addresses to try, in this order. */
typedef struct gsrt_route {
    uint16_t port;
    uint32_t count;
    uint32_t addresses[GSRT_PLACE_ADDRESS_COUNT_MAX + 1]; /* IPv4, network byte order */
} gsrt_route;

/* The place of this process, without a port. A system call per network interface. */
void gsrt_place_find(gsrt_place *out);

/* A listening TCP socket on a free port of all interfaces, non-blocking; the caller closes it. GSRT_OK | GSRT_EIO. */
GSRT_MUST_CHECK gsrt_status gsrt_place_listen(int *out_fd, uint16_t *out_port);
/* The port that `fd` listens on. GSRT_OK | GSRT_EIO: it does not. */
GSRT_MUST_CHECK gsrt_status gsrt_place_port_of(int fd, uint16_t *out_port);

/* How `from` best reaches port `port` at the host of `to`: loopback, then networks of its own, then the others. */
gsrt_route gsrt_place_route(const gsrt_place *from, const gsrt_place *to, uint16_t port);

/* GSRT_PLACE_FIELD_COUNT values of a record of the caller's; reading checks them, the cursor fails. */
void gsrt_place_pack(gsrt_pack *pack, const gsrt_place *place);
void gsrt_place_unpack(gsrt_unpack *unpack, gsrt_place *out);

#endif
