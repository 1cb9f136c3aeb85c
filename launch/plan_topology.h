/* The fleet as text: what stands where, what of it the plan uses, and what joins it. */
#ifndef GSRT_LAUNCH_PLAN_TOPOLOGY_H
#define GSRT_LAUNCH_PLAN_TOPOLOGY_H

#include "launch/planning.h"

/* Append a line for each place and part, indented by where it stands, then one for each link:
 *     rack x 2
 *       node x 4
 *         * gpu x 8: matmul 989 Top/s, 80 GB at 3.35 TB/s
 *     gpu <-> mesh: 450 GB/s, 1 us
 * An asterisk: the choice uses it. Errors as gsrt_buffer_append. */
GSRT_MUST_CHECK gsrt_status gsrt_plan_topology(const gsrt_planning *planning, gsrt_buffer *out);

#endif
