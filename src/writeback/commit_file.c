/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>

#include "base/operation.h"
#include "base/retry.h"
#include "writeback/commit.h"
#include "writeback/file_writeback.h"
#include "writeback/frame_lock.h"
#include "writeback/merge.h"
#include "writeback/writeback.h"

enum {
    SLACK_MIN = 1 << 20, /* free bytes for which no frame is made shorter */
};

/* Tries of a commit that other programs overtake. */
#define MERGE_TRIES                                \
    ((struct retry){ .tries_left = 99,             \
                     .patience_ns = RETRY_FOREVER, \
                     .pause_ns = 1000000,          \
                     .pause_max_ns = 50000000 })

/*
 * Is so much of the frame's file free that it should end at `goal`?  Not while
 * encoded chunks wait for the next commit, because their space counts as free.
 */
static bool has_slack(struct file *file, uint64_t *goal)
{
    struct frame_usage usage = frame_writer_get_usage(file->writeback->writer);
    bool waits;

    pthread_mutex_lock(&file->gate.lock);
    waits = !list_empty(&file->writeback->encoded);
    pthread_mutex_unlock(&file->gate.lock);
    *goal = usage.live / 2 * 3;
    return !waits && usage.used > usage.live / 4 * 7 &&
           usage.used - usage.live > SLACK_MIN;
}

/*
 * Make the file of a frame shorter.  A commit of most of a frame leaves free
 * space before the new chunks that is as large as they are.  The first pass
 * moves some chunks there, and the second pass moves the index into the place
 * that these chunks have left.  If this fails it can wait.
 */
static void compact_tail(struct file *file)
{
    struct fault fault;
    uint64_t goal;

    for (int i = 0; i < 2 && has_slack(file, &goal); i++) {
        struct commit commit = { .file = file, .nbytes = file->states.nbytes };
        int r =
            frame_writer_compact_tail(file->writeback->writer, goal, &fault);

        file->writeback->relocated = file->writeback->relocated || r != 0;
        if (r < 0 || commit_run_writes(&commit, &fault) < 0)
            break;
        frame_writer_reclaim(file->writeback->writer, false);
    }
}

static int do_nothing(struct frame_writer *writer,
                      const struct writeback_edit *edit, struct fault *fault)
{
    (void)writer;
    (void)edit;
    (void)fault;
    return 0;
}

/* Did a commit fail for lack of space, and has this function made space by
   giving back what was freed? */
static bool makes_space(struct file *file, int error)
{
    if (error != -ENOSPC && error != -EDQUOT)
        return false;
    return file->writeback->writer &&
           frame_writer_reclaim(file->writeback->writer, true);
}

static int run_commit(struct commit *commit, const struct writeback_edit *edit,
                      struct fault *fault)
{
    struct file *file = commit->file;
    struct counters *counters = &file->constant.context->counters;
    int r;

    commit->nbytes = file->states.nbytes;
    r = commit_run(commit, edit, fault);
    if (!edit && makes_space(file, r)) {
        *commit = (struct commit){ .file = file,
                                   .nbytes = file->states.nbytes,
                                   .nosync = commit->nosync,
                                   .mtime = commit->mtime };
        r = commit_run(commit, edit, fault);
    }
    if (r == -ESTALE && merge_is_possible(file))
        counter_add(&counters->conflicts, 1);
    else if (r != -ECANCELED)
        counter_add(r < 0 ? &counters->failed : &counters->commits, 1);
    return r;
}

/* Is the last commit, or the new name of the frame, not yet durable? */
static bool is_unsynced(const struct file *file)
{
    return file->writeback->not_durable || file->writeback->renamed;
}

/* Make the last commit and the name of the frame durable.  Returns as
   frame_writer_sync(). */
static int sync_commit(struct file *file, struct fault *fault)
{
    int r;

    if (atomic_exchange(&file->writeback->renamed, false)) {
        frame_writer_note_name(file->writeback->writer);
        file->writeback->not_durable = true;
    }
    r = frame_writer_sync(file->writeback->writer, fault);
    if (r == 0)
        file->writeback->not_durable = false;
    return r;
}

