/* SPDX-License-Identifier: BSD-3-Clause */
#include "backing/local.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "backing/backing_source.h"
#include "backing/backing_start.h"
#include "backing/local_change.h"
#include "backing/local_seen.h"
#include "store/store_local.h"

static int own(struct backing_place *place)
{
    place->holder = NULL; /* what the directory keeps goes with it */
    return local_own(place);
}

/* This function looks at the directory and at its index file through one
   descriptor, because other programs may rename things meanwhile. */
static int stat_sparse(const struct backing_place *place, struct stat *out)
{
    const char *name;
    struct stat dir;
    int fd = local_open(place, O_PATH | O_DIRECTORY);
    int r;

    if (fd < 0)
        return fd == -ENOTDIR || fd == -ELOOP ? -ESTALE : fd;
    r = fstat(fd, &dir) < 0 ? -errno : 0;
    if (r == 0)
        r = local_stat_index(fd, out, &name);
    close(fd);
    if (r == 0)
        local_show_sparse(&dir, out);
    return r == -ENOENT ? -ESTALE : r;
}

/* Turn the attributes of a file or directory into those of a store.  A store
   keeps its write permissions, because without them the kernel lets nobody but
   root move a directory to another parent. */
static void show_store(struct stat *st)
{
    mode_t read = st->st_mode & 0444;

    if (!S_ISDIR(st->st_mode)) {
        st->st_nlink = 1;
        st->st_size = 0;
        st->st_blocks = 0;
    }
    st->st_mode = S_IFDIR | read | (st->st_mode & 0222) | read >> 2;
}

static int stat_entry(const struct backing_place *place, enum entry_kind kind,
                      struct stat *out)
{
    struct stat st;
    int r;

    if (kind == ENTRY_SPARSE)
        return stat_sparse(place, out);
    r = local_stat_file(place, &st);
    if (r < 0)
        return r;
    if (!local_is_of_kind(&st, kind))
        return -ESTALE;
    if (kind == ENTRY_STORE)
        show_store(&st);
    *out = st;
    return 0;
}

static int frame_kind(const struct backing_place *place)
{
    struct stat st;
    int r = local_stat_file(place, &st);

    if (r < 0)
        return r;
    return S_ISDIR(st.st_mode) ? ENTRY_SPARSE : ENTRY_FRAME;
}

static int open_store(const struct backing_place *place, enum entry_kind kind,
                      unsigned flags, struct store **out, struct fault *fault)
{
    int r;

    *out = kind == ENTRY_FRAME && flags == STORE_NOATIME
               ? local_seen_take(place)
               : NULL;
    if (*out)
        return 0;
    if (kind == ENTRY_SPARSE)
        r = store_dir_open(place->dirfd, place->name, flags, out);
    else if (place->name[0] == '\0')
        r = store_file_open(AT_FDCWD, fd_path(place->dirfd).text,
                            flags | STORE_FOLLOW, out);
    else
        r = store_file_open(place->dirfd, place->name, flags, out);
    return r < 0 ? fault_set(fault, r, 0, NULL) : 0;
}

static ssize_t read_link(const struct backing_place *place, char *target,
                         size_t size)
{
    ssize_t len = readlinkat(place->dirfd, place->name, target, size);

    return len < 0 ? -errno : len;
}

static int check_header(const struct backing_place *place, struct fault *fault)
{
    return backing_has_header(place->dirfd, place->name, fault);
}

const struct backing_ops local_ops = {
    .own = own,
    .release = local_release,
    .stat = stat_entry,
    .frame_kind = frame_kind,
    .store = open_store,
    .open = local_open_file,
    .anchor = local_anchor,
    .readlink = read_link,
    .check_header = check_header,
    .pin = local_pin,
    .dir_open = local_dir_open,
    .dir_close = local_dir_close,
    .kind = local_kind,
    .place_in = local_place_in,
    .list_begin = local_list_begin,
    .list_next = local_list_next,
    .dir_stat = local_dir_stat,
    .dir_sync = local_dir_sync,
    .dir_anchor = local_dir_anchor,
    .change = &local_change_ops,
};
