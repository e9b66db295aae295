/* SPDX-License-Identifier: BSD-3-Clause */
#include "fuse/open_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "fuse/kernel.h"
#include "fuse/remove.h"
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

static struct snapshot *snapshot_new(const struct stat *st, bool writable)
{
    struct snapshot *snapshot = calloc(1, sizeof(*snapshot));

    if (!snapshot)
        return NULL;
    atomic_init(&snapshot->nrefs, 1);
    snapshot->stamp = stamp_if_settled(st);
    snapshot->st = *st;
    snapshot->writable = writable;
    snapshot->fd = -1;
    return snapshot;
}

static int open_frame(struct fs *fs, struct snapshot *snapshot,
                      const struct backing_place *place, enum entry_kind kind,
                      struct fault *fault)
{
    struct store *store;
    int r = backing_store(place, kind, snapshot->writable ? STORE_WRITE : 0,
                          &store);

    if (r < 0)
        return r;
    if (snapshot->writable)
        r = file_open_writable(fs->files, store, &snapshot->file, fault);
    else
        r = file_open(fs->files, store, fs->base, &snapshot->file, fault);
    if (r < 0)
        store_close(store);
    if (r == 0 && fs->writable)
        r = snapshot->fd = backing_open(place, O_PATH);
    return r < 0 ? r : 0;
}

/* Open a file that is passed through, if it is the one that was seen. */
static int open_other(struct snapshot *snapshot,
                      const struct backing_place *place)
{
    struct stat st;
    int mode = snapshot->writable ? O_RDWR : O_RDONLY;
    int fd = backing_open(place, mode | O_NONBLOCK | O_NOCTTY);

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
                         const struct stat *st, bool writable,
                         struct snapshot **out, struct fault *fault)
{
    struct snapshot *snapshot = snapshot_new(st, writable);
    int r;

    if (!snapshot)
        return -ENOMEM;
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

struct snapshot *snapshot_get(struct snapshot *snapshot)
{
    atomic_fetch_add(&snapshot->nrefs, 1);
    return snapshot;
}

bool snapshot_is_overwritten(const struct snapshot *snapshot)
{
    struct frame *frame;
    bool unwritten;

    if (snapshot->writable)
        return false;
    frame = file_frame_get(snapshot->file);
    unwritten = frame_is_unwritten(frame);
    file_frame_put(snapshot->file, frame);
    return !unwritten;
}

static struct snapshot *current_locked(struct open_file *open)
{
    return open->current ? snapshot_get(open->current) : NULL;
}

int open_file_anchor(struct open_file *open)
{
    int fd = -1;

    pthread_mutex_lock(&open->lock);
    if (open->current && open->current->fd >= 0)
        fd = fcntl(open->current->fd, F_DUPFD_CLOEXEC, 0);
    pthread_mutex_unlock(&open->lock);
    return fd < 0 ? -ESTALE : fd;
}

struct snapshot *open_file_snapshot(struct open_file *open)
{
    struct snapshot *snapshot;

    pthread_mutex_lock(&open->lock);
    snapshot = current_locked(open);
    pthread_mutex_unlock(&open->lock);
    return snapshot;
}

/* Is the frame that is stored the one that the last commit has left? */
static bool is_as_committed(struct file *file, const struct frame_info *stored)
{
    struct frame *frame = file_frame_get(file);
    const struct frame_info *info = frame_get_info(frame);
    bool same = info->nbytes == stored->nbytes &&
                info->cbytes == stored->cbytes &&
                info->frame_len == stored->frame_len;

    file_frame_put(file, frame);
    return same;
}

/*
 * Is what was seen of a writable frame what we made of it ourselves?  Time
 * stamps do not tell: dead space is given back after a commit.  So the header
 * is read, when no commit is under way.  Called by the one who is `busy`.
 */
static bool is_our_own(const struct open_file *open,
                       const struct backing_place *place)
{
    struct file *file = open->current->file;
    struct fault fault = FAULT_NONE;
    struct frame_info stored;
    struct store_stat unused;
    struct store *store;
    int r;

    if (file_dirty(file) > 0 || file_sync(file, &fault) < 0)
        return true;
    if (backing_store(place, open->node->id.kind, 0, &store) < 0)
        return true;
    r = frame_read_info(store, 0, &stored, &unused, &fault);
    store_close(store);
    return r < 0 || is_as_committed(file, &stored) || file_dirty(file) > 0;
}

/*
 * Does the open state fall behind the one that was seen?  A file that is
 * passed through is as new as can be.
 */
static bool is_stale(const struct open_file *open, const struct stat *st,
                     bool writable)
{
    const struct snapshot *current = open->current;

    if (!current || (writable && !current->writable))
        return true;
    if (!entry_is_frame(open->node->id.kind) ||
        current->stamp == backing_stamp(st))
        return false;
    return !current->writable || open->nchanges == 0;
}

/* Wait for one's turn.  Returns false if there is nothing to do any more. */
static bool begin_refresh(struct open_file *open, const struct stat *st,
                          bool *writable)
{
    bool stale;

    pthread_mutex_lock(&open->lock);
    while (open->busy)
        pthread_cond_wait(&open->idle, &open->lock);
    if (open->current && open->current->writable)
        *writable = true;
    stale = is_stale(open, st, *writable);
    open->busy = stale;
    pthread_mutex_unlock(&open->lock);
    return stale;
}

/* Make a new state, or NULL, the current one, and give back the old. */
static struct snapshot *end_refresh(struct open_file *open,
                                    struct snapshot *snapshot)
{
    struct snapshot *old = NULL;

