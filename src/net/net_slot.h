/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef NET_NET_SLOT_H
#define NET_NET_SLOT_H

#include <pthread.h>

#include "net/net.h"

/* The place of a struct net_extra.  `lock` is held over making it. */
struct net_slot {
    pthread_mutex_t lock;
    struct net_extra *extra;
    bool filled;
};

/* Set up an empty slot; free its members. */
void net_slot_init(struct net_slot *slot);
void net_slot_fini(struct net_slot *slot);

/* Get the object of the slot, or make it, as net_get_extra(). */
struct net_extra *net_slot_get(
    struct net_slot *slot, const struct net_options *options,
    struct net_extra *(*make)(const struct net_options *options));

#endif
