/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/ranges.h"

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
    size_t capacity = 2 * (ranges->n + more);
    struct range *list;

    if (ranges->capacity - ranges->n >= more)
        return 0;
    list = realloc(ranges->list, capacity * sizeof(*list));
    if (!list)
        return -ENOMEM;
    ranges->list = list;
    ranges->capacity = capacity;
    return 0;
}

/* Find the first range that ends at or after a number. */
static size_t find(const struct ranges *ranges, uint64_t number)
{
    size_t low = 0;
    size_t high = ranges->n;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (ranges->list[middle].end < number)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Replace the ranges `from` to `to` - 1 by `n` others. */
static void replace(struct ranges *ranges, size_t from, size_t to,
                    const struct range *by, size_t n)
{
    if (from + n != to)
        memmove(ranges->list + from + n, ranges->list + to,
                (ranges->n - to) * sizeof(*ranges->list));
    memcpy(ranges->list + from, by, n * sizeof(*by));
    ranges->n = ranges->n - (to - from) + n;
}

void ranges_add(struct ranges *ranges, uint64_t first, uint64_t end)
{
    size_t from = find(ranges, first);
    size_t to = from;
    struct range merged;

    if (first >= end)
        return;
    for (; to < ranges->n && ranges->list[to].first <= end; to++) {
        if (ranges->list[to].first < first)
            first = ranges->list[to].first;
        if (ranges->list[to].end > end)
            end = ranges->list[to].end;
    }
    merged = (struct range){ first, end };
    replace(ranges, from, to, &merged, 1);
}

void ranges_remove(struct ranges *ranges, uint64_t first, uint64_t end)
{
    size_t from = find(ranges, first);
    size_t to = from;
    struct range left[2];
    size_t n = 0;

    for (; to < ranges->n && ranges->list[to].first < end; to++) {
        const struct range *range = &ranges->list[to];

        if (range->first < first)
            left[n++] =
                (struct range){ range->first,
                                range->end < first ? range->end : first };
        if (range->end > end)
            left[n++] = (struct range){ end, range->end };
    }
    if (first < end && to > from)
        replace(ranges, from, to, left, n);
}

/* Merge a range with the next one. */
static void merge_with_next(struct ranges *ranges, size_t at)
{
    const struct range merged = { ranges->list[at].first,
                                  ranges->list[at + 1].end };

    replace(ranges, at, at + 2, &merged, 1);
}

/* The length of the gap behind a range; UINT64_MAX if it is the last. */
static uint64_t gap_behind(const struct ranges *ranges, size_t at)
{
    if (at + 1 == ranges->n)
        return UINT64_MAX;
    return ranges->list[at + 1].first - ranges->list[at].end;
}

void ranges_merge_closest(struct ranges *ranges)
{
    size_t at = 0;

    for (size_t i = 1; i + 1 < ranges->n; i++)
        if (gap_behind(ranges, i) < gap_behind(ranges, at))
            at = i;
    merge_with_next(ranges, at);
}

void ranges_add_near(struct ranges *ranges, uint64_t first, uint64_t end)
{
    size_t at = find(ranges, first);
    uint64_t before = at > 0 ? first - ranges->list[at - 1].end : UINT64_MAX;

    if (at == ranges->n)
        first = ranges->list[at - 1].end;
    else if (ranges->list[at].first > end &&
             before < ranges->list[at].first - end)
        first = ranges->list[at - 1].end;
    else if (ranges->list[at].first > end)
        end = ranges->list[at].first;
    ranges_add(ranges, first, end);
}

const struct range *ranges_next(const struct ranges *ranges, uint64_t number)
{
    size_t at = find(ranges, number);

    /* A range that ends right at the number does not contain it. */
    if (at < ranges->n && ranges->list[at].end == number)
        at++;
    return at < ranges->n ? &ranges->list[at] : NULL;
}

bool ranges_have(const struct ranges *ranges, uint64_t number)
{
    const struct range *range = ranges_next(ranges, number);

    return range && range->first <= number;
}
