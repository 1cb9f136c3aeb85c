/* A part: what one rank holds to play one role of a plan. Kept when the role goes to another rank, because a plan that
 * was left is often come back to; only its KV pages and workspace are given back meanwhile.
 * Legal order: gsrt_parts_take (for the role of this view), use it until the next view, gsrt_parts_free at the end,
 * after the device was freed. Node's thread.
 */
#ifndef GSRT_LAUNCH_PART_H
#define GSRT_LAUNCH_PART_H

#include "backends/device.h"
#include "launch/loaded.h"
#include "launch/scenario.h"
#include "model/lower.h"

typedef struct gsrt_part {
    struct gsrt_part *next;
    gsrt_plan *plan; /* that it was lowered for; owned */
    uint32_t stage, member;
    gsrt_lowered *lowered; /* is_raw: has to be narrowed before it can be used */
    bool is_packed;
    gsrt_kv *kv;               /* NULL: nothing is computed, or the part rests */
    gsrt_workspace *workspace; /* likewise */
} gsrt_part;

typedef struct gsrt_parts {
    const gsrt_scenario *scenario; /* borrowed, like the two below */
    const gsrt_loaded *loaded;
    gsrt_device *device; /* NULL: nothing is computed */
    gsrt_part *first;    /* every part that was ever taken; owned */
} gsrt_parts;

/* KV blocks of every region: as the scenario says, or as many as its admitted requests can need at most. */
uint32_t gsrt_part_kv_blocks(const gsrt_scenario *scenario, uint32_t context_max);

/* The part for (stage, member) of `plan`: one that was made for such a plan before, or a new one. All others rest from
 * now on. The device has no job left. *out borrowed until gsrt_parts_free. Where it is raw (part->lowered->is_raw), it
 * cannot be used yet: call gsrt_lowered_narrow, on whatever thread, and then this again.
 * GSRT_OK | GSRT_ENOMEM | GSRT_EUNSUPPORTED (gsrt_lower). Cost: lowering, and asking for the matrices to be packed. */
GSRT_MUST_CHECK gsrt_status gsrt_parts_take(gsrt_parts *parts, const gsrt_plan *plan, uint32_t stage, uint32_t member,
                                            gsrt_part **out);
/* Give back what only a part in use needs, of all parts but `kept` (NULL: of all). */
void gsrt_parts_rest(gsrt_parts *parts, const gsrt_part *kept);
void gsrt_parts_free(gsrt_parts *parts);

#endif
