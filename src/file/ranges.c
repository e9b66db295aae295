/* SPDX-License-Identifier: BSD-3-Clause */
#include "file/ranges.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void ranges_fini(struct ranges *ranges)
{
    free(ranges->list);
    *ranges = (struct ranges){ 0 };
}

int ranges_reserve(struct ranges *ranges, size_t more)
{
    size_t room = 2 * (ranges->n + more);
    struct range *list;

    if (ranges->room - ranges->n >= more)
        return 0;
    list = realloc(ranges->list, room * sizeof(*list));
    if (!list)
        return -ENOMEM;
    ranges->list = list;
    ranges->room = room;
    return 0;
}

/* The first range that ends at or behind a number. */
static size_t find(const struct ranges *ranges, uint64_t chunk_no)
{
    size_t low = 0;
    size_t high = ranges->n;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (ranges->list[middle].end < chunk_no)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

void ranges_add(struct ranges *ranges, uint64_t first, uint64_t end)
{
    size_t from = find(ranges, first);
    size_t to = from;

    if (first >= end)
        return;
    for (; to < ranges->n && ranges->list[to].first <= end; to++) {
        if (ranges->list[to].first < first)
            first = ranges->list[to].first;
        if (ranges->list[to].end > end)
            end = ranges->list[to].end;
    }
    if (ranges->n > 0)
        memmove(ranges->list + from + 1, ranges->list + to,
                (ranges->n - to) * sizeof(*ranges->list));
    ranges->n -= to - from;
    ranges->n++;
    ranges->list[from] = (struct range){ first, end };
}

bool ranges_have(const struct ranges *ranges, uint64_t chunk_no)
{
    /* A range that ends right at the number does not hold it. */
    size_t at = find(ranges, chunk_no + 1);

    return at < ranges->n && ranges->list[at].first <= chunk_no;
}
