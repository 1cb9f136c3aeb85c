/* Building JSON without a check after each value: what fails for want of memory becomes NULL, and whatever it is put
 * into becomes NULL, too; it is noticed once, when the whole is printed (gsrt_json_print).
 *
 * All functions take what they are given, and free it when they fail.
 */
#ifndef GSRT_LAUNCH_JSON_TREE_H
#define GSRT_LAUNCH_JSON_TREE_H

#include "base/json.h"
#include "placement/quantity.h"

/* An object under construction. Begin with {.value = json_object()}. */
typedef struct gsrt_tree {
    json_t *value; /* owned; NULL: memory ran out */
} gsrt_tree;

void gsrt_tree_set(gsrt_tree *tree, const char *key, json_t *value);
void gsrt_tree_text(gsrt_tree *tree, const char *key, const char *text); /* NULL: null */
void gsrt_tree_u64(gsrt_tree *tree, const char *key, uint64_t number);
void gsrt_tree_bool(gsrt_tree *tree, const char *key, bool value);
void gsrt_tree_real(gsrt_tree *tree, const char *key, double number);

/* `array` with `item` at its end. */
json_t *gsrt_tree_append(json_t *array, json_t *item);

/* {value, lo, hi, unit, confidence}, and source where there is one; null where it is unknown. */
json_t *gsrt_tree_quantity(const gsrt_quantity *quantity);

#endif