    pthread_mutex_lock(&open->lock);
    if (snapshot) {
        old = open->current;
        open->current = snapshot;
    }
    open->busy = false;
    pthread_cond_broadcast(&open->idle);
    pthread_mutex_unlock(&open->lock);
    return old;
}

int open_file_refresh(struct fs *fs, struct open_file *open,
                      const struct backing_place *place, const struct stat *st,
                      bool writable)
{
    struct fault fault = FAULT_NONE;
    struct snapshot *snapshot = NULL;
    struct snapshot *old;
    bool other;
    int r;

    if (!begin_refresh(open, st, &writable))
        return 0;
    if (open->current && open->current->writable && open->current->file &&
        is_our_own(open, place)) {
        end_refresh(open, NULL);
        return 0;
    }
    r = snapshot_open(fs, open->node->id.kind, place, st, writable, &snapshot,
                      &fault);
    if (r < 0 && entry_is_frame(open->node->id.kind))
        report_fault(&fs->nodes, open->node, backing_stamp(st), r, &fault);
    old = end_refresh(open, snapshot);
    other = old && old->stamp != backing_stamp(st);
    snapshot_put(old);
    if (r == 0)
        return other;
    /* To read, an older state will do. */
    return open->current && open->current->writable == writable ? 0 : r;
}

static struct open_file *open_file_new(struct node *node)
{
    struct open_file *open = calloc(1, sizeof(*open));

    if (!open)
        return NULL;
    open->node = node;
    list_init(&open->unsaved);
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

/* Take a reference to what is open, once it is not being closed; or NULL. */
static struct open_file *find_locked(struct fs *fs, struct node *node)
{
    while (node->open && node->open->closing)
        pthread_cond_wait(&fs->closed, &fs->nodes.lock);
    if (node->open) {
        node->open->nrefs++;
        list_remove(&node->open->unsaved);
    }
    return node->open;
}

struct open_file *open_file_find(struct fs *fs, struct node *node)
{
    struct open_file *open;

