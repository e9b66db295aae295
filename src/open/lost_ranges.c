/* SPDX-License-Identifier: BSD-3-Clause */
#include "open/lost_ranges.h"

enum {
    NRANGES_MAX = 1024,
};

int lost_ranges_init(struct lost_ranges *lost)
{
    /* With this there is always room for the first two ranges, which can become
       one. */
    return ranges_reserve(&lost->ranges, 1);
}

void lost_ranges_fini(struct lost_ranges *lost)
{
    ranges_fini(&lost->ranges);
}

/* Make sure that there is room for one more range. */
static void make_range_free(struct ranges *ranges)
{
    if (ranges->n >= NRANGES_MAX || ranges_reserve(ranges, 1) < 0)
        ranges_merge_closest(ranges);
}

void lost_ranges_add(struct lost_ranges *lost, uint64_t off, uint64_t end,
                     int error)
{
    const struct range *known = ranges_next(&lost->ranges, off);

    if (lost->ranges.n == 0)
        lost->error = error;
    if (!known || known->first > off || known->end < end)
        lost->logged = false;
    make_range_free(&lost->ranges);
    ranges_add(&lost->ranges, off, end);
}

void lost_ranges_remove(struct lost_ranges *lost, uint64_t off, uint64_t end)
{
    if (!lost_ranges_overlap(lost, off, end))
        return;
    make_range_free(&lost->ranges);
    ranges_remove(&lost->ranges, off, end);
}

bool lost_ranges_overlap(const struct lost_ranges *lost, uint64_t off,
                         uint64_t end)
{
    const struct range *range = ranges_next(&lost->ranges, off);

    return range && range->first < end;
}

uint64_t lost_ranges_end(const struct lost_ranges *lost, uint64_t off,
                         uint64_t end)
{
    const struct range *behind = lost->ranges.list + lost->ranges.n;
    const struct range *range = ranges_next(&lost->ranges, off);
    uint64_t found = 0;

    for (; range && range < behind && range->first < end; range++)
        found = range->end < end ? range->end : end;
    return found;
}

bool lost_ranges_hull(const struct lost_ranges *lost, uint64_t *off,
                      uint64_t *end)
{
    const struct ranges *ranges = &lost->ranges;

    if (ranges->n == 0)
        return false;
    *off = ranges->list[0].first;
    *end = ranges->list[ranges->n - 1].end;
    return true;
}

int lost_ranges_error(const struct lost_ranges *lost)
{
    return lost->ranges.n > 0 ? lost->error : 0;
}
