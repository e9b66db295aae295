/* SPDX-License-Identifier: BSD-3-Clause */
#include "store/http_disk.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void http_disk_free(struct http_disk *disk)
{
    if (!disk)
        return;
    disk_cache_close(disk->cache);
    free(disk);
}

static void report(const struct net_options *options, int error)
{
    char line[NET_CACHE_MAX + 128];

    snprintf(line, sizeof(line), "netcache=%s: %s; nothing is kept",
             options->netcache, strerror(-error));
    if (options->report)
        options->report(line);
}

struct http_disk *http_disk_new(const struct net_options *options)
{
    struct http_disk *disk;
    int r;

    if (options->netcache[0] == '\0')
        return NULL;
    disk = calloc(1, sizeof(*disk));
    if (!disk)
        return NULL;
    r = disk_cache_open(options->netcache, options->netcache_size,
                        &disk->cache);
    if (r < 0) {
        report(options, r);
        free(disk);
        return NULL;
    }
    return disk;
}
