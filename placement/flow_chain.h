/* A chain: nodes in groups, one after the other; all nodes of a group hold the same layers. Inside placement/.
 *
 * What the search walks over. For a wanted flow F each group has a length (the most layers with which its nodes pass F
 * together), each joint between groups a lack (what its links cannot carry of F). The chain serves F when the lengths
 * reach over all layers and nothing lacks.
 *
 *     nodes    5  0  3  7  2  1 | 4        node 4 is spare, used = 6
 *     begins   x  x     x     x            groups {5} {0 3} {7 2} {1}
 */
#ifndef GSRT_PLACEMENT_FLOW_CHAIN_H
#define GSRT_PLACEMENT_FLOW_CHAIN_H

#include "placement/flow_instance.h"

typedef struct gsrt_flow_place {
    double lack;   /* between the group that begins here and the one before; < 0: not known */
    double almost; /* of that group */
    uint16_t node;
    uint16_t length; /* of that group; GSRT_FLOW_UNKNOWN */
    bool begins;     /* a group begins here; true at 0 */
} gsrt_flow_place;

enum { GSRT_FLOW_UNKNOWN = UINT16_MAX };

typedef struct gsrt_flow_chain {
    gsrt_flow_place *places; /* [node_count] in order; from `used` on the spare nodes */
    uint32_t used;
} gsrt_flow_chain;

/* A wanted flow, and what each node does for it alone. */
typedef struct gsrt_flow_target {
    gsrt_flow_amount wanted; /* > 0 */
    uint16_t *lengths;       /* [node_count] */
    double *almost;          /* [node_count] share of `wanted` that it passes with one layer more */
} gsrt_flow_target;

/* How far a chain is from serving F. */
typedef struct gsrt_flow_distance {
    double total;         /* layers that are missing, lacks, and a little less for what is almost another layer */
    uint32_t layer_count; /* sum of lengths */
    bool is_served;
} gsrt_flow_distance;

/* All spare, room from the arena. GSRT_OK | GSRT_ENOMEM. */
GSRT_MUST_CHECK gsrt_status gsrt_flow_chain_init(gsrt_flow_chain *chain, gsrt_arena *arena, uint32_t node_count);
void gsrt_flow_chain_copy(gsrt_flow_chain *to, const gsrt_flow_chain *from, uint32_t node_count);

/* Moves; O(nodes). `from` < node_count, the others < used. */
/* The node at `from` goes to position `to` <= used (counted without it), where it begins a group or joins the one
 * before; at 0 it begins one. */
void gsrt_flow_chain_move(gsrt_flow_chain *chain, uint32_t from, uint32_t to, bool begins);
/* The node at `from` becomes the first spare one. */
void gsrt_flow_chain_spare(gsrt_flow_chain *chain, uint32_t from);
void gsrt_flow_chain_swap(gsrt_flow_chain *chain, uint32_t from, uint32_t with);
/* A group begins at `at` > 0 where none did, or none any more. */
void gsrt_flow_chain_cut(gsrt_flow_chain *chain, uint32_t at);
/* The groups of these two positions, and all between, in reverse order. */
void gsrt_flow_chain_reverse(gsrt_flow_chain *chain, uint32_t first, uint32_t last);

/* Room from the arena; then set as often as another flow is wanted. GSRT_OK | GSRT_ENOMEM. */
GSRT_MUST_CHECK gsrt_status gsrt_flow_target_init(gsrt_flow_target *target, gsrt_arena *arena, uint32_t node_count);
void gsrt_flow_target_set(gsrt_flow_target *target, const gsrt_flow_instance *instance, gsrt_flow_amount wanted);

/* Forget what is known of groups: another flow is wanted. */
void gsrt_flow_chain_forget(gsrt_flow_chain *chain);
/* Finds out what is not known any more, which moves forgot. A group of length 0 cannot pass F at all, and is passed
 * over. O(groups), and O(nodes of the group * layers) for each that changed. */
gsrt_flow_distance gsrt_flow_chain_distance(const gsrt_flow_instance *instance, gsrt_flow_chain *chain,
                                            const gsrt_flow_target *target);
/* The placement of a chain whose distance was found: what is too much is taken from the weakest groups. The chain
 * forgets its lengths. */
void gsrt_flow_chain_holds(const gsrt_flow_instance *instance, gsrt_flow_chain *chain, gsrt_flow_hold *holds);

#endif
