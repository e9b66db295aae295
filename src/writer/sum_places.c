/* SPDX-License-Identifier: BSD-3-Clause */
#include "writer/sum_places.h"

int sum_places_set(struct sum_places *places, uint64_t off, uint64_t len,
                   bool summed)
{
    struct ranges *unsummed = &places->unsummed;
    int r = ranges_reserve(unsummed, 1);

    if (r < 0)
        return r;
    if (summed)
        ranges_remove(unsummed, off, off + len);
    else if (unsummed->n < SUM_PLACES_MAX)
        ranges_add(unsummed, off, off + len);
    else if (len > 0)
        ranges_add_near(unsummed, off, off + len);
    /* A range was split. */
    if (unsummed->n > SUM_PLACES_MAX)
        ranges_add(unsummed, off, off + len);
    return 0;
}

bool sum_places_have(const struct sum_places *places, uint64_t off)
{
    return !ranges_have(&places->unsummed, off);
}

int sum_places_load(struct sum_places *places, const struct frame_sums *sums)
{
    const struct ranges *from = &sums->unsummed;
    int r = ranges_reserve(&places->unsummed, from->n);

    for (size_t i = 0; i < from->n && r == 0; i++)
        ranges_add(&places->unsummed, from->list[i].first, from->list[i].end);
    return r;
}

void sum_places_free(struct sum_places *places)
{
    ranges_fini(&places->unsummed);
}
