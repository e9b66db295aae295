/* SPDX-License-Identifier: BSD-3-Clause */
#include "writer/extent_list.h"

#include <errno.h>
#include <stdlib.h>

int extent_list_reserve(struct extent_list *list, size_t more)
{
    size_t capacity = 2 * list->capacity > list->n + more ? 2 * list->capacity
                                                          : list->n + more;
    struct extent *extents;

    if (list->capacity - list->n >= more)
        return 0;
    extents = realloc(list->extents, capacity * sizeof(extents[0]));
    if (!extents)
        return -ENOMEM;
    list->extents = extents;
    list->capacity = capacity;
    return 0;
}

void extent_list_add(struct extent_list *list, uint64_t off, uint64_t len)
{
    list->extents[list->n++] = (struct extent){ off, len };
}

static int compare_extents(const void *a, const void *b)
{
    const struct extent *x = a;
    const struct extent *y = b;

    return (x->off > y->off) - (x->off < y->off);
}

void extent_list_sort(struct extent_list *list)
{
    if (list->n > 0)
        qsort(list->extents, list->n, sizeof(list->extents[0]),
              compare_extents);
}

bool extent_list_has(const struct extent_list *list, uint64_t off)
{
    const struct extent key = { .off = off };

    return list->n > 0 &&
           bsearch(&key, list->extents, list->n, sizeof(key), compare_extents);
}

void extent_list_free(struct extent_list *list)
{
    free(list->extents);
    *list = (struct extent_list){ 0 };
}

void extent_list_merge(struct extent_list *list)
{
    size_t n = 0;

    extent_list_sort(list);
    for (size_t i = 0; i < list->n; i++) {
        const struct extent *next = &list->extents[i];
        struct extent *last = n > 0 ? &list->extents[n - 1] : NULL;

        if (last && next->off <= last->off + last->len) {
            if (next->off + next->len > last->off + last->len)
                last->len = next->off + next->len - last->off;
        } else {
            list->extents[n++] = *next;
        }
    }
    list->n = n;
}
