#include "base/nearest.h"

#include <stdint.h>
#include <string.h>

enum { WORD_BYTES_MAX = 63 };

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

size_t gsrt_edit_distance(const char *a, const char *b)
{
    size_t a_len = strlen(a), b_len = strlen(b);
    if (a_len > WORD_BYTES_MAX || b_len > WORD_BYTES_MAX)
        return SIZE_MAX;
    size_t rows[3][WORD_BYTES_MAX + 1]; /* of the table, the last three; row i is rows[i % 3] */
    for (size_t j = 0; j <= b_len; j++)
        rows[0][j] = j;
    for (size_t i = 1; i <= a_len; i++) {
        size_t *row = rows[i % 3];
        const size_t *above = rows[(i - 1) % 3];
        row[0] = i;
        for (size_t j = 1; j <= b_len; j++) {
            size_t replaced = above[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
            row[j] = least(least(above[j] + 1, row[j - 1] + 1), replaced);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                row[j] = least(row[j], rows[(i - 2) % 3][j - 2] + 1);
        }
    }
    return rows[a_len % 3][b_len];
}

const char *gsrt_nearest(const char *word, const char *const *known, size_t count)
{
    const char *best = NULL;
    size_t best_distance = SIZE_MAX;
    for (size_t i = 0; i < count; i++) {
        size_t distance = gsrt_edit_distance(word, known[i]);
        size_t word_len = strlen(word), known_len = strlen(known[i]);
        size_t allowed = (word_len > known_len ? word_len : known_len) / 3;
        if (distance < best_distance && distance <= (allowed == 0 ? 1 : allowed)) {
            best = known[i];
            best_distance = distance;
        }
    }
    return best;
}
