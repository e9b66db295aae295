/* SPDX-License-Identifier: BSD-3-Clause */
#include "open/open_file.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/statvfs.h>
#include <time.h>

#include "base/retry.h"
#include "open/deferred_close.h"
#include "open/open_file_lost.h"
#include "store/store_version.h"
#include "tree/report.h"

enum {
    SPACE_MARGIN = 4 << 20, /* bytes on disk that a commit needs besides the
                               data */
    SPACE_TRIES = 3,        /* to write out when there is no space */
    SPACE_PAUSE_NS = 20 * 1000 * 1000,
};

static struct open_file *open_file_new(struct node *node)
{
    struct open_file *open = calloc(1, sizeof(*open));

    if (!open)
        return NULL;
    open->node = node;
    list_init(&open->closing.unsaved);
    pthread_mutex_init(&open->lock, NULL);
    pthread_cond_init(&open->idle, NULL);
    if (lost_ranges_init(&open->lost) < 0) {
        open_file_free(open);
        return NULL;
    }
    return open;
}

void open_file_free(struct open_file *open)
{
    open_version_put(open->current);
    lost_ranges_fini(&open->lost);
    pthread_cond_destroy(&open->idle);
    pthread_mutex_destroy(&open->lock);
    free(open);
}

void open_file_abandon_locked(struct open_file *open, bool abandoned)
{
    pthread_mutex_lock(&open->lock);
    if (open->current && open->current->file)
        file_abandon(open->current->file, abandoned);
    pthread_mutex_unlock(&open->lock);
}

/* Take a reference to the open file of a node, or return NULL.  Waits while the
   file is being closed for good. */
