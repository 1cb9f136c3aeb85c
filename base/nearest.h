/* "Did you mean ...?": the known word that is nearest to one that is not known.
 * Any thread. Cost: O(words * length^2), no memory.
 */
#ifndef GSRT_BASE_NEAREST_H
#define GSRT_BASE_NEAREST_H

#include <stddef.h>

/* Edits (insert, delete, replace a byte, swap two neighbours) between a and b. Words of more than 63 bytes are
 * infinitely far from all others: SIZE_MAX. source: optimal string alignment, Damerau 1964, Wagner & Fischer 1974. */
size_t gsrt_edit_distance(const char *a, const char *b);

/* The nearest of known[count], if it is near enough to be meant: at most one edit for every three bytes of the longer
 * word, at least one. Ties: the first. NULL: none. Borrowed from known. */
const char *gsrt_nearest(const char *word, const char *const *known, size_t count);

#endif
