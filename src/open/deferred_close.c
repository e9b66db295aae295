/* SPDX-License-Identifier: BSD-3-Clause */
#include "open/deferred_close.h"

#include <errno.h>
#include <stdlib.h>

#include "open/open_file_lost.h"
#include "tree/report.h"

enum {
    NTHREADS = 8,
    DELAY_NS = 100 * 1000 * 1000,
    NANOSECONDS = 1000 * 1000 * 1000,
    NWAITING_HURRY = 64, /* if more wait, all are closed without delay, until
                            only NWAITING_CALM are left */
    NWAITING_CALM = 16,
    NWAITING_MAX =
        1024, /* if more wait, deferred_close_put() closes the file itself */
};

struct deferred_close *deferred_close_new(void)
{
    struct deferred_close *deferred = calloc(1, sizeof(*deferred));
    pthread_condattr_t attr;

    if (!deferred)
        return NULL;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&deferred->hurry, &attr);
    pthread_condattr_destroy(&attr);
    pthread_cond_init(&deferred->closed, NULL);
    list_init(&deferred->unsaved);
    list_init(&deferred->lost);
    return deferred;
}

int deferred_close_start(struct deferred_close *deferred)
{
    return pool_new(NTHREADS, &deferred->pool);
}

void deferred_close_free(struct deferred_close *deferred)
{
    if (!deferred)
        return;
    pthread_cond_destroy(&deferred->hurry);
    pthread_cond_destroy(&deferred->closed);
    free(deferred);
}

/* Have other programs replaced or removed the stored file? */
static bool is_file_gone(int error)
{
    return error == -ESTALE || error == -ENOENT;
}

/* Log the range of a file that is not written out. */
static void report_unsaved(struct fs *fs, struct open_file *open,
                           struct file *file, int error, const char *fate)
{
    struct unwritten bytes = { .error = error, .fate = fate };

    if (file_unsaved(file, &bytes.off, &bytes.end) || !is_file_gone(error))
        report_lost(&fs->nodes, open->node, &bytes);
}

/* May data that could not be written out be written later?  No, if other
   programs have changed the file meanwhile, since the file has then dropped the
   data; nor if the data lie behind the end of a file whose size is fixed. */
static bool is_worth_keeping(int error)
{
    return error < 0 && !is_file_gone(error) && error != -EFBIG;
}

/* Return the error of lost bytes; if this is the `last` try, log them once
   more. */
static int check_lost(struct fs *fs, struct open_file *open, bool last, int r)
{
    if (node_is_removed(&fs->nodes, open->node))
        return r;
    if (last)
        open_file_log_lost(fs, open);
    return open_file_check_lost(fs, open, r);
}

/*
 * Write out a file if it is a frame that was not removed.
 *
 *  last  on failure the data are lost; else they are kept if they may be
 *        written later.  Each error is logged once.
 */
static int save(struct fs *fs, struct open_file *open, bool last)
{
    struct open_version *version = open_file_version(open);
    struct fault fault = FAULT_NONE;
    int r = 0;

    if (version && version->writable && version->file &&
        !node_is_removed(&fs->nodes, open->node))
        r = file_sync(version->file, &fault);
    /* The file may have been removed meanwhile, and the commit abandoned. */
    if (r < 0 && node_is_removed(&fs->nodes, open->node))
        r = 0;
    if (r < 0 && (r != open->closing.logged || last))
        report_unsaved(fs, open, version->file, r,
                       last || !is_worth_keeping(r) ? "lost"
                                                    : "kept in memory");
    open->closing.logged = r;
    open_version_put(version);
    return check_lost(fs, open, last, r);
}

/* A file that was written and not removed has changed for the last time: record
   that the kernel's cache matches it, unless other programs have changed it. */
static void finish_state(struct fs *fs, struct open_file *open,
                         const struct open_version *current)
{
    if (current->file)
        file_finish(current->file);
    open_file_apply_mtime(fs, open, current);
    atomic_fetch_add(&fs->nwritten, 1);
    if (!open_file_note_content(fs, open->node, current))
        open_file_mark_kernel_stale(fs, open->node);
}

/* Close the last state of a file. */
static void close_state(struct fs *fs, struct open_file *open)
{
    struct open_version *current = open->current;
    bool removed = node_is_removed(&fs->nodes, open->node);
    bool written = current && current->writable;
    struct backing_anchor anchor;

    if (removed && current && current->file)
        file_abandon(current->file, true);
    /* Keep an anchor, by which the file is found while it has no name. */
    open_file_anchor(open, &anchor);
    if (removed && current)
        backing_anchor_remove(&anchor, &current->st);
    pthread_mutex_lock(&open->lock);
    open->current = NULL;
    pthread_mutex_unlock(&open->lock);
    if (written)
        open_version_await_last(current);
    if (removed && current)
        current->removed = true;
    else if (written)
        finish_state(fs, open, current);
    open_version_put(current);
    backing_anchor_close(&anchor);
}

