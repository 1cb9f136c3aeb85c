#include "mailbox/place.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BACKLOG = 1024 };

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

static void list_addresses(gsrt_place *place)
{
    struct ifaddrs *list;
    if (getifaddrs(&list) != 0)
        return;
    for (const struct ifaddrs *i = list; i != NULL && place->address_count < GSRT_PLACE_ADDRESS_COUNT_MAX;
         i = i->ifa_next) {
        bool is_usable = i->ifa_addr != NULL && i->ifa_addr->sa_family == AF_INET && (i->ifa_flags & IFF_UP) != 0 &&
                         (i->ifa_flags & IFF_LOOPBACK) == 0;
        if (is_usable)
            place->addresses[place->address_count++] =
                ((const struct sockaddr_in *)(const void *)i->ifa_addr)->sin_addr.s_addr;
    }
    freeifaddrs(list);
}

void gsrt_place_find(gsrt_place *out)
{
    *out = (gsrt_place){0};
    name_host(out->host);
    list_addresses(out);
}

gsrt_status gsrt_place_port_of(int fd, uint16_t *out_port)
{
    struct sockaddr_in address;
    socklen_t address_bytes = sizeof address;
    int is_listening = 0;
    socklen_t option_bytes = sizeof is_listening;
    if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &is_listening, &option_bytes) != 0 || !is_listening ||
        getsockname(fd, (struct sockaddr *)&address, &address_bytes) != 0 || address.sin_family != AF_INET)
        return GSRT_EIO;
    *out_port = ntohs(address.sin_port);
    return GSRT_OK;
}

gsrt_status gsrt_place_listen(int *out_fd, uint16_t *out_port)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_ANY)};
    if (fd < 0)
        return GSRT_EIO;
    if (bind(fd, (const struct sockaddr *)&address, sizeof address) != 0 || listen(fd, BACKLOG) != 0 ||
        gsrt_place_port_of(fd, out_port) != GSRT_OK) {
        close(fd);
        return GSRT_EIO;
    }
    *out_fd = fd;
    return GSRT_OK;
}

/* true: `address` lies in a network of one of ours (by its first 24 bits: only an order of tries). */
static bool is_near(const gsrt_place *from, uint32_t address)
{
    for (uint32_t i = 0; i < from->address_count; i++)
        if (((from->addresses[i] ^ address) & htonl(0xffffff00u)) == 0)
            return true;
    return false;
}

gsrt_route gsrt_place_route(const gsrt_place *from, const gsrt_place *to, uint16_t port)
{
    gsrt_route route = {.port = port};
    if (strcmp(from->host, to->host) == 0)
        route.addresses[route.count++] = htonl(INADDR_LOOPBACK);
    for (int near = 1; near >= 0; near--)
        for (uint32_t i = 0; i < to->address_count; i++)
            if (is_near(from, to->addresses[i]) == (near == 1))
                route.addresses[route.count++] = to->addresses[i];
    return route;
}

void gsrt_place_pack(gsrt_pack *pack, const gsrt_place *place)
{
    gsrt_pack_text(pack, place->host);
    gsrt_pack_uint(pack, place->port);
    gsrt_pack_bin(pack, gsrt_span_of(place->addresses, place->address_count * sizeof place->addresses[0]));
}

void gsrt_place_unpack(gsrt_unpack *unpack, gsrt_place *out)
{
    *out = (gsrt_place){0};
    gsrt_span host = gsrt_unpack_str(unpack, sizeof out->host - 1);
    out->port = (uint16_t)gsrt_unpack_uint(unpack, UINT16_MAX);
    gsrt_span addresses = gsrt_unpack_bin(unpack, sizeof out->addresses);
    if (addresses.len % sizeof out->addresses[0] != 0 || (host.len > 0 && memchr(host.data, 0, host.len) != NULL))
        gsrt_unpack_fail(unpack);
    if (!gsrt_unpack_is_ok(unpack))
        return;
    out->address_count = (uint32_t)(addresses.len / sizeof out->addresses[0]);
    if (addresses.len > 0)
        memcpy(out->addresses, addresses.data, addresses.len);
    if (host.len > 0)
        memcpy(out->host, host.data, host.len);
}
