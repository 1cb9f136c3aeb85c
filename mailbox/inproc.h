/* The in-process transport: the endpoints of a whole job in one process, each used by its own thread.
 *
 * Messages pass through the codec as on a wire (so the same things are refused); payloads are shared by reference. An
 * endpoint that is freed or cut is a lost peer to the others. Thread: create anywhere; then each endpoint belongs to
 * one thread. Memory: per pair of endpoints at most GSRT_SENDS_IN_FLIGHT_MAX messages of GSRT_SEND_BYTES_IN_FLIGHT_MAX
 * bytes that were posted and not received yet. Cost: two locks and one allocation per message.
 */
#ifndef GSRT_MAILBOX_INPROC_H
#define GSRT_MAILBOX_INPROC_H

#include "mailbox/transport.h"

/* rank_count endpoints that reach each other (and themselves); out[rank] owned, freed one by one by ops->free.
 * GSRT_OK | GSRT_EINVAL: rank_count is 0 or past GSRT_RANK_COUNT_MAX | GSRT_ENOMEM | GSRT_EIO: no eventfd. */
GSRT_MUST_CHECK gsrt_status gsrt_inproc_create(uint32_t rank_count, gsrt_transport **out);

#endif