static int try_commit(struct file *file, const struct writeback_edit *edit,
                      bool exclusive, struct fault *fault)
{
    struct commit commit = { .file = file };
    bool unsynced;
    int r = 0;

    *fault = FAULT_NONE;
    gate_enter_committer(file, exclusive);
    unsynced = is_unsynced(file);
    if (edit || writeback_is_changed(file))
        r = run_commit(&commit, edit, fault);
    else if (unsynced)
        r = sync_commit(file, fault);
    if (commit.frame)
        flusher_succeeded(file->constant.context->flusher, file);
    if (r == 0 && file->writeback->writer)
        frame_writer_reclaim(file->writeback->writer, false);
    /* Make the file shorter only if the frame is still locked, because else
       another process may have changed the frame. */
    if (r == 0 && !exclusive && (commit.frame || unsynced) &&
        gate_join_frame_lock(file)) {
        compact_tail(file);
        frame_lock_leave(file);
    }
    if (file->writeback->writer)
        file->writeback->has_freed =
            frame_writer_has_freed(file->writeback->writer);
    commit_leave(file);
    return r;
}

/* After a commit that has failed, merge it with what another program has
   committed.  Returns true if it may be tried again. */
static bool merges(struct file *file, bool exclusive, struct retry *retry,
                   int *error, struct fault *fault)
{
    if (*error != -ESTALE || !merge_is_possible(file))
        return false;
    *error = merge_commit(file, exclusive, fault);
    if (*error == 0 && retry_wait(retry))
        return true;
    counter_add(&file->constant.context->counters.failed, 1);
    if (*error == 0)
        *error = fault_set(fault, -EBUSY, 0, merge_busy);
    return false;
}

/* Is there no frame any more to commit to?  A removed local frame still has its
   file. */
static bool is_gone(const struct file *file)
{
    return file->frame_lock->unlinked && store_names_once(file->constant.store);
}

static int commit_file(struct file *file, const struct writeback_edit *edit,
                       bool exclusive, struct fault *fault)
{
    struct retry retry = MERGE_TRIES;
    int64_t outer;
    int r;

    if (is_gone(file))
        return 0;
    outer = operation_begin();
    do
        r = try_commit(file, edit, exclusive, fault);
    while (merges(file, exclusive, &retry, &r, fault));
    operation_end(outer);
    return r;
}

int writeback_commit(struct file *file, const struct writeback_edit *edit,
                     struct fault *fault)
{
    static const struct writeback_edit nothing = { .run = do_nothing };
    int r = commit_file(file, edit, false, fault);

    if (r != -EAGAIN)
        return r;
    /* A sync has failed before, so only another commit can make everything
       durable. */
    r = frame_lock_enter(file, fault);
    if (r < 0)
        return r;
    r = commit_file(file, &nothing, false, fault);
    frame_lock_leave(file);
    return r;
}

int writeback_commit_exclusive(struct file *file,
                               const struct writeback_edit *edit,
                               struct fault *fault)
{
    return commit_file(file, edit, true, fault);
}

int writeback_commit_nosync(struct file *file, const struct timespec *mtime,
                            struct fault *fault)
{
    /* With a lock file the commit is durable, because the space of the previous
       state must be given back while other programs are locked out. */
    bool nosync = !file->frame_lock->lock_file;
    struct retry retry = MERGE_TRIES;
    int64_t outer;
    int r = 0;

    *fault = FAULT_NONE;
    if (!file->states.begun || writeback_is_clean(file) || is_gone(file))
        return 0;
    outer = operation_begin();
    do {
        struct commit commit = { .file = file,
                                 .nosync = nosync,
                                 .mtime = mtime };

        gate_enter_committer(file, false);
        r = writeback_is_changed(file) ? run_commit(&commit, NULL, fault) : 0;
        commit_leave(file);
    } while (merges(file, false, &retry, &r, fault));
    operation_end(outer);
    return r;
}
