/* SPDX-License-Identifier: BSD-3-Clause */
#include "backing/beside.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#include "store/store_local.h"

/* This may be longer than a name can be; the system then rejects it. */
struct sidecar_name {
    char text[NAME_MAX + sizeof(STORE_SIDECAR)];
};

static struct sidecar_name name_beside(const char *name)
{
    struct sidecar_name sidecar;

    snprintf(sidecar.text, sizeof(sidecar.text), "%s" STORE_SIDECAR, name);
    return sidecar;
}

void beside_give(struct file_context *files, const struct backing_place *place,
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

void beside_remove(int dirfd, const char *name)
{
    unlinkat(dirfd, name_beside(name).text, 0);
}

void beside_move(int dirfd, const char *name, int new_dirfd,
                 const char *new_name)
{
    struct sidecar_name from = name_beside(name);
    struct sidecar_name to = name_beside(new_name);

    if (renameat(dirfd, from.text, new_dirfd, to.text) < 0 && errno == ENOENT)
        unlinkat(new_dirfd, to.text, 0);
}

void beside_exchange(int dirfd, const char *name, int other_dirfd,
                     const char *other_name)
{
    struct sidecar_name one = name_beside(name);
    struct sidecar_name other = name_beside(other_name);

    if (renameat2(dirfd, one.text, other_dirfd, other.text, RENAME_EXCHANGE) ==
            0 ||
        errno != ENOENT)
        return;
    /* At most one of the two exists. */
    if (renameat2(dirfd, one.text, other_dirfd, other.text, RENAME_NOREPLACE) <
        0)
        renameat2(other_dirfd, other.text, dirfd, one.text, RENAME_NOREPLACE);
}
