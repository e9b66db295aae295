/* SPDX-License-Identifier: BSD-3-Clause */
#include "writer/swap.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/identity.h"
#include "store/store_version.h"
#include "writer/frame_dir.h"

/* The record is a link that leads nowhere: "NEW_INODE.OLD_INODE.SIZE.SECONDS.
   NANOSECONDS/NEW/OLD", with numbers in hexadecimal, and the time of change of
   the old entry. */
#define RECORD        STORE_TEMPORARY "2"
#define RECORD_FORMAT "%" PRIx64 ".%" PRIx64 ".%" PRIx64 ".%" PRIx64 ".%" PRIx64

enum {
    RECORD_MAX = 2 * NAME_MAX + 100
};

/* What a record says. */
struct record {
    uint64_t new_ino;
    uint64_t old_ino;
    uint64_t size;
    uint64_t seconds;
    uint64_t nanoseconds;
    char new[NAME_MAX + 1];
    char old[NAME_MAX + 1];
};

static int stat_at(int dir, const char *name, struct stat *st)
{
    return fstatat(dir, name, st, AT_SYMLINK_NOFOLLOW) < 0 ? -errno : 0;
}

static int move(int from, const char *name, int to, const char *new)
{
    return renameat2(from, name, to, new, RENAME_NOREPLACE) < 0 ? -errno : 0;
}

static int write_record(const struct swap *swap, const struct stat *draft)
{
    const struct stat *old = &swap->old_st;
    char text[RECORD_MAX];

    snprintf(text, sizeof(text), RECORD_FORMAT "/%s/%s",
             (uint64_t)draft->st_ino, (uint64_t)old->st_ino,
             (uint64_t)old->st_size, (uint64_t)old->st_ctim.tv_sec,
             (uint64_t)old->st_ctim.tv_nsec, swap->new, swap->old);
    return symlinkat(text, swap->private_dir, RECORD) < 0 ? -errno : 0;
}

/* Move an entry, and move it back if it is not the one that is meant. */
static int move_seen(int from, const char *name, int to, const char *new,
                     const struct stat *seen)
{
    struct stat moved;
    int r = move(from, name, to, new);

    if (r < 0)
        return r == -ENOENT ? -ESTALE : r;
    if (stat_at(to, new, &moved) == 0 &&
        store_version_same_object(&moved, seen))
        return 0;
    move(to, new, from, name);
    return -ESTALE;
}

static int sync_dir(int dir)
{
    return fsync(dir) < 0 && errno != EINVAL ? -errno : 0;
}

/* Move the old entry away if it may go. */
static int take_old(const struct swap *swap)
{
    int r = move_seen(swap->dir, swap->old, swap->private_dir, SWAP_OLD,
                      &swap->old_st);

    if (r < 0)
        return r;
    r = swap->check(swap->context);
    if (r < 0)
        move(swap->private_dir, SWAP_OLD, swap->dir, swap->old);
    return r;
}

static void remove_old(const struct swap *swap)
{
    if (S_ISDIR(swap->old_st.st_mode))
        frame_dir_remove(swap->private_dir, SWAP_OLD);
    else
        unlinkat(swap->private_dir, SWAP_OLD, 0);
}

int swap_run(const struct swap *swap)
{
    struct stat draft;
    int r = stat_at(swap->private_dir, SWAP_DRAFT, &draft);

    if (r == 0)
        r = write_record(swap, &draft);
    if (r == 0)
        r = move(swap->private_dir, SWAP_DRAFT, swap->dir, swap->new);
    if (r < 0)
        return r;
    r = sync_dir(swap->dir);
    swap->both(swap->context);
    if (r == 0)
        r = take_old(swap);
    if (r < 0) {
        move_seen(swap->dir, swap->new, swap->private_dir, SWAP_DRAFT, &draft);
        swap->both(swap->context);
    }
    unlinkat(swap->private_dir, RECORD, 0);
    if (r == 0 && !swap->keep)
        remove_old(swap);
    return r;
}

/* Parse the text of a record. */
static bool parse(const char *text, struct record *out)
{
    const char *made = strchr(text, '/');
    const char *old = made ? strchr(made + 1, '/') : NULL;

    if (!old || strchr(old + 1, '/') || old - made - 1 > NAME_MAX ||
        strlen(old + 1) > NAME_MAX ||
        sscanf(text, "%" SCNx64 ".%" SCNx64 ".%" SCNx64 ".%" SCNx64 ".%" SCNx64,
               &out->new_ino, &out->old_ino, &out->size, &out->seconds,
               &out->nanoseconds) != 5)
        return false;
    memcpy(out->new, made + 1, (size_t)(old - made - 1));
    out->new[old - made - 1] = '\0';
    strcpy(out->old, old + 1);
    return true;
}

static bool read_record(int private_dir, struct record *out)
{
    char text[RECORD_MAX];
    ssize_t len = readlinkat(private_dir, RECORD, text, sizeof(text) - 1);

    if (len < 0)
        return false;
    text[len] = '\0';
    return parse(text, out);
}

/* Is the new entry in its place, and the old one as it was? */
static bool is_begun(int dir, const struct record *record, struct stat *old)
{
    struct stat made;

    return stat_at(dir, record->new, &made) == 0 &&
           made.st_ino == record->new_ino &&
           stat_at(dir, record->old, old) == 0 &&
           old->st_ino == record->old_ino &&
           (uint64_t)old->st_size == record->size &&
           (uint64_t)old->st_ctim.tv_sec == record->seconds &&
           (uint64_t)old->st_ctim.tv_nsec == record->nanoseconds;
}

/* Only a directory of our own is believed.  Another user could not remove the
   entries of everybody else, but we might. */
static bool is_ours(int private_dir)
{
    struct stat st;

    return fstat(private_dir, &st) == 0 && identity_is_self(st.st_uid);
}

void swap_recover(int dir, int private_dir)
{
    struct record record;
    struct stat old;

    if (is_ours(private_dir) && read_record(private_dir, &record) &&
        is_begun(dir, &record, &old))
        move_seen(dir, record.old, private_dir, SWAP_OLD, &old);
    unlinkat(private_dir, RECORD, 0);
}