    pthread_mutex_lock(&fs->nodes.lock);
    open = find_locked(fs, node);
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
    open = find_locked(fs, node);
    if (!open) {
        open = node->open = fresh;
        open->nrefs = 1;
        node->nrefs++;
        fresh = NULL;
    }
    pthread_mutex_unlock(&fs->nodes.lock);
    if (fresh)
        open_file_free(fresh);
    return open;
}

/* Give the file the time of modification that a program asked for. */
static void apply_mtime(struct fs *fs, struct open_file *open)
{
    const struct timespec times[2] = { { .tv_nsec = UTIME_OMIT }, open->mtime };
    struct backing_place place;

    if (!open->mtime_set || fs_place(fs, open->node, &place) < 0)
        return;
    backing_utimens(&place, open->node->id.kind, times);
    backing_close(&place);
}

/* Log what of a file is not written out. */
static void report_unsaved(struct fs *fs, struct open_file *open, int error,
                           const char *fate)
{
    uint64_t off = 0;
    uint64_t end = 0;

    file_unsaved(open->current->file, &off, &end);
    report_lost(&fs->nodes, open->node, error, off, end, fate);
}

/* Make a file durable that nobody holds open any more. */
static int save(struct fs *fs, struct open_file *open)
{
    struct snapshot *current = open->current;
    struct fault fault = FAULT_NONE;
    int r;

    if (!current || !current->writable || !current->file)
        return 0;
    if (node_is_removed(&fs->nodes, open->node))
        file_truncate(current->file, 0, &fault);
    r = file_sync(current->file, &fault);
    if (r < 0)
        report_unsaved(fs, open, r, "kept in memory");
    return r;
}

void open_file_note_content(struct fs *fs, struct node *node)
{
    struct backing_place place;
    struct stat st;
    int r = fs_place(fs, node, &place);

    if (r < 0)
        return;
    r = backing_stat(&place, node->id.kind, &st);
    backing_close(&place);
    if (r < 0)
        return;
    if (entry_is_frame(node->id.kind) && node_is(&fs->nodes, node, &st)) {
        struct node_id id = node_id_of(&st, node->id.kind);

        node_renew(&fs->nodes, node, &id);
    }
    pthread_mutex_lock(&fs->nodes.lock);
    node->content = backing_content_stamp(&st);
    node->cached = backing_stamp(&st);
    pthread_mutex_unlock(&fs->nodes.lock);
}

/* Close the last state of a file, whatever becomes of it. */
static void close_last(struct fs *fs, struct open_file *open)
{
    struct node *node = open->node;
    bool written = open->current && open->current->writable;
    bool removed = node_is_removed(&fs->nodes, node);
    int anchor;

    if (removed && open->current && node->id.kind == ENTRY_SPARSE)
        remove_retired(fs, &open->current->st);
    anchor = open_file_anchor(open);
    snapshot_put(open->current);
    open->current = NULL;
    if (written && !removed) {
        apply_mtime(fs, open);
        open_file_note_content(fs, node);
    }
    if (anchor >= 0)
        close(anchor);
    pthread_mutex_lock(&fs->nodes.lock);
    node->open = NULL;
    pthread_cond_broadcast(&fs->closed);
    pthread_mutex_unlock(&fs->nodes.lock);
    node_unref(&fs->nodes, node);
    open_file_free(open);
}

/* Keep a file that could not be written out. */
static void keep(struct fs *fs, struct open_file *open)
{
    pthread_mutex_lock(&fs->nodes.lock);
    open->closing = false;
    open->nrefs = 0;
    list_append(&fs->unsaved, &open->unsaved);
    pthread_cond_broadcast(&fs->closed);
    pthread_mutex_unlock(&fs->nodes.lock);
}

/* Take one of the files that could not be written out; NULL if there is none. */
static struct open_file *take_unsaved(struct fs *fs)
{
    struct open_file *open = NULL;

