/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "backing/prefix_private.h"
#include "store/store_http.h"

static const struct backing_anchor_ops object_ops;

static void set(struct backing_anchor *anchor, struct store_object *object)
{
    anchor->ops = &object_ops;
    anchor->kind = ENTRY_PLAIN;
    anchor->object = object;
}

static void close_object(struct backing_anchor *anchor)
{
    store_object_close(anchor->object);
}

static int dup_object(const struct backing_anchor *anchor,
                      struct backing_anchor *out)
{
    set(out, store_object_get(anchor->object));
    return 0;
}

static int stat_object(const struct backing_anchor *anchor, struct stat *out)
{
    struct store_stat stat;
    int r = store_object_stat(anchor->object, &stat);

    if (r == 0)
        *out = (struct stat){
            .st_mode = S_IFREG | stat.mode,
            .st_nlink = 1,
            .st_uid = stat.uid,
            .st_gid = stat.gid,
            .st_size = (off_t)stat.version.size,
            .st_mtim = stat.version.mtime,
        };
    return r;
}

static int statvfs_object(const struct backing_anchor *anchor
                          __attribute__((unused)),
                          struct statvfs *out __attribute__((unused)))
{
    return -ENOTSUP;
}

/* Everyone may read it. */
static int check_object(const struct backing_anchor *anchor
                        __attribute__((unused)),
                        int how)
{
    return how & (W_OK | X_OK) ? -EACCES : 0;
}

/* No file is found by its anchor, because none loses its name here. */
static void place_object(const struct backing_anchor *anchor
                         __attribute__((unused)),
                         struct backing_place *out)
{
    *out = (struct backing_place){ .ops = &prefix_ops };
}

static int sync_object(const struct backing_anchor *anchor
                       __attribute__((unused)))
{
    return 0;
}

static void remove_object(const struct backing_anchor *anchor
                          __attribute__((unused)),
                          const struct stat *st __attribute__((unused)))
{
}

static const struct backing_anchor_ops object_ops = {
    .close = close_object,
    .dup = dup_object,
    .stat = stat_object,
    .statvfs = statvfs_object,
    .check = check_object,
    .place = place_object,
    .sync = sync_object,
    .remove = remove_object,
};

static int open_store(const struct prefix_dir *dir, const char *name,
                      struct store **out)
{
    struct net *net;
    struct url url;
    int r = prefix_entry_url(dir, name, &net, &url);

    if (r < 0)
        return r;
    r = store_http_open(net, &url, out);
    net_put(net);
    url_fini(&url);
    return r;
}

int prefix_open_object(const struct backing_place *place, int flags,
                       struct backing_anchor *out)
{
    struct store_object *object;
    struct store *store;
    int r;

    if ((flags & O_ACCMODE) != O_RDONLY)
        return -EROFS;
    r = open_store(place->holder, place->name, &store);
    if (r < 0)
        return r;
    r = store_open(store, "", &object);
    store_close(store);
    if (r == 0)
        set(out, object);
    return r;
}
