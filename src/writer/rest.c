/* SPDX-License-Identifier: BSD-3-Clause */
#include "writer/rest.h"

#include <errno.h>
#include <stdlib.h>

void rest_fini(struct rest *rest)
{
    free(rest->extents);
    *rest = (struct rest){ 0 };
}

/* Double the room, and move the oldest extent to the front. */
static int grow(struct rest *rest)
{
    size_t room = rest->room > 0 ? 2 * rest->room : 16;
    struct rest_extent *extents = malloc(room * sizeof(extents[0]));

    if (!extents)
        return -ENOMEM;
    for (size_t i = 0; i < rest->n; i++)
        extents[i] = rest->extents[(rest->first + i) % rest->room];
    free(rest->extents);
    rest->extents = extents;
    rest->room = room;
    rest->first = 0;
    return 0;
}

int rest_add(struct rest *rest, const struct space_extent *extent,
             int64_t until)
{
    if (rest->n == rest->room && grow(rest) < 0)
        return -ENOMEM;
    rest->extents[(rest->first + rest->n) % rest->room] =
        (struct rest_extent){ *extent, until };
    rest->n++;
    rest->len += extent->len;
    return 0;
}

bool rest_is_due(const struct rest *rest, int64_t now, uint64_t max)
{
    return rest->n > 0 &&
           (rest->extents[rest->first].until <= now || rest->len > max);
}

bool rest_take(struct rest *rest, int64_t now, uint64_t max,
               struct space_extent *out)
{
    if (!rest_is_due(rest, now, max))
        return false;
    *out = rest->extents[rest->first].extent;
    rest->len -= out->len;
    rest->first = (rest->first + 1) % rest->room;
    rest->n--;
    return true;
}
