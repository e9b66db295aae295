/* SPDX-License-Identifier: BSD-3-Clause */
#include "open/open_version.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <time.h>

#include "base/clock.h"
#include "base/identity.h"
#include "base/retry.h"
#include "store/store_local.h"
#include "store/store_version.h"

enum {
    AWAIT_PAUSE_NS = 1000000,
    LEASE_PATIENCE = 60, /* seconds */
};

struct open_version *open_version_new(const struct stat *st, bool writable)
{
    struct open_version *version = calloc(1, sizeof(*version));

    if (!version)
        return NULL;
    atomic_init(&version->nrefs, 1);
    version->stamp = store_version_stamp(store_version_of(st));
    version->st = *st;
    version->writable = writable;
    version->anchor = BACKING_ANCHOR_NONE;
    return version;
}

/*
 * Is the opened frame the one that was seen?  The name may belong to another
 * frame by now, which other users may read.  For a sparse frame, only the
 * directory is identified by its number.
 */
static int check_seen(const struct open_version *version)
{
    struct frame *frame = file_frame_get(version->file);
    const struct store_stat *index = frame_get_stat(frame);
    const struct stat *seen = &version->st;
    struct store_stat found;
    int r = frame_identify(frame, &found);

    if (r == 0 &&
        (store_version_compare(found.version, store_version_of(seen)) ==
             VERSION_OTHER_OBJECT ||
         index->uid != seen->st_uid || index->gid != seen->st_gid ||
         (seen->st_mode & 0444 & ~index->mode) != 0))
        r = -ESTALE;
    file_frame_put(version->file, frame);
    return r;
}

int open_version_check_access(const struct open_version *version, int how)
{
    struct frame *frame;
    int r;

    if (!version->file)
        return backing_anchor_check(&version->anchor, how);
    frame = file_frame_get(version->file);
    r = frame_check_access(frame, how);
    file_frame_put(version->file, frame);
    return r;
}

bool open_version_has_successor(const struct open_version *version,
                                const struct stat *st)
{
    struct store_version seen = store_version_of(st);
    struct frame *frame = file_frame_get(version->file);
    bool has = frame_has_successor(frame, &seen);

    file_frame_put(version->file, frame);
    return has;
}

bool open_version_has_readers_of(const struct open_version *version,
                                 const struct open_version *old)
{
    struct frame *frame;
    struct frame *old_frame;
    bool same;

    if (!identity_serves_others() || !old || !old->file || !version->file ||
        store_version_same_object(&old->st, &version->st))
        return true;
    frame = file_frame_get(version->file);
    old_frame = file_frame_get(old->file);
    same = frame_shares_access_list(frame, old_frame);
    file_frame_put(old->file, old_frame);
    file_frame_put(version->file, frame);
    return same;
}

/* Store flags for opening a file that programs read. */
static unsigned read_flags(const struct fs *fs)
{
    return fs->source.noatime ? STORE_NOATIME : 0;
}

/* Is an open file the one that was seen? */
static bool is_seen(const struct open_version *version, const struct stat *st)
{
    return store_version_same_object(st, &version->st);
}

static int open_anchor(struct open_version *version,
                       const struct seen_file *seen)
{
    struct stat st;
    int r = backing_anchor(seen->place, seen->kind, &version->anchor);

    if (r < 0 || seen->place->made_up_ino)
        return r < 0 && r != -ENOTSUP ? r : 0;
    r = backing_anchor_stat(&version->anchor, &st);
    if (r < 0)
        return r;
    return is_seen(version, &st) ? 0 : -ESTALE;
}

static int open_frame(struct fs *fs, struct open_version *version,
                      const struct seen_file *seen, struct fault *fault)
{
    struct store *store;
    unsigned flags = file_store_flags(fs->files);
    int r;

    flags |= version->writable ? STORE_WRITE : read_flags(fs);
    r = backing_store(seen->place, seen->kind, flags, &store, fault);
    if (r < 0)
        return r;
    if (version->writable)
        r = file_open_writable(fs->files, store, &version->file, fault);
    else
        r = file_open(fs->files, store, fs->source.base, &version->file, fault);
    store_close(store);
    if (r == 0 && !seen->place->made_up_ino)
        r = check_seen(version);
    if (r == 0 && fs->source.writable)
        r = open_anchor(version, seen);
    return r;
}

