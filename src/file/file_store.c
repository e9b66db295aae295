/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>

#include "file/file.h"
#include "frame/frame_object.h"
#include "frame/frame_remote.h"
#include "frame/frame_ticket.h"
#include "state/file_private.h"
#include "store/store_http.h"
#include "store/store_local.h"

enum {
    FETCHED_PART = 4, /* part of the cache for bytes that are fetched ahead */
};

/* Fetched bytes count as the cache's. */
static void count_fetched(void *arg, ptrdiff_t change)
{
    struct file_context *context = arg;

    cache_change_other(context->cache, change);
}

static int start_net(struct file_context *context)
{
    const struct store_http_owner owner = {
        .limit = context->cache_size / FETCHED_PART,
        .count = count_fetched,
        .context = context,
    };
    struct net *net;
    int r = net_new(&context->net_options, &net);

    if (r < 0)
        return r;
    r = store_http_set_owner(net, &owner);
    if (r < 0) {
        net_put(net);
        return r;
    }
    context->net = net;
    return 0;
}

int file_context_net(struct file_context *context, struct net **out)
{
    int r = 0;

    pthread_mutex_lock(&context->net_lock);
    if (!context->net)
        r = start_net(context);
    if (r == 0)
        *out = net_get(context->net);
    pthread_mutex_unlock(&context->net_lock);
    return r;
}

void file_context_end(struct file_context *context)
{
    if (!context)
        return;
    pthread_mutex_lock(&context->net_lock);
    if (context->net)
        net_end(context->net);
    pthread_mutex_unlock(&context->net_lock);
}

/* Open the frame that a ticket leads to, and check that it is the one that is
   meant. */
static int open_ticket(struct file_context *context,
                       const struct frame_ticket *ticket, struct store **out)
{
    struct store_stat stat;
    struct store *store;
    struct net *net = NULL;
    int r = file_context_net(context, &net);

    if (r < 0)
        return r;
    r = frame_ticket_open(net, ticket, &store);
    net_put(net);
    if (r < 0)
        return r;
    r = frame_object_stat(store, NULL, &stat);
    if (r < 0) {
        store_close(store);
        return r == -ESTALE ? -EREMCHG : r;
    }
    *out = store;
    return 0;
}

/* Open the store of a local frame, or of the one that a ticket leads to. */
static int open_local(struct file_context *context, const char *name,
                      unsigned flags, struct store **out)
{
    struct frame_ticket ticket;
    struct fault fault = FAULT_NONE;
    struct store *store;
    int r = store_path_open(name, flags | file_store_flags(context), &store);

    if (r < 0)
        return r;
    if (frame_ticket_read(store, &ticket, &fault) <= 0) {
        *out = store; /* whoever opens the frame sees what is wrong with it */
        return 0;
    }
    store_close(store);
    if (flags & STORE_WRITE)
        r = -EROFS;
    else
        r = open_ticket(context, &ticket, out);
    frame_ticket_fini(&ticket);
    return r;
}

static int open_remote(struct file_context *context, const char *url,
                       bool to_change, struct store **out, const char **why)
{
    struct net *net = NULL;
    int r = file_context_net(context, &net);

    if (r < 0)
        return r;
    r = to_change ? frame_remote_open_to_change(net, url, out, why)
                  : frame_remote_open(net, url, out, why);
    net_put(net);
    return r;
}

int file_store_open(struct file_context *context, const char *name,
                    unsigned flags, struct store **out, struct fault *fault)
{
    const char *why = NULL;
    int r = url_is(name)
                ? open_remote(context, name, flags & STORE_WRITE, out, &why)
                : open_local(context, name, flags, out);

    return r < 0 ? fault_set(fault, r, 0, why) : 0;
}
