/* SPDX-License-Identifier: BSD-3-Clause */
#include "writeback/flusher.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "base/clock.h"
#include "base/thread.h"
#include "state/file_private.h"
#include "writeback/encode.h"
#include "writeback/file_writeback.h"
#include "writeback/writeback.h"

enum {
    NTHREADS_MAX = 16,
    DOMAIN_THREADS_MAX = 2, /* threads that work on one file system */

    /* Milliseconds. */
    QUIET = 500,       /* without a write, after which a file is committed */
    ASKED_PAUSE = 100, /* after a failure, if a writer waits for memory */
    PAUSE_MIN = 50,    /* after a failure, doubled with each further one */
    PAUSE_MAX = 4000,  /* longest pause */
    MS = 1000,         /* in a second */
};

/* The files of one file system. */
struct flush_domain {
    struct list node; /* in flusher.domains */
    uint64_t dev;
    struct cache_domain cached;

    /* Guarded by flusher.lock. */
    unsigned nrefs;
    enum cache_pressure pressure; /* when the flusher last looked for work */
    unsigned nflushing;           /* threads that commit files of this domain */
    unsigned nfailures;           /* failures in a row for lack of space */
    int64_t failed_at;
    int64_t retry_at;
};

/* Locking.  Under `lock` a thread takes only the lock of the cache, and it
   drops `lock` while it commits a file. */
struct flusher {
    /* Constant. */
    struct cache *cache;
    unsigned seconds;

    /* Guarded by `lock`. */
    pthread_mutex_t lock;
    pthread_cond_t done; /* a thread has finished a file */
    struct list domains;
    struct list files; /* files that may have changed */
    unsigned nthreads;
    unsigned nbusy;  /* threads that commit a file now */
    int64_t wake_at; /* when the idle threads look at the list again */
    bool stopping;
    pthread_t threads[NTHREADS_MAX];
};

static int64_t now_ms(void)
{
    return clock_monotonic_ns() / (1000 * 1000);
}

int flusher_new(struct cache *cache, unsigned seconds, struct flusher **out)
{
    struct flusher *flusher = calloc(1, sizeof(*flusher));

    if (!flusher)
        return -ENOMEM;
    flusher->cache = cache;
    flusher->seconds = seconds;
    list_init(&flusher->domains);
    list_init(&flusher->files);
    pthread_mutex_init(&flusher->lock, NULL);
    pthread_cond_init(&flusher->done, NULL);
    *out = flusher;
    return 0;
}

void flusher_free(struct flusher *flusher)
{
    unsigned nthreads;

    if (!flusher)
        return;
    pthread_mutex_lock(&flusher->lock);
    flusher->stopping = true;
    nthreads = flusher->nthreads;
    pthread_mutex_unlock(&flusher->lock);
    cache_stop_flushes(flusher->cache);
    for (unsigned i = 0; i < nthreads; i++)
        pthread_join(flusher->threads[i], NULL);
    pthread_cond_destroy(&flusher->done);
    pthread_mutex_destroy(&flusher->lock);
    free(flusher);
}

/* Return when a file is due for a commit if there is no memory pressure. */
static int64_t due_at(const struct flusher *flusher, const struct file *file)
{
    int64_t latest =
        file->writeback->flush.since + (int64_t)flusher->seconds * MS;
    int64_t quiet = file->writeback->flush.touched;

    if (flusher->seconds == 0)
        return INT64_MAX;
    if (quiet < file->writeback->flush.since)
        quiet = file->writeback->flush.since;
    return quiet + QUIET < latest ? quiet + QUIET : latest;
}

/* Return when to try to commit a file, or INT64_MAX for never. */
static int64_t when_locked(const struct flusher *flusher,
                           const struct file *file)
{
    const struct flush_entry *entry = &file->writeback->flush;
    const struct flush_domain *domain = entry->domain;
    int64_t due = due_at(flusher, file);
    int64_t retry = entry->retry_at;

    if (entry->flushing || domain->nflushing >= DOMAIN_THREADS_MAX)
        return INT64_MAX;
    if (domain->pressure != CACHE_PRESSURE_NONE &&
        file->chunks.nuncommitted > 0)
        due = 0;
    if (domain->retry_at > retry)
        retry = domain->retry_at;
    if (due == 0 && domain->pressure == CACHE_PRESSURE_THROTTLED &&
        domain->failed_at + ASKED_PAUSE < retry)
        retry = domain->failed_at + ASKED_PAUSE;
    return due < retry ? retry : due;
}