static int open_chunk(struct fs *fs, struct open_version *version,
                      const struct seen_file *seen, struct fault *fault)
{
    struct view_spec spec;
    struct store *store;
    int r =
        backing_store(seen->place, seen->kind, read_flags(fs), &store, fault);

    if (r < 0)
        return r;
    backing_view(seen->place, seen->kind, &spec);
    spec.base = fs->source.base;
    r = file_open_view(fs->files, &spec, store, &version->file, fault);
    store_close(store);
    return r;
}

/* Open a file that is passed through.  Waits while another process of framefs
   has it leased, see backing_anchor_lease(): that takes a moment. */
static int open_unleased(const struct backing_place *place, int flags,
                         struct backing_anchor *out)
{
    struct retry retry = {
        .tries_left = RETRY_ANY_NUMBER,
        .patience_ns = LEASE_PATIENCE * CLOCK_SECOND_NS,
        .pause_ns = AWAIT_PAUSE_NS,
        .pause_max_ns = AWAIT_PAUSE_NS,
    };
    int r;

    do
        r = backing_open(place, flags, out);
    while (r == -EWOULDBLOCK && retry_wait(&retry));
    return r;
}

/* Open a file that is passed through, if it is the one that was seen. */
static int open_other(const struct fs *fs, struct open_version *version,
                      const struct backing_place *place)
{
    struct stat st;
    int mode = version->writable ? O_RDWR : O_RDONLY;
    int r =
        open_unleased(place, mode | O_NONBLOCK | O_NOCTTY, &version->anchor);

    if (r < 0)
        return r;
    if (fs->source.noatime)
        store_leave_atime(open_version_fd(version));
    r = backing_anchor_stat(&version->anchor, &st);
    if (r < 0)
        return r;
    return place->made_up_ino || is_seen(version, &st) ? 0 : -ESTALE;
}

int open_version_open(struct fs *fs, const struct seen_file *seen,
                      bool writable, struct open_version **out,
                      struct fault *fault)
{
    struct open_version *version = open_version_new(seen->st, writable);
    int r;

    if (!version)
        return -ENOMEM;
    if (entry_traits[seen->kind].chunk)
        r = open_chunk(fs, version, seen, fault);
    else if (entry_traits[seen->kind].frame)
        r = open_frame(fs, version, seen, fault);
    else
        r = open_other(fs, version, seen->place);
    if (r < 0) {
        open_version_put(version);
        return r;
    }
    *out = version;
    return 0;
}

void open_version_put(struct open_version *version)
{
    if (!version || atomic_fetch_sub(&version->nrefs, 1) > 1)
        return;
    if (version->removed)
        file_discard(version->file);
    else
        file_close(version->file);
    backing_anchor_close(&version->anchor);
    free(version);
}

void open_version_await_last(struct open_version *version)
{
    const struct timespec pause = { .tv_nsec = AWAIT_PAUSE_NS };

    while (atomic_load(&version->nrefs) > 1)
        nanosleep(&pause, NULL);
}

bool open_version_is_of(const struct open_version *version,
                        enum entry_kind kind, const struct stat *st)
{
    if (entry_traits[kind].sparse)
        return store_version_same_object(&version->st, st);
    return file_is_in(version->file, store_version_of(st));
}

struct open_version *open_version_get(struct open_version *version)
{
    atomic_fetch_add(&version->nrefs, 1);
    return version;
}

bool open_version_is_superseded(struct open_version *version)
{
    bool superseded = version->file && !file_is_latest(version->file);

    if (superseded)
        version->stamp = 0;
    return superseded;
}

bool open_version_is_modified_externally(struct open_version *version)
{
    struct frame *frame;
    bool unwritten;

    if (open_version_is_superseded(version))
        return true;
    if (version->writable)
        return false;
    frame = file_frame_get(version->file);
    unwritten = frame_is_unwritten(frame);
    file_frame_put(version->file, frame);
    return !unwritten;
}
