/* SPDX-License-Identifier: BSD-3-Clause */
#include "ops/setattr.h"

#include <errno.h>
#include <fuse_lowlevel.h>
#include <time.h>
#include <unistd.h>

#include "backing/backing_lock_file.h"
#include "base/identity.h"
#include "open/open_file_lost.h"
#include "tree/report.h"

enum {
    SET_OWNER = FUSE_SET_ATTR_UID | FUSE_SET_ATTR_GID,
    SET_ATIME = FUSE_SET_ATTR_ATIME | FUSE_SET_ATTR_ATIME_NOW,
    SET_MTIME = FUSE_SET_ATTR_MTIME | FUSE_SET_ATTR_MTIME_NOW,

    /* Attributes beside the size.  With a new size, the kernel may send a flag
       for set-user-ID bits, too, which killpriv.h takes care of. */
    SET_METADATA = SET_OWNER | SET_ATIME | SET_MTIME | FUSE_SET_ATTR_MODE |
                   FUSE_SET_ATTR_CTIME,
};

int setattr_size(struct fs *fs, struct open_file *open,
                 struct open_version *version, off_t size)
{
    struct fault fault = FAULT_NONE;
    int r;

    if (version->file) {
        r = file_truncate(version->file, (uint64_t)size, &fault);
    } else {
        open_file_begin_resize(open);
        r = ftruncate(open_version_fd(version), size) < 0 ? -errno : 0;
        open_file_end_resize(open, r == 0, (uint64_t)size);
    }
    if (r < 0 && version->file)
        report_fault(&fs->nodes, open->node, &version->st, r, &fault);
    if (r < 0)
        return r;
    open_file_regain(open, (uint64_t)size, UINT64_MAX);
    open_file_written(open, true);
    return 0;
}

static int set_size(struct fs *fs, struct node *node, off_t size)
{
    struct open_file *open;
    struct open_version *version;
    int r = open_file_get(fs, node, true, &open);

    if (r < 0)
        return r;
    version = open_file_version(open);
    r = open_version_check_access(version, W_OK);
    if (r == 0) {
        bool follows = open_file_follows_resize(fs, open, version);

        r = setattr_size(fs, open, version, size);
        if (r == 0)
            open_file_note_resize(fs, open, version, follows);
    }
    open_version_put(version);
    open_file_put(fs, open);
    return r;
}

/* The attributes to set, and in whose name. */
struct change {
    const struct stat *st; /* the new values */
    int set;               /* which of them: FUSE_SET_ATTR_* */
    bool as_program; /* with the identity of the program that asks for it */
};

/* A time in the form that utimensat() takes. */
static struct timespec time_to_set(int set, int which, int now,
                                   const struct timespec *value)
{
    if (set & now)
        return (struct timespec){ .tv_nsec = UTIME_NOW };
    return set & which ? *value : (struct timespec){ .tv_nsec = UTIME_OMIT };
}

/* The time of modification that is being set. */
static struct timespec new_mtime(const struct stat *st, int set)
{
    struct timespec now;

    if (!(set & FUSE_SET_ATTR_MTIME_NOW))
        return st->st_mtim;
    clock_gettime(CLOCK_REALTIME, &now);
    return now;
}

static int set_times(struct open_file *open,
                     const struct backing_object *object, const struct stat *st,
                     int set)
{
    const struct timespec mtime = new_mtime(st, set);
    struct timespec times[2];
    int r;

    /* With the writeback cache, the kernel sends the current time as a value.
       But a program that may only write may set both times to the current time,
       and to no other.  So a request that sets the time of access to now sets
       both to now. */
    if ((set & FUSE_SET_ATTR_ATIME_NOW) && (set & SET_MTIME))
        set |= FUSE_SET_ATTR_MTIME_NOW;
    times[0] = time_to_set(set, FUSE_SET_ATTR_ATIME, FUSE_SET_ATTR_ATIME_NOW,
                           &st->st_atim);
    times[1] = time_to_set(set, FUSE_SET_ATTR_MTIME, FUSE_SET_ATTR_MTIME_NOW,
                           &st->st_mtim);
    r = backing_utimens(object, times);
    /* Data that are written out later would change the time again. */
    if (r == 0 && open && entry_traits[object->kind].frame && (set & SET_MTIME))
        open_file_set_mtime(open, &mtime);
    return r;
}

