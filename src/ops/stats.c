/* SPDX-License-Identifier: BSD-3-Clause */
#include "ops/stats.h"

#include <errno.h>
#include <json-c/json.h>
#include <string.h>

#include "tree/fs.h"

/* Add a number to an object.  Returns 0 or -ENOMEM; the caller combines results
   by |. */
static int add(struct json_object *object, const char *key, uint64_t value)
{
    struct json_object *number = json_object_new_uint64(value);

    if (!number)
        return -ENOMEM;
    if (json_object_object_add(object, key, number) < 0) {
        json_object_put(number);
        return -ENOMEM;
    }
    return 0;
}

/* Add an object to another one, and return it; NULL on failure. */
static struct json_object *add_object(struct json_object *object,
                                      const char *key)
{
    struct json_object *member = json_object_new_object();

    if (member && json_object_object_add(object, key, member) < 0) {
        json_object_put(member);
        return NULL;
    }
    return member;
}

static int add_cache(struct json_object *top, const struct file_stats *stats)
{
    struct json_object *object = add_object(top, "cache");

    if (!object)
        return -ENOMEM;
    return add(object, "size", stats->cache_size) |
           add(object, "used", stats->cache_used) |
           add(object, "dirty", stats->dirty) |
           add(object, "hits", stats->hits) |
           add(object, "misses", stats->misses);
}

static int add_read(struct json_object *top, const struct file_stats *stats)
{
    struct json_object *object = add_object(top, "read");

    if (!object)
        return -ENOMEM;
    return add(object, "bytes", stats->read) |
           add(object, "blocks_decoded", stats->blocks) |
           add(object, "decoded", stats->decoded) |
           add(object, "decoded_from", stats->decoded_from) |
           add(object, "wide_scans", stats->wide_scans) |
           add(object, "mismatches", stats->mismatches);
}

static int add_ahead(struct json_object *top, const struct file_stats *stats)
{
    struct json_object *object = add_object(top, "readahead");

    if (!object)
        return -ENOMEM;
    return add(object, "blocks", stats->ahead) |
           add(object, "used", stats->ahead_used) |
           add(object, "wasted", stats->ahead_wasted);
}

static int add_written(struct json_object *top, const struct file_stats *stats)
{
    struct json_object *object = add_object(top, "written");

    if (!object)
        return -ENOMEM;
    return add(object, "bytes", stats->written) |
           add(object, "encoded", stats->encoded) |
           add(object, "encoded_to", stats->encoded_to) |
           add(object, "commits", stats->commits) |
           add(object, "commits_failed", stats->commits_failed) |
           add(object, "conflicts", stats->conflicts) |
           add(object, "merges", stats->merges);
}

static uint64_t count_retries(const struct net_stats *net)
{
    uint64_t n = 0;

    for (int i = 0; i < NET_NCAUSES; i++)
        n += net->retries[i];
    return n;
}

static int add_remote(struct json_object *top, const struct net_stats *net)
{
    struct json_object *object = add_object(top, "remote");

    if (!object)
        return -ENOMEM;
    return add(object, "requests", net->gets + net->heads + net->puts) |
           add(object, "running", net->running) |
           add(object, "gets", net->gets) | add(object, "heads", net->heads) |
           add(object, "received", net->received) |
           add(object, "used", net->used) |
           add(object, "redirects", net->redirects) |
           add(object, "retries", count_retries(net)) |
           add(object, "retries_busy", net->retries[NET_BUSY]) |
           add(object, "retries_failing", net->retries[NET_FAILING]) |
           add(object, "retries_connection", net->retries[NET_CONNECTION]) |
           add(object, "retries_slow", net->retries[NET_SLOW]) |
           add(object, "retries_wrong", net->retries[NET_WRONG]) |
           add(object, "failed", net->failed) |
           add(object, "p50_us", net->p50_us) |
           add(object, "p99_us", net->p99_us);
}

static int add_netcache(struct json_object *top,
                        const struct store_http_stats *stats)
{
    struct json_object *object = add_object(top, "netcache");

    if (!object)
        return -ENOMEM;
    return add(object, "hits", stats->hits) |
           add(object, "misses", stats->misses) |
           add(object, "read", stats->read) |
           add(object, "written", stats->written) |
           add(object, "wrong", stats->wrong);
}

char *stats_text(struct fs *fs)
{
    struct json_object *top = json_object_new_object();
    struct file_stats stats;
    char *text = NULL;
    int r;

    if (!top)
        return NULL;
    file_context_stats(fs->files, &stats);
    r = add_cache(top, &stats) | add_read(top, &stats) |
        add_ahead(top, &stats) | add_written(top, &stats) |
        add_remote(top, &stats.net) | add_netcache(top, &stats.netcache) |
        add(top, "errors", fs->nodes.nfaults);
    if (r == 0)
        text =
            strdup(json_object_to_json_string_ext(top, JSON_C_TO_STRING_PLAIN));
    json_object_put(top);
    return text;
}
