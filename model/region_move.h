/* Inside model: what a region has to do with moves (placement/scheduler_move.c): its pages to the region that follows
 * it, and from the one that it follows. Both are lowered alike, so that a page is copied as it lies.
 *
 *   COPY from the scheduler -> PAGES -> the other region -> PAGES_TAKEN -> PAGES ... -> COPIED to the scheduler
 *
 * One PAGES is out at a time: what is copied waits in no queue, and COPIED means that all of it is there.
 */
#ifndef GSRT_MODEL_REGION_MOVE_H
#define GSRT_MODEL_REGION_MOVE_H

#include "model/region_actor.h"

/* A COPY that has not been answered; zeroed: none. */
typedef struct gsrt__region_copy {
    gsrt_address region; /* that it goes to; GSRT_NOBODY: no COPY */
    uint32_t *blocks;    /* [block_count]; owned */
    uint32_t block_count, taken_count, sent_count;
    bool is_held;
    bool has_begun;
    uint64_t bytes;
} gsrt__region_copy;

/* Take note of it. GSRT_OK | GSRT_EINVAL: one is going on, or there is no such block | GSRT_ENOMEM. */
GSRT_MUST_CHECK gsrt_status gsrt__region_copy_note(gsrt__region_copy *copy, const gsrt_region_options *options,
                                                   const gsrt_msg_copy *message);
/* Send the next pages, or say COPIED. Errors as gsrt_courier_send. */
GSRT_MUST_CHECK gsrt_status gsrt__region_copy_go_on(gsrt__region_copy *copy, gsrt_actor *self,
                                                    const gsrt_region_options *options);
/* What was sent last is there. GSRT_OK | GSRT_EINVAL: it was not so much | as above. */
GSRT_MUST_CHECK gsrt_status gsrt__region_copy_taken(gsrt__region_copy *copy, gsrt_actor *self,
                                                    const gsrt_region_options *options,
                                                    const gsrt_msg_pages_taken *message);
void gsrt__region_copy_fini(gsrt__region_copy *copy);

/* The other side: put the pages where they belong, and say so. GSRT_OK | GSRT_EINVAL: there is no such block, or the
 * payload has another size | as above. */
GSRT_MUST_CHECK gsrt_status gsrt__region_take_pages(gsrt_actor *self, const gsrt_region_options *options,
                                                    const gsrt_message *message);

#endif
