/* SPDX-License-Identifier: BSD-3-Clause */
#include "writeback/frame_lock.h"

#include <errno.h>

#include "base/retry.h"
#include "store/store_http.h"
#include "store/store_local.h"
#include "writeback/commit.h"
#include "writeback/file_writeback.h"
#include "writeback/lease.h"
#include "writeback/lock_file.h"
#include "writeback/merge.h"
#include "writeback/recover.h"

static int try_reopen(struct file *file, bool to_change, struct fault *fault)
{
    /* Much of what the file knows may still be true. */
    int r = merge_is_possible(file) ? merge_newest(file, fault) : 1;

    if (r > 0)
        r = recover_reopen(file, to_change, fault);
    if (r == 0 && frame_get_stat(file->states.newest->frame)->removed)
        r = fault_set(fault, -ESTALE, 0,
                      "another program has replaced the frame");
    return r;
}

/*
 * Reopen the frame as other programs have left it, unless they have put another
 * file in its place.  The file has no uncommitted changes, and the caller is an
 * exclusive writer.  If no lock keeps other programs out, one may commit
 * between opening the frame and reading what a writer needs.
 */
static int reopen_exclusive(struct file *file, bool to_change,
                            struct fault *fault)
{
    struct retry retry = RETRY_REPLACED_REMOTE;
    int r;

    do
        r = try_reopen(file, to_change, fault);
    while (r == -ESTALE && store_names_once(file->constant.store) &&
           retry_wait(&retry));
    if (r == 0)
        file->frame_lock->reopened = true;
    return r;
}

static int reopen(struct file *file, bool to_change, struct fault *fault)
{
    int r;

    gate_lock_exclusive(file);
    r = reopen_exclusive(file, to_change, fault);
    gate_unlock_exclusive(file);
    return r;
}

int frame_lock_begin_again(struct file *file, struct fault *fault)
{
    int r = 0;

    gate_lock_exclusive(file);
    /* Another thread may have begun meanwhile, and have written. */
    if (!file->states.begun)
        r = reopen_exclusive(file, true, fault);
    gate_unlock_exclusive(file);
    return r;
}

/* Record that the newest state belongs to this count of the lock file. */
static void note_count(struct file *file, uint64_t count)
{
    file->frame_lock->seen = count;
    file->frame_lock->next = count;
}

/* Have other programs changed the frame since its newest state was opened?
   Returns 0, 1 or an error. */
static int is_changed(struct file *file, struct fault *fault)
{
    struct lock_file *lock_file = file->frame_lock->lock_file;
    uint64_t count = file->frame_lock->seen;
    int r = lock_file ? lock_file_count(lock_file, &count, fault) : 0;

    if (r < 0)
        return r;
    if (count != file->frame_lock->seen)
        return 1;
    r = frame_verify(file->states.newest->frame, fault);
    return r == -ESTALE ? 1 : r;
}

/* Tell other programs, through the lock file, that the frame is about to
   change. */
static int count_up(struct file *file, struct fault *fault)
{
    struct lock_file *lock_file = file->frame_lock->lock_file;
    uint64_t count;
    int r;

    if (!lock_file)
        return 0;
    r = lock_file_count(lock_file, &count, fault);
    if (r < 0)
        return r;
    file->frame_lock->next = ++count;
    r = lock_file_set_count(lock_file, count, fault);
    note_count(file, r == 0 ? count : file->frame_lock->seen);
    return r;
}

/* May the frame be reopened below a program that has opened the file before?
   Otherwise the kernel keeps the pages that it has cached for that program. */
static bool may_reopen(const struct file *file)
{
    return file->frame_lock->lock_file ||
           store_names_once(file->constant.store);
}

/* Make sure that the newest state is the stored one, now that no other process
   may change the frame, unless its store lets several do so. */
static int take_over(struct file *file, struct fault *fault)
{
    int r = is_changed(file, fault);

    if (r > 0)
        r = may_reopen(file)
                ? reopen(file, true, fault)
                : fault_set(fault, -ESTALE, 0,
                            "another program has changed the frame");
    return r < 0 ? r : count_up(file, fault);
}

/* Take the lease.  A file whose last name was removed needs none, because no
   other process can get one. */
static int take_lease(struct file *file, struct fault *fault)
{
    int r = lease_take(file->constant.store,
                       file->constant.context->lock_timeout, NULL, fault);

    return r == -ESTALE && file->frame_lock->unlinked ? 0 : r;
}

static void release(struct file *file)
{
    if (file->frame_lock->lock_file)
        lock_file_unlock(file->frame_lock->lock_file);
    store_unlease(file->constant.store);
}

static int acquire(struct file *file, struct fault *fault)
{
    int r = take_lease(file, fault);

    if (r < 0)
        return r;
    if (file->frame_lock->lock_file) {
        r = lock_file_lock(file->frame_lock->lock_file, fault);
        if (r < 0) {
            store_unlease(file->constant.store);
            return r;
        }
    }
    r = take_over(file, fault);
    if (r < 0)
        release(file);
    return r;
}

