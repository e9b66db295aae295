/* SPDX-License-Identifier: BSD-3-Clause */
#include "file/file.h"
#include "file/view.h"
#include "state/file_private.h"
#include "state/kept_chunks.h"

static bool same_content(struct store_version a, struct store_version b)
{
    return store_version_compare(a, b) >= VERSION_SAME_CONTENT;
}

bool file_is_current(struct file *file, const struct store_stat *now)
{
    struct file_state *state = file_state_get(file);
    bool same =
        same_content(frame_get_stat(state->frame)->version, now->version);

    file_state_put(file, state);
    pthread_mutex_lock(&file->gate.lock);
    same = same || same_content(file->states.touched, now->version);
    pthread_mutex_unlock(&file->gate.lock);
    return same;
}

void file_take_over(struct file *file, struct file *from)
{
    kept_chunks_move(from, file);
}

bool file_is_newest(struct file *file)
{
    struct file_state *state = file_state_get(file);
    bool newest = frame_is_stored(state->frame);

    file_state_put(file, state);
    return newest;
}

uint64_t file_mark(struct file *file)
{
    struct file_state *state = file_state_get(file);
    uint64_t mark = frame_mark(state->frame);

    file_state_put(file, state);
    return mark;
}

void file_note_touch(struct file *file)
{
    struct file_state *state = file_state_get(file);
    struct store_stat stat;
    struct fault fault;

    if (frame_check_current(state->frame, &stat, &fault) == 0) {
        pthread_mutex_lock(&file->gate.lock);
        file->states.touched = stat.version;
        pthread_mutex_unlock(&file->gate.lock);
    }
    file_state_put(file, state);
}

uint64_t file_size(const struct file *file)
{
    return view_size(file->constant.view, file->states.nbytes);
}