static void look_at_domains_locked(struct flusher *flusher)
{
    list_for_each(node, &flusher->domains) {
        struct flush_domain *domain =
            list_entry(node, struct flush_domain, node);

        domain->pressure = cache_pressure(flusher->cache, &domain->cached);
    }
}

/* Find a file to commit now.  If there is none, set `wake_at` to the next time
   to look. */
static struct file *pick_locked(struct flusher *flusher)
{
    int64_t now = now_ms();

    look_at_domains_locked(flusher);
    flusher->wake_at = INT64_MAX;
    list_for_each(node, &flusher->files) {
        struct file *file = list_entry(node, struct flush_entry, node)->file;
        int64_t when = when_locked(flusher, file);

        if (when <= now)
            return file;
        if (when < flusher->wake_at)
            flusher->wake_at = when;
    }
    return NULL;
}

static void list_locked(struct flusher *flusher, struct file *file,
                        int64_t since)
{
    file->writeback->flush.since = since;
    file->writeback->flush.listed = true;
    list_append(&flusher->files, &file->writeback->flush.node);
}

/* Return how long to wait after a failure that follows `nfailures` others. */
static int64_t pause_after(unsigned nfailures)
{
    int64_t pause = PAUSE_MIN;

    while (nfailures-- > 0 && pause < PAUSE_MAX)
        pause *= 2;
    return pause < PAUSE_MAX ? pause : PAUSE_MAX;
}

/* Does an error concern the whole file system?  An exceeded quota concerns only
   some of its users. */
static bool is_of_domain(int error)
{
    return error != -EDQUOT && encode_is_no_space(error);
}

static void note_failure_locked(struct file *file, int error)
{
    struct flush_entry *entry = &file->writeback->flush;
    struct flush_domain *domain = entry->domain;
    int64_t now = now_ms();

    domain->failed_at = now;
    entry->retry_at = now + pause_after(entry->nfailures++);
    if (is_of_domain(error))
        domain->retry_at = now + pause_after(domain->nfailures++);
}

/* Finish a commit.  A file that has changed again, or may change at any moment,
   goes back to the list. */
static void done_locked(struct flusher *flusher, struct file *file, int error,
                        bool changed, int64_t began)
{
    struct flush_entry *entry = &file->writeback->flush;

    entry->flushing = false;
    entry->domain->nflushing--;
    flusher->nbusy--;
    if (error < 0)
        note_failure_locked(file, error);
    if (!entry->listed && (error < 0 || changed || entry->noperations > 0))
        list_locked(flusher, file, began);
    pthread_cond_broadcast(&flusher->done);
}

static enum cache_flushed result(int error)
{
    if (error == 0)
        return CACHE_FLUSHED;
    return is_of_domain(error) ? CACHE_FLUSH_NO_SPACE : CACHE_FLUSH_FAILED;
}

static void put_domain_locked(struct flush_domain *domain)
{
    if (--domain->nrefs > 0)
        return;
    list_remove(&domain->node);
    free(domain);
}

static int start_locked(struct flusher *flusher);

/* Commit a file.  The lock is dropped meanwhile. */
static void flush_locked(struct flusher *flusher, struct file *file)
{
    struct flush_domain *domain = file->writeback->flush.domain;
    int64_t began = now_ms();
    bool changed;
    int r;

    file->writeback->flush.flushing = true;
    file->writeback->flush.listed = false;
    list_remove(&file->writeback->flush.node);
    domain->nrefs++;
    domain->nflushing++;
    if (++flusher->nbusy == flusher->nthreads)
        start_locked(flusher);
    pthread_mutex_unlock(&flusher->lock);
    r = writeback_flush(file);
    changed = !writeback_is_clean(file) || file->writeback->has_freed;
    pthread_mutex_lock(&flusher->lock);
    done_locked(flusher, file, r, changed, began);
    pthread_mutex_unlock(&flusher->lock);
    cache_end_flush(flusher->cache, &domain->cached, result(r));
    pthread_mutex_lock(&flusher->lock);
    put_domain_locked(domain);
}

