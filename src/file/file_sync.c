/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>

#include "file/file.h"
#include "state/file_private.h"
#include "writeback/frame_lock.h"
#include "writeback/recover.h"
#include "writeback/writeback.h"

/* Another thread's commit, such as one of the flusher, may have lost changes
   while this thread waited for it.  Then there was nothing left to commit. */
static int check_lost(struct file *file, int r, struct fault *fault)
{
    return r == 0 && recover_has_lost(file) ? gate_failure(file, fault) : r;
}

int file_commit(struct file *file, const struct timespec *mtime,
                struct fault *fault)
{
    if (recover_has_lost(file))
        return gate_failure(file, fault);
    return check_lost(file, writeback_commit_nosync(file, mtime, fault), fault);
}

int file_sync(struct file *file, struct fault *fault)
{
    struct fault told;
    int r;

    if (!file->states.begun)
        return 0;
    if (file->gate.failed == -ESTALE)
        return gate_failure(file, fault);
    r = writeback_commit(file, NULL, fault);
    writeback_take_error(file, &told);
    return check_lost(file, r, fault);
}

/* Does each change, by whatever program, change the mark of the frame? */
static bool has_stamp(const struct file_state *state)
{
    return frame_mark(state->frame) % 2 == 1;
}

/*
 * Is the newest state the stored one?  If the frame has no stamp and no changes
 * have begun, the times of its file are compared, too, because a change by
 * another program soon after the file was read may leave the header as it was.
 * The times of a frame with a stamp prove nothing: another mount gives back
 * free space and restores the time of modification after it has closed the
 * frame.
 */
static bool is_stored(struct file *file, const struct file_state *state,
                      bool begun)
{
    struct store_stat stat;
    struct fault fault;

    if (begun)
        return frame_verify(state->frame, &fault) != -ESTALE;
    if (frame_check_current(state->frame, &stat, &fault) < 0)
        return false;
    return has_stamp(state) ? frame_verify(state->frame, &fault) == 0
                            : file_is_current(file, &stat);
}

/* This does not wait for a committer.  It looks again if there is a newer state
   by the time it is done. */
bool file_is_own(struct file *file)
{
    struct file_state *state;
    bool newest;
    bool begun;
    bool own;

    do {
        if (file->gate.failed == -ESTALE)
            return false;
        if (writeback_is_changed(file))
            return frame_lock_is_current(file);
        begun = file->states.begun;
        state = file_state_get(file);
        own = is_stored(file, state, begun);
        pthread_mutex_lock(&file->gate.lock);
        newest = state == file->states.newest && begun == file->states.begun;
        pthread_mutex_unlock(&file->gate.lock);
        file_state_put(file, state);
    } while (!own && !newest);
    return own && frame_lock_is_current(file);
}

bool file_is_stored(struct file *file)
{
    struct file_state *state = file_state_get(file);
    struct fault fault;
    bool stored = frame_verify(state->frame, &fault) == 0;

    file_state_put(file, state);
    return stored;
}

int file_catch_up(struct file *file, struct fault *fault)
{
    return file->constant.writable ? frame_lock_catch_up(file, fault) : 0;
}

bool file_is_latest(struct file *file)
{
    return frame_lock_is_current(file);
}

bool file_supersede(struct file *file, bool replaced)
{
    return !file->constant.writable || frame_lock_supersede(file, replaced);
}

int file_share(struct file *file, struct fault *fault)
{
    return frame_lock_share(file, fault);
}

void file_unshare(struct file *file)
{
    frame_lock_unshare(file);
}

uint64_t file_dirty(struct file *file)
{
    return cache_count_unsaved(file->constant.context->cache, &file->chunks);
}

void file_note_name(struct file *file)
{
    writeback_note_name(file);
}

int file_move(struct file *file,
              int (*move)(void *context, struct store *store), void *context,
              struct fault *fault)
{
    return writeback_move(file, move, context, fault);
}

bool file_has_changes(const struct file *file)
{
    return file->states.begun;
}

bool file_is_clean(struct file *file)
{
    return writeback_is_clean(file) && !file_is_orphaned(file);
}

bool file_is_orphaned(struct file *file)
{
    bool orphaned;

    pthread_mutex_lock(&file->gate.lock);
    orphaned = file->states.orphaned;
    pthread_mutex_unlock(&file->gate.lock);
    return orphaned;
}

int file_take_error(struct file *file, struct fault *fault)
{
    return writeback_take_error(file, fault);
}

bool file_is_in(struct file *file, struct store_version version)
{
    return writeback_is_in(file, version);
}

bool file_take_reopened(struct file *file)
{
    return frame_lock_take_reopened(file);
}

void file_set_unlinked(struct file *file, bool unlinked)
{
    frame_lock_set_unlinked(file, unlinked);
}

void file_abandon(struct file *file, bool abandoned)
{
    writeback_abandon(file, abandoned);
}

bool file_unsaved(struct file *file, uint64_t *off, uint64_t *end)
{
    if (!recover_find_unsaved(file, off, end))
        return false;
    if (file->constant.array) {
        *off = 0;
        *end = file_size(file);
    }
    return true;
}
