/* SPDX-License-Identifier: BSD-3-Clause */
#include "writer/space.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int space_init(struct space *space)
{
    const size_t room = 8;

    *space = (struct space){ 0 };
    space->free = calloc(room, sizeof(space->free[0]));
    if (!space->free)
        return -ENOMEM;
    space->free[0].len = UINT64_MAX;
    space->nfree = 1;
    space->room = room;
    return 0;
}

void space_fini(struct space *space)
{
    free(space->free);
    *space = (struct space){ 0 };
}

static uint64_t end_of(const struct space_extent *extent)
{
    return extent->off + extent->len;
}

/* The first free extent that ends behind `off`; the last one always does. */
static size_t find(const struct space *space, uint64_t off)
{
    size_t low = 0;
    size_t high = space->nfree - 1;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (end_of(&space->free[middle]) > off)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

static int insert(struct space *space, size_t at, uint64_t off, uint64_t len)
{
    if (space->nfree == space->room) {
        size_t room = 2 * space->room;
        struct space_extent *extents =
            realloc(space->free, room * sizeof(extents[0]));

        if (!extents)
            return -ENOMEM;
        space->free = extents;
        space->room = room;
    }
    memmove(space->free + at + 1, space->free + at,
            (space->nfree - at) * sizeof(space->free[0]));
    space->free[at] = (struct space_extent){ off, len };
    space->nfree++;
    return 0;
}

static void erase(struct space *space, size_t at)
{
    space->nfree--;
    memmove(space->free + at, space->free + at + 1,
            (space->nfree - at) * sizeof(space->free[0]));
}

/* Cut [off, off + len), which lies inside, out of a free extent. */
static int cut(struct space *space, size_t at, uint64_t off, uint64_t len)
{
    struct space_extent *extent = &space->free[at];
    uint64_t behind = end_of(extent) - (off + len);

    if (off == extent->off && behind == 0) {
        erase(space, at);
        return 0;
    }
    if (off == extent->off) {
        extent->off += len;
        extent->len -= len;
        return 0;
    }
    if (behind > 0) {
        int r = insert(space, at + 1, off + len, behind);

        if (r < 0)
            return r;
    }
    space->free[at].len = off - space->free[at].off;
    return 0;
}

bool space_is_free(const struct space *space, uint64_t off)
{
    return space->free[find(space, off)].off <= off;
}

int space_take(struct space *space, uint64_t off, uint64_t len)
{
    size_t at = find(space, off);
    const struct space_extent *extent = &space->free[at];

    if (len == 0)
        return 0;
    if (extent->off > off || end_of(extent) - off < len)
        return -EEXIST;
    return cut(space, at, off, len);
}

int space_fill(struct space *space, uint64_t off, uint64_t len)
{
    uint64_t end = off + len;

    for (size_t at = find(space, off); space->free[at].off < end;
         at = find(space, off)) {
        const struct space_extent *extent = &space->free[at];
        uint64_t first = extent->off > off ? extent->off : off;
        uint64_t last = end_of(extent) < end ? end_of(extent) : end;
        int r = cut(space, at, first, last - first);

        if (r < 0)
            return r;
        off = last;
    }
    return 0;
}

bool space_take_free(struct space *space, uint64_t off, uint64_t end,
                     struct space_extent *out)
{
    size_t at = find(space, off);
    const struct space_extent *extent = &space->free[at];
    struct space_extent part;

    if (at + 1 == space->nfree || extent->off >= end)
        return false;
    part.off = extent->off > off ? extent->off : off;
    part.len = (end_of(extent) < end ? end_of(extent) : end) - part.off;
    if (cut(space, at, part.off, part.len) < 0)
        return false;
    *out = part;
    return true;
}

int space_alloc(struct space *space, uint64_t from, uint64_t len, uint64_t *out)
{
    for (size_t at = find(space, from); at < space->nfree; at++) {
        const struct space_extent *extent = &space->free[at];
        uint64_t off = extent->off > from ? extent->off : from;

        if (end_of(extent) - off >= len) {
            *out = off;
            return cut(space, at, off, len);
        }
    }
    return -ENOMEM;
}

int space_alloc_before(struct space *space, uint64_t end, uint64_t len,
                       uint64_t *out)
{
    for (size_t at = 0; space->free[at].off < end; at++)
        if (space->free[at].len >= len) {
            *out = space->free[at].off;
            return cut(space, at, *out, len);
        }
    return -ENOSPC;
}

void space_give(struct space *space, uint64_t off, uint64_t len)
{
    size_t at = find(space, off);
    struct space_extent *next = &space->free[at];
    struct space_extent *prev = at > 0 ? next - 1 : NULL;

    if (len == 0)
        return;
    if (prev && end_of(prev) == off) {
        prev->len += len;
        if (end_of(prev) == next->off) {
            prev->len += next->len;
            erase(space, at);
        }
    } else if (off + len == next->off) {
        next->off = off;
        next->len += len;
    } else {
        insert(space, at, off, len);
    }
}

struct space_extent space_widen(struct space *space, uint64_t off, uint64_t len,
                                uint64_t most)
{
    struct space_extent wide = { off, len };
    size_t at = find(space, off);
    struct space_extent *next = &space->free[at];

    if (at + 1 < space->nfree && next->off == off + len) {
        uint64_t n = next->len < most ? next->len : most;

        wide.len += n;
        cut(space, at, next->off, n);
    }
    if (at > 0 && end_of(&space->free[at - 1]) == off) {
        struct space_extent *prev = &space->free[at - 1];
        uint64_t n = prev->len < most ? prev->len : most;

        wide.off -= n;
        wide.len += n;
        prev->len -= n;
        if (prev->len == 0)
            erase(space, at - 1);
    }
    return wide;
}

uint64_t space_end(const struct space *space)
{
    return space->free[space->nfree - 1].off;
}
