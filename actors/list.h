/* An intrusive, circular, doubly linked list: no memory of its own, O(1) everything but walking.
 *
 *     list --> first --> ... --> last --+      an empty list points to itself; a node that is in no list, too
 *       ^-------------------------------+
 */
#ifndef GSRT_ACTORS_LIST_H
#define GSRT_ACTORS_LIST_H

#include <stdbool.h>
#include <stddef.h>

typedef struct gsrt__list {
    struct gsrt__list *next, *previous;
} gsrt__list;

/* The struct of `type` that `node` is the `member` of. */
#define GSRT__ITEM_OF(node, type, member) ((type *)(void *)((char *)(node)-offsetof(type, member)))

static inline void gsrt__list_init(gsrt__list *list)
{
    list->next = list->previous = list;
}

static inline bool gsrt__list_is_empty(const gsrt__list *list)
{
    return list->next == list;
}

static inline void gsrt__list_append(gsrt__list *list, gsrt__list *node)
{
    node->previous = list->previous;
    node->next = list;
    list->previous->next = node;
    list->previous = node;
}

/* Also legal for a node that is in no list. */
static inline void gsrt__list_remove(gsrt__list *node)
{
    node->previous->next = node->next;
    node->next->previous = node->previous;
    gsrt__list_init(node);
}

#endif