static int set_metadata(struct open_file *open,
                        const struct backing_object *object,
                        const struct stat *st, int set)
{
    int r = 0;

    if (set & SET_OWNER)
        r = backing_chown(object,
                          set & FUSE_SET_ATTR_UID ? st->st_uid : (uid_t)-1,
                          set & FUSE_SET_ATTR_GID ? st->st_gid : (gid_t)-1);
    if (r == 0 && (set & FUSE_SET_ATTR_MODE))
        r = backing_chmod(object, st->st_mode & 07777);
    if (r == 0 && (set & (SET_ATIME | SET_MTIME)))
        r = set_times(open, object, st, set);
    return r;
}

static int set_pinned(struct fs *fs, struct node *node, struct open_file *open,
                      const struct backing_place *place,
                      const struct change *change)
{
    struct backing_object object;
    int r = fs_pin(fs, node, place, &object);

    if (r < 0)
        return r;
    if (change->as_program)
        identity_begin();
    r = set_metadata(open, &object, change->st, change->set);
    if (change->as_program)
        identity_end();
    backing_unpin(&object);
    return r;
}

static bool sets_only_mtime(const struct change *change)
{
    return change->set == (FUSE_SET_ATTR_MTIME | FUSE_SET_ATTR_CTIME);
}

/*
 * Would this only undo the time of modification of a file that other programs
 * have changed?  After a rename, a link or a chmod, the kernel sets the times
 * that it keeps, and its time of modification is then too old.
 */
static bool is_undoing(struct fs *fs, struct node *node,
                       const struct change *change)
{
    return fs->writeback && sets_only_mtime(change) &&
           open_file_is_kernel_mtime(fs, node, &change->st->st_mtim);
}

/* Set attributes of a stored file. */
static int apply_stored(struct fs *fs, struct node *node,
                        struct open_file *open, const struct change *change)
{
    struct backing_place place;
    bool newest;
    bool known;
    int r = fs_place(fs, node, &place);

    if (r < 0)
        return r;
    newest = open_file_is_newest(open, &place);
    known = !open && open_file_check_known(fs, node, &place);
    if (newest || known || !is_undoing(fs, node, change))
        r = set_pinned(fs, node, open, &place, change);
    if (r == 0 && (change->set & (SET_OWNER | FUSE_SET_ATTR_MODE)))
        backing_lock_file_adapt(fs->files, &place, node->id.kind);
    if (newest)
        open_file_note_touch(open, &place);
    backing_close(&place);
    if (known)
        open_file_note_content(fs, node, NULL);
    return r;
}

static int apply(struct fs *fs, struct node *node, const struct change *change)
{
    struct open_file *open = open_file_find(fs, node);
    int r = 0;

    /* The kernel sends the time of the last write before it closes a file. */
    if (!open || change->as_program || !sets_only_mtime(change) ||
        !open_file_defer_mtime(fs, open, &change->st->st_mtim))
        r = apply_stored(fs, node, open, change);
    open_file_put(fs, open);
    return r;
}

/*
 * Is this the time of the last write, which the kernel keeps for a program that
 * may lack the right to set times?  It comes with a new size, or when the
 * kernel writes its cache back.  The kernel has already checked whether a
 * program may set that time alone.
 */
static bool is_kept_time(const struct fs *fs, const struct node *node, int set,
                         bool sized)
{
    if (!fs->writeback || node_traits(node)->folder)
        return false;
    if (set & (SET_OWNER | FUSE_SET_ATTR_MODE))
        return false;
    return sized || !(set & (SET_ATIME | FUSE_SET_ATTR_MTIME_NOW));
}

int setattr_apply(struct fs *fs, struct node *node, const struct stat *st,
                  int set)
{
    bool sized = set & FUSE_SET_ATTR_SIZE;
    struct change change = { .st = st, .set = set & SET_METADATA };
    int r = fs_check_node(node);

    if (r == 0 && sized)
        r = set_size(fs, node, st->st_size);
    if (r < 0 || !(change.set & ~FUSE_SET_ATTR_CTIME))
        return r;
    change.as_program = !is_kept_time(fs, node, change.set, sized);
    return apply(fs, node, &change);
}
