/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WRITER_EXTENT_LIST_H
#define WRITER_EXTENT_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "writer/extent_map.h"

/* A list of extents of the space of a frame. */
struct extent_list {
    struct extent *extents;
    size_t n;
    size_t capacity;
};

/* Reserve memory for `more` extents behind those in the list.  Returns 0 or
   -ENOMEM. */
int extent_list_reserve(struct extent_list *list, size_t more);

/* Add an extent; the caller has reserved memory. */
void extent_list_add(struct extent_list *list, uint64_t off, uint64_t len);

/* Sort the extents by offset.  extent_list_has() tells whether an extent of a
   sorted list begins at `off`. */
void extent_list_sort(struct extent_list *list);
bool extent_list_has(const struct extent_list *list, uint64_t off);

/* Sort and join extents; afterwards they do not overlap or touch. */
void extent_list_merge(struct extent_list *list);

/* Accepts a zeroed list. */
void extent_list_free(struct extent_list *list);

#endif
