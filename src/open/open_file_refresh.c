/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>

#include "base/retry.h"
#include "open/kernel.h"
#include "open/open_file.h"
#include "store/store_version.h"
#include "tree/report.h"

enum {
    /* To open the file that has a name, while another process replaces it.
       That process may wait for the disk before it is done. */
    REOPEN_TRIES = 200,
    REOPEN_PAUSE_NS = 1000,
    REOPEN_PAUSE_MAX_NS = 1000000,
};

/*
 * Is the open state older than the file that was seen?  The descriptor of a
 * file that is passed through is always up to date.
 */
static bool is_stale(const struct open_file *open, const struct stat *st,
                     bool writable)
{
    const struct open_version *current = open->current;

    if (!current || (writable && !current->writable))
        return true;
    return (node_traits(open->node)->decoded || current->anchor.object) &&
           current->stamp !=
               store_version_hash(store_version_of(st), VERSION_SAME);
}

/* Have other programs changed the frame, perhaps without a trace in its
   stat()? */
static bool is_superseded(struct open_file *open)
{
    struct open_version *version = open_file_version(open);
    bool superseded = version && open_version_is_superseded(version);

    open_version_put(version);
    return superseded;
}

/* Wait until no other thread opens a state. */
static void await_turn_locked(struct open_file *open)
{
    while (open->busy)
        pthread_cond_wait(&open->idle, &open->lock);
}

/* Wait for this thread's turn.  Returns false if there is nothing left to
   do. */
static bool begin_refresh(struct open_file *open, const struct stat *st,
                          bool *writable)
{
    bool stale;

    pthread_mutex_lock(&open->lock);
    await_turn_locked(open);
    if (open->current && open->current->writable && !open->outdated)
        *writable = true;
    stale = is_stale(open, st, *writable);
    open->busy = stale;
    pthread_mutex_unlock(&open->lock);
    return stale;
}

static bool changes_frame(const struct open_version *version)
{
    return version && version->writable && version->file;
}

/* If changes of a frame are lost, because other programs have changed it, tell
   each program that may have made them. */
static void note_lost(struct fs *fs, struct open_file *open, struct file *file)
{
    struct unwritten bytes = { .error = -ESTALE, .fate = "lost" };
    struct fault fault;

    if (file_take_error(file, &fault) == -ESTALE &&
        open_file_note_refused(open) &&
        file_unsaved(file, &bytes.off, &bytes.end))
        report_lost(&fs->nodes, open->node, &bytes);
}

/* Make `version`, unless it is NULL, the current state, and return the old
   one. */
static struct open_version *end_refresh(struct fs *fs, struct open_file *open,
                                        struct open_version *version)
{
    struct open_version *old = NULL;
    bool outdates = false;

    if (version && changes_frame(open->current))
        note_lost(fs, open, open->current->file);
    pthread_mutex_lock(&open->lock);
    if (version) {
        old = open->current;
        open->current = version;
        if (changes_frame(old))
            outdates = open_file_note_modified_locked(fs, open);
    }
    pthread_mutex_unlock(&open->lock);
    if (outdates)
        open_file_outdate(fs, open);
    pthread_mutex_lock(&open->lock);
    open->busy = false;
    open->follows = false;
    pthread_cond_broadcast(&open->idle);
    pthread_mutex_unlock(&open->lock);
    return old;
}

/* Is an open file outdated, or will it be once it has another state? */
static bool is_outdating(struct fs *fs, struct open_file *open)
{
    bool outdating;

    pthread_mutex_lock(&open->lock);
    outdating = open->outdated || (changes_frame(open->current) &&
                                   open_file_may_outdate_locked(fs, open));
    pthread_mutex_unlock(&open->lock);
    return outdating;
}

/* Is a state open that was opened for the same use? */
static bool has_state(struct open_file *open, bool writable)
{
    bool any;

    pthread_mutex_lock(&open->lock);
    any = open->current && open->current->writable == writable;
    pthread_mutex_unlock(&open->lock);
    return any;
}

/* Has another file replaced the frame that is being changed?  The place is
   looked at again, because the file that the caller saw may be one that a
   commit of ours has replaced since. */
