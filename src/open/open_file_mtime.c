/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>

#include "open/open_file.h"
#include "tree/fs.h"

void open_file_set_mtime(struct open_file *open, const struct timespec *mtime)
{
    pthread_mutex_lock(&open->lock);
    open->mtime_set = true;
    open->mtime = *mtime;
    pthread_mutex_unlock(&open->lock);
}

void open_file_show_mtime(struct open_file *open, struct stat *st)
{
    pthread_mutex_lock(&open->lock);
    if (open->mtime_set)
        st->st_mtim = open->mtime;
    pthread_mutex_unlock(&open->lock);
}

bool open_file_get_mtime(struct open_file *open, struct timespec *mtime)
{
    bool set;

    pthread_mutex_lock(&open->lock);
    set = open->mtime_set;
    *mtime = open->mtime;
    pthread_mutex_unlock(&open->lock);
    return set;
}

/* Pin the file of a state, unless other programs have changed the frame. */
static int pin_state(const struct backing_place *place, enum entry_kind kind,
                     const struct open_version *version,
                     struct backing_object *out)
{
    int r = backing_pin(place, kind, out);

    if (r < 0 || !version->file ||
        (open_version_is_of(version, kind, &out->st) &&
         file_is_stored(version->file)))
        return r;
    backing_unpin(out);
    return -ESTALE;
}

/* Likewise by the anchor, because another program may have renamed the file. */
static int pin_anchored(const struct open_version *version,
                        enum entry_kind kind, struct backing_object *out)
{
    struct backing_anchor anchor;
    struct backing_place place;
    int r = backing_anchor_dup(&version->anchor, &anchor);

    if (r < 0)
        return r;
    backing_anchor_place(&anchor, &place);
    r = pin_state(&place, kind, version, out);
    backing_close(&place);
    return r;
}

/* Set the time of modification of the file at a place, or of the state's if
   that is another one. */
static void set_mtime(const struct backing_place *place, enum entry_kind kind,
                      const struct open_version *version,
                      const struct timespec times[2])
{
    struct backing_object object;

    if (pin_state(place, kind, version, &object) < 0 &&
        pin_anchored(version, kind, &object) < 0)
        return;
    backing_utimens(&object, times);
    backing_unpin(&object);
}

/* Does the file at a place have this time of modification? */
static bool has_mtime(const struct backing_place *place, enum entry_kind kind,
                      const struct timespec *mtime)
{
    struct stat st;

    return backing_stat(place, kind, &st) == 0 &&
           st.st_mtim.tv_sec == mtime->tv_sec &&
           st.st_mtim.tv_nsec == mtime->tv_nsec;
}

/* Set the time of modification of the stored file. */
static void store_mtime(struct open_file *open,
                        const struct open_version *version,
                        const struct backing_place *place,
                        const struct timespec times[2])
{
    bool newest = open_file_is_newest(open, place);

    set_mtime(place, open->node->id.kind, version, times);
    if (newest)
        open_file_note_touch(open, place);
}

void open_file_touch(struct fs *fs, struct open_file *open,
                     const struct open_version *version)
{
    const struct timespec times[2] = { { .tv_nsec = UTIME_OMIT },
                                       { .tv_nsec = UTIME_NOW } };
    struct backing_place place;

    if (fs_place(fs, open->node, &place) < 0)
        return;
    store_mtime(open, version, &place, times);
    backing_close(&place);
}

void open_file_apply_mtime(struct fs *fs, struct open_file *open,
                           const struct open_version *version)
{
    struct timespec times[2] = { { .tv_nsec = UTIME_OMIT } };
    struct backing_place place;

    if (!open_file_get_mtime(open, &times[1]) ||
        fs_place(fs, open->node, &place) < 0)
        return;
    if (!has_mtime(&place, open->node->id.kind, &times[1]))
        store_mtime(open, version, &place, times);
    backing_close(&place);
}

bool open_file_defer_mtime(struct fs *fs, struct open_file *open,
                           const struct timespec *mtime)
{
    struct open_version *version = open_file_version(open);
    bool dirty = version && version->file && version->writable &&
                 !file_is_clean(version->file);

    if (dirty) {
        open_file_set_mtime(open, mtime);
        /* The commit may be over by now, and have missed the time. */
        if (file_is_clean(version->file))
            open_file_apply_mtime(fs, open, version);
    }
    open_version_put(version);
    return dirty;
}
