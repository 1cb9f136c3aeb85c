/* Hamilton's method in integers: the quota of member i is unit_count * shares[i] / total; each gets its floor, and the
 * units that are left go one each to the largest remainders. The products stay below 2^64, since both factors are
 * 32 bits wide. A member without a share has remainder 0, and the units left never outnumber the remainders above 0:
 * it gets none.
 *
 * Groups have at most GSRT_GROUP_RANKS_MAX members, so the quadratic search for the largest remainders needs no memory.
 */
#include "placement/plan.h"

#include <assert.h>

static uint64_t remainder_of(uint32_t unit_count, uint32_t share, uint64_t total)
{
    return (uint64_t)unit_count * share % total;
}

/* How many members come before `member` when the units that are left are handed out. */
static uint32_t precedence_of(uint32_t unit_count, const uint32_t *shares, uint32_t count, uint64_t total,
                              uint32_t member)
{
    uint64_t own = remainder_of(unit_count, shares[member], total);
    uint32_t before = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint64_t other = remainder_of(unit_count, shares[i], total);
        if (other > own || (other == own && i < member))
            before++;
    }
    return before;
}

void gsrt_apportion(uint32_t unit_count, const uint32_t *shares, uint32_t count, uint32_t *out_first)
{
    uint64_t total = 0;
    for (uint32_t i = 0; i < count; i++)
        total += shares[i];
    assert(total > 0);
    uint64_t left = unit_count;
    for (uint32_t i = 0; i < count; i++)
        left -= (uint64_t)unit_count * shares[i] / total;
    out_first[0] = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint64_t units = (uint64_t)unit_count * shares[i] / total;
        if (precedence_of(unit_count, shares, count, total, i) < left)
            units++;
        out_first[i + 1] = out_first[i] + (uint32_t)units;
    }
    assert(out_first[count] == unit_count);
}
