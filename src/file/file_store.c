/* SPDX-License-Identifier: BSD-3-Clause */
#include "file/file.h"
#include "frame/frame_remote.h"
#include "state/file_private.h"
#include "store/store_local.h"

int file_context_net(struct file_context *context, struct net **out)
{
    int r = 0;

    pthread_mutex_lock(&context->net_lock);
    if (!context->net)
        r = net_new(&context->net_options, &context->net);
    if (r == 0)
        *out = net_get(context->net);
    pthread_mutex_unlock(&context->net_lock);
    return r;
}

int file_store_open(struct file_context *context, const char *name,
                    unsigned flags, struct store **out)
{
    struct net *net = NULL;
    const char *why;
    int r;

    if (!url_is(name))
        return store_path_open(name, flags | file_store_flags(context), out);
    r = file_context_net(context, &net);
    if (r < 0)
        return r;
    r = frame_remote_open(net, name, out, &why);
    net_put(net);
    return r;
}
