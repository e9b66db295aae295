/* SPDX-License-Identifier: BSD-3-Clause */
#include "file/flusher.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>

#include "file/file_private.h"
#include "file/writeback.h"

enum {
    FAILURE_PAUSE_NS = 50 * 1000 * 1000,
};

/* Locking.  `lock` is a leaf, dropped while a file is committed. */
struct flusher {
    /* Constant. */
    struct cache *cache;
    unsigned seconds;

    /* Guarded by `lock`, with the files' `flushing`. */
    pthread_mutex_t lock;
    pthread_cond_t done; /* with a file, or the flusher stops */
    struct list files;
    bool started;
    bool stopping;
    pthread_t thread;
};

int flusher_new(struct cache *cache, unsigned seconds, struct flusher **out)
{
    struct flusher *flusher = calloc(1, sizeof(*flusher));

    if (!flusher)
        return -ENOMEM;
    flusher->cache = cache;
    flusher->seconds = seconds;
    list_init(&flusher->files);
    pthread_mutex_init(&flusher->lock, NULL);
    pthread_cond_init(&flusher->done, NULL);
    *out = flusher;
    return 0;
}

void flusher_free(struct flusher *flusher)
{
    if (!flusher)
        return;
    pthread_mutex_lock(&flusher->lock);
    flusher->stopping = true;
    pthread_mutex_unlock(&flusher->lock);
    if (flusher->started) {
        cache_stop_flushes(flusher->cache);
        pthread_join(flusher->thread, NULL);
    }
    pthread_cond_destroy(&flusher->done);
    pthread_mutex_destroy(&flusher->lock);
    free(flusher);
}

/*
 * Commit all files once: each goes to the end of the list when it is taken.
 * Returns false if one failed.
 */
static bool flush_all(struct flusher *flusher)
{
    size_t n = 0;
    bool good = true;

    pthread_mutex_lock(&flusher->lock);
    list_for_each(node, &flusher->files)
        n++;
    while (n-- > 0 && !list_empty(&flusher->files)) {
        struct file *file =
            list_entry(flusher->files.next, struct file, flush_node);

        list_remove(&file->flush_node);
        list_append(&flusher->files, &file->flush_node);
        file->flushing = true;
        pthread_mutex_unlock(&flusher->lock);
        good = writeback_flush(file) == 0 && good;
        pthread_mutex_lock(&flusher->lock);
        file->flushing = false;
        pthread_cond_broadcast(&flusher->done);
    }
    pthread_mutex_unlock(&flusher->lock);
    return good;
}

static bool is_stopping(struct flusher *flusher)
{
    bool stopping;

    pthread_mutex_lock(&flusher->lock);
    stopping = flusher->stopping;
    pthread_mutex_unlock(&flusher->lock);
    return stopping;
}

static void *work(void *arg)
{
    const struct timespec pause = { .tv_nsec = FAILURE_PAUSE_NS };
    struct flusher *flusher = arg;

    for (;;) {
        struct timespec deadline;
        bool good;

        clock_gettime(CLOCK_MONOTONIC, &deadline);
        deadline.tv_sec += flusher->seconds;
        cache_await_flush(flusher->cache,
                          flusher->seconds > 0 ? &deadline : NULL);
        if (is_stopping(flusher))
            return NULL;
        good = flush_all(flusher);
        cache_end_flush(flusher->cache, !good);
        if (!good)
            nanosleep(&pause, NULL);
    }
}

/* Signals are left to those who expect them. */
static int start(struct flusher *flusher)
{
    sigset_t all;
    sigset_t old;
    int error;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    error = pthread_create(&flusher->thread, NULL, work, flusher);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    flusher->started = error == 0;
    return -error;
}

int flusher_add(struct flusher *flusher, struct file *file)
{
    int r = 0;

    pthread_mutex_lock(&flusher->lock);
    if (!flusher->started)
        r = start(flusher);
    if (r == 0)
        list_append(&flusher->files, &file->flush_node);
    pthread_mutex_unlock(&flusher->lock);
    return r;
}

void flusher_remove(struct flusher *flusher, struct file *file)
{
    pthread_mutex_lock(&flusher->lock);
    list_remove(&file->flush_node);
    while (file->flushing)
        pthread_cond_wait(&flusher->done, &flusher->lock);
    pthread_mutex_unlock(&flusher->lock);
}
