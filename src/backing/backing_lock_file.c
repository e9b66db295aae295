/* SPDX-License-Identifier: BSD-3-Clause */
#include "backing/backing_lock_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#include "store/store_local.h"

/* This may be longer than a name can be; the system then rejects it. */
struct lock_file_name {
    char text[NAME_MAX + sizeof(STORE_LOCK_SUFFIX)];
};

static struct lock_file_name lock_file_name(const char *name)
{
    struct lock_file_name lock_file;

    snprintf(lock_file.text, sizeof(lock_file.text), "%s" STORE_LOCK_SUFFIX,
             name);
    return lock_file;
}

void backing_lock_file_adapt(struct file_context *files,
                             const struct backing_place *place,
                             enum entry_kind kind)
{
    unsigned flags = file_store_flags(files);
    struct fault fault = FAULT_NONE;
    struct store *store;

    if (flags == 0 || !entry_traits[kind].frame)
        return;
    if (backing_store(place, kind, flags, &store, &fault) == 0)
        store_close(store);
}

void backing_lock_file_remove(int dirfd, const char *name)
{
    unlinkat(dirfd, lock_file_name(name).text, 0);
}

void backing_lock_file_move(int dirfd, const char *name, int new_dirfd,
                            const char *new_name)
{
    struct lock_file_name from = lock_file_name(name);
    struct lock_file_name to = lock_file_name(new_name);

    if (renameat(dirfd, from.text, new_dirfd, to.text) < 0 && errno == ENOENT)
        unlinkat(new_dirfd, to.text, 0);
}

void backing_lock_file_exchange(int dirfd, const char *name, int other_dirfd,
                                const char *other_name)
{
    struct lock_file_name one = lock_file_name(name);
    struct lock_file_name other = lock_file_name(other_name);

    if (renameat2(dirfd, one.text, other_dirfd, other.text, RENAME_EXCHANGE) ==
            0 ||
        errno != ENOENT)
        return;
    /* At most one of the two exists. */
    if (renameat2(dirfd, one.text, other_dirfd, other.text, RENAME_NOREPLACE) <
        0)
        renameat2(other_dirfd, other.text, dirfd, one.text, RENAME_NOREPLACE);
}