static bool is_replaced(const struct open_file *open,
                        const struct backing_place *place,
                        const struct stat *st)
{
    enum entry_kind kind = open->node->id.kind;
    struct stat now;

    if (!changes_frame(open->current) ||
        open_version_is_of(open->current, kind, st))
        return false;
    return backing_stat(place, kind, &now) == 0 &&
           !open_version_is_of(open->current, kind, &now);
}

/*
 * Is the stored frame the one that the writing file knows, if need be after
 * that file has reopened it?  Other programs may change the frame again
 * meanwhile, so this tries several times.  Returns 0, -ESTALE, or -EBUSY if
 * another program has locked the frame.
 */
static int check_own(struct file *file, struct fault *fault)
{
    struct retry retry = RETRY_REPLACED;

    do {
        int r = file_catch_up(file, fault);

        if (r < 0)
            return r == -EBUSY ? r : -ESTALE;
        if (file_is_own(file))
            return 0;
    } while (!file_is_latest(file) && retry_wait(&retry));
    return -ESTALE;
}

/* Record that the open state is the one that was seen, whose stamp was taken
   before it was compared.  Returns true if the file was reopened because other
   programs have changed the frame, so that the kernel's cache may be stale. */
static bool confirm(struct fs *fs, struct open_file *open, uint64_t stamp)
{
    bool reopened = file_take_reopened(open->current->file);

    pthread_mutex_lock(&fs->nodes.lock);
    if (reopened)
        open->current->cached = false;
    pthread_mutex_unlock(&fs->nodes.lock);
    pthread_mutex_lock(&open->lock);
    open->current->stamp = stamp;
    pthread_mutex_unlock(&open->lock);
    return reopened;
}

/* May another state replace the current one?  No, if the current one turns out
   to be the newest, which it is if a program has begun to write to it
   meanwhile. */
static bool supersede(struct open_file *open, bool replaced)
{
    return !changes_frame(open->current) ||
           file_supersede(open->current->file, replaced);
}

/*
 * Make the kernel drop its cache of a file that other programs have changed,
 * and tell it the size of `version`.  Called before end_refresh(), so that a
 * thread that finds the newest state open also finds the notification queued.
 */
static void announce(struct fs *fs, struct open_file *open,
                     struct open_version *version)
{
    if (!fs->writeback)
        return;
    if (!open_file_is_only_looked_up(fs, open, version))
        open_file_mark_kernel_stale(fs, open->node);
    kernel_notify(fs, open->node, version);
}

/* Drop the kernel's pages of a file. */
static void drop_cached(struct fs *fs, struct open_file *open)
{
    if (fs->shared)
        kernel_drop(fs, open->node, 0, 0);
}

/* A look at a file, and how it is to be opened. */
struct refresh {
    const struct seen_file *seen;
    uint64_t stamp; /* of the seen file, from before this look */
    bool writable;
    bool looks;      /* leave a file that replaces that of the node to others */
    bool follows;    /* the node may stand for a file that replaces its own, */
    unsigned nreads; /* if this is still the number of reads */
    bool superseded; /* other programs have changed the file */
    bool replaced;   /* another file has replaced the one being changed */
};

/*
 * Has another program put another frame in the place of one that is open?  The
 * programs that have the old one open go on with it, because the kernel would
 * give them pages of both by turns.  A frame that a commit has put into another
 * file, or that was changed in accordance with its lock file, stays the same.
 */
static bool is_other_frame(const struct open_file *open,
                           const struct refresh *how)
{
    const struct open_version *old = open->current;
    const struct stat *seen = how->seen->st;
    bool other_file;

    if (!old || how->superseded || !node_traits(open->node)->frame ||
        how->seen->place->made_up_ino)
        return false;
    other_file = changes_frame(old)
                     ? how->replaced
                     : !store_version_same_object(&old->st, seen);
    return other_file && !open_version_has_successor(old, seen);
}

/* Has a file become shorter than the kernel believes?  There is no way to tell
   the kernel of the writeback cache. */
static bool is_cut(const struct fs *fs, const struct open_version *old,
                   const struct open_version *version)
{
    return fs->writeback && old && old->file && version->file &&
           file_size(version->file) < file_size(old->file);
}

