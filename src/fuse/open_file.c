/* SPDX-License-Identifier: BSD-3-Clause */
#include "fuse/open_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "fuse/report.h"

/*
 * Time stamps of files are as coarse as the clock tick.  Of a file that changed
 * less than this ago another change may leave no trace in them.
 */
static const double SETTLE_SECONDS = 0.1;

static uint64_t stamp_if_settled(const struct stat *st)
{
    struct timespec now;
    double age;

    clock_gettime(CLOCK_REALTIME, &now);
    age = difftime(now.tv_sec, st->st_ctim.tv_sec) +
          1e-9 * (double)(now.tv_nsec - st->st_ctim.tv_nsec);
    return age < 0 || age > SETTLE_SECONDS ? backing_stamp(st) : 0;
}

static int open_frame(struct fs *fs, struct snapshot *snapshot,
                      const struct backing_place *place, enum entry_kind kind,
                      struct fault *fault)
{
    struct store *store;
    int r = backing_store(place, kind, &store);

    if (r < 0)
        return r;
    r = file_open(fs->files, store, fs->base, &snapshot->file, fault);
    if (r < 0)
        store_close(store);
    return r;
}

/* Open a file that is passed through, if it is the one that was seen. */
static int open_other(struct snapshot *snapshot,
                      const struct backing_place *place)
{
    struct stat st;
    int fd = backing_open(place, O_RDONLY | O_NONBLOCK | O_NOCTTY);

    if (fd < 0)
        return fd;
    snapshot->fd = fd;
    if (fstat(fd, &st) < 0)
        return -errno;
    if (st.st_ino != snapshot->st.st_ino || st.st_dev != snapshot->st.st_dev)
        return -ESTALE;
    return 0;
}

static int snapshot_open(struct fs *fs, enum entry_kind kind,
                         const struct backing_place *place,
                         const struct stat *st, struct snapshot **out,
                         struct fault *fault)
{
    struct snapshot *snapshot = calloc(1, sizeof(*snapshot));
    int r;

    if (!snapshot)
        return -ENOMEM;
    atomic_init(&snapshot->nrefs, 1);
    snapshot->stamp = stamp_if_settled(st);
    snapshot->st = *st;
    snapshot->fd = -1;
    if (entry_is_frame(kind))
        r = open_frame(fs, snapshot, place, kind, fault);
    else
        r = open_other(snapshot, place);
    if (r < 0) {
        snapshot_put(snapshot);
        return r;
    }
    *out = snapshot;
    return 0;
}

void snapshot_put(struct snapshot *snapshot)
{
    if (!snapshot || atomic_fetch_sub(&snapshot->nrefs, 1) > 1)
        return;
    file_close(snapshot->file);
    if (snapshot->fd >= 0)
        close(snapshot->fd);
    free(snapshot);
}

static struct snapshot *current_locked(struct open_file *open)
{
    if (open->current)
        atomic_fetch_add(&open->current->nrefs, 1);
    return open->current;
}

struct snapshot *open_file_snapshot(struct open_file *open)
{
    struct snapshot *snapshot;

    pthread_mutex_lock(&open->lock);
    snapshot = current_locked(open);
    pthread_mutex_unlock(&open->lock);
    return snapshot;
}

/*
 * Does the open state fall behind the one that was seen?  A file that is
 * passed through is as new as can be.
 */
static bool is_stale(const struct open_file *open, const struct stat *st)
{
    if (!open->current)
        return true;
    return entry_is_frame(open->node->id.kind) &&
           open->current->stamp != backing_stamp(st);
}

/* Wait for one's turn.  Returns false if there is nothing to do any more. */
static bool begin_refresh(struct open_file *open, const struct stat *st)
{
    bool stale;

    pthread_mutex_lock(&open->lock);
    while (open->busy)
        pthread_cond_wait(&open->idle, &open->lock);
    stale = is_stale(open, st);
    open->busy = stale;
    pthread_mutex_unlock(&open->lock);
    return stale;
}