/* Close a file for good, whether it was saved or not. */
static void close_finally(struct fs *fs, struct open_file *open)
{
    struct node *node = open->node;
    bool waiting;

    if (fs->closing)
        fs->closing(fs, open);
    close_state(fs, open);
    pthread_mutex_lock(&fs->nodes.lock);
    node->open = NULL;
    open->closing.over = true;
    waiting = open->closing.waiting;
    pthread_cond_broadcast(&fs->deferred_close->closed);
    pthread_mutex_unlock(&fs->nodes.lock);
    node_unref(&fs->nodes, node);
    /* If the pool still has the task, the task frees the file. */
    if (!waiting)
        open_file_free(open);
}

/* Keep a file that could not be written out. */
static void keep(struct fs *fs, struct open_file *open)
{
    struct deferred_close *deferred = fs->deferred_close;

    pthread_mutex_lock(&fs->nodes.lock);
    open->closing.final = open->closing.busy = false;
    open->nrefs = 0;
    list_append(open->closing.logged < 0 ? &deferred->unsaved : &deferred->lost,
                &open->closing.unsaved);
    pthread_cond_broadcast(&deferred->closed);
    pthread_mutex_unlock(&fs->nodes.lock);
}

/* Take the only reference to a file that nobody holds open. */
static bool take_locked(struct open_file *open)
{
    if (open->nrefs > 0)
        return false;
    open->nrefs = 1;
    open->closing.busy = true;
    list_remove(&open->closing.unsaved);
    return true;
}

/* Take one of the files in a list of kept files; NULL if the list is empty. */
static struct open_file *take_kept(struct fs *fs, struct list *kept)
{
    struct open_file *open = NULL;

    pthread_mutex_lock(&fs->nodes.lock);
    if (!list_empty(kept)) {
        open = list_entry(kept->next, struct open_file, closing.unsaved);
        take_locked(open);
    }
    pthread_mutex_unlock(&fs->nodes.lock);
    return open;
}

/* Drop a reference.  If it is the last one, no thread can take another; then
   returns true. */
static bool begin_final(struct fs *fs, struct open_file *open)
{
    bool last;

    pthread_mutex_lock(&fs->nodes.lock);
    last = open->nrefs == 1;
    if (last) {
        open->closing.final = true;
    } else {
        open->nrefs--;
        open->closing.busy = false;
        pthread_cond_broadcast(&fs->deferred_close->closed);
    }
    pthread_mutex_unlock(&fs->nodes.lock);
    return last;
}

/*
 * Write out a file and close it, unless a program opens it meanwhile.  Most of
 * the work is done while the file can still be opened; a second pass saves the
 * data that were written during the first.
 *
 * Returns 0, or an error if the file is kept.
 */
static int close_or_keep(struct fs *fs, struct open_file *open)
{
    int r = save(fs, open, false);

    if (!begin_final(fs, open))
        return 0;
    if (r == 0)
        r = save(fs, open, false);
    if (is_worth_keeping(r)) {
        keep(fs, open);
        return r;
    }
    close_finally(fs, open);
    return 0;
}

/* Close a file as close_or_keep() does, and then give it another form if one
   suits it better. */
static int close_and_reform(struct fs *fs, struct open_file *open)
{
    struct node *node = open->node;
    int r;

    node_ref(&fs->nodes, node);
    r = close_or_keep(fs, open);
    if (r == 0 && fs->closed)
        fs->closed(fs, node);
    node_unref(&fs->nodes, node);
    return r;
}

/* Close a file.  Where there was space for it, there may be space for others,
   so try those that could not be saved before. */
static void close_one(struct fs *fs, struct open_file *open)
{
    while (open && close_and_reform(fs, open) == 0)
        open = take_kept(fs, &fs->deferred_close->unsaved);
}

static bool is_past(const struct timespec *time)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec > time->tv_sec ||
           (now.tv_sec == time->tv_sec && now.tv_nsec >= time->tv_nsec);
}