/*
 * Leave the node, with the state that is open, to the programs that have it
 * open, and find another node for the file that was seen.  Takes over
 * `version`, which may be NULL.  Returns -ESTALE.
 */
static int part(struct fs *fs, struct open_file *open,
                const struct refresh *how, struct open_version *version)
{
    /* The same frame may be opened for changes by the other node. */
    if (!is_other_frame(open, how) && changes_frame(open->current))
        file_supersede(open->current->file, true);
    node_detach(&fs->nodes, open->node);
    open_version_put(version);
    end_refresh(fs, open, NULL);
    open_file_outdate(fs, open);
    return -ESTALE;
}

/* Keep the state of a frame that is being changed if it is the newest.  Returns
   0, or an error as check_own(). */
static int refresh_own(struct fs *fs, struct open_file *open,
                       const struct refresh *how, struct fault *fault)
{
    int r = check_own(open->current->file, fault);

    if (r == 0 && confirm(fs, open, how->stamp)) {
        drop_cached(fs, open);
        announce(fs, open, open->current);
    }
    if (r == 0 || r == -EBUSY)
        end_refresh(fs, open, NULL);
    return r;
}

/* Make a new state the current one; NULL leaves the old one. */
static void replace(struct fs *fs, struct open_file *open,
                    const struct refresh *how, struct open_version *version)
{
    const struct open_version *old = open->current;

    if (old)
        drop_cached(fs, open);
    /* It may be the same state, reopened for writing or under a new name. */
    if (old && version &&
        (how->superseded ||
         store_version_compare(store_version_of(&old->st),
                               store_version_of(how->seen->st)) <
             VERSION_SAME_CONTENT)) {
        announce(fs, open, version);
        open_file_written(open, true);
    }
    open_version_put(end_refresh(fs, open, version));
}

/* Keep the state that is open.  Returns -ESTALE. */
static int keep(struct fs *fs, struct open_file *open,
                struct open_version *version)
{
    open_version_put(version);
    end_refresh(fs, open, NULL);
    return -ESTALE;
}

/* Open the state that the file is in now. */
static int refresh_anew(struct fs *fs, struct open_file *open,
                        const struct refresh *how, struct fault *fault)
{
    struct open_version *version = NULL;
    bool other = is_other_frame(open, how);
    bool writable;
    int r;

    if (open_file_leave_orphan(fs, open) || (other && how->looks))
        return keep(fs, open, NULL);
    if (other && !how->follows)
        return part(fs, open, how, NULL);
    writable = how->writable && !is_outdating(fs, open);
    r = open_version_open(fs, how->seen, writable, &version, fault);
    if (r < 0 && r != -ESTALE && node_traits(open->node)->decoded)
        report_fault(&fs->nodes, open->node, how->seen->st, r, fault);
    if (r == 0 && (!open_version_has_readers_of(version, open->current) ||
                   is_cut(fs, open->current, version)))
        return part(fs, open, how, version);
    if (r == 0 && other && !open_file_begin_follow(open, how->nreads))
        return keep(fs, open, version);
    if (r == 0 && version->file && node_is_removed(&fs->nodes, open->node))
        file_set_unlinked(version->file, true);
    if (r == 0 && version->file && open->current && open->current->file)
        file_take_over(version->file, open->current->file);
    if (r == 0 && !supersede(open, how->replaced)) {
        open_version_put(version);
        version = NULL;
    }
    replace(fs, open, how, version);
    return r < 0 && r != -EBUSY && has_state(open, how->writable) ? 0 : r;
}

static int refresh(struct fs *fs, struct open_file *open, struct refresh *how)
{
    const struct stat *st = how->seen->st;
    bool to_write = how->writable;
    struct fault fault = FAULT_NONE;
    int r = -ESTALE;

    how->stamp = store_version_stamp(store_version_of(st));
    how->superseded = is_superseded(open);
    if (open_file_leave_orphan(fs, open) || open_file_watch(fs, open) < 0)
        return -ESTALE;
    if (!begin_refresh(open, st, &how->writable))
        return 0;
    /* Time stamps do not tell whether the daemon itself has changed the file,
       because it gives back freed space after a commit. */
    how->replaced = is_replaced(open, how->seen->place, st);
    if (changes_frame(open->current) && !how->replaced)
        r = refresh_own(fs, open, how, &fault);
    if (r == -ESTALE)
        r = refresh_anew(fs, open, how, &fault);
    /* A file that is outdated is only read. */
    return r == 0 && to_write && !has_state(open, true) ? -ESTALE : r;
}

