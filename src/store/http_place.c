/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>

#include "store/store_http_private.h"

int http_place_new(const struct url *url, struct http_place **out)
{
    struct http_place *place = calloc(1, sizeof(*place));
    int r = place ? url_copy(url, &place->url) : -ENOMEM;

    if (r < 0)
        free(place);
    else
        *out = place;
    return r;
}

void http_place_free(struct http_place *place)
{
    while (place) {
        struct http_place *older = place->older;

        url_fini(&place->url);
        if (place->listener)
            place->listener->free(place->listener);
        free(place);
        place = older;
    }
}

struct store_http_listener *http_store_listener(const struct http_store *store)
{
    return atomic_load(&store->place)->listener;
}

void store_http_set_listener(struct store *store,
                             struct store_http_listener *listener)
{
    atomic_load(&((struct http_store *)store)->place)->listener = listener;
}

const struct url *http_store_url(const struct http_store *store)
{
    return &atomic_load(&store->place)->url;
}
