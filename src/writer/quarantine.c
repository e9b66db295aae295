/* SPDX-License-Identifier: BSD-3-Clause */
#include "writer/quarantine.h"

#include <errno.h>
#include <stdlib.h>

void quarantine_fini(struct quarantine *quarantine)
{
    free(quarantine->extents);
    *quarantine = (struct quarantine){ 0 };
}

/* Double the capacity, and move the oldest extent to the front. */
static int grow(struct quarantine *quarantine)
{
    size_t capacity = quarantine->capacity > 0 ? 2 * quarantine->capacity : 16;
    struct quarantined_extent *extents = malloc(capacity * sizeof(extents[0]));

    if (!extents)
        return -ENOMEM;
    for (size_t i = 0; i < quarantine->n; i++)
        extents[i] =
            quarantine->extents[(quarantine->first + i) % quarantine->capacity];
    free(quarantine->extents);
    quarantine->extents = extents;
    quarantine->capacity = capacity;
    quarantine->first = 0;
    return 0;
}

int quarantine_add(struct quarantine *quarantine, const struct extent *extent,
                   int64_t until)
{
    if (quarantine->n == quarantine->capacity && grow(quarantine) < 0)
        return -ENOMEM;
    quarantine
        ->extents[(quarantine->first + quarantine->n) % quarantine->capacity] =
        (struct quarantined_extent){ *extent, until };
    quarantine->n++;
    quarantine->len += extent->len;
    return 0;
}

bool quarantine_is_due(const struct quarantine *quarantine, int64_t now,
                       uint64_t max)
{
    return quarantine->n > 0 &&
           (quarantine->extents[quarantine->first].until <= now ||
            quarantine->len > max);
}

bool quarantine_take(struct quarantine *quarantine, int64_t now, uint64_t max,
                     struct extent *out)
{
    if (!quarantine_is_due(quarantine, now, max))
        return false;
    *out = quarantine->extents[quarantine->first].extent;
    quarantine->len -= out->len;
    quarantine->first = (quarantine->first + 1) % quarantine->capacity;
    quarantine->n--;
    return true;
}
