/* Inside placement/fleet_check*.c. */
#ifndef GSRT_PLACEMENT_FLEET_CHECK_H
#define GSRT_PLACEMENT_FLEET_CHECK_H

#include "placement/fleet_impl.h"

typedef struct gsrt__checker {
    const gsrt_fleet *fleet;
    int32_t today;
    gsrt_findings *findings;
} gsrt__checker;

/* Add a finding about `key` of the entry at `where`; key may be NULL. */
void gsrt__find(gsrt__checker *c, const char *reason, const char *where, const char *key, const char *format, ...)
    GSRT_PRINTF(5, 6);

/* A memory that came with an engine, about which everything else is said once? Then both have one `where`. */
bool gsrt__is_onboard(const gsrt_fleet *fleet, const gsrt_part *part);

/* Links, paths, reach, power: what needs more than one entry to be seen (fleet_check_graph.c). */
void gsrt__check_graph(gsrt__checker *c);

#endif
