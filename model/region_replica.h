/* Inside model: what a region has to do with replicas (ckpt/replica.h): the blocks that it completes go into its rank's
 * own one, and from there, one part at a time, to its second place. The next part goes when the one before was kept, so
 * that whoever is slow is behind, and nobody waits for it. */
#ifndef GSRT_MODEL_REGION_REPLICA_H
#define GSRT_MODEL_REGION_REPLICA_H

#include "model/region_actor.h"
#include "model/step.h"

typedef struct gsrt__region_stream {
    uint32_t held[GSRT_REQUEST_COUNT_MAX]; /* leading blocks in the own replica, of all cells of this member */
    uint32_t sent[GSRT_REQUEST_COUNT_MAX]; /* of these, at the second place, or not wanted there */
    uint32_t request_end;                  /* one more than the highest that was seen */
    uint32_t next;                         /* the request that is looked at first */
    bool is_waiting;                       /* a part is out, and not KEPT yet */
    bool is_full;                          /* the second place had no room; until the next block is complete */
} gsrt__region_stream;

/* A step has ended, and no job runs: keep the blocks that it completed, and those before them that are not held yet
 * (they were reused, or came from a snapshot). GSRT_OK, also when there was no room | GSRT_ENOMEM.
 * Cost: nothing, but at each block's end its bytes, once. */
GSRT_MUST_CHECK gsrt_status gsrt__region_keep(const gsrt_region_options *options, gsrt__region_stream *stream,
                                              const gsrt__step *step);
/* Send the next part, if one may go. GSRT_OK | GSRT_ENOMEM | as gsrt_courier_send. */
GSRT_MUST_CHECK gsrt_status gsrt__region_send_part(gsrt_actor *self, const gsrt_region_options *options,
                                                   gsrt__region_stream *stream);
/* The second place has answered. */
void gsrt__region_note_kept(gsrt__region_stream *stream, const gsrt_msg_kept *kept);

#endif