int frame_lock_enter(struct file *file, struct fault *fault)
{
    int r = 0;

    if (gate_join_frame_lock(file))
        return 0;
    if (!gate_begin_locking(file))
        return lock_file_refuse(fault);
    if (!gate_has_frame_lock(file))
        r = acquire(file, fault);
    if (r == -EBUSY)
        gate_end_locking_refused(file);
    else
        gate_end_locking(file, r == 0, r == 0);
    return r;
}

/* Reopen the frame if the open state is not the newest.  The caller keeps other
   programs from changing the frame. */
static int reopen_shared(struct file *file, struct fault *fault)
{
    uint64_t count;
    int r = lock_file_count(file->frame_lock->lock_file, &count, fault);

    if (r < 0)
        return r;
    if (gate_has_frame_lock(file) || count == file->frame_lock->seen)
        return 0;
    if (!file->constant.writable)
        return fault_set(fault, -ESTALE, 0,
                         "another program has changed the frame");
    r = reopen(file, false, fault);
    if (r == 0)
        note_count(file, count);
    return r;
}

int frame_lock_share(struct file *file, struct fault *fault)
{
    int r;

    if (!file->frame_lock->lock_file)
        return 0;
    if (!gate_begin_locking(file))
        return lock_file_refuse(fault);
    r = lock_file_lock_shared(file->frame_lock->lock_file, fault);
    if (r == 0) {
        r = reopen_shared(file, fault);
        if (r < 0)
            lock_file_unlock_shared(file->frame_lock->lock_file);
    }
    gate_end_locking(file, gate_has_frame_lock(file), false);
    return r;
}

void frame_lock_unshare(struct file *file)
{
    if (file->frame_lock->lock_file)
        lock_file_unlock_shared(file->frame_lock->lock_file);
}

/* Do the same for a frame whose store lets several processes change it. */
static int catch_up_unlocked(struct file *file, struct fault *fault)
{
    int r = 0;

    if (!gate_begin_locking(file))
        return lock_file_refuse(fault);
    if (!gate_has_frame_lock(file))
        r = is_changed(file, fault);
    if (r > 0)
        r = reopen(file, file->writeback->writer != NULL, fault);
    gate_end_locking(file, gate_has_frame_lock(file), false);
    return r;
}

int frame_lock_catch_up(struct file *file, struct fault *fault)
{
    int r;

    if (merge_is_possible(file))
        return catch_up_unlocked(file, fault);
    if (frame_lock_is_current(file))
        return 0;
    r = frame_lock_share(file, fault);
    if (r == 0)
        frame_lock_unshare(file);
    return r;
}

void frame_lock_leave(struct file *file)
{
    gate_leave_frame_lock(file);
    frame_lock_release_unused(file);
}

/* Is everything committed, and no thread about to write? */
static bool is_idle(struct file *file)
{
    /* Look at the cache first, because a commit that has just made the chunks
       clean may still be under way. */
    return !cache_has_uncommitted(file->constant.context->cache,
                                  &file->chunks) &&
           gate_is_idle(file);
}

void frame_lock_release_unused(struct file *file)
{
    bool locked;

    if (!gate_is_frame_lock_unused(file) || !is_idle(file) ||
        !gate_begin_locking(file))
        return;
    locked = gate_has_frame_lock(file);
    if (locked && is_idle(file)) {
        release(file);
        locked = false;
    }
    gate_end_locking(file, locked, false);
}

bool frame_lock_supersede(struct file *file, bool replaced)
{
    struct fault fault;
    bool newest = false;

    /* Another thread may have been refused the lock meanwhile, which says
       nothing about this file. */
    while (!gate_begin_locking(file))
        continue;
    if (gate_has_frame_lock(file) && !replaced)
        newest = frame_verify(file->states.newest->frame, &fault) == 0;
    if (!newest)
        commit_invalidate(file);
    gate_end_locking(file, gate_has_frame_lock(file), false);
    frame_lock_release_unused(file);
    return !newest;
}

void frame_lock_close(struct file *file)
{
    if (gate_has_frame_lock(file))
        release(file);
    lock_file_put(file->constant.context, file->frame_lock->lock_file);
}

bool frame_lock_is_current(struct file *file)
{
    struct fault fault;
    uint64_t count;

    if (!file->frame_lock->lock_file)
        return true;
    if (gate_is_frame_locked(file))
        return true;
    if (lock_file_count(file->frame_lock->lock_file, &count, &fault) < 0)
        return false;
    return count == file->frame_lock->seen || count == file->frame_lock->next;
}

void frame_lock_set_lock_file(struct file *file, struct lock_file *lock_file,
                              uint64_t count)
{
    file->frame_lock->lock_file = lock_file;
    note_count(file, count);
}

void frame_lock_set_unlinked(struct file *file, bool unlinked)
{
    file->frame_lock->unlinked = unlinked;
    store_http_set_final(file->constant.store, unlinked);
}

bool frame_lock_take_reopened(struct file *file)
{
    return atomic_exchange(&file->frame_lock->reopened, false);
}
