/* SPDX-License-Identifier: BSD-3-Clause */
#include "open/snapshot.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "backing/chunks.h"
#include "base/identity.h"
#include "store/store_local.h"
#include "store/store_version.h"

enum {
    AWAIT_PAUSE_NS = 1000000
};

struct snapshot *snapshot_new(const struct stat *st, bool writable)
{
    struct snapshot *snapshot = calloc(1, sizeof(*snapshot));

    if (!snapshot)
        return NULL;
    atomic_init(&snapshot->nrefs, 1);
    snapshot->stamp = store_version_stamp(store_version_of(st));
    snapshot->st = *st;
    snapshot->writable = writable;
    snapshot->fd = -1;
    return snapshot;
}

/*
 * Is the opened frame the one that was seen?  The name may belong to another
 * frame by now, which other users may read.  For a sparse frame, only the
 * directory is identified by its number.
 */
static int check_seen(const struct snapshot *snapshot)
{
    struct frame *frame = file_frame_get(snapshot->file);
    const struct store_stat *index = frame_get_stat(frame);
    const struct stat *seen = &snapshot->st;
    struct store_stat found;
    int r = frame_identify(frame, &found);

    if (r == 0 &&
        (store_version_compare(found.version, store_version_of(seen)) ==
             VERSION_OTHER_OBJECT ||
         index->uid != seen->st_uid || index->gid != seen->st_gid ||
         (seen->st_mode & 0444 & ~index->mode) != 0))
        r = -ESTALE;
    file_frame_put(snapshot->file, frame);
    return r;
}

int snapshot_check_access(const struct snapshot *snapshot, int how)
{
    struct frame *frame;
    int r;

    if (!snapshot->file)
        return identity_check(snapshot->fd, how);
    frame = file_frame_get(snapshot->file);
    r = frame_check_access(frame, how);
    file_frame_put(snapshot->file, frame);
    return r;
}

bool snapshot_has_readers_of(const struct snapshot *snapshot,
                             const struct snapshot *old)
{
    struct frame *frame;
    struct frame *old_frame;
    bool same;

    if (!identity_serves_others() || !old || !old->file || !snapshot->file ||
        store_version_same_object(&old->st, &snapshot->st))
        return true;
    frame = file_frame_get(snapshot->file);
    old_frame = file_frame_get(old->file);
    same = frame_shares_access_list(frame, old_frame);
    file_frame_put(old->file, old_frame);
    file_frame_put(snapshot->file, frame);
    return same;
}

/* Store flags for opening a file that programs read. */
static unsigned read_flags(const struct fs *fs)
{
    return fs->source.noatime ? STORE_PEEK : 0;
}

/* Is an open file the one that was seen? */
static bool is_seen(const struct snapshot *snapshot, const struct stat *st)
{
    return store_version_same_object(st, &snapshot->st);
}

static int open_anchor(struct snapshot *snapshot,
                       const struct backing_place *place, enum entry_kind kind)
{
    struct stat st;
    int r = snapshot->fd = backing_anchor(place, kind);

    if (r < 0 || place->made_up_ino)
        return r < 0 && r != -ENOTSUP ? r : 0;
    if (fstat(snapshot->fd, &st) < 0)
        return -errno;
    return is_seen(snapshot, &st) ? 0 : -ESTALE;
}

static int open_frame(struct fs *fs, struct snapshot *snapshot,
                      const struct backing_place *place, enum entry_kind kind,
                      struct fault *fault)
{
    struct store *store;
    unsigned flags = file_store_flags(fs->files);
    int r = backing_store(
        place, kind,
        flags | (snapshot->writable ? STORE_WRITE : read_flags(fs)), &store,
        fault);

    if (r < 0)
        return r;
    if (snapshot->writable)
        r = file_open_writable(fs->files, store, &snapshot->file, fault);
    else
        r = file_open(fs->files, store, fs->source.base, &snapshot->file,
                      fault);
    store_close(store);
    if (r == 0 && !place->made_up_ino)
        r = check_seen(snapshot);
    if (r == 0 && fs->source.writable)
        r = open_anchor(snapshot, place, kind);
    return r;
}

static int open_chunk(struct fs *fs, struct snapshot *snapshot,
                      const struct backing_place *place, enum entry_kind kind,
                      struct fault *fault)
{
    struct view_spec spec = chunks_view_spec(place, kind);
    struct store *store;
    int r = backing_store(place, kind, read_flags(fs), &store, fault);

    if (r < 0)
        return r;
    spec.base = fs->source.base;
    r = file_open_view(fs->files, &spec, store, &snapshot->file, fault);
    store_close(store);
    return r;
}

/* Open a file that is passed through, if it is the one that was seen. */
static int open_other(const struct fs *fs, struct snapshot *snapshot,
                      const struct backing_place *place)
{
    struct stat st;
    int mode = snapshot->writable ? O_RDWR : O_RDONLY;
    int fd = backing_open(place, mode | O_NONBLOCK | O_NOCTTY);

    if (fd < 0)
        return fd;
    snapshot->fd = fd;
    if (fs->source.noatime)
        store_leave_atime(fd);
    if (fstat(fd, &st) < 0)
        return -errno;
    return place->made_up_ino || is_seen(snapshot, &st) ? 0 : -ESTALE;
}

int snapshot_open(struct fs *fs, enum entry_kind kind,
                  const struct backing_place *place, const struct stat *st,
                  bool writable, struct snapshot **out, struct fault *fault)
{
    struct snapshot *snapshot = snapshot_new(st, writable);
    int r;

    if (!snapshot)
        return -ENOMEM;
    if (entry_traits[kind].chunk)
        r = open_chunk(fs, snapshot, place, kind, fault);
    else if (entry_traits[kind].frame)
        r = open_frame(fs, snapshot, place, kind, fault);
    else
        r = open_other(fs, snapshot, place);
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
    if (snapshot->removed)
        file_discard(snapshot->file);
    else
        file_close(snapshot->file);
    if (snapshot->fd >= 0)
        close(snapshot->fd);
    free(snapshot);
}

void snapshot_await_last(struct snapshot *snapshot)
{
    const struct timespec pause = { .tv_nsec = AWAIT_PAUSE_NS };

    while (atomic_load(&snapshot->nrefs) > 1)
        nanosleep(&pause, NULL);
}

bool snapshot_is_of(const struct snapshot *snapshot, enum entry_kind kind,
                    const struct stat *st)
{
    if (kind == ENTRY_SPARSE)
        return store_version_same_object(&snapshot->st, st);
    return file_is_in(snapshot->file, store_version_of(st));
}

struct snapshot *snapshot_get(struct snapshot *snapshot)
{
    atomic_fetch_add(&snapshot->nrefs, 1);
    return snapshot;
}

bool snapshot_is_overtaken(struct snapshot *snapshot)
{
    bool overtaken = snapshot->file && !file_is_latest(snapshot->file);

    if (overtaken)
        snapshot->stamp = 0;
    return overtaken;
}

bool snapshot_is_overwritten(struct snapshot *snapshot)
{
    struct frame *frame;
    bool unwritten;

    if (snapshot_is_overtaken(snapshot))
        return true;
    if (snapshot->writable)
        return false;
    frame = file_frame_get(snapshot->file);
    unwritten = frame_is_unwritten(frame);
    file_frame_put(snapshot->file, frame);
    return !unwritten;
}