static void *work(void *arg)
{
    struct flusher *flusher = arg;

    pthread_mutex_lock(&flusher->lock);
    while (!flusher->stopping) {
        uint64_t seen = cache_flush_event(flusher->cache);
        struct file *file = pick_locked(flusher);
        int64_t wake_at = flusher->wake_at;
        struct timespec deadline = { .tv_sec = wake_at / MS,
                                     .tv_nsec = wake_at % MS * 1000 * 1000 };

        if (file) {
            flush_locked(flusher, file);
            continue;
        }
        pthread_mutex_unlock(&flusher->lock);
        cache_await_flush(flusher->cache, seen,
                          wake_at < INT64_MAX ? &deadline : NULL);
        pthread_mutex_lock(&flusher->lock);
    }
    pthread_mutex_unlock(&flusher->lock);
    return NULL;
}

/* Start one more thread unless there are NTHREADS_MAX. */
static int start_locked(struct flusher *flusher)
{
    int r;

    if (flusher->nthreads == NTHREADS_MAX)
        return 0;
    r = thread_start(&flusher->threads[flusher->nthreads], work, flusher);
    flusher->nthreads += r == 0;
    return r;
}

/* Find or make the domain of a file system, and take a reference to it. */
static struct flush_domain *get_domain_locked(struct flusher *flusher,
                                              uint64_t dev)
{
    struct flush_domain *domain;

    list_for_each(node, &flusher->domains) {
        domain = list_entry(node, struct flush_domain, node);
        if (domain->dev == dev) {
            domain->nrefs++;
            return domain;
        }
    }
    domain = calloc(1, sizeof(*domain));
    if (!domain)
        return NULL;
    domain->dev = dev;
    domain->nrefs = 1;
    list_append(&flusher->domains, &domain->node);
    return domain;
}

int flusher_add(struct flusher *flusher, struct file *file, uint64_t dev)
{
    struct flush_entry *entry = &file->writeback->flush;
    int r = 0;

    pthread_mutex_lock(&flusher->lock);
    if (flusher->nthreads == 0)
        r = start_locked(flusher);
    if (r == 0) {
        entry->domain = get_domain_locked(flusher, dev);
        r = entry->domain ? 0 : -ENOMEM;
    }
    pthread_mutex_unlock(&flusher->lock);
    if (r == 0)
        file->chunks.domain = &entry->domain->cached;
    return r;
}

void flusher_remove(struct flusher *flusher, struct file *file)
{
    struct flush_entry *entry = &file->writeback->flush;

    if (!entry->domain)
        return;
    pthread_mutex_lock(&flusher->lock);
    if (entry->listed)
        list_remove(&entry->node);
    entry->listed = true; /* so that it is never listed again */
    while (entry->flushing)
        pthread_cond_wait(&flusher->done, &flusher->lock);
    pthread_mutex_unlock(&flusher->lock);
}

void flusher_leave(struct flusher *flusher, struct file *file)
{
    struct flush_domain *domain = file->writeback->flush.domain;

    if (!domain)
        return;
    pthread_mutex_lock(&flusher->lock);
    put_domain_locked(domain);
    pthread_mutex_unlock(&flusher->lock);
}

/* List a file unless it is listed already.  Wake the idle threads if they would
   sleep beyond the time when the file is due. */
static void list_changed(struct flusher *flusher, struct file *file)
{
    bool wake = false;

    pthread_mutex_lock(&flusher->lock);
    if (!file->writeback->flush.listed) {
        list_locked(flusher, file, now_ms());
        wake = due_at(flusher, file) < flusher->wake_at;
    }
    pthread_mutex_unlock(&flusher->lock);
    if (wake)
        cache_wake_flushers(flusher->cache);
}

void flusher_begin(struct flusher *flusher, struct file *file)
{
    file->writeback->flush.touched = now_ms();
    file->writeback->flush.noperations++;
    if (!file->writeback->flush.listed)
        list_changed(flusher, file);
}

void flusher_end(struct flusher *flusher, struct file *file)
{
    file->writeback->flush.touched = now_ms();
    if (!file->writeback->flush.listed)
        list_changed(flusher, file);
    file->writeback->flush.noperations--;
}

void flusher_succeeded(struct flusher *flusher, struct file *file)
{
    struct flush_entry *entry = &file->writeback->flush;
    struct flush_domain *domain = entry->domain;
    bool had_failed;

    pthread_mutex_lock(&flusher->lock);
    had_failed = entry->nfailures > 0 || domain->nfailures > 0;
    entry->nfailures = domain->nfailures = 0;
    entry->retry_at = domain->retry_at = 0;
    pthread_mutex_unlock(&flusher->lock);
    if (had_failed)
        cache_end_flush(flusher->cache, &domain->cached, CACHE_FLUSHED);
}