/* Make a new state, or NULL, the current one.  Returns whether there is one. */
static bool end_refresh(struct open_file *open, struct snapshot *snapshot)
{
    struct snapshot *old = NULL;
    bool any;

    pthread_mutex_lock(&open->lock);
    if (snapshot) {
        old = open->current;
        open->current = snapshot;
    }
    any = open->current != NULL;
    open->busy = false;
    pthread_cond_broadcast(&open->idle);
    pthread_mutex_unlock(&open->lock);
    snapshot_put(old);
    return any;
}

int open_file_refresh(struct fs *fs, struct open_file *open,
                      const struct backing_place *place, const struct stat *st)
{
    struct fault fault = FAULT_NONE;
    struct snapshot *snapshot = NULL;
    int r;

    if (!begin_refresh(open, st))
        return 0;
    r = snapshot_open(fs, open->node->id.kind, place, st, &snapshot, &fault);
    if (r < 0 && entry_is_frame(open->node->id.kind))
        report_fault(&fs->nodes, open->node, backing_stamp(st), r, &fault);
    return end_refresh(open, snapshot) ? 0 : r;
}

static struct open_file *open_file_new(struct node *node)
{
    struct open_file *open = calloc(1, sizeof(*open));

    if (!open)
        return NULL;
    open->node = node;
    pthread_mutex_init(&open->lock, NULL);
    pthread_cond_init(&open->idle, NULL);
    return open;
}

static void open_file_free(struct open_file *open)
{
    snapshot_put(open->current);
    pthread_cond_destroy(&open->idle);
    pthread_mutex_destroy(&open->lock);
    free(open);
}

struct open_file *open_file_find(struct fs *fs, struct node *node)
{
    struct open_file *open;

    pthread_mutex_lock(&fs->nodes.lock);
    open = node->open;
    if (open)
        open->nrefs++;
    pthread_mutex_unlock(&fs->nodes.lock);
    return open;
}

/* Find the node's, or make it with one reference and no state. */
static struct open_file *find_or_make(struct fs *fs, struct node *node)
{
    struct open_file *fresh = open_file_new(node);
    struct open_file *open;

    if (!fresh)
        return NULL;
    pthread_mutex_lock(&fs->nodes.lock);
    open = node->open;
    if (!open) {
        open = node->open = fresh;
        node->nrefs++;
        fresh = NULL;
    }
    open->nrefs++;
    pthread_mutex_unlock(&fs->nodes.lock);
    if (fresh)
        open_file_free(fresh);
    return open;
}

void open_file_put(struct fs *fs, struct open_file *open)
{
    bool last;

    if (!open)
        return;
    pthread_mutex_lock(&fs->nodes.lock);
    last = --open->nrefs == 0;
    if (last)
        open->node->open = NULL;
    pthread_mutex_unlock(&fs->nodes.lock);
    if (!last)
        return;
    node_unref(&fs->nodes, open->node);
    open_file_free(open);
}

/* Look where the node is now, and open what is there if it is new. */
int open_file_renew(struct fs *fs, struct open_file *open)
{
    struct backing_place place;
    struct stat st;
    int r = fs_place(fs, open->node, &place);

    if (r < 0)
        return r;
    r = backing_stat(&place, open->node->id.kind, &st);
    if (r == 0 && !node_is(&fs->nodes, open->node, &st))
        r = -ESTALE;
    if (r == 0)
        r = open_file_refresh(fs, open, &place, &st);
    backing_close(&place);
    return r == -ENOENT ? -ESTALE : r;
}

int open_file_get(struct fs *fs, struct node *node, struct open_file **out)
{
    struct open_file *open = find_or_make(fs, node);
    int r;

    if (!open)
        return -ENOMEM;
    r = open_file_renew(fs, open);
    if (r < 0) {
        open_file_put(fs, open);
        return r;
    }
    *out = open;
    return 0;
}

bool open_file_cached(struct fs *fs, struct node *node,
                      const struct snapshot *snapshot)
{
    uint64_t stamp = snapshot->stamp;
    struct stat st;
    bool same;

    /* A file that is passed through changes while it is open. */
    if (!snapshot->file)
        stamp = fstat(snapshot->fd, &st) == 0 ? stamp_if_settled(&st) : 0;
    pthread_mutex_lock(&fs->nodes.lock);
    same = stamp != 0 && node->cached == stamp;
    node->cached = stamp;
    pthread_mutex_unlock(&fs->nodes.lock);
    return same;
}
