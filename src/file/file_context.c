/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "file/file.h"
#include "state/file_private.h"
#include "store/store_http.h"
#include "store/store_local.h"
#include "writeback/flusher.h"

enum {
    AHEAD_PART = 4, /* one reader may fill at most this part of the cache */
};

int file_context_new(const struct file_options *options,
                     struct file_context **out)
{
    struct file_context *context = calloc(1, sizeof(*context));
    size_t ahead_max = options->cache_size / AHEAD_PART;
    unsigned nthreads = options->nthreads;
    int r;

    if (!context)
        return -ENOMEM;

    pthread_mutex_init(&context->readers_lock, NULL);
    pthread_mutex_init(&context->lock_files_lock, NULL);
    pthread_mutex_init(&context->net_lock, NULL);
    pthread_mutex_init(&context->senders_lock, NULL);
    context->net_options = options->net;
    list_init(&context->lock_files);
    context->lock = options->lock;
    context->lock_timeout = options->lock_timeout;
    context->quarantine_ns = options->quarantine_ns;
    if (nthreads == 0)
        nthreads = (unsigned)sysconf(_SC_NPROCESSORS_ONLN);
    context->nthreads = nthreads;
    context->view = options->view;
    context->sums = options->sums;
    context->readahead =
        options->readahead < ahead_max ? options->readahead : ahead_max;
    context->cache_size = options->cache_size;
    r = cache_new(options->cache_size, &context->cache);
    if (r == 0)
        r = codec_pool_init(&context->codec_pool, nthreads + 1);
    if (r == 0)
        r = pool_new(nthreads, &context->pool);
    if (r == 0)
        r = flusher_new(context->cache, options->commit, &context->flusher);
    if (r < 0) {
        file_context_free(context);
        return r;
    }

    *out = context;
    return 0;
}

void file_context_free(struct file_context *context)
{
    if (!context)
        return;

    flusher_free(context->flusher);
    pool_free(context->pool);
    pool_free(context->senders);
    codec_pool_fini(&context->codec_pool);
    if (context->net)
        store_http_set_owner(context->net, NULL);
    net_put(context->net);
    cache_free(context->cache);
    pthread_mutex_destroy(&context->net_lock);
    pthread_mutex_destroy(&context->senders_lock);
    pthread_mutex_destroy(&context->lock_files_lock);
    pthread_mutex_destroy(&context->readers_lock);
    free(context);
}

size_t file_context_cache_size(const struct file_context *context)
{
    return context->cache_size;
}

void file_count_memory(struct file_context *context, ptrdiff_t change)
{
    cache_change_other(context->cache, change);
}

unsigned file_store_flags(const struct file_context *context)
{
    return context->lock ? STORE_LOCK : 0;
}

uint64_t file_context_dirty(struct file_context *context)
{
    struct cache_stats stats;

    cache_get_stats(context->cache, &stats);
    return stats.uncommitted;
}

void file_context_stats(struct file_context *context, struct file_stats *out)
{
    const struct counters *counters = &context->counters;
    struct cache_stats cache;
    struct net *net;

    cache_get_stats(context->cache, &cache);
    *out = (struct file_stats){
        .cache_size = context->cache_size,
        .cache_used = cache.used,
        .dirty = cache.uncommitted,
        .hits = cache.hits,
        .misses = cache.misses,
        .blocks = cache.decoded,
        .ahead = cache.ahead,
        .ahead_used = cache.ahead_used,
        .ahead_wasted = cache.ahead_wasted,
        .read = counter_get(&counters->read),
        .decoded = counter_get(&counters->decoded),
        .decoded_from = counter_get(&counters->decoded_from),
        .mismatches = counter_get(&counters->mismatches),
        .wide_scans = counter_get(&counters->wide),
        .written = counter_get(&counters->written),
        .encoded = counter_get(&counters->encoded),
        .encoded_to = counter_get(&counters->encoded_to),
        .commits = counter_get(&counters->commits),
        .commits_failed = counter_get(&counters->failed),
        .conflicts = counter_get(&counters->conflicts),
        .merges = counter_get(&counters->merges),
    };
    pthread_mutex_lock(&context->net_lock);
    net = context->net;
    pthread_mutex_unlock(&context->net_lock);
    if (net) {
        net_get_stats(net, &out->net);
        store_http_get_stats(net, &out->netcache);
    }
}