    pthread_mutex_lock(&fs->nodes.lock);
    if (!list_empty(&fs->unsaved)) {
        open = list_entry(fs->unsaved.next, struct open_file, unsaved);
        list_remove(&open->unsaved);
        open->closing = true;
    }
    pthread_mutex_unlock(&fs->nodes.lock);
    return open;
}

static int close_or_keep(struct fs *fs, struct open_file *open)
{
    int r = save(fs, open);

    if (r < 0)
        keep(fs, open);
    else
        close_last(fs, open);
    return r;
}

void open_file_put(struct fs *fs, struct open_file *open)
{
    bool last;

    if (!open)
        return;
    pthread_mutex_lock(&fs->nodes.lock);
    last = open->nrefs == 1;
    if (last)
        open->closing = true;
    else
        open->nrefs--;
    pthread_mutex_unlock(&fs->nodes.lock);
    if (!last || close_or_keep(fs, open) < 0)
        return;
    /* Where there is room again there may be room for others. */
    open = take_unsaved(fs);
    if (open)
        close_or_keep(fs, open);
}

void open_file_give_up(struct fs *fs)
{
    struct open_file *open;

    while ((open = take_unsaved(fs))) {
        struct fault fault = FAULT_NONE;
        int r = file_sync(open->current->file, &fault);

        if (r < 0)
            report_unsaved(fs, open, r, "lost");
        close_last(fs, open);
    }
}

int open_file_sync(struct fs *fs, struct open_file *open)
{
    struct snapshot *snapshot = open_file_snapshot(open);
    struct fault fault = FAULT_NONE;
    int r = 0;

    if (snapshot->file && snapshot->writable)
        r = file_sync(snapshot->file, &fault);
    else if (snapshot->writable)
        r = fsync(snapshot->fd) < 0 ? -errno : 0;
    if (r < 0 && snapshot->file)
        report_fault(&fs->nodes, open->node, backing_stamp(&snapshot->st), r,
                     &fault);
    snapshot_put(snapshot);
    return r;
}

int open_file_sync_node(struct fs *fs, struct node *node)
{
    struct open_file *open = node ? open_file_find(fs, node) : NULL;
    int r = open ? open_file_sync(fs, open) : 0;

    open_file_put(fs, open);
    return r;
}

void open_file_written(struct open_file *open, bool direct)
{
    if (!direct)
        return;
    pthread_mutex_lock(&open->lock);
    open->mtime_set = false;
    pthread_mutex_unlock(&open->lock);
}

void open_file_set_mtime(struct open_file *open, const struct timespec *mtime)
{
    pthread_mutex_lock(&open->lock);
    open->mtime_set = true;
    open->mtime = *mtime;
    pthread_mutex_unlock(&open->lock);
}

void open_file_begin_change(struct open_file *open)
{
    if (!open)
        return;
    pthread_mutex_lock(&open->lock);
    open->nchanges++;
    pthread_mutex_unlock(&open->lock);
}

void open_file_end_change(struct fs *fs, struct open_file *open)
{
    struct backing_place place;
    struct stat st;
    bool known;

    if (!open)
        return;
    known = fs_place(fs, open->node, &place) == 0;
    if (known) {
        known = backing_stat(&place, open->node->id.kind, &st) == 0;
        backing_close(&place);
    }
    pthread_mutex_lock(&open->lock);
    open->nchanges--;
    if (known && open->current)
        open->current->stamp = backing_stamp(&st);
    pthread_mutex_unlock(&open->lock);
}

/* Look where the node is now, and open what is there if it is new. */
static int renew(struct fs *fs, struct open_file *open, bool writable)
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
        r = open_file_refresh(fs, open, &place, &st, writable);
    backing_close(&place);
    return r == -ENOENT ? -ESTALE : r;
}

int open_file_renew(struct fs *fs, struct open_file *open)
{
    int r = renew(fs, open, false);

    return r < 0 ? r : 0;
}

/* Others have changed a file that was open before. */
static void tell_kernel(struct fs *fs, struct open_file *open)
{
    struct snapshot *snapshot = open_file_snapshot(open);

    kernel_tell(fs, open->node, snapshot,
                snapshot->file ? file_size(snapshot->file)
                               : (uint64_t)snapshot->st.st_size);
    snapshot_put(snapshot);
}

int open_file_get(struct fs *fs, struct node *node, bool writable,
                  struct open_file **out)
{
    struct open_file *open = find_or_make(fs, node);
    int r;

    if (!open)
        return -ENOMEM;
    r = renew(fs, open, writable);
    if (r < 0) {
        open_file_put(fs, open);
        return r;
    }
    if (r > 0 && fs->writeback)
        tell_kernel(fs, open);
    *out = open;
    return 0;
}

bool open_file_is_agreed(struct fs *fs, struct open_file *open)
{
    const struct node *node = open->node;
    struct snapshot *snapshot;
    bool agreed;

    if (!fs->writeback)
        return true;
    snapshot = open_file_snapshot(open);
    pthread_mutex_lock(&fs->nodes.lock);
    agreed = open->nrefs > 1 || node->content == 0 ||
             node->content == backing_content_stamp(&snapshot->st);
    pthread_mutex_unlock(&fs->nodes.lock);
    snapshot_put(snapshot);
    return agreed;
}

int open_file_adopt(struct fs *fs, struct node *node,
                    const struct backing_place *place, struct file *file,
                    struct open_file **out)
{
    struct open_file *open;
    struct snapshot *snapshot;
    struct stat st;
    int r = backing_stat(place, node->id.kind, &st);

    if (r < 0)
        return r;
    open = find_or_make(fs, node);
    snapshot = snapshot_new(&st, true);
    if (!open || !snapshot) {
        open_file_put(fs, open);
        snapshot_put(snapshot);
        return -ENOMEM;
    }
    snapshot->file = file;
    snapshot->fd = backing_open(place, O_PATH);
    snapshot_put(end_refresh(open, snapshot));
    *out = open;
    return 0;
}

bool open_file_cached(struct fs *fs, struct node *node,
                      struct snapshot *snapshot)
{
    uint64_t stamp = snapshot->stamp;
    struct stat st;
    bool same;

    /* A file that is passed through changes while it is open. */
    if (!snapshot->file)
        stamp = fstat(snapshot->fd, &st) == 0 ? stamp_if_settled(&st) : 0;
    pthread_mutex_lock(&fs->nodes.lock);
    same = (stamp != 0 && node->cached == stamp) ||
           (snapshot->cached && snapshot->writable);
    node->cached = stamp;
    snapshot->cached = true;
    pthread_mutex_unlock(&fs->nodes.lock);
    return same;
}