int open_file_refresh(struct fs *fs, struct open_file *open,
                      const struct backing_place *place, const struct stat *st,
                      enum refresh_use use)
{
    const struct seen_file seen = { open->node->id.kind, place, st };
    struct refresh how = {
        .seen = &seen,
        .writable = use == REFRESH_TO_WRITE,
        .looks = use == REFRESH_TO_LOOK,
    };

    return refresh(fs, open, &how);
}

int open_file_follow(struct fs *fs, struct open_file *open,
                     const struct backing_place *place, const struct stat *st,
                     unsigned nreads)
{
    const struct seen_file seen = { open->node->id.kind, place, st };
    struct refresh how = { .seen = &seen, .follows = true, .nreads = nreads };

    return refresh(fs, open, &how);
}

/* Try once to refresh.  `*other` becomes true if the file that was opened is
   not the one that was seen, or has gone, because its name was given to another
   file meanwhile. */
static int try_reopen(struct fs *fs, struct open_file *open, bool writable,
                      bool *other)
{
    struct backing_place place;
    struct stat st;
    int r = writable && open_file_is_outdated(open)
                ? -ESTALE
                : fs_place(fs, open->node, &place);

    *other = false;
    if (r < 0)
        return r;
    r = backing_stat(&place, open->node->id.kind, &st);
    if (r == 0 && !node_is(&fs->nodes, open->node, &st))
        r = -ESTALE;
    if (r == 0) {
        r = open_file_refresh(fs, open, &place, &st,
                              writable ? REFRESH_TO_WRITE : REFRESH_TO_READ);
        *other = r == -ESTALE || r == -ENOENT;
    }
    backing_close(&place);
    return r == -ENOENT ? -ESTALE : r;
}

int open_file_reopen(struct fs *fs, struct open_file *open, bool writable)
{
    struct retry retry = {
        .tries_left = REOPEN_TRIES - 1,
        .patience_ns = RETRY_FOREVER,
        .pause_ns = REOPEN_PAUSE_NS,
        .pause_max_ns = REOPEN_PAUSE_MAX_NS,
    };
    bool other;
    int r;

    do
        r = try_reopen(fs, open, writable, &other);
    while (other && retry_wait(&retry));
    return r;
}

void open_file_start(struct fs *fs, struct open_file *open,
                     struct open_version *version)
{
    pthread_mutex_lock(&open->lock);
    await_turn_locked(open);
    open->busy = true;
    pthread_mutex_unlock(&open->lock);
    supersede(open, false);
    open_version_put(end_refresh(fs, open, version));
}

bool open_file_is_newest(struct open_file *open,
                         const struct backing_place *place)
{
    struct open_version *version = open ? open_file_version(open) : NULL;
    struct stat st;
    bool newest;

    newest = version && backing_stat(place, open->node->id.kind, &st) == 0 &&
             (version->stamp ==
                  store_version_hash(store_version_of(&st), VERSION_SAME) ||
              (changes_frame(version) && file_is_own(version->file)));
    open_version_put(version);
    return newest;
}

void open_file_note_touch(struct open_file *open,
                          const struct backing_place *place)
{
    struct open_version *version = open_file_version(open);
    struct stat st;

    if (changes_frame(version))
        file_note_touch(version->file);
    /* Compare the frame after its times were taken: a change that comes later
       shows in them. */
    if (backing_stat(place, open->node->id.kind, &st) == 0 &&
        (!version->file || file_is_stored(version->file))) {
        pthread_mutex_lock(&open->lock);
        if (open->current == version)
            version->stamp = store_version_stamp(store_version_of(&st));
        pthread_mutex_unlock(&open->lock);
    }
    open_version_put(version);
}
