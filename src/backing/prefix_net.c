/* SPDX-License-Identifier: BSD-3-Clause */
#include "backing/prefix_private.h"
#include "base/clock.h"

int prefix_get_net_locked(struct prefix_tree *tree, struct net **out)
{
    int r = 0;

    if (!tree->net && tree->files)
        r = file_context_net(tree->files, &tree->net);
    else if (!tree->net)
        r = net_new(&tree->options, &tree->net);
    if (r == 0)
        *out = net_get(tree->net);
    return r;
}

int64_t prefix_since(const struct prefix_tree *tree)
{
    if (tree->options.revalidate == NET_FOREVER)
        return INT64_MIN;
    return clock_monotonic_ns() -
           (int64_t)tree->options.revalidate * CLOCK_SECOND_NS;
}
