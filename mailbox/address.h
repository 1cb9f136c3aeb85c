/* Addresses: of an actor (birth rank, incarnation of that rank's process, serial) or of a role, which the directory
 * resolves to an actor per epoch. 64 bits, so that they go into messages, tables and traces as they are:
 *
 *   63     56 55        40 39        32 31            0
 *   [ tag 8 ][ rank 16    ][ incarn. 8 ][ serial 32   ]   actor: tag 0; serial 0 is nobody
 *   [ tag 8 ][ group 16   ][ 0         ][ member 32   ]   role:  tag = gsrt_role
 */
#ifndef GSRT_MAILBOX_ADDRESS_H
#define GSRT_MAILBOX_ADDRESS_H

#include <stdbool.h>
#include <stdint.h>

typedef uint64_t gsrt_address;

enum { GSRT_NOBODY = 0 };

typedef enum gsrt_role {
    GSRT_ROLE_NODE = 1,  /* the root supervisor of rank `member` */
    GSRT_ROLE_REGION,    /* stage `group`, member `member` */
    GSRT_ROLE_DEVICE,    /* the device of rank `member` */
    GSRT_ROLE_SCHEDULER, /* group 0, member 0 */
    GSRT_ROLE_LINK,      /* this rank's way to rank `member` */
    GSRT_ROLE_GATEWAY,   /* where requests enter and tokens leave: group 0, member 0 */
    GSRT_ROLE_MEMBER,    /* the member actor of rank `member` */
    GSRT_ROLE_REPLICA,   /* the replica of rank `member` */
} gsrt_role;

static inline gsrt_address gsrt_address_of_actor(uint32_t rank, uint32_t incarnation, uint32_t serial)
{
    return (uint64_t)(rank & 0xffffu) << 40 | (uint64_t)(incarnation & 0xffu) << 32 | serial;
}

static inline gsrt_address gsrt_address_of_role(gsrt_role role, uint32_t group, uint32_t member)
{
    return (uint64_t)role << 56 | (uint64_t)(group & 0xffffu) << 40 | member;
}

static inline bool gsrt_address_is_role(gsrt_address address)
{
    return address >> 56 != 0;
}
static inline uint32_t gsrt_address_rank(gsrt_address address)
{
    return (uint32_t)(address >> 40) & 0xffffu;
}
static inline uint32_t gsrt_address_incarnation(gsrt_address address)
{
    return (uint32_t)(address >> 32) & 0xffu;
}
static inline uint32_t gsrt_address_serial(gsrt_address address)
{
    return (uint32_t)address;
}

#endif
