/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <string.h>

#include "net/s3_put.h"
#include "store/http_list.h"
#include "store/store_http_private.h"

enum {
    DELETES_MAX = 32 /* requests at a time */
};

int store_s3_list_old(struct store *base,
                      int (*visit)(void *context, const char *name),
                      void *context)
{
    struct http_store *store = (struct http_store *)base;

    if (!store_names_once(base))
        return -ENOTSUP;
    return http_list_old(store->context->net, &store->url,
                         net_get_options(store->context->net)->grace, visit,
                         context);
}

/* Delete up to DELETES_MAX objects. */
static int delete_some(struct http_store *store, char *const *names, size_t n)
{
    struct net_request requests[DELETES_MAX];
    struct url urls[DELETES_MAX];
    size_t nurls = 0;
    int r = 0;

    for (; nurls < n && r == 0; nurls += r == 0) {
        r = url_join(&store->url, names[nurls], &urls[nurls]);
        requests[nurls] = (struct net_request){
            .method = NET_DELETE,
            .url = &urls[nurls],
            .whole = true,
        };
    }
    if (r == 0)
        net_run(store->context->net, requests, n);
    for (size_t i = 0; i < nurls; i++) {
        if (r == 0 && requests[i].error != -ENOENT)
            r = requests[i].error;
        url_fini(&urls[i]);
    }
    return r;
}

int store_s3_delete(struct store *base, char *const *names, size_t n)
{
    struct http_store *store = (struct http_store *)base;
    int r = store_names_once(base) && store->writable ? 0 : -EROFS;

    for (size_t i = 0; i < n && r == 0; i += DELETES_MAX)
        r = delete_some(store, names + i,
                        n - i < DELETES_MAX ? n - i : DELETES_MAX);
    return r;
}
