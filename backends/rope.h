/* The rotary table (docs/numerics.md, section 6): cos and sin per position, computed on first use in blocks of 64
 * positions and then shared by all who read it. Any thread; a block is published once.
 */
#ifndef GSRT_BACKENDS_ROPE_H
#define GSRT_BACKENDS_ROPE_H

#include "backends/program.h"

/* (cos, sin) of pair 0, 1, ..: [dim_rotated / 2][2]; borrowed until the table is freed. NULL: no memory, or position
 * is past the table. Cost: a load, or on a block's first use about 64 * dim_rotated * 25 ns. */
const float *gsrt_rope_row(const gsrt_rope_table *table, uint32_t position);

uint32_t gsrt_rope_dim_rotated(const gsrt_rope_table *table);
bool gsrt_rope_is_neox(const gsrt_rope_table *table);

#endif
