/* SPDX-License-Identifier: BSD-3-Clause */
#include "net/credential_cache.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "net/secret.h"

enum {
    EARLY = 300, /* seconds before they expire, others are looked for */
    SPARE = 10,  /* seconds for which they should be good */
};

/* Locking.  `lock` is a leaf; the thread drops it while it searches.  It is
   held over starting the thread. */
struct credential_cache {
    /* Constant. */
    char *profile; /* NULL: none is named */
    char *region;
    const struct fetcher *fetcher;
    unsigned pause;

    pthread_mutex_t lock;
    pthread_cond_t changed;  /* `wanted` or `stopping` was set, or a search has
                                ended */
    struct credentials kept; /* `id` is NULL: none */
    bool refused;            /* a server does not take them */
    bool wanted;             /* others are, until the search has ended */
    atomic_bool stopping;    /* changed with the lock held */
    bool started;            /* there is a thread */
    pthread_t thread;
    time_t next;         /* no search before this, */
    time_t next_refusal; /* and none because of a refusal before this */
    int error;           /* of the last search */
    char why[AWS_WHY_MAX];
};

static int copy_options(const struct credential_options *options,
                        struct credential_cache *cache)
{
    cache->fetcher = options->fetcher;
    cache->region = strdup(options->region);
    if (options->profile)
        cache->profile = strdup(options->profile);
    return cache->region && (cache->profile || !options->profile) ? 0 : -ENOMEM;
}

int credential_cache_new(const struct credential_options *options,
                         unsigned pause, struct credential_cache **out)
{
    struct credential_cache *cache = calloc(1, sizeof(*cache));

    if (!cache)
        return -ENOMEM;
    cache->pause = pause;
    pthread_mutex_init(&cache->lock, NULL);
    pthread_cond_init(&cache->changed, NULL);
    atomic_init(&cache->stopping, false);
    if (copy_options(options, cache) < 0) {
        credential_cache_free(cache);
        return -ENOMEM;
    }
    *out = cache;
    return 0;
}

void credential_cache_free(struct credential_cache *cache)
{
    if (!cache)
        return;
    pthread_mutex_lock(&cache->lock);
    atomic_store(&cache->stopping, true);
    pthread_cond_broadcast(&cache->changed);
    pthread_mutex_unlock(&cache->lock);
    if (cache->started)
        pthread_join(cache->thread, NULL);
    credentials_fini(&cache->kept);
    pthread_cond_destroy(&cache->changed);
    pthread_mutex_destroy(&cache->lock);
    free(cache->profile);
    free(cache->region);
    free(cache);
}

/* Look for credentials, with the lock dropped meanwhile. */
static void search_locked(struct credential_cache *cache)
{
    const struct credential_options options = { .profile = cache->profile,
                                                .region = cache->region,
                                                .fetcher = cache->fetcher,
                                                .cancel = &cache->stopping };
    struct credentials found;
    char why[AWS_WHY_MAX];
    int r;

    pthread_mutex_unlock(&cache->lock);
    r = credential_chain_get(&options, &found, why);
    pthread_mutex_lock(&cache->lock);
    cache->error = r;
    if (r == 0) {
        credentials_fini(&cache->kept);
        cache->kept = found;
        cache->refused = false;
    } else {
        memcpy(cache->why, why, sizeof(cache->why));
    }
    cache->next = time(NULL) + cache->pause;
    cache->wanted = false;
    pthread_cond_broadcast(&cache->changed);
}

static void *run(void *arg)
{
    struct credential_cache *cache = arg;

    pthread_mutex_lock(&cache->lock);
    while (!atomic_load(&cache->stopping)) {
        if (cache->wanted)
            search_locked(cache);
        else
            pthread_cond_wait(&cache->changed, &cache->lock);
    }
    pthread_mutex_unlock(&cache->lock);
    secret_wipe_stack();
    return NULL;
}

/* Begin a search, with a thread that blocks all signals, as in base/pool.c. */
static int want_locked(struct credential_cache *cache)
{
    sigset_t all;
    sigset_t old;
    int error = 0;

    if (!cache->started) {
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &old);
        error = pthread_create(&cache->thread, NULL, run, cache);
        pthread_sigmask(SIG_SETMASK, &old, NULL);
        cache->started = error == 0;
    }
    if (error == 0) {
        cache->wanted = true;
        pthread_cond_broadcast(&cache->changed);
    }
    return -error;
}

/* Can requests be signed with the credentials that are kept? */
static bool is_good_locked(const struct credential_cache *cache, time_t now)
{
    const struct credentials *kept = &cache->kept;

    return kept->id && !cache->refused &&
           (kept->expires == 0 || kept->expires - now > SPARE);
}

static bool is_old_locked(const struct credential_cache *cache, time_t now)
{
    return cache->kept.expires != 0 && cache->kept.expires - now < EARLY;
}

/* Give the result of the last search.  Credentials that have expired at once
   are given, too: the server's clock counts. */
static int take_locked(struct credential_cache *cache, struct credentials *out,
                       char why[AWS_WHY_MAX])
{
    if (cache->error < 0 && !is_good_locked(cache, time(NULL))) {
        memcpy(why, cache->why, AWS_WHY_MAX);
        return cache->error;
    }
    why[0] = '\0';
    return credentials_copy(&cache->kept, out);
}

static int poll_locked(struct credential_cache *cache, struct credentials *out,
                       char why[AWS_WHY_MAX])
{
    time_t now = time(NULL);
    bool good = is_good_locked(cache, now);
    int r = 0;

    if (!cache->wanted && now >= cache->next &&
        (!good || is_old_locked(cache, now)))
        r = want_locked(cache);
    if (good)
        return take_locked(cache, out, why);
    if (r < 0) {
        strcpy(why, "no thread can be started");
        return r;
    }
    return cache->wanted ? -EAGAIN : take_locked(cache, out, why);
}

int credential_cache_poll(struct credential_cache *cache,
                          struct credentials *out, char why[AWS_WHY_MAX])
{
    int r;

    pthread_mutex_lock(&cache->lock);
    r = poll_locked(cache, out, why);
    pthread_mutex_unlock(&cache->lock);
    return r;
}

int credential_cache_get(struct credential_cache *cache,
                         struct credentials *out, char why[AWS_WHY_MAX])
{
    int r;

    pthread_mutex_lock(&cache->lock);
    r = poll_locked(cache, out, why);
    if (r == -EAGAIN) {
        while (cache->wanted)
            pthread_cond_wait(&cache->changed, &cache->lock);
        r = take_locked(cache, out, why);
    }
    pthread_mutex_unlock(&cache->lock);
    return r;
}

static bool are_equal(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

bool credential_cache_refuse(struct credential_cache *cache,
                             const struct credentials *refused)
{
    time_t now = time(NULL);
    bool others;
    bool again;

    pthread_mutex_lock(&cache->lock);
    others = !are_equal(cache->kept.id, refused->id) ||
             !are_equal(cache->kept.secret, refused->secret) ||
             !are_equal(cache->kept.token, refused->token);
    again = !others && (cache->refused || now >= cache->next_refusal);
    if (again && !cache->refused) {
        cache->refused = true;
        cache->next = 0;
        cache->next_refusal = now + cache->pause;
    }
    pthread_mutex_unlock(&cache->lock);
    return others || again;
}
