/* SPDX-License-Identifier: BSD-3-Clause */
#include "writer/extent_map.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int extent_map_init(struct extent_map *map)
{
    const size_t capacity = 8;

    *map = (struct extent_map){ 0 };
    map->free = calloc(capacity, sizeof(map->free[0]));
    if (!map->free)
        return -ENOMEM;
    map->free[0].len = UINT64_MAX;
    map->nfree = 1;
    map->capacity = capacity;
    return 0;
}

void extent_map_fini(struct extent_map *map)
{
    free(map->free);
    *map = (struct extent_map){ 0 };
}

static uint64_t end_of(const struct extent *extent)
{
    return extent->off + extent->len;
}

/* The first free extent that ends behind `off`; the last one always does. */
static size_t find(const struct extent_map *map, uint64_t off)
{
    size_t low = 0;
    size_t high = map->nfree - 1;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (end_of(&map->free[middle]) > off)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

static int insert(struct extent_map *map, size_t at, uint64_t off, uint64_t len)
{
    if (map->nfree == map->capacity) {
        size_t capacity = 2 * map->capacity;
        struct extent *extents =
            realloc(map->free, capacity * sizeof(extents[0]));

        if (!extents)
            return -ENOMEM;
        map->free = extents;
        map->capacity = capacity;
    }
    memmove(map->free + at + 1, map->free + at,
            (map->nfree - at) * sizeof(map->free[0]));
    map->free[at] = (struct extent){ off, len };
    map->nfree++;
    return 0;
}

static void erase(struct extent_map *map, size_t at)
{
    map->nfree--;
    memmove(map->free + at, map->free + at + 1,
            (map->nfree - at) * sizeof(map->free[0]));
}

/* Cut [off, off + len), which lies inside, out of a free extent. */
static int cut(struct extent_map *map, size_t at, uint64_t off, uint64_t len)
{
    struct extent *extent = &map->free[at];
    uint64_t behind = end_of(extent) - (off + len);

    if (off == extent->off && behind == 0) {
        erase(map, at);
        return 0;
    }
    if (off == extent->off) {
        extent->off += len;
        extent->len -= len;
        return 0;
    }
    if (behind > 0) {
        int r = insert(map, at + 1, off + len, behind);

        if (r < 0)
            return r;
    }
    map->free[at].len = off - map->free[at].off;
    return 0;
}

bool extent_map_is_free(const struct extent_map *map, uint64_t off)
{
    return map->free[find(map, off)].off <= off;
}

int extent_map_alloc_at(struct extent_map *map, uint64_t off, uint64_t len)
{
    size_t at = find(map, off);
    const struct extent *extent = &map->free[at];

    if (len == 0)
        return 0;
    if (extent->off > off || end_of(extent) - off < len)
        return -EEXIST;
    return cut(map, at, off, len);
}

int extent_map_alloc_all(struct extent_map *map, uint64_t off, uint64_t len)
{
    uint64_t end = off + len;

    for (size_t at = find(map, off); map->free[at].off < end;
         at = find(map, off)) {
        const struct extent *extent = &map->free[at];
        uint64_t first = extent->off > off ? extent->off : off;
        uint64_t last = end_of(extent) < end ? end_of(extent) : end;
        int r = cut(map, at, first, last - first);

        if (r < 0)
            return r;
        off = last;
    }
    return 0;
}

bool extent_map_alloc_next(struct extent_map *map, uint64_t off, uint64_t end,
                           struct extent *out)
{
    size_t at = find(map, off);
    const struct extent *extent = &map->free[at];
    struct extent part;

    if (at + 1 == map->nfree || extent->off >= end)
        return false;
    part.off = extent->off > off ? extent->off : off;
    part.len = (end_of(extent) < end ? end_of(extent) : end) - part.off;
    if (cut(map, at, part.off, part.len) < 0)
        return false;
    *out = part;
    return true;
}

int extent_map_alloc(struct extent_map *map, uint64_t from, uint64_t len,
                     uint64_t *out)
{
    for (size_t at = find(map, from); at < map->nfree; at++) {
        const struct extent *extent = &map->free[at];
        uint64_t off = extent->off > from ? extent->off : from;

        if (end_of(extent) - off >= len) {
            *out = off;
            return cut(map, at, off, len);
        }
    }
    return -ENOMEM;
}

int extent_map_alloc_before(struct extent_map *map, uint64_t end, uint64_t len,
                            uint64_t *out)
{
    for (size_t at = 0; map->free[at].off < end; at++)
        if (map->free[at].len >= len) {
            *out = map->free[at].off;
            return cut(map, at, *out, len);
        }
    return -ENOSPC;
}

void extent_map_free(struct extent_map *map, uint64_t off, uint64_t len)
{
    size_t at = find(map, off);
    struct extent *next = &map->free[at];
    struct extent *prev = at > 0 ? next - 1 : NULL;

    if (len == 0)
        return;
    if (prev && end_of(prev) == off) {
        prev->len += len;
        if (end_of(prev) == next->off) {
            prev->len += next->len;
            erase(map, at);
        }
    } else if (off + len == next->off) {
        next->off = off;
        next->len += len;
    } else {
        insert(map, at, off, len);
    }
}

struct extent extent_map_widen(struct extent_map *map, uint64_t off,
                               uint64_t len, uint64_t most)
{
    struct extent wide = { off, len };
    size_t at = find(map, off);
    struct extent *next = &map->free[at];

    if (at + 1 < map->nfree && next->off == off + len) {
        uint64_t n = next->len < most ? next->len : most;

        wide.len += n;
        cut(map, at, next->off, n);
    }
    if (at > 0 && end_of(&map->free[at - 1]) == off) {
        struct extent *prev = &map->free[at - 1];
        uint64_t n = prev->len < most ? prev->len : most;

        wide.off -= n;
        wide.len += n;
        prev->len -= n;
        if (prev->len == 0)
            erase(map, at - 1);
    }
    return wide;
}

uint64_t extent_map_end(const struct extent_map *map)
{
    return map->free[map->nfree - 1].off;
}
