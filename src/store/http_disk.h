/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef STORE_HTTP_DISK_H
#define STORE_HTTP_DISK_H

#include <stdatomic.h>

#include "net/net.h"
#include "store/disk_cache.h"

/* The disk_cache of a loop, and its counters. */
struct http_disk {
    struct disk_cache *cache;
    atomic_uint_fast64_t hits;
    atomic_uint_fast64_t misses;
};

/* Open the cache that the options name.  Returns NULL if they name none, or if
   it cannot be opened, which is reported. */
struct http_disk *http_disk_new(const struct net_options *options);

/* Accepts NULL. */
void http_disk_free(struct http_disk *disk);

#endif
