/* SPDX-License-Identifier: BSD-3-Clause */
#include "net/net_slot.h"

void net_slot_init(struct net_slot *slot)
{
    *slot = (struct net_slot){ 0 };
    pthread_mutex_init(&slot->lock, NULL);
}

void net_slot_fini(struct net_slot *slot)
{
    if (slot->extra)
        slot->extra->free(slot->extra);
    pthread_mutex_destroy(&slot->lock);
}

struct net_extra *net_slot_get(
    struct net_slot *slot, const struct net_options *options,
    struct net_extra *(*make)(const struct net_options *options))
{
    struct net_extra *extra;

    pthread_mutex_lock(&slot->lock);
    if (!slot->filled)
        slot->extra = make(options);
    slot->filled = true;
    extra = slot->extra;
    pthread_mutex_unlock(&slot->lock);
    return extra;
}
