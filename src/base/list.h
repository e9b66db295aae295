/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BASE_LIST_H
#define BASE_LIST_H

#include <stdbool.h>
#include <stddef.h>

/*
 * A circular, doubly linked list.  Nodes are embedded in the structs that they
 * link.  The head is a node too; a node that is in no list points at itself.
 */
struct list {
    struct list *prev;
    struct list *next;
};

/* The struct of `type` that contains `node` as its member `member`. */
#define list_entry(node, type, member) \
    ((type *)(void *)((char *)(node)-offsetof(type, member)))

#define list_for_each(node, head) \
    for (struct list *node = (head)->next; node != (head); node = node->next)

/* The loop body may remove `node` from the list. */
#define list_for_each_safe(node, head)                                \
    for (struct list *node = (head)->next, *node##_next = node->next; \
         node != (head); node = node##_next, node##_next = node##_next->next)

/* Begin a list that is empty, or a node that is in no list. */
static inline void list_init(struct list *list)
{
    list->prev = list;
    list->next = list;
}

/* Does a list have no nodes?  For a node: is it in no list? */
static inline bool list_empty(const struct list *list)
{
    return list->next == list;
}

/* Add `node`, which is in no list, at the end of `head`. */
static inline void list_append(struct list *head, struct list *node)
{
    node->prev = head->prev;
    node->next = head;
    head->prev->next = node;
    head->prev = node;
}

/* Add `node`, which is in no list, at the start of `head`. */
static inline void list_prepend(struct list *head, struct list *node)
{
    list_append(head->next, node);
}

/* Remove `node` from its list; does nothing if it is in no list. */
static inline void list_remove(struct list *node)
{
    node->prev->next = node->next;
    node->next->prev = node->prev;
    list_init(node);
}

#endif
