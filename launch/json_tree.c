#include "launch/json_tree.h"

void gsrt_tree_set(gsrt_tree *tree, const char *key, json_t *value)
{
    if (tree->value == NULL) {
        json_decref(value);
        return;
    }
    if (value == NULL || json_object_set_new(tree->value, key, value) != 0) {
        json_decref(tree->value);
        tree->value = NULL;
    }
}

void gsrt_tree_text(gsrt_tree *tree, const char *key, const char *text)
{
    gsrt_tree_set(tree, key, gsrt_json_text(text));
}

void gsrt_tree_u64(gsrt_tree *tree, const char *key, uint64_t number)
{
    gsrt_tree_set(tree, key, gsrt_json_u64(number));
}

void gsrt_tree_bool(gsrt_tree *tree, const char *key, bool value)
{
    gsrt_tree_set(tree, key, json_boolean(value));
}

void gsrt_tree_real(gsrt_tree *tree, const char *key, double number)
{
    gsrt_tree_set(tree, key, gsrt_json_real(number));
}

json_t *gsrt_tree_append(json_t *array, json_t *item)
{
    if (array != NULL && json_array_append_new(array, item) == 0)
        return array;
    if (array == NULL)
        json_decref(item);
    json_decref(array);
    return NULL;
}

json_t *gsrt_tree_quantity(const gsrt_quantity *quantity)
{
    char unit[32];
    if (!quantity->is_known)
        return json_null();
    gsrt_tree t = {.value = json_object()};
    gsrt_tree_real(&t, "value", quantity->value);
    gsrt_tree_real(&t, "lo", quantity->lo);
    gsrt_tree_real(&t, "hi", quantity->hi);
    gsrt_tree_text(&t, "unit", gsrt_dimension_name(quantity->dimension, unit, sizeof unit));
    gsrt_tree_real(&t, "confidence", quantity->confidence);
    if (quantity->source_text != NULL)
        gsrt_tree_text(&t, "source", quantity->source_text);
    else if (quantity->source != GSRT_SOURCE_NONE)
        gsrt_tree_text(&t, "source", gsrt_source_word(quantity->source));
    return t.value;
}