/* A thread of the pool calls this. */
static void run(struct pool_task *task)
{
    struct open_file *open = list_entry(task, struct open_file, closing.task);
    struct fs *fs = open->closing.fs;
    struct deferred_close *deferred = fs->deferred_close;
    bool taken;
    bool over;

    pthread_mutex_lock(&fs->nodes.lock);
    while (!deferred->stopping && !deferred->hurrying &&
           !is_past(&open->closing.due))
        pthread_cond_timedwait(&deferred->hurry, &fs->nodes.lock,
                               &open->closing.due);
    deferred->nwaiting--;
    if (deferred->nwaiting <= NWAITING_CALM)
        deferred->hurrying = false;
    open->closing.waiting = false;
    over = open->closing.over;
    /* If a program holds the file open, a later deferred_close_put() handles
       it. */
    taken = !over && take_locked(open);
    pthread_mutex_unlock(&fs->nodes.lock);
    if (over)
        open_file_free(open);
    else if (taken)
        close_one(fs, open);
}

static struct timespec due_time(void)
{
    struct timespec due;

    clock_gettime(CLOCK_MONOTONIC, &due);
    due.tv_nsec += DELAY_NS;
    if (due.tv_nsec >= NANOSECONDS) {
        due.tv_nsec -= NANOSECONDS;
        due.tv_sec++;
    }
    return due;
}

/* How deferred_close_put() handles a file. */
enum put_result {
    STILL_OPEN, /* there are other references */
    WAITS,      /* its task is with the pool */
    QUEUED,     /* its task is to be given to the pool */
    CLOSED,     /* it is to be closed now */
};

/* May a file wait for the threads to write it out? */
static bool may_wait(const struct deferred_close *deferred,
                     const struct open_file *open)
{
    const struct open_version *current = open->current;

    return open->closing.waiting ||
           (deferred->pool && !deferred->stopping &&
            deferred->nwaiting < NWAITING_MAX && current && current->writable &&
            current->file);
}

static enum put_result put_locked(struct fs *fs, struct open_file *open)
{
    struct deferred_close *deferred = fs->deferred_close;
    struct closing *closing = &open->closing;

    if (open->nrefs > 1) {
        open->nrefs--;
        return STILL_OPEN;
    }
    if (node_is_removed_locked(open->node) || !may_wait(deferred, open)) {
        closing->busy = true;
        return CLOSED;
    }
    open->nrefs = 0;
    closing->due = due_time();
    if (closing->waiting)
        return WAITS;
    closing->task.run = run;
    closing->fs = fs;
    closing->waiting = true;
    deferred->nwaiting++;
    if (deferred->nwaiting > NWAITING_HURRY && !deferred->hurrying) {
        deferred->hurrying = true;
        pthread_cond_broadcast(&deferred->hurry);
    }
    return QUEUED;
}

void deferred_close_put(struct fs *fs, struct open_file *open)
{
    enum put_result result;

    pthread_mutex_lock(&fs->nodes.lock);
    result = put_locked(fs, open);
    pthread_mutex_unlock(&fs->nodes.lock);
    if (result == QUEUED)
        pool_submit(fs->deferred_close->pool, &open->closing.task);
    else if (result == CLOSED)
        close_one(fs, open);
}

void deferred_close_now(struct fs *fs, struct node *node)
{
    struct open_file *open;

    pthread_mutex_lock(&fs->nodes.lock);
    while ((open = node->open) && open->closing.busy) {
        bool removed = node_is_removed_locked(node);

        if (removed && open->nrefs > 1)
            break; /* a program has it open, and closes it */
        if (removed)
            open_file_abandon_locked(open, true);
        pthread_cond_wait(&fs->deferred_close->closed, &fs->nodes.lock);
    }
    if (open && !take_locked(open))
        open = NULL;
    pthread_mutex_unlock(&fs->nodes.lock);
    if (open)
        close_or_keep(fs, open);
}

/* Close the files of a list that were kept, for the last time. */
static int close_kept(struct fs *fs, struct list *kept)
{
    struct open_file *open;
    int error = 0;

    while ((open = take_kept(fs, kept))) {
        int r = save(fs, open, true);

        error = r < 0 ? r : error;
        close_finally(fs, open);
    }
    return error;
}

int deferred_close_stop(struct fs *fs)
{
    struct deferred_close *deferred = fs->deferred_close;
    int unsaved;
    int lost;

    pthread_mutex_lock(&fs->nodes.lock);
    deferred->stopping = true;
    pthread_cond_broadcast(&deferred->hurry);
    pthread_mutex_unlock(&fs->nodes.lock);
    pool_free(deferred->pool);
    deferred->pool = NULL;
    unsaved = close_kept(fs, &deferred->unsaved);
    lost = close_kept(fs, &deferred->lost);
    return unsaved < 0 ? unsaved : lost;
}