static struct open_file *find_locked(struct fs *fs, struct node *node)
{
    while (node->open && node->open->closing.final)
        pthread_cond_wait(&fs->deferred_close->closed, &fs->nodes.lock);
    if (node->open) {
        node->open->nrefs++;
        if (node_is_removed_locked(node))
            open_file_abandon_locked(node->open, false);
        list_remove(&node->open->closing.unsaved);
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

/* Find the open file of a node, or make one with one reference and no state. */
static struct open_file *find_or_make(struct fs *fs, struct node *node)
{
    struct open_file *created = open_file_new(node);
    struct open_file *open;

    if (!created)
        return NULL;
    pthread_mutex_lock(&fs->nodes.lock);
    open = find_locked(fs, node);
    if (!open) {
        open = node->open = created;
        open->nrefs = 1;
        open->new_size = node->new_size;
        open->new_size_unsure = node->new_size_unsure;
        node->new_size = 0;
        node->nrefs++;
        created = NULL;
    }
    pthread_mutex_unlock(&fs->nodes.lock);
    if (created)
        open_file_free(created);
    return open;
}

void open_file_put(struct fs *fs, struct open_file *open)
{
    if (open)
        deferred_close_put(fs, open);
}

int open_file_get(struct fs *fs, struct node *node, bool writable,
                  struct open_file **out)
{
    struct open_file *open;
    int r;

    if (writable && node_traits(node)->virtual)
        return -EROFS;
    if (node_is_superseded(&fs->nodes, node))
        return -ESTALE;
    open = find_or_make(fs, node);
    if (!open)
        return -ENOMEM;
    r = open_file_reopen(fs, open, writable);
    if (r < 0) {
        open_file_put(fs, open);
        return r;
    }
    *out = open;
    return 0;
}

int open_file_from_created(struct fs *fs, struct node *node,
                           const struct seen_file *seen, struct file *file,
                           struct open_file **out)
{
    struct open_file *open = find_or_make(fs, node);
    struct open_version *version = open_version_new(seen->st, true);

    if (!open || !version) {
        open_file_put(fs, open);
        open_version_put(version);
        return -ENOMEM;
    }
    version->file = file;
    version->cached = true; /* a new frame is empty, so the kernel's empty cache
                               matches it */
    backing_anchor(seen->place, seen->kind, &version->anchor);
    open_file_start(fs, open, version);
    *out = open;
    return 0;
}

/*
 * Commit a frame, or make it `durable`, and report errors.  On -ENOSPC, wait
 * and try again: closing a file that was removed takes a moment, and nobody
 * waits for it, so the space that a program has just freed may become free a
 * moment later.
 *
 *  mtime  see file_commit(); only if not `durable`
 */
static int save_frame(struct fs *fs, struct open_file *open,
                      const struct open_version *version, bool durable,
                      const struct timespec *mtime)
{
    struct retry retry = {
        .tries_left = SPACE_TRIES - 1,
        .patience_ns = RETRY_FOREVER,
        .pause_ns = SPACE_PAUSE_NS,
        .pause_max_ns = SPACE_PAUSE_NS,
    };
    struct fault fault = FAULT_NONE;
    int r;

    do
        r = durable ? file_sync(version->file, &fault)
                    : file_commit(version->file, mtime, &fault);
    while (r == -ENOSPC && retry_wait(&retry));
    if (r == -ESTALE)
        open_file_leave_orphan(fs, open);
    if (r < 0)
        report_fault(&fs->nodes, open->node, &version->st, r, &fault);
    return r;
}

/* Make a state durable. */
static int sync_state(struct fs *fs, struct open_file *open,
                      struct open_version *version)
{
    if (!version->writable)
        return 0;
    if (version->file)
        return save_frame(fs, open, version, true, NULL);
    return backing_anchor_sync(&version->anchor);
}

int open_file_sync(struct fs *fs, struct open_file *open)
{
    struct open_version *version = open_file_version(open);
    int r = open_file_check_lost(fs, open, sync_state(fs, open, version));

    open_version_put(version);
    return r;
}

/* Commit a state, with the time of modification that the kernel has for it.  If
   a program has written past the kernel's cache meanwhile, so that this time is
   no longer valid, the commit may include its bytes. */
static int commit_state(struct fs *fs, struct open_file *open,
                        const struct open_version *version)
{
    struct timespec mtime;
    bool set = open_file_get_mtime(open, &mtime);
    int r = save_frame(fs, open, version, false, set ? &mtime : NULL);

    if (r < 0)
        return r;
    if (set && !open_file_get_mtime(open, &mtime))
        open_file_touch(fs, open, version);
    else
        open_file_apply_mtime(fs, open, version);
    return 0;
}

/* May the dirty data of all files need more space than there is? */
static bool is_space_short(struct fs *fs, const struct open_version *version)
{
    uint64_t dirty = file_context_dirty(fs->files);
    struct statvfs st;

    return backing_anchor_statvfs(&version->anchor, &st) == 0 &&
           st.f_bavail * st.f_frsize < dirty + SPACE_MARGIN;
}

/* Record what the kernel knows of a file that is passed through, before another
   program can change it. */
static void note_flushed(struct fs *fs, struct open_version *version)
{
    struct stat st;

    if (backing_anchor_stat(&version->anchor, &st) < 0)
        return;
    pthread_mutex_lock(&fs->nodes.lock);
    version->flushed =
        store_version_hash(store_version_of(&st), VERSION_SAME_CONTENT);
    pthread_mutex_unlock(&fs->nodes.lock);
}

int open_file_flush(struct fs *fs, struct open_file *open)
{
    struct open_version *version = open_file_version(open);
    struct fault fault = FAULT_NONE;
    int r = 0;

    if (version->file && version->writable &&
        !node_is_removed(&fs->nodes, open->node)) {
        r = file_take_error(version->file, &fault);
        if (r == 0 && !file_is_clean(version->file) &&
            (!fs->close_later || is_space_short(fs, version)))
            r = commit_state(fs, open, version);
    }
    if (!version->file && version->writable)
        note_flushed(fs, version);
    open_version_put(version);
    return r;
}

void open_file_commit_node(struct fs *fs, struct node *node)
{
    struct open_file *open = open_file_find(fs, node);
    struct open_version *version = open ? open_file_version(open) : NULL;

    if (version && version->file && version->writable && !fs->close_later)
        commit_state(fs, open, version);
    open_version_put(version);
    open_file_put(fs, open);
}

static bool is_open(struct fs *fs, const struct node *node)
{
    bool open;

    pthread_mutex_lock(&fs->nodes.lock);
    open = node->open != NULL;
    pthread_mutex_unlock(&fs->nodes.lock);
    return open;
}

/* The reference is taken before, because a thread that closes the file for good
   waits for its path. */
struct open_file *open_file_begin_rename(struct fs *fs, struct node *from,
                                         struct node *to)
{
    for (;;) {
        struct open_file *open = from ? open_file_find(fs, from) : NULL;

        node_begin_rename(&fs->nodes, from, to);
        if (!from || open || !is_open(fs, from))
            return open;
        node_end_rename(&fs->nodes, from, to);
    }
}

void open_file_end_rename(struct fs *fs, struct open_file *open,
                          struct node *from, struct node *to)
{
    node_end_rename(&fs->nodes, from, to);
    open_file_put(fs, open);
}

int open_file_move(struct fs *fs, struct open_file *open,
                   int (*move)(void *context, struct store *store),
                   void *context)
{
    struct open_version *version = open ? open_file_version(open) : NULL;
    struct fault fault = FAULT_NONE;
    int r;

    if (version && version->file && version->writable)
        r = file_move(version->file, move, context, &fault);
    else
        r = move(context, NULL);
    if (r < 0 && fault.what)
        report_fault(&fs->nodes, open->node, &version->st, r, &fault);
    open_version_put(version);
    return r;
}

void open_file_note_name(struct fs *fs, struct node *node)
{
    struct open_file *open = node ? open_file_find(fs, node) : NULL;
    struct open_version *version = open ? open_file_version(open) : NULL;

    if (version && version->file && version->writable)
        file_note_name(version->file);
    open_version_put(version);
    open_file_put(fs, open);
}

/* Commit a state unless that has been done, but leave it to others to make it
   durable. */
static int commit_dirty(struct fs *fs, struct open_file *open,
                        struct open_version *version)
{
    if (!version->writable || !version->file || file_is_clean(version->file))
        return 0;
    return save_frame(fs, open, version, false, NULL);
}

/* Save a node by `save` if it is open. */
static int save_node(struct fs *fs, struct node *node,
                     int (*save)(struct fs *fs, struct open_file *open,
                                 struct open_version *version))
{
    struct open_file *open = node ? open_file_find(fs, node) : NULL;
    struct open_version *version = open ? open_file_version(open) : NULL;
    int r = 0;

    /* A file that is just being opened has no state yet, and nothing to
       save. */
    if (version)
        r = open_file_check_lost(fs, open, save(fs, open, version));
    /* A commit that rewrites a frame makes it another file. */
    if (version && version->writable && r == 0)
        open_file_note_content(fs, node, version);
    open_version_put(version);
    open_file_put(fs, open);
    return r;
}

int open_file_sync_node(struct fs *fs, struct node *node)
{
    return save_node(fs, node, sync_state);
}

int open_file_save_node(struct fs *fs, struct node *node)
{
    return save_node(fs, node, commit_dirty);
}

void open_file_set_unlinked(struct fs *fs, struct node *node, bool unlinked)
{
    struct open_file *open;

    if (!node)
        return;
    pthread_mutex_lock(&fs->nodes.lock);
    open = node->open;
    if (open) {
        pthread_mutex_lock(&open->lock);
        if (open->current && open->current->file)
            file_set_unlinked(open->current->file, unlinked);
        pthread_mutex_unlock(&open->lock);
    }
    pthread_mutex_unlock(&fs->nodes.lock);
}
