/* Inside model: what a region has to do with snapshots (ckpt/snapshot.h): its cells into one, and out of one. */
#ifndef GSRT_MODEL_REGION_SNAPSHOT_H
#define GSRT_MODEL_REGION_SNAPSHOT_H

#include "model/region_actor.h"

/* Copy what this member is to keep of the blocks that are named: of its layers, the KV heads that no lower member of
 * its group holds too. No job may be writing these blocks. *out owned. GSRT_OK | GSRT_EINVAL: the message does not fit
 * together | GSRT_ENOMEM. Cost: the bytes, once. */
GSRT_MUST_CHECK gsrt_status gsrt__region_collect(const gsrt_region_options *options, const gsrt_msg_snapshot *message,
                                                 gsrt_snapshot_part **out);
/* A copy of block number `block` of `request`, whole and computed, which lies at blocks[block]: all cells that this
 * member holds of it, as a part. Nothing is computed (kv NULL): zeros. Owned; NULL: no memory. Cost: the bytes, once.
 */
gsrt_payload *gsrt__region_copy_block(const gsrt_region_options *options, uint32_t request, uint32_t block,
                                      const uint32_t *blocks);
/* Put the request's leading blocks where the message says, for all layers and heads that this member holds: from
 * options->replica, or from options->snapshot. GSRT_OK | GSRT_EINVAL: there is no such block | GSRT_ENOTFOUND: neither
 * has a cell. */
GSRT_MUST_CHECK gsrt_status gsrt__region_restore(const gsrt_region_options *options, const gsrt_msg_restore *message);

#endif
